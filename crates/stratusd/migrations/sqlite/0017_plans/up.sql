-- Statistics of two tables, as if a few projects had many rows. Without any, SQLite takes a project for ten rows: to check that no
-- load balancer is in a private subnet that is deleted, and no interface of a virtual machine, it read all rows of the project by
-- the primary key and not those of the subnet or the machine by their index. An operator's own ANALYZE replaces them.
-- Programs before this one read the same: `oldest_reader` stays what it is.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat)
    SELECT column1, column2, column3 FROM (VALUES
        ('load_balancer', 'load_balancer', '1000000 10000 1'),
        ('load_balancer', 'sqlite_autoindex_load_balancer_2', '1000000 10000 5000 1'),
        ('load_balancer', 'load_balancer_by_location', '1000000 10000 5000 1'),
        ('load_balancer', 'load_balancer_by_name', '1000000 10000 2 1'),
        ('load_balancer', 'load_balancer_by_subnet', '1000000 10000 2'),
        ('nic', 'nic', '1000000 10000 2 1'),
        ('nic', 'sqlite_autoindex_nic_2', '1000000 10000 2 1'),
        ('nic', 'sqlite_autoindex_nic_3', '1000000 10000 2 1'),
        ('nic', 'sqlite_autoindex_nic_4', '1000000 10000 2 1'),
        ('nic', 'nic_by_vm', '1000000 10000 2')
    ) WHERE NOT EXISTS (SELECT 1 FROM sqlite_stat1 WHERE tbl IN ('load_balancer', 'nic'));
-- Connections that are open read them now.
ANALYZE sqlite_schema;
