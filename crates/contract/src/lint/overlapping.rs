//! Paths that match the same request, and are equally specific.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::context::Context;
use crate::diagnostic::Diagnostic;
use crate::model::{Contract, Location, Operation, SchemaKind, Types, split_label};
use crate::source::Span;

/// The maximum number of pairs of paths that are compared.
const MOST_PAIRS: usize = 1_000_000;

/// The maximum number of values that a parameter may list for its path to be compared.
const MOST_VALUES: usize = 100;

/// Reports operations of one method whose paths match the same request, and whose paths are equally
/// specific: by the standard, tools may choose either.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let spans: HashMap<&str, Span> = context
        .origins
        .operations
        .iter()
        .filter_map(|site| Some((site.template?, site.path_span)))
        .collect();
    // Only paths with the same method and number of segments can match the same request.
    let mut groups: HashMap<(&str, usize), Vec<Path<'_>>> = HashMap::new();
    let mut pairs = 0;
    let mut reported = HashSet::new();
    for operation in &context.contract.operations {
        let Some(path) = Path::of(context.contract, operation) else {
            continue;
        };
        let group = groups
            .entry((operation.method.as_str(), path.segments.len()))
            .or_default();
        for earlier in group.iter() {
            pairs += 1;
            if pairs > MOST_PAIRS {
                return;
            }
            // Once for a path, although it has several methods and may overlap with several others.
            if !path.overlaps(earlier) || !reported.insert(path.key) {
                continue;
            }
            let place = |key: &str| spans.get(key).copied().unwrap_or(operation.span);
            diagnostics.push(
                Diagnostic::warning(
                    "overlapping-paths",
                    place(path.key),
                    format!(
                        "`{}` and `{}` match the same requests, and neither is more specific",
                        earlier.key, path.key
                    ),
                )
                .help("change a segment of one of them")
                .related(place(earlier.key), "the other path"),
            );
        }
        group.push(path);
    }
}

/// The path of an operation.
struct Path<'c> {
    key: &'c str,
    segments: Vec<Segment<'c>>,
}

enum Segment<'c> {
    Literal(&'c str),
    Parameter(Allowed<'c>),
}

/// What the schema of a path parameter says about its values.
#[derive(Default)]
struct Allowed<'c> {
    /// The texts of the values, if the schema lists them.
    values: Option<HashSet<Cow<'c, str>>>,
    types: Option<Types>,
    is_uuid: bool,
}

impl<'c> Path<'c> {
    /// Returns the path of an operation, or `None` if it has a query in its key, a segment that is
    /// in part a parameter, or a parameter with more than [`MOST_VALUES`] values.
    fn of(contract: &'c Contract, operation: &'c Operation) -> Option<Self> {
        let (template, label) = split_label(&operation.path);
        if !label.is_empty() {
            return None;
        }
        let segments = template.split('/').skip(1).map(|segment| {
            let inner = segment.strip_prefix('{');
            match inner.and_then(|inner| inner.strip_suffix('}')) {
                Some(name) if !name.contains(['{', '}']) => {
                    Some(Segment::Parameter(Allowed::of(contract, operation, name)?))
                }
                None if !segment.contains(['{', '}']) => Some(Segment::Literal(segment)),
                _ => None,
            }
        });
        Some(Self {
            key: &operation.path,
            segments: segments.collect::<Option<Vec<_>>>()?,
        })
    }

    /// Returns whether a request matches both paths, and each is more specific somewhere.
    fn overlaps(&self, other: &Self) -> bool {
        let (mut here, mut there) = (false, false);
        for pair in self.segments.iter().zip(&other.segments) {
            let fits = match pair {
                (Segment::Literal(one), Segment::Literal(two)) => one == two,
                (Segment::Literal(text), Segment::Parameter(allowed)) => {
                    here = true;
                    allowed.accepts(text)
                }
                (Segment::Parameter(allowed), Segment::Literal(text)) => {
                    there = true;
                    allowed.accepts(text)
                }
                (Segment::Parameter(one), Segment::Parameter(two)) => one.overlaps(two),
            };
            if !fits {
                return false;
            }
        }
        // Where only one of them is more specific, the standard says that it is chosen.
        here && there
    }
}

impl<'c> Allowed<'c> {
    /// Returns what the schema of a path parameter says, or `None` if it lists more than
    /// [`MOST_VALUES`].
    fn of(contract: &'c Contract, operation: &'c Operation, name: &str) -> Option<Self> {
        let mut parameters = operation.parameters.iter();
        let Some(parameter) = parameters
            .find(|parameter| parameter.location == Location::Path && parameter.name == name)
        else {
            return Some(Self::default());
        };
        let schema = contract.schema(contract.resolve(parameter.schema));
        let SchemaKind::Object(keywords) = &schema.kind else {
            return Some(Self::default());
        };
        let constant = keywords.constant.as_ref().map(std::slice::from_ref);
        let listed = constant.or(keywords.enumeration.as_deref());
        if listed.is_some_and(|values| values.len() > MOST_VALUES) {
            return None;
        }
        Some(Self {
            values: listed.map(|values| values.iter().map(text).collect()),
            types: keywords.types,
            is_uuid: keywords.format.as_deref() == Some("uuid"),
        })
    }

    fn accepts(&self, text: &str) -> bool {
        // An empty segment matches no parameter, which has at least one character.
        !text.is_empty()
            && self
                .values
                .as_ref()
                .is_none_or(|values| values.contains(text))
            && self.fits_type(text)
    }

    /// Returns whether a text is a value of one of the types, with the format of a string.
    fn fits_type(&self, text: &str) -> bool {
        let may_be = |wanted| self.types.is_none_or(|types| types.contains(wanted));
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        (may_be(Types::STRING) && (!self.is_uuid || is_uuid(text)))
            || number.is_some_and(|number| {
                may_be(Types::NUMBER) || (may_be(Types::INTEGER) && number.fract() == 0.0)
            })
            || (may_be(Types::BOOLEAN) && matches!(text, "true" | "false"))
            // How other values are written depends on the style.
            || self.types.is_some_and(|types| {
                [Types::NULL, Types::ARRAY, Types::OBJECT]
                    .iter()
                    .any(|other| types.contains(*other))
            })
    }

    fn overlaps(&self, other: &Self) -> bool {
        match (&self.values, &other.values) {
            (Some(values), _) => values.iter().any(|value| other.accepts(value)),
            (None, Some(values)) => values.iter().any(|value| self.accepts(value)),
            (None, None) => true,
        }
    }
}

fn text(value: &Value) -> Cow<'_, str> {
    value
        .as_str()
        .map_or_else(|| value.to_string().into(), Cow::from)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
