//! Bounds that exclude each other.

use std::cmp::Ordering;

use serde_json::Number;

use super::walk::Walk;
use crate::diagnostic::Diagnostic;
use crate::format::integer_range;
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
    beyond_format(walk, node);
    multiple_of(walk, node);
}

/// Reports bounds that no integer of the schema's format reaches.
fn beyond_format(walk: &mut Walk<'_, '_>, node: &Node) {
    let Some(format) = node.get("format").and_then(Node::as_str) else {
        return;
    };
    let Some((least, most)) = integer_range(format) else {
        return;
    };
    for key in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] {
        let Some(value) = node.get(key) else { continue };
        let Some(bound) = value.as_number() else {
            continue;
        };
        // An exclusive bound is next to the last value that it allows.
        let (below, above) = match key {
            _ if !is_exclusive(walk, node, key) => (0, 0),
            "minimum" | "exclusiveMinimum" => (1, 0),
            _ => (0, 1),
        };
        let is_below = compare(bound, &moved(&least, -below)) == Some(Ordering::Less);
        let is_above = compare(bound, &moved(&most, above)) == Some(Ordering::Greater);
        // Many tools write the ends of `int64` as the nearest floating-point number.
        let is_rounded = [&least, &most]
            .iter()
            .any(|end| end.as_f64() == bound.as_f64());
        if (is_below || is_above) && !is_rounded {
            walk.warning(
                "bound-beyond-format",
                value.span,
                format!(
                    "`{key}` is beyond the format `{format}`, whose values are {least} to {most}"
                ),
                "correct the bound, or the `format`".to_owned(),
            );
        }
    }
}

/// Returns whether a bound excludes itself: by its name, or in 3.0 by the keyword beside it.
fn is_exclusive(walk: &Walk<'_, '_>, node: &Node, key: &str) -> bool {
    let beside = match key {
        "minimum" => "exclusiveMinimum",
        "maximum" => "exclusiveMaximum",
        _ => return true,
    };
    walk.dialect == Dialect::V30 && node.get(beside).and_then(Node::as_bool) == Some(true)
}

/// Returns a number plus `by`, or the number itself if the sum is too large.
fn moved(number: &Number, by: i128) -> Number {
    let sum = number.as_i128().and_then(|number| number.checked_add(by));
    sum.and_then(Number::from_i128)
        .unwrap_or_else(|| number.clone())
}

fn inclusive(walk: &mut Walk<'_, '_>, node: &Node, low: &str, high: &str) {
    let (Some(least), Some(most)) = (number(node, low), number(node, high)) else {
        return;
    };
    if compare(least, most) == Some(Ordering::Greater) {
        impossible(walk, node, (low, None), (high, None));
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
        let beside = |is_open: bool, key: &'static str| (is_30 && is_open).then_some(key);
        let low = (low, beside(least_open, "exclusiveMinimum"));
        let high = (high, beside(most_open, "exclusiveMaximum"));
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

/// A keyword, and the one of 3.0 beside it that makes it exclusive.
type Bound<'k> = (&'k str, Option<&'k str>);

/// Reports two bounds that exclude each other.
fn impossible(walk: &mut Walk<'_, '_>, node: &Node, low: Bound<'_>, high: Bound<'_>) {
    let is_open = |(key, beside): Bound<'_>| beside.is_some() || key.starts_with("exclusive");
    let named = |(key, beside): Bound<'_>| match beside {
        Some(beside) => format!("`{key}`, `{beside}`"),
        None => format!("`{key}`"),
    };
    let least = if is_open(low) {
        "more than"
    } else {
        "at least"
    };
    let most = if is_open(high) {
        "less than"
    } else {
        "at most"
    };
    let names = [named(low), named(high)];
    let (low, high) = (low.0, high.0);
    let (Some(low_node), Some(high_node)) = (node.get(low), node.get(high)) else {
        return;
    };
    let (lower, upper) = (low_node.to_json(), high_node.to_json());
    let [low_name, high_name] = names;
    let message =
        format!("no value is {least} {lower} ({low_name}) and {most} {upper} ({high_name})");
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
