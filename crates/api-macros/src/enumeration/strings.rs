//! Enumerations of strings, which may be extensible.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Ident, Result};

use super::listed::Enumeration;
use crate::impls;
use crate::schema::{self, Annotations};

/// Expands `#[derive(Enumeration)]` for an enumeration of strings.
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
        let keywords = quote! {
            ::api_runtime::described::with(json!({"type": "string"}), &[
                ("enum", ::core::iter::FromIterator::from_iter([#(#texts),*])),
            ])
        };
        (keywords, Vec::new())
    });
    let unlisted_text = enumeration
        .unlisted
        .as_ref()
        .map(|unlisted| quote!(Self::#unlisted(text) => text,));
    let decode = match &enumeration.unlisted {
        Some(unlisted) => {
            quote!(::api_runtime::__private::read_listed(deserializer, Self::listed, Self::#unlisted, Self::VALUES))
        }
        None => {
            quote!(::api_runtime::__private::read_text(
                deserializer,
                <Self as ::core::str::FromStr>::from_str
            ))
        }
    };
    let wire = impls::wire(
        ident,
        &decode,
        &quote!(serializer.serialize_str(self.as_str())),
    );
    let is_listed = if let Some(unlisted) = &enumeration.unlisted {
        quote!(!matches!(self, Self::#unlisted(_)))
    } else {
        quote!(true)
    };
    let conversions = conversions(enumeration);
    Ok(quote! {
        impl #ident {
            /// The values that the contract lists.
            pub const VALUES: &'static [&'static str] = &[#(#texts),*];

            fn listed(text: &str) -> ::core::option::Option<Self> {
                // A `match` and not a search in `VALUES`: the compiler compares lengths first.
                ::core::option::Option::Some(match text {
                    #(#texts => Self::#names,)*
                    _ => return ::core::option::Option::None,
                })
            }

            /// Returns the string that the value is in JSON, without quotes and escapes.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    #(Self::#names => #texts,)*
                    #unlisted_text
                }
            }

            /// Returns whether the contract lists the value.
            #[must_use]
            pub fn is_listed(&self) -> bool {
                #is_listed
            }
        }

        #[automatically_derived]
        impl ::core::fmt::Display for #ident {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        #wire #conversions #described
    })
}

/// Generates the conversions from strings: fallible for a closed enumeration, infallible for an
/// extensible one.
///
/// In Rust any string converts to an extensible enumeration, but only lenient mode decodes an
/// unlisted one: a client has to accept values of a newer server, a server must reject what its
/// contract does not list.
fn conversions(enumeration: &Enumeration<'_>) -> TokenStream {
    let ident = &enumeration.input.ident;
    match &enumeration.unlisted {
        None => quote! {
            #[automatically_derived]
            impl ::core::str::FromStr for #ident {
                type Err = ::api_runtime::ConstraintError;

                fn from_str(text: &str) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                    Self::listed(text).ok_or(::api_runtime::ConstraintError::Enum(Self::VALUES))
                }
            }

            #[automatically_derived]
            impl ::core::convert::TryFrom<&str> for #ident {
                type Error = ::api_runtime::ConstraintError;

                fn try_from(text: &str) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                    <Self as ::core::str::FromStr>::from_str(text)
                }
            }

            #[automatically_derived]
            impl ::core::convert::TryFrom<::std::string::String> for #ident {
                type Error = ::api_runtime::ConstraintError;

                fn try_from(text: ::std::string::String) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                    <Self as ::core::str::FromStr>::from_str(&text)
                }
            }
        },
        Some(unlisted) => quote! {
            #[automatically_derived]
            impl ::core::str::FromStr for #ident {
                type Err = ::core::convert::Infallible;

                fn from_str(text: &str) -> ::core::result::Result<Self, ::core::convert::Infallible> {
                    ::core::result::Result::Ok(<Self as ::core::convert::From<&str>>::from(text))
                }
            }

            #[automatically_derived]
            impl ::core::convert::From<&str> for #ident {
                fn from(text: &str) -> Self {
                    match Self::listed(text) {
                        ::core::option::Option::Some(value) => value,
                        ::core::option::Option::None => Self::#unlisted(::std::borrow::ToOwned::to_owned(text)),
                    }
                }
            }

            #[automatically_derived]
            impl ::core::convert::From<::std::string::String> for #ident {
                fn from(text: ::std::string::String) -> Self {
                    Self::listed(&text).unwrap_or(Self::#unlisted(text))
                }
            }
        },
    }
}
