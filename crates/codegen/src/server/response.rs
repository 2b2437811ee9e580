//! What an operation may return: one enum of successes, one of errors, neither able to say what is not listed.

use std::collections::HashMap;

use contract::model::StatusKey;
use heck::ToShoutySnakeCase;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::payload::{self, Payload};
use super::tag::{method_and_path, type_names};
use crate::ir::{Api, Operation, Response};
use crate::tokens::{docs, ident};

/// One of the two enums.
struct Side<'a> {
    api: &'a Api<'a>,
    operation: &'a Operation,
    name: Ident,
    responses: Vec<&'a Response>,
    is_error: bool,
    /// Which statuses `default` may carry here.
    default: Option<(u16, u16)>,
}

pub(super) fn items(api: &Api<'_>, operation: &Operation) -> TokenStream {
    let [_, response, error] = type_names(operation);
    let has_success = operation.responses.iter().any(Response::is_success);
    let success = Side {
        api,
        operation,
        name: response,
        responses: operation
            .responses
            .iter()
            .filter(|listed| is_in_responses(listed, has_success))
            .collect(),
        is_error: false,
        default: (!has_success).then_some((200, 399)),
    };
    let failure = Side {
        api,
        operation,
        name: error,
        responses: operation
            .responses
            .iter()
            .filter(|listed| !listed.is_success())
            .collect(),
        is_error: true,
        default: (!has_success).then_some((400, 599)),
    };
    let structures = operation.responses.iter().filter_map(|listed| {
        match Payload::of(&operation.pascal, listed) {
            Payload::Struct(name, false) => Some(payload::structure(api, &name, listed, None)),
            _ => None,
        }
    });
    let [success, failure] = [success.items(), failure.items()];
    quote!(#success #failure #(#structures)*)
}

/// Where an operation lists no success, its `default` may be one.
fn is_in_responses(listed: &Response, has_success: bool) -> bool {
    listed.is_success() || (!has_success && listed.status == StatusKey::Default)
}

/// The constant that describes a response.
pub(super) fn listed_constant(response: &Response) -> Ident {
    ident(&response.name.to_shouty_snake_case())
}

/// The variant of a response.
pub(super) fn variant_name(response: &Response) -> Ident {
    ident(&response.name)
}

pub(super) fn is_dynamic(response: &Response) -> bool {
    !matches!(response.status, StatusKey::Code(_))
}

impl Side<'_> {
    fn items(&self) -> TokenStream {
        let Self {
            name, operation, ..
        } = self;
        let does = if self.is_error {
            "refuses with"
        } else {
            "returns"
        };
        let words = docs(&format!("What {} {does}.", method_and_path(operation)));
        let is_clone = self
            .responses
            .iter()
            .all(|response| payload::is_clone(response));
        let derives = if is_clone {
            quote!(Debug, Clone)
        } else {
            quote!(Debug)
        };
        let variants = self.responses.iter().map(|response| self.variant(response));
        let constants = self
            .responses
            .iter()
            .map(|response| listed(&operation.pascal, response));
        let constants = (!self.responses.is_empty()).then(|| quote!(impl #name { #(#constants)* }));
        let respond = self.respond();
        let statuses = self.statuses();
        let conversions = self.conversions();
        quote! {
            #words
            #[derive(#derives)]
            pub enum #name { #(#variants),* }
            #constants
            #respond
            #statuses
            #conversions
        }
    }

    fn payload(&self, response: &Response) -> Payload {
        Payload::of(&self.operation.pascal, response)
    }

    fn variant(&self, response: &Response) -> TokenStream {
        let description = response.description.trim();
        let words = docs(format!("{}: {description}", response.status).trim_end_matches(": "));
        let variant = variant_name(response);
        let payload = self.payload(response);
        let ty = payload.ty(self.api);
        if !is_dynamic(response) {
            let ty = ty.map(|ty| quote!((#ty)));
            return quote!(#words #variant #ty);
        }
        let name = &self.name;
        let status = match response.status {
            StatusKey::Range(digit) => {
                let digit = proc_macro2::Literal::u8_unsuffixed(digit);
                quote!(server::RangeStatus<#name, #digit>)
            }
            StatusKey::Code(_) | StatusKey::Default => quote!(server::DefaultStatus<#name>),
        };
        let field = ty.map(|ty| {
            let field = payload_field(&payload);
            quote! {
                /// What goes with it.
                #field: #ty,
            }
        });
        quote! {
            #words
            #variant {
                /// The status.
                status: #status,
                #field
            }
        }
    }

    fn respond(&self) -> TokenStream {
        let name = &self.name;
        let arms = self.responses.iter().map(|response| {
            let variant = variant_name(response);
            let constant = listed_constant(response);
            let payload = self.payload(response);
            let field = payload_field(&payload);
            let (pattern, listed) = if is_dynamic(response) {
                let field = payload.ty(self.api).map(|_| quote!(, #field));
                (
                    quote!({ status #field }),
                    quote!(Self::#constant.at(status.get())),
                )
            } else {
                let field = payload.ty(self.api).map(|_| quote!((#field)));
                (quote!(#field), quote!(Self::#constant))
            };
            let response = match &payload {
                Payload::Nothing => quote!(#listed.empty()),
                Payload::Body(media) => {
                    let write = payload::write(media, &quote!(body));
                    quote!(#listed.#write)
                }
                Payload::Handshake => quote!(#listed.handshake(handshake)),
                Payload::Struct(..) => quote!(response.respond(#listed)),
            };
            quote!(Self::#variant #pattern => #response)
        });
        quote! {
            impl server::IntoResponse for #name {
                fn into_response(self) -> server::Response {
                    match self { #(#arms),* }
                }
            }
        }
    }

    /// What ranges and `default` may not carry, if there are such.
    fn statuses(&self) -> Option<TokenStream> {
        if !self.responses.iter().any(|response| is_dynamic(response)) {
            return None;
        }
        let name = &self.name;
        let [_, response, error] = type_names(self.operation);
        let listed = self
            .operation
            .responses
            .iter()
            .filter(|response| !is_dynamic(response))
            .map(|listed| {
                let owner = if listed.is_success() {
                    &response
                } else {
                    &error
                };
                let constant = listed_constant(listed);
                quote!(#owner::#constant.number())
            });
        let digits: Vec<_> = self
            .operation
            .responses
            .iter()
            .filter_map(|response| match response.status {
                StatusKey::Range(digit) => Some(proc_macro2::Literal::u8_unsuffixed(digit)),
                _ => None,
            })
            .collect();
        let ranges =
            (!digits.is_empty()).then(|| quote!(const RANGES: &'static [u8] = &[#(#digits),*];));
        let default = self.default.map(|(from, to)| {
            let [from, to] = [from, to].map(proc_macro2::Literal::u16_unsuffixed);
            quote!(const DEFAULT: std::ops::RangeInclusive<u16> = #from..=#to;)
        });
        Some(quote! {
            impl server::Statuses for #name {
                const LISTED: &'static [u16] = &[#(#listed),*];
                #ranges
                #default
            }
        })
    }

    fn conversions(&self) -> TokenStream {
        let name = &self.name;
        let mut by_payload: HashMap<String, (TokenStream, Vec<&Response>)> = HashMap::new();
        let mut order = Vec::new();
        for response in &self.responses {
            if let Some(ty) = self.payload(response).ty(self.api) {
                let key = ty.to_string();
                by_payload
                    .entry(key.clone())
                    .or_insert_with(|| {
                        order.push(key);
                        (ty, Vec::new())
                    })
                    .1
                    .push(response);
            }
        }
        let conversions = order.iter().map(|key| {
            let (ty, responses) = &by_payload[key];
            if responses.iter().any(|response| is_dynamic(response)) {
                return Some(self.with_status(ty, responses));
            }
            let [only] = responses.as_slice() else {
                return None;
            };
            // An error's body says nothing of its status, so only named responses become errors by themselves.
            if self.is_error && !matches!(self.payload(only), Payload::Struct(..)) {
                return None;
            }
            let variant = variant_name(only);
            let field = payload_field(&self.payload(only));
            Some(quote! {
                impl From<#ty> for #name {
                    fn from(#field: #ty) -> Self { Self::#variant(#field) }
                }
            })
        });
        quote!(#(#conversions)*)
    }

    /// A status and what goes with it, as whichever variant takes that status.
    fn with_status(&self, ty: &TokenStream, responses: &[&Response]) -> TokenStream {
        let name = &self.name;
        let field = payload_field(&self.payload(responses[0]));
        let fixed = responses
            .iter()
            .filter(|response| !is_dynamic(response))
            .map(|response| {
                let (variant, constant) = (variant_name(response), listed_constant(response));
                quote!(#variant = #constant,)
            });
        let dynamic = responses
            .iter()
            .filter(|response| is_dynamic(response))
            .map(|response| {
                let variant = variant_name(response);
                quote!(#variant,)
            });
        quote!(server::from_status!(#name, #field: #ty, [#(#fixed)*], [#(#dynamic)*]);)
    }
}

fn payload_field(payload: &Payload) -> Ident {
    ident(match payload {
        Payload::Nothing | Payload::Body(_) => "body",
        Payload::Handshake => "handshake",
        Payload::Struct(..) => "response",
    })
}

/// `server::ListedResponse::code(200).media(&["application/json"])`: what is sent, and documented.
fn listed(pascal: &str, response: &Response) -> TokenStream {
    let name = listed_constant(response);
    let status = match response.status {
        StatusKey::Code(code) => {
            let code = proc_macro2::Literal::u16_unsuffixed(code);
            quote!(server::ListedResponse::code(#code))
        }
        StatusKey::Range(digit) => {
            let digit = proc_macro2::Literal::u8_unsuffixed(digit);
            quote!(server::ListedResponse::range(#digit))
        }
        StatusKey::Default => quote!(server::ListedResponse::default()),
    };
    let media = match Payload::of(pascal, response) {
        Payload::Struct(_, _) if response.media.is_empty() => None,
        Payload::Struct(name, true) => Some(quote!(.media(responses::#name::MEDIA))),
        Payload::Struct(name, false) => Some(quote!(.media(#name::MEDIA))),
        Payload::Nothing | Payload::Handshake => None,
        Payload::Body(media) => {
            let name = &media.name;
            Some(quote!(.media(&[#name])))
        }
    };
    quote!(pub(crate) const #name: server::ListedResponse = #status #media;)
}
