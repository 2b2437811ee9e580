//! A valid call of every operation, with the parts of the response that are known.

// Also where another file of tests includes this one.
#[path = "calls/postgres.rs"]
mod postgres;

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;

use api_client::prelude::*;
use api_client::types;
use api_client::{Error, ResponseValue};
use serde::Serialize;
use serde_json::{Value, json};
use tests::memory::{LOCATION, PROJECT};
use tests::seed::{FIREWALL_RULE, INFERENCE_API_KEY, subnet_id, vm_id};

/// The response as JSON, or the error.
type Sent<'c> = Pin<Box<dyn Future<Output = Result<Value, Error>> + 'c>>;

thread_local! {
    /// Whether the calls of this thread read their responses leniently.
    pub static READS_LENIENTLY: Cell<bool> = const { Cell::new(false) };
}

pub struct Call {
    pub operation: &'static str,
    pub send: for<'c> fn(&'c Client) -> Sent<'c>,
    pub expected: fn() -> Vec<(&'static str, Value)>,
}

pub fn client(base: &str, token: &str) -> Client {
    Client::builder(base)
        .bearer(token)
        .build()
        .expect("the settings are valid")
}

fn sent<'c, T: Serialize>(
    call: impl Future<Output = Result<ResponseValue<T>, Error>> + 'c,
) -> Sent<'c> {
    let json = |value: &T| serde_json::to_value(value).expect("a response is JSON");
    Box::pin(async move {
        if !READS_LENIENTLY.get() {
            return Ok(json(&*call.await?));
        }
        let response = call.lenient().await.expect("a success");
        let typed = response.get().map(json).expect("the response fits");
        // A response without content has nothing to read.
        assert_eq!(response.raw(), (!typed.is_null()).then_some(&typed));
        Ok(typed)
    })
}

/// Returns a call of every operation.
pub fn calls() -> impl Iterator<Item = &'static Call> {
    OTHERS.iter().chain(postgres::CALLS)
}

const OTHERS: &[Call] = &[
    Call {
        operation: "load_balancer_list",
        send: |client| {
            sent(
                client
                    .load_balancer_list()
                    .project_id(PROJECT)
                    .location(LOCATION)
                    .send(),
            )
        },
        expected: || {
            vec![
                ("/count", json!(1)),
                ("/items/0/name", json!("web")),
                ("/items/0/src_port", json!(443)),
            ]
        },
    },
    Call {
        operation: "project_load_balancer_list",
        send: |client| {
            sent(
                client
                    .project_load_balancer_list()
                    .project_id(PROJECT)
                    .page_size(1)
                    .send(),
            )
        },
        expected: || vec![("/count", json!(1)), ("/items/0/location", json!(LOCATION))],
    },
    Call {
        operation: "load_balancer_update",
        send: |client| {
            let body = types::LoadBalancerUpdate::from(types::LoadBalancerUpdateFields {
                algorithm: types::LoadBalancerAlgorithm::HashBased,
                dst_port: 8081.try_into().expect("8081 is a port"),
                health_check_endpoint: "/health".parse().expect("the text is a path"),
                src_port: 80.try_into().expect("80 is a port"),
                vms: vec![vm_id(2).parse().expect("the text is an id")]
                    .try_into()
                    .expect("one item is within the limit"),
            });
            let body = body
                .with_stack(types::NetworkStack::Ipv6)
                .with_cert_enabled(None);
            let call = client
                .load_balancer_update()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.load_balancer_reference("web").body(body).send())
        },
        expected: || {
            vec![
                ("/algorithm", json!("hash_based")),
                ("/src_port", json!(80)),
                ("/stack", json!("ipv6")),
                ("/cert_enabled", json!(true)),
                ("/vms/0/id", json!(vm_id(2))),
            ]
        },
    },
    Call {
        operation: "load_balancer_detach_vm",
        send: |client| {
            let body =
                types::LoadBalancerDetachVm::new(vm_id(2).parse().expect("the text is an id"));
            let call = client
                .load_balancer_detach_vm()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(
                call.load_balancer_reference("1b5st0rev262mmfwhxpraebw3n")
                    .body(body)
                    .send(),
            )
        },
        expected: || vec![("/name", json!("web"))],
    },
    Call {
        operation: "load_balancer_view",
        send: |client| {
            let call = client
                .load_balancer_view()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.load_balancer_reference("web").send())
        },
        expected: || vec![("/name", json!("web")), ("/subnet", json!("backend"))],
    },
    Call {
        operation: "load_balancer_create",
        send: |client| {
            let body = types::LoadBalancerCreate::from(types::LoadBalancerCreateFields {
                algorithm: types::LoadBalancerAlgorithm::HashBased,
                dst_port: 8081.try_into().expect("8081 is a port"),
                src_port: 80.try_into().expect("80 is a port"),
                health_check_protocol: types::HealthCheckProtocol::Tcp,
                private_subnet_id: subnet_id(1).parse().expect("the text is an id"),
            });
            let call = client
                .load_balancer_create()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.load_balancer_reference("api").body(body).send())
        },
        expected: || {
            vec![
                ("/name", json!("api")),
                ("/health_check_endpoint", json!("/up")),
                ("/stack", json!("dual")),
                ("/cert_enabled", json!(false)),
            ]
        },
    },
    Call {
        operation: "load_balancer_delete",
        send: |client| {
            let call = client
                .load_balancer_delete()
                .project_id(PROJECT)
                .location(LOCATION);
            // Not the load balancer that other calls need.
            sent(call.load_balancer_reference("gone").send())
        },
        expected: || vec![("", Value::Null)],
    },
    Call {
        operation: "load_balancer_attach_vm",
        send: |client| {
            let body =
                types::LoadBalancerAttachVm::new(vm_id(2).parse().expect("the text is an id"));
            let call = client
                .load_balancer_attach_vm()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.load_balancer_reference("web").body(body).send())
        },
        expected: || vec![("/name", json!("web"))],
    },
    Call {
        operation: "private_subnet_view",
        send: |client| {
            let call = client
                .private_subnet_view()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.private_subnet_reference(subnet_id(1).as_str()).send())
        },
        expected: || vec![("/name", json!("backend")), ("/net4", json!("10.0.1.0/26"))],
    },
    Call {
        operation: "private_subnet_create",
        send: |client| {
            let call = client
                .private_subnet_create()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.private_subnet_reference("staging").send())
        },
        expected: || vec![("/name", json!("staging")), ("/state", json!("creating"))],
    },
    Call {
        operation: "private_subnet_connect",
        send: |client| {
            let other = subnet_id(2).parse().expect("the text is an id");
            let call = client
                .private_subnet_connect()
                .project_id(PROJECT)
                .location(LOCATION);
            let call = call.private_subnet_reference("backend");
            sent(
                call.body(types::PrivateSubnetConnect::new().with_connected_subnet_id(other))
                    .send(),
            )
        },
        expected: || vec![("/id", json!(subnet_id(1)))],
    },
    Call {
        operation: "private_subnet_list",
        send: |client| {
            let call = client
                .private_subnet_list()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.order_column("name").send())
        },
        expected: || vec![("/items/0/id", json!(subnet_id(1)))],
    },
    Call {
        operation: "project_private_subnet_list",
        send: |client| {
            let call = client.project_private_subnet_list().project_id(PROJECT);
            sent(call.start_after(subnet_id(1).as_str()).send())
        },
        expected: || vec![("/items/0/name", json!("frontend"))],
    },
    Call {
        operation: "private_subnet_disconnect",
        send: |client| {
            let call = client
                .private_subnet_disconnect()
                .project_id(PROJECT)
                .location(LOCATION);
            let call = call.private_subnet_reference("backend");
            sent(call.private_subnet_id(subnet_id(2).as_str()).send())
        },
        expected: || vec![("/id", json!(subnet_id(1)))],
    },
    Call {
        operation: "private_subnet_delete",
        send: |client| {
            let call = client
                .private_subnet_delete()
                .project_id(PROJECT)
                .location(LOCATION);
            // Not a subnet that other calls need.
            sent(call.private_subnet_reference("gone").send())
        },
        expected: || vec![("", Value::Null)],
    },
    Call {
        operation: "firewall_list",
        send: |client| {
            let call = client
                .firewall_list()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.order_column("name").send())
        },
        expected: || vec![("/count", json!(1)), ("/items/0/name", json!("web-only"))],
    },
    Call {
        operation: "firewall_view",
        send: |client| {
            let call = client
                .firewall_view()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.firewall_reference("web-only").send())
        },
        expected: || vec![("/firewall_rules/0/protocol", json!("tcp"))],
    },
    Call {
        operation: "firewall_create",
        send: |client| {
            let call = client
                .firewall_create()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.firewall_reference("offices").send())
        },
        expected: || vec![("/name", json!("offices")), ("/description", json!(""))],
    },
    Call {
        operation: "firewall_delete",
        send: |client| {
            let call = client
                .firewall_delete()
                .project_id(PROJECT)
                .location(LOCATION);
            // Not the firewall that other calls need.
            sent(call.firewall_reference("gone").send())
        },
        expected: || vec![("", Value::Null)],
    },
    Call {
        operation: "firewall_attach_subnet",
        send: |client| {
            let body =
                types::FirewallAttachSubnet::new(subnet_id(2).parse().expect("the text is an id"));
            let call = client
                .firewall_attach_subnet()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.firewall_reference("web-only").body(body).send())
        },
        expected: || vec![("/private_subnets/1", json!(subnet_id(2)))],
    },
    Call {
        operation: "firewall_rule_create",
        send: |client| {
            let body =
                types::FirewallRuleCreate::new("10.0.0.0/8".parse().expect("it is a network"));
            let call = client
                .firewall_rule_create()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.firewall_reference("web-only").body(body).send())
        },
        expected: || {
            vec![
                ("/port_range", json!("0..65535")),
                ("/protocol", json!("tcp")),
            ]
        },
    },
    Call {
        operation: "firewall_rule_delete",
        send: |client| {
            let call = client
                .firewall_rule_delete()
                .project_id(PROJECT)
                .location(LOCATION);
            let call = call.firewall_reference("web-only");
            sent(call.firewall_rule_id(FIREWALL_RULE).send())
        },
        expected: || vec![("", Value::Null)],
    },
    Call {
        operation: "firewall_detach_subnet",
        send: |client| {
            let body =
                types::FirewallDetachSubnet::new(subnet_id(1).parse().expect("the text is an id"));
            let call = client
                .firewall_detach_subnet()
                .project_id(PROJECT)
                .location(LOCATION);
            sent(call.firewall_reference("web-only").body(body).send())
        },
        expected: || vec![("/private_subnets", json!([subnet_id(2)]))],
    },
    Call {
        operation: "vm_view",
        send: |client| {
            let call = client.vm_view().project_id(PROJECT).location(LOCATION);
            sent(call.vm_reference("app-1").send())
        },
        expected: || vec![("/id", json!(vm_id(1))), ("/firewalls", json!([]))],
    },
    Call {
        operation: "vm_list",
        send: |client| {
            sent(
                client
                    .vm_list()
                    .project_id(PROJECT)
                    .location(LOCATION)
                    .start_after(vm_id(0).as_str())
                    .send(),
            )
        },
        expected: || {
            vec![
                ("/count", json!(3)),
                ("/items/0/id", json!(vm_id(1))),
                ("/items/1/id", json!(vm_id(2))),
            ]
        },
    },
    Call {
        operation: "inference_api_key_list",
        send: |client| {
            let call = client.inference_api_key_list().project_id(PROJECT);
            sent(call.start_after(INFERENCE_API_KEY).send())
        },
        expected: || vec![("/count", json!(2)), ("/items/0/key", Value::Null)],
    },
    Call {
        operation: "inference_api_key_view",
        send: |client| {
            let call = client.inference_api_key_view().project_id(PROJECT);
            sent(call.inference_api_key_id(INFERENCE_API_KEY).send())
        },
        expected: || vec![("/id", json!(INFERENCE_API_KEY)), ("/key", json!("0123"))],
    },
    Call {
        operation: "inference_api_key_delete",
        send: |client| {
            let call = client.inference_api_key_delete().project_id(PROJECT);
            // Not the key that another call views.
            let other = "akxz0t4m1rn8vq5gk2eyhc7wjd";
            sent(call.inference_api_key_id(other).send())
        },
        expected: || vec![("", Value::Null)],
    },
    Call {
        operation: "inference_api_key_create",
        send: |client| sent(client.inference_api_key_create().project_id(PROJECT).send()),
        expected: || vec![("/id", json!("akmagvrjz7cptgqmw5121gqp0c"))],
    },
];
