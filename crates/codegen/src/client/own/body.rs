//! The body: a setter for each media type that the contract lists.

use std::collections::HashSet;

use contract::model::Style;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::super::carrier::essence;
use super::super::{parts, text};
use super::Own;
use super::request::style_tokens;
use crate::ir::{Body, Media, MediaKind, TypeRef};
use crate::names::{identifier, snake, unique};
use crate::tokens::{docs, ident};

impl Own<'_> {
    /// Whether every body is in memory when it is given, so that the builder can be cloned.
    pub(super) fn body_is_whole(&self) -> bool {
        let media = self.operation.body.iter().flat_map(|body| &body.media);
        media
            .map(|media| media.kind)
            .all(|kind| matches!(kind, MediaKind::Json | MediaKind::Form | MediaKind::Text))
    }

    pub(super) fn body_field(&self) -> Option<TokenStream> {
        let body = self.operation.body.as_ref()?;
        let name = &self.locals.body;
        let payload = if self.body_is_whole() {
            quote!(runtime::Payload)
        } else {
            quote!(runtime::Payload<runtime::reqwest::Body>)
        };
        Some(if body.required {
            quote!(#name: Result<#payload, String>,)
        } else {
            quote!(#name: Result<Option<#payload>, String>,)
        })
    }

    pub(super) fn body_value(&self) -> Option<TokenStream> {
        let body = self.operation.body.as_ref()?;
        let name = &self.locals.body;
        Some(if body.required {
            let missing = text::missing("body");
            quote!(#name: Err(#missing.to_owned()),)
        } else {
            quote!(#name: Ok(None),)
        })
    }

    /// The statement that puts the body into the request.
    pub(super) fn body_use(&self, body: &Ident, request: &Ident) -> TokenStream {
        if self
            .operation
            .body
            .as_ref()
            .is_some_and(|body| body.required)
        {
            quote!(#request = #body.on(#request);)
        } else {
            quote!(if let Some(#body) = #body { #request = #body.on(#request); })
        }
    }

    /// The setters: `body` for the first media type, JSON before others, `body_form` and the like beside it.
    pub(super) fn body_setters(&self) -> Vec<TokenStream> {
        let Some(body) = &self.operation.body else {
            return Vec::new();
        };
        let mut taken: HashSet<String> = self
            .names
            .of(self.operation)
            .parameters
            .iter()
            .cloned()
            .collect();
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
                let name = ident(&identifier(&unique(&mut taken, name)));
                self.body_setter(body, media, &name)
            })
            .collect()
    }

    fn body_setter(&self, body: &Body, media: &Media, name: &Ident) -> TokenStream {
        let name_as_written = &media.name;
        let words = match body.description.as_deref().map(str::trim) {
            None | Some("") => format!("The body, as `{name_as_written}`."),
            Some(description) => format!("{description}\n\nThe body, as `{name_as_written}`."),
        };
        let docs = docs(&words);
        let field = &self.locals.body;
        let any = TypeRef::Any;
        let ty = media.ty.as_ref().unwrap_or(&any);
        let misfit = text::misfit(self.api, "body", ty);
        // Any of a range is chosen by the caller.
        let is_range = media.name.contains('*');
        let argument = is_range.then(|| quote!(media_type: &str,));
        let media_type = if is_range {
            quote!(media_type)
        } else {
            quote!(#name_as_written)
        };
        let (ty, made) = match media.kind {
            MediaKind::Json => (
                parts::type_of(self.api, ty),
                quote!(runtime::Payload::json(#media_type, &value)),
            ),
            MediaKind::Text => (
                parts::type_of(self.api, ty),
                quote!(runtime::Payload::text(#media_type, &value)),
            ),
            MediaKind::Form => {
                let styles = self.form_styles(media);
                let made = quote!(runtime::Payload::form(#media_type, &value, &[#(#styles),*]));
                (parts::type_of(self.api, ty), made)
            }
            MediaKind::Multipart => {
                let essence = essence(name_as_written);
                let media_type = if is_range {
                    media_type
                } else {
                    quote!(#essence)
                };
                (
                    quote!(runtime::Multipart),
                    quote!(runtime::Payload::multipart(#media_type, value)),
                )
            }
            MediaKind::EventStream | MediaKind::Bytes => (
                quote!(runtime::reqwest::Body),
                quote!(runtime::Payload::bytes(#media_type, value)),
            ),
        };
        let whole = matches!(
            media.kind,
            MediaKind::Json | MediaKind::Form | MediaKind::Text
        );
        let into =
            (whole && !self.body_is_whole()).then(|| quote!(.map(runtime::Payload::into_stream)));
        let some = (!body.required).then(|| quote!(.map(Some)));
        quote! {
            #docs
            pub fn #name<V>(mut self, #argument value: V) -> Self
            where
                V: TryInto<#ty>,
            {
                self.#field = value
                    .try_into()
                    .map_err(|_| #misfit.to_owned())
                    .and_then(|value| #made)
                    #into
                    #some;
                self
            }
        }
    }

    /// The properties of a form that the contract gives a style of their own.
    fn form_styles(&self, media: &Media) -> Vec<TokenStream> {
        let operation = &self.api.contract.operations[self.operation.index];
        let content = operation.request_body.iter().flat_map(|body| &body.content);
        let encodings = content
            .filter(|content| content.name == media.name)
            .flat_map(|content| &content.encoding);
        encodings
            .filter(|(_, encoding)| encoding.style.is_some() || encoding.explode.is_some())
            .map(|(property, encoding)| {
                let style = encoding.style.unwrap_or(Style::Form);
                let explode = encoding.explode.unwrap_or(style == Style::Form);
                let style = style_tokens(style);
                quote!((#property, #style, #explode))
            })
            .collect()
    }
}

/// The word for a media type in a setter's name, beside others.
fn kind_word(media: &Media, all: &[Media]) -> String {
    let essence = essence(&media.name);
    let (kind, subtype) = essence.split_once('/').unwrap_or_default();
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
        MediaKind::Json | MediaKind::Text | MediaKind::EventStream | MediaKind::Bytes => {
            snake(subtype)
        }
    }
}
