//! The answer: what each status is read as, and the enums where a side has bodies of different type.

use proc_macro2::TokenStream;
use quote::quote;

use super::super::answers::{Arm, Body, Choice, Side};
use super::super::carrier::essence;
use super::super::parts;
use super::Own;
use crate::tokens::{docs, ident};

impl Own<'_> {
    /// The arms of the match on the status.
    pub(super) fn arms(&self) -> Vec<TokenStream> {
        let names = self.names.of(self.operation);
        let successes = self.successes.arms.iter().map(|arm| self.arm(arm, &self.successes, &names.answer, false));
        let errors = self.errors.arms.iter().map(|arm| self.arm(arm, &self.errors, &names.error, true));
        successes.chain(errors).collect()
    }

    fn arm(&self, arm: &Arm, side: &Side, enumeration: &str, is_error: bool) -> TokenStream {
        let (first, last) = arm.statuses;
        let pattern = if first == last { quote!(#first) } else { quote!(#first..=#last) };
        let read = |choice: &Choice| {
            let value = self.read(choice, side.several.then_some(enumeration));
            if is_error { quote!(Err(runtime::Error::listed(#value))) } else { quote!(Ok(#value)) }
        };
        // What remains when no other fits: any media type at all, else the first.
        let rest = arm.bodies.iter().position(|choice| essence(&choice.media) == "*/*").unwrap_or_default();
        let default = read(&arm.bodies[rest]);
        if arm.bodies.len() == 1 {
            return quote!(#pattern => #default,);
        }
        let response = &self.locals.response;
        let others = arm.bodies.iter().enumerate().filter(|(at, _)| *at != rest).map(|(_, choice)| {
            let (media, read) = (media_pattern(choice), read(choice));
            quote!(#media => #read,)
        });
        quote! {
            #pattern => match runtime::content_type(&#response).as_str() {
                #(#others)*
                _ => #default,
            },
        }
    }

    /// An expression for the answer, inside its variant if the side is an enum.
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
        let Some(enumeration) = enumeration else { return value };
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
        let successes = self.enumeration(&self.successes, &names.answer, "Answers");
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
        let values = choices().all(|choice| matches!(choice.body, Body::Empty | Body::Json(_) | Body::Text(_)));
        let derive = if values { quote!(Clone, Debug, PartialEq) } else { quote!(Debug) };
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

/// The pattern of a media type: ranges, and every JSON, since the contract and the server may name it differently.
fn media_pattern(choice: &Choice) -> TokenStream {
    let essence = essence(&choice.media);
    match (essence.strip_suffix('*'), &choice.body) {
        (Some(prefix), _) => quote!(media if media.starts_with(#prefix)),
        (None, Body::Json(_)) => quote!(media if media == #essence || media.ends_with("json")),
        (None, _) => quote!(#essence),
    }
}
