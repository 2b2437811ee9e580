-- The restarts of a database that its owner has asked for, and those that are made.
ALTER TABLE postgres_database ADD COLUMN restarts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE postgres_database ADD COLUMN target_restarts INTEGER NOT NULL DEFAULT 0;

-- The order of the list of a location's Postgres databases.
CREATE INDEX postgres_database_by_location ON postgres_database (project_id, location, id);
