//! The description of an API and its operations, as `api_runtime::cli` reads it.

use contract::model::{Location, ParameterEncoding, SecurityKind};
use serde_json::{Value, json};

use super::names::Names;
use super::{input, object, secret, shown, text};
use crate::ir::{Api, Media, MediaKind, Operation, SecurityScheme};

/// Returns the description of an API.
pub(super) fn description(api: &Api<'_>) -> Value {
    let names = Names::new(api);
    let info = &api.contract.info;
    let groups = api.tags.iter().zip(&names.groups);
    let groups = groups.filter_map(|(tag, name)| {
        let about = text(tag.description.as_deref().unwrap_or_default());
        let name = name.as_ref()?;
        Some(object([("name", json!(name)), ("about", json!(about))]))
    });
    let operations = api.operations.iter().enumerate();
    object([
        ("title", json!(text(&info.title))),
        (
            "about",
            json!(text(info.description.as_deref().unwrap_or_default())),
        ),
        ("servers", servers(api)),
        ("schemes", api.security.iter().map(scheme).collect()),
        ("groups", groups.collect()),
        (
            "operations",
            operations
                .map(|(at, operation)| self::operation(api, &names, at, operation))
                .collect(),
        ),
    ])
}

/// Returns the URLs of the servers, with the default of each variable.
fn servers(api: &Api<'_>) -> Value {
    let servers = api.contract.servers.iter();
    let urls = servers.map(|server| json!(text(&server.default_url())));
    // What stands for no servers.
    urls.filter(|url| url != "/").collect()
}

/// Returns a security scheme: where a request has its credential.
fn scheme(scheme: &SecurityScheme) -> Value {
    let (kind, key) = match &scheme.kind {
        SecurityKind::HttpBearer | SecurityKind::OAuth2 | SecurityKind::OpenIdConnect(_) => {
            ("bearer", "")
        }
        SecurityKind::HttpBasic => ("basic", ""),
        SecurityKind::Http(name) => ("authorization", name.as_str()),
        SecurityKind::MutualTls => ("certificate", ""),
        SecurityKind::ApiKey { name, location } => {
            let kind = match location {
                Location::Query => "query",
                Location::Cookie => "cookie",
                Location::Header | Location::Path => "header",
            };
            (kind, name.as_str())
        }
    };
    let about = text(scheme.description.as_deref().unwrap_or_default());
    object([
        (
            "name",
            json!(scheme.name.trim_start_matches("r#").replace('_', "-")),
        ),
        ("about", json!(about)),
        ("kind", json!(kind)),
        ("key", json!(key)),
    ])
}

/// Returns an operation.
fn operation(api: &Api<'_>, names: &Names, at: usize, operation: &Operation) -> Value {
    let path = contract::model::split_label(&operation.path).0;
    let parameters = operation.parameters.iter();
    let success = shown::success(operation);
    let bodies = operation.responses.iter().flat_map(|it| &it.media);
    object([
        ("id", json!(operation.id)),
        ("group", json!(names.groups[operation.tag])),
        ("name", json!(names.operations[at])),
        ("about", json!(text(&operation.docs))),
        ("deprecated", json!(operation.deprecated)),
        ("method", json!(operation.method.as_str())),
        ("path", json!(path)),
        ("label", json!(operation.query)),
        ("security", security(api, operation)),
        (
            "parameters",
            parameters
                .map(|parameter| input::parameter(api, names, operation, parameter))
                .collect(),
        ),
        ("body", body(api, operation)),
        ("accept", json!(shown::accept(operation))),
        ("paging", paging(api, operation)),
        ("wait", shown::wait(api, operation, success)),
        ("columns", json!(shown::columns(api, operation, success))),
        ("secrets", json!(secret::secrets(api, bodies))),
        (
            "secret_bodies",
            json!(secret::secret_bodies(api, operation)),
        ),
    ])
}

/// Returns the security requirements: alternatives, each the indices of the schemes that it needs.
fn security(api: &Api<'_>, operation: &Operation) -> Value {
    let index = |name: &str| api.security.iter().position(|scheme| scheme.wire == *name);
    let alternatives = operation.security.iter().map(|alternative| {
        let schemes = alternative.schemes.iter();
        let schemes = schemes.filter_map(|(name, _)| index(name));
        json!(schemes.collect::<Vec<_>>())
    });
    alternatives.collect()
}

/// Returns the request body: JSON if that is a choice, else the first media type.
fn body(api: &Api<'_>, operation: &Operation) -> Value {
    let Some(body) = &operation.body else {
        return Value::Null;
    };
    let json = body
        .media
        .iter()
        .find(|media| media.kind == MediaKind::Json);
    let Some(media) = json.or(body.media.first()) else {
        return Value::Null;
    };
    let kind = match media.kind {
        MediaKind::Json => "json",
        MediaKind::Form => "form",
        MediaKind::Multipart => "multipart",
        MediaKind::Text
        | MediaKind::EventStream
        | MediaKind::Items
        | MediaKind::TypedEvents
        | MediaKind::Parts
        | MediaKind::PartStream
        | MediaKind::Bytes => "bytes",
    };
    object([
        ("media", json!(media.name)),
        ("kind", json!(kind)),
        ("required", json!(body.required)),
        (
            "about",
            json!(text(body.description.as_deref().unwrap_or_default())),
        ),
        ("schema", json!(input::pointer(api, media.schema))),
        ("styles", styles(media)),
        ("fields", input::fields(api, media)),
        (
            "secrets",
            json!(secret::secrets(api, std::iter::once(media))),
        ),
        ("secret", json!(secret::is_secret_body(api, media))),
        ("needed_secret", json!(secret::needed_secret(api, media))),
    ])
}

/// Returns the name, style and `explode` of each property of a form whose `encoding` says how it is
/// written.
fn styles(media: &Media) -> Value {
    let styles = media.fields.iter().map(|field| match field.encoding {
        ParameterEncoding::Style { style, explode, .. } => {
            json!([field.wire, input::style(style), explode])
        }
        ParameterEncoding::Content(_) => json!([field.wire, "json", false]),
    });
    styles.collect()
}

/// Returns how the pages of a list are requested one after the other.
fn paging(api: &Api<'_>, operation: &Operation) -> Value {
    let (Some(paged), Some(convention)) = (&operation.paging, &api.contract.paging) else {
        return Value::Null;
    };
    let wire = |at: usize| operation.parameters[at].wire.as_str();
    object([
        ("cursor", json!(wire(paged.start_after))),
        ("order", json!(paged.order_column.map(wire))),
        ("items", json!(convention.items)),
        ("count", json!(convention.count)),
        ("key", json!(paged.key)),
    ])
}
