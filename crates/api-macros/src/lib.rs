//! Derives of generated API crates: of types (serde, checks and JSON Schema from one set of
//! attributes), and of the requests and responses of a server (descriptions, reading and writing).
//!
//! The attributes carry the keywords of the contract (see each derive). Expansions call
//! `api_runtime`, which re-exports the derives, so no crate depends on this one directly. Start at
//! `object.rs`, the longest one.
//!
//! Expansions name everything by its full path, because a contract may call its types `Option` or
//! `String`.

mod api;
mod array;
mod enumeration;
mod impls;
mod json;
mod map;
mod media;
mod object;
mod parameter;
mod request;
mod response_parts;
mod responses;
mod scalar;
mod schema;
mod shape;
mod text;
mod union;

use proc_macro::TokenStream;
use syn::{DeriveInput, Ident, ItemTrait, ItemType, parse_macro_input};

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
    /// Implements a JSON object as a struct with named fields: `#[object(closed,
    /// min_properties = 1, max_properties = 9, dependent_required = "{…}", fields = NameFields,
    /// check = "/pointer")]`, on fields `#[field(name = "wire-name", optional, nullable,
    /// default = "json", additional)]`.
    Object(object_derive, object, field, schema) => object::expand;
    /// Implements a string or number as a newtype: `#[scalar(min_length, max_length, pattern,
    /// format, minimum, maximum, exclusive_minimum, exclusive_maximum, multiple_of, secret,
    /// check)]`.
    Scalar(scalar_derive, scalar, schema) => scalar::expand;
    /// Implements an array as a newtype over `Vec<T>`:
    /// `#[array(min_items, max_items, unique_items, check)]`.
    Array(array_derive, array, schema) => array::expand;
    /// Implements a map as a newtype over `BTreeMap<String, T>`:
    /// `#[map(min_properties, max_properties, check)]`.
    Map(map_derive, map, schema) => map::expand;
    /// Implements the keyword `enum` as an enum of its values: `#[enumeration(extensible, json)]`,
    /// on variants `#[value("text")]`, `#[value(json = "1")]` or `#[unlisted]`.
    Enumeration(enumeration_derive, enumeration, value, unlisted, schema) => enumeration::expand;
    /// Implements a union as an enum of one-field variants:
    /// `#[union(tag = "property", one_of, any_of, check)]`, on variants
    /// `#[variant(tag("a", "b"), from)]`.
    Union(union_derive, union, variant, schema) => union::expand;
    /// Implements any JSON as a newtype over `serde_json::Value`: `#[json(check)]`.
    Json(json_derive, json, schema) => json::expand;
    /// Describes and reads the request of an operation: on fields
    /// `#[parameter(query, name = "wire-name", required, default = 10, default_json = "…",
    /// style = "deepObject", explode, json, properties("a", "b"), open)]` with `path`, `query`,
    /// `header` or `cookie` first, `#[body(json = "application/json", schema = "/pointer", lenient,
    /// required)]`, or `#[body(required)]` where the field's type is a `RequestBody`, and
    /// `#[upgrade]`.
    Request(request_derive, parameter, body, upgrade) => request::expand;
    /// Describes and reads a request body of several media types: an enum, on variants
    /// `#[body(json = "application/json", schema = "/pointer", lenient)]`; for `json` there are
    /// `form`, `form(fields)`, `text`, `multipart`, `parts(encodings)`, `part_stream(encodings)` and `bytes` too.
    RequestBody(request_body_derive, body) => request::expand_body;
    /// Describes and writes the responses of an operation: on variants `#[response(404)]`,
    /// `#[response("4XX", json)]` or `#[response(default, json = "application/problem+json")]`,
    /// with `text`, `form`, `bytes`, `multipart`, `events` and `handshake` for other contents, on
    /// the enum `#[responses(beside = Other, default = 400..=599)]`.
    Responses(responses_derive, response, responses) => responses::expand;
    /// Describes and writes the body and headers of a response: a struct, on fields
    /// `#[body(json)]`, or `#[body]` where the field's type is an enum of media types, and
    /// `#[header(name = "ETag", required)]`; or such an enum, on variants `#[body(json)]`.
    ResponseParts(response_parts_derive, body, header) => response_parts::expand;
}

/// Makes the trait of a tag, whose module is named in `#[api(module)]`, fit for the router: the future
/// of each `async fn` is `Send`.
///
/// Adds a macro `module_stubs!` that stands in for operations which an implementation does not have
/// yet.
#[proc_macro_attribute]
pub fn api(module: TokenStream, item: TokenStream) -> TokenStream {
    let module = parse_macro_input!(module as Ident);
    let item = parse_macro_input!(item as ItemTrait);
    api::expand(&module, &item)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Makes an alias of `api_runtime::Text` the type of the strings that a schema without a name accepts:
/// `#[text(min_length, max_length, pattern, format, check)]`, with at least one of these.
#[proc_macro_attribute]
pub fn text(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let alias = parse_macro_input!(item as ItemType);
    text::expand(arguments.into(), &alias)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
