//! Checks that hold for every sequence of bytes that a peer sends to a generated server, and random
//! requests, most of them slightly wrong.
//!
//! The tests make bytes at random; a target of `cargo fuzz` (`tests/fuzz`) lets a fuzzer choose
//! them.

mod random;

pub use random::requests;

use std::collections::HashMap;
use std::io;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use api_server::firewall::{
    FirewallApi, FirewallAttachSubnetError, FirewallAttachSubnetRequest,
    FirewallAttachSubnetResponse, FirewallCreateError, FirewallCreateRequest,
    FirewallCreateResponse, FirewallDeleteError, FirewallDeleteRequest, FirewallDeleteResponse,
    FirewallDetachSubnetError, FirewallDetachSubnetRequest, FirewallDetachSubnetResponse,
    FirewallListError, FirewallListRequest, FirewallListResponse, FirewallRuleCreateError,
    FirewallRuleCreateRequest, FirewallRuleCreateResponse, FirewallRuleDeleteError,
    FirewallRuleDeleteRequest, FirewallRuleDeleteResponse, FirewallViewError, FirewallViewRequest,
    FirewallViewResponse,
};
use api_server::inference_api_key::{
    InferenceApiKeyApi, InferenceApiKeyCreateError, InferenceApiKeyCreateRequest,
    InferenceApiKeyCreateResponse, InferenceApiKeyDeleteError, InferenceApiKeyDeleteRequest,
    InferenceApiKeyDeleteResponse, InferenceApiKeyListError, InferenceApiKeyListRequest,
    InferenceApiKeyListResponse, InferenceApiKeyViewError, InferenceApiKeyViewRequest,
    InferenceApiKeyViewResponse,
};
use api_server::load_balancer::{
    LoadBalancerApi, LoadBalancerAttachVmError, LoadBalancerAttachVmRequest,
    LoadBalancerAttachVmResponse, LoadBalancerCreateError, LoadBalancerCreateRequest,
    LoadBalancerCreateResponse, LoadBalancerDeleteError, LoadBalancerDeleteRequest,
    LoadBalancerDeleteResponse, LoadBalancerDetachVmError, LoadBalancerDetachVmRequest,
    LoadBalancerDetachVmResponse, LoadBalancerListError, LoadBalancerListRequest,
    LoadBalancerListResponse, LoadBalancerUpdateError, LoadBalancerUpdateRequest,
    LoadBalancerUpdateResponse, LoadBalancerViewError, LoadBalancerViewRequest,
    LoadBalancerViewResponse, ProjectLoadBalancerListError, ProjectLoadBalancerListRequest,
    ProjectLoadBalancerListResponse,
};
use api_server::postgres::{
    PostgresApi, PostgresBackupListError, PostgresBackupListRequest, PostgresBackupListResponse,
    PostgresCreateError, PostgresCreateRequest, PostgresCreateResponse, PostgresDeleteError,
    PostgresDeleteRequest, PostgresDeleteResponse, PostgresFirewallRuleCreateError,
    PostgresFirewallRuleCreateRequest, PostgresFirewallRuleCreateResponse,
    PostgresFirewallRuleDeleteError, PostgresFirewallRuleDeleteRequest,
    PostgresFirewallRuleDeleteResponse, PostgresFirewallRuleListError,
    PostgresFirewallRuleListRequest, PostgresFirewallRuleListResponse, PostgresListError,
    PostgresListRequest, PostgresListResponse, PostgresPromoteError, PostgresPromoteRequest,
    PostgresPromoteResponse, PostgresResetSuperuserPasswordError,
    PostgresResetSuperuserPasswordRequest, PostgresResetSuperuserPasswordResponse,
    PostgresRestartError, PostgresRestartRequest, PostgresRestartResponse, PostgresRestoreError,
    PostgresRestoreRequest, PostgresRestoreResponse, PostgresSetMaintenanceWindowError,
    PostgresSetMaintenanceWindowRequest, PostgresSetMaintenanceWindowResponse, PostgresUpdateError,
    PostgresUpdateRequest, PostgresUpdateResponse, PostgresViewError, PostgresViewRequest,
    PostgresViewResponse, ProjectPostgresListError, ProjectPostgresListRequest,
    ProjectPostgresListResponse,
};
use api_server::private_subnet::{
    PrivateSubnetApi, PrivateSubnetConnectError, PrivateSubnetConnectRequest,
    PrivateSubnetConnectResponse, PrivateSubnetCreateError, PrivateSubnetCreateRequest,
    PrivateSubnetCreateResponse, PrivateSubnetDeleteError, PrivateSubnetDeleteRequest,
    PrivateSubnetDeleteResponse, PrivateSubnetDisconnectError, PrivateSubnetDisconnectRequest,
    PrivateSubnetDisconnectResponse, PrivateSubnetListError, PrivateSubnetListRequest,
    PrivateSubnetListResponse, PrivateSubnetViewError, PrivateSubnetViewRequest,
    PrivateSubnetViewResponse, ProjectPrivateSubnetListError, ProjectPrivateSubnetListRequest,
    ProjectPrivateSubnetListResponse,
};
use api_server::server::{Config, Router};
use api_server::vm::{
    VmApi, VmListError, VmListRequest, VmListResponse, VmViewError, VmViewRequest, VmViewResponse,
};
use axum::serve::Listener;
use jsonschema::Validator;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::memory::{Caller, ContractErrors, Gate, Memory};
use crate::seed;

/// How long nothing must come from the server before all responses count as sent. Each time limit
/// of the server is shorter. The clock of the runtime goes on by itself when all tasks wait, so
/// this takes no time.
const QUIET: Duration = Duration::from_secs(300);

/// The bytes by which a peer begins a connection of HTTP/2.
const HTTP_2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static CONTRACT: LazyLock<Value> = LazyLock::new(seed::contract);

/// Sends bytes to the generated server in pieces of a size, and returns the status of each
/// response.
///
/// # Panics
///
/// If a response is not well formed, if the server does not close a connection by itself or after
/// its peer, or if a handler gets a value that the contract does not allow.
#[must_use]
pub fn serve(bytes: &[u8], piece: usize) -> Vec<u16> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a run time");
    let said = runtime.block_on(said(bytes, piece.max(1)));
    if bytes.starts_with(HTTP_2) {
        // It responds in frames, which are not read here.
        return Vec::new();
    }
    let has_heads = bytes.windows(4).any(|window| window == b"HEAD");
    let responses = responses(&said, has_heads);
    responses.iter().for_each(ensure_of_contract);
    responses.iter().map(|response| response.status).collect()
}

/// Returns everything that the server says.
async fn said(bytes: &[u8], piece: usize) -> Vec<u8> {
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move { axum::serve(Pipes(receiver), ROUTER.clone()).await });
    // Small, so that a response of several pieces waits for its peer.
    let (peer, server) = tokio::io::duplex(4 << 10);
    sender.send(server).expect("the server is listening");
    let (mut from, mut to) = tokio::io::split(peer);
    let write = async {
        for piece in bytes.chunks(piece) {
            // It fails once the server has closed the connection.
            if to.write_all(piece).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
    };
    let read = async {
        let (mut said, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            match timeout(QUIET, from.read(&mut buffer)).await {
                Ok(Ok(0) | Err(_)) => return (said, true),
                Ok(Ok(read)) => said.extend_from_slice(&buffer[..read]),
                Err(_) => return (said, false),
            }
        }
    };
    let ((), (mut said, is_closed)) = tokio::join!(write, read);
    if !is_closed {
        // The peer goes away, possibly in the middle of a request.
        let _ = to.shutdown().await;
        let ended = timeout(QUIET, from.read_to_end(&mut said)).await;
        assert!(ended.is_ok(), "the server does not close the connection");
    }
    said
}

/// A listener whose connections are pipes in memory.
struct Pipes(mpsc::UnboundedReceiver<DuplexStream>);

impl Listener for Pipes {
    type Io = DuplexStream;
    type Addr = ();

    async fn accept(&mut self) -> (DuplexStream, ()) {
        match self.0.recv().await {
            Some(pipe) => (pipe, ()),
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A response.
struct Response {
    status: u16,
    is_json: bool,
    body: Vec<u8>,
}

/// Reads responses one after the other. If there are requests of `HEAD` among the others, a
/// response may leave out its body.
fn responses(mut said: &[u8], has_heads: bool) -> Vec<Response> {
    let mut all = Vec::new();
    while !said.is_empty() {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut head = httparse::Response::new(&mut headers);
        let parsed = head.parse(said);
        let shown = || String::from_utf8_lossy(said);
        let Ok(httparse::Status::Complete(length)) = parsed else {
            panic!("{parsed:?}: {}", shown());
        };
        let header = |name: &str| {
            let mut of_name = head
                .headers
                .iter()
                .filter(|header| header.name.eq_ignore_ascii_case(name));
            let value = of_name.next().map(|header| header.value);
            assert!(of_name.next().is_none(), "{name} twice: {}", shown());
            value.map(|value| std::str::from_utf8(value).expect("a value is text"))
        };
        let status = head.code.expect("a complete response has a status");
        let is_json = header("content-type").is_some_and(|value| value == "application/json");
        let has_none = status < 200 || status == 204 || status == 304;
        let (size, chunked) = (header("content-length"), header("transfer-encoding"));
        assert!(size.is_none() || chunked.is_none(), "{}", shown());
        let rest = &said[length..];
        let is_left_out = has_heads && (rest.is_empty() || rest.starts_with(b"HTTP/1."));
        let (body, rest) = match (size, chunked) {
            _ if has_none || is_left_out => (Vec::new(), rest),
            (Some(size), _) => {
                let size = size.parse().expect("a length is a number");
                let body = rest.get(..size);
                let body = body.unwrap_or_else(|| panic!("cut short: {}", shown()));
                (body.to_vec(), &rest[size..])
            }
            (None, Some(_)) => unchunked(rest),
            // It ends with the connection.
            (None, None) => (rest.to_vec(), &rest[rest.len()..]),
        };
        all.push(Response {
            status,
            is_json,
            body,
        });
        said = rest;
    }
    all
}

/// Reads a chunked body. Returns it and what follows.
fn unchunked(mut rest: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut body = Vec::new();
    loop {
        let Ok(httparse::Status::Complete((start, size))) = httparse::parse_chunk_size(rest) else {
            panic!("no chunk: {}", String::from_utf8_lossy(rest));
        };
        let end = start + usize::try_from(size).expect("a chunk fits into memory");
        body.extend_from_slice(&rest[start..end]);
        assert_eq!(&rest[end..end + 2], b"\r\n", "a chunk ends with its line");
        rest = &rest[end + 2..];
        if size == 0 {
            return (body, rest);
        }
    }
}

/// Checks that an error has the body that the contract gives it. Those that the HTTP server itself
/// returns, before it has read a request, have none.
fn ensure_of_contract(response: &Response) {
    if response.status < 400 || response.body.is_empty() {
        return;
    }
    let shown = String::from_utf8_lossy(&response.body);
    assert!(response.is_json, "{}: {shown}", response.status);
    let body: Value = serde_json::from_slice(&response.body).expect("an error is JSON");
    assert_eq!(body["error"]["code"], response.status, "{shown}");
    ensure_valid("Error", &body);
}

/// Checks a value by the contract's schema of a name, with another implementation than that of the
/// server.
fn ensure_valid(schema: &'static str, value: &Value) {
    static VALIDATORS: Mutex<Option<HashMap<&str, Validator>>> = Mutex::new(None);
    let mut validators = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    let validators = validators.get_or_insert_default();
    let validator = validators.entry(schema).or_insert_with(|| {
        let mut root = CONTRACT.clone();
        root["$ref"] = json!(format!("#/components/schemas/{schema}"));
        jsonschema::draft202012::options()
            .should_validate_formats(true)
            .build(&root)
            .expect("the contract is valid")
    });
    if let Err(error) = validator.validate(value) {
        panic!("{schema}: {error}: {value}");
    }
}

/// The server. It takes longer to make than to call, so all connections of a process share it.
static ROUTER: LazyLock<Router> = LazyLock::new(|| {
    let judged = Judged(Memory::new(seed::state(3)));
    // Small, so that requests reach it.
    let config = Config::new().body_limit(2 << 10);
    api_server::router(judged, Gate, ContractErrors, config)
});

/// An implementation of the API that checks each value of a request before it uses it.
struct Judged(Memory);

/// Checks a value of a request, unless the request leaves it out.
fn judge(schema: &'static str, value: impl Serialize) {
    let value = serde_json::to_value(value).expect("a value is JSON");
    if !value.is_null() {
        ensure_valid(schema, &value);
    }
}

/// Implements traits of tags: each operation checks the fields of its request by their schemas.
macro_rules! judged {
    ($($api:ident {
        $($operation:ident($request:ident) -> $response:ident, $error:ident: $($field:ident as $schema:literal),*;)*
    })*) => { $(
        impl $api<Caller> for Judged {
            $(async fn $operation(&self, caller: Caller, request: $request) -> Result<$response, $error> {
                $(judge($schema, &request.$field);)*
                self.0.$operation(caller, request).await
            })*
        }
    )* };
}

judged! {
    LoadBalancerApi {
        load_balancer_list(LoadBalancerListRequest) -> LoadBalancerListResponse, LoadBalancerListError:
            project_id as "ProjectId", location as "Location",
            start_after as "StartAfter", page_size as "PageSize", order_column as "OrderColumn";
        project_load_balancer_list(ProjectLoadBalancerListRequest)
            -> ProjectLoadBalancerListResponse, ProjectLoadBalancerListError:
            project_id as "ProjectId",
            start_after as "StartAfter", page_size as "PageSize", order_column as "OrderColumn";
        load_balancer_update(LoadBalancerUpdateRequest) -> LoadBalancerUpdateResponse, LoadBalancerUpdateError:
            project_id as "ProjectId", location as "Location", load_balancer_reference as "Reference",
            if_match as "IfMatch", body as "LoadBalancerUpdate";
        load_balancer_view(LoadBalancerViewRequest) -> LoadBalancerViewResponse, LoadBalancerViewError:
            project_id as "ProjectId", location as "Location", load_balancer_reference as "Reference";
        load_balancer_create(LoadBalancerCreateRequest) -> LoadBalancerCreateResponse, LoadBalancerCreateError:
            project_id as "ProjectId", location as "Location", load_balancer_reference as "Reference",
            idempotency_key as "IdempotencyKey", body as "LoadBalancerCreate";
        load_balancer_delete(LoadBalancerDeleteRequest) -> LoadBalancerDeleteResponse, LoadBalancerDeleteError:
            project_id as "ProjectId", location as "Location", load_balancer_reference as "Reference",
            if_match as "IfMatch";
        load_balancer_attach_vm(LoadBalancerAttachVmRequest)
            -> LoadBalancerAttachVmResponse, LoadBalancerAttachVmError:
            project_id as "ProjectId", location as "Location", load_balancer_reference as "Reference",
            if_match as "IfMatch", idempotency_key as "IdempotencyKey", body as "LoadBalancerAttachVm";
        load_balancer_detach_vm(LoadBalancerDetachVmRequest)
            -> LoadBalancerDetachVmResponse, LoadBalancerDetachVmError:
            project_id as "ProjectId", location as "Location", load_balancer_reference as "Reference",
            if_match as "IfMatch", idempotency_key as "IdempotencyKey", body as "LoadBalancerDetachVm";
    }
    PostgresApi {
        project_postgres_list(ProjectPostgresListRequest) -> ProjectPostgresListResponse, ProjectPostgresListError:
            project_id as "ProjectId",
            start_after as "StartAfter", page_size as "PageSize", order_column as "OrderColumn";
        postgres_list(PostgresListRequest) -> PostgresListResponse, PostgresListError:
            project_id as "ProjectId", location as "Location",
            start_after as "StartAfter", page_size as "PageSize", order_column as "OrderColumn";
        postgres_delete(PostgresDeleteRequest) -> PostgresDeleteResponse, PostgresDeleteError:
            project_id as "ProjectId", location as "Location", postgres_database_reference as "Reference",
            if_match as "IfMatch";
        postgres_restart(PostgresRestartRequest) -> PostgresRestartResponse, PostgresRestartError:
            project_id as "ProjectId", location as "Location", postgres_database_reference as "Reference",
            if_match as "IfMatch", idempotency_key as "IdempotencyKey";
        postgres_promote(PostgresPromoteRequest) -> PostgresPromoteResponse, PostgresPromoteError:
            project_id as "ProjectId", location as "Location", postgres_database_reference as "Reference",
            if_match as "IfMatch", idempotency_key as "IdempotencyKey";
        postgres_backup_list(PostgresBackupListRequest) -> PostgresBackupListResponse, PostgresBackupListError:
            project_id as "ProjectId", location as "Location", postgres_database_reference as "Reference",
            start_after as "StartAfter", page_size as "PageSize", order_column as "KeyOrderColumn";
        postgres_restore(PostgresRestoreRequest) -> PostgresRestoreResponse, PostgresRestoreError:
            project_id as "ProjectId", location as "Location", postgres_database_reference as "Reference",
            idempotency_key as "IdempotencyKey", body as "PostgresRestore";
        postgres_set_maintenance_window(PostgresSetMaintenanceWindowRequest)
            -> PostgresSetMaintenanceWindowResponse, PostgresSetMaintenanceWindowError:
            project_id as "ProjectId", location as "Location", postgres_database_reference as "Reference",
            if_match as "IfMatch", idempotency_key as "IdempotencyKey", body as "PostgresSetMaintenanceWindow";
        postgres_firewall_rule_list(PostgresFirewallRuleListRequest)
            -> PostgresFirewallRuleListResponse, PostgresFirewallRuleListError:
            project_id as "ProjectId", location as "Location", postgres_database_reference as "Reference",
            start_after as "StartAfter", page_size as "PageSize", order_column as "OrderColumn";
        postgres_firewall_rule_create(PostgresFirewallRuleCreateRequest)
            -> PostgresFirewallRuleCreateResponse, PostgresFirewallRuleCreateError:
            project_id as "ProjectId", location as "Location", postgres_database_reference as "Reference",
            idempotency_key as "IdempotencyKey", body as "PostgresFirewallRuleCreate";
        postgres_firewall_rule_delete(PostgresFirewallRuleDeleteRequest)
            -> PostgresFirewallRuleDeleteResponse, PostgresFirewallRuleDeleteError:
            project_id as "ProjectId", location as "Location", postgres_database_reference as "Reference",
            firewall_rule_id as "PostgresFirewallRuleId", if_match as "IfMatch";
        postgres_view(PostgresViewRequest) -> PostgresViewResponse, PostgresViewError:
            project_id as "ProjectId", location as "Location", postgres_database_reference as "Reference";
        postgres_create(PostgresCreateRequest) -> PostgresCreateResponse, PostgresCreateError:
            project_id as "ProjectId", location as "Location", postgres_database_reference as "Reference",
            idempotency_key as "IdempotencyKey", body as "PostgresCreate";
        postgres_update(PostgresUpdateRequest) -> PostgresUpdateResponse, PostgresUpdateError:
            project_id as "ProjectId", location as "Location", postgres_database_reference as "Reference",
            if_match as "IfMatch", body as "PostgresUpdate";
        postgres_reset_superuser_password(PostgresResetSuperuserPasswordRequest)
            -> PostgresResetSuperuserPasswordResponse, PostgresResetSuperuserPasswordError:
            project_id as "ProjectId", location as "Location", postgres_database_reference as "Reference",
            if_match as "IfMatch", idempotency_key as "IdempotencyKey", body as "PostgresResetSuperuserPassword";
    }
    PrivateSubnetApi {
        private_subnet_view(PrivateSubnetViewRequest) -> PrivateSubnetViewResponse, PrivateSubnetViewError:
            project_id as "ProjectId", location as "Location", private_subnet_reference as "Reference";
        private_subnet_create(PrivateSubnetCreateRequest) -> PrivateSubnetCreateResponse, PrivateSubnetCreateError:
            project_id as "ProjectId", location as "Location", private_subnet_reference as "Reference",
            idempotency_key as "IdempotencyKey", body as "PrivateSubnetCreate";
        private_subnet_connect(PrivateSubnetConnectRequest)
            -> PrivateSubnetConnectResponse, PrivateSubnetConnectError:
            project_id as "ProjectId", location as "Location", private_subnet_reference as "Reference",
            if_match as "IfMatch", idempotency_key as "IdempotencyKey", body as "PrivateSubnetConnect";
        private_subnet_list(PrivateSubnetListRequest) -> PrivateSubnetListResponse, PrivateSubnetListError:
            project_id as "ProjectId", location as "Location",
            start_after as "StartAfter", page_size as "PageSize", order_column as "OrderColumn";
        project_private_subnet_list(ProjectPrivateSubnetListRequest)
            -> ProjectPrivateSubnetListResponse, ProjectPrivateSubnetListError:
            project_id as "ProjectId",
            start_after as "StartAfter", page_size as "PageSize", order_column as "OrderColumn";
        private_subnet_delete(PrivateSubnetDeleteRequest) -> PrivateSubnetDeleteResponse, PrivateSubnetDeleteError:
            project_id as "ProjectId", location as "Location", private_subnet_reference as "Reference",
            if_match as "IfMatch";
        private_subnet_disconnect(PrivateSubnetDisconnectRequest)
            -> PrivateSubnetDisconnectResponse, PrivateSubnetDisconnectError:
            project_id as "ProjectId", location as "Location", private_subnet_reference as "Reference",
            private_subnet_id as "PrivateSubnetId", if_match as "IfMatch", idempotency_key as "IdempotencyKey";
    }
    FirewallApi {
        firewall_list(FirewallListRequest) -> FirewallListResponse, FirewallListError:
            project_id as "ProjectId", location as "Location",
            start_after as "StartAfter", page_size as "PageSize", order_column as "OrderColumn";
        firewall_view(FirewallViewRequest) -> FirewallViewResponse, FirewallViewError:
            project_id as "ProjectId", location as "Location", firewall_reference as "Reference";
        firewall_create(FirewallCreateRequest) -> FirewallCreateResponse, FirewallCreateError:
            project_id as "ProjectId", location as "Location", firewall_reference as "Reference",
            idempotency_key as "IdempotencyKey", body as "FirewallCreate";
        firewall_delete(FirewallDeleteRequest) -> FirewallDeleteResponse, FirewallDeleteError:
            project_id as "ProjectId", location as "Location", firewall_reference as "Reference",
            if_match as "IfMatch";
        firewall_attach_subnet(FirewallAttachSubnetRequest)
            -> FirewallAttachSubnetResponse, FirewallAttachSubnetError:
            project_id as "ProjectId", location as "Location", firewall_reference as "Reference",
            if_match as "IfMatch", idempotency_key as "IdempotencyKey", body as "FirewallAttachSubnet";
        firewall_rule_create(FirewallRuleCreateRequest) -> FirewallRuleCreateResponse, FirewallRuleCreateError:
            project_id as "ProjectId", location as "Location", firewall_reference as "Reference",
            idempotency_key as "IdempotencyKey", body as "FirewallRuleCreate";
        firewall_rule_delete(FirewallRuleDeleteRequest) -> FirewallRuleDeleteResponse, FirewallRuleDeleteError:
            project_id as "ProjectId", location as "Location", firewall_reference as "Reference",
            firewall_rule_id as "FirewallRuleId", if_match as "IfMatch";
        firewall_detach_subnet(FirewallDetachSubnetRequest)
            -> FirewallDetachSubnetResponse, FirewallDetachSubnetError:
            project_id as "ProjectId", location as "Location", firewall_reference as "Reference",
            if_match as "IfMatch", idempotency_key as "IdempotencyKey", body as "FirewallDetachSubnet";
    }
    VmApi {
        vm_list(VmListRequest) -> VmListResponse, VmListError:
            project_id as "ProjectId", location as "Location",
            start_after as "StartAfter", page_size as "PageSize", order_column as "OrderColumn";
        vm_view(VmViewRequest) -> VmViewResponse, VmViewError:
            project_id as "ProjectId", location as "Location", vm_reference as "Reference";
    }
    InferenceApiKeyApi {
        inference_api_key_list(InferenceApiKeyListRequest) -> InferenceApiKeyListResponse, InferenceApiKeyListError:
            project_id as "ProjectId",
            start_after as "StartAfter", page_size as "PageSize", order_column as "OrderColumn";
        inference_api_key_view(InferenceApiKeyViewRequest) -> InferenceApiKeyViewResponse, InferenceApiKeyViewError:
            project_id as "ProjectId", inference_api_key_id as "InferenceApiKeyId";
        inference_api_key_delete(InferenceApiKeyDeleteRequest)
            -> InferenceApiKeyDeleteResponse, InferenceApiKeyDeleteError:
            project_id as "ProjectId", inference_api_key_id as "InferenceApiKeyId", if_match as "IfMatch";
        inference_api_key_create(InferenceApiKeyCreateRequest)
            -> InferenceApiKeyCreateResponse, InferenceApiKeyCreateError:
            project_id as "ProjectId", idempotency_key as "IdempotencyKey", body as "InferenceApiKeyCreate";
    }
}
