-- An event of a provisioner names a database by its id alone.
-- Programs before this one read the same: `oldest_reader` stays what it is.
CREATE INDEX postgres_database_by_id ON postgres_database (id);
