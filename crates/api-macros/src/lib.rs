//! Derives of generated API types: serde, checks and JSON Schema from one set of attributes.
//!
//! The attributes carry the keywords of the contract (see each derive). Expansions call
//! `api_runtime`, which re-exports the derives, so no crate depends on this one directly. Start at
//! `object.rs`, the longest one.
//!
//! Expansions name everything by its full path, because a contract may call its types `Option` or
//! `String`.

mod array;
mod enumeration;
mod impls;
mod json;
mod map;
mod object;
mod scalar;
mod schema;
mod union;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

macro_rules! derives {
    ($($(#[$docs:meta])* $derive:ident($function:ident, $($attribute:ident),*) => $expand:path;)*) => {
        $(
            $(#[$docs])*
            #[proc_macro_derive($derive, attributes($($attribute),*))]
            pub fn $function(input: TokenStream) -> TokenStream {
                let input = parse_macro_input!(input as DeriveInput);
                $expand(&input).unwrap_or_else(|error| error.into_compile_error()).into()
            }
        )*
    };
}

derives! {
    /// A struct with named fields: `#[object(closed, min_properties = 1, max_properties = 9,
    /// dependent_required = "{…}", check = "/pointer")]`, on fields `#[field(name = "wire-name",
    /// optional, nullable, default = "json", additional)]`.
    Object(object_derive, object, field, schema) => object::expand;
    /// A newtype over a string or number: `#[scalar(min_length, max_length, pattern, format,
    /// minimum, maximum, exclusive_minimum, exclusive_maximum, multiple_of, secret, check)]`.
    Scalar(scalar_derive, scalar, schema) => scalar::expand;
    /// A newtype over `Vec<T>`: `#[array(min_items, max_items, unique_items, check)]`.
    Array(array_derive, array, schema) => array::expand;
    /// A newtype over `BTreeMap<String, T>`: `#[map(min_properties, max_properties, check)]`.
    Map(map_derive, map, schema) => map::expand;
    /// An enum of fixed values: `#[enumeration(extensible, json)]`, on variants `#[value("text")]`,
    /// `#[value(json = "1")]` or `#[unlisted]`.
    Enumeration(enumeration_derive, enumeration, value, unlisted, schema) => enumeration::expand;
    /// An enum of one-field variants: `#[union(tag = "property", one_of, any_of, check)]`, on
    /// variants `#[variant(tag("a", "b"), from)]`.
    Union(union_derive, union, variant, schema) => union::expand;
    /// A newtype over `serde_json::Value`: `#[json(check)]`.
    Json(json_derive, json, schema) => json::expand;
}
