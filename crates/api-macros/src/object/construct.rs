//! The constructors of a struct: from its required fields, with a `with_…` method for each optional
//! field.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::Type;

use super::properties::{Object, Property};
use crate::schema::unraw;
use crate::shape::argument;

/// The largest number of required fields that are the arguments of `new`. More required fields
/// become the fields of a struct, so that each has its name at the call.
const ARGUMENTS: usize = 3;

/// Generates the constructors of a struct: `new` or a struct of the required fields, and the
/// `with_…` methods.
pub(super) fn expand(object: &Object<'_>) -> TokenStream {
    let ident = &object.input.ident;
    let (required, rest): (Vec<&Property>, Vec<&Property>) = object
        .properties
        .iter()
        .partition(|property| property.is_required());
    let rest_values = rest.iter().map(|property| {
        let field = &property.ident;
        if let (Some(default), Some(_)) = (&property.default, &property.json_text) {
            let ty = property.wire_type();
            quote!(#field: ::api_runtime::__private::default_value::<#ty>(#default).into_inner())
        } else if let Some(default) = &property.default {
            quote!(#field: ::api_runtime::__private::default_value(#default))
        } else {
            quote!(#field: ::core::option::Option::None)
        }
    });
    let additional = object
        .additional
        .as_ref()
        .map(|(field, _)| quote!(#field: ::core::default::Default::default(),));
    let names: Vec<_> = required.iter().map(|property| &property.ident).collect();
    let setters = setters(object, &rest);
    let made = quote!(#ident { #(#names,)* #(#rest_values,)* #additional });
    let constructor = if required.len() <= ARGUMENTS {
        // A default value of required properties would be one that the contract does not know.
        let default = required.is_empty().then(|| {
            quote! {
                #[automatically_derived]
                impl ::core::default::Default for #ident {
                    fn default() -> Self {
                        Self::new()
                    }
                }
            }
        });
        let types = required.iter().map(|property| taken(&property.ty));
        // The struct is built from the names alone, so texts are converted before.
        let texts = required.iter().filter(|property| is_text(&property.ty));
        let texts = texts.map(|property| {
            let name = &property.ident;
            quote!(let #name = ::core::convert::Into::into(#name);)
        });
        quote! {
            impl #ident {
                /// Creates the value from its required properties.
                #[must_use]
                pub fn new(#(#names: #types),*) -> Self {
                    #(#texts)*
                    #made
                }
            }
            #default
        }
    } else {
        from_fields(object, &required, &made)
    };
    quote! { #constructor #setters }
}

/// Generates a struct of the required fields, and `From` that struct for the object, which `made`
/// builds.
///
/// The struct is not `#[non_exhaustive]`: a new required property must not compile until every
/// caller sets it.
fn from_fields(object: &Object<'_>, required: &[&Property], made: &TokenStream) -> TokenStream {
    let ident = &object.input.ident;
    let fields = object
        .rules
        .fields
        .clone()
        .unwrap_or_else(|| format_ident!("{}Fields", unraw(&ident.to_string())));
    let docs = format!("The required properties of [`{ident}`], which is created by `into()`.");
    let names: Vec<_> = required.iter().map(|property| &property.ident).collect();
    let types: Vec<_> = required.iter().map(|property| &property.ty).collect();
    let field_docs = required.iter().map(|property| {
        let docs = &property.attributes;
        quote!(#(#docs)*)
    });
    quote! {
        #[doc = #docs]
        #[derive(Clone, Debug, PartialEq)]
        pub struct #fields {
            #(#field_docs pub #names: #types,)*
        }

        #[automatically_derived]
        impl ::core::convert::From<#fields> for #ident {
            fn from(fields: #fields) -> Self {
                // A pattern without `..` makes a field that is not moved over a compile error.
                let #fields { #(#names),* } = fields;
                #made
            }
        }
    }
}

/// Returns the type that a constructor takes for a field: for a `String` all that converts into one,
/// such as a literal.
///
/// The other types are taken as they are: a caller that writes `text.try_into()?` leaves it to the
/// compiler which type that is.
fn taken(ty: &Type) -> TokenStream {
    if is_text(ty) {
        quote!(impl ::core::convert::Into<#ty>)
    } else {
        quote!(#ty)
    }
}

fn is_text(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident("String"))
}

/// Generates a `with_…` method for each field in `rest` and for additional properties. Returns
/// `None` if there are no such fields and no additional properties.
fn setters(object: &Object<'_>, rest: &[&Property]) -> Option<TokenStream> {
    if rest.is_empty() && object.additional.is_none() {
        return None;
    }
    let ident = &object.input.ident;
    let each = rest.iter().map(|property| {
        let field = &property.ident;
        let setter = format_ident!("with_{}", unraw(&field.to_string()));
        let docs = format!("Sets `{}`.", property.wire);
        let inside = if property.optional {
            argument(&property.ty, 0).unwrap_or(&property.ty)
        } else {
            &property.ty
        };
        let (ty, value) = if property.nullable {
            // `Into<Option<T>>` takes a plain value as well as `None` for null.
            let inner = argument(inside, 0).unwrap_or(inside);
            (
                quote!(impl ::core::convert::Into<::core::option::Option<#inner>>),
                quote!(::core::convert::Into::into(value)),
            )
        } else if is_text(inside) {
            (taken(inside), quote!(::core::convert::Into::into(value)))
        } else {
            (taken(inside), quote!(value))
        };
        let value = if property.optional {
            quote!(::core::option::Option::Some(#value))
        } else {
            value
        };
        quote! {
            #[doc = #docs]
            #[must_use]
            pub fn #setter(mut self, value: #ty) -> Self {
                self.#field = #value;
                self
            }
        }
    });
    let additional = object.additional.as_ref().map(|(field, ty)| {
        let setter = format_ident!("with_{}", unraw(&field.to_string()));
        quote! {
            /// Sets the additional properties.
            #[must_use]
            pub fn #setter(mut self, value: ::std::collections::BTreeMap<::std::string::String, #ty>) -> Self {
                self.#field = value;
                self
            }
        }
    });
    Some(quote! {
        impl #ident {
            #(#each)*
            #additional
        }
    })
}
