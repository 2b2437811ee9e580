//! Writes the schemas of a contract as one JSON value that a validator of draft 2020-12 compiles,
//! for either dialect.
//!
//! Every schema is at its own pointer in the value, and every `$ref` leads to a pointer in the same
//! value. Schemas of other files are under `/$files`.

mod excerpt;
mod ways;

pub use excerpt::Excerpts;
pub(crate) use ways::{MOST_WAYS, Ways};

use serde_json::{Map, Number, Value, json};

use crate::format;
use crate::model::{Contract, Keywords, SchemaId, SchemaKind, Types};
use crate::pointer;
use excerpt::References;

/// Returns one JSON object that has every schema of the contract at its pointer, with only the
/// keywords that a validator needs.
///
/// To validate against one schema, insert `$ref` with its [`schema_reference`] at the top level of
/// the object, and compile that.
#[must_use]
pub fn schema_bundle(contract: &Contract) -> Value {
    let ends = ends(contract);
    let mut inside = vec![false; contract.schemas.len()];
    for schema in &contract.schemas {
        if let SchemaKind::Object(keywords) = &schema.kind {
            keywords.for_each_child(|child| inside[child.0 as usize] = true);
        }
    }
    let mut roots: Vec<(&str, SchemaId)> = (0..)
        .map(SchemaId)
        .zip(&contract.schemas)
        .zip(inside)
        .filter(|(_, inside)| !inside)
        .map(|((id, schema), _)| (schema.pointer.as_str(), id))
        .collect();
    // A schema under an unknown keyword of another schema is a root too. Its pointer is deeper, so
    // it is written after the other one, into it.
    roots.sort_by_key(|(pointer, id)| (pointer.matches('/').count(), *id));
    let mut bundle = Value::Object(Map::new());
    for (pointer, id) in roots {
        let writer = Writer {
            contract,
            ends: Some(&ends),
            excerpt: None,
        };
        let schema = writer.write(id);
        insert(&mut bundle, pointer, schema);
    }
    bundle
}

/// Returns the pointer of a schema in the bundle, such as `/components/schemas/Pet`.
#[must_use]
pub fn schema_pointer(contract: &Contract, id: SchemaId) -> String {
    contract.schema(id).pointer.clone()
}

/// Returns the reference to a schema in the bundle, such as `#/components/schemas/Pet`.
#[must_use]
pub fn schema_reference(contract: &Contract, id: SchemaId) -> String {
    pointer::fragment(&contract.schema(id).pointer)
}

/// Returns one schema in the keywords of draft 2020-12, with annotations and extensions. Inline
/// schemas are written out; references lead into the bundle.
#[must_use]
pub fn schema_json(contract: &Contract, id: SchemaId) -> Value {
    let writer = Writer {
        contract,
        ends: None,
        excerpt: None,
    };
    writer.write(id)
}

/// Returns, for each schema by index, the schema at the end of its chain of references, so that a
/// validator follows one reference instead of the chain.
///
/// Only references without other constraints beside them are followed.
pub(crate) fn ends(contract: &Contract) -> Vec<SchemaId> {
    let mut ends: Vec<Option<SchemaId>> = vec![None; contract.schemas.len()];
    for start in (0..).map(SchemaId).take(contract.schemas.len()) {
        let mut path = Vec::new();
        let mut at = start;
        let end = loop {
            if let Some(known) = ends[at.0 as usize] {
                break known;
            }
            // Marks the schema as visited. If the chain is circular it ends here; cycles have been
            // reported.
            ends[at.0 as usize] = Some(at);
            path.push(at);
            match &contract.schema(at).kind {
                SchemaKind::Object(keywords) if keywords.only_reference => match keywords.reference
                {
                    Some(next) => at = next,
                    None => break at,
                },
                _ => break at,
            }
        };
        for id in path {
            ends[id.0 as usize] = Some(end);
        }
    }
    ends.into_iter().flatten().collect()
}

fn insert(root: &mut Value, pointer: &str, schema: Value) {
    let mut at = root;
    for token in pointer::tokens(pointer) {
        // The bundle has only what a validator needs, so an array here can lack the item that the
        // pointer leads through. In an object with indices as keys, pointers resolve alike.
        if let Value::Array(items) = at
            && !token
                .parse::<usize>()
                .is_ok_and(|index| index < items.len())
        {
            *at = Value::Object(Map::new());
        }
        at = match at {
            Value::Array(items) => {
                let index = token.parse().unwrap_or(0);
                &mut items[index]
            }
            other => {
                if !other.is_object() {
                    *other = Value::Object(Map::new());
                }
                other
                    .as_object_mut()
                    .expect("anything else has been replaced")
                    .entry(token.into_owned())
                    .or_insert_with(|| Value::Object(Map::new()))
            }
        };
    }
    match (at, schema) {
        // A schema below this one was inserted before, at its own pointer: keep it.
        (Value::Object(there), Value::Object(schema)) => {
            for (key, value) in schema {
                there.entry(key).or_insert(value);
            }
        }
        (at, schema) => *at = schema,
    }
}

/// Writes schemas: for a validator if `ends` is given, otherwise with annotations and extensions.
struct Writer<'c> {
    contract: &'c Contract,
    ends: Option<&'c [SchemaId]>,
    /// The references of an excerpt, if one is written.
    excerpt: Option<&'c References<'c>>,
}

impl Writer<'_> {
    fn write(&self, id: SchemaId) -> Value {
        let keywords = match &self.contract.schema(id).kind {
            SchemaKind::Bool(value) => return Value::Bool(*value),
            SchemaKind::Object(keywords) => keywords,
        };
        let mut out = Map::new();
        if self.ends.is_none() {
            annotations(keywords, &mut out);
        } else if let (Some(_), Some(text)) = (&keywords.pattern, &keywords.description) {
            // Messages give the rule of a pattern in the words of the description.
            out.insert("description".to_owned(), text.as_str().into());
        }
        if let Some(target) = keywords.reference {
            let target = self.ends.map_or(target, |ends| ends[target.0 as usize]);
            let reference = match self.excerpt {
                Some(references) => references.to(target),
                None => schema_reference(self.contract, target),
            };
            out.insert("$ref".to_owned(), reference.into());
        }
        values(keywords, &mut out);
        limits(keywords, &mut out);
        if self.ends.is_some() {
            width(keywords, &mut out);
        }
        texts(keywords, &mut out);
        names(keywords, &mut out);
        self.schemas(keywords, &mut out);
        if self.ends.is_none() {
            trailer(self.contract, keywords, &mut out);
        }
        Value::Object(out)
    }

    fn schemas(&self, keywords: &Keywords, out: &mut Map<String, Value>) {
        for (key, id) in keywords.singles() {
            if let Some(id) = id {
                out.insert(key.to_owned(), self.write(id));
            }
        }
        for (key, ids) in keywords.lists() {
            if !ids.is_empty() {
                let written = ids.iter().map(|id| self.write(*id));
                out.insert(key.to_owned(), written.collect());
            }
        }
        for (key, map) in keywords.maps() {
            if !map.is_empty() {
                let is_wanted =
                    |name: &str| self.excerpt.is_none_or(|one| one.is_wanted(key, name));
                let wanted = map.iter().filter(|(name, _)| is_wanted(name));
                let written = wanted.map(|(name, id)| (name.clone(), self.write(*id)));
                out.insert(key.to_owned(), Value::Object(written.collect()));
            }
        }
    }
}

fn annotations(keywords: &Keywords, out: &mut Map<String, Value>) {
    for (key, text) in [
        ("title", &keywords.title),
        ("description", &keywords.description),
    ] {
        if let Some(text) = text {
            out.insert(key.to_owned(), text.as_str().into());
        }
    }
}

fn trailer(contract: &Contract, keywords: &Keywords, out: &mut Map<String, Value>) {
    if let Some(discriminator) = &keywords.discriminator {
        let mapping: Map<String, Value> = discriminator
            .mapping
            .iter()
            .map(|(value, id)| (value.clone(), schema_reference(contract, *id).into()))
            .collect();
        let mut value = json!({ "propertyName": discriminator.property, "mapping": mapping });
        if let Some(default) = discriminator.default {
            value["defaultMapping"] = schema_reference(contract, default).into();
        }
        out.insert("discriminator".to_owned(), value);
    }
    if let Some(default) = &keywords.default {
        out.insert("default".to_owned(), default.clone());
    }
    if !keywords.examples.is_empty() {
        out.insert("examples".to_owned(), keywords.examples.clone().into());
    }
    for (key, flag) in [
        ("deprecated", keywords.deprecated),
        ("readOnly", keywords.read_only),
        ("writeOnly", keywords.write_only),
    ] {
        if flag {
            out.insert(key.to_owned(), true.into());
        }
    }
    for (key, value) in &keywords.extensions {
        out.insert(key.clone(), value.clone());
    }
}

fn values(keywords: &Keywords, out: &mut Map<String, Value>) {
    if let Some(types) = keywords.types {
        out.insert("type".to_owned(), type_names(types));
    }
    if let Some(values) = &keywords.enumeration {
        out.insert("enum".to_owned(), values.clone().into());
    }
    if let Some(value) = &keywords.constant {
        out.insert("const".to_owned(), value.clone());
    }
}

fn type_names(types: Types) -> Value {
    let names: Vec<&str> = types.names().collect();
    match names.as_slice() {
        [one] => (*one).into(),
        many => many.into(),
    }
}

fn limits(keywords: &Keywords, out: &mut Map<String, Value>) {
    let numbers: [(&str, &Option<Number>); 5] = [
        ("minimum", &keywords.minimum),
        ("maximum", &keywords.maximum),
        ("exclusiveMinimum", &keywords.exclusive_minimum),
        ("exclusiveMaximum", &keywords.exclusive_maximum),
        ("multipleOf", &keywords.multiple_of),
    ];
    for (key, number) in numbers {
        if let Some(number) = number {
            out.insert(key.to_owned(), Value::Number(number.clone()));
        }
    }
    for (key, count) in [
        ("minLength", keywords.min_length),
        ("maxLength", keywords.max_length),
        ("minItems", keywords.min_items),
        ("maxItems", keywords.max_items),
        ("minContains", keywords.min_contains),
        ("maxContains", keywords.max_contains),
        ("minProperties", keywords.min_properties),
        ("maxProperties", keywords.max_properties),
    ] {
        if let Some(count) = count {
            out.insert(key.to_owned(), count.into());
        }
    }
    if keywords.unique_items {
        out.insert("uniqueItems".to_owned(), true.into());
    }
}

/// Writes the range of an integer format as `minimum` and `maximum`, unless the schema has narrower
/// bounds. Validators treat these formats as annotations.
fn width(keywords: &Keywords, out: &mut Map<String, Value>) {
    let is_integer = keywords
        .types
        .is_some_and(|types| types.contains(Types::INTEGER) && !types.contains(Types::NUMBER));
    let format = keywords.format.as_deref().filter(|_| is_integer);
    let Some((low, high)) = format.and_then(format::integer_range) else {
        return;
    };
    let says = |bounds: [&Option<Number>; 2], enough: &dyn Fn(f64) -> bool| {
        bounds
            .into_iter()
            .flatten()
            .filter_map(Number::as_f64)
            .any(enough)
    };
    if !says([&keywords.minimum, &keywords.exclusive_minimum], &|bound| {
        low.as_f64() <= Some(bound)
    }) {
        out.insert("minimum".to_owned(), low.into());
    }
    if !says([&keywords.maximum, &keywords.exclusive_maximum], &|bound| {
        Some(bound) <= high.as_f64()
    }) {
        out.insert("maximum".to_owned(), high.into());
    }
}

fn texts(keywords: &Keywords, out: &mut Map<String, Value>) {
    for (key, text) in [
        ("pattern", &keywords.pattern),
        ("format", &keywords.format),
        ("contentEncoding", &keywords.content_encoding),
        ("contentMediaType", &keywords.content_media_type),
    ] {
        if let Some(text) = text {
            out.insert(key.to_owned(), text.as_str().into());
        }
    }
}

fn names(keywords: &Keywords, out: &mut Map<String, Value>) {
    if !keywords.required.is_empty() {
        out.insert("required".to_owned(), keywords.required.clone().into());
    }
    if !keywords.dependent_required.is_empty() {
        let map: Map<String, Value> = keywords
            .dependent_required
            .iter()
            .map(|(name, others)| (name.clone(), others.clone().into()))
            .collect();
        out.insert("dependentRequired".to_owned(), Value::Object(map));
    }
}
