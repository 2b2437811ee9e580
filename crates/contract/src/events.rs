//! The data of server-sent events, whose schema is the `contentSchema` of the property `data`. The
//! check of the syntax and the build of the model look for it by the same rules.

use std::collections::HashSet;

use crate::node::Node;
use crate::node_ref::{NodeRef, address};
use crate::resolve::Resolver;

/// Returns whether a media type is that of server-sent events.
pub(crate) fn is_event_stream(name: &str) -> bool {
    let name = name.split(';').next().unwrap_or_default();
    name.trim().eq_ignore_ascii_case("text/event-stream")
}

/// Returns the schema of the property `data` of an event, if it has a `contentSchema` for JSON. The
/// property may be behind references and in one of the schemas of an `allOf`.
pub(crate) fn typed_data<'a>(resolver: &Resolver<'a>, event: &NodeRef<'a>) -> Option<NodeRef<'a>> {
    let event = resolver.follow(event)?;
    let parts = event.key("allOf");
    let inherited = parts.iter().flat_map(NodeRef::items);
    let inherited = inherited.filter_map(|part| own_data(resolver, &part));
    own_data(resolver, &event)
        .into_iter()
        .chain(inherited)
        .find(is_typed)
}

/// The schemas of `data` that have a `contentSchema` for JSON, of several events.
#[derive(Default)]
pub(crate) struct Contents<'a> {
    /// Those that are texts.
    pub(crate) texts: Vec<NodeRef<'a>>,
    /// Those that may be something else than a text, or are secret.
    pub(crate) others: Vec<NodeRef<'a>>,
}

/// Returns the schemas of `data` that have a `contentSchema` for JSON in one of several events: in
/// the branches of a `oneOf` or `anyOf`, which may have branches themselves, and in their `allOf`.
pub(crate) fn contents_of_branches<'a>(
    resolver: &Resolver<'a>,
    events: &NodeRef<'a>,
) -> Contents<'a> {
    let mut found = Contents::default();
    // Branches may lead back to the events.
    let mut seen = HashSet::new();
    let mut parts = vec![events.clone()];
    let mut at = 0;
    while let Some(part) = parts.get(at).cloned() {
        at += 1;
        let Some(part) = resolver.follow(&part) else {
            continue;
        };
        if !seen.insert(address(part.node)) {
            continue;
        }
        if let Some(data) = own_data(resolver, &part)
            && is_typed(&data)
        {
            if is_plain_text(data.node) {
                found.texts.push(data);
            } else {
                found.others.push(data);
            }
        }
        for key in ["allOf", "oneOf", "anyOf"] {
            parts.extend(part.key(key).iter().flat_map(NodeRef::items));
        }
    }
    found
}

/// Returns the schema of the property `data` that an event declares itself.
fn own_data<'a>(resolver: &Resolver<'a>, event: &NodeRef<'a>) -> Option<NodeRef<'a>> {
    let event = resolver.follow(event)?;
    let data = event.key("properties")?.key("data")?;
    resolver.follow(&data)
}

/// Returns whether a schema accepts texts alone, which are no secret.
fn is_plain_text(data: &Node) -> bool {
    let is_text = |ty: &Node| ty.as_str() == Some("string");
    let is_set = |key: &str| data.get(key).and_then(Node::as_bool) == Some(true);
    data.get("type").is_none_or(is_text)
        && !is_set("nullable")
        && !is_set("x-secret")
        && data.get("format").and_then(Node::as_str) != Some("password")
}

fn is_typed(data: &NodeRef<'_>) -> bool {
    let media_type = data.node.get("contentMediaType").and_then(Node::as_str);
    media_type.is_none_or(|name| name.ends_with("json")) && data.node.get("contentSchema").is_some()
}
