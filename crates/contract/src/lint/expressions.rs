//! The runtime expressions of callbacks and links: whether they can be read, and whether what they
//! name exists.

use super::context::Context;
use super::expressed::Expressed;
use crate::build::OperationSite;
use crate::declared::may_hold;
use crate::diagnostic::Diagnostic;
use crate::expression::{Part, Side, embedded, parse, within};
use crate::linked::with_links;
use crate::model::{
    Contract, Location, Operation, ParameterEncoding, SchemaId, SchemaKind, SecurityKind, Style,
    Types,
};
use crate::node::Node;
use crate::node_ref::NodeRef;
use crate::pointer;
use crate::source::Span;
use std::borrow::Cow;
use std::collections::HashSet;

/// Reports expressions in the keys of callbacks and in the parameters of links that cannot be read,
/// and those that name a parameter or property that does not exist.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let open = open_queries(context.contract);
    let expressed = Expressed::new(context);
    for site in &context.origins.operations {
        let sender = &Sender::new(site, &open);
        let callbacks = site.at().key("callbacks");
        for (_, callback) in callbacks.iter().flat_map(NodeRef::entries) {
            let Some(callback) = context.resolver.follow(&callback) else {
                continue;
            };
            for (entry, _) in callback.entries() {
                // Extensions are no expressions.
                if !entry.key.starts_with("x-") {
                    let found = match within(&entry.key) {
                        Some(written) if written.is_empty() => constant(&entry.key),
                        Some(written) => wrong(context, sender, None, &written)
                            .or_else(|| no_url(&expressed, site, &entry.key, &written)),
                        None => Some(Wrong {
                            message: "the braces of the expression do not match".to_owned(),
                            help: "write each expression as `{$request.body#/url}`".to_owned(),
                        }),
                    };
                    diagnostics.extend(found.map(|found| found.at(entry.key_span)));
                }
            }
        }
    }
    for (response, from) in with_links(context.resolver, &context.origins.operations).values() {
        let links = response.key("links");
        for (_, link) in links.iter().flat_map(NodeRef::entries) {
            let Some(link) = context.resolver.follow(&link) else {
                continue;
            };
            for value in values(link.node) {
                let Some(written) = value.as_str() else {
                    continue;
                };
                let written = embedded(written);
                let found = from.iter().find_map(|site| {
                    let sender = Sender::new(site, &open);
                    wrong(context, &sender, Some(response), &written)
                });
                diagnostics.extend(found.map(|found| found.at(value.span)));
            }
        }
    }
}

/// Returns what is wrong with the key of a callback that has no expression: it must be a URL.
fn constant(key: &str) -> Option<Wrong> {
    let is_url = key.contains("://") || key.starts_with('/');
    (!is_url).then(|| Wrong {
        message: "this is no runtime expression and no URL, so nobody knows whom to call"
            .to_owned(),
        help: "write one such as `{$request.body#/url}`".to_owned(),
    })
}

/// Returns what is wrong with the key of a callback that is one expression: its value must be a URL,
/// and so a string.
fn no_url<'a>(
    expressed: &Expressed<'_, 'a>,
    site: &OperationSite<'a>,
    key: &str,
    written: &[&str],
) -> Option<Wrong> {
    let [expression] = written else { return None };
    let is_whole = key == *expression || key == format!("{{{expression}}}");
    let part = parse(expression).ok().filter(|_| is_whole)?;
    let forms = expressed.forms(site, None, part);
    let is_never = forms.iter().all(|form| !form.types.contains(Types::STRING));
    (!forms.is_empty() && is_never).then(|| Wrong {
        message: format!("`{expression}` is no string, and so no URL to call"),
        help: "name a string, or correct its schema".to_owned(),
    })
}

/// Returns the nodes of a link whose values may be expressions.
fn values(link: &Node) -> impl Iterator<Item = &Node> {
    let parameters = link.get("parameters").and_then(Node::as_object);
    let parameters = parameters.unwrap_or_default().iter();
    parameters
        .map(|entry| &entry.value)
        .chain(link.get("requestBody"))
}

/// An operation whose requests and responses expressions name.
struct Sender<'s, 'a> {
    site: &'s OperationSite<'a>,
    /// Whether the query can have names that are not those of parameters.
    has_open_query: bool,
}

impl<'s, 'a> Sender<'s, 'a> {
    fn new(site: &'s OperationSite<'a>, open: &HashSet<&str>) -> Self {
        let mut parameters = site.parameters.iter();
        Self {
            site,
            has_open_query: parameters
                .any(|one| one.location == Location::Query && open.contains(one.name)),
        }
    }
}

/// Returns the names of the query parameters whose properties are names in the query.
fn open_queries(contract: &Contract) -> HashSet<&str> {
    let mut pending: Vec<&Operation> = contract.operations.iter().collect();
    pending.extend(&contract.webhooks);
    let mut open = HashSet::new();
    while let Some(operation) = pending.pop() {
        pending.extend(&operation.callbacks);
        for parameter in &operation.parameters {
            let is_spread = matches!(
                parameter.encoding,
                ParameterEncoding::Style {
                    style: Style::Form,
                    explode: true,
                    ..
                }
            );
            if parameter.location == Location::Query
                && (parameter.is_whole_query
                    || (is_spread && is_object(contract, parameter.schema)))
            {
                open.insert(parameter.name.as_str());
            }
        }
    }
    open
}

/// Returns whether values of a schema may be objects, unless it says nothing about them.
fn is_object(contract: &Contract, id: SchemaId) -> bool {
    let SchemaKind::Object(keywords) = &contract.schema(contract.resolve(id)).kind else {
        return false;
    };
    if let Some(types) = keywords.types {
        return types.contains(Types::OBJECT);
    }
    let mut parts = [&keywords.all_of, &keywords.any_of, &keywords.one_of].into_iter();
    !keywords.properties.is_empty()
        || keywords.additional_properties.is_some()
        || parts.any(|parts| !parts.is_empty())
}

/// What is wrong with an expression.
struct Wrong {
    message: String,
    help: String,
}

impl Wrong {
    fn at(self, span: Span) -> Diagnostic {
        Diagnostic::warning("bad-expression", span, self.message).help(self.help)
    }
}

/// Returns what is wrong with the first wrong one of some expressions. `response` is the response that
/// a link is in.
fn wrong<'a>(
    context: &Context<'_, 'a>,
    sender: &Sender<'_, 'a>,
    response: Option<&NodeRef<'a>>,
    expressions: &[&str],
) -> Option<Wrong> {
    expressions.iter().find_map(|expression| {
        let part = match parse(expression) {
            Ok(part) => part,
            Err(help) => {
                return Some(Wrong {
                    message: format!("`{expression}` is not a runtime expression"),
                    help: help.to_owned(),
                });
            }
        };
        let what = missing(context, sender, response, part)?;
        Some(Wrong {
            message: format!("`{expression}` means nothing: {what}"),
            help: "correct the name, or declare it".to_owned(),
        })
    })
}

/// Returns the reason why the part that an expression names does not exist, or `None` if it may
/// exist.
fn missing<'a>(
    context: &Context<'_, 'a>,
    sender: &Sender<'_, 'a>,
    response: Option<&NodeRef<'a>>,
    part: Part<'_>,
) -> Option<&'static str> {
    let site = sender.site;
    let declares = |location, name: &str| {
        let mut parameters = site.parameters.iter();
        parameters.any(|one| one.location == location && one.name == name)
    };
    match part {
        Part::Whole => None,
        Part::Header(Side::Request, name) => {
            let mut parameters = site.parameters.iter();
            let is_declared = parameters
                .any(|one| one.location == Location::Header && one.name.eq_ignore_ascii_case(name));
            (!is_declared && !is_registered(name) && !is_credential(context, name))
                .then_some("the operation has no such header")
        }
        Part::Header(Side::Response, name) => {
            // A callback may follow any of the responses, so nothing is said of its own.
            let headers = response?.key("headers");
            let mut headers = headers.iter().flat_map(NodeRef::entries);
            let is_declared = headers.any(|(entry, _)| entry.key.eq_ignore_ascii_case(name));
            (!is_declared && !is_registered(name)).then_some("the response has no such header")
        }
        Part::Query(name) => (!sender.has_open_query && !declares(Location::Query, name))
            .then_some("the operation has no such query parameter"),
        Part::Path(name) => {
            (!declares(Location::Path, name)).then_some("the path has no such parameter")
        }
        Part::Body(Side::Request, pointer) => {
            let Some(body) = site.at().key("requestBody") else {
                return Some("the operation has no request body");
            };
            (!holds(context, &body, pointer)).then_some("the request body declares nothing there")
        }
        Part::Body(Side::Response, pointer) => {
            // A callback may follow any of the responses, so nothing is said of its own.
            let response = response?;
            (!holds_at(context, response, pointer)).then_some("the response declares nothing there")
        }
    }
}

/// The fields that IANA's "HTTP Field Name Registry" has as permanent (March 2026), those among the
/// deprecated, obsoleted and provisional ones that are in use, and a few that proxies set, in lower
/// case. Senders have them without a declaration.
const REGISTERED: &str = "\
    a-im accept accept-additions accept-ch accept-charset accept-datetime accept-encoding \
    accept-features accept-language accept-patch accept-post accept-ranges accept-signature \
    access-control-allow-credentials access-control-allow-headers \
    access-control-allow-methods access-control-allow-origin access-control-expose-headers \
    access-control-max-age access-control-request-headers access-control-request-method age \
    allow alpn alt-svc alt-used alternates apply-to-redirect-ref authentication-control \
    authentication-info authorization available-dictionary cache-control cache-status \
    cal-managed-id caldav-timezones capsule-protocol cdn-cache-control cdn-loop \
    cert-not-after cert-not-before clear-site-data client-cert client-cert-chain close \
    concealed-auth-export connection content-digest content-disposition content-encoding \
    content-language content-length content-location content-range content-security-policy \
    content-security-policy-report-only content-type cookie cross-origin-embedder-policy \
    cross-origin-embedder-policy-report-only cross-origin-opener-policy \
    cross-origin-opener-policy-report-only cross-origin-resource-policy dasl date dav delta-base \
    deprecation depth destination detached-jws digest dictionary-id dpop dpop-nonce early-data etag expect \
    expires forwarded from hobareg host if if-match if-modified-since if-none-match if-range \
    if-schedule-tag-match if-unmodified-since im include-referred-token-binding-id keep-alive \
    label last-event-id last-modified link link-template location lock-token max-forwards \
    memento-datetime meter mime-version negotiate nel odata-entityid odata-isolation \
    odata-maxversion odata-version optional-www-authenticate ordering-type origin \
    origin-agent-cluster oscore oslc-core-version overwrite permissions-policy ping-from \
    ping-to position pragma prefer preference-applied priority proxy-authenticate \
    proxy-authentication-info proxy-authorization proxy-status public-key-pins \
    public-key-pins-report-only range redirect-ref referer referrer-policy refresh \
    replay-nonce repr-digest retry-after schedule-reply schedule-tag sec-fetch-dest \
    sec-fetch-mode sec-fetch-site sec-fetch-user sec-gpc sec-purpose sec-token-binding \
    sec-websocket-accept sec-websocket-extensions sec-websocket-key sec-websocket-protocol \
    sec-websocket-version server server-timing set-cookie signature signature-input slug \
    soapaction status-uri strict-transport-security sunset surrogate-capability \
    surrogate-control tcn te timeout timing-allow-origin topic traceparent tracestate trailer \
    transfer-encoding ttl upgrade urgency use-as-dictionary user-agent variant-vary vary via \
    want-content-digest want-digest want-repr-digest www-authenticate x-content-type-options \
    x-forwarded-for x-forwarded-host x-forwarded-proto x-frame-options";

fn is_registered(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    REGISTERED.split(' ').any(|known| known == lower)
}

/// Returns whether a security scheme sends a key in a header.
fn is_credential(context: &Context<'_, '_>, header: &str) -> bool {
    let mut schemes = context.contract.security_schemes.values();
    schemes.any(|scheme| match &scheme.kind {
        SecurityKind::ApiKey { name, location } => {
            *location == Location::Header && name.eq_ignore_ascii_case(header)
        }
        _ => false,
    })
}

fn holds<'a>(context: &Context<'_, 'a>, body: &NodeRef<'a>, pointer: &str) -> bool {
    let body = context.resolver.follow(body);
    body.is_none_or(|body| holds_at(context, &body, pointer))
}

/// Returns whether the content of a request body or response may have a value at a pointer.
fn holds_at<'a>(context: &Context<'_, 'a>, body: &NodeRef<'a>, pointer: &str) -> bool {
    let tokens: Vec<String> = pointer::tokens(pointer).map(Cow::into_owned).collect();
    let path: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let content = body.key("content");
    let mut schemas = content.iter().flat_map(NodeRef::entries).map(|(_, media)| {
        let media = context.resolver.follow(&media)?;
        media.key("schema")
    });
    // One media type that may hold the part is enough: which one is sent is not known.
    schemas.any(|schema| schema.is_none_or(|schema| may_hold(context.resolver, &schema, &path)))
}
