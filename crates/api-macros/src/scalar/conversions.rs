//! Conversions between a newtype over a string or number and the type inside it.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Ident, Type};

use super::rules::Scalar;

/// Generates the conversions into the newtype and out of it.
///
/// The newtype implements `From` if it accepts every value, else `TryFrom`: a keyword that the
/// contract adds later is then a compile error at each place that creates the value without
/// handling the error.
pub(super) fn conversions(scalar: &Scalar<'_>) -> TokenStream {
    let Scalar {
        ident,
        inner,
        is_text,
        ..
    } = *scalar;
    let into = quote! {
        #[automatically_derived]
        impl ::core::convert::From<#ident> for #inner {
            fn from(value: #ident) -> #inner {
                value.0
            }
        }
    };
    let other_integers = other_integers(ident, inner);
    let from = if scalar.is_unconstrained() {
        let borrowed = is_text.then(|| {
            quote! {
                #[automatically_derived]
                impl ::core::convert::From<&str> for #ident {
                    fn from(value: &str) -> Self {
                        Self(::std::borrow::ToOwned::to_owned(value))
                    }
                }
            }
        });
        quote! {
            #[automatically_derived]
            impl ::core::convert::From<#inner> for #ident {
                fn from(value: #inner) -> Self {
                    Self(value)
                }
            }
            #borrowed
        }
    } else {
        let borrowed = is_text.then(|| {
            quote! {
                #[automatically_derived]
                impl ::core::convert::TryFrom<&str> for #ident {
                    type Error = ::api_runtime::ConstraintError;

                    fn try_from(value: &str) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                        Self::checked(::std::borrow::ToOwned::to_owned(value))
                    }
                }
            }
        });
        quote! {
            #[automatically_derived]
            impl ::core::convert::TryFrom<#inner> for #ident {
                type Error = ::api_runtime::ConstraintError;

                fn try_from(value: #inner) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                    Self::checked(value)
                }
            }
            #borrowed
        }
    };
    let parse = if is_text {
        quote!(Self::checked(::std::borrow::ToOwned::to_owned(text)))
    } else {
        quote! {
            let value = text.parse::<#inner>().map_err(|_| ::api_runtime::ConstraintError::Kind("a number in range"))?;
            Self::checked(value)
        }
    };
    quote! {
        #into
        #from
        #other_integers

        #[automatically_derived]
        impl ::core::str::FromStr for #ident {
            type Err = ::api_runtime::ConstraintError;

            fn from_str(text: &str) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                #parse
            }
        }
    }
}

/// Generates `TryFrom` of other integer types, so that literals, which are `i32`, and lengths,
/// which are `usize`, convert without a cast.
fn other_integers(ident: &Ident, inner: &Type) -> TokenStream {
    const INTEGERS: [&str; 8] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];
    const OTHERS: [&str; 5] = ["i32", "i64", "u32", "u64", "usize"];
    let is = |name: &str| matches!(inner, Type::Path(path) if path.path.is_ident(name));
    if !INTEGERS.iter().any(|name| is(name)) {
        return TokenStream::new();
    }
    let others = OTHERS.iter().filter(|name| !is(name)).map(|name| {
        let other = quote::format_ident!("{name}");
        quote! {
            #[automatically_derived]
            impl ::core::convert::TryFrom<#other> for #ident {
                type Error = ::api_runtime::ConstraintError;

                fn try_from(value: #other) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                    let value = <#inner as ::core::convert::TryFrom<#other>>::try_from(value)
                        .map_err(|_| ::api_runtime::ConstraintError::Kind("a number in range"))?;
                    Self::checked(value)
                }
            }
        }
    });
    quote!(#(#others)*)
}
