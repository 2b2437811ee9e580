//! The response: what each status is read as, and the enums where a side has bodies of different type.

use proc_macro2::TokenStream;
use quote::quote;

use super::super::carrier::essence;
use super::super::parts;
use super::super::responses::{Arm, Body, Choice, Side};
use super::Own;
use crate::tokens::{docs, ident};

impl Own<'_> {
    /// The arms of the match on the status.
    pub(super) fn arms(&self) -> Vec<TokenStream> {
        let names = self.names.of(self.operation);
        let successes = self
            .successes
            .arms
            .iter()
            .map(|arm| self.arm(arm, &self.successes, &names.response, false));
        let errors = self
            .errors
            .arms
            .iter()
            .map(|arm| self.arm(arm, &self.errors, &names.error, true));
        successes.chain(errors).collect()
    }

    fn arm(&self, arm: &Arm, side: &Side, enumeration: &str, is_error: bool) -> TokenStream {
        let (first, last) = arm.statuses;
        let pattern = if first == last {
            quote!(#first)
        } else {
            quote!(#first..=#last)
        };
        let read = |choice: &Choice| {
            let value = self.read(choice, side.several.then_some(enumeration));
            if is_error {
                quote!(Err(runtime::Error::listed(#value)))
            } else {
                quote!(Ok(#value))
            }
        };
        // What remains when no other fits: any media type at all, else the first.
        let is_anything =
            |choice: &Choice| choice.media.iter().any(|media| essence(media) == "*/*");
        let rest = arm.bodies.iter().position(is_anything).unwrap_or_default();
        let default = read(&arm.bodies[rest]);
        if arm.bodies.len() == 1 {
            return quote!(#pattern => #default,);
        }
        let response = &self.locals.response;
        let others = media_patterns(&arm.bodies, rest)
            .into_iter()
            .map(|(media, at)| {
                let read = read(&arm.bodies[at]);
                quote!(#media => #read,)
            });
        quote! {
            #pattern => match runtime::content_type(&#response).as_str() {
                #(#others)*
                _ => #default,
            },
        }
    }

    /// An expression for the response, inside its variant if the side is an enum.
    fn read(&self, choice: &Choice, enumeration: Option<&str>) -> TokenStream {
        let response = &self.locals.response;
        let value = match choice.body {
            Body::Empty => quote!(runtime::empty(#response)),
            Body::Json(_) => quote!(runtime::decode(#response).await?),
            Body::Text(_) => quote!(runtime::decode_text(#response).await?),
            Body::Bytes => quote!(runtime::stream(#response)),
            Body::Events => quote!(runtime::events(#response)),
            Body::Upgrade => quote!(runtime::upgrade(#response).await?),
        };
        let Some(enumeration) = enumeration else {
            return value;
        };
        let (enumeration, variant) = (ident(enumeration), ident(&choice.variant));
        if choice.body == Body::Empty {
            quote!(runtime::map(#value, |()| #enumeration::#variant))
        } else {
            quote!(runtime::map(#value, #enumeration::#variant))
        }
    }

    /// The enums of sides with several bodies.
    pub(super) fn enums(&self) -> TokenStream {
        let names = self.names.of(self.operation);
        let successes = self.enumeration(&self.successes, &names.response, "Responses");
        let errors = self.enumeration(&self.errors, &names.error, "Bodies of the errors");
        quote!(#successes #errors)
    }

    fn enumeration(&self, side: &Side, name: &str, what: &str) -> Option<TokenStream> {
        if !side.several {
            return None;
        }
        let head = docs(&format!("{what} of [`{}`].", self.operation.pascal));
        let name = ident(name);
        let choices = || side.arms.iter().flat_map(|arm| &arm.bodies);
        let variants = choices().map(|choice| {
            let words = match choice.description.trim() {
                "" => "What the contract lists without a word.",
                words => words,
            };
            let (words, variant) = (docs(words), ident(&choice.variant));
            match &choice.body {
                Body::Empty => quote!(#words #variant,),
                body => {
                    let ty = parts::body_type(self.api, body);
                    quote!(#words #variant(#ty),)
                }
            }
        });
        let values = choices()
            .all(|choice| matches!(choice.body, Body::Empty | Body::Json(_) | Body::Text(_)));
        let derive = if values {
            quote!(Clone, Debug, PartialEq)
        } else {
            quote!(Debug)
        };
        Some(quote! {
            #head
            #[derive(#derive)]
            #[non_exhaustive]
            pub enum #name {
                #(#variants)*
            }
        })
    }
}

/// The patterns of media types, each with its choice: exact names before ranges, and last what else is JSON, since the
/// contract and the server may name that differently. `rest` is chosen where none of them fits.
fn media_patterns(choices: &[Choice], rest: usize) -> Vec<(TokenStream, usize)> {
    let all = choices
        .iter()
        .enumerate()
        .flat_map(|(at, choice)| choice.media.iter().map(move |name| (essence(name), at)));
    let (mut ranges, names): (Vec<_>, Vec<_>) = all.partition(|(name, _)| name.contains('*'));
    ranges.retain(|(_, at)| *at != rest);
    ranges.sort_by_key(|(range, _)| std::cmp::Reverse(range.len()));
    let json = choices
        .iter()
        .position(|choice| matches!(choice.body, Body::Json(_)))
        .filter(|at| *at != rest);
    let mut patterns = Vec::new();
    for at in 0..choices.len() {
        // What comes later leads to the same choice, unless something stands between.
        let follows = if json.is_some() { json } else { Some(rest) };
        let own: Vec<&String> = names
            .iter()
            .filter(|(_, of)| *of == at)
            .map(|(name, _)| name)
            .collect();
        if !own.is_empty() && (!ranges.is_empty() || follows != Some(at)) {
            patterns.push((quote!(#(#own)|*), at));
        }
    }
    for (range, at) in ranges {
        let (before, after) = range.split_once('*').unwrap_or_default();
        let ends = (!after.is_empty()).then(|| quote!(&& media.ends_with(#after)));
        patterns.push((quote!(media if media.starts_with(#before) #ends), at));
    }
    patterns.extend(json.map(|at| (quote!(media if media.ends_with("json")), at)));
    patterns
}
