-- The changes of a project's networks: of its virtual machines, their network interfaces, its private subnets, their connections and
-- their firewalls, for the processes that only read. A row has the id of no load balancer, so programs before this one look it up,
-- find nothing and read all else as before: `oldest_reader` stays what it is.
CREATE FUNCTION stratus_network_written() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM stratus_load_balancer_changed(OLD.project_id, '1b000000000000000000000000');
    ELSE
        PERFORM stratus_load_balancer_changed(NEW.project_id, '1b000000000000000000000000');
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER network_vm_written AFTER INSERT OR UPDATE OR DELETE ON vm
    FOR EACH ROW EXECUTE FUNCTION stratus_network_written();
CREATE TRIGGER network_nic_written AFTER INSERT OR UPDATE OR DELETE ON nic
    FOR EACH ROW EXECUTE FUNCTION stratus_network_written();
CREATE TRIGGER network_subnet_written AFTER UPDATE OR DELETE ON private_subnet
    FOR EACH ROW EXECUTE FUNCTION stratus_network_written();
CREATE TRIGGER network_subnet_link_written AFTER INSERT OR DELETE ON private_subnet_link
    FOR EACH ROW EXECUTE FUNCTION stratus_network_written();
CREATE TRIGGER network_firewall_subnet_written AFTER INSERT OR DELETE ON firewall_subnet
    FOR EACH ROW EXECUTE FUNCTION stratus_network_written();
CREATE TRIGGER network_firewall_rule_written AFTER INSERT OR UPDATE OR DELETE ON firewall_rule
    FOR EACH ROW EXECUTE FUNCTION stratus_network_written();
