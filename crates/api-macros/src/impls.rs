//! The impls and expressions that several derives generate alike.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Ident, LitStr};

/// Generates `Serialize` and `Deserialize`, which call `Wire`.
///
/// The names that an expansion chooses itself start with `__`, which no type of a contract does.
pub(crate) fn serde(ident: &Ident) -> TokenStream {
    quote! {
        #[automatically_derived]
        impl ::api_runtime::__private::serde::Serialize for #ident {
            fn serialize<__S: ::api_runtime::__private::serde::Serializer>(
                &self,
                serializer: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                ::api_runtime::Wire::encode(self, serializer)
            }
        }

        #[automatically_derived]
        impl<'de> ::api_runtime::__private::serde::Deserialize<'de> for #ident {
            fn deserialize<__D: ::api_runtime::__private::serde::Deserializer<'de>>(
                deserializer: __D,
            ) -> ::core::result::Result<Self, __D::Error> {
                ::api_runtime::Wire::decode(deserializer)
            }
        }
    }
}

/// Generates `Wire` from the bodies of its two functions.
pub(crate) fn wire(ident: &Ident, decode: &TokenStream, encode: &TokenStream) -> TokenStream {
    quote! {
        #[automatically_derived]
        impl ::api_runtime::Wire for #ident {
            fn decode<'de, __D: ::api_runtime::__private::serde::Deserializer<'de>>(
                deserializer: __D,
            ) -> ::core::result::Result<Self, __D::Error> {
                #decode
            }

            fn encode<__S: ::api_runtime::__private::serde::Serializer>(
                &self,
                serializer: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                #encode
            }
        }
    }
}

/// Generates the body of `decode` for a type that the compiled schema checks too: `inner` decodes
/// from `deserializer`.
///
/// The whole value is read as JSON first, since the schema may look at parts that the type does not
/// keep. The closure gives `inner` another error type: a `Value` as deserializer has
/// `serde_json`'s.
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

/// Generates an expression of an `Option`.
pub(crate) fn optional<T: quote::ToTokens>(value: Option<&T>) -> TokenStream {
    if let Some(value) = value {
        quote!(::core::option::Option::Some(#value))
    } else {
        quote!(::core::option::Option::None)
    }
}
