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
    let is_unconstrained = scalar.is_unconstrained();
    if is_text {
        return if is_unconstrained {
            quote!(::api_runtime::__text! { @unconstrained #ident })
        } else {
            quote!(::api_runtime::__text! { @constrained #ident })
        };
    }
    let other_integers = other_integers(ident, inner);
    let from = if is_unconstrained {
        quote! {
            #[automatically_derived]
            impl ::core::convert::From<#inner> for #ident {
                fn from(value: #inner) -> Self {
                    Self(value)
                }
            }
        }
    } else {
        quote! {
            #[automatically_derived]
            impl ::core::convert::TryFrom<#inner> for #ident {
                type Error = ::api_runtime::ConstraintError;

                fn try_from(value: #inner) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                    Self::checked(value)
                }
            }
        }
    };
    quote! {
        #[automatically_derived]
        impl ::core::convert::From<#ident> for #inner {
            fn from(value: #ident) -> #inner {
                value.0
            }
        }

        #from
        #other_integers

        #[automatically_derived]
        impl ::core::str::FromStr for #ident {
            type Err = ::api_runtime::ConstraintError;

            fn from_str(text: &str) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                match text.parse::<#inner>() {
                    ::core::result::Result::Ok(value) => Self::checked(value),
                    ::core::result::Result::Err(_) => {
                        ::core::result::Result::Err(::api_runtime::ConstraintError::Kind("a number in range"))
                    }
                }
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
