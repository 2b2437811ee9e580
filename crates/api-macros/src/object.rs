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
    let wire = object.wire();
    let annotations = Annotations::read_to_describe(&input.attrs)?;
    let described = schema::described(input, &annotations, || {
        let mut mentions: Vec<Type> = object.properties.iter().map(Property::wire_type).collect();
        mentions.extend(object.additional.iter().map(|(_, ty)| ty.clone()));
        (object.keywords(), mentions)
    });
    let constructors = construct::expand(&object);
    Ok(quote! { #wire #described #constructors })
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

    /// Generates the call of `__object`, which implements the traits that decode and encode the
    /// struct.
    ///
    /// serde's derive is not used: it decodes null and an absent property to the same value, and
    /// cannot skip unknown properties in lenient mode only.
    fn wire(&self) -> TokenStream {
        let ident = &self.input.ident;
        let decode = self.decode();
        let names = |keep: fn(&Property) -> bool| {
            let kept = self
                .properties
                .iter()
                .filter(move |property| keep(property));
            kept.map(|property| &property.ident)
        };
        let wires: Vec<&String> = self
            .properties
            .iter()
            .map(|property| &property.wire)
            .collect();
        let indices = (0..self.properties.len()).map(Literal::usize_unsuffixed);
        let slots: Vec<Ident> = (0..self.properties.len())
            .map(|at| format_ident!("value_{at}"))
            .collect();
        let types = self.properties.iter().map(Property::wire_type);
        let closed = self.rules.closed;
        // Names of unknown properties are collected even if their values are dropped: duplicates
        // are rejected, and `minProperties` and `dependentRequired` count unknown properties too.
        let others = match &self.additional {
            Some((_, ty)) => {
                quote!(others [::std::collections::BTreeMap<::std::string::String, #ty>] next_or_add())
            }
            None => {
                quote!(others [::std::collections::BTreeSet<::std::string::String>] next_or_skip(#closed))
            }
        };
        let rules = self.map_rules(&slots);
        let required = self.properties.iter().zip(&slots);
        let required =
            required
                .filter(|(property, _)| property.is_required())
                .map(|(property, slot)| {
                    let wire = &property.wire;
                    quote!(#slot #wire)
                });
        let made = self.properties.iter().zip(&slots).map(made);
        let fields = names(|_| true);
        let entries = self.properties.iter().map(|property| {
            match (property.optional, property.json_text.is_some()) {
                (false, false) => quote!(entry),
                (true, false) => quote!(optional_entry),
                (false, true) => quote!(json_text_entry),
                (true, true) => quote!(optional_json_text_entry),
            }
        });
        let certain = Literal::usize_unsuffixed(names(|property| !property.optional).count());
        let optional = names(|property| property.optional);
        let additional = self.additional.as_ref().map(|(field, _)| field);
        quote! {
            ::api_runtime::__object! {
                #ident
                decode(deserializer) { #decode }
                properties { #(#wires #indices #slots [#types])* }
                others #others
                rules { #rules }
                required { #(#required)* }
                made { #(#made,)* }
                entries { #(#entries #fields #wires)* }
                count #certain { #(#optional)* } { #additional }
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

    /// Generates an expression that returns the JSON Schema of the object, without annotations such
    /// as `title`.
    fn keywords(&self) -> TokenStream {
        let mut pairs = vec![quote!(("type", json!("object")))];
        if !self.properties.is_empty() {
            let properties = self.properties.iter().map(|property| {
                let ty = property.wire_type();
                let wire = &property.wire;
                let mut schema = quote!(<#ty as ::api_runtime::Described>::reference());
                if let Some(media_type) = property.media_type() {
                    schema = quote! {
                        ::api_runtime::described::with(#schema, &[("contentMediaType", json!(#media_type))])
                    };
                }
                let schema = property.annotations.add_to(&schema);
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
            if let Some(value) = value.as_ref().map(impls::count) {
                pairs.push(quote!((#name, json!(#value))));
            }
        }
        if let Some(dependent) = &self.rules.dependent {
            pairs.push(quote!(("dependentRequired", ::api_runtime::__private::parsed(#dependent))));
        }
        quote!(::api_runtime::described::with(json!({}), &[#(#pairs),*]))
    }
}

/// Generates the field of a property, from the local variable of its decoded value.
fn made((property, slot): (&Property, &Ident)) -> TokenStream {
    let field = &property.ident;
    let inner = property.json_text.as_ref().map(|_| quote!(.into_inner()));
    if let Some(default) = &property.default {
        // A default is decoded from its JSON text, since most types have no literal to write it as.
        quote! {
            #field: match ::api_runtime::__private::or_default(#slot, #default) {
                ::core::result::Result::Ok(value) => value #inner,
                ::core::result::Result::Err(error) => return ::core::result::Result::Err(error),
            }
        }
    } else if property.optional && inner.is_some() {
        quote!(#field: #slot.map(::api_runtime::__private::JsonText::into_inner))
    } else {
        quote!(#field: #slot #inner)
    }
}
