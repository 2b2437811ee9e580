//! `#[derive(Object)]`: a struct whose fields are the properties of an object.

mod construct;
mod properties;

use proc_macro2::TokenStream;
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
    let serde = impls::serde(ident);
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
    Ok(quote! { #wire #serde #described #constructors })
}

impl Object<'_> {
    /// Generates the body of `Wire::decode`.
    fn decode(&self) -> TokenStream {
        let inner = self.decode_map();
        match &self.rules.check {
            Some(check) => impls::checked(check, &inner),
            None => inner,
        }
    }

    /// Generates the code that decodes the properties from `deserializer`: a serde visitor with a
    /// local variable for each property.
    ///
    /// serde's derive is not used: it decodes null and an absent property to the same value, and
    /// cannot skip unknown properties in lenient mode only.
    fn decode_map(&self) -> TokenStream {
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
        let indices = 0..self.properties.len();
        let positions = indices.clone();
        let closed = self.rules.closed;
        // Names of unknown properties are collected even if their values are dropped: duplicates
        // are rejected, and `minProperties` and `dependentRequired` count unknown properties too.
        let (others, keep, kept) = match &self.additional {
            Some((field, ty)) => (
                quote!(let mut others: ::std::collections::BTreeMap<::std::string::String, #ty> = ::core::default::Default::default();),
                quote!(::api_runtime::__private::add(&mut others, name, &mut map)?),
                Some(quote!(#field: others,)),
            ),
            None => (
                quote!(let mut others = ::std::collections::BTreeSet::new();),
                quote!(::api_runtime::__private::skip(&mut map, &mut others, name, #closed)?),
                None,
            ),
        };
        let rules = self.map_rules(&slots);
        // A default is decoded from its JSON text, since most types have no literal to write it as.
        let fields = self.properties.iter().zip(&slots).map(|(property, slot)| {
            let field = &property.ident;
            let wire = &property.wire;
            match &property.default {
                Some(default) => quote!(#field: match #slot {
                    ::core::option::Option::Some(value) => value,
                    ::core::option::Option::None => ::api_runtime::__private::default(#default)?,
                }),
                None if property.optional => quote!(#field: #slot),
                None => {
                    quote!(#field: #slot.ok_or_else(|| ::api_runtime::__private::missing(#wire))?)
                }
            }
        });
        quote! {
            struct __Properties;
            impl<'de> ::api_runtime::__private::serde::de::Visitor<'de> for __Properties {
                type Value = #ident;

                fn expecting(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    f.write_str("an object")
                }

                fn visit_map<__A: ::api_runtime::__private::serde::de::MapAccess<'de>>(
                    self,
                    mut map: __A,
                ) -> ::core::result::Result<#ident, __A::Error> {
                    let keys = ::api_runtime::__private::Keys(|name: &str| match name {
                        #(#wires => ::core::option::Option::Some(#positions),)*
                        _ => ::core::option::Option::None,
                    });
                    #(let mut #slots: ::core::option::Option<#types> = ::core::option::Option::None;)*
                    #others
                    while let ::core::option::Option::Some(key) = map.next_key_seed(keys)? {
                        match key {
                            #(::api_runtime::__private::Key::Known(#indices) => {
                                ::api_runtime::__private::fill(&mut #slots, #wires, &mut map)?;
                            })*
                            // `Keys` returns no other index, but the match has to be exhaustive.
                            ::api_runtime::__private::Key::Known(_) => {}
                            ::api_runtime::__private::Key::Unknown(name) => #keep,
                        }
                    }
                    #rules
                    ::core::result::Result::Ok(#ident { #(#fields,)* #kept })
                }
            }
            ::api_runtime::__private::serde::Deserializer::deserialize_map(deserializer, __Properties)
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
        let count = (self.rules.min.is_some() || self.rules.max.is_some()).then(|| {
            let min = impls::optional(self.rules.min.as_ref());
            let max = impls::optional(self.rules.max.as_ref());
            quote! {
                let count = [#(#slots.is_some()),*].iter().filter(|is_there| **is_there).count() + others.len();
                ::api_runtime::__private::count(count, #min, #max)?;
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
                quote!(::api_runtime::__private::depends(&has, #name, &[#(#needed),*])?;)
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

    /// Generates the body of `Wire::encode`.
    fn encode(&self) -> TokenStream {
        let certain = self
            .properties
            .iter()
            .filter(|property| !property.optional)
            .count();
        let optional: Vec<&Ident> = self
            .properties
            .iter()
            .filter(|property| property.optional)
            .map(|property| &property.ident)
            .collect();
        // The number must be exact: serde_json writes `{}` for none, and binary formats write it
        // before the entries.
        let more = self
            .additional
            .as_ref()
            .map(|(field, _)| quote!(+ self.#field.len()));
        let entries = self.properties.iter().map(|property| {
            let (field, wire) = (&property.ident, &property.wire);
            if property.optional {
                quote! {
                    if let ::core::option::Option::Some(value) = &self.#field {
                        map.serialize_entry(#wire, &::api_runtime::__private::Encoded(value))?;
                    }
                }
            } else {
                quote!(map.serialize_entry(#wire, &::api_runtime::__private::Encoded(&self.#field))?;)
            }
        });
        let others = self.additional.as_ref().map(|(field, _)| {
            quote! {
                for (name, value) in &self.#field {
                    map.serialize_entry(name, &::api_runtime::__private::Encoded(value))?;
                }
            }
        });
        quote! {
            use ::api_runtime::__private::serde::ser::SerializeMap as _;
            let count = #certain #(+ <usize as ::core::convert::From<bool>>::from(self.#optional.is_some()))* #more;
            let mut map = serializer.serialize_map(::core::option::Option::Some(count))?;
            #(#entries)*
            #others
            map.end()
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
