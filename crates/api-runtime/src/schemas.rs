//! The contract's own schemas, compiled when they are needed.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde::Deserialize as _;
use serde_json::Value;

use crate::violation::Violation;

/// How deep alternatives are looked into for what is wrong with the nearest one.
const MAX_DEPTH: usize = 8;
/// How many violations of one value are told.
pub(crate) const MOST_VIOLATIONS: usize = 100;
/// How long the pointers to everything in a value may be together, in bytes, for all of its violations to be looked
/// for: each violation has a pointer of its own, so that a small text could ask for a lot of memory.
const MOST_POINTERS: usize = 1 << 20;
/// How much of a pointer a message repeats, in characters.
const SHOWN: usize = 512;

/// The schemas of a contract: one document of JSON Schema 2020-12, addressed by JSON Pointer.
pub struct Schemas {
    text: &'static str,
    asserts_formats: bool,
    document: OnceLock<Value>,
    compiled: LazyLock<Mutex<HashMap<String, Option<Arc<Validator>>>>>,
}

impl Schemas {
    /// Schemas from the text that the generator wrote.
    #[must_use]
    pub const fn new(text: &'static str) -> Self {
        Self {
            text,
            asserts_formats: true,
            document: OnceLock::new(),
            compiled: LazyLock::new(|| Mutex::new(HashMap::new())),
        }
    }

    /// The same, where `format` describes and refuses nothing.
    #[must_use]
    pub const fn with_formats_as_annotations(mut self) -> Self {
        self.asserts_formats = false;
        self
    }

    /// The document.
    #[must_use]
    pub fn document(&self) -> &Value {
        self.document.get_or_init(|| {
            // Our own text, whose depth the generator bounds: null beside a schema may double that of the contract.
            let mut text = serde_json::Deserializer::from_str(self.text);
            text.disable_recursion_limit();
            Value::deserialize(&mut text).unwrap_or(Value::Null)
        })
    }

    /// The rules of the schema at `pointer` that the value breaks, in the order of the value.
    ///
    /// # Errors
    ///
    /// The violations: up to a hundred, and of a value with very many parts the first alone; the last one then says
    /// that there may be more. A pointer to nothing is one, since then nothing can be accepted.
    pub fn validate(&self, pointer: &str, value: &Value) -> Result<(), Vec<Violation>> {
        let Some(validator) = self.validator(pointer) else {
            return Err(vec![Violation {
                pointer: String::new(),
                message: format!("no schema is found at {pointer}"),
            }]);
        };
        let mut violations: Vec<Violation> = Vec::new();
        let is_large = pointers(value, 0).is_none_or(|bytes| bytes > MOST_POINTERS);
        if is_large {
            if let Err(error) = validator.validate(value) {
                report(&error, value, &mut violations, 0);
            }
        } else {
            for error in validator.iter_errors(value) {
                report(&error, value, &mut violations, 0);
                if violations.len() > MOST_VIOLATIONS {
                    break;
                }
            }
        }
        violations.dedup();
        let has_more = (is_large && !violations.is_empty()) || violations.len() > MOST_VIOLATIONS;
        violations.truncate(MOST_VIOLATIONS);
        if has_more {
            violations.push(Violation::more());
        }
        if violations.is_empty() {
            Ok(())
        } else {
            Err(violations)
        }
    }

    /// Whether the schema at `pointer` accepts the value.
    #[must_use]
    pub fn accepts(&self, pointer: &str, value: &Value) -> bool {
        self.validator(pointer)
            .is_some_and(|validator| validator.is_valid(value))
    }

    fn validator(&self, pointer: &str) -> Option<Arc<Validator>> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = compiled.get(pointer) {
            return known.clone();
        }
        let made = self.compile(pointer).map(Arc::new);
        compiled.insert(pointer.to_owned(), made.clone());
        made
    }

    fn compile(&self, pointer: &str) -> Option<Validator> {
        let mut root = self.document().clone();
        let reference = format!("#{}", encoded(pointer));
        root.as_object_mut()?
            .insert("$ref".to_owned(), Value::String(reference));
        jsonschema::draft202012::options()
            .should_validate_formats(self.asserts_formats)
            .with_format("byte", crate::format::byte)
            .build(&root)
            .ok()
    }
}

/// A pointer as the fragment of a URI.
fn encoded(pointer: &str) -> String {
    let mut made = String::with_capacity(pointer.len());
    for byte in pointer.bytes() {
        if byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'/' | b'-'
                    | b'.'
                    | b'_'
                    | b'~'
                    | b'$'
                    | b'!'
                    | b'*'
                    | b'('
                    | b')'
                    | b','
                    | b':'
                    | b'@'
            )
        {
            made.push(char::from(byte));
        } else {
            made.push_str(&format!("%{byte:02X}"));
        }
    }
    made
}

/// How long the pointers to everything in a value are together; none if that is beyond counting.
fn pointers(value: &Value, own: usize) -> Option<usize> {
    let inner = |at: usize, value: &Value| pointers(value, own.checked_add(1 + at)?);
    match value {
        Value::Array(items) => items
            .iter()
            .try_fold(own, |sum, item| sum.checked_add(inner(6, item)?)),
        Value::Object(entries) => entries.iter().try_fold(own, |sum, (key, value)| {
            sum.checked_add(inner(key.len(), value)?)
        }),
        _ => Some(own),
    }
}

fn report(error: &ValidationError<'_>, whole: &Value, into: &mut Vec<Violation>, depth: usize) {
    let place = error.instance_path().as_str();
    let pointer = shortened(place);
    let mut add = |pointer: String, message: String| into.push(Violation { pointer, message });
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            add(
                format!("{pointer}/{}", escaped(name)),
                "is required".to_owned(),
            );
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            for name in unexpected.iter().take(MOST_VIOLATIONS + 1) {
                add(
                    format!("{pointer}/{}", escaped(name)),
                    "is not a property that is known here".to_owned(),
                );
            }
        }
        // Of an object that may have no property at all it is said once, whatever properties there are.
        ValidationErrorKind::FalseSchema if is_of_properties(error) => {
            let names = whole
                .pointer(place)
                .and_then(Value::as_object)
                .into_iter()
                .flat_map(serde_json::Map::keys);
            for name in names.take(MOST_VIOLATIONS + 1) {
                add(
                    format!("{pointer}/{}", escaped(name)),
                    "is not a property that is known here".to_owned(),
                );
            }
        }
        ValidationErrorKind::PropertyNames { error } => report_name(error, &pointer, into),
        ValidationErrorKind::OneOfNotValid { context } | ValidationErrorKind::AnyOf { context }
            if depth < MAX_DEPTH =>
        {
            // The alternative that got furthest says best what is wrong.
            let nearest = context.iter().max_by_key(|errors| {
                let deepest = errors
                    .iter()
                    .map(|error| error.instance_path().as_str().len())
                    .max();
                (deepest, std::cmp::Reverse(errors.len()))
            });
            let deeper = nearest.is_some_and(|errors| {
                errors.iter().any(|inner| {
                    inner.instance_path().as_str().len() > error.instance_path().as_str().len()
                })
            });
            match nearest {
                Some(errors) if deeper || context.len() == 1 => {
                    for inner in errors {
                        report(inner, whole, into, depth + 1);
                    }
                }
                _ => add(pointer, "must fit one of the alternatives".to_owned()),
            }
        }
        kind => add(pointer, words(kind)),
    }
}

/// A pointer that is fit for a message, whatever the keys on its way.
fn shortened(pointer: &str) -> String {
    match pointer.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &pointer[..end]),
        None => pointer.to_owned(),
    }
}

/// Whether it is about the properties that no other keyword knows, and not about one of that name.
fn is_of_properties(error: &ValidationError<'_>) -> bool {
    let place = error.schema_path().as_str();
    place.ends_with("/additionalProperties") && !place.ends_with("/properties/additionalProperties")
}

fn report_name(error: &ValidationError<'_>, pointer: &str, into: &mut Vec<Violation>) {
    into.push(Violation {
        pointer: pointer.to_owned(),
        message: format!("has a property whose name {}", words(error.kind())),
    });
}

/// A name as a step of a pointer, made fit for a message.
fn escaped(name: &str) -> String {
    crate::wire::shown(name)
        .replace('~', "~0")
        .replace('/', "~1")
}

/// A rule in words; the value, which may be a secret, is never part of them.
fn words(kind: &ValidationErrorKind) -> String {
    use crate::ConstraintError as Rule;
    let size = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
    match kind {
        ValidationErrorKind::MinLength { limit } => Rule::MinLength(size(*limit)).to_string(),
        ValidationErrorKind::MaxLength { limit } => Rule::MaxLength(size(*limit)).to_string(),
        ValidationErrorKind::MinItems { limit } => Rule::MinItems(size(*limit)).to_string(),
        ValidationErrorKind::MaxItems { limit } => Rule::MaxItems(size(*limit)).to_string(),
        ValidationErrorKind::AdditionalItems { limit } => Rule::MaxItems(*limit).to_string(),
        ValidationErrorKind::MinProperties { limit } => {
            Rule::MinProperties(size(*limit)).to_string()
        }
        ValidationErrorKind::MaxProperties { limit } => {
            Rule::MaxProperties(size(*limit)).to_string()
        }
        ValidationErrorKind::Minimum { limit } => Rule::Minimum(limit.to_string()).to_string(),
        ValidationErrorKind::Maximum { limit } => Rule::Maximum(limit.to_string()).to_string(),
        ValidationErrorKind::ExclusiveMinimum { limit } => {
            Rule::ExclusiveMinimum(limit.to_string()).to_string()
        }
        ValidationErrorKind::ExclusiveMaximum { limit } => {
            Rule::ExclusiveMaximum(limit.to_string()).to_string()
        }
        ValidationErrorKind::MultipleOf { multiple_of } => {
            Rule::MultipleOf(multiple_of.to_string()).to_string()
        }
        ValidationErrorKind::UniqueItems => Rule::UniqueItems.to_string(),
        ValidationErrorKind::Pattern { pattern } => format!("must match the pattern {pattern}"),
        ValidationErrorKind::Format { format } => format!("must have the format {format}"),
        ValidationErrorKind::Type { kind } => format!("must be of the type {}", types(kind)),
        ValidationErrorKind::Enum { options } => match options.as_array() {
            Some(options) => {
                let options: Vec<String> = options.iter().map(Value::to_string).collect();
                format!("must be one of {}", options.join(", "))
            }
            None => "must be one of the listed values".to_owned(),
        },
        ValidationErrorKind::Constant { expected_value } => format!("must be {expected_value}"),
        ValidationErrorKind::FalseSchema => "is not allowed here".to_owned(),
        ValidationErrorKind::Not { .. } => "must not fit what `not` forbids".to_owned(),
        ValidationErrorKind::Contains => "must hold an item as `contains` asks".to_owned(),
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            "must fit exactly one of the alternatives, but fits several".to_owned()
        }
        other => format!("breaks the rule `{}`", other.keyword()),
    }
}

fn types(kind: &jsonschema::error::TypeKind) -> String {
    match kind {
        jsonschema::error::TypeKind::Single(one) => one.to_string(),
        jsonschema::error::TypeKind::Multiple(several) => {
            let names: Vec<String> = several.into_iter().map(|one| one.to_string()).collect();
            names.join(" or ")
        }
    }
}
