//! The code that reads a response by its status and media type, and the enums of successes and of
//! errors whose bodies have several types.

use std::collections::HashSet;

use contract::model::JSON_LINES;
use indexmap::IndexMap;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::super::parts;
use super::super::responses::{Arm, Body, Choice, Side, essence};
use super::Builder;
use crate::ir::PartList;
use crate::positions;
use crate::tokens::{docs, ident};

impl Builder<'_> {
    /// Returns the arms of the `match` on the status in `send`. Codes whose responses are read in
    /// the same way share an arm.
    pub(super) fn arms(&self) -> Vec<TokenStream> {
        let names = self.names.of(self.operation);
        let successes = self.successes.arms.iter();
        let successes = successes.map(|arm| {
            (
                arm.statuses,
                self.arm(arm, &self.successes, &names.response),
            )
        });
        let errors = self.errors.arms.iter();
        let errors = errors.map(|arm| (arm.statuses, self.arm(arm, &self.errors, &names.error)));
        // Arms are compared by their text, since tokens cannot be compared.
        let mut codes: IndexMap<String, (Vec<Literal>, TokenStream)> = IndexMap::new();
        let mut ranges = Vec::new();
        let mut covered: Vec<(u16, u16)> = Vec::new();
        for ((first, last), read) in successes.chain(errors) {
            let (from, to) = (
                Literal::u16_unsuffixed(first),
                Literal::u16_unsuffixed(last),
            );
            if first == last {
                let arm = codes.entry(read.to_string());
                arm.or_insert_with(|| (Vec::new(), read)).0.push(from);
            } else if !is_covered((first, last), &covered) {
                // `default` beside `4XX` and `5XX` stands for no status.
                covered.push((first, last));
                ranges.push(quote!(#from..=#to => #read,));
            }
        }
        let codes = codes
            .into_values()
            .map(|(codes, read)| quote!(#(#codes)|* => #read,));
        // A range stands for the codes that are not listed themselves.
        codes.chain(ranges).collect()
    }

    /// Returns the expression that reads a response with one of the statuses of `arm`. If the arm
    /// has several bodies, the expression is a `match` on `Content-Type`.
    fn arm(&self, arm: &Arm, side: &Side, enumeration: &str) -> TokenStream {
        let is_error = arm.statuses.0 >= 400;
        let result = |choice: &Choice| {
            let value = self.read(choice, side.several.then_some(enumeration));
            if is_error {
                return quote!(Err(runtime::Error::listed(#value)));
            }
            match &choice.body {
                Body::Json(_) if !side.several => {
                    let decode = decode(choice);
                    quote!(runtime::#decode(response).await)
                }
                _ => quote!(Ok(#value)),
            }
        };
        // The body of a media type that is not listed: that of `*/*` if there is one, else the
        // first.
        let is_anything =
            |choice: &Choice| choice.media.iter().any(|media| essence(media) == "*/*");
        let rest = arm.bodies.iter().position(is_anything).unwrap_or_default();
        let default = result(&arm.bodies[rest]);
        if arm.bodies.len() == 1 {
            return default;
        }
        let others = media_patterns(&arm.bodies, rest)
            .into_iter()
            .map(|(media, at)| {
                let read = result(&arm.bodies[at]);
                quote!(#media => #read,)
            });
        quote! {
            match runtime::content_type(&response).as_str() {
                #(#others)*
                _ => #default,
            }
        }
    }

    /// Returns the enum of the successes and that of the errors, each only if the bodies have
    /// several types.
    pub(super) fn enums(&self) -> TokenStream {
        let names = self.names.of(self.operation);
        let successes = self.enumeration(&self.successes, &names.response, "Responses");
        let errors = self.enumeration(&self.errors, &names.error, "Bodies of the errors");
        quote!(#successes #errors)
    }

    /// Returns the enum of the successes or the errors, if their bodies have several types.
    fn enumeration(&self, side: &Side, name: &str, what: &str) -> Option<TokenStream> {
        if !side.several {
            return None;
        }
        let head = docs(&format!("{what} of [`{}`].", self.operation.pascal));
        let name = ident(name);
        let choices = || side.arms.iter().flat_map(|arm| &arm.bodies);
        let variants = choices().map(|choice| {
            let words = match choice.description.trim() {
                "" => "A response without a description.",
                words => words,
            };
            let (words, variant) = (docs(words), ident(&choice.variant));
            match &choice.body {
                Body::Empty => quote!(#words #variant,),
                body => {
                    let ty = parts::body_type(self.api, self.names, body);
                    quote!(#words #variant(#ty),)
                }
            }
        });
        let values = choices()
            .all(|choice| matches!(choice.body, Body::Empty | Body::Json(_) | Body::Text(_)));
        // A stream cannot be cloned or compared.
        let derive = if values {
            quote!(Clone, Debug, PartialEq)
        } else {
            quote!(Debug)
        };
        // A response that is added to the contract should not break those who match on the enum.
        Some(quote! {
            #head
            #[derive(#derive)]
            #[non_exhaustive]
            pub enum #name {
                #(#variants)*
            }
        })
    }

    /// Returns the expression that reads a body, wrapped in its variant of the enum `enumeration` if
    /// there is one.
    fn read(&self, choice: &Choice, enumeration: Option<&str>) -> TokenStream {
        let value = match &choice.body {
            Body::Empty => quote!(runtime::empty(response)),
            Body::Json(_) => {
                let decode = decode(choice);
                quote!(runtime::#decode(response).await?)
            }
            Body::Text(_) => quote!(runtime::decode_text(response).await?),
            Body::Bytes => quote!(runtime::stream(response)),
            Body::Events => quote!(runtime::events(response)),
            Body::Items(_) | Body::TypedEvents(_) => {
                let media = choice.media.first().map_or("", String::as_str);
                quote!(runtime::items(#media, response))
            }
            Body::Parts(list) => {
                let encodings = self.encodings(list);
                quote!(runtime::parts(response, #encodings).await?)
            }
            Body::PartStream(list) => {
                let encodings = self.encodings(list);
                quote!(runtime::part_stream(response, #encodings))
            }
            Body::Upgrade => quote!(runtime::upgrade(response).await?),
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

    /// Returns the expression of the encodings of parts.
    fn encodings(&self, list: &PartList) -> TokenStream {
        let encodings = parts::positioned(self.api, self.names, list, positions::encodings);
        quote!({ const PARTS: runtime::Encodings = #encodings; &PARTS })
    }
}

/// Returns the name of the function that decodes JSON.
fn decode(choice: &Choice) -> Ident {
    ident(if choice.is_assumed {
        "decode_if_json"
    } else {
        "decode"
    })
}

/// Returns whether other ranges cover every status of a range. They may overlap.
fn is_covered((mut first, last): (u16, u16), ranges: &[(u16, u16)]) -> bool {
    while first <= last {
        let Some((_, end)) = ranges
            .iter()
            .find(|(from, to)| (*from..=*to).contains(&first))
        else {
            return false;
        };
        first = end + 1;
    }
    true
}

/// Returns patterns of media types, each with the index of the choice to read. `rest` is the index
/// of the choice that is read if none of them matches.
///
/// Media types that differ in parameters only come first, exact names before ranges. Last comes any
/// other JSON, since contract and server may name JSON differently.
fn media_patterns(choices: &[Choice], rest: usize) -> Vec<(TokenStream, usize)> {
    let all = choices
        .iter()
        .enumerate()
        .flat_map(|(at, choice)| choice.media.iter().map(move |name| (essence(name), at)));
    let mut patterns = by_parameters(choices);
    // Of the others, a name has one pattern.
    let mut seen = HashSet::new();
    let all = all.filter(|(name, _)| seen.insert(name.clone()));
    let (mut ranges, mut names): (Vec<_>, Vec<_>) = all.partition(|(name, _)| name.contains('*'));
    // A server may name JSON Lines differently too, and some of the names end like JSON's.
    let lines = names.iter().find(|(name, at)| {
        JSON_LINES.contains(&name.as_str()) && matches!(choices[*at].body, Body::Items(_))
    });
    if let Some(at) = lines.map(|(_, at)| *at) {
        for alias in JSON_LINES {
            if !names.iter().any(|(name, _)| name == alias) {
                names.push(((*alias).to_owned(), at));
            }
        }
    }
    ranges.retain(|(_, at)| *at != rest);
    // The longer range is the more specific one: `text/*` is tried before `*/*`.
    ranges.sort_by_key(|(range, _)| std::cmp::Reverse(range.len()));
    let json = choices
        .iter()
        .position(|choice| matches!(choice.body, Body::Json(_)))
        .filter(|at| *at != rest);
    for at in 0..choices.len() {
        // A name needs no pattern of its own if the patterns after it lead to the same choice.
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

/// Returns the patterns of media types that differ in parameters only and are read differently.
fn by_parameters(choices: &[Choice]) -> Vec<(TokenStream, usize)> {
    let mut groups: IndexMap<String, Vec<(&str, usize)>> = IndexMap::new();
    for (at, choice) in choices.iter().enumerate() {
        for name in &choice.media {
            groups.entry(essence(name)).or_default().push((name, at));
        }
    }
    let mut patterns = Vec::new();
    for (essence, group) in groups {
        if group.iter().all(|(_, at)| *at == group[0].1) {
            continue;
        }
        let names = group.iter().map(|(name, _)| name);
        let names = quote!(&[#(#names),*]);
        // The first of the group is what remains.
        for (index, (_, at)) in group.iter().enumerate().skip(1) {
            let index = Literal::usize_unsuffixed(index);
            let is_closest = quote!(runtime::is_closest(&response, #names, #index));
            patterns.push((quote!(#essence if #is_closest), *at));
        }
    }
    patterns
}
