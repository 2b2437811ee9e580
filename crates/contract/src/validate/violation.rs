//! Violations: what a validator rejects, in the words of a diagnostic.

use std::borrow::Cow;
use std::collections::HashMap;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::model::{Contract, Formats, SchemaId, SchemaKind};
use crate::pointer;

/// The reason why a validator rejects one of the values.
pub(crate) struct Violation {
    /// The index of the value among all validated values.
    pub(super) index: usize,
    /// The part of the value that is rejected, as tokens of a pointer.
    pub(crate) tokens: Vec<String>,
    /// The property that is not allowed, if that is the reason.
    pub(crate) unexpected: Option<String>,
    /// The properties that are missing, if that is the reason.
    missing: Vec<String>,
    /// The pointer of the keyword that rejects. Empty if none does ([`is_beyond`](Self::is_beyond)).
    pub(crate) keyword: String,
    pub(crate) message: String,
}

/// Validates the array `values` with the schema `root`. Returns what is rejected, or `None` if the
/// schemas cannot be compiled.
pub(super) fn violations(root: &Value, values: &Value, formats: Formats) -> Option<Vec<Violation>> {
    let asserts = formats == Formats::Assertion;
    let validator = jsonschema::draft202012::options()
        .should_validate_formats(asserts)
        .build(root)
        .ok()?;
    let errors = validator.iter_errors(values);
    Some(errors.filter_map(|error| Violation::of(&error)).collect())
}

impl Violation {
    /// Takes another violation in, if both are properties that one `required` misses in one value.
    /// Returns the other if it is something else.
    pub(super) fn join(&mut self, other: Self) -> Option<Self> {
        let is_same = !self.missing.is_empty()
            && !other.missing.is_empty()
            && self.index == other.index
            && self.tokens == other.tokens
            && self.keyword == other.keyword;
        if !is_same {
            return Some(other);
        }
        self.missing.extend(other.missing);
        self.message = required(&self.missing);
        None
    }

    /// Returns the reason why a default with a valid integer cannot be one: no type holds it.
    pub(super) fn beyond() -> Self {
        Self {
            index: 0,
            tokens: Vec::new(),
            unexpected: None,
            missing: Vec::new(),
            keyword: String::new(),
            message: "no integer type of 64 bits holds it".to_owned(),
        }
    }

    /// Returns whether the value is valid, and only no type holds it.
    pub(crate) fn is_beyond(&self) -> bool {
        self.keyword.is_empty()
    }

    fn of(error: &ValidationError<'_>) -> Option<Self> {
        let mut tokens = pointer::tokens(error.instance_path().as_str());
        // The values are the items of one array, so the first token is the index of the value.
        let index = tokens.next()?.parse().ok()?;
        let (mut unexpected, mut missing) = (None, Vec::new());
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected: names }
            | ValidationErrorKind::UnevaluatedProperties { unexpected: names } => {
                unexpected = names.first().cloned();
            }
            ValidationErrorKind::Required { property } => {
                missing.extend(property.as_str().map(str::to_owned));
            }
            _ => {}
        }
        Some(Self {
            index,
            tokens: tokens.map(Cow::into_owned).collect(),
            unexpected,
            missing,
            keyword: error.schema_path().as_str().to_owned(),
            message: message(error),
        })
    }
}

fn message(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::AnyOf { context } => {
            format!(
                "none of the schemas in `anyOf` accepts it{}",
                reasons(context)
            )
        }
        ValidationErrorKind::OneOfNotValid { context } => {
            format!(
                "none of the schemas in `oneOf` accepts it{}",
                reasons(context)
            )
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            "more than one of the schemas in `oneOf` accepts it".to_owned()
        }
        _ => {
            let text = error.masked_with("the value").to_string();
            // A message can quote a whole `enum`.
            text.chars().take(300).collect()
        }
    }
}

/// The number of missing properties that a message names.
const MOST_NAMES: usize = 4;

/// Returns the message about several missing properties.
fn required(missing: &[String]) -> String {
    let (named, more) = if missing.len() > MOST_NAMES {
        let rest = missing.len() - MOST_NAMES;
        (&missing[..MOST_NAMES], format!("{rest} more"))
    } else {
        let (last, named) = missing.split_last().expect("several are missing");
        (named, format!("\"{last}\""))
    };
    let named: Vec<String> = named.iter().map(|name| format!("\"{name}\"")).collect();
    format!("{} and {more} are required properties", named.join(", "))
}

/// The number of branches of an `anyOf` or `oneOf` whose reasons are said.
const MOST_REASONS: usize = 4;

/// Returns why each branch of a choice rejects a value.
fn reasons(branches: &[Vec<ValidationError<'_>>]) -> String {
    let shown = branches.iter().enumerate().take(MOST_REASONS);
    let reasons = shown.filter_map(|(index, errors)| {
        let error = errors.first()?;
        let path = error.instance_path().as_str();
        // The first token is the index of the value among all that are validated.
        let path = path.get(1..).and_then(|path| path.split_once('/'));
        let part = path.map_or(String::new(), |(_, path)| format!(" at `/{path}`"));
        let text = error.masked_with("the value").to_string();
        let text: String = text.chars().take(150).collect();
        Some(format!("{}) {text}{part}", index + 1))
    });
    let reasons: Vec<String> = reasons.collect();
    let more = branches.len().saturating_sub(MOST_REASONS);
    let more = if more > 0 {
        format!("; and {more} more")
    } else {
        String::new()
    };
    if reasons.is_empty() {
        return String::new();
    }
    format!(": {}{more}", reasons.join("; "))
}

/// The schemas of a contract, in which to look up whether a missing property is read-only or
/// write-only. An example of the other direction may omit such a property although it is required.
pub(super) struct Annotated<'c> {
    contract: &'c Contract,
    by_pointer: HashMap<&'c str, SchemaId>,
}

impl<'c> Annotated<'c> {
    pub(super) fn of(contract: &'c Contract) -> Self {
        let ids = (0..).map(SchemaId).zip(&contract.schemas);
        Self {
            contract,
            by_pointer: ids
                .map(|(id, schema)| (schema.pointer.as_str(), id))
                .collect(),
        }
    }

    /// Returns whether a violation is one missing property that the other direction has.
    pub(super) fn excuses(&self, violation: &Violation) -> bool {
        let [missing] = violation.missing.as_slice() else {
            return false;
        };
        let owner = violation.keyword.strip_suffix("/required");
        let Some(id) = owner.and_then(|pointer| self.by_pointer.get(pointer)) else {
            return false;
        };
        let SchemaKind::Object(keywords) = &self.contract.schema(*id).kind else {
            return false;
        };
        let Some(property) = keywords.properties.get(missing) else {
            return false;
        };
        // In 3.1 the keywords can be beside a `$ref` or at its target.
        [*property, self.contract.resolve(*property)]
            .into_iter()
            .any(|id| match &self.contract.schema(id).kind {
                SchemaKind::Object(keywords) => keywords.read_only || keywords.write_only,
                SchemaKind::Bool(_) => false,
            })
    }
}
