//! Statements and plans of SQLite.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use diesel::connection::SimpleConnection;
use diesel::sql_types::Text;
use diesel::{Connection, QueryableByName, RunQueryDsl, SqliteConnection, sql_query};
use serde_json::Value;
use stratusd::settings::DatabaseUrl;
use stratusd::storage::audit::{Filter, newest};
use stratusd::storage::lease::MAKE_DUE;
use stratusd::storage::{SILENCE, Store, StoreConfig, location};
use stratusd::world::World;
use tracing::Level;

use super::rule::{Access, Reach, Statement};
use super::seed::Neighbours;
use super::{NEIGHBOURS, requests, seed};
use crate::support::inventory::{SHOP, two_projects};
use crate::support::{Home, PATIENCE};

/// Inserts neighbours.
pub fn fill(home: &Home, neighbours: &Neighbours) {
    let sequence = |count| {
        format!(
            "WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < {count}) SELECT i FROM c"
        )
    };
    let neighbours = seed::statements(neighbours, sequence, "BLOB");
    open(home)
        .batch_execute(&format!("BEGIN; {neighbours} COMMIT"))
        .expect("the neighbours can be inserted");
}

/// Returns the statements that the service sends when every operation is called beside neighbours.
pub async fn statements(home: &Home) -> Vec<String> {
    home.apply(&two_projects());
    fill(home, &NEIGHBOURS);
    let token = home.token("shop", &[]);
    let log = [
        "--log",
        "off,stratusd::statement=trace",
        "--log-format",
        "json",
    ];
    let service = home.serve(&[&log, &requests::SETTINGS[..]].concat());
    requests::send(&token, &service).await;
    service.terminate();
    let (_, log) = service.wait();
    let mut statements = sent(&log);
    statements.extend(sent(&commanding(home).await));
    // A simulator sends no events, and statements that write run in another thread.
    statements.push(MAKE_DUE.to_owned());
    statements.sort();
    statements.dedup();
    statements
}

/// Returns the statements in a log.
fn sent(log: &str) -> Vec<String> {
    let statement = |line: &str| {
        let event: Value = serde_json::from_str(line).ok()?;
        Some(event["fields"]["sql"].as_str()?.to_owned())
    };
    log.lines().filter_map(statement).collect()
}

/// Reads the audit trail and deletes a location as the operator's commands do, which have no log of
/// their own, and reads load balancers as the data plane does, and returns the log. On SQLite, statements that read
/// run in the calling thread.
async fn commanding(home: &Home) -> String {
    let url: DatabaseUrl = home.database_url.parse().expect("it is valid");
    let config = StoreConfig {
        database: url.database().expect("it names a database"),
        connections: 1,
        patience: PATIENCE,
        silence: SILENCE,
        lock_wait: PATIENCE,
        world: World::real(),
    };
    let store = Store::open(&config).await.expect("the database opens");
    let path = home.path().join("reading.log");
    let log = Arc::new(File::create(&path).expect("the folder is writable"));
    let lines = tracing_subscriber::fmt()
        .json()
        .with_max_level(Level::TRACE);
    let subscriber = lines.with_writer(log).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    for project in [None, Some(SHOP)] {
        let filter = Filter {
            project: project.map(|id| id.try_into().expect("it is an id")),
            principal: None,
            operation: None,
            resource: None,
            since: 0,
            until: i64::MAX,
            limit: 10,
        };
        let mut reader = store.reader().await.expect("there is one");
        let entries = newest(&mut reader.connection(), &filter).await;
        assert_eq!(entries.expect("they can be read").len(), 10);
    }
    // A reader writes nothing, but what it is asked to run is in the log.
    let place = "eu-north-h1".parse().expect("it is a name");
    let mut reader = store.reader().await.expect("there is one");
    let deleted = location::delete(&mut reader.connection(), &place).await;
    deleted.expect_err("a reader writes nothing");
    drop(reader);
    requests::read_load_balancers(home).await;
    std::fs::read_to_string(&path).expect("it is text")
}

/// Has SQLite collect statistics.
pub fn analyze(home: &Home) {
    open(home)
        .batch_execute("ANALYZE")
        .expect("statistics can be collected");
}

/// Returns the plans of statements.
pub fn explain(home: &Home, statements: &[String]) -> Vec<Statement> {
    let mut connection = open(home);
    let keys = keys(&mut connection);
    statements
        .iter()
        .map(|text| {
            let lines: Vec<Line> = sql_query(format!("EXPLAIN QUERY PLAN {text}"))
                .load(&mut connection)
                .unwrap_or_else(|error| panic!("{text}: {error}"));
            let lines: Vec<&str> = lines.iter().map(|line| line.detail.as_str()).collect();
            read(text, &lines, &keys)
        })
        .collect()
}

/// Opens the database.
pub fn open(home: &Home) -> SqliteConnection {
    let file = home.path().join("stratus.db");
    SqliteConnection::establish(file.to_str().expect("its path is in UTF-8"))
        .expect("the database can be opened")
}

/// A line of a plan.
#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    detail: String,
}

/// The tables with their keys: the columns of each index, and of the primary key under the name of
/// the table.
struct Keys {
    tables: HashMap<String, Vec<String>>,
    indexes: HashMap<String, Vec<String>>,
}

#[derive(QueryableByName)]
struct Key {
    #[diesel(sql_type = Text)]
    table: String,
    #[diesel(sql_type = Text)]
    index: String,
    #[diesel(sql_type = Text)]
    origin: String,
    #[diesel(sql_type = Text)]
    columns: String,
}

fn keys(connection: &mut SqliteConnection) -> Keys {
    let sql = "SELECT m.name AS \"table\", l.name AS \"index\", l.origin, \
               (SELECT group_concat(name) FROM (SELECT name FROM pragma_index_info(l.name) ORDER BY seqno)) AS columns \
               FROM sqlite_master AS m, pragma_index_list(m.name) AS l WHERE m.type = 'table' AND m.name NOT LIKE '\\_\\_%' ESCAPE '\\'";
    let keys: Vec<Key> = sql_query(sql)
        .load(connection)
        .expect("the keys can be read");
    let columns = |key: &Key| key.columns.split(',').map(str::to_owned).collect();
    let primary = keys.iter().filter(|key| key.origin == "pk");
    Keys {
        tables: primary
            .map(|key| (key.table.clone(), columns(key)))
            .collect(),
        indexes: keys
            .iter()
            .map(|key| (key.index.clone(), columns(key)))
            .collect(),
    }
}

/// Reads a plan.
fn read(text: &str, lines: &[&str], keys: &Keys) -> Statement {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || "(),".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    let table = |alias: &str| {
        let is_alias = |at: &usize| {
            let named = if words.get(at + 1) == Some(&"AS") {
                at + 2
            } else {
                *at
            };
            words.get(named) == Some(&alias)
        };
        let at = (0..words.len()).find(|at| keys.tables.contains_key(words[*at]) && is_alias(at));
        // What the statement does not name is read to check a foreign key.
        let unnamed = keys.tables.contains_key(alias).then_some(alias);
        at.map(|at| words[at]).or(unnamed).map(str::to_owned)
    };
    let mut accesses: Vec<Access> = lines
        .iter()
        .filter_map(|line| access(line, &table, keys))
        .collect();
    // SQLite's plans do not show filters: these are the columns that the statement compares and no
    // search does.
    let start = words.iter().position(|word| *word == "WHERE");
    let conditions = &words[start.unwrap_or(words.len())..];
    let compared = conditions.windows(3).filter(|window| {
        matches!(window[1], "=" | "<" | ">" | "<=" | ">=") && window[2].starts_with('$')
    });
    for column in compared.map(|window| window[0].rsplit('.').next().unwrap_or_default()) {
        let is_searched = accesses.iter().any(|access| match &access.reach {
            Reach::Search { by, .. } => by.iter().any(|by| by == column),
            Reach::Scan => false,
        });
        if let (false, Some(access)) = (is_searched, accesses.first_mut()) {
            access.filters.push(column.to_owned());
        }
    }
    Statement {
        text: text.to_owned(),
        sorts: lines.iter().any(|line| line.contains("ORDER BY")),
        accesses,
    }
}

/// Reads a line of a plan; `None` if it reads no table.
fn access(line: &str, table: &impl Fn(&str) -> Option<String>, keys: &Keys) -> Option<Access> {
    let (verb, rest) = line.split_once(' ')?;
    let alias = rest.split(' ').next()?;
    let reach = match verb {
        "SCAN" => Reach::Scan,
        "SEARCH" => {
            let (head, compared) = rest.split_once('(')?;
            let column = |part: &str| part.split(['=', '<', '>']).next().map(str::to_owned);
            let mut by: Vec<String> = if let Some(row) = compared.strip_prefix('(') {
                // A comparison of rows: `(a,b)>(?,?)`.
                row.split(')')
                    .next()?
                    .split(',')
                    .map(str::to_owned)
                    .collect()
            } else {
                let compared = compared.split(')').next()?.split(" AND ");
                compared.filter_map(column).collect()
            };
            // Both ends of a range are of one column.
            by.dedup();
            let index = head.split_once("INDEX ").map(|(_, name)| name.trim());
            let key = match index {
                Some(index) => keys.indexes.get(index)?.clone(),
                None => keys.tables.get(&table(alias)?)?.clone(),
            };
            Reach::Search { key, by }
        }
        _ => return None,
    };
    Some(Access {
        table: table(alias)?,
        reach,
        filters: Vec::new(),
    })
}
