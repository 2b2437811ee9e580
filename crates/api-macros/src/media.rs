//! The media type of a body, as attributes write it: `json`, or
//! `json = "application/problem+json"`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::ParseStream;
use syn::{Attribute, Expr, Ident, LitStr, Meta, Result, Token, Type, parenthesized, token};

/// A media type of a request or response body, as an attribute declares it.
pub(crate) struct Media {
    pub kind: Kind,
    name: String,
    schema: Option<LitStr>,
    is_lenient: bool,
    /// The expression of the encodings of parts that have positions and no names, or of the properties
    /// of a form that have styles.
    encodings: Option<Box<Expr>>,
}

/// How a body of a media type is read and written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Json,
    Form,
    Text,
    Multipart,
    Bytes,
    Events,
    Items,
    Parts,
    PartStream,
}

impl Kind {
    /// Returns whether the body has no typed value that a schema could describe: the handler gets
    /// or returns a stream of bytes, parts, events or items.
    pub(crate) fn is_opaque(self) -> bool {
        matches!(
            self,
            Self::Multipart
                | Self::Bytes
                | Self::Events
                | Self::Items
                | Self::Parts
                | Self::PartStream
        )
    }
}

impl Media {
    /// The names of the kinds, for messages.
    const KNOWN: &'static str =
        "json, form, text, multipart, parts, part_stream, bytes, events and items";

    /// Parses what follows the kind `word`: `= "media/type"`, or nothing for the usual media type of
    /// the kind. After that, parts have the expression of their encodings in parentheses, and a form
    /// may have that of its properties with styles.
    /// Returns `None` if `word` is not a kind.
    pub(crate) fn parse(word: &Ident, input: ParseStream<'_>) -> Result<Option<Self>> {
        let (kind, usual) = match word.to_string().as_str() {
            // The usual media type of each kind need not be written.
            "json" => (Kind::Json, "application/json"),
            "form" => (Kind::Form, "application/x-www-form-urlencoded"),
            "text" => (Kind::Text, "text/plain"),
            "multipart" => (Kind::Multipart, "multipart/form-data"),
            "bytes" => (Kind::Bytes, "application/octet-stream"),
            "events" => (Kind::Events, "text/event-stream"),
            "items" => (Kind::Items, "application/jsonl"),
            "parts" => (Kind::Parts, "multipart/mixed"),
            "part_stream" => (Kind::PartStream, "multipart/mixed"),
            _ => return Ok(None),
        };
        let name = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            input.parse::<LitStr>()?.value()
        } else {
            usual.to_owned()
        };
        let has_fields = kind == Kind::Form && input.peek(token::Paren);
        let encodings = if has_fields || matches!(kind, Kind::Parts | Kind::PartStream) {
            let of_parts;
            parenthesized!(of_parts in input);
            Some(Box::new(of_parts.parse()?))
        } else {
            None
        };
        Ok(Some(Self {
            kind,
            name,
            schema: None,
            is_lenient: false,
            encodings,
        }))
    }

    /// Generates the `api_runtime::server::Media` of the media type. It includes the schema of
    /// `ty`, the type of the body, if `ty` is given and the body is not opaque.
    pub(crate) fn description(&self, ty: Option<&Type>) -> TokenStream {
        let name = &self.name;
        let schema = self.schema.iter();
        let lenient = self.is_lenient.then(|| quote!(.lenient()));
        let described = ty
            .filter(|_| !self.kind.is_opaque())
            .map(|ty| quote!(.described::<#ty>()));
        let encodings = self.encodings.as_ref();
        let encodings = encodings.map(|encodings| {
            if self.kind == Kind::Form {
                quote!(.fields(#encodings))
            } else {
                quote!(.encodings(&#encodings))
            }
        });
        quote! {
            ::api_runtime::server::Media::new(#name)
                #(.schema(#schema))* #lenient #encodings #described
        }
    }

    /// Generates the expression of a response with `body`. `listed` is an expression of type
    /// `api_runtime::server::ListedResponse`.
    pub(crate) fn write(&self, listed: &TokenStream, body: &TokenStream) -> TokenStream {
        match self.kind {
            Kind::Json => quote!(#listed.json(&#body)),
            Kind::Form => quote!(#listed.form(&#body)),
            Kind::Text => quote!(#listed.text(&#body)),
            Kind::Events => quote!(#listed.events(#body)),
            Kind::Items => quote!(#listed.items(#body)),
            Kind::Parts => quote!(#listed.multiparts(#body)),
            Kind::PartStream => quote!(#listed.part_stream(#body)),
            Kind::Multipart | Kind::Bytes => quote!(#listed.stream(#body)),
        }
    }
}

/// The arguments of `#[body(…)]`.
pub(crate) struct Body {
    /// The media type, or `None` where the type of the field is an enum of several.
    pub media: Option<Media>,
    pub is_required: bool,
}

impl Body {
    /// Reads the first `#[body(…)]` among the attributes. Returns `None` if there is none.
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Option<Self>> {
        let Some(attribute) = attributes
            .iter()
            .find(|attribute| attribute.path().is_ident("body"))
        else {
            return Ok(None);
        };
        let mut made = Self {
            media: None,
            is_required: false,
        };
        // `parse_nested_meta` rejects an attribute without arguments.
        if matches!(attribute.meta, Meta::Path(_)) {
            return Ok(Some(made));
        }
        // Kept apart until the end, since they may come before the media type that they belong to.
        let (mut schema, mut is_lenient) = (None, false);
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("required") {
                made.is_required = true;
            } else if meta.path.is_ident("lenient") {
                is_lenient = true;
            } else if meta.path.is_ident("schema") {
                schema = Some(meta.value()?.parse()?);
            } else if let Some(word) = meta.path.get_ident()
                && let Some(media) = Media::parse(word, meta.input)?
            {
                if made.media.replace(media).is_some() {
                    return Err(meta.error("a body has one media type here"));
                }
            } else {
                let known = Media::KNOWN;
                return Err(meta.error(format!("body takes {known}, schema, lenient and required")));
            }
            Ok(())
        })?;
        match &mut made.media {
            Some(media) => (media.schema, media.is_lenient) = (schema, is_lenient),
            None if schema.is_some() || is_lenient => {
                return Err(syn::Error::new_spanned(
                    attribute,
                    "schema and lenient belong to a media type",
                ));
            }
            None => {}
        }
        Ok(Some(made))
    }
}

/// Generates the constant `name` of type `ty`. With the feature `utoipa` of the generated crate its
/// value includes the schemas of Rust types, which the re-derived OpenAPI document needs.
///
/// `value` generates the value. Its argument is whether the value includes the schemas.
pub(crate) fn constant(
    name: &TokenStream,
    ty: &TokenStream,
    value: impl Fn(bool) -> TokenStream,
) -> TokenStream {
    let [plain, described] = [value(false), value(true)];
    // Without a type to describe, both are the same and need no `cfg`. Compared as text, since
    // `TokenStream` has no `==`.
    if plain.to_string() == described.to_string() {
        return quote!(const #name: #ty = #plain;);
    }
    quote! {
        #[cfg(not(feature = "utoipa"))]
        const #name: #ty = #plain;
        #[cfg(feature = "utoipa")]
        const #name: #ty = #described;
    }
}
