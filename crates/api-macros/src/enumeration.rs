//! `#[derive(Enumeration)]`: an enum of the values that a schema lists, which may be extensible.

mod listed;
mod strings;
mod values;

use proc_macro2::TokenStream;
use syn::{DeriveInput, Result};

use listed::read;

use crate::shape::wrong_shape;

/// Expands `#[derive(Enumeration)]`.
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
                _ => return Err(meta.error("enumeration takes extensible and json")),
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
