//! Neighbours: rows of each table in the same project, and in many others.

use stratusd::world::World;

/// The neighbours of a project.
pub struct Neighbours {
    pub project: &'static str,
    /// The number of rows of each table in the same project.
    pub rows: u32,
    /// The number of other projects, each with a row of each table. A planner that knows only the usual
    /// size of a project takes all for small.
    pub others: u32,
    /// Whether the reconciler looks at their databases, after a few minutes.
    pub are_due: bool,
}

/// Returns the statements that insert neighbours, with what differs between the databases: how a
/// sequence from 1 is written, and the type of bytes.
pub fn statements(
    neighbours: &Neighbours,
    sequence: impl Fn(u32) -> String,
    bytes: &str,
) -> String {
    let project = neighbours.project;
    let (same, others) = (sequence(neighbours.rows), sequence(neighbours.others));
    let id =
        |kind: &str| format!("'{kind}000000000000000' || substr(CAST(1000000000 + i AS TEXT), 2)");
    let (vm, subnet, nic) = (id("vm"), id("ps"), id("nc"));
    let (firewall, rule, balancer, database) = (id("fw"), id("fr"), id("1b"), id("pg"));
    let (key, token, other) = (id("ak"), id("pt"), id("pj"));
    let place = "CASE i % 2 WHEN 0 THEN 'eu-central-h1' ELSE 'us-east-a2' END";
    // A project has fewer networks than rows; those that are on the first pages are real ones. The
    // subnets of the inventory make room for them.
    let number = "CASE WHEN i <= 120000 THEN i ELSE 120000 + (i / 100000) * 10000 + i % 100000 END";
    let net4 = format!(
        "CASE WHEN i <= 120000 OR i % 100000 < 10000 THEN '10.' || (({number}) / 1024) || '.' || \
         ((({number}) / 4) % 256) || '.' || ((({number}) % 4) * 64) || '/26' ELSE '11.' || i END"
    );
    // After the test, so that the reconciler leaves the neighbours alone, but not later than it would
    // ever let them wait, or it would take the clock for one that was set back.
    let later = World::real().now() + 200_000;
    let due = if neighbours.are_due {
        format!("{later} + i")
    } else {
        "NULL".to_owned()
    };
    // Beyond the end of any benchmark.
    let expiry = later + 10 * 86_400_000;
    format!(
        "INSERT INTO project (id, name, created_at) SELECT {other}, 'other-' || i, 0 FROM ({others}) AS n;
         CREATE TEMPORARY TABLE neighbour (p TEXT, i BIGINT);
         INSERT INTO neighbour SELECT '{project}', i FROM ({same}) AS n;
         INSERT INTO neighbour SELECT {other}, i FROM ({others}) AS n;
         INSERT INTO token (id, project_id, hash, read_only, description, created_at, expires_at, revoked_at) SELECT {token}, p, CAST('-' AS {bytes}), FALSE, '', 0, NULL, NULL FROM neighbour WHERE i < 5000
             ON CONFLICT DO NOTHING;
         INSERT INTO project_quota (project_id, kind, most) SELECT p, 'seed-' || i, 1 FROM neighbour;
         INSERT INTO idempotency (project_id, id, sealed, expires_at) SELECT p, CAST('seed-' || i AS {bytes}), CAST('-' AS {bytes}), {expiry} FROM neighbour;
         INSERT INTO audit (project_id, at, number, principal, operation, resource) SELECT p, {later} + i, i, 'operator', 'vm_create', {vm} FROM neighbour;
         INSERT INTO service_state (name, value) SELECT 'other-' || i, CAST('-' AS {bytes}) FROM ({others}) AS n;
         INSERT INTO resource_count (project_id, kind, location, slot, items) SELECT p, 'seed-' || i, {place}, 0, 1 FROM neighbour;
         INSERT INTO vm (project_id, id, location, name, ip4, ip4_enabled, ip6, size, state, storage_size_gib, unix_user) SELECT p, {vm}, {place}, 'n-' || i, NULL, FALSE, NULL, 'standard-2', 'running', 40, 'deploy' FROM neighbour;
         UPDATE private_subnet SET net4 = CASE name WHEN 'backend' THEN '10.255.0.0/26' WHEN 'frontend' THEN '10.255.0.64/26' ELSE '10.255.0.128/26' END WHERE project_id = '{project}';
         INSERT INTO private_subnet (project_id, id, location, name, net4, net6, state, is_declared) SELECT p, {subnet}, {place}, 'n-' || i,
             {net4}, 'fd00:1:' || (i / 9999 + 1) || ':' || (i % 9999 + 1) || '::/64', 'available', FALSE FROM neighbour;
         INSERT INTO private_subnet_link (project_id, low_id, high_id)
             SELECT p, 'ps000000000000000000000001', {subnet} FROM neighbour WHERE p = '{project}' AND i > 1;
         INSERT INTO nic (project_id, subnet_id, id, name, private_ipv4, private_ipv6, vm_id) SELECT p, {subnet}, {nic}, 'n', '10.0.0.4', 'fd00::4', {vm} FROM neighbour;
         INSERT INTO firewall (project_id, id, location, name, description, is_declared) SELECT p, {firewall}, {place}, 'n-' || i, '', FALSE FROM neighbour;
         INSERT INTO firewall_rule (project_id, firewall_id, id, cidr, port_range, protocol, description, is_declared) SELECT p, {firewall}, {rule}, '0.0.0.0/0', '22', 'tcp', '', FALSE FROM neighbour;
         INSERT INTO firewall_subnet (project_id, firewall_id, subnet_id) SELECT p, {firewall}, {subnet} FROM neighbour;
         INSERT INTO load_balancer (project_id, id, location, name, algorithm, src_port, dst_port, health_check_endpoint, health_check_protocol, stack, cert_enabled, subnet_id, is_declared, revision) SELECT p, {balancer}, {place}, 'n-' || i, 'round_robin', 80, 80, '/', 'http', 'dual', FALSE, {subnet}, FALSE, 0 FROM neighbour;
         INSERT INTO load_balancer_vm (project_id, vm_id, load_balancer_id) SELECT p, {vm}, {balancer} FROM neighbour;
         INSERT INTO inference_api_key (project_id, id, hash, created_at) SELECT p, {key}, CAST('seed-' || p || i AS {bytes}), 0 FROM neighbour;
         INSERT INTO postgres_database (project_id, id, location, name, flavor, ha_type, state, storage_size_gib,
             target_storage_size_gib, version, target_version, vm_size, target_vm_size, maintenance_window_start_at,
             tags, firewall_rules, password, password_is_set, latest_restore_time, used_bytes, due_at, earliest_restore_time, restored_from, restore_target)
             SELECT p, {database}, {place}, 'n-' || i, 'standard', 'none', 'running', 64, 64, '17', '17', 'standard-2', 'standard-2',
             0, '[]', '[]', CAST('-' AS {bytes}), TRUE, 2000000000, 0, {due}, 0, {database}, 0 FROM neighbour;
         DROP TABLE neighbour;"
    )
}
