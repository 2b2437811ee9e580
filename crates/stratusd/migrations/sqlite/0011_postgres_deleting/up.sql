-- A name can be used again while the database that had it is being deleted. SQLite drops no constraint of a table, so the rows move to another one.
CREATE TABLE postgres_database_of_any_name (
    project_id TEXT NOT NULL REFERENCES project (id),
    id TEXT NOT NULL,
    location TEXT NOT NULL REFERENCES location (name),
    name TEXT NOT NULL,
    flavor TEXT NOT NULL,
    ha_type TEXT NOT NULL,
    state TEXT NOT NULL,
    storage_size_gib INTEGER NOT NULL,
    target_storage_size_gib INTEGER NOT NULL,
    version TEXT NOT NULL,
    target_version TEXT NOT NULL,
    vm_size TEXT NOT NULL,
    target_vm_size TEXT NOT NULL,
    maintenance_window_start_at INTEGER NOT NULL,
    parent TEXT,
    tags TEXT NOT NULL,
    firewall_rules TEXT NOT NULL,
    password BLOB NOT NULL,
    password_is_set INTEGER NOT NULL,
    host TEXT,
    ca_certificates TEXT,
    earliest_restore_time INTEGER,
    latest_restore_time INTEGER NOT NULL,
    used_bytes INTEGER NOT NULL,
    revision INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    lease TEXT,
    lease_until INTEGER,
    restarts INTEGER NOT NULL DEFAULT 0,
    target_restarts INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (project_id, id)
) STRICT, WITHOUT ROWID;

INSERT INTO postgres_database_of_any_name (
        project_id, id, location, name, flavor, ha_type, state, storage_size_gib, target_storage_size_gib, version,
        target_version, vm_size, target_vm_size, maintenance_window_start_at, parent, tags, firewall_rules, password,
        password_is_set, host, ca_certificates, earliest_restore_time, latest_restore_time, used_bytes, revision,
        due_at, attempts, lease, lease_until, restarts, target_restarts)
    SELECT project_id, id, location, name, flavor, ha_type, state, storage_size_gib, target_storage_size_gib, version,
        target_version, vm_size, target_vm_size, maintenance_window_start_at, parent, tags, firewall_rules, password,
        password_is_set, host, ca_certificates, earliest_restore_time, latest_restore_time, used_bytes, revision,
        due_at, attempts, lease, lease_until, restarts, target_restarts
    FROM postgres_database;
DROP TABLE postgres_database;
ALTER TABLE postgres_database_of_any_name RENAME TO postgres_database;

CREATE INDEX postgres_database_by_name ON postgres_database (project_id, name, id);
CREATE INDEX postgres_database_by_due ON postgres_database (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX postgres_database_by_location ON postgres_database (project_id, location, id);

-- A name is that of one database which is not being deleted.
CREATE UNIQUE INDEX postgres_database_of_name ON postgres_database (project_id, location, name) WHERE state <> 'deleting';
-- The order of the list of a location's databases by name, among them those that are being deleted.
CREATE INDEX postgres_database_by_location_and_name ON postgres_database (project_id, location, name, id);
