//! The closed loop: code that derives the document again from what the other files enforce.
//!
//! Only words that no Rust enforces are written here, as JSON beside the thing that they describe.

use contract::model;
use proc_macro2::{Literal, TokenStream};
use quote::quote;
use serde_json::{Map, Value};

use super::payload::{self, Payload};
use super::tag::type_names;
use super::{answer, constant, request, serde_json_import, types_crate};
use crate::ir::{Answer, Api, Media, MediaKind, Operation, Parameter, TypeKind, TypeRef};
use crate::tokens::{ident, inner_docs};

/// Keys of a schema that constrain nothing: those a bare Rust type cannot carry.
const ANNOTATIONS: &[&str] = &[
    "title",
    "description",
    "default",
    "example",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "externalDocs",
    "xml",
    "$comment",
];

pub(super) fn module(api: &Api<'_>) -> TokenStream {
    let title = inner_docs(
        "The document, derived again from the code that serves requests.\n\n\
         A test compares it with the contract: what differs was lost on the way into Rust. \
         What is served and published is the contract itself.",
    );
    let modules = api.tags.iter().map(|tag| {
        let feature = &tag.feature;
        let module = ident(&tag.module);
        quote!(#[cfg(feature = #feature)] mod #module;)
    });
    let calls = api.tags.iter().map(|tag| {
        let feature = &tag.feature;
        let module = ident(&tag.module);
        quote!(#[cfg(feature = #feature)] #module::describe(&mut document);)
    });
    let words = base(api);
    let components = components(api);
    quote! {
        #title
        use api_runtime::server::openapi::Document;
        #(#modules)*
        /// The document as utoipa has it.
        ///
        /// # Errors
        ///
        /// If it says something that utoipa cannot hold; [`json`] loses nothing.
        pub fn openapi() -> Result<api_runtime::utoipa::openapi::OpenApi, api_runtime::server::serde_json::Error> {
            document().into_openapi()
        }
        /// The document as JSON.
        pub fn json() -> api_runtime::server::serde_json::Value {
            document().into_json()
        }
        fn document() -> Document {
            let mut document = Document::new(#words);
            #components
            #(#calls)*
            document
        }
    }
}

/// Every component schema, as its type says it.
fn components(api: &Api<'_>) -> TokenStream {
    let krate = types_crate(api);
    let components = api.types.iter().filter_map(|def| {
        let component = def.component.as_deref()?;
        let name = ident(&def.name);
        let gate = (def.tags.len() == 1).then(|| {
            let tag = def.tags.first().expect("there is one");
            let feature = &api.tags[*tag].feature;
            quote!(#[cfg(feature = #feature)])
        });
        let words = match &def.kind {
            TypeKind::Alias(_) => text(&annotations(api, def.schema)),
            _ => Literal::string(""),
        };
        Some(quote!(#gate document.component::<#krate::#name>(#component, #words);))
    });
    quote!(#(#components)*)
}

/// What the document says besides operations and schemas.
fn base(api: &Api<'_>) -> Literal {
    let Some(document) = api.contract.document.as_object() else {
        return Literal::string("");
    };
    let mut base: Map<String, Value> = Map::new();
    for (key, value) in document {
        match key.as_str() {
            "paths" => {
                let paths = path_words(value);
                if !paths.is_empty() {
                    base.insert(key.clone(), Value::Object(paths));
                }
            }
            "components" => {
                if let Some(schemes) = value.get("securitySchemes") {
                    let mut components = Map::new();
                    components.insert("securitySchemes".to_owned(), schemes.clone());
                    base.insert(key.clone(), Value::Object(components));
                }
            }
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
    text(&base)
}

/// Summaries, descriptions, servers and extensions of paths.
fn path_words(paths: &Value) -> Map<String, Value> {
    let methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "parameters", "$ref"];
    let mut words = Map::new();
    for (path, item) in paths.as_object().into_iter().flatten() {
        let kept = without(Some(item), &methods);
        if !kept.is_empty() {
            words.insert(path.clone(), Value::Object(kept));
        }
    }
    words
}

pub(super) fn tag_module(api: &Api<'_>, tag: usize) -> TokenStream {
    let title = inner_docs(&match &api.tags[tag].name {
        Some(name) => format!("Operations tagged `{name}`, derived again."),
        None => "Operations without a tag, derived again.".to_owned(),
    });
    let module = ident(&api.tags[tag].module);
    let operations: Vec<&Operation> = api.operations_of(tag).collect();
    let calls = operations.iter().map(|operation| {
        let name = ident(&operation.name);
        quote!(#name(document);)
    });
    let functions = operations.iter().map(|operation| describe(api, operation));
    let body = quote! {
        /// Adds every operation of the tag.
        pub(super) fn describe(document: &mut openapi::Document) {
            #(#calls)*
        }
        #(#functions)*
    };
    let uses_responses =
        operations.iter().flat_map(|operation| &operation.answers).any(|answer| answer.component.is_some());
    let responses = uses_responses.then(|| super::import(api, "responses"));
    let serde_json = serde_json_import(&body);
    quote! {
        #title
        use api_runtime::server::openapi;
        #serde_json
        #responses
        use crate::#module as tag;
        #body
    }
}

fn describe(api: &Api<'_>, operation: &Operation) -> TokenStream {
    let name = ident(&operation.name);
    let static_name = constant(&operation.name);
    let model = &api.contract.operations[operation.index];
    let raw = api.contract.document.pointer(&model.pointer);
    let mut words = without(raw, &["parameters", "requestBody", "responses", "security", "operationId"]);
    let own_tag = api.tags[operation.tag].name.as_deref();
    if words.get("tags").and_then(Value::as_array).is_some_and(|tags| tags.iter().map(Value::as_str).eq([own_tag])) {
        words.remove("tags");
    }
    let words = text(&words);
    let [request, _, _] = type_names(operation);
    let parameters = operation.parameters.iter().zip(&model.parameters).map(|(parameter, model)| {
        let constant = constant(&parameter.name);
        let field = ident(&parameter.name);
        let words = parameter_words(api, parameter, model);
        quote! {
            .parameter(&tag::#request::#constant, openapi::field(|request: &tag::#request| &request.#field), #words)
        }
    });
    let body = request_body(api, operation, model);
    let answers = operation.answers.iter().map(|answer| answer_calls(api, operation, answer));
    quote! {
        fn #name(document: &mut openapi::Document) {
            document.operation(&tag::#static_name, #words)
                #(#parameters)*
                #body
                #(#answers)*
                .end();
        }
    }
}

fn request_body(api: &Api<'_>, operation: &Operation, model: &model::Operation) -> Option<TokenStream> {
    let body = operation.body.as_ref().filter(|_| request::has_body(operation))?;
    let body_model = model.request_body.as_ref()?;
    let [request, _, _] = type_names(operation);
    let pointer = match &body_model.component {
        Some(component) => format!("/components/requestBodies/{}", escaped(component)),
        None => format!("{}/requestBody", model.pointer),
    };
    let words = text(&without(api.contract.document.pointer(&pointer), &["required", "content"]));
    let names = payload::media_names(&body.media);
    let contents = body.media.iter().zip(&body_model.content).zip(&names).map(|((media, model), variant)| {
        let slot = if is_opaque(media) {
            quote!(openapi::opaque())
        } else if body.media.len() == 1 {
            quote!(openapi::field(|request: &tag::#request| &request.body))
        } else {
            let choices = quote::format_ident!("{}Body", operation.pascal);
            quote!(openapi::variant(tag::#choices::#variant))
        };
        content(api, media, model, &slot)
    });
    let is_optional = !body.required;
    Some(quote!(.body(&tag::#request::BODY, #is_optional, #words) #(#contents)*))
}

fn is_opaque(media: &Media) -> bool {
    matches!(media.kind, MediaKind::Bytes | MediaKind::EventStream | MediaKind::Multipart)
}

fn content(api: &Api<'_>, media: &Media, model: &model::MediaType, slot: &TokenStream) -> TokenStream {
    let raw = api.contract.document.pointer(&model.pointer);
    let mut words = without(raw, &["schema"]);
    resolve_examples(api, &mut words);
    let schema = if is_opaque(media) {
        // No type carries it, so the contract's own words stand for it.
        raw.and_then(|raw| raw.get("schema")).and_then(Value::as_object).cloned().unwrap_or_default()
    } else {
        model.schema.map_or_else(Map::new, |schema| loose_annotations(api, media.ty.as_ref(), schema))
    };
    if !schema.is_empty() {
        words.insert("schema".to_owned(), Value::Object(schema));
    }
    let words = text(&words);
    let name = &media.name;
    quote!(.content(#name, #slot, #words))
}

fn answer_calls(api: &Api<'_>, operation: &Operation, listed: &Answer) -> TokenStream {
    let model = &api.contract.operations[operation.index].responses[listed.index];
    let [_, success, error] = type_names(operation);
    let owner = if listed.is_success() { success } else { error };
    let constant = answer::reply_constant(listed);
    let words = text(&without(api.contract.document.pointer(&model.pointer), &["headers", "content"]));
    let payload = Payload::of(&operation.pascal, listed);
    let holder = match &payload {
        Payload::Struct(name, true) => Some(quote!(responses::#name)),
        Payload::Struct(name, false) => Some(quote!(tag::#name)),
        Payload::Nothing | Payload::Body(_) | Payload::Handshake => None,
    };
    let names = payload::media_names(&listed.media);
    let contents = listed.media.iter().zip(&model.content).zip(&names).map(|((media, model), variant)| {
        let slot = answer_slot(&owner, listed, &payload, holder.as_ref(), media, variant);
        content(api, media, model, &slot)
    });
    let headers = listed.headers.iter().zip(&model.headers).map(|(header, model)| {
        let constant = super::constant(&header.name);
        let field = ident(&header.name);
        let words = parameter_words(api, header, model);
        quote!(.header(&#holder::#constant, openapi::field(|response: &#holder| &response.#field), #words))
    });
    // A change of protocol has neither.
    let (contents, headers): (Vec<_>, Vec<_>) = match payload {
        Payload::Handshake => (Vec::new(), Vec::new()),
        _ => (contents.collect(), headers.collect()),
    };
    quote!(.answer(&tag::#owner::#constant, #words) #(#contents)* #(#headers)*)
}

fn answer_slot(
    owner: &proc_macro2::Ident,
    listed: &Answer,
    payload: &Payload,
    holder: Option<&TokenStream>,
    media: &Media,
    choice: &proc_macro2::Ident,
) -> TokenStream {
    if is_opaque(media) {
        return quote!(openapi::opaque());
    }
    let variant = answer::variant_name(listed);
    match (payload, holder) {
        (Payload::Struct(name, is_shared), Some(holder)) if listed.media.len() > 1 => {
            let choices = payload::choices_name(name);
            let _ = holder;
            let path = if *is_shared { quote!(responses::#choices) } else { quote!(tag::#choices) };
            quote!(openapi::variant(#path::#choice))
        }
        (_, Some(holder)) => quote!(openapi::field(|response: &#holder| &response.body)),
        _ if answer::is_dynamic(listed) => {
            quote!(openapi::variant_with_status(|status, body| tag::#owner::#variant { status, body }))
        }
        _ => quote!(openapi::variant(tag::#owner::#variant)),
    }
}

/// What a parameter or header says that its type does not.
fn parameter_words(api: &Api<'_>, parameter: &Parameter, model: &model::Parameter) -> Literal {
    let raw = api.contract.document.pointer(&model.pointer);
    let mut words = without(raw, &["name", "in", "required", "style", "explode", "schema", "content"]);
    resolve_examples(api, &mut words);
    let schema = loose_annotations(api, Some(&parameter.ty), parameter.schema);
    if !schema.is_empty() {
        words.insert("schema".to_owned(), Value::Object(schema));
    }
    text(&words)
}

/// Annotations of an inline schema that has no item of its own to carry them.
fn loose_annotations(api: &Api<'_>, ty: Option<&TypeRef>, schema: model::SchemaId) -> Map<String, Value> {
    let is_carried = match ty {
        Some(TypeRef::Named(id)) => api.type_def(*id).schema == schema,
        _ => false,
    };
    if is_carried || api.contract.schema(schema).component.is_some() {
        return Map::new();
    }
    annotations(api, schema)
}

fn annotations(api: &Api<'_>, schema: model::SchemaId) -> Map<String, Value> {
    match &api.contract.schema(schema).kind {
        model::SchemaKind::Bool(_) => Map::new(),
        model::SchemaKind::Object(keywords) => keywords
            .raw
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| ANNOTATIONS.contains(&key.as_str()) || key.starts_with("x-"))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    }
}

/// Examples that are referred to, put in their place.
fn resolve_examples(api: &Api<'_>, words: &mut Map<String, Value>) {
    let Some(Value::Object(examples)) = words.get_mut("examples") else { return };
    for example in examples.values_mut() {
        let target = example.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
        if let Some(resolved) = target.and_then(|pointer| api.contract.document.pointer(pointer)) {
            *example = resolved.clone();
        }
    }
}

fn without(value: Option<&Value>, keys: &[&str]) -> Map<String, Value> {
    value
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter(|(key, _)| !keys.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Words as a raw string, so that they read as JSON.
fn text(words: &Map<String, Value>) -> Literal {
    if words.is_empty() {
        return Literal::string("");
    }
    let json = serde_json::to_string(words).expect("JSON values are written as JSON");
    if json.contains(crate::tokens::is_deceptive) {
        return Literal::string(&json);
    }
    let mut fence = "#".to_owned();
    while json.contains(&format!("\"{fence}")) {
        fence.push('#');
    }
    format!("r{fence}\"{json}\"{fence}").parse().unwrap_or_else(|_| Literal::string(&json))
}

fn escaped(component: &str) -> String {
    component.replace('~', "~0").replace('/', "~1")
}
