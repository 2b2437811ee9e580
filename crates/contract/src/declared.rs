//! Which properties a schema declares, read from the nodes of a document.

use crate::node::Node;
use crate::node_ref::NodeRef;
use crate::resolve::Resolver;

/// The number of schemas that are looked at for one question. After that, everything counts as
/// declared.
const MOST_LOOKS: usize = 500;

/// Returns whether a schema may have a value at a path of properties and items. This is false only
/// if the schema says what its values hold and has nothing there.
pub(crate) fn may_hold<'a>(resolver: &Resolver<'a>, schema: &NodeRef<'a>, path: &[&str]) -> bool {
    search(resolver, schema, path, &mut { MOST_LOOKS })
}

fn search<'a>(
    resolver: &Resolver<'a>,
    schema: &NodeRef<'a>,
    path: &[&str],
    looks: &mut usize,
) -> bool {
    let Some((token, rest)) = path.split_first() else {
        return true;
    };
    let Some(left) = looks.checked_sub(1) else {
        return true;
    };
    *looks = left;
    let Some(entries) = schema.node.as_object() else {
        // `true` holds anything.
        return schema.node.as_bool() != Some(false);
    };
    // Whether the schema says anything about what its values hold.
    let mut says = false;
    if schema.node.get("$ref").is_some() {
        match resolver.follow(schema) {
            Some(target) if search(resolver, &target, path, looks) => return true,
            Some(_) => says = true,
            None => return true,
        }
    }
    for entry in entries {
        let at = schema.child(&entry.key, &entry.value);
        match entry.key.as_str() {
            "properties" => {
                says = true;
                if let Some(property) = at.key(token)
                    && search(resolver, &property, rest, looks)
                {
                    return true;
                }
            }
            "patternProperties" | "prefixItems" | "unevaluatedProperties" | "$dynamicRef" => {
                return true;
            }
            "additionalProperties" => {
                says = true;
                if entry.value.as_bool() != Some(false) {
                    return true;
                }
            }
            "items" => {
                says = true;
                let is_index = token.parse::<usize>().is_ok() || *token == "-";
                // Without an index, the author means each of the items.
                let path = if is_index { rest } else { path };
                if search(resolver, &at, path, looks) {
                    return true;
                }
            }
            "allOf" | "anyOf" | "oneOf" => {
                for part in at.items() {
                    says = true;
                    if search(resolver, &part, path, looks) {
                        return true;
                    }
                }
            }
            // Subtypes may declare more.
            "discriminator" | "if" | "then" | "else" | "dependentSchemas" => return true,
            "type" => {
                let holds = |name: &str| matches!(name, "object" | "array");
                let several = entry.value.as_array().unwrap_or_default();
                let names = several.iter().filter_map(Node::as_str);
                says |= !names.chain(entry.value.as_str()).any(holds);
            }
            _ => {}
        }
    }
    !says
}
