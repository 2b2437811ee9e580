-- A rule has a protocol, which was TCP before, and a description. `is_declared`, as in other tables: an inventory declares the rule.
CREATE TABLE firewall_rule_of_protocol (
    project_id TEXT NOT NULL,
    firewall_id TEXT NOT NULL,
    id TEXT NOT NULL,
    cidr TEXT NOT NULL,
    port_range TEXT NOT NULL,
    protocol TEXT NOT NULL,
    description TEXT NOT NULL,
    is_declared INTEGER NOT NULL,
    PRIMARY KEY (project_id, firewall_id, id),
    UNIQUE (project_id, firewall_id, cidr, port_range, protocol),
    FOREIGN KEY (project_id, firewall_id) REFERENCES firewall (project_id, id)
) STRICT, WITHOUT ROWID;

INSERT INTO firewall_rule_of_protocol (project_id, firewall_id, id, cidr, port_range, protocol, description, is_declared)
    SELECT r.project_id, r.firewall_id, r.id, r.cidr, r.port_range, 'tcp', '', f.is_declared
    FROM firewall_rule AS r JOIN firewall AS f ON f.project_id = r.project_id AND f.id = r.firewall_id;
DROP TABLE firewall_rule;
ALTER TABLE firewall_rule_of_protocol RENAME TO firewall_rule;

-- The order of the list of a location's firewalls.
CREATE INDEX firewall_by_location ON firewall (project_id, location, id);
