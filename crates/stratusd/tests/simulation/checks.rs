//! The invariants that hold at the end of each simulation.

use std::collections::BTreeSet;
use std::net::IpAddr;

use diesel::sql_types::{BigInt, Text};
use diesel::{QueryableByName, RunQueryDsl};
use stratusd::domain::quota::Kind;

use crate::batches::HALF;
use crate::cloud::Cloud;
use crate::ground::Ground;
use crate::history::{Balancer, Balancers, Entry, Model, Name, Value, search};
use crate::template::{BALANCERS, QUOTAS};

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    text: String,
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

fn texts(ground: &Ground, sql: &str) -> Vec<String> {
    let rows: Vec<Row> = ground.probe(|connection| {
        diesel::sql_query(sql)
            .load(connection)
            .expect("the query is valid")
    });
    rows.into_iter().map(|row| row.text).collect()
}

fn number(ground: &Ground, sql: &str) -> i64 {
    let rows: Vec<Number> = ground.probe(|connection| {
        diesel::sql_query(sql)
            .load(connection)
            .expect("the query is valid")
    });
    rows.first().map_or(0, |row| row.number)
}

/// Returns whether each database has reached its target, and the provisioner has no others.
pub fn is_converged(ground: &Ground, cloud: &Cloud) -> bool {
    let sql = "SELECT COUNT(*) AS number FROM postgres_database WHERE state <> 'running' \
               OR storage_size_gib <> target_storage_size_gib OR NOT password_is_set \
               OR restarts <> target_restarts OR promotions <> target_promotions";
    number(ground, sql) == 0 && ids(ground) == cloud.ids()
}

/// Returns the ids of all databases.
fn ids(ground: &Ground) -> Vec<String> {
    texts(
        ground,
        "SELECT id AS text FROM postgres_database ORDER BY id",
    )
}

/// Returns the databases, in words.
pub fn rows(ground: &Ground) -> String {
    let sql = "SELECT name || ' ' || state || ' ' || storage_size_gib || ' ' || target_storage_size_gib \
               || ' ' || due_at || ' ' || COALESCE(lease_until, '') || ' ' || attempts AS text \
               FROM postgres_database";
    texts(ground, sql).join(", ")
}

/// Checks everything.
pub fn check(ground: &Ground, cloud: &Cloud) {
    rows_are_whole(ground);
    networks_are_disjoint(ground);
    quotas_hold(ground);
    keys_are_kept(ground);
    batches_are_whole(ground);
    passwords_are_set(ground, cloud);
    restarts_are_made(ground, cloud);
    deleted_databases_are_gone(ground, cloud);
    histories_are_linearizable(ground);
}

/// No change was made in part.
fn rows_are_whole(ground: &Ground) {
    for (what, sql) in [
        (
            "integrity",
            "SELECT integrity_check AS text FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
        ),
        (
            "foreign key",
            "SELECT \"table\" AS text FROM pragma_foreign_key_check",
        ),
        (
            "a subnet without its firewall",
            "SELECT s.name AS text FROM private_subnet AS s WHERE NOT s.is_declared AND NOT EXISTS (\
             SELECT 1 FROM firewall_subnet AS a JOIN firewall AS f ON f.project_id = a.project_id AND f.id = a.firewall_id \
             WHERE a.subnet_id = s.id AND f.name = s.name || '-default' AND \
             (SELECT COUNT(*) FROM firewall_rule AS r WHERE r.firewall_id = f.id) = 2)",
        ),
        (
            "a firewall without its subnet",
            "SELECT f.name AS text FROM firewall AS f WHERE NOT f.is_declared \
             AND NOT EXISTS (SELECT 1 FROM firewall_subnet AS a WHERE a.firewall_id = f.id)",
        ),
        (
            "a change without its entry in the audit trail",
            "SELECT id AS text FROM private_subnet AS r WHERE NOT r.is_declared AND \
             (SELECT COUNT(*) FROM audit AS a WHERE a.resource = r.id AND a.operation = 'private_subnet_create') <> 1 \
             UNION ALL SELECT id FROM postgres_database AS r WHERE \
             (SELECT COUNT(*) FROM audit AS a WHERE a.resource = r.id AND a.operation = 'postgres_create') <> 1 \
             UNION ALL SELECT id FROM inference_api_key AS r WHERE \
             (SELECT COUNT(*) FROM audit AS a WHERE a.resource = r.id AND a.operation = 'inference_api_key_create') <> 1",
        ),
        (
            "an entry in the audit trail without its change",
            "SELECT resource AS text FROM audit WHERE operation = 'private_subnet_create' \
             AND resource NOT IN (SELECT id FROM private_subnet) \
             UNION ALL SELECT resource FROM audit WHERE operation = 'postgres_create' \
             AND resource NOT IN (SELECT id FROM postgres_database UNION ALL \
             SELECT resource FROM audit WHERE operation = 'postgres_delete') \
             UNION ALL SELECT resource FROM audit WHERE operation = 'inference_api_key_create' \
             AND resource NOT IN (SELECT id FROM inference_api_key)",
        ),
        (
            "two of a name",
            "SELECT name AS text FROM private_subnet GROUP BY project_id, location, name HAVING COUNT(*) > 1 \
             UNION ALL SELECT name FROM postgres_database WHERE state <> 'deleting' GROUP BY project_id, location, name HAVING COUNT(*) > 1 \
             UNION ALL SELECT name FROM firewall GROUP BY project_id, location, name HAVING COUNT(*) > 1",
        ),
        (
            "a virtual machine on two load balancers",
            "SELECT vm_id AS text FROM load_balancer_vm GROUP BY vm_id HAVING COUNT(*) > 1",
        ),
    ] {
        let found = texts(ground, sql);
        if !found.is_empty() {
            ground.broken(format!("{what}: {found:?}"));
        }
    }
}

/// Returns the first and the last address of a network.
fn range(network: &str) -> (u128, u128) {
    let (address, length) = network.split_once('/').expect("a network has a length");
    let length: u32 = length.parse().expect("a length is a number");
    let (address, bits) = match address.parse().expect("a network has an address") {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let hosts = (1_u128 << (bits - length)) - 1;
    (address & !hosts, address | hosts)
}

fn networks_are_disjoint(ground: &Ground) {
    for column in ["net4", "net6"] {
        let networks = texts(
            ground,
            &format!("SELECT {column} AS text FROM private_subnet"),
        );
        let mut ranges: Vec<_> = networks.iter().map(|network| range(network)).collect();
        ranges.sort_unstable();
        if ranges.windows(2).any(|pair| pair[0].1 >= pair[1].0) {
            ground.broken(format!("networks overlap: {networks:?}"));
        }
    }
}

fn quotas_hold(ground: &Ground) {
    let used_up = ground.kept().used_up.clone();
    for (kind, table) in [
        (Kind::PrivateSubnet, "private_subnet"),
        (Kind::Firewall, "firewall"),
        (Kind::Postgres, "postgres_database"),
        (Kind::InferenceApiKey, "inference_api_key"),
    ] {
        let most = QUOTAS.of(kind);
        let items = number(ground, &format!("SELECT COUNT(*) AS number FROM {table}"));
        if items > most {
            ground.broken(format!("{items} of {table}, and the quota is {most}"));
        }
        // Only databases are deleted, so what else was full stays full.
        if used_up.contains(table) && items != most && kind != Kind::Postgres {
            ground.broken(format!(
                "{table} was refused for a quota that is not used up"
            ));
        }
        let name = if table == "postgres_database" {
            "postgres"
        } else {
            table
        };
        let counted = number(
            ground,
            &format!(
                "SELECT COALESCE(SUM(items), 0) AS number FROM resource_count WHERE kind = '{name}'"
            ),
        );
        if counted != items {
            ground.broken(format!("{items} of {table}, and {counted} are counted"));
        }
    }
}

fn keys_are_kept(ground: &Ground) {
    let found = texts(ground, "SELECT id AS text FROM inference_api_key");
    let found: BTreeSet<String> = found.into_iter().collect();
    let kept = ground.kept();
    let open = kept
        .open
        .values()
        .filter(|event| matches!(event, crate::ground::Event::Key))
        .count();
    let lost: Vec<&String> = kept.keys.difference(&found).collect();
    let (lost, more) = (
        format!("{lost:?}"),
        found.len() - kept.keys.intersection(&found).count(),
    );
    let (is_lost, most) = (lost != "[]", kept.keys_lost + open);
    drop(kept);
    if is_lost {
        ground.broken(format!("acknowledged keys are lost: {lost}"));
    }
    if more > most {
        ground.broken(format!(
            "{more} keys were made by {most} requests without a response"
        ));
    }
}

/// Changes of a batch are made, and those that have failed in it are not.
fn batches_are_whole(ground: &Ground) {
    let rows = texts(ground, "SELECT name AS text FROM service_state");
    let rows: BTreeSet<String> = rows.into_iter().collect();
    let lost: Vec<String> = ground.kept().whole.difference(&rows).cloned().collect();
    if !lost.is_empty() {
        ground.broken(format!("acknowledged changes are lost: {lost:?}"));
    }
    let half: Vec<&String> = rows.iter().filter(|name| name.starts_with(HALF)).collect();
    if !half.is_empty() {
        ground.broken(format!("changes that have failed are made: {half:?}"));
    }
}

/// The provisioner has for each database the password that the service shows.
fn passwords_are_set(ground: &Ground, cloud: &Cloud) {
    for id in texts(ground, "SELECT id AS text FROM postgres_database") {
        let (set, shown) = (cloud.password(&id), ground.kept().shown.get(&id).cloned());
        if set.is_none() || set != shown {
            ground.broken(format!(
                "the password of {id} is {set:?}, and {shown:?} is shown"
            ));
        }
    }
}

/// The provisioner has the databases of the service, and no others.
fn deleted_databases_are_gone(ground: &Ground, cloud: &Cloud) {
    let (rows, made) = (ids(ground), cloud.ids());
    if rows != made {
        ground.broken(format!(
            "the service has {rows:?}, and the provisioner {made:?}"
        ));
    }
}

/// The provisioner has made the last restart of each database that a caller has asked for, and at
/// least as many have been asked for as were acknowledged.
fn restarts_are_made(ground: &Ground, cloud: &Cloud) {
    for id in texts(ground, "SELECT id AS text FROM postgres_database") {
        let sql =
            format!("SELECT target_restarts AS number FROM postgres_database WHERE id = '{id}'");
        let (asked, made) = (number(ground, &sql), cloud.restarts(&id));
        let acknowledged = ground.kept().restarts.get(&id).copied().unwrap_or_default();
        if made != Some(asked) || acknowledged > asked {
            ground.broken(format!(
                "{acknowledged} restarts of {id} are acknowledged, {asked} asked for, and {made:?} made"
            ));
        }
    }
}

fn histories_are_linearizable(ground: &Ground) {
    let (names, values, balancers) = ground.histories();
    for (name, history) in names {
        if !is_linearizable(Name::Free, &history) {
            ground.broken(format!("{name}: {history:#?}"));
        }
    }
    for (name, history) in values {
        if !is_linearizable(Value(None), &history) {
            ground.broken(format!("{name}: {history:#?}"));
        }
    }
    let start = Balancers(
        BALANCERS
            .iter()
            .map(|name| {
                let first = Balancer {
                    value: 443,
                    ..Balancer::default()
                };
                ((*name).to_owned(), first)
            })
            .collect(),
    );
    if !is_linearizable(start, &balancers) {
        ground.broken(format!("load balancers: {balancers:#?}"));
    }
}

/// Returns whether a history is linearizable from a state on. Its entries are in any order.
pub fn is_linearizable<M: Model>(start: M, entries: &[Entry<M::Action>]) -> bool {
    let mut is_found = false;
    search([start], entries, |_| {
        is_found = true;
        true
    });
    is_found
}
