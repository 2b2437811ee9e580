//! The parts of a document besides operations and schemas: info, servers, security, paging.

use indexmap::IndexMap;

use super::fields::text;
use crate::model::{
    Info, Location, Paging, Security, SecurityKind, SecurityRequirement, SecurityScheme, Server,
    ServerVariable,
};
use crate::node::Node;
use crate::node_ref::NodeRef;
use crate::resolve::Resolver;

pub(super) fn info(root: &Node) -> Info {
    let Some(node) = root.get("info") else {
        return Info::default();
    };
    // The identifier is exact, but 3.0 has only the name.
    let license = node.get("license");
    Info {
        title: text(node, "title").unwrap_or_default(),
        version: text(node, "version").unwrap_or_default(),
        description: text(node, "description"),
        license: license
            .and_then(|license| text(license, "identifier").or_else(|| text(license, "name"))),
    }
}

/// Returns the servers that a document, path item or operation lists, without those that have no
/// `url`.
pub(super) fn servers(node: &Node) -> Vec<Server> {
    let listed = node.get("servers").and_then(Node::as_array);
    listed
        .unwrap_or_default()
        .iter()
        .filter_map(|node| {
            Some(Server {
                url: text(node, "url")?,
                description: text(node, "description"),
                variables: variables(node),
            })
        })
        .collect()
}

fn variables(server: &Node) -> IndexMap<String, ServerVariable> {
    let entries = server.get("variables").and_then(Node::as_object);
    entries
        .unwrap_or_default()
        .iter()
        .map(|entry| {
            let node = &entry.value;
            let allowed = node.get("enum").and_then(Node::as_array);
            let variable = ServerVariable {
                default: text(node, "default").unwrap_or_default(),
                allowed: allowed
                    .unwrap_or_default()
                    .iter()
                    .filter_map(|value| value.as_str().map(str::to_owned))
                    .collect(),
                description: text(node, "description"),
            };
            (entry.key.clone(), variable)
        })
        .collect()
}

/// Returns the `security` of a document or operation, or `None` if it has none. An empty list is
/// not `None`.
pub(super) fn security<'a>(resolver: &Resolver<'a>, node: &'a Node) -> Option<Security> {
    // An empty list counts as declared: it opens an operation of a document that is protected.
    let alternatives = node.get("security")?.as_array()?;
    let alternatives = alternatives.iter();
    Some(
        alternatives
            .map(|node| requirement(resolver, node))
            .collect(),
    )
}

fn requirement<'a>(resolver: &Resolver<'a>, node: &'a Node) -> SecurityRequirement {
    let schemes = node.as_object().unwrap_or_default().iter().map(|entry| {
        let scopes = entry.value.as_array().unwrap_or_default();
        let scopes = scopes
            .iter()
            .filter_map(|scope| scope.as_str().map(str::to_owned));
        // A scheme can be named by its URI. An unknown one keeps its name, and is reported.
        let name = resolver.security_scheme(node, &entry.key);
        (name.unwrap_or_else(|| entry.key.clone()), scopes.collect())
    });
    SecurityRequirement {
        schemes: schemes.collect(),
    }
}

pub(super) fn security_schemes(resolver: &Resolver<'_>) -> IndexMap<String, SecurityScheme> {
    let components = resolver.root().key("components");
    let Some(schemes) = components.and_then(|at| at.key("securitySchemes")) else {
        return IndexMap::new();
    };
    let schemes = schemes.entries().filter_map(|(entry, at)| {
        let at = resolver.follow(&at)?;
        Some((entry.key.clone(), security_scheme(&at)?))
    });
    schemes.collect()
}

fn security_scheme(at: &NodeRef<'_>) -> Option<SecurityScheme> {
    let node = at.node;
    let kind = match node.get("type")?.as_str()? {
        "apiKey" => SecurityKind::ApiKey {
            name: text(node, "name")?,
            location: match node.get("in")?.as_str()? {
                "query" => Location::Query,
                "header" => Location::Header,
                "cookie" => Location::Cookie,
                _ => return None,
            },
        },
        "http" => {
            let scheme = text(node, "scheme")?;
            // The names of schemes have no case (RFC 9110, section 11.1).
            match scheme.to_ascii_lowercase().as_str() {
                "basic" => SecurityKind::HttpBasic,
                "bearer" => SecurityKind::HttpBearer,
                _ => SecurityKind::Http(scheme),
            }
        }
        "oauth2" => SecurityKind::OAuth2,
        "openIdConnect" => SecurityKind::OpenIdConnect(text(node, "openIdConnectUrl")?),
        "mutualTLS" => SecurityKind::MutualTls,
        _ => return None,
    };
    Some(SecurityScheme {
        kind,
        description: text(node, "description"),
        span: node.span,
    })
}

/// Returns the paging convention (`x-paging`), or `None` if a required field is missing or not a
/// string.
pub(super) fn paging(root: &Node) -> Option<Paging> {
    let node = root.get("x-paging")?;
    Some(Paging {
        start_after: text(node, "start_after")?,
        page_size: text(node, "page_size")?,
        order_column: text(node, "order_column"),
        items: text(node, "items")?,
        count: text(node, "count"),
        key: text(node, "key")?,
    })
}
