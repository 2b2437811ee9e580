//! The impls and expressions that several derives generate alike.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Ident, LitInt, LitStr};

/// Generates impls of serde's `Serialize` and `Deserialize`, which are those of `api_runtime::Wire`
/// too. `decode` is a function body that reads from `deserializer`, `encode` one that writes to
/// `serializer`.
///
/// Names that an expansion introduces itself start with `__`, as no name from a contract does.
pub(crate) fn wire(ident: &Ident, decode: &TokenStream, encode: &TokenStream) -> TokenStream {
    quote! {
        #[automatically_derived]
        impl ::api_runtime::__private::serde::Serialize for #ident {
            fn serialize<__S: ::api_runtime::__private::serde::Serializer>(
                &self,
                serializer: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                #encode
            }
        }

        #[automatically_derived]
        impl<'de> ::api_runtime::__private::serde::Deserialize<'de> for #ident {
            fn deserialize<__D: ::api_runtime::__private::serde::Deserializer<'de>>(
                deserializer: __D,
            ) -> ::core::result::Result<Self, __D::Error> {
                #decode
            }
        }

        #[automatically_derived]
        impl ::api_runtime::Wire for #ident {}
    }
}

/// Generates the body of `deserialize` for a type that a compiled schema checks too. `check` is
/// the pointer of that schema, `inner` decodes the type from `deserializer`.
///
/// The value is decoded to JSON and checked first, since the schema may constrain parts that the
/// type does not keep. `inner` is in a closure because it reads from a `Value`, whose error type is
/// that of `serde_json`.
pub(crate) fn checked(check: &LitStr, inner: &TokenStream) -> TokenStream {
    quote! {
        let value: ::api_runtime::__private::Value = ::api_runtime::Wire::decode(deserializer)?;
        ::api_runtime::__private::check(&crate::schemas::SCHEMAS, #check, &value)?;
        let read = move || -> ::core::result::Result<Self, ::api_runtime::__private::serde_json::Error> {
            let deserializer = value;
            #inner
        };
        read().map_err(::api_runtime::__private::serde::de::Error::custom)
    }
}

/// Returns the literal of a count with its type: without one, it would be an `i32`, for which some
/// counts are too large.
pub(crate) fn count(number: &LitInt) -> LitInt {
    LitInt::new(&format!("{}u64", number.base10_digits()), number.span())
}

/// Generates the expression `Some(value)` or `None`.
pub(crate) fn optional<T: quote::ToTokens>(value: Option<&T>) -> TokenStream {
    if let Some(value) = value {
        quote!(::core::option::Option::Some(#value))
    } else {
        quote!(::core::option::Option::None)
    }
}
