//! What the types crate exposes.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;

use super::item::{enumeration_derives, scalar_derives};
use super::tag_of_module;
use crate::ir::{
    Additional, Api, Enumeration, Object, Primitive, Scalar, TypeDef, TypeKind, TypeRef, Union,
};
use crate::surface::{Built, Constructor, Crate, Form, Item, Member, Signature};

/// The maximum number of required fields that are the arguments of `new`, as in `api-macros`.
pub(crate) const ARGUMENTS: usize = 3;

/// Returns the items of the types crate. `has_events` says that webhooks and callbacks use them
/// too.
pub(crate) fn surface(api: &Api<'_>, has_events: bool) -> Vec<Item> {
    let krate = api.names.krate("types");
    let items = api.types.iter().map(|def| {
        let path = format!("{krate}::{}", def.name);
        let mut item = of_kind(api, def, &path);
        item.feature = tag_of_module(def).map(|tag| api.tags[tag].feature.clone());
        item.is_inline = def.component.is_none();
        item.span = Some(api.contract.schema(def.schema).span);
        item.built_by = match (def.in_request, def.in_response) {
            (true, false) if !has_events => Built::Callers,
            (false, true) if !has_events => Built::Implementers,
            _ => Built::Both,
        };
        item
    });
    items.collect()
}

fn of_kind(api: &Api<'_>, def: &TypeDef, path: &str) -> Item {
    let new = |form| Item::new(Crate::Types, path.to_owned(), form);
    match &def.kind {
        TypeKind::Alias(target) => Item {
            members: vec![value(api, target)],
            ..new(Form::Alias)
        },
        TypeKind::Object(object) => of_object(api, def, object, new(Form::Struct)),
        TypeKind::Scalar(scalar) => Item {
            members: vec![value(api, &TypeRef::Primitive(scalar.inner))],
            traits: scalar_traits(scalar),
            ..new(Form::Newtype)
        },
        TypeKind::Array(array) => {
            let is_constrained = array.min_items.is_some()
                || array.max_items.is_some()
                || array.unique_items
                || array.check.is_some();
            Item {
                members: vec![value(api, &TypeRef::Vec(Box::new(array.items.clone())))],
                traits: collection_traits("Vec", is_constrained),
                ..new(Form::Newtype)
            }
        }
        TypeKind::Map(map) => {
            let is_constrained =
                map.min_properties.is_some() || map.max_properties.is_some() || map.check.is_some();
            Item {
                members: vec![value(api, &TypeRef::Map(Box::new(map.values.clone())))],
                traits: collection_traits("BTreeMap", is_constrained),
                ..new(Form::Newtype)
            }
        }
        TypeKind::Enumeration(enumeration) => of_enumeration(enumeration, new(Form::Values)),
        TypeKind::Union(union) => of_union(api, union, new(Form::Enum)),
        TypeKind::Json { check } => Item {
            members: vec![value(api, &TypeRef::Any)],
            traits: BTreeSet::from([conversion("Value", check.is_some())]),
            ..new(Form::Newtype)
        },
    }
}

/// Returns the only value of a newtype or an alias.
fn value(api: &Api<'_>, ty: &TypeRef) -> Member {
    Member::new("", "its value", Signature::of(api, ty))
}

fn of_object(api: &Api<'_>, def: &TypeDef, object: &Object, mut item: Item) -> Item {
    let fields = object.fields.iter().map(|field| {
        let is_optional = !field.required && field.default.is_none();
        let signature = Signature::of(api, &field.ty).optional(field.nullable);
        let wire = format!("the property `{}`", field.wire);
        let mut member = Member::new(&field.name, wire, signature.optional(is_optional))
            .at(api.contract.schema(field.schema).span);
        member.is_required = field.required && field.default.is_none();
        member
    });
    item.members = fields.collect();
    if let Additional::Kept { ty, field } = &object.additional {
        let values = TypeRef::Map(Box::new(ty.clone()));
        let signature = Signature::of(api, &values);
        item.members
            .push(Member::new(field, "the additional properties", signature));
    }
    item.is_open = true;
    let required = item.members.iter().filter(|member| member.is_required);
    let count = required.count();
    item.constructor = if count <= ARGUMENTS {
        Constructor::New
    } else {
        let fields = object.fields_name.clone();
        let fields =
            fields.unwrap_or_else(|| format!("{}Fields", def.name.trim_start_matches("r#")));
        Constructor::Fields(format!("{}::{fields}", api.names.krate("types")))
    };
    item
}

fn of_enumeration(enumeration: &Enumeration, mut item: Item) -> Item {
    item.is_open = enumeration.unlisted.is_some();
    item.traits = names_of(&enumeration_derives(enumeration));
    if enumeration.strings {
        item.traits
            .insert(conversion("String", enumeration.unlisted.is_none()));
    }
    let variants = enumeration.variants.iter().map(|(name, value)| {
        Member::new(name, format!("the value `{value}`"), Signature::default())
    });
    item.members = variants.collect();
    if let Some(unlisted) = &enumeration.unlisted {
        let signature = Signature::text("String");
        item.members
            .push(Member::new(unlisted, "any other value", signature));
    }
    item
}

fn of_union(api: &Api<'_>, union: &Union, mut item: Item) -> Item {
    let variants = union.variants.iter().enumerate().map(|(at, variant)| {
        // Types and not tags, since a tag can select another variant without any change in Rust.
        let ty = Signature::of(api, &variant.ty);
        let before = union.variants[..at]
            .iter()
            .filter(|other| other.ty == variant.ty)
            .count();
        let wire = match before {
            0 => format!("the branch `{ty}`"),
            before => format!("the branch `{ty}` after {before} others"),
        };
        let mut member = Member::new(&variant.name, wire, ty);
        member.converts = variant.from;
        member
    });
    item.members = variants.collect();
    item
}

/// Returns the traits of a newtype over a string or number, and its methods.
fn scalar_traits(scalar: &Scalar) -> BTreeSet<String> {
    let mut traits = names_of(&scalar_derives(scalar.inner));
    let is_text = scalar.inner == Primitive::String;
    let inner = Signature::text(&crate::tokens::primitive_tokens(scalar.inner).to_string());
    traits.insert(conversion(&inner.to_string(), scalar.is_constrained()));
    match (scalar.secret, is_text) {
        (true, true) => traits.extend(["`expose`".to_owned()]),
        (true, false) => {}
        (false, true) => {
            traits.extend(["Display", "`as_str`", "`into_string`"].map(str::to_owned));
        }
        (false, false) => traits.extend(["Display".to_owned()]),
    }
    traits
}

/// Returns the conversions into a newtype over a list or map.
fn collection_traits(inner: &str, is_constrained: bool) -> BTreeSet<String> {
    let mut traits = BTreeSet::from([conversion(inner, is_constrained)]);
    if !is_constrained {
        traits.extend(["Default", "FromIterator"].map(str::to_owned));
    }
    traits
}

/// Returns the conversion from the value inside. One that can fail has an error of its own type,
/// so a caller of the one cannot use the other.
fn conversion(inner: &str, is_constrained: bool) -> String {
    if is_constrained {
        format!("TryFrom<{inner}, Error = ConstraintError>")
    } else {
        format!("From<{inner}>")
    }
}

/// Returns the names in a list of derives, without those that this project writes.
fn names_of(derives: &TokenStream) -> BTreeSet<String> {
    let text = derives.to_string();
    let names = text.split(',').map(str::trim);
    names
        .filter(|name| !matches!(*name, "" | "Scalar" | "Enumeration"))
        .map(str::to_owned)
        .collect()
}
