//! What an operation takes: a struct, the descriptions of its parts, and how it is read.

use contract::model::{Location, ParameterEncoding, SchemaKind, Style};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

use super::tag::{method_and_path, type_names, upgrades};
use super::{constant, types_crate};
use crate::ir::{Additional, Api, Body, Media, MediaKind, Operation, Parameter, TypeKind, TypeRef};
use crate::tokens::{docs, foreign_type, ident};

/// Whether the body can be of some kind at all.
pub(super) fn has_body(operation: &Operation) -> bool {
    operation
        .body
        .as_ref()
        .is_some_and(|body| !body.media.is_empty())
}

/// Whether reading the request waits for its body.
pub(super) fn waits(operation: &Operation) -> bool {
    operation
        .body
        .iter()
        .flat_map(|body| &body.media)
        .any(|media| reader(media).waits)
}

pub(super) fn items(api: &Api<'_>, operation: &Operation) -> TokenStream {
    let [name, _, _] = type_names(operation);
    let words = docs(&format!("What {} takes.", method_and_path(operation)));
    let derives = if is_clone(operation) {
        quote!(Debug, Clone)
    } else {
        quote!(Debug)
    };
    let parameters = operation
        .parameters
        .iter()
        .map(|parameter| field(api, parameter));
    let upgrade = upgrades(operation).then(|| {
        let field = upgrade_field(operation);
        quote! {
            /// What it needs to take over the connection.
            pub #field: server::Upgrade,
        }
    });
    let body = operation.body.as_ref().filter(|_| has_body(operation));
    let body_field = body.map(|body| {
        let words = docs(body.description.as_deref().unwrap_or("The body."));
        let ty = body_type(api, operation, body);
        quote!(#words pub body: #ty,)
    });
    let choices = body
        .filter(|body| body.media.len() > 1)
        .map(|body| choices(api, operation, body));
    let constants = operation.parameters.iter().map(|parameter| {
        let name = constant(&parameter.name);
        let value = parameter_description(api, parameter);
        quote!(pub(crate) const #name: server::Parameter = #value;)
    });
    let body_constant = body.map(|body| body_description(api, body));
    let read = read(api, operation);
    quote! {
        #words
        #[derive(#derives)]
        pub struct #name {
            #(#parameters)*
            #upgrade
            #body_field
        }
        #choices
        impl #name {
            #(#constants)*
            #body_constant
            #read
        }
    }
}

fn field(api: &Api<'_>, parameter: &Parameter) -> TokenStream {
    let location = match parameter.location {
        Location::Path => "path",
        Location::Query => "query",
        Location::Header => "header",
        Location::Cookie => "cookie",
    };
    let fallback = format!("The {location} parameter `{}`.", parameter.wire);
    let words = docs(
        parameter
            .description
            .as_deref()
            .filter(|text| !text.trim().is_empty())
            .unwrap_or(&fallback),
    );
    let deprecated = parameter.deprecated.then(|| quote!(#[deprecated]));
    let name = ident(&parameter.name);
    let ty = foreign_type(api, &parameter.ty);
    let ty = if is_optional(parameter) {
        quote!(Option<#ty>)
    } else {
        ty
    };
    quote!(#words #deprecated pub #name: #ty,)
}

/// Whether its absence is seen by the implementation.
fn is_optional(parameter: &Parameter) -> bool {
    !parameter.required && parameter.location != Location::Path && parameter.default.is_none()
}

/// `server::Parameter::query("page_size").default("10")`: what reading goes by, and documents.
pub(super) fn parameter_description(api: &Api<'_>, parameter: &Parameter) -> TokenStream {
    let wire = &parameter.wire;
    let mut description = match parameter.location {
        Location::Path => quote!(server::Parameter::path(#wire)),
        Location::Query => quote!(server::Parameter::query(#wire)),
        Location::Header => quote!(server::Parameter::header(#wire)),
        Location::Cookie => quote!(server::Parameter::cookie(#wire)),
    };
    if parameter.required && parameter.location != Location::Path {
        description.extend(quote!(.required()));
    }
    if let Some(default) = &parameter.default {
        let json = default.to_string();
        description.extend(quote!(.default(#json)));
    }
    description.extend(style(parameter));
    if let Some((properties, open)) = properties(api, &parameter.ty) {
        description.extend(quote!(.object(&[#(#properties),*])));
        if open {
            description.extend(quote!(.open()));
        }
    }
    description
}

/// How it is written, where that is not usual for its place.
fn style(parameter: &Parameter) -> Option<TokenStream> {
    let (style, explode) = match &parameter.encoding {
        ParameterEncoding::Content(media) => {
            return media.contains("json").then(|| quote!(.json()));
        }
        ParameterEncoding::Style { style, explode, .. } => (*style, *explode),
    };
    let usual = match parameter.location {
        Location::Path | Location::Header => (Style::Simple, false),
        Location::Query | Location::Cookie => (Style::Form, true),
    };
    if (style, explode) == usual {
        return None;
    }
    let style = match style {
        Style::Simple => quote!(Simple),
        Style::Label => quote!(Label),
        Style::Matrix => quote!(Matrix),
        Style::Form => quote!(Form),
        Style::SpaceDelimited => quote!(SpaceDelimited),
        Style::PipeDelimited => quote!(PipeDelimited),
        Style::DeepObject => quote!(DeepObject),
    };
    Some(quote!(.style(server::Style::#style, #explode)))
}

/// The property names of an object, and whether it takes others too; none for what is no object.
fn properties(api: &Api<'_>, ty: &TypeRef) -> Option<(Vec<String>, bool)> {
    let id = match ty {
        TypeRef::Named(id) => *id,
        TypeRef::Map(_) => return Some((Vec::new(), true)),
        TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => return properties(api, inner),
        TypeRef::Primitive(_) | TypeRef::Vec(_) | TypeRef::Any => return None,
    };
    let def = api.type_def(id);
    match &def.kind {
        TypeKind::Alias(target) => properties(api, target),
        TypeKind::Object(object) => {
            let names = object
                .fields
                .iter()
                .map(|field| field.wire.clone())
                .collect();
            Some((names, matches!(object.additional, Additional::Kept { .. })))
        }
        TypeKind::Map(_) => Some((Vec::new(), true)),
        TypeKind::Union(union) => {
            let variants: Vec<_> = union
                .variants
                .iter()
                .filter_map(|variant| properties(api, &variant.ty))
                .collect();
            let open = variants.iter().any(|(_, open)| *open);
            let mut names: Vec<String> =
                variants.into_iter().flat_map(|(names, _)| names).collect();
            names.sort();
            names.dedup();
            (open || !names.is_empty()).then_some((names, open))
        }
        TypeKind::Json { .. } => match &api.contract.schema(def.schema).kind {
            SchemaKind::Object(keywords) if !keywords.properties.is_empty() => {
                Some((keywords.properties.keys().cloned().collect(), false))
            }
            _ => None,
        },
        TypeKind::Scalar(_) | TypeKind::Array(_) | TypeKind::Enumeration(_) => None,
    }
}

fn body_description(api: &Api<'_>, body: &Body) -> TokenStream {
    let media = body.media.iter().map(|media| {
        let name = &media.name;
        let schema = media
            .schema
            .filter(|_| media.kind == MediaKind::Json)
            .map(|schema| {
                let pointer =
                    contract::bundle::schema_pointer(api.contract, api.contract.resolve(schema));
                quote!(.schema(#pointer))
            });
        // A receiver may be older than the API that calls it.
        let lenient = api.names.is_reversed.then(|| quote!(.lenient()));
        quote!(server::Media::new(#name) #schema #lenient)
    });
    let required = body.required.then(|| quote!(.required()));
    quote!(pub(crate) const BODY: server::Body = server::Body::new(&[#(#media),*]) #required;)
}

/// How a kind of body is read.
struct Reader {
    method: &'static str,
    /// Takes the schemas, to say all violations.
    checks: bool,
    waits: bool,
    /// Nothing in the type itself can say that the body is absent.
    opaque: bool,
}

fn reader(media: &Media) -> Reader {
    let reader = |method, waits, opaque| Reader {
        method,
        checks: method == "json",
        waits,
        opaque,
    };
    match media.kind {
        MediaKind::Json => reader("json", true, false),
        MediaKind::Form => reader("form", true, false),
        MediaKind::Text => reader("text", true, false),
        MediaKind::Multipart => reader("multipart", true, true),
        MediaKind::EventStream | MediaKind::Bytes => reader("stream", false, true),
    }
}

/// The type of one kind of body.
fn media_type(api: &Api<'_>, media: &Media) -> TokenStream {
    match media.kind {
        MediaKind::Json | MediaKind::Form | MediaKind::Text => {
            foreign_type(api, media.ty.as_ref().unwrap_or(&TypeRef::Any))
        }
        MediaKind::Multipart => quote!(server::Multipart),
        MediaKind::EventStream | MediaKind::Bytes => quote!(server::ByteStream),
    }
}

fn body_type(api: &Api<'_>, operation: &Operation, body: &Body) -> TokenStream {
    let ty = if let [only] = body.media.as_slice() {
        media_type(api, only)
    } else {
        let choices = choices_name(operation);
        quote!(#choices)
    };
    if body.required {
        ty
    } else {
        quote!(Option<#ty>)
    }
}

fn choices_name(operation: &Operation) -> Ident {
    format_ident!("{}Body", operation.pascal)
}

/// The kinds of body, as an enum.
fn choices(api: &Api<'_>, operation: &Operation, body: &Body) -> TokenStream {
    let name = choices_name(operation);
    let words = docs(&format!(
        "The body of {}, by its media type.",
        method_and_path(operation)
    ));
    let derives = if is_clone(operation) {
        quote!(Debug, Clone)
    } else {
        quote!(Debug)
    };
    let variants = super::payload::media_names(&body.media)
        .into_iter()
        .zip(&body.media)
        .map(|(variant, media)| {
            let words = docs(&format!("`{}`", media.name));
            let ty = media_type(api, media);
            quote!(#words #variant(#ty))
        });
    quote! {
        #words
        #[derive(#derives)]
        pub enum #name { #(#variants),* }
    }
}

fn read(api: &Api<'_>, operation: &Operation) -> TokenStream {
    let parameters: Vec<Ident> = operation
        .parameters
        .iter()
        .map(|parameter| ident(&parameter.name))
        .collect();
    let takes = operation
        .parameters
        .iter()
        .zip(&parameters)
        .map(|(parameter, name)| {
            let constant = constant(&parameter.name);
            quote!(let #name = inputs.take(&Self::#constant);)
        });
    let body = operation.body.as_ref().filter(|_| has_body(operation));
    let take_body = body.map(|body| {
        let value = match body.media.as_slice() {
            [only] => read_only(api, body, only),
            _ => read_chosen(api, operation, body),
        };
        quote!(let body = #value;)
    });
    let (take_upgrade, upgrade) = if upgrades(operation) {
        let field = upgrade_field(operation);
        (
            Some(quote!(let #field = inputs.upgrade();)),
            Some(quote!(#field,)),
        )
    } else {
        (None, None)
    };
    let body = body.map(|_| quote!(body: body?,));
    let is_async = waits(operation).then(|| quote!(async));
    let binding = if parameters.is_empty() && body.is_none() && upgrade.is_none() {
        quote!(let inputs)
    } else {
        quote!(let mut inputs)
    };
    quote! {
        /// Reads the request, or says everything that is wrong with it.
        #is_async fn read(call: &mut server::Call) -> Result<Self, server::Refused> {
            #binding = call.inputs();
            #(#takes)*
            #take_upgrade
            #take_body
            inputs.finish(|| Some(Self { #(#parameters: #parameters?,)* #upgrade #body }))
        }
    }
}

/// A body that can only be of one kind.
fn read_only(api: &Api<'_>, body: &Body, media: &Media) -> TokenStream {
    let reader = reader(media);
    let method = if reader.opaque && !body.required {
        format_ident!("optional_{}", reader.method)
    } else {
        format_ident!("{}", reader.method)
    };
    let schemas = reader.checks.then(|| schemas(api));
    let wait = reader.waits.then(|| quote!(.await));
    quote!(inputs.#method(&Self::BODY #schemas) #wait)
}

/// A body of several kinds: the content type says which.
fn read_chosen(api: &Api<'_>, operation: &Operation, body: &Body) -> TokenStream {
    let name = choices_name(operation);
    let names = super::payload::media_names(&body.media);
    let arms = body
        .media
        .iter()
        .zip(&names)
        .enumerate()
        .map(|(at, (media, variant))| {
            let at = Literal::usize_unsuffixed(at);
            let reader = reader(media);
            let method = format_ident!("{}_as", reader.method);
            let arguments = match media.kind {
                MediaKind::Json => {
                    let schemas = schemas(api);
                    quote!(&Self::BODY, #at #schemas)
                }
                MediaKind::Form | MediaKind::Text => quote!(&Self::BODY),
                MediaKind::Multipart | MediaKind::EventStream | MediaKind::Bytes => quote!(),
            };
            let wait = reader.waits.then(|| quote!(.await));
            let wrap = if body.required {
                quote!(#name::#variant)
            } else {
                quote!(|body| Some(#name::#variant(body)))
            };
            quote!(server::Chosen::Media(#at) => inputs.#method(#arguments) #wait.map(#wrap))
        });
    let absent = if body.required {
        quote! {
            server::Chosen::Absent => {
                inputs.no_body::<String>(&Self::BODY);
                None
            }
        }
    } else {
        quote!(server::Chosen::Absent => Some(None),)
    };
    quote! {
        match inputs.choose(&Self::BODY) {
            #(#arms,)*
            #absent
            server::Chosen::Media(_) | server::Chosen::Refused => None,
        }
    }
}

fn schemas(api: &Api<'_>) -> TokenStream {
    let krate = types_crate(api);
    quote!(, &#krate::schemas::SCHEMAS)
}

fn is_clone(operation: &Operation) -> bool {
    !upgrades(operation)
        && !operation
            .body
            .iter()
            .flat_map(|body| &body.media)
            .any(|media| reader(media).opaque)
}

fn upgrade_field(operation: &Operation) -> Ident {
    let is_taken = operation
        .parameters
        .iter()
        .any(|parameter| parameter.name == "upgrade");
    ident(if is_taken { "upgrade_" } else { "upgrade" })
}
