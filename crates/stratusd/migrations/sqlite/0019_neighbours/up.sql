-- The indexes of lists by location begin with the location: they find the pages of a project in it as before, and also, when a
-- location is deleted, whether anything is in it, which took reading all rows of five tables. So no write has a further index.
-- Programs before this one read the same: `oldest_reader` stays what it is.
DROP INDEX vm_by_location;
CREATE INDEX vm_of_location ON vm (location, project_id, id);
DROP INDEX private_subnet_by_location;
CREATE INDEX private_subnet_of_location ON private_subnet (location, project_id, id);
DROP INDEX firewall_by_location;
CREATE INDEX firewall_of_location ON firewall (location, project_id, id);
DROP INDEX load_balancer_by_location;
CREATE INDEX load_balancer_of_location ON load_balancer (location, project_id, id);
DROP INDEX postgres_database_by_location;
CREATE INDEX postgres_database_of_location ON postgres_database (location, project_id, id);

-- The statistics that another index had, see `0017_plans`.
INSERT INTO sqlite_stat1 (tbl, idx, stat)
    SELECT 'load_balancer', 'load_balancer_of_location', '1000000 500000 5000 1'
    WHERE EXISTS (SELECT 1 FROM sqlite_stat1 WHERE tbl = 'load_balancer');
ANALYZE sqlite_schema;
