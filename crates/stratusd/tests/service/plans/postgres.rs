//! Statements and plans of PostgreSQL, whose module `auto_explain` logs what it runs.

use std::collections::HashMap;
use std::process::Command;

use serde_json::Value;

use super::rule::{Access, Reach, Statement};
use super::seed::Neighbours;
use super::{NEIGHBOURS, requests, seed};
use crate::support::Home;
use crate::support::cluster::{Cluster, binary};
use crate::support::inventory::{SHOP, two_projects};

/// Creates a home with a server that logs the plan of every statement, also of those that check
/// foreign keys. Returns `None` if the tests run without PostgreSQL.
pub fn explaining_home() -> Option<(Home, Cluster)> {
    let settings = [
        ("fsync", "off"),
        ("synchronous_commit", "off"),
        ("full_page_writes", "off"),
        ("shared_preload_libraries", "auto_explain"),
        ("auto_explain.log_min_duration", "0"),
        ("auto_explain.log_nested_statements", "on"),
        ("auto_explain.log_format", "json"),
    ];
    Home::on_server(&settings, &[])
}

/// Inserts neighbours, without the triggers, which would take most of twenty minutes for a million rows
/// of each table. So the changes that they would record are inserted too.
pub fn fill(url: &str, neighbours: &Neighbours) {
    let sequence = |count| format!("SELECT i FROM generate_series(1, {count}) AS i");
    let neighbours = seed::statements(neighbours, sequence, "BYTEA");
    let changes = "INSERT INTO load_balancer_change (number, project_id, load_balancer_id, at) \
                   SELECT pg_current_xact_id()::TEXT::BIGINT, project_id, id, EXTRACT(EPOCH FROM clock_timestamp()) * 1000 \
                   FROM (SELECT project_id, id FROM load_balancer \
                         UNION SELECT project_id, '1b000000000000000000000000' FROM vm) AS changed \
                   ON CONFLICT DO NOTHING";
    psql(
        url,
        &format!("SET session_replication_role = replica; BEGIN; {neighbours} {changes}; COMMIT"),
    );
    // As autovacuum does it within a minute. Then indexes can be read without their tables.
    psql(url, "VACUUM ANALYZE");
}

/// Returns the statements that the service sends when every operation is called beside neighbours,
/// with the plans that ran.
pub async fn statements(home: &Home, cluster: &Cluster) -> Vec<Statement> {
    home.apply(&two_projects());
    fill(&cluster.url(), &NEIGHBOURS);
    let keys = keys(&cluster.url());
    let token = home.token("shop", &[]);
    let before = cluster.log().len();
    let service = home.serve(&requests::SETTINGS);
    requests::send(&token, &service).await;
    requests::read_load_balancers(home).await;
    requests::make_due(home).await;
    for audit in requests::AUDITS {
        home.succeed(audit);
    }
    service.terminate();
    assert!(service.wait().0, "the service ends well");
    let log = cluster.log();
    let lookup = |index: &str| keys.get(index).cloned();
    plans(&log[before..])
        .iter()
        .filter_map(|explained| {
            let text = explained["Query Text"].as_str()?;
            // A plan for one project would say nothing about the others.
            let plan = explained["Plan"].to_string();
            assert!(
                !plan.contains(SHOP),
                "{text} is planned for each value: {plan}"
            );
            let mut statement = read(text, &explained["Plan"], &lookup);
            // The table of the migrations, and the system's own.
            let is_ours = |table: &str| !table.starts_with("__") && !table.starts_with("pg_");
            statement.accesses.retain(|access| is_ours(&access.table));
            Some(statement)
        })
        .collect()
}

/// Returns the plans in a server's log.
fn plans(log: &str) -> Vec<Value> {
    let mut lines = log.lines().peekable();
    let mut plans = Vec::new();
    while let Some(line) = lines.next() {
        if !line.ends_with("plan:") {
            continue;
        }
        let mut plan = String::new();
        while let Some(line) = lines.next_if(|line| line.starts_with('\t')) {
            plan.push_str(line);
        }
        plans.push(serde_json::from_str(&plan).expect("a plan is JSON"));
    }
    plans
}

/// The table and the columns of each index.
type Keys = HashMap<String, (String, Vec<String>)>;

fn keys(url: &str) -> Keys {
    let sql = "SELECT i.relname, t.relname, string_agg(a.attname, ',' ORDER BY k.n) \
               FROM pg_index AS x JOIN pg_class AS t ON t.oid = x.indrelid JOIN pg_class AS i ON i.oid = x.indexrelid \
               CROSS JOIN LATERAL unnest(x.indkey) WITH ORDINALITY AS k (attnum, n) \
               JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = k.attnum \
               WHERE t.relnamespace = 'public'::regnamespace GROUP BY 1, 2";
    let listed = psql(url, sql);
    let key = |line: &str| {
        let mut parts = line.split('|').map(str::to_owned);
        let (index, table) = (parts.next()?, parts.next()?);
        let columns = parts.next()?.split(',').map(str::to_owned).collect();
        Some((index, (table, columns)))
    };
    listed.lines().filter_map(key).collect()
}

/// Returns the tables of which a planner may choose between several indexes that begin with the project,
/// and is not told the size of projects.
pub fn tables_of_usual_projects(url: &str) -> String {
    psql(
        url,
        "SELECT t.relname FROM pg_class AS t JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attname = 'project_id' \
         WHERE t.relnamespace = 'public'::regnamespace AND t.relkind = 'r' \
         AND (SELECT count(*) FROM pg_index AS i WHERE i.indrelid = t.oid AND i.indkey[0] = a.attnum) > 1 \
         AND NOT COALESCE('n_distinct=100' = ANY (a.attoptions), FALSE)",
    )
}

/// Runs SQL without its plans in the log. Returns what it prints.
fn psql(url: &str, sql: &str) -> String {
    let quiet = "SET auto_explain.log_min_duration = -1";
    let output = Command::new(binary("psql"))
        .args([url, "-qAt", "-v", "ON_ERROR_STOP=1"])
        .args(["-c", quiet, "-c", sql])
        .output()
        .expect("psql starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).expect("psql prints text")
}

/// Reads a plan.
pub fn read(
    text: &str,
    plan: &Value,
    keys: &dyn Fn(&str) -> Option<(String, Vec<String>)>,
) -> Statement {
    let mut statement = Statement {
        text: text.to_owned(),
        sorts: false,
        accesses: Vec::new(),
    };
    walk(plan, keys, &mut statement);
    statement
}

fn walk(
    node: &Value,
    keys: &dyn Fn(&str) -> Option<(String, Vec<String>)>,
    statement: &mut Statement,
) {
    let property = |name: &str| node[name].as_str().unwrap_or_default();
    match property("Node Type") {
        "Seq Scan" => statement.accesses.push(Access {
            table: property("Relation Name").to_owned(),
            reach: Reach::Scan,
            filters: Vec::new(),
        }),
        "Index Scan" | "Index Only Scan" | "Bitmap Index Scan" => {
            let index = property("Index Name");
            let (table, key) = keys(index).unwrap_or_else(|| (index.to_owned(), Vec::new()));
            let condition = columns(property("Index Cond"));
            let by: Vec<String> = key
                .iter()
                .filter(|column| condition.contains(&column.as_str()))
                .cloned()
                .collect();
            let filters = property("Filter")
                .split('(')
                .filter_map(|part| part.split_once(" = $").or(part.split_once(" = '")))
                .map(|(column, _)| column.to_owned())
                .collect();
            let reach = if by.is_empty() {
                Reach::Scan
            } else {
                Reach::Search { key, by }
            };
            statement.accesses.push(Access {
                table,
                reach,
                filters,
            });
        }
        "Sort" | "Incremental Sort" if !is_of_limited(node) => statement.sorts = true,
        _ => {}
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        walk(child, keys, statement);
    }
}

/// Returns whether a limit has ended what a node reads.
fn is_of_limited(node: &Value) -> bool {
    let below = &node["Plans"][0];
    match below["Node Type"].as_str() {
        Some("Limit") => true,
        Some("Subquery Scan") => is_of_limited(below),
        _ => false,
    }
}

/// Returns the words of a condition, without its texts: among them are the columns. Those of other
/// tables have an alias before them.
fn columns(condition: &str) -> Vec<&str> {
    let outside = condition.split('\'').step_by(2);
    outside
        .flat_map(|part| part.split(|c: char| !c.is_alphanumeric() && !"_.".contains(c)))
        .collect()
}
