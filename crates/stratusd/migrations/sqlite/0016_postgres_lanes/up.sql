-- Databases whose last step has failed are searched for apart from the others, so that they have workers of their own. Both
-- indexes together have the rows of the one before.
CREATE INDEX postgres_database_by_due_prompt ON postgres_database (due_at) WHERE due_at IS NOT NULL AND attempts = 0;
CREATE INDEX postgres_database_by_due_retried ON postgres_database (due_at) WHERE due_at IS NOT NULL AND attempts > 0;
DROP INDEX postgres_database_by_due;

-- Why the last step of a database has failed, if it has.
ALTER TABLE postgres_database ADD COLUMN failure TEXT;
