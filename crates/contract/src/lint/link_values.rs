//! The values of links: whether the parameters of the operations that they lead to accept what the
//! expressions name.

use std::cell::LazyCell;

use super::context::Context;
use super::expressed::{Expressed, Form};
use crate::diagnostic::Diagnostic;
use crate::expression::parse;
use crate::linked::each_link;
use crate::model::Types;

/// Reports expressions of links whose values no text of their parameter can be, such as a number for a
/// UUID. Constants are validated with the other values of the document.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let expressed = LazyCell::new(|| Expressed::new(context));
    each_link(context.resolver, &context.origins.operations, |linked| {
        for (value, parameter) in linked.parameters() {
            let Some(Ok(part)) = value.as_str().map(parse) else {
                continue;
            };
            let wanted = expressed.form(parameter.schema);
            let Some(wanted) = wanted.filter(|_| parameter.has_style) else {
                continue;
            };
            let mut senders = linked.from.iter();
            let wrong = senders.find_map(|from| {
                let given = expressed.forms(from, Some(&linked.response), part);
                let first = *given.first()?;
                let may_fit = given.into_iter().any(|given| may_fit(given, wanted));
                (!may_fit).then_some(first)
            });
            let Some(wrong) = wrong else { continue };
            diagnostics.push(
                Diagnostic::warning(
                    "bad-link-value",
                    value.span,
                    format!(
                        "this value is {}, but the parameter `{}` is {}",
                        shown(wrong),
                        parameter.name,
                        shown(wanted)
                    ),
                )
                .help("correct the expression, or the parameter"),
            );
        }
    });
}

/// Formats whose texts are no numbers, no truth values, and none of another one of these formats.
const DISTINCT: [&str; 7] = ["uuid", "date", "date-time", "time", "email", "ipv4", "ipv6"];

/// Returns whether the text of a value can be that of a value that a parameter takes.
fn may_fit(given: Form<'_>, wanted: Form<'_>) -> bool {
    let distinct = |form: Form<'_>| {
        form.format
            .and_then(|format| DISTINCT.iter().find(|one| **one == format))
    };
    let (one, other) = (distinct(given), distinct(wanted));
    let is_number = |kind| kind == Types::INTEGER || kind == Types::NUMBER;
    let fits = |from: Types, to: Types| match (from, to) {
        (Types::STRING, Types::STRING) => one.is_none() || other.is_none() || one == other,
        (Types::STRING, Types::OBJECT) | (Types::OBJECT, Types::STRING) => false,
        (Types::STRING, Types::ARRAY) => true,
        (Types::STRING, _) => one.is_none(),
        (_, Types::STRING) => other.is_none(),
        // A single value is an array of one item.
        (_, Types::ARRAY) => from != Types::OBJECT,
        _ => from == to || (is_number(from) && is_number(to)),
    };
    let each = |types: Types| ALL.into_iter().filter(move |kind| types.contains(*kind));
    each(given.types).any(|from| each(wanted.types).any(|to| fits(from, to)))
}

const ALL: [Types; 6] = [
    Types::BOOLEAN,
    Types::INTEGER,
    Types::NUMBER,
    Types::STRING,
    Types::ARRAY,
    Types::OBJECT,
];

/// Returns a form in words.
fn shown(form: Form<'_>) -> String {
    let names: Vec<&str> = form.types.names().collect();
    let types = names.join("` or `");
    match form.format.filter(|_| form.types == Types::STRING) {
        Some(format) => format!("of the format `{format}`"),
        None => format!("of type `{types}`"),
    }
}
