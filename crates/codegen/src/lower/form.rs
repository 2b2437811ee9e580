//! The tightest Rust form that can hold every value of a schema.

use contract::model::{SchemaId, Types};

use super::Lowering;
use super::enumeration::{enumeration, only_null};
use super::flatten::Flat;
use super::integer::{integer, is_exact};
use super::scalar::{number, string};
use crate::ir::{Choice, Primitive, TypeKind, TypeRef, Union, Variant};

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
