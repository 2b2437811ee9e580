//! The contract's keywords as attributes.

use std::str::FromStr;

use contract::model::{Formats, Keywords, SchemaKind};
use proc_macro2::{Literal, TokenStream};
use quote::quote;
use serde_json::{Number, Value};

use crate::ir::{Api, Field, TypeDef, TypeKind, TypeRef, format_is_enforced};

/// `name = value` pairs and flags in the order they are added.
#[derive(Default)]
pub(super) struct Arguments(Vec<TokenStream>);

impl Arguments {
    pub(super) fn flag(&mut self, name: &str, set: bool) {
        if set {
            let name = crate::tokens::ident(name);
            self.0.push(quote!(#name));
        }
    }

    pub(super) fn text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.literal(name, &text_literal(value));
        }
    }

    pub(super) fn name(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            let (name, value) = (crate::tokens::ident(name), crate::tokens::ident(value));
            self.0.push(quote!(#name = #value));
        }
    }

    pub(super) fn json(&mut self, name: &str, value: Option<&Value>) {
        if let Some(value) = value {
            self.literal(name, &text_literal(&value.to_string()));
        }
    }

    pub(super) fn count(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.literal(name, &Literal::u64_unsuffixed(value));
        }
    }

    pub(super) fn number(&mut self, name: &str, value: Option<&Number>) {
        if let Some(value) = value {
            let name = crate::tokens::ident(name);
            let value =
                TokenStream::from_str(&value.to_string()).expect("JSON numbers are Rust numbers");
            self.0.push(quote!(#name = #value));
        }
    }

    fn literal(&mut self, name: &str, value: &Literal) {
        let name = crate::tokens::ident(name);
        self.0.push(quote!(#name = #value));
    }

    /// `#[attribute(…)]`, or nothing when nothing was added.
    pub(super) fn attribute(self, attribute: &str) -> Option<TokenStream> {
        let attribute = crate::tokens::ident(attribute);
        let arguments = self.0;
        (!arguments.is_empty()).then(|| quote!(#[#attribute(#(#arguments),*)]))
    }
}

/// A string literal; raw where that spares escapes.
pub(super) fn text_literal(text: &str) -> Literal {
    let escapes = text.contains(['"', '\\']);
    if !escapes
        || text
            .chars()
            .any(|sign| sign.is_control() || crate::tokens::is_deceptive(sign))
    {
        return Literal::string(text);
    }
    let mut hashes = String::new();
    while text.contains(&format!("\"{hashes}")) {
        hashes.push('#');
    }
    Literal::from_str(&format!("r{hashes}\"{text}\"{hashes}"))
        .expect("the fence is not in the text")
}

/// `#[schema(…)]` of an item.
pub(super) fn of_item(api: &Api<'_>, def: &TypeDef) -> Option<TokenStream> {
    let mut arguments = Arguments::default();
    match &def.component {
        Some(component) if *component != def.name => arguments.text("name", Some(component)),
        Some(_) => {}
        None => arguments.flag("inline", true),
    }
    if let SchemaKind::Object(keywords) = &api.contract.schema(def.schema).kind {
        annotations(&mut arguments, keywords);
        if let TypeKind::Scalar(scalar) = &def.kind {
            // Under `Annotation` lowering has dropped the formats that would be enforced.
            let dropped = keywords.format.as_deref().filter(|format| {
                api.contract.formats == Formats::Annotation && format_is_enforced(format)
            });
            arguments.text("format", scalar.documented_format().or(dropped));
        }
    }
    arguments.attribute("schema")
}

/// `#[schema(…)]` of a field: what stands beside its `$ref`, or on an inline schema that needed no item.
pub(super) fn of_field(api: &Api<'_>, field: &Field) -> Option<TokenStream> {
    let SchemaKind::Object(keywords) = &api.contract.schema(field.schema).kind else {
        return None;
    };
    if is_inline_item(api, field) {
        return None;
    }
    let mut arguments = Arguments::default();
    annotations(&mut arguments, keywords);
    if matches!(field.ty, TypeRef::Primitive(crate::ir::Primitive::String)) {
        arguments.text("format", keywords.format.as_deref());
    }
    arguments.attribute("schema")
}

/// Whether the field's own schema is the one that its type's item came from.
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
