//! The tightest Rust form that can hold every value of a schema.

use std::cmp::Ordering;
use std::collections::HashSet;

use contract::Contract;
use contract::model::{SchemaId, SchemaKind, Types};
use serde_json::{Number, Value};

use super::Lowering;
use super::flatten::{AdditionalProperties, Flat};
use crate::ir::{
    Additional, Array, Choice, Enumeration, Field, Map, Object, Primitive, Scalar, TypeId,
    TypeKind, TypeRef, Union, Variant,
};
use crate::names;

/// What a schema becomes: an existing type, or an item that needs a name; null aside.
pub(super) struct Form {
    pub shape: Shape,
    /// Whether null is accepted too.
    pub nullable: bool,
}

/// A form without null.
pub(super) enum Shape {
    /// A type that needs no item.
    Type(TypeRef),
    /// An item.
    Item(TypeKind),
}

impl Form {
    pub(super) fn of(shape: Shape) -> Self {
        Self {
            shape,
            nullable: false,
        }
    }

    pub(super) fn json(check: &str) -> Self {
        Self::of(Shape::Item(TypeKind::Json {
            check: Some(check.to_owned()),
        }))
    }
}

/// A schema or a conjunction of several on its way to a form.
pub(super) struct Subject<'a> {
    /// The schemas that hold at once.
    pub ids: &'a [SchemaId],
    /// What an item would be called.
    pub name: &'a str,
    /// Pointer of the compiled check, should one be needed.
    pub check: String,
}

impl Lowering<'_> {
    /// The type of a schema; an inline one that needs an item is called `hint`.
    pub(super) fn type_of(&mut self, id: SchemaId, hint: &str) -> TypeRef {
        let id = self.followed(id);
        if let Some(known) = self.lowered.get(&id) {
            return known.clone();
        }
        // An inline schema may hold itself through a reference into the document: it then needs an item
        // whatever it turns out to be, and this is its place.
        let place = self.slot();
        let before = self.lowered.insert(id, TypeRef::Named(place));
        debug_assert!(before.is_none(), "a schema is lowered once");
        let name = names::unique(&mut self.taken, hint.to_owned());
        let form = self.form(&Subject {
            ids: &[id],
            name: &name,
            check: self.check_pointer(id),
        });
        let ty = match form.shape {
            Shape::Item(kind) => {
                self.finish(place, name, id, None, kind);
                nullable(TypeRef::Named(place), form.nullable)
            }
            // A list of itself has to be an item, since an alias cannot hold itself.
            Shape::Type(ty) if ty.mentions(place) => {
                let kind = self.item_of(id, ty);
                self.finish(place, name, id, None, kind);
                nullable(TypeRef::Named(place), form.nullable)
            }
            Shape::Type(ty) => {
                let ty = nullable(ty, form.nullable);
                self.give_back(place, name, id, &ty);
                ty
            }
        };
        self.lowered.insert(id, ty.clone());
        ty
    }

    /// The schema that a reference means, be it wrapped in an `allOf` that only annotates it: so does 3.0, where
    /// nothing may stand beside a reference.
    pub(super) fn followed(&self, id: SchemaId) -> SchemaId {
        let mut id = self.contract.resolve(id);
        let mut seen = Vec::new();
        while self.contract.schema(id).component.is_none()
            && let Some(target) = wrapped_reference(self.contract, id)
            && !seen.contains(&id)
        {
            seen.push(id);
            id = self.contract.resolve(target);
        }
        id
    }

    /// The type of a conjunction of schemas; `false` when the type alone accepts more than they do.
    fn type_of_all(&mut self, ids: &[SchemaId], hint: &str) -> (TypeRef, bool) {
        if let [id] = ids {
            return (self.type_of(*id, hint), true);
        }
        let name = names::unique(&mut self.taken, hint.to_owned());
        // The check of a conjunction belongs to the object around it, which knows a pointer that covers it.
        let form = self.form(&Subject {
            ids,
            name: &name,
            check: String::new(),
        });
        let ty = match form.shape {
            Shape::Type(ty) => {
                self.taken.remove(&name);
                ty
            }
            Shape::Item(kind) => {
                let place = self.slot();
                self.finish(place, name, ids[0], None, without_check(kind));
                TypeRef::Named(place)
            }
        };
        (nullable(ty, form.nullable), false)
    }

    /// The item that a component becomes: always one, so that its name stays when it grows constraints.
    pub(super) fn component_kind(&mut self, id: SchemaId, name: &str) -> TypeKind {
        if let SchemaKind::Object(keywords) = &self.contract.schema(id).kind
            && let Some(target) = keywords.reference
            && keywords.only_reference
        {
            return TypeKind::Alias(self.type_of(target, name));
        }
        let form = self.form(&Subject {
            ids: &[id],
            name,
            check: self.check_pointer(id),
        });
        if form.nullable {
            let inner = match form.shape {
                Shape::Type(ty) => ty,
                Shape::Item(kind) => {
                    let inner = names::unique(&mut self.taken, format!("{name}Value"));
                    let place = self.slot();
                    self.finish(place, inner, id, None, kind);
                    TypeRef::Named(place)
                }
            };
            return TypeKind::Alias(nullable(inner, true));
        }
        match form.shape {
            Shape::Item(kind) => kind,
            Shape::Type(ty) => self.item_of(id, ty),
        }
    }

    /// A component around a type that would need no item.
    fn item_of(&self, id: SchemaId, ty: TypeRef) -> TypeKind {
        match ty {
            TypeRef::Any => TypeKind::Json { check: None },
            TypeRef::Vec(items) => TypeKind::Array(Array {
                items: *items,
                min_items: None,
                max_items: None,
                unique_items: false,
                check: None,
            }),
            TypeRef::Map(values) => TypeKind::Map(Map {
                values: *values,
                min_properties: None,
                max_properties: None,
                check: None,
            }),
            TypeRef::Primitive(Primitive::Bool)
            | TypeRef::Named(_)
            | TypeRef::Nullable(_)
            | TypeRef::Boxed(_) => TypeKind::Alias(ty),
            TypeRef::Primitive(primitive) => {
                let flat = Flat::of(self.contract, &[id]);
                let inner = match primitive {
                    Primitive::Ipv4Addr | Primitive::Ipv6Addr => Primitive::String,
                    other => other,
                };
                TypeKind::Scalar(scalar(inner, &flat, None))
            }
        }
    }

    /// The place of an inline schema that needed no item: dropped, unless something refers to it.
    fn give_back(&mut self, place: TypeId, name: String, id: SchemaId, ty: &TypeRef) {
        if place.0 + 1 == self.types.len() {
            self.types.pop();
            self.taken.remove(&name);
        } else {
            self.finish(place, name, id, None, TypeKind::Alias(ty.clone()));
        }
    }

    /// Where the compiled check of a schema is found in the bundle.
    pub(super) fn check_pointer(&self, id: SchemaId) -> String {
        contract::bundle::schema_pointer(self.contract, id)
    }

    /// Chooses the form.
    pub(super) fn form(&mut self, subject: &Subject<'_>) -> Form {
        let mut flat = Flat::of(self.contract, subject.ids);
        flat.settle(self.contract);
        if flat.never {
            return Form::json(&subject.check);
        }
        if self.implies_types()
            && flat.types.is_none()
            && flat.values.is_none()
            && flat.choices.is_empty()
        {
            flat.types = implied(&flat);
        }
        if flat.values.is_some() {
            return enumeration(&flat, subject);
        }
        if !flat.choices.is_empty() {
            return self.choice(flat, subject);
        }
        self.plain(&flat, subject)
    }

    /// A form by `type`, without values or alternatives.
    pub(super) fn plain(&mut self, flat: &Flat, subject: &Subject<'_>) -> Form {
        let Some(types) = flat.types else {
            let anything = !flat.residual
                && !flat.speaks_of_objects()
                && !flat.speaks_of_arrays()
                && !flat.speaks_of_strings()
                && !flat.speaks_of_numbers();
            return if anything {
                Form::of(Shape::Type(TypeRef::Any))
            } else {
                Form::json(&subject.check)
            };
        };
        let null = types.contains(Types::NULL);
        let mut types = types.without(Types::NULL);
        if types.contains(Types::NUMBER) {
            types = types.without(Types::INTEGER);
        }
        if types.is_empty() {
            return if null && !flat.residual {
                Form::of(Shape::Item(only_null()))
            } else {
                Form::json(&subject.check)
            };
        }
        if null && flat.residual {
            return Form::json(&subject.check);
        }
        Form {
            shape: self.shape_of_types(types, flat, subject),
            nullable: null,
        }
    }

    fn shape_of_types(&mut self, types: Types, flat: &Flat, subject: &Subject<'_>) -> Shape {
        let integer = integer(flat);
        let residual = flat.residual || (types == Types::INTEGER && !is_exact(flat, integer));
        let check = residual.then(|| subject.check.clone());
        match types {
            Types::STRING => string(flat, check),
            Types::INTEGER => number(integer, flat, check),
            Types::NUMBER => number(Primitive::F64, flat, check),
            Types::BOOLEAN if check.is_none() => Shape::Type(TypeRef::Primitive(Primitive::Bool)),
            Types::BOOLEAN => Shape::Item(TypeKind::Json { check }),
            Types::ARRAY => self.array(flat, subject),
            Types::OBJECT => self.object(flat, subject),
            several => several_types(several, flat, subject),
        }
    }

    fn array(&mut self, flat: &Flat, subject: &Subject<'_>) -> Shape {
        let hint = format!("{}Item", subject.name);
        let (items, exact) = match flat.items.as_slice() {
            _ if flat.positional => (TypeRef::Any, true),
            [] => (TypeRef::Any, true),
            ids => self.type_of_all(ids, &hint),
        };
        let constrained = flat.min_items.is_some() || flat.max_items.is_some() || flat.unique_items;
        let check = (flat.residual || !exact).then(|| subject.check.clone());
        if !constrained && check.is_none() {
            return Shape::Type(TypeRef::Vec(Box::new(items)));
        }
        Shape::Item(TypeKind::Array(Array {
            items,
            min_items: flat.min_items,
            max_items: flat.max_items,
            unique_items: flat.unique_items,
            check,
        }))
    }

    fn object(&mut self, flat: &Flat, subject: &Subject<'_>) -> Shape {
        let undeclared = flat
            .required
            .iter()
            .any(|name| !flat.properties.contains_key(name));
        if flat.properties.is_empty() && flat.additional != AdditionalProperties::Refused {
            return self.map(flat, subject, undeclared);
        }
        let mut residual = flat.residual || undeclared;
        let mut taken = HashSet::new();
        let wanted: Vec<_> = flat
            .properties
            .keys()
            .map(|wire| (wire.as_str(), names::snake(wire)))
            .collect();
        let names = names::unique_all(&mut taken, &wanted);
        let mut fields = Vec::with_capacity(flat.properties.len());
        for ((wire, schemas), name) in flat.properties.iter().zip(names) {
            let hint = format!("{}{}", subject.name, names::pascal(wire));
            let (ty, exact) = self.type_of_all(schemas, &hint);
            residual |= !exact;
            fields.push(self.field(flat, (wire, &name), schemas[0], ty));
        }
        let additional = match &flat.additional {
            // A required property that nobody declares has to be kept somewhere.
            AdditionalProperties::Unsaid if undeclared => kept(TypeRef::Any, &mut taken),
            AdditionalProperties::Unsaid => Additional::Open,
            AdditionalProperties::Refused => Additional::Closed,
            AdditionalProperties::Any => kept(TypeRef::Any, &mut taken),
            AdditionalProperties::Follow(id) => {
                let values = self.type_of(*id, &format!("{}AdditionalProperty", subject.name));
                kept(values, &mut taken)
            }
        };
        Shape::Item(TypeKind::Object(Object {
            fields,
            additional,
            min_properties: flat.min_properties,
            max_properties: flat.max_properties,
            dependent_required: dependent_required(flat),
            check: residual.then(|| subject.check.clone()),
            fields_name: None,
        }))
    }

    fn map(&mut self, flat: &Flat, subject: &Subject<'_>, undeclared: bool) -> Shape {
        let values = match &flat.additional {
            AdditionalProperties::Follow(id) => {
                self.type_of(*id, &format!("{}Value", subject.name))
            }
            AdditionalProperties::Unsaid
            | AdditionalProperties::Refused
            | AdditionalProperties::Any => TypeRef::Any,
        };
        let residual = flat.residual || undeclared || !flat.dependent_required.is_empty();
        if !residual && flat.min_properties.is_none() && flat.max_properties.is_none() {
            return Shape::Type(TypeRef::Map(Box::new(values)));
        }
        Shape::Item(TypeKind::Map(Map {
            values,
            min_properties: flat.min_properties,
            max_properties: flat.max_properties,
            check: residual.then(|| subject.check.clone()),
        }))
    }

    fn field(
        &self,
        flat: &Flat,
        (wire, name): (&str, &str),
        schema: SchemaId,
        ty: TypeRef,
    ) -> Field {
        let (ty, nullable) = match ty {
            TypeRef::Nullable(inner) => (*inner, true),
            other => (other, false),
        };
        let required = flat.required.contains(wire);
        Field {
            wire: wire.to_owned(),
            name: names::identifier(name),
            ty,
            required,
            nullable,
            default: if required {
                None
            } else {
                self.own_default(schema)
            },
            schema,
        }
    }

    /// The default that stands beside a property. One inside a referenced schema describes that schema, and
    /// must not fill in what a partial update leaves out.
    pub(super) fn own_default(&self, id: SchemaId) -> Option<Value> {
        match &self.contract.schema(id).kind {
            SchemaKind::Object(keywords) => {
                keywords.default.clone().filter(|value| !value.is_null())
            }
            SchemaKind::Bool(_) => None,
        }
    }
}

/// The type with null, once.
pub(super) fn nullable(ty: TypeRef, null: bool) -> TypeRef {
    match ty {
        _ if !null => ty,
        TypeRef::Nullable(_) | TypeRef::Any => ty,
        other => TypeRef::Nullable(Box::new(other)),
    }
}

fn kept(ty: TypeRef, taken: &mut HashSet<String>) -> Additional {
    Additional::Kept {
        ty,
        field: names::unique(taken, "additional_properties".to_owned()),
    }
}

fn dependent_required(flat: &Flat) -> Option<Value> {
    (!flat.dependent_required.is_empty()).then(|| {
        Value::Object(
            flat.dependent_required
                .iter()
                .map(|(name, needed)| (name.clone(), needed.iter().map(String::as_str).collect()))
                .collect(),
        )
    })
}

/// The type that a schema's keywords speak of, if they agree on one.
fn implied(flat: &Flat) -> Option<Types> {
    let spoken = [
        (flat.speaks_of_objects(), Types::OBJECT),
        (flat.speaks_of_arrays(), Types::ARRAY),
        (flat.speaks_of_strings(), Types::STRING),
        (flat.speaks_of_numbers(), Types::NUMBER),
    ];
    let mut types = spoken
        .iter()
        .filter(|(speaks, _)| *speaks)
        .map(|(_, types)| *types);
    match (types.next(), types.next()) {
        (Some(types), None) => Some(types),
        _ => None,
    }
}

fn string(flat: &Flat, check: Option<String>) -> Shape {
    let lengths = flat.min_length.is_some() || flat.max_length.is_some() || flat.pattern.is_some();
    if !lengths && !flat.secret && check.is_none() {
        match flat.format.as_deref() {
            Some("ipv4") => return Shape::Type(TypeRef::Primitive(Primitive::Ipv4Addr)),
            Some("ipv6") => return Shape::Type(TypeRef::Primitive(Primitive::Ipv6Addr)),
            Some(format) if crate::ir::format_is_enforced(format) => {}
            _ => return Shape::Type(TypeRef::Primitive(Primitive::String)),
        }
    }
    Shape::Item(TypeKind::Scalar(scalar(Primitive::String, flat, check)))
}

fn number(inner: Primitive, flat: &Flat, check: Option<String>) -> Shape {
    let implied_minimum = matches!(
        inner,
        Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64
    ) && flat
        .minimum
        .as_ref()
        .is_none_or(|minimum| minimum.as_u64() == Some(0));
    let bounded = flat.maximum.is_some()
        || flat.exclusive_minimum.is_some()
        || flat.exclusive_maximum.is_some()
        || flat.multiple_of.is_some()
        || (flat.minimum.is_some() && !implied_minimum);
    if bounded || flat.secret || check.is_some() {
        Shape::Item(TypeKind::Scalar(scalar(inner, flat, check)))
    } else {
        Shape::Type(TypeRef::Primitive(inner))
    }
}

/// The integer that holds what a schema allows: by format, so that moving a bound keeps the type.
fn integer(flat: &Flat) -> Primitive {
    let not_negative = flat
        .minimum
        .as_ref()
        .and_then(Number::as_f64)
        .is_some_and(|low| low >= 0.0);
    match flat.format.as_deref() {
        Some("int8") => Primitive::I8,
        Some("int16") => Primitive::I16,
        Some("int32") => Primitive::I32,
        Some("uint8") => Primitive::U8,
        Some("uint16") => Primitive::U16,
        Some("uint32") => Primitive::U32,
        Some("uint64") => Primitive::U64,
        Some("uint") if not_negative => Primitive::U64,
        _ if flat
            .maximum
            .as_ref()
            .is_some_and(|high| high.as_i64().is_none() && high.is_u64())
            && not_negative =>
        {
            Primitive::U64
        }
        _ => Primitive::I64,
    }
}

/// Whether an integer's own type can say all of its bounds: steps are whole, and no bound lies beyond the far end.
fn is_exact(flat: &Flat, inner: Primitive) -> bool {
    let (low, high) = range(inner);
    let is = |bound: &Option<Number>, holds: &dyn Fn(f64) -> bool| {
        bound.as_ref().and_then(Number::as_f64).is_none_or(holds)
    };
    is(&flat.multiple_of, &|step| {
        step.fract() == 0.0 && step < high
    }) && [&flat.minimum, &flat.exclusive_minimum]
        .iter()
        .all(|bound| is(bound, &|bound| bound < high))
        && [&flat.maximum, &flat.exclusive_maximum]
            .iter()
            .all(|bound| is(bound, &|bound| bound > low))
}

/// The ends of an integer's type; those of 64 bits as near as a float comes.
fn range(inner: Primitive) -> (f64, f64) {
    match inner {
        Primitive::I8 => (f64::from(i8::MIN), f64::from(i8::MAX)),
        Primitive::I16 => (f64::from(i16::MIN), f64::from(i16::MAX)),
        Primitive::U8 => (0.0, f64::from(u8::MAX)),
        Primitive::U16 => (0.0, f64::from(u16::MAX)),
        Primitive::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        Primitive::U32 => (0.0, f64::from(u32::MAX)),
        Primitive::U64 => (0.0, TWO_POW_64),
        _ => (-TWO_POW_64 / 2.0, TWO_POW_64 / 2.0),
    }
}

/// One beyond the largest `u64`.
const TWO_POW_64: f64 = 18_446_744_073_709_551_616.0;

fn scalar(inner: Primitive, flat: &Flat, check: Option<String>) -> Scalar {
    Scalar {
        inner,
        min_length: flat.min_length,
        max_length: flat.max_length,
        pattern: flat.pattern.clone(),
        format: flat.format.clone(),
        minimum: flat.minimum.clone(),
        maximum: flat.maximum.clone(),
        exclusive_minimum: flat.exclusive_minimum.clone(),
        exclusive_maximum: flat.exclusive_maximum.clone(),
        multiple_of: flat.multiple_of.clone(),
        secret: flat.secret,
        check,
    }
}

/// Several types at once: a union of plain ones, or any JSON with a check.
fn several_types(types: Types, flat: &Flat, subject: &Subject<'_>) -> Shape {
    let constrained = flat.residual
        || flat.speaks_of_objects()
        || flat.speaks_of_arrays()
        || flat.speaks_of_strings()
        || flat.speaks_of_numbers();
    if constrained {
        return Shape::Item(TypeKind::Json {
            check: Some(subject.check.clone()),
        });
    }
    let any = || Box::new(TypeRef::Any);
    let members = [
        (
            Types::BOOLEAN,
            "Boolean",
            TypeRef::Primitive(Primitive::Bool),
        ),
        (
            Types::INTEGER,
            "Integer",
            TypeRef::Primitive(Primitive::I64),
        ),
        (Types::NUMBER, "Number", TypeRef::Primitive(Primitive::F64)),
        (
            Types::STRING,
            "String",
            TypeRef::Primitive(Primitive::String),
        ),
        (Types::ARRAY, "Array", TypeRef::Vec(any())),
        (Types::OBJECT, "Object", TypeRef::Map(any())),
    ];
    Shape::Item(TypeKind::Union(Union {
        choice: Choice::AnyOf,
        variants: members
            .into_iter()
            .filter(|(member, ..)| types.contains(*member))
            .map(|(_, name, ty)| Variant {
                name: name.to_owned(),
                ty,
                tags: Vec::new(),
                from: true,
            })
            .collect(),
        check: None,
    }))
}

fn enumeration(flat: &Flat, subject: &Subject<'_>) -> Form {
    if flat.residual || !flat.choices.is_empty() {
        return Form::json(&subject.check);
    }
    let mut values = Vec::new();
    for value in flat.values.iter().flatten() {
        if values.contains(value) || !flat.types.is_none_or(|types| accepts(types, value)) {
            continue;
        }
        match is_within(flat, value) {
            Some(true) => values.push(value.clone()),
            Some(false) => {}
            None => return Form::json(&subject.check),
        }
    }
    let null = values.iter().any(Value::is_null);
    if null && values.len() > 1 {
        values.retain(|value| !value.is_null());
    }
    if values.is_empty() {
        return Form::json(&subject.check);
    }
    let nullable = null && !values[0].is_null();
    Form {
        shape: Shape::Item(TypeKind::Enumeration(variants_of(values, flat.extensible))),
        nullable,
    }
}

/// Whether a listed value is one that the other keywords accept too; none if only the compiled schema can say.
fn is_within(flat: &Flat, value: &Value) -> Option<bool> {
    match value {
        Value::Null | Value::Bool(_) => Some(true),
        Value::String(text) => {
            let format = flat
                .format
                .as_deref()
                .is_some_and(crate::ir::format_is_enforced);
            if flat.pattern.is_some() || format {
                return None;
            }
            let length = text.chars().count() as u64;
            Some(
                flat.min_length.is_none_or(|least| length >= least)
                    && flat.max_length.is_none_or(|most| length <= most),
            )
        }
        Value::Number(number) => {
            if flat.multiple_of.is_some() {
                return None;
            }
            let bounds: [(_, fn(Ordering) -> bool); 4] = [
                (&flat.minimum, Ordering::is_ge),
                (&flat.maximum, Ordering::is_le),
                (&flat.exclusive_minimum, Ordering::is_gt),
                (&flat.exclusive_maximum, Ordering::is_lt),
            ];
            let has_width = flat.types == Some(Types::INTEGER)
                && matches!(
                    flat.format.as_deref(),
                    Some("int8" | "int16" | "int32" | "uint8" | "uint16" | "uint32")
                );
            let (low, high) = range(integer(flat));
            let mut within = !has_width
                || number
                    .as_f64()
                    .is_some_and(|number| (low..=high).contains(&number));
            for (bound, holds) in bounds {
                if let Some(bound) = bound {
                    within &= holds(compared(number, bound)?);
                }
            }
            Some(within)
        }
        Value::Array(_) => (!flat.speaks_of_arrays()).then_some(true),
        Value::Object(_) => (!flat.speaks_of_objects()).then_some(true),
    }
}

/// Two numbers in order: exactly if both are integers, else as floats.
fn compared(one: &Number, other: &Number) -> Option<Ordering> {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

/// The reference that is the only member of an `allOf` beside which nothing constrains a value.
fn wrapped_reference(contract: &Contract, id: SchemaId) -> Option<SchemaId> {
    const ANNOTATIONS: [&str; 12] = [
        "title",
        "description",
        "default",
        "example",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "nullable",
        "externalDocs",
        "xml",
        "$comment",
    ];
    let SchemaKind::Object(k) = &contract.schema(id).kind else {
        return None;
    };
    let [only] = k.all_of.as_slice() else {
        return None;
    };
    let is_annotation =
        |name: &String| ANNOTATIONS.contains(&name.as_str()) || name.starts_with("x-");
    let is_bare = k
        .raw
        .as_object()
        .is_none_or(|raw| raw.keys().all(is_annotation))
        && !k.secret
        && !k.extensible
        && k.reference.is_none()
        && k.any_of.is_empty()
        && k.one_of.is_empty()
        && k.not.is_none()
        && k.if_schema.is_none()
        && k.items.is_none()
        && k.prefix_items.is_empty()
        && k.contains.is_none()
        && k.unevaluated_items.is_none()
        && k.properties.is_empty()
        && k.additional_properties.is_none()
        && k.pattern_properties.is_empty()
        && k.property_names.is_none()
        && k.dependent_schemas.is_empty()
        && k.unevaluated_properties.is_none();
    let is_reference =
        matches!(&contract.schema(*only).kind, SchemaKind::Object(member) if member.only_reference);
    (is_bare && is_reference).then_some(*only)
}

/// An enumeration with a name for each value.
pub(super) fn variants_of(values: Vec<Value>, extensible: bool) -> Enumeration {
    let strings = values.iter().all(Value::is_string);
    let wanted: Vec<_> = values
        .iter()
        .map(|value| match value {
            Value::String(text) => (text.as_str(), names::variant(text)),
            Value::Array(_) | Value::Object(_) => ("", "Variant".to_owned()),
            other => ("", names::variant(&other.to_string())),
        })
        .collect();
    let mut taken = HashSet::new();
    let names = names::unique_all(&mut taken, &wanted);
    let variants = names.into_iter().zip(values).collect();
    let unlisted = (extensible && strings).then(|| {
        if taken.contains("Unlisted") {
            names::unique(&mut taken, "UnlistedValue".to_owned())
        } else {
            "Unlisted".to_owned()
        }
    });
    Enumeration {
        variants,
        strings,
        unlisted,
    }
}

fn only_null() -> TypeKind {
    TypeKind::Enumeration(variants_of(vec![Value::Null], false))
}

/// Whether a value is of one of the types.
pub(super) fn accepts(types: Types, value: &Value) -> bool {
    match value {
        Value::Null => types.contains(Types::NULL),
        Value::Bool(_) => types.contains(Types::BOOLEAN),
        Value::Number(number) => {
            types.contains(Types::NUMBER)
                || (types.contains(Types::INTEGER)
                    && (number.is_i64()
                        || number.is_u64()
                        || number.as_f64().is_some_and(|n| n.fract() == 0.0)))
        }
        Value::String(_) => types.contains(Types::STRING),
        Value::Array(_) => types.contains(Types::ARRAY),
        Value::Object(_) => types.contains(Types::OBJECT),
    }
}

/// The same item without its check, where the object around it carries one.
fn without_check(kind: TypeKind) -> TypeKind {
    match kind {
        TypeKind::Object(object) => TypeKind::Object(Object {
            check: None,
            ..object
        }),
        TypeKind::Scalar(scalar) => TypeKind::Scalar(Scalar {
            check: None,
            ..scalar
        }),
        TypeKind::Array(array) => TypeKind::Array(Array {
            check: None,
            ..array
        }),
        TypeKind::Map(map) => TypeKind::Map(Map { check: None, ..map }),
        TypeKind::Union(union) => TypeKind::Union(Union {
            check: None,
            ..union
        }),
        TypeKind::Json { .. } => TypeKind::Json { check: None },
        other @ (TypeKind::Alias(_) | TypeKind::Enumeration(_)) => other,
    }
}
