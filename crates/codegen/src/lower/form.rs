//! The tightest Rust form that can hold every value of a schema.

use contract::model::{SchemaId, Types};

use super::Lowering;
use super::enumeration::{enumeration, only_null};
use super::flatten::FlatSchema;
use super::integer::{integer, is_exact};
use super::scalar::{number, string};
use crate::ir::{Primitive, Selection, TypeKind, TypeRef, Union, Variant};

/// What a schema becomes: an existing type, or an item that needs a name; null aside.
pub(super) struct NullableForm {
    pub form: Form,
    /// Whether null is accepted too.
    pub nullable: bool,
}

/// A form without null.
pub(super) enum Form {
    /// A type that needs no item.
    Type(TypeRef),
    /// An item.
    Item(TypeKind),
}

impl NullableForm {
    pub(super) fn of(form: Form) -> Self {
        Self {
            form,
            nullable: false,
        }
    }

    pub(super) fn json(check: &str) -> Self {
        Self::of(Form::Item(TypeKind::Json {
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
    pub(super) fn form(&mut self, subject: &Subject<'_>) -> NullableForm {
        let mut flat = FlatSchema::of(self.contract, subject.ids);
        flat.settle_additional_properties(self.contract);
        if flat.never {
            return NullableForm::json(&subject.check);
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
    pub(super) fn plain(&mut self, flat: &FlatSchema, subject: &Subject<'_>) -> NullableForm {
        let Some(types) = flat.types else {
            let anything = !flat.residual
                && !flat.constrains_objects()
                && !flat.constrains_arrays()
                && !flat.constrains_strings()
                && !flat.constrains_numbers();
            return if anything {
                NullableForm::of(Form::Type(TypeRef::Any))
            } else {
                NullableForm::json(&subject.check)
            };
        };
        let null = types.contains(Types::NULL);
        let mut types = types.without(Types::NULL);
        if types.contains(Types::NUMBER) {
            types = types.without(Types::INTEGER);
        }
        if types.is_empty() {
            return if null && !flat.residual {
                NullableForm::of(Form::Item(only_null()))
            } else {
                NullableForm::json(&subject.check)
            };
        }
        if null && flat.residual {
            return NullableForm::json(&subject.check);
        }
        NullableForm {
            form: self.form_of_types(types, flat, subject),
            nullable: null,
        }
    }

    fn form_of_types(&mut self, types: Types, flat: &FlatSchema, subject: &Subject<'_>) -> Form {
        let integer = integer(flat);
        let residual = flat.residual || (types == Types::INTEGER && !is_exact(flat, integer));
        let check = residual.then(|| subject.check.clone());
        match types {
            Types::STRING => string(flat, check),
            Types::INTEGER => number(integer, flat, check),
            Types::NUMBER => number(Primitive::F64, flat, check),
            Types::BOOLEAN if check.is_none() => Form::Type(TypeRef::Primitive(Primitive::Bool)),
            Types::BOOLEAN => Form::Item(TypeKind::Json { check }),
            Types::ARRAY => self.array(flat, subject),
            Types::OBJECT => self.object(flat, subject),
            several => several_types(several, flat, subject),
        }
    }
}

/// The type that a schema's keywords speak of, if they agree on one.
fn implied(flat: &FlatSchema) -> Option<Types> {
    let spoken = [
        (flat.constrains_objects(), Types::OBJECT),
        (flat.constrains_arrays(), Types::ARRAY),
        (flat.constrains_strings(), Types::STRING),
        (flat.constrains_numbers(), Types::NUMBER),
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
fn several_types(types: Types, flat: &FlatSchema, subject: &Subject<'_>) -> Form {
    let constrained = flat.residual
        || flat.constrains_objects()
        || flat.constrains_arrays()
        || flat.constrains_strings()
        || flat.constrains_numbers();
    if constrained {
        return Form::Item(TypeKind::Json {
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
    Form::Item(TypeKind::Union(Union {
        selection: Selection::AnyOf,
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
