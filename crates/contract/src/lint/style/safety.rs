//! What exposes credentials, or leaves open who may call.

use std::net::IpAddr;

use crate::diagnostic::Diagnostic;
use crate::lint::context::Context;
use crate::model::{Location, SecurityKind};
use crate::node::Node;

/// Checks the URLs of servers and the security of operations.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    servers(context, diagnostics);
    credentials(context, diagnostics);
    security(context, diagnostics);
}

/// Reports servers that are called without TLS, unless they are on the caller's own machine.
fn servers(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let root = context.resolver.root().node;
    let servers = root.get("servers").and_then(Node::as_array);
    let servers = servers.unwrap_or_default().iter();
    for url in servers
        .filter_map(|server| server.get("url"))
        .chain(token_urls(root))
    {
        let host = url.as_str().and_then(host_without_tls);
        if host.is_none_or(is_own_machine) {
            continue;
        }
        diagnostics.push(
            Diagnostic::warning(
                "plain-http",
                url.span,
                "without TLS, others can read and change what callers send",
            )
            .help("write `https`"),
        );
    }
}

/// Returns the URLs to which clients send their credentials, of the security schemes of a document.
fn token_urls(root: &Node) -> Vec<&Node> {
    let schemes = root
        .get("components")
        .and_then(|components| components.get("securitySchemes"));
    let schemes = schemes.and_then(Node::as_object).unwrap_or_default();
    let flows = schemes
        .iter()
        .filter_map(|scheme| scheme.value.get("flows"));
    let flows = flows.flat_map(|flows| flows.as_object().unwrap_or_default());
    let keys = [
        "authorizationUrl",
        "deviceAuthorizationUrl",
        "tokenUrl",
        "refreshUrl",
    ];
    let urls = flows.flat_map(|flow| keys.iter().filter_map(|key| flow.value.get(key)));
    urls.chain(
        schemes
            .iter()
            .filter_map(|scheme| scheme.value.get("openIdConnectUrl")),
    )
    .collect()
}

/// Returns the host of a URL with the scheme `http`, without a user and a port.
fn host_without_tls(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    // The colons in brackets are those of an IPv6 address.
    let from = host.find(']').unwrap_or(0);
    let end = host[from..].find(':').map_or(host.len(), |at| from + at);
    Some(&host[..end])
}

/// Returns whether a host is the caller's own machine: `localhost`, or a loopback address.
fn is_own_machine(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    if host == "localhost" || host.ends_with(".localhost") {
        return true;
    }
    let address: Result<IpAddr, _> = host.trim_matches(['[', ']']).parse();
    address.is_ok_and(|address| address.is_loopback())
}

/// Reports credentials in queries.
fn credentials(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    for (name, scheme) in &context.contract.security_schemes {
        if let SecurityKind::ApiKey {
            location: Location::Query,
            ..
        } = &scheme.kind
        {
            diagnostics.push(
                Diagnostic::warning(
                    "credential-in-query",
                    scheme.span,
                    format!(
                        "the credential `{name}` is a part of URLs, which logs and histories keep"
                    ),
                )
                .help("send it in a header"),
            );
        }
    }
}

/// Reports operations without `security`, in a document that has security schemes but no `security`
/// for all operations.
fn security(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let root = context.resolver.root().node;
    if context.contract.security_schemes.is_empty() || root.get("security").is_some() {
        return;
    }
    for operation in &context.contract.operations {
        let item = root
            .get("paths")
            .and_then(|paths| paths.get(&operation.path));
        let written = item.and_then(|item| item.get(&operation.method.key()));
        if written.is_some_and(|written| written.get("security").is_none()) {
            diagnostics.push(
                Diagnostic::warning(
                    "missing-security",
                    operation.span,
                    "nothing says which credential the operation needs",
                )
                .help("add `security`, with `[]` if it needs none"),
            );
        }
    }
}
