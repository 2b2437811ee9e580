//! `#[derive(Json)]`: a newtype over any JSON, for schemas that no Rust type expresses. The
//! compiled schema checks it.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, LitStr, Result};

use crate::impls;
use crate::schema::{self, Annotations};
use crate::shape;

/// Expands `#[derive(Json)]`.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let inner = shape::newtype(input, "Json")?;
    let mut check: Option<LitStr> = None;
    for attribute in input
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("json"))
    {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("check") {
                return Err(meta.error("json takes check"));
            }
            check = Some(meta.value()?.parse()?);
            Ok(())
        })?;
    }
    let ident = &input.ident;
    let annotations = Annotations::read_to_describe(&input.attrs)?;
    let described = schema::described(input, &annotations, || {
        // No attribute expresses such a schema, so the one that checks the value is returned.
        let keywords = if let Some(check) = &check {
            quote!(::api_runtime::__private::schema_at(&crate::schemas::SCHEMAS, #check))
        } else {
            quote!(json!({}))
        };
        (keywords, Vec::new())
    });
    let read = quote! {
        let value = <#inner as ::api_runtime::Wire>::decode(deserializer)?;
        Self::checked(value).map_err(::api_runtime::__private::serde::de::Error::custom)
    };
    let wire = impls::wire(
        ident,
        &read,
        &quote!(::api_runtime::Wire::encode(&self.0, serializer)),
    );
    let compiled = check
        .as_ref()
        .map(|check| quote!(::api_runtime::__private::constraint_check(&crate::schemas::SCHEMAS, #check, &value)?;));
    let from = if check.is_some() {
        quote! {
            #[automatically_derived]
            impl ::core::convert::TryFrom<#inner> for #ident {
                type Error = ::api_runtime::ConstraintError;

                fn try_from(value: #inner) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                    Self::checked(value)
                }
            }
        }
    } else {
        quote! {
            #[automatically_derived]
            impl ::core::convert::From<#inner> for #ident {
                fn from(value: #inner) -> Self {
                    Self(value)
                }
            }
        }
    };
    Ok(quote! {
        impl #ident {
            fn checked(value: #inner) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                #compiled
                ::core::result::Result::Ok(Self(value))
            }

            /// Returns the JSON value.
            #[must_use]
            pub fn into_value(self) -> #inner {
                self.0
            }
        }

        #[automatically_derived]
        impl ::core::convert::From<#ident> for #inner {
            fn from(json: #ident) -> #inner {
                json.0
            }
        }

        #[automatically_derived]
        impl ::core::ops::Deref for #ident {
            type Target = #inner;

            fn deref(&self) -> &#inner {
                &self.0
            }
        }

        #wire #from #described
    })
}
