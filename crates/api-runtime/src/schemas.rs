//! The schemas of the contract as a JSON Schema validator, for what generated types do not check
//! themselves.
//!
//! A value that decodes as its type has been checked for most keywords already. These schemas check
//! the others, and name every violation of a body that does not decode.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError, Validator};
use serde::Deserialize as _;
use serde_json::Value;

use crate::alternatives::{NONE_MATCHES, SEVERAL_MATCH};
use crate::pointer;
use crate::violation::Violation;

/// The maximum number of levels of nested alternatives (`oneOf`, `anyOf`) that are searched for
/// violations of the alternative that the value was probably meant for.
const MAX_DEPTH: usize = 8;
/// The maximum number of violations that are reported of one value.
pub(crate) const MOST_VIOLATIONS: usize = 100;
/// The maximum number of bytes that the pointers to all parts of a value may have together, for all
/// of its violations to be collected. Each violation has a pointer of its own, and the validator
/// makes all of an array before it returns the first, so a large or deep body could otherwise take
/// a lot of memory and time.
const MOST_POINTERS: usize = 64 << 10;
/// The maximum number of levels of a value of which it is said where it breaks which rules. The validator
/// collects the errors of all alternatives of a part, and of all alternatives of the parts within these: each
/// level of a recursive union multiplies them.
const MOST_LEVELS: usize = 10;
/// The maximum number of parts of such a value, doubled for each level.
const MOST_EXPLAINED: usize = 1 << 22;
/// The maximum number of characters of a pointer that a violation repeats.
const SHOWN: usize = 512;

/// The schemas of a contract: one document of JSON Schema 2020-12, whose schemas are addressed by
/// JSON pointer.
///
/// A schema is compiled when it is first used, and then kept.
pub struct Schemas {
    text: &'static str,
    asserts_formats: bool,
    document: OnceLock<Value>,
    compiled: LazyLock<Mutex<HashMap<String, Option<Arc<Validator>>>>>,
}

impl Schemas {
    /// Creates the schemas from the document that the generator wrote.
    #[must_use]
    pub const fn new(text: &'static str) -> Self {
        Self {
            text,
            asserts_formats: true,
            document: OnceLock::new(),
            compiled: LazyLock::new(|| Mutex::new(HashMap::new())),
        }
    }

    /// Makes `format` an annotation, which rejects nothing. By default it is checked.
    #[must_use]
    pub const fn with_formats_as_annotations(mut self) -> Self {
        self.asserts_formats = false;
        self
    }

    /// Returns the document that has all the schemas.
    #[must_use]
    pub fn document(&self) -> &Value {
        self.document.get_or_init(|| {
            // serde_json's limit of recursion protects from the input of others. This text is the
            // generator's, which bounds its depth, but may be twice as deep as the contract, since
            // nullable schemas are wrapped.
            let mut text = serde_json::Deserializer::from_str(self.text);
            text.disable_recursion_limit();
            Value::deserialize(&mut text).unwrap_or(Value::Null)
        })
    }

    /// Checks a value against the schema at `pointer`.
    ///
    /// # Errors
    ///
    /// The rules that the value breaks, in the order of the value: at most a hundred, and only the
    /// first for a very large value; the last entry then says that there may be more. Of a value with many
    /// levels, only that it breaks some rule. A pointer that leads to no schema is a violation too, because nothing can be accepted then.
    pub fn validate(&self, pointer: &str, value: &Value) -> Result<(), Vec<Violation>> {
        let Some(validator) = self.validator(pointer) else {
            return Err(vec![Violation {
                pointer: String::new(),
                message: format!("the contract has no schema at {pointer}"),
            }]);
        };
        let subject = Subject {
            schemas: self.document(),
            value,
        };
        let mut violations: Vec<Violation> = Vec::new();
        let (parts, levels) = extent(value);
        let is_explained = levels <= MOST_LEVELS && parts << levels <= MOST_EXPLAINED;
        if !is_explained {
            return if validator.is_valid(value) {
                Ok(())
            } else {
                Err(vec![Violation {
                    pointer: String::new(),
                    message: "does not match its schema, and is nested too deeply to say where"
                        .to_owned(),
                }])
            };
        }
        let is_large = pointers(value, 0).is_none_or(|bytes| bytes > MOST_POINTERS);
        if is_large {
            if let Err(error) = validator.validate(value) {
                report(&error, &subject, &mut violations, 0);
            }
        } else {
            for error in validator.iter_errors(value) {
                report(&error, &subject, &mut violations, 0);
                if violations.len() > MOST_VIOLATIONS {
                    break;
                }
            }
        }
        // Several keywords may say the same, such as `required` of two parts of an `allOf`.
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

    /// Returns whether the schema at `pointer` accepts the value. Without such a schema, no value
    /// is accepted.
    #[must_use]
    pub fn accepts(&self, pointer: &str, value: &Value) -> bool {
        self.validator(pointer)
            .is_some_and(|validator| validator.is_valid(value))
    }

    fn validator(&self, pointer: &str) -> Option<Arc<Validator>> {
        // A panic elsewhere leaves the map valid, since every entry is inserted whole. The lock is
        // held while a schema is compiled, so that concurrent requests do not all compile it.
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = compiled.get(pointer) {
            return known.clone();
        }
        let made = self.compile(pointer).map(Arc::new);
        compiled.insert(pointer.to_owned(), made.clone());
        made
    }

    /// Compiles the schema at `pointer`. Returns `None` if it cannot be compiled.
    ///
    /// It is compiled as a `$ref` from the root of the whole document, because the schema may refer
    /// to any other part of it.
    fn compile(&self, pointer: &str) -> Option<Validator> {
        let mut root = self.document().clone();
        let reference = format!("#{}", encoded(pointer));
        root.as_object_mut()?
            .insert("$ref".to_owned(), Value::String(reference));
        jsonschema::draft202012::options()
            .should_validate_formats(self.asserts_formats)
            // The checks of generated types, so that a type and its compiled schema accept the same
            // texts.
            .with_format("byte", crate::format::byte)
            .with_format("date", crate::format::date)
            .with_format("time", crate::format::time)
            .with_format("date-time", crate::format::date_time)
            .with_format("duration", crate::format::duration)
            .build(&root)
            .ok()
    }
}

/// Percent-encodes a pointer as the fragment of a URI (RFC 3986, section 3.5).
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

/// Returns the number of parts of a value, with itself, and of its levels: 1 for one that is no array and
/// no object.
fn extent(value: &Value) -> (usize, usize) {
    let add = |(parts, levels): (usize, usize), inner: &Value| {
        let (more, below) = extent(inner);
        (parts + more, levels.max(below + 1))
    };
    match value {
        Value::Array(items) => items.iter().fold((1, 1), add),
        Value::Object(entries) => entries.values().fold((1, 1), add),
        _ => (1, 1),
    }
}

/// Returns the length of the JSON pointers to a value and to all its parts together, or `None` if
/// it overflows. `own` is the length of the pointer to the value.
fn pointers(value: &Value, own: usize) -> Option<usize> {
    // An index is counted with up to six digits: a bound, which need not be exact.
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

/// A value that the validator has rejected, and the schemas of the contract, for messages.
struct Subject<'s> {
    /// The schemas of the contract.
    schemas: &'s Value,
    /// The whole value.
    value: &'s Value,
}

/// Converts an error of the validator into violations, and adds them. `depth` is the number of
/// alternatives around the error.
fn report(
    error: &ValidationError<'_>,
    subject: &Subject<'_>,
    into: &mut Vec<Violation>,
    depth: usize,
) {
    let whole_pointer = error.instance_path().as_str();
    let pointer = shortened(whole_pointer);
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
            // One more than is reported, so that the caller of this function sees that there are
            // more.
            for name in unexpected.iter().take(MOST_VIOLATIONS + 1) {
                add(
                    format!("{pointer}/{}", escaped(name)),
                    "is not a known property".to_owned(),
                );
            }
        }
        // The validator reports `additionalProperties: false` without a name where no property is
        // allowed at all.
        ValidationErrorKind::FalseSchema if is_of_properties(error) => {
            let names = subject
                .value
                .pointer(whole_pointer)
                .and_then(Value::as_object)
                .into_iter()
                .flat_map(serde_json::Map::keys);
            for name in names.take(MOST_VIOLATIONS + 1) {
                add(
                    format!("{pointer}/{}", escaped(name)),
                    "is not a known property".to_owned(),
                );
            }
        }
        ValidationErrorKind::PropertyNames { error } => report_name(error, subject, &pointer, into),
        ValidationErrorKind::OneOfNotValid { context } | ValidationErrorKind::AnyOf { context }
            if depth < MAX_DEPTH =>
        {
            // The violations of every alternative together would contradict each other. The
            // alternative that failed deepest in the value, with the fewest errors, is most
            // probably the one that was meant.
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
                        report(inner, subject, into, depth + 1);
                    }
                }
                _ => add(pointer, NONE_MATCHES.to_owned()),
            }
        }
        ValidationErrorKind::Pattern { .. } if is_of_length(error, subject.schemas) => {}
        _ => add(pointer, message(error, subject.schemas)),
    }
}

/// Returns a pointer for use in a violation, cut off where long keys make it too long.
fn shortened(pointer: &str) -> String {
    match pointer.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &pointer[..end]),
        None => pointer.to_owned(),
    }
}

/// Returns whether the error is about `additionalProperties`, and not about a property of that
/// name.
fn is_of_properties(error: &ValidationError<'_>) -> bool {
    let keyword = error.schema_path().as_str();
    keyword.ends_with("/additionalProperties")
        && !keyword.ends_with("/properties/additionalProperties")
}

/// Adds the violation of `propertyNames`, at the object and without the name, which may be very
/// long.
fn report_name(
    error: &ValidationError<'_>,
    subject: &Subject<'_>,
    pointer: &str,
    into: &mut Vec<Violation>,
) {
    into.push(Violation {
        pointer: pointer.to_owned(),
        message: format!(
            "has a property whose name {}",
            message(error, subject.schemas)
        ),
    });
}

/// Returns a property's name as a token of a pointer, shortened and without control characters.
fn escaped(name: &str) -> String {
    pointer::escape(&crate::wire::shown(name)).into_owned()
}

/// Returns the message of a violation. It never contains the value, which may be a secret.
///
/// The validator's own messages are not used: they repeat the value and the regular expression.
fn message(error: &ValidationError<'_>, schemas: &Value) -> String {
    use crate::ConstraintError as Rule;
    let size = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
    match error.kind() {
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
        ValidationErrorKind::Pattern { .. } => {
            let description =
                schema(error, schemas).and_then(|schema| schema["description"].as_str());
            crate::rule::message(description, component(error).as_deref())
        }
        ValidationErrorKind::Format { format } => format!("must have the format `{format}`"),
        ValidationErrorKind::Type { kind } => format!("must be {}", types(kind)),
        ValidationErrorKind::Enum { options } => match options.as_array() {
            Some(options) => {
                let options: Vec<String> = options.iter().map(Value::to_string).collect();
                format!("must be one of {}", options.join(", "))
            }
            None => "must be one of the listed values".to_owned(),
        },
        ValidationErrorKind::Constant { expected_value } => format!("must be {expected_value}"),
        ValidationErrorKind::FalseSchema => "is not allowed here".to_owned(),
        ValidationErrorKind::Not { .. } => "must not match the schema under `not`".to_owned(),
        ValidationErrorKind::Contains => {
            "must contain an item that matches the schema under `contains`".to_owned()
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => SEVERAL_MATCH.to_owned(),
        other => format!("violates the keyword `{}`", other.keyword()),
    }
}

/// Returns the schema whose keyword the error is about.
fn schema<'s>(error: &ValidationError<'_>, schemas: &'s Value) -> Option<&'s Value> {
    let (schema, _) = error.schema_path().as_str().rsplit_once('/')?;
    schemas.pointer(schema)
}

/// Returns whether a string that does not match a pattern also has a wrong length, which is
/// reported already. An empty name is an example.
fn is_of_length(error: &ValidationError<'_>, schemas: &Value) -> bool {
    let (Some(schema), Some(text)) = (schema(error, schemas), error.instance().as_str()) else {
        return false;
    };
    let length = text.chars().count();
    let limit = |keyword: &str| schema[keyword].as_u64().map(usize::try_from);
    let is_short = limit("minLength").is_some_and(|least| least.is_ok_and(|least| length < least));
    let is_long = limit("maxLength").is_some_and(|most| most.is_ok_and(|most| length > most));
    is_short || is_long
}

/// Returns the name of the component whose own keyword the error is about, or `None` for a schema
/// inside another.
fn component<'e>(error: &'e ValidationError<'_>) -> Option<Cow<'e, str>> {
    let keyword = error.schema_path().as_str();
    let (schema, _) = keyword.rsplit_once('/')?;
    let name = schema.strip_prefix("/components/schemas/")?;
    (!name.contains('/')).then(|| pointer::unescape(name))
}

/// Returns the types that a schema accepts, with their articles: `a string or null`.
fn types(kind: &TypeKind) -> String {
    let named = |ty: JsonType| match ty {
        JsonType::Array => "an array",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a string",
    };
    match kind {
        TypeKind::Single(one) => named(*one).to_owned(),
        TypeKind::Multiple(several) => {
            let names: Vec<&str> = several.into_iter().map(named).collect();
            names.join(" or ")
        }
    }
}
