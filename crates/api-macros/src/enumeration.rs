//! `#[derive(Enumeration)]`: an enum of the values that a schema lists, which may be extensible.

mod strings;
mod values;

use proc_macro2::TokenStream;
use syn::{Data, DeriveInput, Fields, Ident, LitStr, Result};

use crate::schema::{self, wrong_shape};

/// A value that the schema lists, with its variant.
pub(crate) struct Listed {
    pub ident: Ident,
    /// The text of a string, or the JSON text of any value.
    pub value: String,
}

/// An enum with its listed values, and the variant for unlisted ones if it is extensible.
pub(crate) struct Enumeration<'i> {
    pub input: &'i DeriveInput,
    pub listed: Vec<Listed>,
    pub unlisted: Option<Ident>,
}

/// Expands the derive.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let mut extensible = false;
    let mut json = false;
    for attribute in input
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("enumeration"))
    {
        attribute.parse_nested_meta(|meta| {
            match meta
                .path
                .get_ident()
                .map(ToString::to_string)
                .unwrap_or_default()
                .as_str()
            {
                "extensible" => extensible = true,
                "json" => json = true,
                _ => return Err(meta.error("enumeration knows extensible and json")),
            }
            Ok(())
        })?;
    }
    let enumeration = read(input, json)?;
    if enumeration.unlisted.is_some() != extensible {
        return Err(wrong_shape(
            input,
            "an extensible enumeration, and no other, ends in a variant marked #[unlisted]",
        ));
    }
    if json {
        values::expand(&enumeration)
    } else {
        strings::expand(&enumeration)
    }
}

/// Reads the variants and their `#[value(…)]`.
fn read(input: &DeriveInput, json: bool) -> Result<Enumeration<'_>> {
    let Data::Enum(data) = &input.data else {
        return Err(wrong_shape(input, "Enumeration is for an enum"));
    };
    let mut listed = Vec::new();
    let mut unlisted = None;
    for variant in &data.variants {
        if variant
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("unlisted"))
        {
            unlisted = Some(variant.ident.clone());
            continue;
        }
        if !matches!(variant.fields, Fields::Unit) {
            return Err(syn::Error::new_spanned(
                variant,
                "a listed value's variant has no fields",
            ));
        }
        let Some(attribute) = variant
            .attrs
            .iter()
            .find(|attribute| attribute.path().is_ident("value"))
        else {
            return Err(syn::Error::new_spanned(
                variant,
                "a variant must have its value: #[value(\"…\")]",
            ));
        };
        let mut value = None;
        if json {
            attribute.parse_nested_meta(|meta| {
                if !meta.path.is_ident("json") {
                    return Err(meta.error("a value of this enumeration is written json = \"…\""));
                }
                schema::json(&meta.value()?.parse()?, &mut value)
            })?;
        } else {
            value = Some(attribute.parse_args::<LitStr>()?.value());
        }
        listed.push(Listed {
            ident: variant.ident.clone(),
            value: value.unwrap_or_default(),
        });
    }
    Ok(Enumeration {
        input,
        listed,
        unlisted,
    })
}
