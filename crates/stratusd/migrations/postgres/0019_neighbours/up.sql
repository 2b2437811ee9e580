-- Of a statement that a session runs again and again, PostgreSQL makes one plan for all values, and takes each project for one of
-- the usual size. If that is a few rows, all indexes that begin with the project seem as good as the one that fits: it then read
-- all rows of a large project to find one of them. So the planner is told of a hundred projects, however many there are, and
-- takes each for a hundredth of the rows, or for as many as the largest has, if these are fewer.
-- The other tables with projects have one index that begins with them, and so no choice.
-- Programs before this one read the same: `oldest_reader` stays what it is.
ALTER TABLE vm ALTER COLUMN project_id SET (n_distinct = 100);
ALTER TABLE nic ALTER COLUMN project_id SET (n_distinct = 100);
ALTER TABLE private_subnet ALTER COLUMN project_id SET (n_distinct = 100);
ALTER TABLE private_subnet_link ALTER COLUMN project_id SET (n_distinct = 100);
ALTER TABLE firewall ALTER COLUMN project_id SET (n_distinct = 100);
ALTER TABLE firewall_rule ALTER COLUMN project_id SET (n_distinct = 100);
ALTER TABLE firewall_subnet ALTER COLUMN project_id SET (n_distinct = 100);
ALTER TABLE load_balancer ALTER COLUMN project_id SET (n_distinct = 100);
ALTER TABLE load_balancer_vm ALTER COLUMN project_id SET (n_distinct = 100);
ALTER TABLE postgres_database ALTER COLUMN project_id SET (n_distinct = 100);
ALTER TABLE idempotency ALTER COLUMN project_id SET (n_distinct = 100);

-- Nor do all rows belong to the same few resources, as where one subnet of a project is connected to all others.
ALTER TABLE nic ALTER COLUMN subnet_id SET (n_distinct = -0.1), ALTER COLUMN vm_id SET (n_distinct = -0.1);
ALTER TABLE private_subnet_link ALTER COLUMN low_id SET (n_distinct = -0.1), ALTER COLUMN high_id SET (n_distinct = -0.1);
ALTER TABLE firewall_rule ALTER COLUMN firewall_id SET (n_distinct = -0.1);
ALTER TABLE firewall_subnet ALTER COLUMN firewall_id SET (n_distinct = -0.1), ALTER COLUMN subnet_id SET (n_distinct = -0.1);
ALTER TABLE load_balancer ALTER COLUMN subnet_id SET (n_distinct = -0.1);
ALTER TABLE load_balancer_vm ALTER COLUMN load_balancer_id SET (n_distinct = -0.1);

-- The numbers get into the statistics when they are made: now, where there are some. Of an empty table they would say that it
-- stays empty.
DO $$
DECLARE known TEXT;
BEGIN
    FOR known IN SELECT s.tablename FROM pg_stats AS s JOIN pg_attribute AS a ON a.attname = s.attname
            AND a.attrelid = format('%I.%I', s.schemaname, s.tablename)::REGCLASS
        WHERE s.schemaname = current_schema() AND s.attname = 'project_id' AND 'n_distinct=100' = ANY (a.attoptions)
    LOOP
        EXECUTE format('ANALYZE %I', known);
    END LOOP;
END
$$;
