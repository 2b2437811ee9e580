//! Schemas that accept nothing because of bounds, listed values and required properties, in one
//! schema or over the parts of `allOf`, and schemas that are read only by one part and write only by
//! another.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde_json::{Number, Value};

use super::context::Context;
use super::parts::parts_first;
use crate::diagnostic::Diagnostic;
use crate::model::{Contract, Keywords, SchemaId, SchemaKind, Types};
use crate::node::Node;
use crate::number::compare;
use crate::source::Span;

/// Reports schemas that accept nothing, at the innermost schema that combines what excludes each
/// other.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let contract = context.contract;
    let mut is_reported = vec![false; contract.schemas.len()];
    let mut is_unsent = vec![false; contract.schemas.len()];
    for at in parts_first(contract) {
        let SchemaKind::Object(keywords) = &contract.schemas[at].kind else {
            continue;
        };
        let parts = || keywords.reference.iter().chain(&keywords.all_of);
        // A schema whose parts accept nothing already is a consequence.
        if parts().any(|part| is_reported[part.index()]) {
            is_reported[at] = true;
            continue;
        }
        let node = context.origins.nodes[at];
        let Some(whole) = Whole::of(contract, SchemaId::at(at)) else {
            continue;
        };
        if whole.is_unsent() {
            is_unsent[at] = true;
            // The check of the syntax has reported both in one schema.
            let is_both = keywords.read_only && keywords.write_only;
            if !is_both && !parts().any(|part| is_unsent[part.index()]) {
                let message =
                    "no side may send what is `readOnly` by one part and `writeOnly` by another";
                let found = Diagnostic::warning("contradicting-fields", combined(node), message);
                diagnostics.push(found.help("remove one of them"));
            }
        }
        if let Some(found) = whole.contradiction(context, node) {
            is_reported[at] = true;
            diagnostics.push(found);
        }
    }
}

/// Returns the place where a schema combines others, or that of the schema.
fn combined(node: &Node) -> Span {
    let entry = node.entry("allOf").or_else(|| node.entry("$ref"));
    entry.map_or(node.span, |entry| entry.key_span)
}

/// The number of parts that a schema may have to be looked at.
const MOST_PARTS: usize = 100;

/// The number of values that the parts of a schema may list for the lists to be compared.
const MOST_VALUES: usize = 1_000;

/// A bound, or `None` if a schema does not have it.
type Bound = fn(&Keywords) -> Option<Number>;

/// A lower bound and an upper one of the same thing, and the values that they are about.
struct Range {
    kind: &'static str,
    types: Types,
    low: (&'static str, Bound),
    high: (&'static str, Bound),
}

/// The pairs of bounds that exclude each other.
const RANGES: [Range; 7] = [
    Range {
        kind: "number",
        types: NUMBERS,
        low: ("minimum", |k| k.minimum.clone()),
        high: ("maximum", |k| k.maximum.clone()),
    },
    Range {
        kind: "number",
        types: NUMBERS,
        low: ("exclusiveMinimum", |k| k.exclusive_minimum.clone()),
        high: ("maximum", |k| k.maximum.clone()),
    },
    Range {
        kind: "number",
        types: NUMBERS,
        low: ("minimum", |k| k.minimum.clone()),
        high: ("exclusiveMaximum", |k| k.exclusive_maximum.clone()),
    },
    Range {
        kind: "string",
        types: Types::STRING,
        low: ("minLength", |k| k.min_length.map(Number::from)),
        high: ("maxLength", |k| k.max_length.map(Number::from)),
    },
    Range {
        kind: "array",
        types: Types::ARRAY,
        low: ("minItems", |k| k.min_items.map(Number::from)),
        high: ("maxItems", |k| k.max_items.map(Number::from)),
    },
    Range {
        kind: "object",
        types: Types::OBJECT,
        low: ("minProperties", |k| k.min_properties.map(Number::from)),
        high: ("maxProperties", |k| k.max_properties.map(Number::from)),
    },
    Range {
        kind: "array",
        types: Types::ARRAY,
        // Without `contains` beside it, the keyword says nothing.
        low: ("minContains", |k| {
            k.contains.and(k.min_contains).map(Number::from)
        }),
        high: ("maxItems", |k| k.max_items.map(Number::from)),
    },
];

/// The types whose values are numbers.
const NUMBERS: Types = Types(Types::INTEGER.0 | Types::NUMBER.0);

/// A schema with all that must hold beside it.
struct Whole<'c> {
    contract: &'c Contract,
    parts: Vec<(SchemaId, &'c Keywords)>,
}

impl<'c> Whole<'c> {
    /// Returns a schema with its reference and the parts of its `allOf`, at any depth, or `None` if
    /// there are too many.
    fn of(contract: &'c Contract, id: SchemaId) -> Option<Self> {
        let mut parts = Vec::new();
        let mut pending = vec![id];
        let mut seen = HashSet::new();
        while let Some(id) = pending.pop() {
            if let SchemaKind::Object(keywords) = &contract.schema(id).kind
                && seen.insert(id)
            {
                parts.push((id, &**keywords));
                pending.extend(keywords.reference.iter().chain(&keywords.all_of));
            }
            if parts.len() > MOST_PARTS {
                return None;
            }
        }
        Some(Self { contract, parts })
    }

    /// Returns whether one part is read only, and one write only.
    fn is_unsent(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.clone().any(|(_, part)| part.read_only) && parts.any(|(_, part)| part.write_only)
    }

    fn contradiction(&self, context: &Context<'_, '_>, node: &Node) -> Option<Diagnostic> {
        let combined = combined(node);
        let found = self
            .bounds()
            .or_else(|| self.values())
            .map(|message| (combined, message))
            .or_else(|| self.integers(node))
            .or_else(|| self.properties(node, combined))
            .or_else(|| self.items(node, combined));
        if let Some((span, message)) = found {
            return Some(
                Diagnostic::warning("impossible-schema", span, message).help("correct one of them"),
            );
        }
        let (span, message) = self.lost(context, node, combined)?;
        let help = "write `unevaluatedProperties: false` beside `allOf`, or declare the property where the object is closed";
        Some(Diagnostic::warning("closed-part", span, message).help(help))
    }

    /// Returns the greatest of a lower bound and the least of an upper one, if they are in different
    /// parts: within one schema the check of the syntax compares them.
    fn bounds(&self) -> Option<String> {
        let mut ranges = RANGES.iter().filter(|range| self.accepts(range.types));
        ranges.find_map(|range| self.range(range))
    }

    /// Returns whether the types of all parts leave a value of one of these types.
    fn accepts(&self, types: Types) -> bool {
        let mut own = self.parts.iter().filter_map(|(_, part)| part.types);
        own.all(|own| own.0 & types.0 != 0)
    }

    /// Returns that a lower bound of one part exceeds an upper bound of another.
    fn range(&self, range: &Range) -> Option<String> {
        let Range {
            kind,
            low: (low, least),
            high: (high, most),
            ..
        } = range;
        let lower = self
            .parts
            .iter()
            .filter_map(|(id, k)| Some((id, least(k)?)));
        for (one, lower) in lower {
            for (other, upper) in self.parts.iter().filter_map(|(id, k)| Some((id, most(k)?))) {
                // The check of the syntax does not compare the last of the ranges.
                let is_apart = one != other || *low == "minContains";
                let order = compare(&lower, &upper);
                let is_open = low.starts_with("excl") || high.starts_with("excl");
                if is_apart
                    && (order == Some(Ordering::Greater)
                        || (is_open && order == Some(Ordering::Equal)))
                {
                    return Some(format!(
                        "no {kind} is accepted: `{low}` is {lower} and `{high}` is {upper}"
                    ));
                }
            }
        }
        None
    }

    /// Returns that the parts list no common value. Nothing is returned if they list more than
    /// [`MOST_VALUES`].
    fn values(&self) -> Option<String> {
        let lists: Vec<&[Value]> = self
            .parts
            .iter()
            .flat_map(|(_, keywords)| {
                let constant = keywords.constant.as_ref().map(std::slice::from_ref);
                [keywords.enumeration.as_deref(), constant]
            })
            .flatten()
            .collect();
        let [first, others @ ..] = &lists[..] else {
            return None;
        };
        let count: usize = lists.iter().map(|list| list.len()).sum();
        if others.is_empty() || count > MOST_VALUES {
            return None;
        }
        let mut common: HashSet<String> = first.iter().map(canonical).collect();
        for list in others {
            let list: HashSet<String> = list.iter().map(canonical).collect();
            common.retain(|value| list.contains(value));
        }
        common
            .is_empty()
            .then(|| "no value is in every list of values here".to_owned())
    }

    /// Returns the bound that leaves no integer.
    fn integers(&self, node: &Node) -> Option<(Span, String)> {
        let [(_, keywords), ..] = &self.parts[..] else {
            return None;
        };
        let is_integer = |k: &Keywords| {
            k.types.is_some_and(|types| {
                types.contains(Types::INTEGER) && !types.contains(Types::NUMBER)
            })
        };
        if !is_integer(keywords) {
            return None;
        }
        let span = |key: &str| node.get(key).map(|value| value.span);
        let (low, high) = (keywords.minimum.as_ref()?, keywords.maximum.as_ref()?);
        let (low, high) = (low.as_f64()?, high.as_f64()?);
        (low <= high && low.ceil() > high.floor()).then(|| {
            let message = "no integer is between `minimum` and `maximum`".to_owned();
            Some((span("maximum")?, message))
        })?
    }

    /// Returns that the properties are too few or too many, or that a closed part forbids one that
    /// another part requires.
    fn properties(&self, node: &Node, combined: Span) -> Option<(Span, String)> {
        let required: HashSet<&str> = self
            .parts
            .iter()
            .flat_map(|(_, keywords)| keywords.required.iter().map(String::as_str))
            .collect();
        let is_object = self.parts.iter().any(|(_, keywords)| {
            keywords.types == Some(Types::OBJECT) || !keywords.properties.is_empty()
        });
        if !is_object {
            return None;
        }
        for (_, keywords) in &self.parts {
            if let Some(most) = keywords.max_properties
                && (required.len() as u64) > most
            {
                let span = node
                    .get("maxProperties")
                    .map_or(combined, |value| value.span);
                let message = format!(
                    "no object is accepted: {} properties are required, and `maxProperties` is {most}",
                    required.len()
                );
                return Some((span, message));
            }
        }
        for (_, closed) in self.parts.iter().filter(|(_, part)| self.is_closed(part)) {
            let count = closed.properties.len() as u64;
            let least = self
                .parts
                .iter()
                .filter_map(|(_, part)| part.min_properties)
                .max();
            if let Some(least) = least.filter(|least| *least > count) {
                let span = node
                    .get("minProperties")
                    .map_or(combined, |value| value.span);
                let message = format!(
                    "no object is accepted: `minProperties` is {least}, and the object is closed with {count} properties"
                );
                return Some((span, message));
            }
            if self.parts.len() == 1 {
                continue;
            }
            let forbidden = |name: &&str| !closed.properties.contains_key(*name);
            let mut names: Vec<&str> = required.iter().copied().filter(forbidden).collect();
            // A set has no order, and a message must be the same each time.
            names.sort_unstable();
            // Of the part itself, the check of the syntax has reported it.
            let own: HashSet<&str> = closed.required.iter().map(String::as_str).collect();
            names.retain(|name| !own.contains(name));
            if let Some(name) = names.first() {
                let message = format!(
                    "no object is accepted: a part requires `{name}`, and another one is closed without it"
                );
                return Some((combined, message));
            }
        }
        None
    }

    /// Returns a property that a part declares and a closed part forbids.
    fn lost(
        &self,
        context: &Context<'_, '_>,
        node: &Node,
        combined: Span,
    ) -> Option<(Span, String)> {
        if self.parts.len() == 1 {
            return None;
        }
        for (id, closed) in self.parts.iter().filter(|(_, part)| self.is_closed(part)) {
            let names = self
                .parts
                .iter()
                .flat_map(|(_, part)| &part.properties)
                // What is declared as `false` is meant to be forbidden.
                .filter(|(_, id)| {
                    !matches!(self.contract.schema(**id).kind, SchemaKind::Bool(false))
                })
                .map(|(name, _)| name);
            let lost = names
                .filter(|name| !closed.properties.contains_key(*name))
                .min();
            let Some(name) = lost else { continue };
            // Where the object is closed, unless that is far away.
            let closing = context.origins.nodes[id.index()];
            let is_here = closing.span.file == node.span.file
                && node.span.start <= closing.span.start
                && closing.span.end <= node.span.end;
            let keyword = closing.entry("additionalProperties").filter(|_| is_here);
            let message = format!(
                "no object has `{name}`: one part declares it, and another one is closed without it"
            );
            return Some((keyword.map_or(combined, |entry| entry.key_span), message));
        }
        None
    }

    fn is_closed(&self, keywords: &Keywords) -> bool {
        keywords.pattern_properties.is_empty()
            && keywords
                .additional_properties
                .is_some_and(|id| matches!(self.contract.schema(id).kind, SchemaKind::Bool(false)))
    }

    /// Returns that an array must have more items than it can have.
    fn items(&self, node: &Node, combined: Span) -> Option<(Span, String)> {
        let least = self
            .parts
            .iter()
            .filter_map(|(_, part)| part.min_items)
            .max()?;
        let span = node.get("minItems").map_or(combined, |value| value.span);
        for (_, part) in &self.parts {
            let Some(items) = part.items else { continue };
            match &self.contract.schema(self.contract.resolve(items)).kind {
                SchemaKind::Bool(false) if (part.prefix_items.len() as u64) < least => {
                    let message = format!(
                        "no array is accepted: `minItems` is {least}, and it has at most {} items",
                        part.prefix_items.len()
                    );
                    return Some((span, message));
                }
                SchemaKind::Object(item) if part.unique_items && part.prefix_items.is_empty() => {
                    let count = item.enumeration.as_ref().map(|values| values.len() as u64);
                    if let Some(count) = count.filter(|count| *count < least) {
                        let message = format!(
                            "no array is accepted: `minItems` is {least}, and there are {count} different items"
                        );
                        return Some((span, message));
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// Returns a text that is the same for values that are equal by JSON Schema, such as `1` and `1.0`.
fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => match (number.as_i128(), number.as_f64()) {
            // The sum makes a plain zero of the negative one, which is equal to it.
            (None, Some(float)) if float.fract() == 0.0 => format!("{:.0}", float + 0.0),
            _ => number.to_string(),
        },
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(entries) => {
            let mut entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{key:?}:{}", canonical(value)))
                .collect();
            entries.sort_unstable();
            format!("{{{}}}", entries.join(","))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value.to_string(),
    }
}
