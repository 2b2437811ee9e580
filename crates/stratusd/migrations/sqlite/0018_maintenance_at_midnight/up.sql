-- Whether the owner has set the hour of the maintenance window. Any other hour than 0 counts as set in any case, as before.
-- Programs before this one take 0 for none: `oldest_reader` stays what it is.
ALTER TABLE postgres_database ADD COLUMN maintenance_window_is_set INTEGER NOT NULL DEFAULT FALSE;
