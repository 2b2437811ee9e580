//! What responses carry besides their status: bodies of one or several kinds, and headers.

use std::collections::{BTreeMap, BTreeSet};

use heck::ToPascalCase;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::constant;
use super::request::parameter_description;
use crate::ir::{Api, Media, MediaKind, Parameter, Response, TypeRef};
use crate::names;
use crate::tokens::{docs, foreign_type, ident, inner_docs};

/// What a variant holds besides a status.
pub(super) enum Payload {
    /// Nothing.
    Nothing,
    /// The body itself.
    Body(Box<Media>),
    /// The headers of a change of protocol.
    Handshake,
    /// A struct of this name; whether it is a shared one of `responses`.
    Struct(Ident, bool),
}

impl Payload {
    pub(super) fn of(pascal: &str, response: &Response) -> Self {
        if super::tag::is_handshake(response) {
            return Self::Handshake;
        }
        if let Some(component) = &response.component {
            return Self::Struct(ident(component), true);
        }
        match (response.headers.as_slice(), response.media.as_slice()) {
            ([], []) => Self::Nothing,
            ([], [only]) => Self::Body(Box::new(only.clone())),
            _ => Self::Struct(ident(&format!("{pascal}{}", response.name)), false),
        }
    }

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

/// The type of one kind of body in a response.
pub(super) fn media_type(api: &Api<'_>, media: &Media) -> TokenStream {
    match media.kind {
        MediaKind::Json | MediaKind::Form | MediaKind::Text => {
            foreign_type(api, media.ty.as_ref().unwrap_or(&TypeRef::Any))
        }
        MediaKind::EventStream => quote!(server::EventStream),
        MediaKind::Multipart | MediaKind::Bytes => quote!(server::ByteStream),
    }
}

/// The call that writes a body: `json(&body)`.
pub(super) fn write(media: &Media, body: &TokenStream) -> TokenStream {
    match media.kind {
        MediaKind::Json => quote!(json(&#body)),
        MediaKind::Form => quote!(form(&#body)),
        MediaKind::Text => quote!(text(&#body)),
        MediaKind::EventStream => quote!(events(#body)),
        MediaKind::Multipart | MediaKind::Bytes => quote!(stream(#body)),
    }
}

pub(super) fn is_clone(response: &Response) -> bool {
    !response.media.iter().any(|media| {
        matches!(
            media.kind,
            MediaKind::EventStream | MediaKind::Multipart | MediaKind::Bytes
        )
    })
}

/// Names of the variants for several kinds of body.
pub(super) fn media_names(media: &[Media]) -> Vec<Ident> {
    let kind = |media: &Media| match media.kind {
        MediaKind::Json => "Json",
        MediaKind::Form => "Form",
        MediaKind::Multipart => "Multipart",
        MediaKind::Text => "Text",
        MediaKind::EventStream => "Events",
        MediaKind::Bytes => "Bytes",
    };
    let mut taken = std::collections::HashSet::new();
    media
        .iter()
        .map(|this| {
            let is_only = media
                .iter()
                .filter(|other| kind(other) == kind(this))
                .count()
                == 1;
            let name = match this.name.trim() {
                _ if is_only => kind(this).to_owned(),
                "*/*" => "Any".to_owned(),
                other => names::pascal(&other.to_pascal_case()),
            };
            ident(&names::unique(&mut taken, name))
        })
        .collect()
}

/// The struct of a response with headers or several kinds of body, or of a shared response.
pub(super) fn structure(
    api: &Api<'_>,
    name: &Ident,
    response: &Response,
    gate: Option<&TokenStream>,
) -> TokenStream {
    let words = docs(non_empty(&response.description, "A response."));
    let derives = if is_clone(response) {
        quote!(Debug, Clone)
    } else {
        quote!(Debug)
    };
    let body_type = body_type(api, name, response);
    let choices = (response.media.len() > 1).then(|| choices(api, name, response, gate));
    let body = body_type.as_ref().map(|ty| {
        quote! {
            /// The body.
            pub body: #ty,
        }
    });
    let headers = response.headers.iter().map(|header| {
        let fallback = format!("The header `{}`.", header.wire);
        let words = docs(
            header
                .description
                .as_deref()
                .map_or(&*fallback, |text| non_empty(text, &fallback)),
        );
        let name = ident(&header.name);
        let ty = header_type(api, header);
        quote!(#words pub #name: #ty,)
    });
    let media = response.media.iter().map(|media| &media.name);
    let media_constant = body.as_ref().map(|_| {
        quote! {
            pub(crate) const MEDIA: &'static [&'static str] = &[#(#media),*];
        }
    });
    let constants = response.headers.iter().map(|header| {
        let name = constant(&header.name);
        let description = parameter_description(
            api,
            &Parameter {
                default: None,
                ..header.clone()
            },
        );
        quote!(pub(crate) const #name: server::Parameter = #description;)
    });
    let new = new(api, response, body_type.as_ref());
    let respond = respond(response);
    quote! {
        #words
        #gate
        #[derive(#derives)]
        pub struct #name { #body #(#headers)* }
        #choices
        #gate
        impl #name {
            #media_constant
            #(#constants)*
            #new
            #respond
        }
    }
}

fn non_empty<'t>(text: &'t str, fallback: &'t str) -> &'t str {
    if text.trim().is_empty() {
        fallback
    } else {
        text
    }
}

fn header_type(api: &Api<'_>, header: &Parameter) -> TokenStream {
    let ty = foreign_type(api, &header.ty);
    if header.required {
        ty
    } else {
        quote!(Option<#ty>)
    }
}

fn body_type(api: &Api<'_>, name: &Ident, response: &Response) -> Option<TokenStream> {
    match response.media.as_slice() {
        [] => None,
        [only] => Some(media_type(api, only)),
        _ => {
            let name = choices_name(name);
            Some(quote!(#name))
        }
    }
}

pub(super) fn choices_name(name: &Ident) -> Ident {
    quote::format_ident!("{name}Body")
}

/// The kinds of body of a response, as an enum.
fn choices(
    api: &Api<'_>,
    owner: &Ident,
    response: &Response,
    gate: Option<&TokenStream>,
) -> TokenStream {
    let name = choices_name(owner);
    let words = docs(&format!("The body of [`{owner}`], by its media type."));
    let derives = if is_clone(response) {
        quote!(Debug, Clone)
    } else {
        quote!(Debug)
    };
    let names = media_names(&response.media);
    let variants = names.iter().zip(&response.media).map(|(variant, media)| {
        let words = docs(&format!("`{}`", media.name));
        let ty = media_type(api, media);
        quote!(#words #variant(#ty))
    });
    let arms = names
        .iter()
        .zip(&response.media)
        .enumerate()
        .map(|(at, (variant, media))| {
            let at = Literal::usize_unsuffixed(at);
            let write = write(media, &quote!(body));
            quote!(Self::#variant(body) => listed.choose(#at).#write)
        });
    quote! {
        #words
        #gate
        #[derive(#derives)]
        pub enum #name { #(#variants),* }
        #gate
        impl #name {
            fn respond(self, listed: server::ListedResponse) -> server::Response {
                match self { #(#arms),* }
            }
        }
    }
}

fn new(api: &Api<'_>, response: &Response, body: Option<&TokenStream>) -> TokenStream {
    let body_argument = body.map(|ty| quote!(body: #ty,));
    let body_field = body.map(|_| quote!(body,));
    let required = response
        .headers
        .iter()
        .filter(|header| header.required)
        .map(|header| {
            let name = ident(&header.name);
            let ty = header_type(api, header);
            quote!(#name: #ty)
        });
    let fields = response.headers.iter().map(|header| {
        let name = ident(&header.name);
        if header.required {
            quote!(#name)
        } else {
            quote!(#name: None)
        }
    });
    let with = response
        .headers
        .iter()
        .filter(|header| !header.required)
        .map(|header| {
            let name = ident(&header.name);
            let function = quote::format_ident!("with_{}", header.name.trim_start_matches("r#"));
            let words = docs(&format!("Sets the header `{}`.", header.wire));
            let ty = foreign_type(api, &header.ty);
            quote! {
                #words
                #[must_use]
                pub fn #function(mut self, value: #ty) -> Self {
                    self.#name = Some(value);
                    self
                }
            }
        });
    quote! {
        /// With what it must have.
        #[must_use]
        pub fn new(#body_argument #(#required),*) -> Self {
            Self { #body_field #(#fields),* }
        }
        #(#with)*
    }
}

fn respond(response: &Response) -> TokenStream {
    let body = match response.media.as_slice() {
        [] => quote!(listed.empty()),
        [only] => {
            let write = write(only, &quote!(self.body));
            quote!(listed.#write)
        }
        _ => quote!(self.body.respond(listed)),
    };
    let body = response.headers.iter().fold(body, |body, header| {
        let constant = constant(&header.name);
        let name = ident(&header.name);
        quote!(server::with_header(#body, &Self::#constant, &self.#name))
    });
    quote! {
        pub(crate) fn respond(self, listed: server::ListedResponse) -> server::Response { #body }
    }
}

/// The file of the responses that several operations share.
pub(super) fn responses(api: &Api<'_>) -> TokenStream {
    let title = inner_docs(
        "Responses that the contract names once and many operations list.\n\n\
         Each turns into the error of every operation that lists it, so that `?` and generic functions can carry it.",
    );
    let mut shared: BTreeMap<&str, (&Response, BTreeSet<usize>)> = BTreeMap::new();
    for operation in &api.operations {
        for response in &operation.responses {
            if let Some(component) = response
                .component
                .as_deref()
                .filter(|_| !super::tag::is_handshake(response))
            {
                shared
                    .entry(component)
                    .or_insert((response, BTreeSet::new()))
                    .1
                    .insert(operation.tag);
            }
        }
    }
    let items = shared.iter().map(|(component, (response, tags))| {
        let features = tags.iter().map(|tag| &api.tags[*tag].feature);
        let features: Vec<TokenStream> =
            features.map(|feature| quote!(feature = #feature)).collect();
        let gate = match features.as_slice() {
            [only] => quote!(#[cfg(#only)]),
            several => quote!(#[cfg(any(#(#several),*))]),
        };
        structure(api, &ident(component), response, Some(&gate))
    });
    let items = quote!(#(#items)*);
    quote! {
        #title
        #[allow(unused_imports, reason = "without any tag nothing is left")]
        use api_runtime::server;
        #items
    }
}
