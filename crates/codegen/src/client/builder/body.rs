//! The request body: a setter for each media type that the contract lists.

use std::collections::HashSet;

use contract::model::ParameterEncoding;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::super::responses::essence;
use super::super::{parts, text};
use super::request::style_tokens;
use super::{Builder, initial};
use crate::ir::{Body, Media, MediaKind, Operation, PartList, TypeRef};
use crate::names::{identifier, snake, unique};
use crate::positions::{self, Words};
use crate::tokens::{docs, ident};

impl Builder<'_> {
    /// Returns whether the builder can be cloned.
    pub(super) fn body_can_be_cloned(&self) -> bool {
        can_be_cloned(self.operation)
    }

    /// Returns the declaration of the builder's field for the body, if the operation has one. The
    /// field holds the caller's value if progenitor writes the request, else the encoded `Payload`.
    pub(super) fn body_field(&self) -> Option<TokenStream> {
        let body = parts::body_of(self.operation)?;
        let name = self.body_name();
        let ty = if self.progenitors.is_some() {
            parts::type_of(self.api, self.names, value_type(&body.media[0]))
        } else if self.body_can_be_cloned() {
            quote!(runtime::Payload)
        } else {
            quote!(runtime::Payload<runtime::reqwest::Body>)
        };
        let ty = parts::optional(&ty, body.required);
        Some(quote!(#name: runtime::Argument<#ty>,))
    }

    /// Returns the builder's field for the body with its initial value, if the operation has a
    /// body.
    pub(super) fn body_value(&self) -> Option<TokenStream> {
        let body = parts::body_of(self.operation)?;
        let (name, value) = (self.body_name(), initial("body", body.required));
        Some(quote!(#name: #value,))
    }

    /// Returns the statement that adds the body to the request, if the operation has a body.
    pub(super) fn body_use(&self) -> Option<TokenStream> {
        let body = parts::body_of(self.operation)?;
        let name = self.body_name();
        Some(if body.required {
            quote!(let request = self.#name?.on(request);)
        } else {
            quote! {
                let request = match self.#name? {
                    Some(body) => body.on(request),
                    None => request,
                };
            }
        })
    }

    /// Returns a setter of the body for each media type.
    pub(super) fn body_setters(&self) -> Vec<TokenStream> {
        let Some(body) = parts::body_of(self.operation) else {
            return Vec::new();
        };
        setter_names(self.operation, &self.names.of(self.operation).parameters)
            .into_iter()
            .map(|(name, media)| self.body_setter(body, media, &ident(&name)))
            .collect()
    }

    /// Returns the setter of the body for a media type.
    fn body_setter(&self, body: &Body, media: &Media, name: &Ident) -> TokenStream {
        let docs = docs(&text::body(body, media));
        let field = self.body_name();
        // The caller chooses a media type out of a range.
        let media_type = media.name.contains('*').then(|| quote!(media_type: &str,));
        let ty = match media.kind {
            MediaKind::Json | MediaKind::Text | MediaKind::Form => {
                parts::type_of(self.api, self.names, value_type(media))
            }
            MediaKind::Multipart => quote!(runtime::Multipart),
            MediaKind::EventStream | MediaKind::Bytes => quote!(runtime::reqwest::Body),
            MediaKind::Items => {
                let item = parts::type_of(self.api, self.names, value_type(media));
                quote!(runtime::ItemBody<#item>)
            }
            MediaKind::TypedEvents => {
                let data = parts::type_of(self.api, self.names, value_type(media));
                quote!(runtime::ItemBody<runtime::TypedEvent<#data>>)
            }
            MediaKind::Parts => self.positioned(media, positions::whole_type),
            MediaKind::PartStream => {
                let part = self.positioned(media, positions::item_type);
                quote!(runtime::PartBody<#part>)
            }
        };
        let argument = parts::argument(&self.transport(), "argument", "body");
        let payload = self.payload(media, &ty);
        let some = (!body.required).then(|| quote!(.map(Some)));
        let has_parts = media.parts.is_some() && self.progenitors.is_none();
        let encodings = has_parts.then(|| {
            let encodings = self.positioned(media, positions::encodings);
            quote!(const PARTS: runtime::Encodings = #encodings;)
        });
        quote! {
            #docs
            pub fn #name<V: Value<#ty>>(mut self, #media_type value: V) -> Self {
                #encodings
                self.#field = #argument #payload #some;
                self
            }
        }
    }

    /// Returns the call that converts a value of the type `ty` into a `Payload`, or `None` if
    /// progenitor writes the request, which then encodes the value itself.
    fn payload(&self, media: &Media, ty: &TokenStream) -> Option<TokenStream> {
        if self.progenitors.is_some() {
            return None;
        }
        let name = &media.name;
        let media_type = match media.kind {
            _ if name.contains('*') => quote!(media_type),
            // The boundary is appended to the media type, which must have no parameter before it.
            MediaKind::Multipart => {
                let name = essence(name);
                quote!(#name)
            }
            _ => quote!(#name),
        };
        let payload = match media.kind {
            MediaKind::Json => quote!(json(#media_type, &value)),
            MediaKind::Text => quote!(text(#media_type, &value)),
            MediaKind::Form => {
                let styles = Self::form_styles(media);
                quote!(form(#media_type, &value, &[#(#styles),*]))
            }
            MediaKind::Multipart => quote!(multipart(#media_type, value)),
            MediaKind::EventStream | MediaKind::Bytes => quote!(bytes(#media_type, value)),
            MediaKind::Items | MediaKind::TypedEvents => quote!(items(#media_type, value)),
            MediaKind::Parts | MediaKind::PartStream => {
                let write = ident(if media.kind == MediaKind::Parts {
                    "parts"
                } else {
                    "part_stream"
                });
                quote!(#write(#media_type, value, &PARTS))
            }
        };
        let is_in_memory = is_in_memory(media.kind);
        // All setters fill one field, so a body in memory gets the type of a stream if the body of
        // another media type is one.
        let into_stream = (is_in_memory && !self.body_can_be_cloned())
            .then(|| quote!(.map(runtime::Payload::into_stream)));
        Some(quote!(.and_then(|value: #ty| runtime::Payload::#payload) #into_stream))
    }

    /// Returns what `write` does of the parts of a media type.
    fn positioned(
        &self,
        media: &Media,
        write: fn(&PartList, &Words<'_>) -> TokenStream,
    ) -> TokenStream {
        let list = media.parts.as_ref();
        let list = list.expect("a body of parts has their list");
        parts::positioned(self.api, self.names, list, write)
    }

    /// Returns the name of the builder's field for the body.
    fn body_name(&self) -> Ident {
        ident(&self.names.of(self.operation).body)
    }

    /// Returns an expression of name, style and `explode` for each property of a form whose
    /// `encoding` says how it is written.
    fn form_styles(media: &Media) -> Vec<TokenStream> {
        let fields = media.fields.iter();
        fields
            .map(|field| {
                let property = &field.wire;
                match field.encoding {
                    ParameterEncoding::Style { style, explode, .. } => {
                        let style = style_tokens(style);
                        quote!((#property, #style, #explode))
                    }
                    ParameterEncoding::Content(_) => {
                        quote!((#property, runtime::Style::Json, false))
                    }
                }
            })
            .collect()
    }
}

/// Returns whether the builder of an operation can be cloned: whether every body that it may hold is
/// in memory.
pub(in crate::client) fn can_be_cloned(operation: &Operation) -> bool {
    let media = parts::body_of(operation)
        .into_iter()
        .flat_map(|body| &body.media);
    media.map(|media| media.kind).all(is_in_memory)
}

/// Returns whether a body is written before it is sent.
fn is_in_memory(kind: MediaKind) -> bool {
    matches!(
        kind,
        MediaKind::Json | MediaKind::Form | MediaKind::Text | MediaKind::Parts
    )
}

/// Returns the name of the setter of the body for each media type. The setter for JSON, or for the
/// first media type without JSON, is `body`; the others are called `body_form` and the like.
/// `parameters` are the names of the other setters.
pub(in crate::client) fn setter_names<'o>(
    operation: &'o Operation,
    parameters: &[String],
) -> Vec<(String, &'o Media)> {
    let Some(body) = parts::body_of(operation) else {
        return Vec::new();
    };
    let mut taken: HashSet<String> = parameters.iter().cloned().collect();
    let mut media: Vec<&Media> = body.media.iter().collect();
    media.sort_by_key(|media| media.kind != MediaKind::Json);
    media
        .into_iter()
        .enumerate()
        .map(|(at, media)| {
            let name = if at == 0 {
                "body".to_owned()
            } else {
                format!("body_{}", kind_word(media, &body.media))
            };
            (identifier(&unique(&mut taken, name)), media)
        })
        .collect()
}

/// Returns the type of the value that a caller sets for a media type, which is any JSON if the
/// media type has no type.
pub(in crate::client) fn value_type(media: &Media) -> &TypeRef {
    media.ty.as_ref().unwrap_or(&TypeRef::Any)
}

/// Returns the word for a media type in the name of its setter, such as `form` in `body_form`.
fn kind_word(media: &Media, all: &[Media]) -> String {
    let essence = essence(&media.name);
    let (kind, subtype) = essence.split_once('/').unwrap_or_default();
    // A range such as `image/*` has no subtype to be named after.
    let is_range = |media: &Media| media.kind == MediaKind::Bytes && media.name.contains("/*");
    match media.kind {
        MediaKind::Form => "form".to_owned(),
        MediaKind::Multipart => "multipart".to_owned(),
        MediaKind::Text if subtype == "*" => "text".to_owned(),
        MediaKind::Bytes if subtype == "*" => {
            match all.iter().filter(|media| is_range(media)).count() {
                1 => "bytes".to_owned(),
                _ if kind == "*" => "any".to_owned(),
                _ => snake(kind),
            }
        }
        MediaKind::Json
        | MediaKind::Parts
        | MediaKind::PartStream
        | MediaKind::Text
        | MediaKind::EventStream
        | MediaKind::Items
        | MediaKind::TypedEvents
        | MediaKind::Bytes => snake(subtype),
    }
}
