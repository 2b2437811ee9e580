//! `#[derive(Object)]`: a struct whose fields are the properties of an object.

mod construct;
mod properties;

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use syn::{DeriveInput, Ident, Result, Type};

use properties::{Object, Property, read};

use crate::impls;
use crate::schema::{self, Annotations};

/// Expands `#[derive(Object)]`.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let object = read(input)?;
    let ident = &input.ident;
    let decode = object.decode();
    let encode = object.encode();
    let wire = impls::wire(ident, &decode, &encode);
    let properties = object.properties();
    let annotations = Annotations::read_to_describe(&input.attrs)?;
    let described = schema::described(input, &annotations, || {
        let mut mentions: Vec<Type> = object
            .properties
            .iter()
            .map(|property| property.wire_type().clone())
            .collect();
        mentions.extend(object.additional.iter().map(|(_, ty)| ty.clone()));
        (object.keywords(), mentions)
    });
    let constructors = construct::expand(&object);
    Ok(quote! { #properties #wire #described #constructors })
}

impl Object<'_> {
    /// Generates the body of `deserialize`.
    fn decode(&self) -> TokenStream {
        let inner = quote!(::api_runtime::__private::object(deserializer));
        match &self.rules.check {
            Some(check) => impls::checked(check, &inner),
            None => inner,
        }
    }

    /// Generates an impl of `Properties`, by which the run time decodes the struct: a local variable
    /// for each property, and a loop over the names in the object.
    ///
    /// serde's derive is not used: it decodes null and an absent property to the same value, and
    /// cannot skip unknown properties in lenient mode only.
    ///
    /// The compiler checks each closure as a function and each `?` as two calls of traits, so there
    /// are neither; in large crates most of the time went into these.
    fn properties(&self) -> TokenStream {
        let ident = &self.input.ident;
        let wires: Vec<&String> = self
            .properties
            .iter()
            .map(|property| &property.wire)
            .collect();
        let slots: Vec<Ident> = (0..self.properties.len())
            .map(|at| format_ident!("value_{at}"))
            .collect();
        let types: Vec<&Type> = self.properties.iter().map(Property::wire_type).collect();
        let indices: Vec<Literal> = (0..self.properties.len())
            .map(Literal::usize_unsuffixed)
            .collect();
        let closed = self.rules.closed;
        // Names of unknown properties are collected even if their values are dropped: duplicates
        // are rejected, and `minProperties` and `dependentRequired` count unknown properties too.
        let (others, next) = match &self.additional {
            Some((_, ty)) => (
                quote!(::std::collections::BTreeMap::<::std::string::String, #ty>::new()),
                quote!(::api_runtime::__private::next_or_add::<Self, _, _>(
                    &mut map,
                    &mut others
                )),
            ),
            None => (
                quote!(::std::collections::BTreeSet::<::std::string::String>::new()),
                quote!(::api_runtime::__private::next_or_skip::<Self, _>(&mut map, &mut others, #closed)),
            ),
        };
        let rules = self.map_rules(&slots);
        let made = self.made(&slots);
        quote! {
            #[automatically_derived]
            impl ::api_runtime::__private::Properties for #ident {
                fn index(name: &str) -> ::core::option::Option<usize> {
                    // A `match` and not a search in a list: it compiles to fewer comparisons.
                    ::core::option::Option::Some(match name {
                        #(#wires => #indices,)*
                        _ => return ::core::option::Option::None,
                    })
                }

                fn read<'de, __A: ::api_runtime::__private::serde::de::MapAccess<'de>>(
                    mut map: __A,
                ) -> ::core::result::Result<Self, __A::Error> {
                    #(let mut #slots: ::core::option::Option<#types> = ::core::option::Option::None;)*
                    let mut others = #others;
                    loop {
                        let read = match #next {
                            ::core::result::Result::Ok(::core::option::Option::Some(at)) => match at {
                                #(#indices => ::api_runtime::__private::fill(&mut #slots, #wires, &mut map),)*
                                // `index` returns no other number, but the match must be exhaustive.
                                _ => ::core::result::Result::Ok(()),
                            },
                            ::core::result::Result::Ok(::core::option::Option::None) => break,
                            ::core::result::Result::Err(error) => ::core::result::Result::Err(error),
                        };
                        if let ::core::result::Result::Err(error) = read {
                            return ::core::result::Result::Err(error);
                        }
                    }
                    #rules
                    #made
                }
            }
        }
    }

    /// Generates an expression that makes the struct of the decoded properties in `slots`, or the
    /// error for a required property that is missing.
    fn made(&self, slots: &[Ident]) -> TokenStream {
        let ident = &self.input.ident;
        let fields = self.properties.iter().zip(slots).map(|(property, slot)| {
            let field = &property.ident;
            match &property.default {
                // A default is decoded from its JSON text, since most types have no literal to
                // write it as.
                Some(default) => quote! {
                    #field: match ::api_runtime::__private::or_default(#slot, #default) {
                        ::core::result::Result::Ok(value) => value,
                        ::core::result::Result::Err(error) => return ::core::result::Result::Err(error),
                    }
                },
                None => quote!(#field: #slot),
            }
        });
        let kept = self
            .additional
            .as_ref()
            .map(|(field, _)| quote!(#field: others,));
        let made = quote!(::core::result::Result::Ok(#ident { #(#fields,)* #kept }));
        let (required, wires): (Vec<&Ident>, Vec<&String>) = self
            .properties
            .iter()
            .zip(slots)
            .filter(|(property, _)| property.is_required())
            .map(|(property, slot)| (slot, &property.wire))
            .unzip();
        if required.is_empty() {
            return made;
        }
        quote! {
            match (#(#required,)*) {
                (#(::core::option::Option::Some(#required),)*) => #made,
                (#(#required,)*) => ::core::result::Result::Err(::api_runtime::__private::first_missing(&[
                    #((#wires, #required.is_some()),)*
                ])),
            }
        }
    }

    /// Generates the checks that run when all properties are decoded: `minProperties`,
    /// `maxProperties` and `dependentRequired`. Returns `None` if the object has none of these
    /// keywords. `slots` are the local variables of the properties, in the order of the fields.
    fn map_rules(&self, slots: &[Ident]) -> Option<TokenStream> {
        let wires: Vec<&String> = self
            .properties
            .iter()
            .map(|property| &property.wire)
            .collect();
        let tried = |rule: &TokenStream| {
            quote! {
                if let ::core::result::Result::Err(error) = #rule {
                    return ::core::result::Result::Err(error);
                }
            }
        };
        let count = (self.rules.min.is_some() || self.rules.max.is_some()).then(|| {
            let min = impls::optional(self.rules.min.as_ref());
            let max = impls::optional(self.rules.max.as_ref());
            let rule = tried(&quote!(::api_runtime::__private::count(count, #min, #max)));
            quote! {
                let count = others.len() #(+ ::api_runtime::__private::one_if_some(&#slots))*;
                #rule
            }
        });
        let dependent = self.rules.dependent.as_ref().map(|dependent| {
            let dependent: serde_json::Map<String, serde_json::Value> =
                // Known to be JSON since the attribute was read.
                serde_json::from_str(dependent).unwrap_or_default();
            let rules = dependent.iter().map(|(name, needed)| {
                let needed = needed
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(serde_json::Value::as_str);
                tried(&quote!(::api_runtime::__private::depends(&has, #name, &[#(#needed),*])))
            });
            let other = if self.additional.is_some() {
                quote!(others.contains_key(other))
            } else {
                quote!(others.contains(other))
            };
            quote! {
                let has = |name: &str| match name {
                    #(#wires => #slots.is_some(),)*
                    other => #other,
                };
                #(#rules)*
            }
        });
        match (count, dependent) {
            (None, None) => None,
            (count, dependent) => Some(quote!(#count #dependent)),
        }
    }

    /// Generates the body of `serialize`.
    fn encode(&self) -> TokenStream {
        let certain = Literal::usize_unsuffixed(
            self.properties
                .iter()
                .filter(|property| !property.optional)
                .count(),
        );
        let optional = self
            .properties
            .iter()
            .filter(|property| property.optional)
            .map(|property| &property.ident);
        // The number must be exact: serde_json writes `{}` for none, and binary formats write it
        // before the entries.
        let more = self
            .additional
            .as_ref()
            .map(|(field, _)| quote!(+ self.#field.len()));
        let entries = self.properties.iter().map(|property| {
            let (field, wire) = (&property.ident, &property.wire);
            let entry = if property.optional {
                quote!(optional_entry)
            } else {
                quote!(entry)
            };
            quote!(::api_runtime::__private::#entry::<__S, _>(&mut map, #wire, &self.#field))
        });
        let others = self.additional.as_ref().map(
            |(field, _)| quote!(::api_runtime::__private::other_entries::<__S, _>(&mut map, &self.#field)),
        );
        let entries = entries.chain(others);
        quote! {
            let count = #certain #(+ ::api_runtime::__private::one_if_some(&self.#optional))* #more;
            let mut map = match serializer.serialize_map(::core::option::Option::Some(count)) {
                ::core::result::Result::Ok(map) => map,
                ::core::result::Result::Err(error) => return ::core::result::Result::Err(error),
            };
            #(
                if let ::core::result::Result::Err(error) = #entries {
                    return ::core::result::Result::Err(error);
                }
            )*
            ::api_runtime::__private::serde::ser::SerializeMap::end(map)
        }
    }

    /// Generates an expression that returns the JSON Schema of the object, without annotations such
    /// as `title`.
    fn keywords(&self) -> TokenStream {
        let mut pairs = vec![quote!(("type", json!("object")))];
        if !self.properties.is_empty() {
            let properties = self.properties.iter().map(|property| {
                let ty = property.wire_type();
                let wire = &property.wire;
                let schema = property.annotations.add_to(&quote!(<#ty as ::api_runtime::Described>::reference()));
                let schema = match &property.default {
                    Some(default) => quote! {
                        ::api_runtime::described::with(#schema, &[("default", ::api_runtime::__private::parsed(#default))])
                    },
                    None => schema,
                };
                quote!((#wire, #schema))
            });
            // Not `json!`, which recurses for each entry and reaches the compiler's limit in large
            // objects.
            pairs.push(quote!(("properties", ::api_runtime::described::with(json!({}), &[#(#properties),*]))));
        }
        let required: Vec<&String> = self
            .properties
            .iter()
            .filter(|property| property.is_required())
            .map(|property| &property.wire)
            .collect();
        if !required.is_empty() {
            pairs.push(
                quote!(("required", ::core::iter::FromIterator::from_iter([#(#required),*]))),
            );
        }
        if self.rules.closed {
            pairs.push(quote!(("additionalProperties", json!(false))));
        } else if let Some((_, ty)) = &self.additional {
            pairs.push(
                quote!(("additionalProperties", <#ty as ::api_runtime::Described>::reference())),
            );
        }
        for (name, value) in [
            ("minProperties", &self.rules.min),
            ("maxProperties", &self.rules.max),
        ] {
            if let Some(value) = value {
                pairs.push(quote!((#name, json!(#value))));
            }
        }
        if let Some(dependent) = &self.rules.dependent {
            pairs.push(quote!(("dependentRequired", ::api_runtime::__private::parsed(#dependent))));
        }
        quote!(::api_runtime::described::with(json!({}), &[#(#pairs),*]))
    }
}
