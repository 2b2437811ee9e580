-- The changes of load balancers, of the virtual machines that are attached to them and of the addresses of these, for the data plane,
-- which reads what has changed since it last looked. `number` is that of the transaction, and not from a sequence: a transaction that
-- commits later may have the lower number, so a reader begins with the lowest one that was in progress when it last looked. `at` is
-- when the row was written, in milliseconds since 1970.
--
-- Triggers write the rows, so that no change is missed: several statements write these tables, and so do replicas of the version
-- before this one, which may still run.
CREATE TABLE load_balancer_change (
    number BIGINT NOT NULL,
    project_id TEXT COLLATE "C" NOT NULL,
    load_balancer_id TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (number, project_id, load_balancer_id)
);

-- The order in which old rows are deleted.
CREATE INDEX load_balancer_change_by_time ON load_balancer_change (at);

-- Writes the change of a load balancer, once in a transaction.
CREATE FUNCTION stratus_load_balancer_changed(project TEXT, balancer TEXT) RETURNS VOID LANGUAGE sql AS $$
    INSERT INTO load_balancer_change (number, project_id, load_balancer_id, at)
        VALUES (pg_current_xact_id()::TEXT::BIGINT, project, balancer, EXTRACT(EPOCH FROM clock_timestamp()) * 1000)
        ON CONFLICT DO NOTHING
$$;

CREATE FUNCTION stratus_load_balancer_written() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM stratus_load_balancer_changed(OLD.project_id, OLD.id);
    ELSE
        PERFORM stratus_load_balancer_changed(NEW.project_id, NEW.id);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION stratus_load_balancer_vm_written() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM stratus_load_balancer_changed(OLD.project_id, OLD.load_balancer_id);
    ELSE
        PERFORM stratus_load_balancer_changed(NEW.project_id, NEW.load_balancer_id);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION stratus_vm_moved() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM stratus_load_balancer_changed(a.project_id, a.load_balancer_id) FROM load_balancer_vm AS a
        WHERE a.project_id = NEW.project_id AND a.vm_id = NEW.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER load_balancer_written AFTER INSERT OR UPDATE OR DELETE ON load_balancer
    FOR EACH ROW EXECUTE FUNCTION stratus_load_balancer_written();
CREATE TRIGGER load_balancer_vm_written AFTER INSERT OR DELETE ON load_balancer_vm
    FOR EACH ROW EXECUTE FUNCTION stratus_load_balancer_vm_written();
CREATE TRIGGER vm_moved AFTER UPDATE OF ip4, ip6 ON vm FOR EACH ROW
    WHEN (NEW.ip4 IS DISTINCT FROM OLD.ip4 OR NEW.ip6 IS DISTINCT FROM OLD.ip6) EXECUTE FUNCTION stratus_vm_moved();
