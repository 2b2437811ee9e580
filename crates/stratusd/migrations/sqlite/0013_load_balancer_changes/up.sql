-- The changes of load balancers, of the virtual machines that are attached to them and of the addresses of these, for the data plane,
-- which reads what has changed since it last looked. `number` rises from one transaction to the next, also after rows were deleted,
-- and `at` is when the row was written, in milliseconds since 1970.
--
-- Triggers write the rows, so that no change is missed: several statements write these tables, and so do replicas of the version
-- before this one, which may still run.
CREATE TABLE load_balancer_change (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    project_id TEXT NOT NULL,
    load_balancer_id TEXT NOT NULL,
    at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER))
) STRICT;

-- The order in which old rows are deleted.
CREATE INDEX load_balancer_change_by_time ON load_balancer_change (at);

CREATE TRIGGER load_balancer_created AFTER INSERT ON load_balancer BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (NEW.project_id, NEW.id);
END;
CREATE TRIGGER load_balancer_updated AFTER UPDATE ON load_balancer BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (NEW.project_id, NEW.id);
END;
CREATE TRIGGER load_balancer_deleted AFTER DELETE ON load_balancer BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (OLD.project_id, OLD.id);
END;
CREATE TRIGGER load_balancer_vm_attached AFTER INSERT ON load_balancer_vm BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (NEW.project_id, NEW.load_balancer_id);
END;
CREATE TRIGGER load_balancer_vm_detached AFTER DELETE ON load_balancer_vm BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (OLD.project_id, OLD.load_balancer_id);
END;
CREATE TRIGGER load_balancer_vm_moved AFTER UPDATE OF ip4, ip6 ON vm
WHEN NEW.ip4 IS NOT OLD.ip4 OR NEW.ip6 IS NOT OLD.ip6 BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id)
        SELECT project_id, load_balancer_id FROM load_balancer_vm WHERE project_id = NEW.project_id AND vm_id = NEW.id;
END;
