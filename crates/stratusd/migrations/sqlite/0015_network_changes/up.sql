-- The changes of a project's networks: of its virtual machines, their network interfaces, its private subnets, their connections and
-- their firewalls, for the processes that only read. A row has the id of no load balancer, so programs before this one look it up,
-- find nothing and read all else as before: `oldest_reader` stays what it is.
CREATE TRIGGER network_vm_created AFTER INSERT ON vm BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (NEW.project_id, '1b000000000000000000000000');
END;
CREATE TRIGGER network_vm_updated AFTER UPDATE ON vm BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (NEW.project_id, '1b000000000000000000000000');
END;
CREATE TRIGGER network_vm_deleted AFTER DELETE ON vm BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (OLD.project_id, '1b000000000000000000000000');
END;
CREATE TRIGGER network_nic_created AFTER INSERT ON nic BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (NEW.project_id, '1b000000000000000000000000');
END;
CREATE TRIGGER network_nic_updated AFTER UPDATE ON nic BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (NEW.project_id, '1b000000000000000000000000');
END;
CREATE TRIGGER network_nic_deleted AFTER DELETE ON nic BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (OLD.project_id, '1b000000000000000000000000');
END;
CREATE TRIGGER network_subnet_updated AFTER UPDATE ON private_subnet BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (NEW.project_id, '1b000000000000000000000000');
END;
CREATE TRIGGER network_subnet_deleted AFTER DELETE ON private_subnet BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (OLD.project_id, '1b000000000000000000000000');
END;
CREATE TRIGGER network_subnet_link_created AFTER INSERT ON private_subnet_link BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (NEW.project_id, '1b000000000000000000000000');
END;
CREATE TRIGGER network_subnet_link_deleted AFTER DELETE ON private_subnet_link BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (OLD.project_id, '1b000000000000000000000000');
END;
CREATE TRIGGER network_firewall_subnet_created AFTER INSERT ON firewall_subnet BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (NEW.project_id, '1b000000000000000000000000');
END;
CREATE TRIGGER network_firewall_subnet_deleted AFTER DELETE ON firewall_subnet BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (OLD.project_id, '1b000000000000000000000000');
END;
CREATE TRIGGER network_firewall_rule_created AFTER INSERT ON firewall_rule BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (NEW.project_id, '1b000000000000000000000000');
END;
CREATE TRIGGER network_firewall_rule_updated AFTER UPDATE ON firewall_rule BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (NEW.project_id, '1b000000000000000000000000');
END;
CREATE TRIGGER network_firewall_rule_deleted AFTER DELETE ON firewall_rule BEGIN
    INSERT INTO load_balancer_change (project_id, load_balancer_id) VALUES (OLD.project_id, '1b000000000000000000000000');
END;
