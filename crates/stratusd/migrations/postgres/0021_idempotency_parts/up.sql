-- The number of responses that a stored one counts as: one for each 4 KiB that it begins.
-- Those of programs before this one count as one, as they are counted in `resource_count`: `oldest_reader` stays what it is.
ALTER TABLE idempotency ADD COLUMN parts BIGINT NOT NULL DEFAULT 1;
