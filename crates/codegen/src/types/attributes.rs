//! The attributes of items and fields, which hold the contract's keywords.

use std::str::FromStr;

use contract::model::{Formats, Keywords, SchemaKind};
use proc_macro2::{Literal, TokenStream};
use quote::quote;
use serde_json::{Number, Value};

use crate::ir::{Api, Field, Primitive, Scalar, TypeDef, TypeKind, TypeRef, format_is_enforced};

/// The arguments of an attribute, which are `name = value` pairs and flags, in the order in which
/// they are added.
#[derive(Default)]
pub(super) struct Arguments(Vec<TokenStream>);

impl Arguments {
    /// Adds a flag if it is set.
    pub(super) fn flag(&mut self, name: &str, set: bool) {
        if set {
            let name = crate::tokens::ident(name);
            self.0.push(quote!(#name));
        }
    }

    /// Adds a string, if there is one.
    pub(super) fn text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.literal(name, &text_literal(value));
        }
    }

    /// Adds an identifier, if there is one.
    pub(super) fn name(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            let (name, value) = (crate::tokens::ident(name), crate::tokens::ident(value));
            self.0.push(quote!(#name = #value));
        }
    }

    /// Adds a value as a string of JSON, if there is one.
    pub(super) fn json(&mut self, name: &str, value: Option<&Value>) {
        if let Some(value) = value {
            self.literal(name, &text_literal(&value.to_string()));
        }
    }

    /// Adds a count, if there is one.
    pub(super) fn count(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.literal(name, &Literal::u64_unsuffixed(value));
        }
    }

    /// Adds a number, if there is one.
    pub(super) fn number(&mut self, name: &str, value: Option<&Number>) {
        if let Some(value) = value {
            let name = crate::tokens::ident(name);
            // From the text and not by a float, which may have other digits.
            let value =
                TokenStream::from_str(&value.to_string()).expect("JSON numbers are Rust numbers");
            self.0.push(quote!(#name = #value));
        }
    }

    /// Adds an argument whose value is a literal.
    fn literal(&mut self, name: &str, value: &Literal) {
        let name = crate::tokens::ident(name);
        self.0.push(quote!(#name = #value));
    }

    /// Returns `#[attribute(…)]` with the arguments, or `None` if there are none.
    pub(super) fn attribute(self, attribute: &str) -> Option<TokenStream> {
        let attribute = crate::tokens::ident(attribute);
        let arguments = self.0;
        (!arguments.is_empty()).then(|| quote!(#[#attribute(#(#arguments),*)]))
    }
}

/// Returns a string literal, which is raw if that spares escapes.
pub(super) fn text_literal(text: &str) -> Literal {
    let escapes = text.contains(['"', '\\']);
    if !escapes
        || text
            .chars()
            .any(|character| character.is_control() || crate::tokens::is_deceptive(character))
    {
        return Literal::string(text);
    }
    // Not fewer hashes than needed, or the text would end the literal.
    let mut hashes = String::new();
    while text.contains(&format!("\"{hashes}")) {
        hashes.push('#');
    }
    Literal::from_str(&format!("r{hashes}\"{text}\"{hashes}"))
        .expect("the text does not hold the literal's closing quote")
}

/// Returns `#[schema(…)]` for an item, which has the annotations of its schema.
pub(super) fn of_item(api: &Api<'_>, def: &TypeDef) -> Option<TokenStream> {
    let mut arguments = Arguments::default();
    match &def.component {
        Some(component) if *component != def.name => arguments.text("name", Some(component)),
        Some(_) => {}
        // A text is inline in any case.
        None if def.as_text().is_some() => {}
        // The name of such an item is made for Rust, so no document should show it.
        None => arguments.flag("inline", true),
    }
    if let SchemaKind::Object(keywords) = &api.contract.schema(def.schema).kind {
        annotations(&mut arguments, keywords);
        if let TypeKind::Scalar(scalar) = &def.kind {
            // Under `Annotation` lowering has dropped the formats that would be enforced.
            let dropped = keywords.format.as_deref().filter(|format| {
                api.contract.formats == Formats::Annotation && format_is_enforced(format)
            });
            arguments.text("format", documented_format(scalar).or(dropped));
        }
    }
    arguments.attribute("schema")
}

/// Returns the format of a string that `api-runtime` does not check. It is an annotation of the
/// schema only, while the derive enforces what is in `#[scalar(…)]`.
pub(super) fn documented_format(scalar: &Scalar) -> Option<&str> {
    scalar
        .format
        .as_deref()
        .filter(|format| scalar.inner == Primitive::String && !format_is_enforced(format))
}

/// Returns `#[schema(…)]` for a field, which has the annotations beside its `$ref`, or those of an
/// inline schema that needed no item.
pub(super) fn of_field(api: &Api<'_>, field: &Field) -> Option<TokenStream> {
    let SchemaKind::Object(keywords) = &api.contract.schema(field.schema).kind else {
        return None;
    };
    if is_inline_item(api, field) {
        return None;
    }
    let mut arguments = Arguments::default();
    annotations(&mut arguments, keywords);
    if matches!(field.ty, TypeRef::Primitive(Primitive::String)) {
        arguments.text("format", keywords.format.as_deref());
    }
    arguments.attribute("schema")
}

/// Returns whether the field's type is an item that was made from the field's own schema, and so
/// has its annotations.
fn is_inline_item(api: &Api<'_>, field: &Field) -> bool {
    match &field.ty {
        TypeRef::Named(id) => {
            api.type_def(*id).component.is_none() && api.type_def(*id).schema == field.schema
        }
        TypeRef::Boxed(inner) => match &**inner {
            TypeRef::Named(id) => api.type_def(*id).schema == field.schema,
            _ => false,
        },
        _ => false,
    }
}

/// Adds the annotations of a schema.
fn annotations(arguments: &mut Arguments, keywords: &Keywords) {
    arguments.text("title", keywords.title.as_deref());
    let examples = (!keywords.examples.is_empty()).then(|| Value::Array(keywords.examples.clone()));
    arguments.json("examples", examples.as_ref());
    arguments.json("default", keywords.default.as_ref());
    arguments.flag("deprecated", keywords.deprecated);
    arguments.flag("read_only", keywords.read_only);
    arguments.flag("write_only", keywords.write_only);
    let extensions = (!keywords.extensions.is_empty()).then(|| {
        Value::Object(
            keywords
                .extensions
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        )
    });
    arguments.json("extensions", extensions.as_ref());
}
