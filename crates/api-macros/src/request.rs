//! `#[derive(Request)]`: the struct that a handler takes, and `#[derive(RequestBody)]`: a body of
//! several media types.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Field, Fields, Result, Type};

use crate::media::{Body, Kind, Media, constant};
use crate::parameter::Parameter;
use crate::shape::{self, wrong_shape};

/// The part of a request that a field is read from.
enum Source {
    Parameter(Box<Parameter>),
    Body(Body),
    Upgrade,
}

/// Expands `#[derive(Request)]`.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(wrong_shape(
            input,
            "Request is for a struct with named fields",
        ));
    };
    let mut request = Parts::default();
    match &data.fields {
        Fields::Named(fields) => {
            for field in &fields.named {
                request.add(field)?;
            }
        }
        Fields::Unit | Fields::Unnamed(_) => {
            return Err(wrong_shape(
                input,
                "Request is for a struct with named fields",
            ));
        }
    }
    Ok(request.expand(&input.ident))
}

/// The parameters and the body of a request struct, with the code that reads its fields.
#[derive(Default)]
struct Parts {
    parameters: Vec<(Parameter, Type)>,
    body: Option<(Body, Type)>,
    /// The statements that read the fields, in the order of the fields.
    reads: Vec<TokenStream>,
    /// The `name: value` pairs of the expression that builds the struct.
    fields: Vec<TokenStream>,
}

impl Parts {
    /// Adds a field of the struct. A field without one of the three attributes is an error, and so
    /// is a second body.
    fn add(&mut self, field: &Field) -> Result<()> {
        let Some(name) = &field.ident else {
            return Ok(());
        };
        // The contract may call its parameters anything, but nothing that begins with `__`.
        let local = format_ident!("__{}", self.fields.len());
        let (read, value) = match source(field, name)? {
            Source::Parameter(parameter) => {
                let at = Literal::usize_unsuffixed(self.parameters.len());
                self.parameters.push((*parameter, field.ty.clone()));
                let take = quote!(__inputs.take(&<Self as ::api_runtime::server::Request>::PARAMETERS[#at]));
                (take, quote!(#local?))
            }
            Source::Body(body) => {
                let read = body_reader(&body);
                if self.body.replace((body, field.ty.clone())).is_some() {
                    return Err(syn::Error::new_spanned(field, "a request has one body"));
                }
                (read, quote!(#local?))
            }
            // Without `?`: every request can be upgraded, so nothing can be missing.
            Source::Upgrade => (quote!(__inputs.upgrade()), quote!(#local)),
        };
        // Every field is read before the first `?`, so that a rejection lists all violations and
        // not only those of the first field.
        self.reads.push(quote!(let #local = #read;));
        self.fields.push(quote!(#name: #value));
        Ok(())
    }

    fn expand(&self, ident: &Ident) -> TokenStream {
        let Self { reads, fields, .. } = self;
        let parameters = constant(
            &quote!(PARAMETERS),
            &quote!(&'static [::api_runtime::server::Parameter]),
            |described| {
                let parameters = self
                    .parameters
                    .iter()
                    .map(|(parameter, ty)| parameter.description(described.then_some(ty)));
                quote!(&[#(#parameters),*])
            },
        );
        let body_constant = self.body.as_ref().map(|(body, ty)| {
            constant(
                &quote!(__BODY),
                &quote!(::api_runtime::server::Body),
                |described| body_description(body, ty, described),
            )
        });
        let body = if self.body.is_some() {
            quote!(::core::option::Option::Some(__BODY))
        } else {
            quote!(::core::option::Option::None)
        };
        let mutable = (!reads.is_empty()).then(|| quote!(mut));
        quote! {
            // The readers take a `Body` and not the `Option` in `BODY`. The block keeps the
            // constant apart from those of other requests in the module.
            const _: () = {
                #body_constant

                #[automatically_derived]
                impl ::api_runtime::server::Request for #ident {
                    #parameters
                    const BODY: ::core::option::Option<::api_runtime::server::Body> = #body;

                    async fn read(
                        __call: &mut ::api_runtime::server::Call,
                    ) -> ::core::result::Result<Self, ::api_runtime::server::Rejected> {
                        let #mutable __inputs = __call.inputs();
                        #(#reads)*
                        __inputs.finish(|| ::core::option::Option::Some(Self { #(#fields),* }))
                    }
                }
            };
        }
    }
}

/// Returns the part of the request that a field is read from. A field without `#[parameter(…)]`,
/// `#[body(…)]` or `#[upgrade]` is an error.
fn source(field: &Field, name: &Ident) -> Result<Source> {
    let parameter = field
        .attrs
        .iter()
        .find(|attribute| attribute.path().is_ident("parameter"));
    if let Some(attribute) = parameter {
        let parameter = Parameter::read(attribute, name, None)?;
        return Ok(Source::Parameter(Box::new(parameter)));
    }
    if let Some(body) = Body::read(&field.attrs)? {
        return Ok(Source::Body(body));
    }
    if field
        .attrs
        .iter()
        .any(|attribute| attribute.path().is_ident("upgrade"))
    {
        return Ok(Source::Upgrade);
    }
    Err(syn::Error::new_spanned(
        field,
        "a field of a request is marked #[parameter(…)], #[body(…)] or #[upgrade]",
    ))
}

/// Generates the `api_runtime::server::Body` that describes a body of type `ty`. It includes the
/// schema of the type if `described`.
fn body_description(body: &Body, ty: &Type, described: bool) -> TokenStream {
    // The `Option` of a body that may be left out is no part of its schema.
    let inner = if body.is_required {
        ty
    } else {
        shape::argument(ty, 0).unwrap_or(ty)
    };
    let required = body.is_required.then(|| quote!(.required()));
    let media = if let Some(media) = &body.media {
        let media = media.description(described.then_some(inner));
        quote!(&[#media])
    } else {
        quote!(<#inner as ::api_runtime::server::RequestBody>::MEDIA)
    };
    quote!(::api_runtime::server::Body::new(#media) #required)
}

/// Generates the call of the method of `Inputs` that reads a body, with `.await` if it is async.
fn body_reader(body: &Body) -> TokenStream {
    let is_opaque = body
        .media
        .as_ref()
        .is_none_or(|media| media.kind.is_opaque());
    // The type of an opaque body cannot say itself that the body is absent.
    let optional = if is_opaque && !body.is_required {
        "optional_"
    } else {
        ""
    };
    let Some(media) = &body.media else {
        let method = format_ident!("{optional}one_of");
        return quote!(__inputs.#method(&__BODY).await);
    };
    let method = format_ident!("{optional}{}", method(media.kind));
    match media.kind {
        Kind::Json => quote!(__inputs.#method(&__BODY, &crate::SCHEMAS).await),
        Kind::Form | Kind::Text | Kind::Multipart | Kind::Parts => {
            quote!(__inputs.#method(&__BODY).await)
        }
        // A stream is handed over unread, so there is nothing to wait for.
        Kind::Bytes | Kind::Events | Kind::Items | Kind::PartStream => {
            quote!(__inputs.#method(&__BODY))
        }
    }
}

/// Returns the name of the method of `Inputs` that reads a body of this kind.
fn method(kind: Kind) -> &'static str {
    match kind {
        Kind::Json => "json",
        Kind::Form => "form",
        Kind::Text => "text",
        Kind::Multipart => "multipart",
        Kind::Bytes | Kind::Events => "stream",
        Kind::Items => "items",
        Kind::Parts => "parts",
        Kind::PartStream => "part_stream",
    }
}

/// Expands `#[derive(RequestBody)]`.
pub(crate) fn expand_body(input: &DeriveInput) -> Result<TokenStream> {
    let variants = choices(input, "RequestBody")?;
    let ident = &input.ident;
    let media = media_constant(&variants);
    let arms = variants.iter().enumerate().map(|(at, choice)| {
        let at = Literal::usize_unsuffixed(at);
        let variant = &choice.ident;
        let method = format_ident!("{}_as", method(choice.media.kind));
        let read = match choice.media.kind {
            Kind::Json => quote!(__inputs.#method(__body, #at, &crate::SCHEMAS).await),
            Kind::Text => quote!(__inputs.#method(__body).await),
            Kind::Multipart => quote!(__inputs.#method().await),
            Kind::Bytes | Kind::Events => quote!(__inputs.#method()),
            Kind::Items | Kind::PartStream => quote!(__inputs.#method(__body, #at)),
            Kind::Form | Kind::Parts => quote!(__inputs.#method(__body, #at).await),
        };
        quote!(#at => #read.map(Self::#variant),)
    });
    Ok(quote! {
        #[automatically_derived]
        impl ::api_runtime::server::RequestBody for #ident {
            #media

            async fn read(
                __inputs: &mut ::api_runtime::server::Inputs<'_>,
                __body: &::api_runtime::server::Body,
                __at: usize,
            ) -> ::core::option::Option<Self> {
                match __at {
                    #(#arms)*
                    // `__at` is an index of `MEDIA`, but the match has to be exhaustive.
                    _ => ::core::option::Option::None,
                }
            }
        }
    })
}

/// A variant of an enum whose variants are the media types of a body.
pub(crate) struct Choice {
    pub ident: Ident,
    pub ty: Type,
    pub media: Media,
}

/// Reads the variants of an enum whose variants are the media types of a body. `derive` is the name
/// of the derive, for messages.
pub(crate) fn choices(input: &DeriveInput, derive: &str) -> Result<Vec<Choice>> {
    let Data::Enum(data) = &input.data else {
        return Err(wrong_shape(
            input,
            &format!("{derive} is for an enum of media types"),
        ));
    };
    let mut choices = Vec::new();
    for variant in &data.variants {
        let (Fields::Unnamed(fields), 1) = (&variant.fields, variant.fields.len()) else {
            return Err(syn::Error::new_spanned(
                variant,
                "a media type's variant has one unnamed field",
            ));
        };
        let Some(media) = Body::read(&variant.attrs)?.and_then(|body| body.media) else {
            return Err(syn::Error::new_spanned(
                variant,
                "a variant says its media type: #[body(json)]",
            ));
        };
        choices.push(Choice {
            ident: variant.ident.clone(),
            ty: fields.unnamed[0].ty.clone(),
            media,
        });
    }
    Ok(choices)
}

/// Generates the associated constant `MEDIA`: the descriptions of the media types, in the order of
/// the variants.
pub(crate) fn media_constant(choices: &[Choice]) -> TokenStream {
    constant(
        &quote!(MEDIA),
        &quote!(&'static [::api_runtime::server::Media]),
        |described| {
            let media = choices
                .iter()
                .map(|choice| choice.media.description(described.then_some(&choice.ty)));
            quote!(&[#(#media),*])
        },
    )
}

#[cfg(test)]
mod tests {
    use syn::{DeriveInput, parse_quote};

    fn error(input: &DeriveInput) -> String {
        super::expand(input)
            .expect_err("the input is wrong")
            .to_string()
    }

    #[test]
    fn wrong_attributes_of_a_request_are_errors() {
        let cases: [(DeriveInput, &str); 8] = [
            (
                parse_quote!(
                    enum A {}
                ),
                "Request is for a struct",
            ),
            (
                parse_quote!(
                    struct A {
                        a: u8,
                    }
                ),
                "is marked #[parameter(…)]",
            ),
            (
                parse_quote!(
                    struct A {
                        #[parameter]
                        a: u8,
                    }
                ),
                "says where it is",
            ),
            (
                parse_quote!(
                    struct A {
                        #[parameter(query, header)]
                        a: u8,
                    }
                ),
                "said already",
            ),
            (
                parse_quote!(
                    struct A {
                        #[parameter(query, max = 1)]
                        a: u8,
                    }
                ),
                "a parameter takes",
            ),
            (
                parse_quote!(
                    struct A {
                        #[parameter(query, default = 1u8)]
                        a: u8,
                    }
                ),
                "a default is",
            ),
            (
                parse_quote!(
                    struct A {
                        #[parameter(query, style = "bold")]
                        a: u8,
                    }
                ),
                "a style is",
            ),
            (
                parse_quote!(
                    struct A {
                        #[body(json, text)]
                        a: u8,
                    }
                ),
                "one media type",
            ),
        ];
        for (input, expected) in cases {
            let message = error(&input);
            assert!(message.contains(expected), "{message}");
        }
    }
}
