-- The promotions of a standby that the owner has asked for, and those that are made.
ALTER TABLE postgres_database
    ADD COLUMN promotions BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN target_promotions BIGINT NOT NULL DEFAULT 0;

-- The backups that the provisioner has of a database, as JSON.
ALTER TABLE postgres_database
    ADD COLUMN backups TEXT NOT NULL DEFAULT '[]';

-- The database that another one is restored from, and the time that it is restored to, in microseconds since 1970.
ALTER TABLE postgres_database
    ADD COLUMN restored_from TEXT,
    ADD COLUMN restore_target BIGINT;

-- The databases that are being restored from another one, which cannot be deleted before.
CREATE INDEX postgres_database_by_source ON postgres_database (project_id, restored_from, name)
    WHERE restored_from IS NOT NULL AND state = 'creating';
