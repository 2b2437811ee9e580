//! A private subnet among few and among many neighbours of the same project: the time to view one,
//! and to create one.

use std::time::Instant;

use axum::body::to_bytes;

use crate::support::{Table, median};
use crate::world::Service;

const ROUNDS: usize = 41;
const REPEAT: u32 = 10;

/// The projects, each with the number of its neighbours: so many firewalls, each with a rule and
/// attached to a subnet, and a fifth as many subnets, each with a network interface.
const PROJECTS: [&str; 3] = ["10", "20,000", "1,000,000"];
const INVENTORY: &str = "locations: [{ name: eu-central-h1 }]\n\
                         projects: [{ name: few }, { name: many }, { name: most }]\n";

pub async fn run() {
    let [few, many, most] = PROJECTS;
    let mut table = Table::new(&["request", "database", few, many, most, "ratio"]);
    measure(&Service::sqlite(INVENTORY).await, "SQLite", &mut table).await;
    measure(
        &Service::postgres(INVENTORY).await,
        "PostgreSQL",
        &mut table,
    )
    .await;
    table.print("time of a request beside neighbours");
}

async fn measure(service: &Service, database: &str, table: &mut Table) {
    fill(service).await;
    for project in 0..PROJECTS.len() {
        call(service, project, "POST", "seen").await;
    }
    for (name, method) in [("view", "GET"), ("create", "POST")] {
        let mut times = [const { Vec::new() }; PROJECTS.len()];
        for round in 0..=ROUNDS {
            for (project, times) in times.iter_mut().enumerate() {
                let start = Instant::now();
                for repeat in 0..REPEAT {
                    let subnet = match method {
                        "GET" => "seen".to_owned(),
                        _ => format!("new-{round}-{repeat}"),
                    };
                    call(service, project, method, &subnet).await;
                }
                // The first round warms up.
                if round > 0 {
                    times.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(REPEAT));
                }
            }
        }
        let [few, many, most] = times.map(|times| median(times.into_iter()));
        table.row([
            name.to_owned(),
            database.to_owned(),
            format!("{few:.0} µs"),
            format!("{many:.0} µs"),
            format!("{most:.0} µs"),
            format!("{:.2}", most / few),
        ]);
    }
}

async fn call(service: &Service, project: usize, method: &str, subnet: &str) {
    let path = format!("/location/eu-central-h1/private-subnet/{subnet}");
    let response = service.call(project, method, &path).await;
    assert_eq!(response.status(), 200, "{method} {path}");
    to_bytes(response.into_body(), usize::MAX)
        .await
        .expect("it has a body");
}

/// Fills each project. A network of a neighbour is no real one: a million would not fit into a
/// project.
async fn fill(service: &Service) {
    let sqlite = "
        PRAGMA foreign_keys = FALSE;
        CREATE TEMP TABLE size AS SELECT id AS p,
            CASE name WHEN 'few' THEN 10 WHEN 'many' THEN 20000 ELSE 1000000 END AS items FROM project;
        CREATE TEMP TABLE neighbour AS WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999999)
            SELECT p, i, items, printf('fw%024d', i) AS firewall, printf('ps%024d', i / 5) AS subnet
            FROM size, n WHERE i < items;
        INSERT INTO private_subnet (project_id, id, location, name, net4, net6, state, is_declared) SELECT p, subnet, 'eu-central-h1', 'n-' || i, '4-' || i, '6-' || i, 'available', 0
            FROM neighbour WHERE i % 5 = 0;
        INSERT INTO nic (project_id, subnet_id, id, name, private_ipv4, private_ipv6, vm_id) SELECT p, subnet, printf('nc%024d', i), 'n', '10.0.0.4', 'fd00::4', NULL
            FROM neighbour WHERE i % 5 = 0;
        INSERT INTO firewall (project_id, id, location, name, description, is_declared) SELECT p, firewall, 'eu-central-h1', 'n-' || i, '', 0 FROM neighbour;
        INSERT INTO firewall_rule (project_id, firewall_id, id, cidr, port_range) SELECT p, firewall, printf('fr%024d', i), '0.0.0.0/0', '22' FROM neighbour;
        INSERT INTO firewall_subnet (project_id, firewall_id, subnet_id) SELECT p, firewall, subnet FROM neighbour";
    let postgres = "
        CREATE TEMP TABLE neighbour AS
            SELECT id AS p, i, 'fw' || lpad(i::text, 24, '0') AS firewall, 'ps' || lpad((i / 5)::text, 24, '0') AS subnet
            FROM project, generate_series(0, 999999) AS i
            WHERE i < CASE name WHEN 'few' THEN 10 WHEN 'many' THEN 20000 ELSE 1000000 END;
        INSERT INTO private_subnet (project_id, id, location, name, net4, net6, state, is_declared) SELECT p, subnet, 'eu-central-h1', 'n-' || i, '4-' || i, '6-' || i, 'available', FALSE
            FROM neighbour WHERE i % 5 = 0;
        INSERT INTO nic (project_id, subnet_id, id, name, private_ipv4, private_ipv6, vm_id) SELECT p, subnet, 'nc' || lpad(i::text, 24, '0'), 'n', '10.0.0.4', 'fd00::4', NULL
            FROM neighbour WHERE i % 5 = 0;
        INSERT INTO firewall (project_id, id, location, name, description, is_declared) SELECT p, firewall, 'eu-central-h1', 'n-' || i, '', FALSE FROM neighbour;
        INSERT INTO firewall_rule (project_id, firewall_id, id, cidr, port_range) SELECT p, firewall, 'fr' || lpad(i::text, 24, '0'), '0.0.0.0/0', '22' FROM neighbour;
        INSERT INTO firewall_subnet (project_id, firewall_id, subnet_id) SELECT p, firewall, subnet FROM neighbour;
        DROP TABLE neighbour;
        ANALYZE";
    service.execute(sqlite, postgres).await;
}
