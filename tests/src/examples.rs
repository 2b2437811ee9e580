//! The examples of responses in a document, read as a lenient client reads responses.
//!
//! The engine of [`Lenient`] is run on each example with the schema itself in place of the type
//! that would be generated from it, so that every document can be tried without compiling it.
//! [`program`] writes a program that reads them as the generated types.

pub mod program;

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::ops::AddAssign;

use api_runtime::Wire;
use api_runtime::client::Lenient;
use contract::bundle::{schema_bundle, schema_reference};
use contract::model::{Contract, MediaType, SchemaId, SchemaKind};
use jsonschema::Validator;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

/// How many examples were read, and how many of them do not fit their schemas.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Examples {
    /// The number of examples.
    pub all: usize,
    /// The number of those that do not fit their schema.
    pub misfits: usize,
}

impl AddAssign for Examples {
    fn add_assign(&mut self, other: Self) {
        self.all += other.all;
        self.misfits += other.misfits;
    }
}

impl fmt::Display for Examples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} examples, of which {} do not fit",
            self.all, self.misfits
        )
    }
}

/// Reads every example of a JSON response leniently, and what `variants` returns for each, which is
/// counted apart.
///
/// # Errors
///
/// Returns the place of the first example that is not read: whose JSON is not the one that was
/// received, or that fits its schema and is no value, or the other way round.
pub fn read(
    contract: &Contract,
    variants: impl Fn(&Value) -> Vec<Value>,
) -> Result<(Examples, Examples), String> {
    let responses = contract.operations.iter();
    let responses = responses.flat_map(|operation| &operation.responses);
    let content = responses.flat_map(|response| &response.content);
    let found: Vec<_> = content
        .filter_map(|media| Some((media, examples(contract, media)?)))
        .collect();
    let (mut own, mut changed) = (Examples::default(), Examples::default());
    if found.is_empty() {
        return Ok((own, changed));
    }
    let schemas = found.iter().map(|(_, (schema, _))| *schema);
    compile(contract, schemas)?;
    for (at, (media, (_, examples))) in found.iter().enumerate() {
        for example in examples {
            let example = &*recorded(at, example);
            own += read_one(at, example, &media.pointer)?;
            for variant in variants(example) {
                changed += read_one(at, &variant, &media.pointer)?;
            }
        }
    }
    Ok((own, changed))
}

/// Returns the examples of a media type, with the schema that they should fit.
fn examples<'c>(
    contract: &'c Contract,
    media: &'c MediaType,
) -> Option<(SchemaId, Vec<&'c Value>)> {
    let schema = media.schema.filter(|_| media.name.contains("json"))?;
    let own: &[Value] = match &contract.schema(contract.resolve(schema)).kind {
        SchemaKind::Object(keywords) => &keywords.examples,
        SchemaKind::Bool(_) => &[],
    };
    let examples: Vec<&Value> = media.examples.values().chain(own).collect();
    (!examples.is_empty()).then_some((schema, examples))
}

thread_local! {
    /// The validator of [`Judged`], and the number of the schema that it asks for.
    static SCHEMA: RefCell<Option<(Validator, usize)>> = const { RefCell::new(None) };
}

/// Compiles the schemas for this thread, once for all: each is that of a property of one object.
fn compile(contract: &Contract, schemas: impl Iterator<Item = SchemaId>) -> Result<(), String> {
    let properties: Map<String, Value> = schemas
        .enumerate()
        .map(|(at, schema)| {
            let reference = schema_reference(contract, schema);
            (at.to_string(), json!({ "$ref": reference }))
        })
        .collect();
    let mut root = schema_bundle(contract);
    root["properties"] = Value::Object(properties);
    let options = jsonschema::draft202012::options().should_validate_formats(true);
    let validator = options.build(&root).map_err(|error| error.to_string())?;
    SCHEMA.set(Some((validator, 0)));
    Ok(())
}

/// Makes a schema the one of [`Judged`].
fn choose(schema: usize) {
    SCHEMA.with_borrow_mut(|known| {
        if let Some((_, at)) = known {
            *at = schema;
        }
    });
}

/// Returns the response that an example records: one may be the text of its JSON, which OpenAPI
/// allows, and is read so if the schema accepts no such text.
fn recorded(schema: usize, example: &Value) -> Cow<'_, Value> {
    choose(schema);
    let text = example.as_str().filter(|_| !fits(example));
    let json = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let json = json.filter(|json| json.is_object() || json.is_array());
    json.map_or(Cow::Borrowed(example), Cow::Owned)
}

/// Reads an example leniently, as a value of a schema.
fn read_one(schema: usize, example: &Value, place: &str) -> Result<Examples, String> {
    choose(schema);
    let text = example.to_string();
    let read: Lenient<Judged> = Lenient::from_text(&text);
    let fits = fits(example);
    let is_read = [
        read.raw() == Some(example),
        read.text().as_deref() == Some(text.as_str()),
        read.get().is_ok() == fits,
        read.violations().is_empty() == fits,
    ];
    if is_read.contains(&false) {
        return Err(format!("{place}: {is_read:?} of {text}"));
    }
    Ok(Examples {
        all: 1,
        misfits: usize::from(!fits),
    })
}

/// Returns whether a value fits the schema of this thread.
fn fits(value: &Value) -> bool {
    SCHEMA.with_borrow(|known| {
        let (validator, at) = known
            .as_ref()
            .expect("the schemas are compiled before they are asked");
        let wrapped = Map::from_iter([(at.to_string(), value.clone())]);
        validator.is_valid(&Value::Object(wrapped))
    })
}

/// A value that fits the schema of its thread.
#[derive(Debug)]
struct Judged;

impl<'de> Deserialize<'de> for Judged {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let fits = fits(&value);
        fits.then_some(Self)
            .ok_or_else(|| serde::de::Error::custom("must fit the schema"))
    }
}

impl Serialize for Judged {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl Wire for Judged {}
