-- A rule has a protocol, which was TCP before, and a description. `is_declared`, as in other tables: an inventory declares the rule.
ALTER TABLE firewall_rule
    ADD COLUMN protocol TEXT COLLATE "C" NOT NULL DEFAULT 'tcp',
    ADD COLUMN description TEXT COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN is_declared BOOLEAN NOT NULL DEFAULT FALSE,
    DROP CONSTRAINT firewall_rule_project_id_firewall_id_cidr_port_range_key,
    ADD UNIQUE (project_id, firewall_id, cidr, port_range, protocol);
UPDATE firewall_rule AS r SET is_declared = TRUE FROM firewall AS f
    WHERE f.project_id = r.project_id AND f.id = r.firewall_id AND f.is_declared;
ALTER TABLE firewall_rule
    ALTER COLUMN protocol DROP DEFAULT,
    ALTER COLUMN description DROP DEFAULT,
    ALTER COLUMN is_declared DROP DEFAULT;

-- The order of the list of a location's firewalls.
CREATE INDEX firewall_by_location ON firewall (project_id, location, id);
