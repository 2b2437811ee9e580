//! The schemas of a contract as one JSON value that a validator of draft 2020-12 compiles, whatever the dialect.
//!
//! Every schema stands at its own pointer; `$ref`s lead to pointers in the same value. Schemas of other files are under
//! `/$files`.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Map, Number, Value, json};

use crate::model::{Contract, Keywords, SchemaId, SchemaKind, Types};

/// What a URI's fragment cannot hold as it is.
const FRAGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Every schema of the contract at its pointer, with what a validator needs and no more.
///
/// Compile `{"$ref": …}` with [`schema_reference`], the bundle being the same resource.
#[must_use]
pub fn schema_bundle(contract: &Contract) -> Value {
    let ends = ends(contract);
    let mut inside = vec![false; contract.schemas.len()];
    for schema in &contract.schemas {
        if let SchemaKind::Object(keywords) = &schema.kind {
            for_each_child(keywords, |child| inside[child.0 as usize] = true);
        }
    }
    let mut roots: Vec<(&str, SchemaId)> = (0..)
        .map(SchemaId)
        .zip(&contract.schemas)
        .zip(inside)
        .filter(|(_, inside)| !inside)
        .map(|((id, schema), _)| (schema.pointer.as_str(), id))
        .collect();
    // A schema that stands in an unknown keyword of another comes after it, and is put into it.
    roots.sort_by_key(|(pointer, id)| (pointer.matches('/').count(), *id));
    let mut bundle = Value::Object(Map::new());
    for (pointer, id) in roots {
        let writer = Writer {
            contract,
            ends: Some(&ends),
        };
        let schema = writer.write(id);
        insert(&mut bundle, pointer, schema);
    }
    bundle
}

/// Where a schema stands in the bundle, such as `/components/schemas/Pet`.
#[must_use]
pub fn schema_pointer(contract: &Contract, id: SchemaId) -> String {
    contract.schema(id).pointer.clone()
}

/// The reference to a schema in the bundle, such as `#/components/schemas/Pet`.
#[must_use]
pub fn schema_reference(contract: &Contract, id: SchemaId) -> String {
    fragment(&contract.schema(id).pointer)
}

/// A pointer as a reference within its document.
pub(crate) fn fragment(pointer: &str) -> String {
    format!("#{}", utf8_percent_encode(pointer, FRAGMENT))
}

/// One schema in the words of draft 2020-12, annotations and extensions included. Inline schemas are written out,
/// references stay references into the bundle.
#[must_use]
pub fn schema_json(contract: &Contract, id: SchemaId) -> Value {
    let writer = Writer {
        contract,
        ends: None,
    };
    writer.write(id)
}

/// Where each schema's reference ends when it stands alone, so that a chain of references costs one step.
pub(crate) fn ends(contract: &Contract) -> Vec<SchemaId> {
    let mut ends: Vec<Option<SchemaId>> = vec![None; contract.schemas.len()];
    for start in (0..).map(SchemaId).take(contract.schemas.len()) {
        let mut path = Vec::new();
        let mut at = start;
        let end = loop {
            if let Some(known) = ends[at.0 as usize] {
                break known;
            }
            // A circle ends anywhere; it has been refused.
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
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
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
                    .entry(token)
                    .or_insert_with(|| Value::Object(Map::new()))
            }
        };
    }
    match (at, schema) {
        // Something that stands in this one has been put here already, at its pointer.
        (Value::Object(there), Value::Object(schema)) => {
            for (key, value) in schema {
                there.entry(key).or_insert(value);
            }
        }
        (at, schema) => *at = schema,
    }
}

/// Every schema that stands in another.
pub(crate) fn for_each_child(keywords: &Keywords, mut visit: impl FnMut(SchemaId)) {
    for id in singles(keywords).into_iter().filter_map(|(_, id)| id) {
        visit(id);
    }
    for id in lists(keywords).into_iter().flat_map(|(_, ids)| ids) {
        visit(*id);
    }
    for id in maps(keywords).into_iter().flat_map(|(_, map)| map.values()) {
        visit(*id);
    }
}

fn singles(keywords: &Keywords) -> [(&'static str, Option<SchemaId>); 10] {
    [
        ("items", keywords.items),
        ("contains", keywords.contains),
        ("unevaluatedItems", keywords.unevaluated_items),
        ("additionalProperties", keywords.additional_properties),
        ("propertyNames", keywords.property_names),
        ("unevaluatedProperties", keywords.unevaluated_properties),
        ("not", keywords.not),
        ("if", keywords.if_schema),
        ("then", keywords.then_schema),
        ("else", keywords.else_schema),
    ]
}

fn lists(keywords: &Keywords) -> [(&'static str, &[SchemaId]); 4] {
    [
        ("prefixItems", &keywords.prefix_items),
        ("allOf", &keywords.all_of),
        ("anyOf", &keywords.any_of),
        ("oneOf", &keywords.one_of),
    ]
}

type SchemaMap = indexmap::IndexMap<String, SchemaId>;

fn maps(keywords: &Keywords) -> [(&'static str, &SchemaMap); 4] {
    [
        ("properties", &keywords.properties),
        ("patternProperties", &keywords.pattern_properties),
        ("dependentSchemas", &keywords.dependent_schemas),
        ("$defs", &keywords.defs),
    ]
}

/// Writes schemas: for a validator when it knows where references end, else with everything.
struct Writer<'c> {
    contract: &'c Contract,
    ends: Option<&'c [SchemaId]>,
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
            let reference = schema_reference(self.contract, target);
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
        for (key, id) in singles(keywords) {
            if let Some(id) = id {
                out.insert(key.to_owned(), self.write(id));
            }
        }
        for (key, ids) in lists(keywords) {
            if !ids.is_empty() {
                let written = ids.iter().map(|id| self.write(*id));
                out.insert(key.to_owned(), written.collect());
            }
        }
        for (key, map) in maps(keywords) {
            if !map.is_empty() {
                let written = map.iter().map(|(name, id)| (name.clone(), self.write(*id)));
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
        let value = json!({ "propertyName": discriminator.property, "mapping": mapping });
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
    let known = [
        (Types::STRING, "string"),
        (Types::INTEGER, "integer"),
        (Types::NUMBER, "number"),
        (Types::BOOLEAN, "boolean"),
        (Types::ARRAY, "array"),
        (Types::OBJECT, "object"),
        (Types::NULL, "null"),
    ];
    let names: Vec<&str> = known
        .iter()
        .filter(|(kind, _)| types.contains(*kind))
        .map(|(_, name)| *name)
        .collect();
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

/// The range of an integer's format, which validators take for a remark, where no bound says as much.
fn width(keywords: &Keywords, out: &mut Map<String, Value>) {
    let is_integer = keywords
        .types
        .is_some_and(|types| types.contains(Types::INTEGER) && !types.contains(Types::NUMBER));
    let format = keywords.format.as_deref().filter(|_| is_integer);
    let (low, high): (Number, Number) = match format {
        Some("int8") => (i8::MIN.into(), i8::MAX.into()),
        Some("int16") => (i16::MIN.into(), i16::MAX.into()),
        Some("int32") => (i32::MIN.into(), i32::MAX.into()),
        Some("int64") => (i64::MIN.into(), i64::MAX.into()),
        Some("uint8") => (u8::MIN.into(), u8::MAX.into()),
        Some("uint16") => (u16::MIN.into(), u16::MAX.into()),
        Some("uint32") => (u32::MIN.into(), u32::MAX.into()),
        Some("uint64") => (u64::MIN.into(), u64::MAX.into()),
        _ => return,
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
