//! `#[derive(ResponseParts)]`: a struct of a body and headers, or an enum of a body's media types.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Field, Fields, Result, Type};

use crate::media::{Body, constant};
use crate::parameter::Parameter;
use crate::request::{choices, media_constant};
use crate::schema::unraw;
use crate::shape::{self, wrong_shape};

/// Expands `#[derive(ResponseParts)]`.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    match &input.data {
        Data::Enum(_) => of_enum(input),
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => {
                let mut parts = Parts::default();
                for field in &fields.named {
                    parts.add(field)?;
                }
                Ok(parts.expand(&input.ident))
            }
            Fields::Unit | Fields::Unnamed(_) => Err(wrong_shape(input, SHAPE)),
        },
        Data::Union(_) => Err(wrong_shape(input, SHAPE)),
    }
}

const SHAPE: &str =
    "ResponseParts is for a struct with named fields, or for an enum of media types";

/// Expands `#[derive(ResponseParts)]` for an enum whose variants are the media types of a body.
fn of_enum(input: &DeriveInput) -> Result<TokenStream> {
    let variants = choices(input, "ResponseParts")?;
    let ident = &input.ident;
    let media = media_constant(&variants);
    let arms = variants.iter().enumerate().map(|(at, choice)| {
        let at = Literal::usize_unsuffixed(at);
        let variant = &choice.ident;
        let write = choice
            .media
            .write(&quote!(__listed.choose(#at)), &quote!(__body));
        quote!(Self::#variant(__body) => #write,)
    });
    Ok(quote! {
        #[automatically_derived]
        impl ::api_runtime::server::ResponseParts for #ident {
            #media
            // The enum is a body alone. Headers are fields of the struct that holds it.
            const HEADERS: &'static [::api_runtime::server::Parameter] = &[];

            fn respond(self, __listed: ::api_runtime::server::ListedResponse) -> ::api_runtime::server::Response {
                match self {
                    #(#arms)*
                }
            }
        }
    })
}

/// The body and the headers of a response struct, each with the name and type of its field.
#[derive(Default)]
struct Parts {
    body: Option<(Body, Ident, Type)>,
    headers: Vec<(Parameter, Ident, Type)>,
}

impl Parts {
    fn add(&mut self, field: &Field) -> Result<()> {
        let Some(name) = &field.ident else {
            return Ok(());
        };
        if let Some(body) = Body::read(&field.attrs)? {
            let body = (body, name.clone(), field.ty.clone());
            if self.body.replace(body).is_some() {
                return Err(syn::Error::new_spanned(field, "a response has one body"));
            }
            return Ok(());
        }
        let header = field
            .attrs
            .iter()
            .find(|attribute| attribute.path().is_ident("header"));
        let Some(attribute) = header else {
            return Err(syn::Error::new_spanned(
                field,
                "a field of a response is marked #[body(…)] or #[header(…)]",
            ));
        };
        let header = Parameter::read(attribute, name, Some("header"))?;
        // `new` leaves such a header out, which only an `Option` can express.
        if !header.is_required && shape::argument(&field.ty, 0).is_none() {
            return Err(syn::Error::new_spanned(
                &field.ty,
                "a header that is not required is an Option",
            ));
        }
        self.headers.push((header, name.clone(), field.ty.clone()));
        Ok(())
    }

    fn expand(&self, ident: &Ident) -> TokenStream {
        let media = constant(
            &quote!(MEDIA),
            &quote!(&'static [::api_runtime::server::Media]),
            |described| match &self.body {
                None => quote!(&[]),
                // The type of the field is an enum, which lists its media types itself.
                Some((Body { media: None, .. }, _, ty)) => {
                    quote!(<#ty as ::api_runtime::server::ResponseParts>::MEDIA)
                }
                Some((
                    Body {
                        media: Some(media), ..
                    },
                    _,
                    ty,
                )) => {
                    let media = media.description(described.then_some(ty));
                    quote!(&[#media])
                }
            },
        );
        let headers = constant(
            &quote!(HEADERS),
            &quote!(&'static [::api_runtime::server::Parameter]),
            |described| {
                let headers = self
                    .headers
                    .iter()
                    .map(|(header, _, ty)| header.description(described.then_some(ty)));
                quote!(&[#(#headers),*])
            },
        );
        let respond = self.respond();
        let constructors = self.constructors();
        quote! {
            impl #ident {
                #constructors
            }

            #[automatically_derived]
            impl ::api_runtime::server::ResponseParts for #ident {
                #media
                #headers

                fn respond(self, __listed: ::api_runtime::server::ListedResponse) -> ::api_runtime::server::Response {
                    #respond
                }
            }
        }
    }

    /// Generates the body of `ResponseParts::respond`, which returns the response with its body and
    /// headers.
    fn respond(&self) -> TokenStream {
        let listed = quote!(__listed);
        let body = match &self.body {
            None => quote!(__listed.empty()),
            Some((body, name, _)) => match &body.media {
                Some(media) => media.write(&listed, &quote!(self.#name)),
                None => {
                    quote!(::api_runtime::server::ResponseParts::respond(self.#name, __listed))
                }
            },
        };
        let headers = self.headers.iter().enumerate();
        headers.fold(body, |response, (at, (_, name, _))| {
            let at = Literal::usize_unsuffixed(at);
            let header = quote!(&<Self as ::api_runtime::server::ResponseParts>::HEADERS[#at]);
            quote!(::api_runtime::server::with_header(#response, #header, &self.#name))
        })
    }

    /// Generates `new`, which takes the body and the required headers, and a `with_…` method for
    /// each other header.
    fn constructors(&self) -> TokenStream {
        let body = self.body.iter().map(|(_, name, ty)| (name, ty));
        let required = self.headers.iter().filter(|header| header.0.is_required);
        let (names, types): (Vec<_>, Vec<_>) =
            body.chain(required.map(|(_, name, ty)| (name, ty))).unzip();
        let optional: Vec<&Ident> = self
            .headers
            .iter()
            .filter(|header| !header.0.is_required)
            .map(|(_, name, _)| name)
            .collect();
        let setters = self
            .headers
            .iter()
            .filter(|header| !header.0.is_required)
            .map(|(header, name, ty)| setter(header, name, ty));
        quote! {
            /// Creates the response from its required parts.
            #[must_use]
            pub fn new(#(#names: #types),*) -> Self {
                Self { #(#names,)* #(#optional: ::core::option::Option::None,)* }
            }

            #(#setters)*
        }
    }
}

fn setter(header: &Parameter, name: &Ident, ty: &Type) -> TokenStream {
    let function = format_ident!("with_{}", unraw(&name.to_string()));
    let value = shape::argument(ty, 0).unwrap_or(ty);
    let docs = format!("Sets the header `{}`.", header.name());
    quote! {
        #[doc = #docs]
        #[must_use]
        pub fn #function(mut self, __value: #value) -> Self {
            self.#name = ::core::option::Option::Some(__value);
            self
        }
    }
}
