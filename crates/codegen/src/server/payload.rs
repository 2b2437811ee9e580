//! What responses hold besides their status: headers, and bodies of one or several media types.

use std::collections::{BTreeMap, BTreeSet};

use contract::model::StatusKey;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::form;
use super::names::constant;
use super::parameter::parameter_items;
use crate::ir::{Api, Media, MediaKind, Parameter, PartList, Response, TypeRef};
use crate::names;
use crate::positions::{self, Words};
use crate::tokens::{docs, foreign_type, ident, inner_docs};

/// The value that a variant of a response holds besides a status.
pub(super) enum Payload {
    /// No value.
    Nothing,
    /// The body itself.
    Body(Box<Media>),
    /// The headers of a response 101, after which the connection uses another protocol.
    Handshake,
    /// A struct of this name, and whether it is in the module `responses`, which operations share.
    Struct(Ident, bool),
}

impl Payload {
    /// Returns what a response holds besides its status. The names of the operation's types begin
    /// with `pascal`.
    pub(super) fn of(pascal: &str, response: &Response) -> Self {
        if is_handshake(response) {
            return Self::Handshake;
        }
        // Even an empty component is a struct: as one type it converts into the errors of every
        // operation that lists it.
        if let Some(component) = &response.component {
            return Self::Struct(ident(component), true);
        }
        match (response.headers.as_slice(), response.media.as_slice()) {
            ([], []) => Self::Nothing,
            ([], [only]) => Self::Body(Box::new(only.clone())),
            _ => Self::Struct(ident(&format!("{pascal}{}", response.name)), false),
        }
    }

    /// Returns the type of the payload, or `None` if there is nothing to hold.
    pub(super) fn ty(&self, api: &Api<'_>) -> Option<TokenStream> {
        match self {
            Self::Nothing => None,
            Self::Body(media) => Some(media_type(api, media)),
            Self::Handshake => Some(quote!(server::Handshake)),
            Self::Struct(name, true) => Some(quote!(responses::#name)),
            Self::Struct(name, false) => Some(quote!(#name)),
        }
    }
}

/// Returns whether the status of a response is 101, after which the connection uses another
/// protocol.
pub(super) fn is_handshake(response: &Response) -> bool {
    response.status == StatusKey::Code(101)
}

/// Returns whether a response is a struct of the module `responses`, which operations share.
pub(super) fn is_shared(response: &Response) -> bool {
    response.component.is_some() && !is_handshake(response)
}

/// Returns the type of a response body of one media type.
pub(super) fn media_type(api: &Api<'_>, media: &Media) -> TokenStream {
    match media.kind {
        MediaKind::Json | MediaKind::Form | MediaKind::Text => {
            foreign_type(api, media.ty.as_ref().unwrap_or(&TypeRef::Any))
        }
        MediaKind::EventStream => quote!(server::EventStream),
        MediaKind::Items | MediaKind::TypedEvents => {
            let item = item_type(api, media);
            quote!(server::ItemBody<#item>)
        }
        MediaKind::Multipart | MediaKind::Bytes => quote!(server::ByteStream),
        MediaKind::Parts => parts_type(api, media, positions::whole_type),
        MediaKind::PartStream => {
            let part = parts_type(api, media, positions::item_type);
            quote!(server::PartBody<#part>)
        }
    }
}

/// Returns the type of parts with positions, or of each of them, as `write` does.
pub(super) fn parts_type(
    api: &Api<'_>,
    media: &Media,
    write: fn(&PartList, &Words<'_>) -> TokenStream,
) -> TokenStream {
    let ty = |ty: &TypeRef| foreign_type(api, ty);
    let words = Words {
        root: quote!(server),
        ty: &ty,
    };
    let parts = media.parts.as_ref();
    write(parts.expect("a body of parts has their list"), &words)
}

/// Returns the type of the items of a sequence.
pub(super) fn item_type(api: &Api<'_>, media: &Media) -> TokenStream {
    let ty = foreign_type(api, media.ty.as_ref().unwrap_or(&TypeRef::Any));
    if media.kind == MediaKind::TypedEvents {
        quote!(server::TypedEvent<#ty>)
    } else {
        ty
    }
}

/// Returns the argument for a media type: `json`, or `json = "application/problem+json"` if the
/// name is not the usual one of its kind. Parts have the constant of their encodings, and a form that
/// of its properties with styles, which [`encodings`] writes.
pub(super) fn media_attribute(kind: MediaKind, media: &Media, holder: &Holder<'_>) -> TokenStream {
    let name = &media.name;
    let (word, usual) = match kind {
        MediaKind::Json => ("json", "application/json"),
        MediaKind::Form => ("form", "application/x-www-form-urlencoded"),
        MediaKind::Text => ("text", "text/plain"),
        MediaKind::Multipart => ("multipart", "multipart/form-data"),
        MediaKind::Bytes => ("bytes", "application/octet-stream"),
        MediaKind::EventStream => ("events", "text/event-stream"),
        MediaKind::Items | MediaKind::TypedEvents => ("items", "application/jsonl"),
        MediaKind::Parts => ("parts", "multipart/mixed"),
        MediaKind::PartStream => ("part_stream", "multipart/mixed"),
    };
    let encodings = has_constant(media).then(|| {
        let (owner, constant) = (holder.owner, holder.constant(kind));
        quote!((#owner::#constant))
    });
    let word = ident(word);
    if name == usual {
        quote!(#word #encodings)
    } else {
        quote!(#word = #name #encodings)
    }
}

/// The place in a generated type that has the body of a media type.
pub(super) struct Holder<'h> {
    /// The type.
    pub(super) owner: &'h Ident,
    /// The variant, if the type is an enum.
    pub(super) variant: Option<&'h Ident>,
}

impl Holder<'_> {
    /// Returns the name of the constant with the encodings of parts, or the properties of a form.
    fn constant(&self, kind: MediaKind) -> Ident {
        let word = match kind {
            MediaKind::Form => "fields",
            _ => "parts",
        };
        constant(&self.variant.map_or_else(
            || word.to_owned(),
            |variant| format!("{}_{word}", names::snake(&variant.to_string())),
        ))
    }
}

/// Returns whether a body needs a constant that says how it is encoded.
fn has_constant(media: &Media) -> bool {
    media.parts.is_some() || !media.fields.is_empty()
}

/// Generates the constants with the encodings of the parts that a type has, and with the properties of
/// forms that have styles, if there are any.
///
/// `gate` is the `#[cfg]` of the type, if it has one.
pub(super) fn encodings<'h>(
    api: &Api<'_>,
    owner: &Ident,
    gate: Option<&TokenStream>,
    bodies: impl IntoIterator<Item = (Option<&'h Ident>, &'h Media)>,
) -> Option<TokenStream> {
    let bodies = bodies.into_iter().filter(|(_, media)| has_constant(media));
    let constants: Vec<_> = bodies
        .map(|(variant, media)| {
            let constant = Holder { owner, variant }.constant(media.kind);
            if media.kind == MediaKind::Form {
                let fields = form::fields(api, media);
                return quote!(const #constant: &'static [server::Parameter] = #fields;);
            }
            let encodings = parts_type(api, media, positions::encodings);
            quote!(const #constant: server::Encodings = #encodings;)
        })
        .collect();
    let has_some = !constants.is_empty();
    has_some.then(|| quote!(#gate impl #owner { #(#constants)* }))
}

/// Returns whether a body is a stream, or parts that are read one by one, rather than one value of a
/// generated type.
pub(super) fn is_opaque(media: &Media) -> bool {
    matches!(
        media.kind,
        MediaKind::Bytes
            | MediaKind::EventStream
            | MediaKind::Items
            | MediaKind::TypedEvents
            | MediaKind::Multipart
            | MediaKind::Parts
            | MediaKind::PartStream
    )
}

/// Returns whether a response can be cloned, which it cannot if a body of it may be a stream.
pub(super) fn is_clone(response: &Response) -> bool {
    !response.media.iter().any(is_opaque)
}

/// Returns a unique name for the variant of each media type.
pub(super) fn media_names(media: &[Media]) -> Vec<Ident> {
    let kind = |media: &Media| match media.kind {
        MediaKind::Json => "Json",
        MediaKind::Form => "Form",
        MediaKind::Multipart => "Multipart",
        MediaKind::Text => "Text",
        MediaKind::EventStream => "Events",
        MediaKind::Items | MediaKind::TypedEvents => "Items",
        MediaKind::Parts | MediaKind::PartStream => "Parts",
        MediaKind::Bytes => "Bytes",
    };
    let mut taken = std::collections::HashSet::new();
    media
        .iter()
        .map(|this| {
            let of_kind = media.iter().filter(|other| kind(other) == kind(this));
            let name = names::of_kind(kind(this), &[&this.name], of_kind.count() > 1);
            ident(&names::unique(&mut taken, name))
        })
        .collect()
}

/// Generates the struct of a response that has headers or several media types, or is shared.
///
/// `gate` is the `#[cfg]` of its items, if they have one.
pub(super) fn structure(
    api: &Api<'_>,
    name: &Ident,
    response: &Response,
    gate: Option<&TokenStream>,
) -> TokenStream {
    let mut words = non_empty(&response.description, "A response.").to_owned();
    if response.is_rejection {
        words.push_str("\n\nThe router makes this response by itself; no handler returns it.");
    }
    let words = docs(&words);
    let is_clone = is_clone(response).then(|| quote!(Clone,));
    let choices = (response.media.len() > 1).then(|| choices(api, name, response, gate));
    let holder = Holder {
        owner: name,
        variant: None,
    };
    let body = match response.media.as_slice() {
        [] => None,
        [only] => {
            let media = media_attribute(only.kind, only, &holder);
            Some((quote!(#[body(#media)]), media_type(api, only)))
        }
        _ => {
            let name = choices_name(name);
            Some((quote!(#[body]), quote!(#name)))
        }
    };
    let body = body.map(|(attribute, ty)| {
        quote! {
            #attribute
            pub body: #ty,
        }
    });
    let headers = response
        .headers
        .iter()
        .map(|header| header_field(api, header));
    let own = response.media.iter().filter(|_| choices.is_none());
    let encodings = encodings(api, name, gate, own.map(|media| (None, media)));
    quote! {
        #words
        #gate
        #[derive(Debug, #is_clone server::ResponseParts)]
        pub struct #name { #body #(#headers)* }
        #encodings
        #choices
    }
}

/// Generates the field of a response header.
fn header_field(api: &Api<'_>, header: &Parameter) -> TokenStream {
    let fallback = format!("The header `{}`.", header.wire);
    let words = docs(
        header
            .description
            .as_deref()
            .map_or(&*fallback, |text| non_empty(text, &fallback)),
    );
    let items = parameter_items(api, header, true);
    let attribute = if items.is_empty() {
        quote!(#[header])
    } else {
        quote!(#[header(#(#items),*)])
    };
    let name = ident(&header.name);
    let ty = foreign_type(api, &header.ty);
    let ty = if header.required {
        ty
    } else {
        quote!(Option<#ty>)
    };
    quote!(#words #attribute pub #name: #ty,)
}

/// Returns the name of the enum of bodies for a struct of this name.
fn choices_name(name: &Ident) -> Ident {
    quote::format_ident!("{name}Body")
}

/// Generates the enum of the bodies that a response can have, a variant for each media type.
fn choices(
    api: &Api<'_>,
    owner: &Ident,
    response: &Response,
    gate: Option<&TokenStream>,
) -> TokenStream {
    let name = choices_name(owner);
    let words = docs(&format!("The body of [`{owner}`], by its media type."));
    let is_clone = is_clone(response).then(|| quote!(Clone,));
    let names = media_names(&response.media);
    let variants = names.iter().zip(&response.media).map(|(variant, media)| {
        let words = docs(&format!("`{}`", media.name));
        let holder = Holder {
            owner: &name,
            variant: Some(variant),
        };
        let attribute = media_attribute(media.kind, media, &holder);
        let ty = media_type(api, media);
        quote!(#words #[body(#attribute)] #variant(#ty))
    });
    let bodies = names.iter().map(Some).zip(&response.media);
    let encodings = encodings(api, &name, gate, bodies);
    quote! {
        #words
        #gate
        #[derive(Debug, #is_clone server::ResponseParts)]
        pub enum #name { #(#variants),* }
        #encodings
    }
}

/// Returns a string, or `fallback` if the string is blank.
fn non_empty<'t>(text: &'t str, fallback: &'t str) -> &'t str {
    if text.trim().is_empty() {
        fallback
    } else {
        text
    }
}

/// Returns the `#[cfg]` of what only operations of these tags use: that of the tag's feature if it is
/// one tag, and none otherwise.
pub(super) fn gate(api: &Api<'_>, tags: &BTreeSet<usize>) -> Option<TokenStream> {
    let feature = &api.tags[*tags.first().filter(|_| tags.len() == 1)?].feature;
    Some(quote!(#[cfg(feature = #feature)]))
}

/// Generates `responses.rs`, with the responses that are components, which operations share.
pub(super) fn responses(api: &Api<'_>) -> TokenStream {
    let title = inner_docs(
        "Responses that the contract names once and many operations list.\n\n\
         Each converts into the error of every operation that lists it, so that `?` and generic functions work with it.",
    );
    let mut shared: BTreeMap<&str, (&Response, BTreeSet<usize>)> = BTreeMap::new();
    for operation in &api.operations {
        for response in &operation.responses {
            if let Some(component) = response
                .component
                .as_deref()
                .filter(|_| !is_handshake(response))
            {
                let (_, tags) = shared
                    .entry(component)
                    .or_insert((response, BTreeSet::new()));
                tags.insert(operation.tag);
            }
        }
    }
    let is_gated = shared.values().all(|(_, tags)| tags.len() == 1);
    let items = shared.iter().map(|(component, (response, tags))| {
        // The types that only one tag uses are behind its feature; those of several tags are always
        // there.
        let gate = gate(api, tags);
        structure(api, &ident(component), response, gate.as_ref())
    });
    let items = quote!(#(#items)*);
    let unused = is_gated.then(
        || quote!(#[allow(unused_imports, reason = "without any tag there are no responses")]),
    );
    quote! {
        #title
        #unused
        use api_runtime::server;
        #items
    }
}
