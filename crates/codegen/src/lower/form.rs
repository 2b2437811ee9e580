//! The choice of the tightest Rust form that can hold every value of a schema.

use contract::model::{SchemaId, Types};

use super::enumeration::{enumeration, only_null};
use super::flatten::{AdditionalProperties, FlatSchema};
use super::integer::{integer, is_exact};
use super::lowering::Lowering;
use super::scalar::{number, string};
use crate::ir::{Primitive, Selection, Trial, TypeKind, TypeRef, Union, Variant};

/// The Rust form of a schema, and whether the schema accepts null as well.
pub(super) struct NullableForm {
    /// The form of the values other than null.
    pub form: Form,
    /// Whether null is accepted.
    pub nullable: bool,
}

/// The Rust form of a schema, without its nullability.
pub(super) enum Form {
    /// A type that exists already: one of the standard library, or another item.
    Type(TypeRef),
    /// A new item, which needs a name.
    Item(TypeKind),
}

impl NullableForm {
    /// Creates the form of a schema that rejects null.
    pub(super) fn of(form: Form) -> Self {
        Self {
            form,
            nullable: false,
        }
    }

    /// Creates an item that holds any JSON value and checks it by the compiled schema.
    ///
    /// It is the form of schemas that have no tighter one.
    pub(super) fn json(check: &str) -> Self {
        Self::of(Form::Item(TypeKind::Json {
            check: Some(check.to_owned()),
        }))
    }
}

/// A schema, or a conjunction of several, whose form is being chosen.
pub(super) struct Subject<'a> {
    /// The schemas that a value has to fit, all at once.
    pub ids: &'a [SchemaId],
    /// The name of the item, if the form is one.
    pub name: &'a str,
    /// The pointer of the compiled check in the schema bundle, for a form that needs a check.
    pub check: String,
}

impl Lowering<'_> {
    /// Chooses the form of a schema.
    pub(super) fn choose_form(&mut self, subject: &Subject<'_>) -> NullableForm {
        let mut flat = FlatSchema::of(self.contract, subject.ids);
        // After all keywords: whether a struct can reject undeclared properties depends on every
        // one of them.
        flat.settle_additional_properties(self.contract);
        if flat.never {
            return NullableForm::json(&subject.check);
        }
        if self.implies_types()
            && flat.types.is_none()
            && flat.values.is_none()
            && flat.choices.is_empty()
        {
            flat.types = implied_type(&flat);
        }
        if flat.too_deep {
            let is_object = flat.types == Some(Types::OBJECT)
                && flat.values.is_none()
                && flat.choices.is_empty();
            if !is_object {
                return NullableForm::json(&subject.check);
            }
            // The properties of the nearest links are fields, and those of the links behind them are
            // kept beside these, so that the code grows with the length of the chain and not with its
            // square. The compiled schema knows all links.
            flat.additional = AdditionalProperties::Any;
        }
        // Listed values are tighter than alternatives, and these are tighter than `type`.
        if flat.values.is_some() {
            return enumeration(&flat, subject);
        }
        if !flat.choices.is_empty() {
            return self.form_of_choices(flat, subject);
        }
        self.form_by_type(&flat, subject)
    }

    /// Chooses the form by `type`, for a schema without listed values or alternatives.
    pub(super) fn form_by_type(
        &mut self,
        flat: &FlatSchema,
        subject: &Subject<'_>,
    ) -> NullableForm {
        let Some(types) = flat.types else {
            return if flat.residual || flat.constrains_any_type() {
                NullableForm::json(&subject.check)
            } else {
                NullableForm::of(Form::Type(TypeRef::Any))
            };
        };
        let null = types.contains(Types::NULL);
        let mut types = types.without(Types::NULL);
        // Every integer is a number.
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
        // A compiled check sees the value only behind the `Option`, so it could not judge null.
        if null && flat.residual {
            return NullableForm::json(&subject.check);
        }
        NullableForm {
            form: self.form_of_types(types, flat, subject),
            nullable: null,
        }
    }

    /// Chooses the form of one or several types, none of which is null.
    fn form_of_types(&mut self, types: Types, flat: &FlatSchema, subject: &Subject<'_>) -> Form {
        let integer = integer(flat);
        let residual = flat.residual || (types == Types::INTEGER && !is_exact(flat, integer));
        let check = residual.then(|| subject.check.clone());
        match types {
            Types::STRING => string(flat, check),
            Types::INTEGER => number(integer, flat, check),
            Types::NUMBER => number(Primitive::F64, flat, check),
            Types::BOOLEAN if check.is_none() => Form::Type(TypeRef::Primitive(Primitive::Bool)),
            // A `bool` has no place for a check.
            Types::BOOLEAN => Form::Item(TypeKind::Json { check }),
            Types::ARRAY => self.array(flat, subject),
            Types::OBJECT => self.object(flat, subject),
            several => form_of_several(several, flat, subject),
        }
    }
}

/// Returns the type that a schema's keywords constrain, if they all constrain the same one.
fn implied_type(flat: &FlatSchema) -> Option<Types> {
    let constrained = [
        (flat.constrains_objects(), Types::OBJECT),
        (flat.constrains_arrays(), Types::ARRAY),
        (flat.constrains_strings(), Types::STRING),
        (flat.constrains_numbers(), Types::NUMBER),
    ];
    let mut types = constrained
        .iter()
        .filter(|(is_constrained, _)| *is_constrained)
        .map(|(_, types)| *types);
    match (types.next(), types.next()) {
        (Some(types), None) => Some(types),
        _ => None,
    }
}

/// Returns the form of a schema of several types: a union if no keyword constrains their values,
/// else any JSON with a check.
fn form_of_several(types: Types, flat: &FlatSchema, subject: &Subject<'_>) -> Form {
    if flat.residual || flat.constrains_any_type() {
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
        selection: Selection::Trial(Trial::AnyOf),
        variants: members
            .into_iter()
            .filter(|(member, ..)| types.contains(*member))
            .map(|(_, name, ty)| Variant {
                name: name.to_owned(),
                ty,
                tags: Vec::new(),
                is_default: false,
                from: true,
            })
            .collect(),
        check: None,
    }))
}
