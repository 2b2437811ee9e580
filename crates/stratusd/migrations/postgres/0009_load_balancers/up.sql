-- `is_declared`, as in other tables: an inventory declares the row. Before callers could create load balancers, inventories had made all.
ALTER TABLE load_balancer ADD COLUMN is_declared BOOLEAN NOT NULL DEFAULT TRUE;
ALTER TABLE load_balancer ALTER COLUMN is_declared DROP DEFAULT;
