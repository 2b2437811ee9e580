//! Queries that find changes which were made in part, in SQL that both databases understand.

/// What was made in part, and how to count it.
pub const HALF_CHANGES: [(&str, &str); 4] = [
    (
        "subnets without their firewall and its two rules",
        "SELECT count(*) FROM private_subnet AS s WHERE NOT s.is_declared AND NOT EXISTS (\
         SELECT 1 FROM firewall_subnet AS a JOIN firewall AS f ON f.project_id = a.project_id AND f.id = a.firewall_id \
         WHERE a.subnet_id = s.id AND f.name = s.name || '-default' AND \
         (SELECT count(*) FROM firewall_rule AS r WHERE r.firewall_id = f.id) = 2)",
    ),
    (
        "firewalls without their subnet",
        "SELECT count(*) FROM firewall AS f WHERE NOT f.is_declared \
         AND NOT EXISTS (SELECT 1 FROM firewall_subnet AS a WHERE a.firewall_id = f.id)",
    ),
    (
        "creates without their entry in the audit trail",
        "SELECT count(*) FROM (SELECT id FROM private_subnet WHERE NOT is_declared \
         UNION ALL SELECT id FROM postgres_database) AS made WHERE (SELECT count(*) FROM audit \
         WHERE resource = made.id AND operation IN ('private_subnet_create', 'postgres_create')) <> 1",
    ),
    (
        "entries in the audit trail without their create",
        "SELECT count(*) FROM audit WHERE operation IN ('private_subnet_create', 'postgres_create') \
         AND resource NOT IN (SELECT id FROM private_subnet UNION ALL SELECT id FROM postgres_database)",
    ),
];
