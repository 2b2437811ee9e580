//! Bounds that exclude each other.

use std::cmp::Ordering;

use serde_json::Number;

use super::walk::Walk;
use crate::diagnostic::Diagnostic;
use crate::model::Dialect;
use crate::node::Node;
use crate::number::compare;

/// Reports bounds of a schema that exclude each other, a `multipleOf` that is not more than 0, and
/// an `exclusiveMinimum` or `exclusiveMaximum` (3.0) without the bound that it applies to.
pub(super) fn check(walk: &mut Walk<'_, '_>, node: &Node) {
    for (low, high) in [
        ("minLength", "maxLength"),
        ("minItems", "maxItems"),
        ("minProperties", "maxProperties"),
        ("minContains", "maxContains"),
        ("minimum", "maximum"),
    ] {
        inclusive(walk, node, low, high);
    }
    exclusive(walk, node);
    multiple_of(walk, node);
}

fn inclusive(walk: &mut Walk<'_, '_>, node: &Node, low: &str, high: &str) {
    let (Some(least), Some(most)) = (number(node, low), number(node, high)) else {
        return;
    };
    if compare(least, most) == Some(Ordering::Greater) {
        impossible(walk, node, low, high);
    }
}

/// Checks exclusive bounds, in the form of either dialect, against the opposite bound.
fn exclusive(walk: &mut Walk<'_, '_>, node: &Node) {
    let is_30 = walk.dialect == Dialect::V30;
    let end = |plain: &'static str, exclusive: &'static str| {
        if is_30 {
            let limit = number(node, plain)?;
            let open = node.get(exclusive).and_then(Node::as_bool) == Some(true);
            Some((limit, open, plain))
        } else if let Some(limit) = number(node, exclusive) {
            Some((limit, true, exclusive))
        } else {
            Some((number(node, plain)?, false, plain))
        }
    };
    let low = end("minimum", "exclusiveMinimum");
    let high = end("maximum", "exclusiveMaximum");
    // Two inclusive bounds have been compared by `inclusive`, which accepts equal ones.
    if let (Some((least, least_open, low)), Some((most, most_open, high))) = (low, high)
        && (least_open || most_open)
        && compare(least, most).is_some_and(Ordering::is_ge)
    {
        impossible(walk, node, low, high);
    }
    if is_30 {
        for (plain, exclusive) in [
            ("minimum", "exclusiveMinimum"),
            ("maximum", "exclusiveMaximum"),
        ] {
            if let Some(entry) = node.entry(exclusive)
                && entry.value.as_bool() == Some(true)
                && node.get(plain).is_none()
            {
                walk.warning(
                    "impossible-bounds",
                    entry.key_span,
                    format!("`{exclusive}` has no effect without `{plain}`"),
                    format!("add `{plain}`"),
                );
            }
        }
    }
}

fn multiple_of(walk: &mut Walk<'_, '_>, node: &Node) {
    if let Some(value) = node.get("multipleOf")
        && value
            .as_number()
            .and_then(serde_json::Number::as_f64)
            .is_some_and(|value| value <= 0.0)
    {
        walk.error(
            "impossible-bounds",
            value.span,
            "`multipleOf` must be more than 0".to_owned(),
            "write a positive number, or remove it".to_owned(),
        );
    }
}

fn impossible(walk: &mut Walk<'_, '_>, node: &Node, low: &str, high: &str) {
    let (Some(low_node), Some(high_node)) = (node.get(low), node.get(high)) else {
        return;
    };
    let (least, most) = (low_node.to_json(), high_node.to_json());
    let message = format!("no value is at least {least} (`{low}`) and at most {most} (`{high}`)");
    // Without `contains` both are ignored, and the document can still be right.
    let diagnostic = if low == "minContains" {
        Diagnostic::warning("impossible-bounds", low_node.span, message)
    } else {
        Diagnostic::error("impossible-bounds", low_node.span, message)
    };
    walk.diagnostics.push(
        diagnostic
            .help("swap them, or correct one")
            .related(high_node.span, "the other bound"),
    );
}

fn number<'n>(node: &'n Node, key: &str) -> Option<&'n Number> {
    node.get(key)?.as_number()
}
