//! The calls of the tag `postgres`.

use api_client::prelude::*;
use api_client::types;
use serde_json::{Value, json};
use tests::memory::{LOCATION, PROJECT};
use tests::seed::POSTGRES_FIREWALL_RULE;

use super::{Call, sent};

pub const CALLS: &[Call] = &[
    Call {
        operation: "project_postgres_list",
        send: |client| {
            sent(
                client
                    .project_postgres_list()
                    .project_id(PROJECT)
                    .order_column("name")
                    .send(),
            )
        },
        expected: || {
            vec![
                ("/items/0/name", json!("orders")),
                ("/items/0/tags/0/key", json!("team")),
            ]
        },
    },
    Call {
        operation: "postgres_view",
        send: |client| {
            let call = client
                .postgres_view()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.postgres_database_reference("orders").send())
        },
        expected: || {
            vec![
                ("/state", json!("running")),
                ("/earliest_restore_time", Value::Null),
            ]
        },
    },
    Call {
        operation: "postgres_create",
        send: |client| {
            let size = "standard-2".parse().expect("`standard-2` is a size");
            let storage = 64.try_into().expect("64 is a storage size");
            let body =
                types::PostgresCreate::new(size, storage).with_version(types::PostgresVersion::N18);
            let call = client
                .postgres_create()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(
                call.postgres_database_reference("invoices")
                    .body(body)
                    .send(),
            )
        },
        expected: || {
            vec![
                ("/name", json!("invoices")),
                ("/state", json!("creating")),
                ("/version", json!("18")),
                ("/flavor", json!("standard")),
                ("/connection_string", Value::Null),
            ]
        },
    },
    Call {
        operation: "postgres_update",
        send: |client| {
            let tag = types::TagInput::new(
                "team".parse().expect("a key"),
                "billing".parse().expect("a value"),
            );
            let body = types::PostgresUpdate::new()
                .with_storage_size(128.try_into().expect("128 is a storage size"))
                .with_tags(vec![tag].try_into().expect("one item is within the limit"));
            let call = client
                .postgres_update()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.postgres_database_reference("orders").body(body).send())
        },
        expected: || {
            vec![
                ("/target_storage_size_gib", json!(128)),
                ("/storage_size_gib", json!(64)),
                ("/tags/0/value", json!("billing")),
            ]
        },
    },
    Call {
        operation: "postgres_reset_superuser_password",
        send: |client| {
            let password = "Example-Passw0rd-2"
                .parse()
                .expect("the text is a password");
            let call = client
                .postgres_reset_superuser_password()
                .project_id(PROJECT)
                .location(LOCATION);
            let call = call.postgres_database_reference("orders");
            sent(
                call.body(types::PostgresResetSuperuserPassword::new(password))
                    .send(),
            )
        },
        expected: || vec![("/name", json!("orders"))],
    },
    Call {
        operation: "postgres_list",
        send: |client| {
            let call = client
                .postgres_list()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.order_column("name").send())
        },
        expected: || vec![("/items/0/name", json!("orders"))],
    },
    Call {
        operation: "postgres_delete",
        send: |client| {
            let call = client
                .postgres_delete()
                .project_id(PROJECT)
                .location(LOCATION);
            // Not the database that other calls need.
            sent(call.postgres_database_reference("gone").send())
        },
        expected: || vec![("", Value::Null)],
    },
    Call {
        operation: "postgres_restart",
        send: |client| {
            let call = client
                .postgres_restart()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.postgres_database_reference("orders").send())
        },
        expected: || vec![("/name", json!("orders"))],
    },
    Call {
        operation: "postgres_promote",
        send: |client| {
            let call = client
                .postgres_promote()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.postgres_database_reference("orders").send())
        },
        expected: || vec![("/name", json!("orders"))],
    },
    Call {
        operation: "postgres_backup_list",
        send: |client| {
            let call = client
                .postgres_backup_list()
                .project_id(PROJECT)
                .location(LOCATION)
                .postgres_database_reference("orders");
            sent(call.start_after("20260301T090000Z").send())
        },
        expected: || {
            vec![
                ("/count", json!(2)),
                ("/items/0/key", json!("20260302T090000Z")),
            ]
        },
    },
    Call {
        operation: "postgres_restore",
        send: |client| {
            let call = client
                .postgres_restore()
                .project_id(PROJECT)
                .location(LOCATION);
            let body = types::PostgresRestore::new(
                "before".parse().expect("it is a name"),
                "2026-03-02T17:30:00.25Z".parse().expect("it is a time"),
            );
            sent(call.postgres_database_reference("orders").body(body).send())
        },
        expected: || vec![("/name", json!("before")), ("/state", json!("creating"))],
    },
    Call {
        operation: "postgres_set_maintenance_window",
        send: |client| {
            let call = client
                .postgres_set_maintenance_window()
                .project_id(PROJECT)
                .location(LOCATION);
            let body = types::PostgresSetMaintenanceWindow::new()
                .with_maintenance_window_start_at(Some(5.try_into().expect("5 is an hour")));
            sent(call.postgres_database_reference("orders").body(body).send())
        },
        expected: || vec![("/maintenance_window_start_at", json!(5))],
    },
    Call {
        operation: "postgres_firewall_rule_list",
        send: |client| {
            let call = client
                .postgres_firewall_rule_list()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.postgres_database_reference("orders").send())
        },
        expected: || vec![("/count", json!(0))],
    },
    Call {
        operation: "postgres_firewall_rule_create",
        send: |client| {
            let body = types::PostgresFirewallRuleCreate::new(
                "10.0.0.0/8".parse().expect("it is a network"),
            );
            let call = client
                .postgres_firewall_rule_create()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.postgres_database_reference("orders").body(body).send())
        },
        expected: || vec![("/cidr", json!("10.0.0.0/8")), ("/description", json!(""))],
    },
    Call {
        operation: "postgres_firewall_rule_delete",
        send: |client| {
            let call = client
                .postgres_firewall_rule_delete()
                .project_id(PROJECT)
                .location(LOCATION);
            let call = call.postgres_database_reference("orders");
            sent(call.firewall_rule_id(POSTGRES_FIREWALL_RULE).send())
        },
        expected: || vec![("", Value::Null)],
    },
];
