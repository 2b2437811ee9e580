//! The values that an enumeration lists, as its variants and their attributes declare them.

use syn::{Data, DeriveInput, Fields, Ident, LitStr, Result};

use crate::schema;
use crate::shape::wrong_shape;

/// A value that the schema lists, with the enum variant that stands for it.
pub(super) struct Listed {
    pub(super) ident: Ident,
    /// The string itself in an enumeration of strings, else the JSON text of the value.
    pub(super) value: String,
}

/// An enum with its listed values, and the variant for unlisted ones if it is extensible.
pub(super) struct Enumeration<'i> {
    pub(super) input: &'i DeriveInput,
    pub(super) listed: Vec<Listed>,
    pub(super) unlisted: Option<Ident>,
}

/// Reads the variants of an enum with their values: `#[value(json = "…")]` if `json`, else
/// `#[value("…")]`. A variant that has fields or no value is an error, unless it is marked
/// `#[unlisted]`.
pub(super) fn read(input: &DeriveInput, json: bool) -> Result<Enumeration<'_>> {
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
