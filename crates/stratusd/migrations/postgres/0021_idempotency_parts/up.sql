-- The number of responses that a stored one counts as: one for each 4 KiB that it begins.
-- Those of programs before this one count as one, as they are counted in `resource_count`: `oldest_reader` stays what it is.
-- A program before this one that runs for longer than a day after this would subtract 1 for each that it sweeps, and so count too many.
ALTER TABLE idempotency ADD COLUMN parts BIGINT NOT NULL DEFAULT 1;
