//! The responses of an operation: an enum of successes and one of errors, whose attributes say the
//! statuses.

use contract::model::StatusKey;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::names::{method_and_path, type_names};
use super::payload::{self, Holder, Payload, media_attribute};
use crate::ir::{Api, MediaKind, Operation, Response, TypeRef};
use crate::tokens::{docs, ident};

/// One of the two enums of an operation: that of its successes, or that of its errors.
struct Side<'a> {
    api: &'a Api<'a>,
    operation: &'a Operation,
    name: Ident,
    /// The name of the operation's other enum: that of its errors if this one has the successes.
    beside: Ident,
    words: &'static str,
    responses: Vec<&'a Response>,
    /// The first and the last status that `default` may have in this enum, if they are not the
    /// usual ones.
    default: Option<(u16, u16)>,
}

/// Generates the enums of an operation's successes and errors, and the structs that their variants
/// hold, except for those in the module `responses`.
pub(super) fn items(api: &Api<'_>, operation: &Operation) -> TokenStream {
    let [_, response, error] = type_names(operation);
    let has_success = operation.responses.iter().any(Response::is_success);
    let side = |is_error: bool| Side {
        api,
        operation,
        name: if is_error { &error } else { &response }.clone(),
        beside: if is_error { &response } else { &error }.clone(),
        words: if is_error { "errors" } else { "responses" },
        responses: listed(operation, is_error),
        // The ranges of the two enums do not overlap, so that each status is in one of them only.
        default: (!has_success).then_some(if is_error { (400, 599) } else { (200, 399) }),
    };
    // Shared structs are in the module `responses`.
    let structures = operation.responses.iter().filter_map(|listed| {
        match Payload::of(&operation.pascal, listed) {
            Payload::Struct(name, false) => Some(payload::structure(api, &name, listed, None)),
            _ => None,
        }
    });
    let [success, failure] = [side(false).items(), side(true).items()];
    quote!(#success #failure #(#structures)*)
}

/// Returns the responses that are variants of the enum of successes, or of that of errors.
pub(super) fn listed(operation: &Operation, is_error: bool) -> Vec<&Response> {
    let has_success = operation.responses.iter().any(Response::is_success);
    operation
        .responses
        .iter()
        .filter(|listed| !listed.is_rejection)
        .filter(|listed| match listed.status {
            // Without a listed success, `default` is in both enums: the contract leaves open
            // which of them it is, and a handler must be able to return either.
            StatusKey::Default => is_error || !has_success,
            _ => listed.is_success() != is_error,
        })
        .collect()
}

/// Returns the type of the body of an operation's only success, if that is JSON and the response has
/// nothing else.
pub(crate) fn only_body(operation: &Operation) -> Option<&TypeRef> {
    let successes = listed(operation, false);
    let [response] = successes.as_slice() else {
        return None;
    };
    let is_body = matches!(Payload::of("", response), Payload::Body(_)) && !is_dynamic(response);
    let media = response.media.first().filter(|_| is_body)?;
    media.ty.as_ref().filter(|_| media.kind == MediaKind::Json)
}

/// Returns whether the successes of an operation can be cloned.
pub(crate) fn is_clone(operation: &Operation) -> bool {
    let successes = listed(operation, false);
    successes.into_iter().all(payload::is_clone)
}

/// Returns whether the handler chooses the status, within a range or for `default`.
fn is_dynamic(response: &Response) -> bool {
    !matches!(response.status, StatusKey::Code(_))
}

impl Side<'_> {
    /// Generates the enum of the successes or of the errors.
    fn items(&self) -> TokenStream {
        let Self { name, beside, .. } = self;
        let words = docs(&format!(
            "The {} of {}.",
            self.words,
            method_and_path(self.operation)
        ));
        let is_clone = self
            .responses
            .iter()
            .all(|response| payload::is_clone(response))
            .then(|| quote!(Clone,));
        let is_dynamic = self.responses.iter().any(|response| is_dynamic(response));
        let responses = is_dynamic.then(|| {
            let default = self.default.map(|(first, last)| {
                let [first, last] = [first, last].map(Literal::u16_unsuffixed);
                quote!(, default = #first..=#last)
            });
            quote!(#[responses(beside = #beside #default)])
        });
        let variants = self.responses.iter().map(|response| self.variant(response));
        let encodings = self.encodings();
        quote! {
            #words
            #[derive(Debug, #is_clone server::Responses)]
            #responses
            pub enum #name { #(#variants),* }
            #encodings
        }
    }

    /// Generates the constants with the encodings of the parts that variants have.
    fn encodings(&self) -> Option<TokenStream> {
        let variants: Vec<Ident> = self
            .responses
            .iter()
            .map(|response| ident(&response.name))
            .collect();
        let bodies = variants.iter().zip(&self.responses);
        let bodies = bodies.filter_map(|(variant, response)| {
            match Payload::of(&self.operation.pascal, response) {
                Payload::Body(_) => Some((Some(variant), response.media.first()?)),
                Payload::Nothing | Payload::Struct(..) | Payload::Handshake => None,
            }
        });
        payload::encodings(self.api, &self.name, None, bodies)
    }

    /// Generates the variant of a response.
    fn variant(&self, response: &Response) -> TokenStream {
        let payload = Payload::of(&self.operation.pascal, response);
        let description = response.description.trim();
        let words = docs(match payload {
            // The struct has the whole description.
            Payload::Struct(..) => description.lines().next().unwrap_or_default(),
            Payload::Nothing | Payload::Body(_) | Payload::Handshake => description,
        });
        let status = match response.status {
            StatusKey::Code(code) => {
                let code = Literal::u16_unsuffixed(code);
                quote!(#code)
            }
            StatusKey::Range(digit) => {
                let range = format!("{digit}XX");
                quote!(#range)
            }
            StatusKey::Default => quote!(default),
        };
        let variant = ident(&response.name);
        let content = match &payload {
            Payload::Body(media) => {
                let holder = Holder {
                    owner: &self.name,
                    variant: Some(&variant),
                };
                let media = media_attribute(media.kind, media, &holder);
                Some(quote!(, #media))
            }
            Payload::Handshake => Some(quote!(, handshake)),
            Payload::Nothing | Payload::Struct(..) => None,
        };
        let fields = self.fields(response, &payload);
        quote!(#words #[response(#status #content)] #variant #fields)
    }

    /// Generates the fields of a variant: what the response holds, and its status unless that is
    /// fixed.
    fn fields(&self, response: &Response, payload: &Payload) -> Option<TokenStream> {
        let name = &self.name;
        let ty = payload.ty(self.api);
        let status = match response.status {
            StatusKey::Code(_) => return ty.map(|ty| quote!((#ty))),
            StatusKey::Range(digit) => {
                let digit = Literal::u8_unsuffixed(digit);
                quote!(server::RangeStatus<#name, #digit>)
            }
            StatusKey::Default => quote!(server::DefaultStatus<#name>),
        };
        let field = ty.map(|ty| {
            let (field, words) = match payload {
                Payload::Nothing | Payload::Body(_) => ("body", "The body."),
                Payload::Handshake => ("handshake", "The headers."),
                Payload::Struct(..) => ("response", "The body and headers."),
            };
            let (field, words) = (ident(field), docs(words));
            quote!(#words #field: #ty,)
        });
        Some(quote! {
            {
                /// The status.
                status: #status,
                #field
            }
        })
    }
}
