//! `#[derive(Array)]`: a newtype over a `Vec` that checks the keywords of arrays.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, LitInt, LitStr, Result};

use crate::impls::{self, optional};
use crate::schema::{self, Annotations};
use crate::shape;

/// The arguments of `#[array(…)]`. `check` is the pointer of a compiled schema that lists are
/// checked against too.
#[derive(Default)]
struct Rules {
    min: Option<LitInt>,
    max: Option<LitInt>,
    unique: bool,
    check: Option<LitStr>,
}

/// Expands `#[derive(Array)]`.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let inner = shape::newtype(input, "Array")?;
    let Some(item) = shape::argument(inner, 0) else {
        return Err(syn::Error::new_spanned(
            inner,
            "Array is for a newtype over Vec<T>",
        ));
    };
    let rules = rules(input)?;
    let ident = &input.ident;
    let annotations = Annotations::read_to_describe(&input.attrs)?;
    let described = schema::described(input, &annotations, || {
        (keywords(item, &rules), vec![item.clone()])
    });
    let collection = collection(input, inner, item);
    let constrained =
        rules.min.is_some() || rules.max.is_some() || rules.unique || rules.check.is_some();
    let (min, max, unique) = (
        optional(rules.min.as_ref()),
        optional(rules.max.as_ref()),
        rules.unique,
    );
    // The items after those that may be there are not even read.
    let read = quote! {
        let items = ::api_runtime::__private::list_of_at_most(deserializer, #max)?;
        Self::checked(items).map_err(::api_runtime::__private::serde::de::Error::custom)
    };
    let wire = impls::wire(
        ident,
        &read,
        &quote!(::api_runtime::Wire::encode(&self.0, serializer)),
    );
    let compiled = rules
        .check
        .as_ref()
        .map(|check| quote!(::api_runtime::__private::constraint_check(&crate::schemas::SCHEMAS, #check, &items)?;));
    // `TryFrom` alone where there are constraints: an empty or collected list might break them.
    let from = if constrained {
        quote! {
            #[automatically_derived]
            impl ::core::convert::TryFrom<#inner> for #ident {
                type Error = ::api_runtime::ConstraintError;

                fn try_from(items: #inner) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                    Self::checked(items)
                }
            }
        }
    } else {
        quote! {
            #[automatically_derived]
            impl ::core::convert::From<#inner> for #ident {
                fn from(items: #inner) -> Self {
                    Self(items)
                }
            }

            #[automatically_derived]
            impl ::core::iter::FromIterator<#item> for #ident {
                fn from_iter<__I: ::core::iter::IntoIterator<Item = #item>>(items: __I) -> Self {
                    Self(items.into_iter().collect())
                }
            }

            #[automatically_derived]
            impl ::core::default::Default for #ident {
                fn default() -> Self {
                    Self(::std::vec::Vec::new())
                }
            }
        }
    };
    Ok(quote! {
        impl #ident {
            fn checked(items: #inner) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                // The counts first: the compiled schema takes longer, and need not see a list that
                // is too long.
                ::api_runtime::__private::Items { min: #min, max: #max, unique: #unique }.check(&items)?;
                #compiled
                ::core::result::Result::Ok(Self(items))
            }
        }
        #wire #from #collection #described
    })
}

/// Parses the arguments of `#[array(…)]`. An unknown argument is an error.
fn rules(input: &DeriveInput) -> Result<Rules> {
    let mut rules = Rules::default();
    for attribute in input
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("array"))
    {
        attribute.parse_nested_meta(|meta| {
            match meta
                .path
                .get_ident()
                .map(ToString::to_string)
                // A path such as `a::b` has no identifier, and gets the same error as an unknown
                // argument.
                .unwrap_or_default()
                .as_str()
            {
                "min_items" => rules.min = Some(meta.value()?.parse()?),
                "max_items" => rules.max = Some(meta.value()?.parse()?),
                "unique_items" => rules.unique = true,
                "check" => rules.check = Some(meta.value()?.parse()?),
                _ => {
                    return Err(
                        meta.error("array takes min_items, max_items, unique_items and check")
                    );
                }
            }
            Ok(())
        })?;
    }
    Ok(rules)
}

/// Generates an expression that returns the JSON Schema of the array, without annotations such as
/// `title`.
fn keywords(item: &syn::Type, rules: &Rules) -> TokenStream {
    let mut pairs = Vec::new();
    for (name, value) in [("minItems", &rules.min), ("maxItems", &rules.max)] {
        if let Some(value) = value.as_ref().map(impls::count) {
            pairs.push(quote!((#name, json!(#value))));
        }
    }
    if rules.unique {
        pairs.push(quote!(("uniqueItems", json!(true))));
    }
    quote! {
        ::api_runtime::described::with(
            <::std::vec::Vec<#item> as ::api_runtime::Described>::schema(),
            &[#(#pairs),*],
        )
    }
}

/// Generates the access to the items: `into_vec`, `Deref` to a slice, and `IntoIterator` by value
/// and by reference.
///
/// Nothing gives mutable access, which could break a constraint.
fn collection(input: &DeriveInput, inner: &syn::Type, item: &syn::Type) -> TokenStream {
    let ident = &input.ident;
    quote! {
        impl #ident {
            /// Returns the items.
            #[must_use]
            pub fn into_vec(self) -> #inner {
                self.0
            }
        }

        #[automatically_derived]
        impl ::core::convert::From<#ident> for #inner {
            fn from(list: #ident) -> #inner {
                list.0
            }
        }

        #[automatically_derived]
        impl ::core::ops::Deref for #ident {
            type Target = [#item];

            fn deref(&self) -> &[#item] {
                &self.0
            }
        }

        #[automatically_derived]
        impl ::core::iter::IntoIterator for #ident {
            type Item = #item;
            type IntoIter = ::std::vec::IntoIter<#item>;

            fn into_iter(self) -> Self::IntoIter {
                self.0.into_iter()
            }
        }

        #[automatically_derived]
        impl<'a> ::core::iter::IntoIterator for &'a #ident {
            type Item = &'a #item;
            type IntoIter = ::core::slice::Iter<'a, #item>;

            fn into_iter(self) -> Self::IntoIter {
                self.0.iter()
            }
        }
    }
}
