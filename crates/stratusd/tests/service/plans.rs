//! The cost of statements: no statement of the service reads the rows of its neighbours.
//!
//! The service is called with every operation, beside thousands of neighbours, and the test reads
//! the plan of each statement that it sent. On SQLite the service logs the statements, and the test
//! has them explained; PostgreSQL logs the plans that it ran.

mod full;
pub mod postgres;
pub mod requests;
mod rule;
pub mod seed;
pub mod sqlite;

use crate::support::Home;
use crate::support::inventory::SHOP;
use rule::{Access, Reach, Statement, complaint};
use seed::Neighbours;

/// The neighbours beside which statements are sent: so many other projects that the usual one has hardly
/// more than a row, for which a planner finds any index of projects good.
const NEIGHBOURS: Neighbours = Neighbours {
    project: SHOP,
    rows: 5_000,
    others: 10_000,
    are_due: true,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_statement_reads_its_neighbours_on_sqlite() {
    let home = Home::sqlite();
    let statements = sqlite::statements(&home).await;
    // Planned without statistics, as databases are unless an operator runs ANALYZE, and with them.
    let without = sqlite::explain(&home, &statements);
    sqlite::analyze(&home);
    let with = sqlite::explain(&home, &statements);
    ensure_bounded(&[without, with].concat());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_statement_reads_its_neighbours_on_postgres() {
    if let Some((home, cluster)) = postgres::explaining_home() {
        ensure_bounded(&postgres::statements(&home, &cluster).await);
        let usual = postgres::tables_of_usual_projects(&cluster.url());
        assert_eq!(usual, "", "tables without a size of projects");
    }
}

/// Fails with every statement whose plan reads more than its result.
fn ensure_bounded(statements: &[Statement]) {
    let mut wrong: Vec<String> = statements.iter().filter_map(complaint).collect();
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    // A recording that found nothing would find nothing wrong. The service has more statements than
    // operations.
    let mut texts: Vec<&str> = statements.iter().map(|it| it.text.as_str()).collect();
    texts.sort_unstable();
    texts.dedup();
    assert!(
        texts.len() > api_server::OPERATIONS.len(),
        "only {} statements were recorded",
        texts.len()
    );
}

#[test]
fn a_statement_that_reads_its_neighbours_is_refused_on_sqlite() {
    let home = Home::sqlite();
    home.apply("locations: [{ name: eu-central-h1 }]\n");
    for (text, words) in [
        ("SELECT id FROM vm WHERE unix_user = $1", "reads all of vm"),
        (
            "SELECT id FROM vm WHERE project_id = $1 AND unix_user = $2",
            "searches vm by project_id alone",
        ),
        // Whether another table refers to the row.
        (
            "DELETE FROM project WHERE id = $1",
            "searches vm by project_id alone",
        ),
        // The statement that was sent before the order of its join was fixed.
        (
            "SELECT t.id FROM firewall_subnet AS attached JOIN firewall AS t ON t.project_id = attached.project_id \
             AND t.id = attached.firewall_id WHERE attached.project_id = $1 AND attached.subnet_id = $2 ORDER BY t.id",
            "searches firewall by project_id alone",
        ),
        (
            "SELECT id FROM vm WHERE project_id = $1 AND location = $2 AND name > $3 ORDER BY state LIMIT $4",
            "sorts before it limits",
        ),
        // The primary key fits the order, and so the rows of all other states are read.
        (
            "SELECT id FROM vm WHERE project_id = $1 AND id > $2 AND state = $3 ORDER BY id LIMIT $4",
            "limits what is left after a filter by state",
        ),
    ] {
        let explained = sqlite::explain(&home, &[text.to_owned()]);
        let complaints: Vec<String> = explained.iter().filter_map(complaint).collect();
        assert!(
            complaints.iter().any(|complaint| complaint.contains(words)),
            "{text}: {complaints:?}"
        );
    }
}

#[test]
fn a_plan_that_reads_its_neighbours_is_refused_on_postgres() {
    let keys = |index: &str| {
        let columns = match index {
            "firewall_pkey" => "project_id,id",
            "firewall_subnet_pkey" => "project_id,firewall_id,subnet_id",
            "vm_by_location" => "project_id,location,id",
            "vm_project_id_location_name_key" => "project_id,location,name",
            _ => return None,
        };
        let table = index.strip_suffix("_pkey").unwrap_or("vm");
        Some((
            table.to_owned(),
            columns.split(',').map(str::to_owned).collect(),
        ))
    };
    for (plan, words) in [
        (
            r#"{ "Node Type": "Seq Scan", "Relation Name": "vm", "Filter": "(unix_user = $1)" }"#,
            "reads all of vm",
        ),
        (
            r#"{ "Node Type": "Index Scan", "Index Name": "firewall_pkey", "Relation Name": "firewall", "Index Cond": "(project_id = $1)" }"#,
            "searches firewall by project_id alone",
        ),
        (
            r#"{ "Node Type": "Index Only Scan", "Index Name": "firewall_subnet_pkey", "Relation Name": "firewall_subnet",
                "Index Cond": "((project_id = $1) AND (subnet_id = $2))" }"#,
            "searches firewall_subnet by project_id alone",
        ),
        (
            r#"{ "Node Type": "Limit", "Plans": [{ "Node Type": "Sort", "Plans": [{ "Node Type": "Bitmap Heap Scan", "Relation Name": "vm",
                "Plans": [{ "Node Type": "Bitmap Index Scan", "Index Name": "vm_by_location",
                "Index Cond": "((project_id = $1) AND (location = $2) AND (id > $3))" }] }] }] }"#,
            "sorts before it limits",
        ),
        // The statement that was sent before its range was there twice.
        (
            r#"{ "Node Type": "Limit", "Plans": [{ "Node Type": "Incremental Sort", "Presorted Key": ["t.location"], "Plans": [{
                "Node Type": "Index Scan", "Relation Name": "vm", "Index Name": "vm_project_id_location_name_key",
                "Index Cond": "((project_id = $1) AND (location >= $4) AND (location <= $4))",
                "Filter": "((ROW(location, id) > ROW($4, $2)) AND (ROW(location, id) < ROW($4, '~'::text)))" }] }] }"#,
            "sorts before it limits",
        ),
    ] {
        let plan = serde_json::from_str(plan).expect("it is JSON");
        let statement = postgres::read("SELECT id FROM vm LIMIT 1", &plan, &keys);
        let complaint = complaint(&statement).unwrap_or_default();
        assert!(complaint.contains(words), "{complaint}");
    }
}

#[test]
fn a_search_by_a_whole_key_is_allowed() {
    let whole = Statement {
        text: "SELECT id FROM vm WHERE project_id = $1 AND id = $2".to_owned(),
        sorts: false,
        accesses: vec![Access {
            table: "vm".to_owned(),
            reach: Reach::Search {
                key: vec!["project_id".to_owned(), "id".to_owned()],
                by: vec!["project_id".to_owned(), "id".to_owned()],
            },
            filters: Vec::new(),
        }],
    };
    assert_eq!(complaint(&whole), None);
}
