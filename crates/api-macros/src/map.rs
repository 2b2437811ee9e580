//! `#[derive(Map)]`: a newtype over a map from property names to values of one type.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, LitInt, LitStr, Result};

use crate::impls::{self, optional};
use crate::schema::{self, Annotations};
use crate::shape;

/// The arguments of `#[map(…)]`. `check` is the pointer of a compiled schema that maps are checked
/// against too.
#[derive(Default)]
struct Rules {
    min: Option<LitInt>,
    max: Option<LitInt>,
    check: Option<LitStr>,
}

/// Expands `#[derive(Map)]`.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let inner = shape::newtype(input, "Map")?;
    let Some(values) = shape::argument(inner, 1) else {
        return Err(syn::Error::new_spanned(
            inner,
            "Map is for a newtype over BTreeMap<String, T>",
        ));
    };
    let rules = rules(input)?;
    let ident = &input.ident;
    let annotations = Annotations::read_to_describe(&input.attrs)?;
    let described = schema::described(input, &annotations, || {
        (keywords(inner, &rules), vec![values.clone()])
    });
    let (min, max) = (optional(rules.min.as_ref()), optional(rules.max.as_ref()));
    // The entries after those that may be there are not even read.
    let read = quote! {
        let entries = ::api_runtime::__private::map_of_at_most(deserializer, #max)?;
        Self::checked(entries).map_err(::api_runtime::__private::serde::de::Error::custom)
    };
    let wire = impls::wire(
        ident,
        &read,
        &quote!(::api_runtime::Wire::encode(&self.0, serializer)),
    );
    let constrained = rules.min.is_some() || rules.max.is_some() || rules.check.is_some();
    let compiled = rules
        .check
        .as_ref()
        .map(|check| quote!(::api_runtime::__private::constraint_check(&crate::schemas::SCHEMAS, #check, &entries)?;));
    // By these rules even an empty map can be wrong, so there is no `Default` then.
    let from = if constrained {
        quote! {
            #[automatically_derived]
            impl ::core::convert::TryFrom<#inner> for #ident {
                type Error = ::api_runtime::ConstraintError;

                fn try_from(entries: #inner) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                    Self::checked(entries)
                }
            }
        }
    } else {
        quote! {
            #[automatically_derived]
            impl ::core::convert::From<#inner> for #ident {
                fn from(entries: #inner) -> Self {
                    Self(entries)
                }
            }

            #[automatically_derived]
            impl ::core::iter::FromIterator<(::std::string::String, #values)> for #ident {
                fn from_iter<__I>(entries: __I) -> Self
                where
                    __I: ::core::iter::IntoIterator<Item = (::std::string::String, #values)>,
                {
                    Self(entries.into_iter().collect())
                }
            }

            #[automatically_derived]
            impl ::core::default::Default for #ident {
                fn default() -> Self {
                    Self(::core::default::Default::default())
                }
            }
        }
    };
    let iteration = iteration(ident, inner, values);
    Ok(quote! {
        impl #ident {
            fn checked(entries: #inner) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                ::api_runtime::__private::entries(entries.len(), #min, #max)?;
                #compiled
                ::core::result::Result::Ok(Self(entries))
            }

            /// Returns the entries.
            #[must_use]
            pub fn into_map(self) -> #inner {
                self.0
            }
        }

        #[automatically_derived]
        impl ::core::convert::From<#ident> for #inner {
            fn from(map: #ident) -> #inner {
                map.0
            }
        }

        #[automatically_derived]
        impl ::core::ops::Deref for #ident {
            // The map itself, with all its methods: a shared reference to it changes nothing.
            type Target = #inner;

            fn deref(&self) -> &#inner {
                &self.0
            }
        }

        #iteration
        #wire #from #described
    })
}

/// Generates an expression that returns the JSON Schema of the map, without annotations such as
/// `title`.
fn keywords(inner: &syn::Type, rules: &Rules) -> TokenStream {
    let mut pairs = Vec::new();
    for (name, value) in [("minProperties", &rules.min), ("maxProperties", &rules.max)] {
        if let Some(value) = value.as_ref().map(impls::count) {
            pairs.push(quote!((#name, json!(#value))));
        }
    }
    quote! {
        ::api_runtime::described::with(<#inner as ::api_runtime::Described>::schema(), &[#(#pairs),*])
    }
}

/// Generates `IntoIterator` for the newtype and for a reference to it.
fn iteration(ident: &syn::Ident, inner: &syn::Type, values: &syn::Type) -> TokenStream {
    quote! {
        #[automatically_derived]
        impl ::core::iter::IntoIterator for #ident {
            type Item = (::std::string::String, #values);
            type IntoIter = <#inner as ::core::iter::IntoIterator>::IntoIter;

            fn into_iter(self) -> Self::IntoIter {
                self.0.into_iter()
            }
        }

        #[automatically_derived]
        impl<'a> ::core::iter::IntoIterator for &'a #ident {
            type Item = (&'a ::std::string::String, &'a #values);
            type IntoIter = <&'a #inner as ::core::iter::IntoIterator>::IntoIter;

            fn into_iter(self) -> Self::IntoIter {
                self.0.iter()
            }
        }
    }
}

/// Parses the arguments of `#[map(…)]`. An unknown argument is an error.
fn rules(input: &DeriveInput) -> Result<Rules> {
    let mut rules = Rules::default();
    for attribute in input
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("map"))
    {
        attribute.parse_nested_meta(|meta| {
            match meta
                .path
                .get_ident()
                .map(ToString::to_string)
                .unwrap_or_default()
                .as_str()
            {
                "min_properties" => rules.min = Some(meta.value()?.parse()?),
                "max_properties" => rules.max = Some(meta.value()?.parse()?),
                "check" => rules.check = Some(meta.value()?.parse()?),
                _ => return Err(meta.error("map takes min_properties, max_properties and check")),
            }
            Ok(())
        })?;
    }
    Ok(rules)
}
