//! `#[derive(Responses)]`: an enum of the responses that a handler may return.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
use syn::parse::ParseStream;
use syn::{
    Attribute, Data, DeriveInput, Fields, LitInt, LitStr, Path, Result, Token, Type, Variant,
};

use crate::media::{Media, constant};
use crate::shape::wrong_shape;

/// A response of an operation, as an enum variant declares it.
struct Response<'i> {
    ident: &'i Ident,
    status: Status,
    content: Content,
    /// The name and type of the value that the variant holds besides the status. The name is `None`
    /// in a tuple variant.
    payload: Option<(Option<&'i Ident>, &'i Type)>,
}

/// The status under which the contract lists a response. A range has its first digit: 4 for `4XX`.
enum Status {
    Code(u16),
    Range(u8),
    Default,
}

/// How the value of a variant is written.
enum Content {
    /// The type of the value implements `ResponseParts`, which writes the response. A variant
    /// without a value has no body.
    Parts,
    /// The value is a body of this media type.
    Body(Media),
    /// The value is a `Handshake`: the headers of a response without a body, such as 101, after which
    /// the connection changes its protocol.
    Handshake,
}

/// Expands `#[derive(Responses)]`.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(wrong_shape(input, "Responses is for an enum"));
    };
    let responses: Vec<Response<'_>> = data.variants.iter().map(read).collect::<Result<_>>()?;
    let ident = &input.ident;
    let listed = constant(
        &quote!(LISTED),
        &quote!(&'static [::api_runtime::server::ListedResponse]),
        |described| {
            let listed = responses
                .iter()
                .map(|response| response.description(described));
            quote!(&[#(#listed),*])
        },
    );
    let arms = responses
        .iter()
        .enumerate()
        .map(|(at, response)| response.arm(at));
    let statuses = statuses(input, &responses)?;
    let conversions = conversions(ident, &responses);
    Ok(quote! {
        #[automatically_derived]
        impl ::api_runtime::server::Responses for #ident {
            #listed
        }

        #[automatically_derived]
        impl ::api_runtime::server::IntoResponse for #ident {
            fn into_response(self) -> ::api_runtime::server::Response {
                match self {
                    #(#arms)*
                }
            }
        }

        #statuses
        #conversions
    })
}

fn read(variant: &Variant) -> Result<Response<'_>> {
    let Some(attribute) = variant
        .attrs
        .iter()
        .find(|attribute| attribute.path().is_ident("response"))
    else {
        return Err(syn::Error::new_spanned(
            variant,
            "a variant says its status: #[response(404)], #[response(\"4XX\")] or #[response(default)]",
        ));
    };
    let (status, content) = attribute.parse_args_with(|input: ParseStream<'_>| {
        let status = Status::parse(input)?;
        Ok((status, Content::parse(input)?))
    })?;
    // One status stands in the attribute alone. Of several, the handler chooses one, so the variant
    // holds it.
    let payload = match (&variant.fields, &status) {
        (Fields::Unit, Status::Code(_)) => None,
        (Fields::Unnamed(fields), Status::Code(_)) if fields.unnamed.len() == 1 => {
            Some((None, &fields.unnamed[0].ty))
        }
        (Fields::Named(fields), Status::Range(_) | Status::Default)
            if fields.named.len() <= 2
                && fields
                    .named
                    .first()
                    .and_then(|field| field.ident.as_ref())
                    .is_some_and(|name| name == "status") =>
        {
            let payload = fields.named.iter().nth(1);
            payload.map(|field| (field.ident.as_ref(), &field.ty))
        }
        _ => {
            return Err(syn::Error::new_spanned(
                variant,
                "the variant of one status has at most one unnamed field; that of several has the field `status` and \
                 at most one other",
            ));
        }
    };
    if payload.is_none() && !matches!(content, Content::Parts) {
        return Err(syn::Error::new_spanned(
            variant,
            "a variant with a body has a field for it",
        ));
    }
    Ok(Response {
        ident: &variant.ident,
        status,
        content,
        payload,
    })
}

impl Status {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(LitInt) {
            let literal: LitInt = input.parse()?;
            let code = literal.base10_parse()?;
            if !(100..=999).contains(&code) {
                return Err(syn::Error::new(literal.span(), "a status has three digits"));
            }
            return Ok(Self::Code(code));
        }
        if input.peek(LitStr) {
            let literal: LitStr = input.parse()?;
            return match literal.value().as_bytes() {
                [digit @ b'1'..=b'9', b'X', b'X'] => Ok(Self::Range(digit - b'0')),
                _ => Err(syn::Error::new(
                    literal.span(),
                    "a range of statuses is written \"4XX\"",
                )),
            };
        }
        let word: Ident = input.parse()?;
        if word == "default" {
            return Ok(Self::Default);
        }
        Err(syn::Error::new(
            word.span(),
            "a status is a number, a range such as \"4XX\", or default",
        ))
    }

    /// Returns whether the variant holds a status that the handler chooses, as for a range or
    /// `default`.
    fn is_dynamic(&self) -> bool {
        !matches!(self, Self::Code(_))
    }
}

impl Content {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.is_empty() {
            return Ok(Self::Parts);
        }
        input.parse::<Token![,]>()?;
        if input.is_empty() {
            return Ok(Self::Parts);
        }
        let word: Ident = input.parse()?;
        if word == "handshake" {
            return Ok(Self::Handshake);
        }
        Media::parse(&word, input)?.map(Self::Body).ok_or_else(|| {
            syn::Error::new(
                word.span(),
                "a response takes json, form, text, multipart, parts, part_stream, bytes, events, items and handshake",
            )
        })
    }
}

impl Response<'_> {
    /// Generates the `api_runtime::server::ListedResponse` that describes the response. It includes
    /// the schema of the value if `described`.
    fn description(&self, described: bool) -> TokenStream {
        let status = match self.status {
            Status::Code(code) => {
                let code = Literal::u16_unsuffixed(code);
                quote!(code(#code))
            }
            Status::Range(digit) => {
                let digit = Literal::u8_unsuffixed(digit);
                quote!(range(#digit))
            }
            Status::Default => quote!(default()),
        };
        let content = match (&self.content, &self.payload) {
            (Content::Parts, Some((_, ty))) => Some(quote!(.parts::<#ty>())),
            (Content::Body(media), Some((_, ty))) => {
                let media = media.description(described.then_some(*ty));
                Some(quote!(.media(&[#media])))
            }
            (Content::Handshake, _) | (_, None) => None,
        };
        quote!(::api_runtime::server::ListedResponse::#status #content)
    }

    /// Generates the `match` arm that converts the variant into a response. The description of the
    /// response is at index `at` of `LISTED`.
    fn arm(&self, at: usize) -> TokenStream {
        let at = Literal::usize_unsuffixed(at);
        let variant = self.ident;
        // The description is looked up and not repeated, so what is sent and what is described
        // cannot differ.
        let listed = quote!(<Self as ::api_runtime::server::Responses>::LISTED[#at]);
        let (pattern, listed) = if self.status.is_dynamic() {
            let field = self.payload.and_then(|(name, _)| name);
            // Names with two underscores, since a contract may choose any other name.
            let field = field.map(|name| quote!(, #name: __payload));
            (
                quote!({ status: __status #field }),
                quote!(#listed.at(__status.get())),
            )
        } else {
            let field = self.payload.map(|_| quote!((__payload)));
            (quote!(#field), listed)
        };
        let write = match (&self.content, &self.payload) {
            (_, None) => quote!(#listed.empty()),
            (Content::Parts, _) => {
                quote!(::api_runtime::server::ResponseParts::respond(__payload, #listed))
            }
            (Content::Body(media), _) => media.write(&listed, &quote!(__payload)),
            (Content::Handshake, _) => quote!(#listed.handshake(__payload)),
        };
        quote!(Self::#variant #pattern => #write,)
    }

    /// Returns whether the type of the value alone identifies the response. The body of an error
    /// does not, since errors of several statuses often have the same one.
    fn is_telling(&self) -> bool {
        matches!(self.content, Content::Parts)
            || matches!(self.status, Status::Code(code) if code < 400)
    }
}

/// Generates an impl of `api_runtime::server::Statuses`. Returns `None` if each variant has one
/// status.
///
/// In `#[responses(…)]`, `beside = Other` names the other enum of the operation, whose statuses a
/// range or `default` excludes, and `default = 400..=599` gives the statuses that `default` may
/// have.
fn statuses(input: &DeriveInput, responses: &[Response<'_>]) -> Result<Option<TokenStream>> {
    let (mut beside, mut range) = (None, None);
    let attributes: Vec<&Attribute> = input
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("responses"))
        .collect();
    for attribute in attributes {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("beside") {
                beside = Some(meta.value()?.parse::<Path>()?);
            } else if meta.path.is_ident("default") {
                let value = meta.value()?;
                let first: LitInt = value.parse()?;
                value.parse::<Token![..=]>()?;
                range = Some((first, value.parse::<LitInt>()?));
            } else {
                return Err(meta.error("responses takes beside and default"));
            }
            Ok(())
        })?;
    }
    let is_dynamic = responses
        .iter()
        .any(|response| response.status.is_dynamic());
    if !is_dynamic {
        return Ok(None);
    }
    // A range or `default` excludes the statuses that the operation lists, and some of them are in
    // its other enum.
    let Some(beside) = beside else {
        return Err(wrong_shape(
            input,
            "an enum with a range or default names the operation's other enum: #[responses(beside = …)]",
        ));
    };
    let ident = &input.ident;
    let range = range.map(
        |(first, last)| quote!(const DEFAULT: ::core::ops::RangeInclusive<u16> = #first..=#last;),
    );
    Ok(Some(quote! {
        #[automatically_derived]
        impl ::api_runtime::server::Statuses for #ident {
            const LISTED: &'static [&'static [::api_runtime::server::ListedResponse]] = &[
                <Self as ::api_runtime::server::Responses>::LISTED,
                <#beside as ::api_runtime::server::Responses>::LISTED,
            ];
            #range
        }
    }))
}

/// Generates the conversions from the values of the variants: `TryFrom<(StatusCode, T)>` if a
/// variant for a range or `default` holds the type `T`, else `From<T>` if only one variant holds
/// `T` and `T` alone identifies it.
fn conversions(ident: &Ident, responses: &[Response<'_>]) -> TokenStream {
    let mut by_type: Vec<(String, &Type, Vec<&Response<'_>>)> = Vec::new();
    for response in responses {
        let Some((_, ty)) = response.payload else {
            continue;
        };
        // A derive sees tokens and not types, so two types are the same if they are spelled alike.
        let key = quote!(#ty).to_string();
        match by_type.iter_mut().find(|(known, ..)| *known == key) {
            Some((.., same)) => same.push(response),
            None => by_type.push((key, ty, vec![response])),
        }
    }
    let conversions = by_type.iter().map(|(_, ty, responses)| {
        if responses
            .iter()
            .any(|response| response.status.is_dynamic())
        {
            return Some(by_status(ident, ty, responses));
        }
        // Two variants of one type would give two conflicting impls.
        let [only] = responses.as_slice() else {
            return None;
        };
        let variant = only.ident;
        only.is_telling().then(|| {
            quote! {
                #[automatically_derived]
                impl ::core::convert::From<#ty> for #ident {
                    fn from(__payload: #ty) -> Self {
                        Self::#variant(__payload)
                    }
                }
            }
        })
    });
    quote!(#(#conversions)*)
}

/// Generates `TryFrom<(StatusCode, ty)>`, which selects the variant by the status and fails if
/// there is none.
fn by_status(ident: &Ident, ty: &Type, responses: &[&Response<'_>]) -> TokenStream {
    // A status of its own goes before a range, and a range before the default.
    let fixed = responses.iter().filter_map(|response| {
        let Status::Code(code) = response.status else {
            return None;
        };
        let (variant, code) = (response.ident, Literal::u16_unsuffixed(code));
        Some(quote! {
            if __status.as_u16() == #code {
                return ::core::result::Result::Ok(Self::#variant(__payload));
            }
        })
    });
    let dynamic = responses
        .iter()
        .filter(|response| response.status.is_dynamic())
        .map(|response| {
            let variant = response.ident;
            let name = response.payload.and_then(|(name, _)| name);
            quote! {
                if let ::core::result::Result::Ok(status) = ::core::convert::TryFrom::try_from(__status) {
                    return ::core::result::Result::Ok(Self::#variant { status, #name: __payload });
                }
            }
        });
    quote! {
        #[automatically_derived]
        impl ::core::convert::TryFrom<(::api_runtime::server::StatusCode, #ty)> for #ident {
            type Error = ::api_runtime::server::UnlistedStatusError;

            fn try_from(
                (__status, __payload): (::api_runtime::server::StatusCode, #ty),
            ) -> ::core::result::Result<Self, ::api_runtime::server::UnlistedStatusError> {
                #(#fixed)*
                #(#dynamic)*
                ::core::result::Result::Err(::api_runtime::server::UnlistedStatusError::new(__status))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use syn::{DeriveInput, parse_quote};

    #[test]
    fn wrong_attributes_of_responses_are_errors() {
        let cases: [(DeriveInput, &str); 8] = [
            (
                parse_quote!(
                    struct A;
                ),
                "Responses is for an enum",
            ),
            (
                parse_quote!(
                    enum A {
                        B,
                    }
                ),
                "says its status",
            ),
            (
                parse_quote!(
                    enum A {
                        #[response(99)]
                        B,
                    }
                ),
                "three digits",
            ),
            (
                parse_quote!(
                    enum A {
                        #[response("40X")]
                        B,
                    }
                ),
                "is written \"4XX\"",
            ),
            (
                parse_quote!(
                    enum A {
                        #[response(200, xml)]
                        B(u8),
                    }
                ),
                "a response takes",
            ),
            (
                parse_quote!(
                    enum A {
                        #[response(200, json)]
                        B,
                    }
                ),
                "has a field for it",
            ),
            (
                parse_quote!(
                    enum A {
                        #[response(default)]
                        B(u8),
                    }
                ),
                "the field `status`",
            ),
            (
                parse_quote!(
                    enum A {
                        #[response(default)]
                        B { status: u8 },
                    }
                ),
                "other enum",
            ),
        ];
        for (input, expected) in cases {
            let message = super::expand(&input)
                .expect_err("the input is wrong")
                .to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
