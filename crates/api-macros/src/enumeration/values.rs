//! Enumerations with a value that is not a string.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Ident, Result};

use super::listed::Enumeration;
use crate::impls;
use crate::schema::{self, Annotations};

/// Expands `#[derive(Enumeration)]` for values of which at least one is not a string.
pub(super) fn expand(enumeration: &Enumeration<'_>) -> Result<TokenStream> {
    let ident = &enumeration.input.ident;
    let annotations = Annotations::read_to_describe(&enumeration.input.attrs)?;
    let texts: Vec<&String> = enumeration
        .listed
        .iter()
        .map(|listed| &listed.value)
        .collect();
    let names: Vec<&Ident> = enumeration
        .listed
        .iter()
        .map(|listed| &listed.ident)
        .collect();
    let described = schema::described(enumeration.input, &annotations, || {
        let ty = one_type(&texts).map(|ty| quote!(("type", json!(#ty)),));
        let keywords = quote! {
            ::api_runtime::described::with(json!({}), &[
                #ty
                ("enum", ::core::iter::FromIterator::from_iter([#(::api_runtime::__private::parsed(#texts)),*])),
            ])
        };
        (keywords, Vec::new())
    });
    let wire = impls::wire(
        ident,
        &quote! {
            let value = <::api_runtime::__private::Value as ::api_runtime::Wire>::decode(deserializer)?;
            Self::try_from(value).map_err(::api_runtime::__private::serde::de::Error::custom)
        },
        &quote!(::api_runtime::Wire::encode(&self.value(), serializer)),
    );
    Ok(quote! {
        impl #ident {
            /// The JSON texts of the values that the contract lists.
            pub const VALUES: &'static [&'static str] = &[#(#texts),*];

            /// Returns the value as JSON.
            #[must_use]
            pub fn value(&self) -> ::api_runtime::__private::Value {
                ::api_runtime::__private::parsed(match self {
                    #(Self::#names => #texts,)*
                })
            }
        }

        #[automatically_derived]
        impl ::core::fmt::Display for #ident {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self.value() {
                    ::api_runtime::__private::Value::String(text) => f.write_str(&text),
                    other => ::core::fmt::Display::fmt(&other, f),
                }
            }
        }

        #[automatically_derived]
        impl ::core::convert::TryFrom<::api_runtime::__private::Value> for #ident {
            type Error = ::api_runtime::ConstraintError;

            fn try_from(value: ::api_runtime::__private::Value) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                let all = [#(Self::#names),*];
                all.into_iter()
                    // By value and not by text: `1.0` is the listed `1`.
                    .find(|listed| ::api_runtime::__private::json_eq(&listed.value(), &value))
                    .ok_or(::api_runtime::ConstraintError::Enum(Self::VALUES))
            }
        }

        #[automatically_derived]
        impl ::core::str::FromStr for #ident {
            type Err = ::api_runtime::ConstraintError;

            /// Parses the JSON text of a listed value, or a listed string without its quotes.
            fn from_str(text: &str) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                let value = ::api_runtime::__private::parsed(text);
                Self::try_from(value).or_else(|_| Self::try_from(::api_runtime::__private::Value::from(text)))
            }
        }

        #wire #described
    })
}

/// Returns the type of JSON Schema that all values have, or `None` if they have several.
fn one_type(texts: &[&String]) -> Option<&'static str> {
    let mut types = texts.iter().map(|text| match serde_json::from_str(text) {
        Ok(serde_json::Value::Number(number)) if !number.is_f64() => "integer",
        Ok(serde_json::Value::Number(_)) => "number",
        Ok(serde_json::Value::Bool(_)) => "boolean",
        Ok(serde_json::Value::String(_)) => "string",
        Ok(serde_json::Value::Array(_)) => "array",
        Ok(serde_json::Value::Object(_)) => "object",
        Ok(serde_json::Value::Null) | Err(_) => "null",
    });
    let first = types.next()?;
    types.all(|ty| ty == first).then_some(first)
}
