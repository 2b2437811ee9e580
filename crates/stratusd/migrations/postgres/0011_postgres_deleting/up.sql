-- A name can be used again while the database that had it is being deleted.
ALTER TABLE postgres_database DROP CONSTRAINT postgres_database_project_id_location_name_key;

-- A name is that of one database which is not being deleted.
CREATE UNIQUE INDEX postgres_database_of_name ON postgres_database (project_id, location, name) WHERE state <> 'deleting';
-- The order of the list of a location's databases by name, among them those that are being deleted.
CREATE INDEX postgres_database_by_location_and_name ON postgres_database (project_id, location, name, id);
