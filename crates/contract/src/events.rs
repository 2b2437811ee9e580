//! The data of server-sent events, whose schema is the `contentSchema` of the property `data`. The
//! check of the syntax and the build of the model look for it by the same rules.

use crate::node::Node;
use crate::node_ref::NodeRef;
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

/// Returns the schema of `data` that has a `contentSchema` for JSON in one of several events, of
/// which none is the only one: a branch of a `oneOf` or `anyOf`.
pub(crate) fn typed_data_of_branch<'a>(
    resolver: &Resolver<'a>,
    event: &NodeRef<'a>,
) -> Option<NodeRef<'a>> {
    let event = resolver.follow(event)?;
    let lists = ["oneOf", "anyOf"].map(|key| event.key(key));
    let branches = lists.iter().flatten().flat_map(NodeRef::items);
    let mut found = branches.filter_map(|branch| typed_data(resolver, &branch));
    found.next()
}

/// Returns the schema of the property `data` that an event declares itself.
fn own_data<'a>(resolver: &Resolver<'a>, event: &NodeRef<'a>) -> Option<NodeRef<'a>> {
    let event = resolver.follow(event)?;
    let data = event.key("properties")?.key("data")?;
    resolver.follow(&data)
}

fn is_typed(data: &NodeRef<'_>) -> bool {
    let media_type = data.node.get("contentMediaType").and_then(Node::as_str);
    media_type.is_none_or(|name| name.ends_with("json")) && data.node.get("contentSchema").is_some()
}
