//! What an operation may answer: one enum of successes, one of errors, neither able to say what is not listed.

use std::collections::HashMap;

use contract::model::StatusKey;
use heck::ToShoutySnakeCase;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::payload::{self, Payload};
use super::tag::{method_and_path, type_names};
use crate::ir::{Answer, Api, Operation};
use crate::tokens::{docs, ident};

/// One of the two enums.
struct Side<'a> {
    api: &'a Api<'a>,
    operation: &'a Operation,
    name: Ident,
    answers: Vec<&'a Answer>,
    is_error: bool,
    /// Which statuses `default` may carry here.
    default: Option<(u16, u16)>,
}

pub(super) fn items(api: &Api<'_>, operation: &Operation) -> TokenStream {
    let [_, answer, error] = type_names(operation);
    let has_success = operation.answers.iter().any(Answer::is_success);
    let success = Side {
        api,
        operation,
        name: answer,
        answers: operation
            .answers
            .iter()
            .filter(|listed| is_in_answers(listed, has_success))
            .collect(),
        is_error: false,
        default: (!has_success).then_some((200, 399)),
    };
    let failure = Side {
        api,
        operation,
        name: error,
        answers: operation
            .answers
            .iter()
            .filter(|listed| !listed.is_success())
            .collect(),
        is_error: true,
        default: (!has_success).then_some((400, 599)),
    };
    let structures = operation.answers.iter().filter_map(|listed| {
        match Payload::of(&operation.pascal, listed) {
            Payload::Struct(name, false) => Some(payload::structure(api, &name, listed, None)),
            _ => None,
        }
    });
    let [success, failure] = [success.items(), failure.items()];
    quote!(#success #failure #(#structures)*)
}

/// Where an operation lists no success, its `default` may be one.
fn is_in_answers(listed: &Answer, has_success: bool) -> bool {
    listed.is_success() || (!has_success && listed.status == StatusKey::Default)
}

/// The constant that describes an answer.
pub(super) fn reply_constant(answer: &Answer) -> Ident {
    ident(&answer.name.to_shouty_snake_case())
}

/// The variant of an answer.
pub(super) fn variant_name(answer: &Answer) -> Ident {
    ident(&answer.name)
}

pub(super) fn is_dynamic(answer: &Answer) -> bool {
    !matches!(answer.status, StatusKey::Code(_))
}

impl Side<'_> {
    fn items(&self) -> TokenStream {
        let Self {
            name, operation, ..
        } = self;
        let does = if self.is_error {
            "refuses with"
        } else {
            "answers"
        };
        let words = docs(&format!("What {} {does}.", method_and_path(operation)));
        let is_clone = self.answers.iter().all(|answer| payload::is_clone(answer));
        let derives = if is_clone {
            quote!(Debug, Clone)
        } else {
            quote!(Debug)
        };
        let variants = self.answers.iter().map(|answer| self.variant(answer));
        let constants = self
            .answers
            .iter()
            .map(|answer| reply(&operation.pascal, answer));
        let constants = (!self.answers.is_empty()).then(|| quote!(impl #name { #(#constants)* }));
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

    fn payload(&self, answer: &Answer) -> Payload {
        Payload::of(&self.operation.pascal, answer)
    }

    fn variant(&self, answer: &Answer) -> TokenStream {
        let description = answer.description.trim();
        let words = docs(format!("{}: {description}", answer.status).trim_end_matches(": "));
        let variant = variant_name(answer);
        let payload = self.payload(answer);
        let ty = payload.ty(self.api);
        if !is_dynamic(answer) {
            let ty = ty.map(|ty| quote!((#ty)));
            return quote!(#words #variant #ty);
        }
        let name = &self.name;
        let status = match answer.status {
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
        let arms = self.answers.iter().map(|answer| {
            let variant = variant_name(answer);
            let constant = reply_constant(answer);
            let payload = self.payload(answer);
            let field = payload_field(&payload);
            let (pattern, reply) = if is_dynamic(answer) {
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
                Payload::Nothing => quote!(#reply.empty()),
                Payload::Body(media) => {
                    let write = payload::write(media, &quote!(body));
                    quote!(#reply.#write)
                }
                Payload::Handshake => quote!(#reply.handshake(handshake)),
                Payload::Struct(..) => quote!(response.respond(#reply)),
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
        if !self.answers.iter().any(|answer| is_dynamic(answer)) {
            return None;
        }
        let name = &self.name;
        let [_, answer, error] = type_names(self.operation);
        let listed = self
            .operation
            .answers
            .iter()
            .filter(|answer| !is_dynamic(answer))
            .map(|listed| {
                let owner = if listed.is_success() { &answer } else { &error };
                let constant = reply_constant(listed);
                quote!(#owner::#constant.number())
            });
        let digits: Vec<_> = self
            .operation
            .answers
            .iter()
            .filter_map(|answer| match answer.status {
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
        let mut by_payload: HashMap<String, (TokenStream, Vec<&Answer>)> = HashMap::new();
        let mut order = Vec::new();
        for answer in &self.answers {
            if let Some(ty) = self.payload(answer).ty(self.api) {
                let key = ty.to_string();
                by_payload
                    .entry(key.clone())
                    .or_insert_with(|| {
                        order.push(key);
                        (ty, Vec::new())
                    })
                    .1
                    .push(answer);
            }
        }
        let conversions = order.iter().map(|key| {
            let (ty, answers) = &by_payload[key];
            if answers.iter().any(|answer| is_dynamic(answer)) {
                return Some(self.with_status(ty, answers));
            }
            let [only] = answers.as_slice() else {
                return None;
            };
            // An error's body says nothing of its status, so only named answers become errors by themselves.
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
    fn with_status(&self, ty: &TokenStream, answers: &[&Answer]) -> TokenStream {
        let name = &self.name;
        let field = payload_field(&self.payload(answers[0]));
        let fixed = answers
            .iter()
            .filter(|answer| !is_dynamic(answer))
            .map(|answer| {
                let (variant, constant) = (variant_name(answer), reply_constant(answer));
                quote!(#variant = #constant,)
            });
        let dynamic = answers
            .iter()
            .filter(|answer| is_dynamic(answer))
            .map(|answer| {
                let variant = variant_name(answer);
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

/// `server::Reply::code(200).media(&["application/json"])`: what is sent, and documented.
fn reply(pascal: &str, answer: &Answer) -> TokenStream {
    let name = reply_constant(answer);
    let status = match answer.status {
        StatusKey::Code(code) => {
            let code = proc_macro2::Literal::u16_unsuffixed(code);
            quote!(server::Reply::code(#code))
        }
        StatusKey::Range(digit) => {
            let digit = proc_macro2::Literal::u8_unsuffixed(digit);
            quote!(server::Reply::range(#digit))
        }
        StatusKey::Default => quote!(server::Reply::default()),
    };
    let media = match Payload::of(pascal, answer) {
        Payload::Struct(_, _) if answer.media.is_empty() => None,
        Payload::Struct(name, true) => Some(quote!(.media(responses::#name::MEDIA))),
        Payload::Struct(name, false) => Some(quote!(.media(#name::MEDIA))),
        Payload::Nothing | Payload::Handshake => None,
        Payload::Body(media) => {
            let name = &media.name;
            Some(quote!(.media(&[#name])))
        }
    };
    quote!(pub(crate) const #name: server::Reply = #status #media;)
}
