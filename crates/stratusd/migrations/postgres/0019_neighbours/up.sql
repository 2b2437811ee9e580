-- Only SQLite needs other indexes: see the migration of the same name.
SELECT 1;
