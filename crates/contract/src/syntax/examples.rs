//! Examples: fields that exclude each other.

use super::walk::{Item, Walk};

/// Reports `example` beside `examples`, of which tools show either.
pub(super) fn both<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    if item.node.get("examples").is_some()
        && let Some(entry) = item.node.entry("example")
    {
        walk.warning(
            "contradicting-fields",
            entry.key_span,
            "`example` and `examples` exclude each other".to_owned(),
            "move the example into `examples`".to_owned(),
        );
    }
}

/// Reports an example with its value both here and elsewhere.
pub(super) fn external<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    if item.node.get("value").is_some()
        && let Some(entry) = item.node.entry("externalValue")
    {
        walk.warning(
            "contradicting-fields",
            entry.key_span,
            "an example has either `value` or `externalValue`".to_owned(),
            "remove one of them".to_owned(),
        );
    }
}
