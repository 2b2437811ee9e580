//! Operations, their parameters, bodies and responses.

use std::collections::{HashMap, HashSet};

use contract::Contract;
use contract::model::{self, Paging, SchemaId, StatusKey};
use serde_json::Value;

use super::Lowering;
use crate::ir::{
    Body, CrateNames, Field, Media, MediaKind, Operation, PagedOperation, Parameter, Primitive,
    Response, SecurityScheme, Tag, TypeDef, TypeKind, TypeRef,
};
use crate::names;

/// What operations without a tag are grouped under.
const UNTAGGED: &str = "untagged";

/// Every group that has an operation, declared order first.
pub(super) fn tags(contract: &Contract, crates: &CrateNames) -> Vec<Tag> {
    let used: HashSet<Option<&str>> = contract
        .operations
        .iter()
        .map(|operation| operation.tag.as_deref())
        .collect();
    let declared = contract
        .tags
        .iter()
        .filter(|tag| used.contains(&Some(tag.name.as_str())))
        .map(|tag| (Some(tag.name.clone()), tag.description.clone()));
    let untagged = used.contains(&None).then_some((None, None));
    let groups: Vec<(Option<String>, Option<String>)> = declared.chain(untagged).collect();
    let unique = |mut taken: HashSet<String>, name: fn(&str) -> String| {
        let words = groups
            .iter()
            .map(|(name, _)| name.as_deref().unwrap_or(UNTAGGED));
        names::unique_all(
            &mut taken,
            &words.map(|words| (words, name(words))).collect::<Vec<_>>(),
        )
    };
    let modules = unique([crates.krate("types")].into(), names::module);
    // The router has a trait `Api` of its own; a tag cannot take it, since its name is never empty.
    let servers = unique(HashSet::new(), names::server_trait);
    let clients = unique(HashSet::new(), names::client_trait);
    let names = modules.into_iter().zip(servers.into_iter().zip(clients));
    let tags = groups
        .iter()
        .cloned()
        .zip(names)
        .map(|((name, description), (module, traits))| Tag {
            feature: module.trim_end_matches('_').to_owned()
                + if module.ends_with('_') {
                    "-operations"
                } else {
                    ""
                },
            server_trait: traits.0,
            client_trait: traits.1,
            module,
            name,
            description,
        });
    tags.collect()
}

/// The security schemes that operations use.
pub(super) fn security_schemes(contract: &Contract) -> Vec<SecurityScheme> {
    let used: HashSet<&str> = contract
        .operations
        .iter()
        .flat_map(|operation| &operation.security)
        .chain(&contract.security)
        .flat_map(|requirement| &requirement.schemes)
        .map(|(name, _)| name.as_str())
        .collect();
    let schemes: Vec<_> = contract
        .security_schemes
        .iter()
        .filter(|(name, _)| used.contains(name.as_str()))
        .collect();
    let wanted: Vec<_> = schemes
        .iter()
        .map(|(name, _)| (name.as_str(), names::snake(name)))
        .collect();
    let names = names::unique_all(&mut HashSet::new(), &wanted);
    schemes
        .into_iter()
        .zip(names)
        .map(|((wire, scheme), name)| SecurityScheme {
            wire: wire.clone(),
            name: names::identifier(&name),
            kind: scheme.kind.clone(),
            description: scheme.description.clone(),
        })
        .collect()
}

/// Every operation of the document.
pub(super) fn operations(
    lowering: &mut Lowering<'_>,
    contract: &Contract,
    tags: &[Tag],
) -> Vec<Operation> {
    let by_name: HashMap<Option<&str>, usize> = tags
        .iter()
        .enumerate()
        .map(|(at, tag)| (tag.name.as_deref(), at))
        .collect();
    let names = operation_names(contract, tags, &by_name);
    let components = response_names(contract);
    contract
        .operations
        .iter()
        .zip(names)
        .enumerate()
        .map(|(index, (operation, (name, pascal)))| {
            let parameters = parameters(lowering, operation, &pascal);
            let body = operation
                .request_body
                .as_ref()
                .map(|body| request_body(lowering, body, &pascal));
            let responses = responses(lowering, operation, &pascal, &components);
            let paging = contract
                .paging
                .as_ref()
                .and_then(|paging| paged(lowering, paging, &parameters, &responses));
            Operation {
                index,
                id: operation.id.clone(),
                name: names::identifier(&name),
                pascal,
                method: operation.method,
                path: operation.path.clone(),
                segments: operation.segments.clone(),
                tag: by_name[&operation.tag.as_deref()],
                docs: joined(
                    operation.summary.as_deref(),
                    operation.description.as_deref(),
                ),
                deprecated: operation.deprecated,
                parameters,
                body,
                responses,
                security: operation.security.clone(),
                paging,
            }
        })
        .collect()
}

/// The names of every operation: as a method, and the stem of its types, none of which is another's in the module of
/// its tag.
fn operation_names(
    contract: &Contract,
    tags: &[Tag],
    by_name: &HashMap<Option<&str>, usize>,
) -> Vec<(String, String)> {
    let wanted: Vec<_> = contract
        .operations
        .iter()
        .map(|operation| (operation.id.as_str(), names::operation(&operation.id)))
        .collect();
    let names = names::unique_all(&mut HashSet::new(), &wanted);
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|at| names[*at] != contract.operations[*at].id);
    let mut stems = vec![String::new(); names.len()];
    let mut clients: HashSet<String> = tags.iter().map(|tag| tag.client_trait.clone()).collect();
    let mut servers: Vec<HashSet<String>> = tags
        .iter()
        .map(|tag| [tag.server_trait.clone()].into())
        .collect();
    for at in order {
        let operation = &contract.operations[at];
        let module = &mut servers[by_name[&operation.tag.as_deref()]];
        let suffixes = type_suffixes(operation);
        let types = |stem: &str| {
            suffixes
                .iter()
                .map(|suffix| format!("{stem}{suffix}"))
                .collect::<Vec<_>>()
        };
        stems[at] = names::first_free(names::pascal(&operation.id), |stem| {
            let is_free = !types(stem).iter().any(|name| module.contains(name));
            is_free && clients.insert(stem.to_owned())
        });
        module.extend(types(&stems[at]));
    }
    names.into_iter().zip(stems).collect()
}

/// What follows an operation's stem in the names of the server's types.
fn type_suffixes(operation: &model::Operation) -> Vec<String> {
    let mut suffixes = ["Request", "Response", "Error"].map(str::to_owned).to_vec();
    if operation
        .request_body
        .as_ref()
        .is_some_and(|body| body.content.len() > 1)
    {
        suffixes.push("Body".to_owned());
    }
    for response in operation
        .responses
        .iter()
        .filter(|response| response.component.is_none())
    {
        let name = status_name(response.status);
        if response.content.len() > 1 {
            suffixes.push(format!("{name}Body"));
        }
        if response.content.len() > 1 || !response.headers.is_empty() {
            suffixes.push(name);
        }
    }
    suffixes
}

/// The types of the responses that the contract names, which lie in one module.
fn response_names(contract: &Contract) -> HashMap<String, String> {
    let mut several: HashMap<&str, bool> = HashMap::new();
    let mut order = Vec::new();
    for response in contract
        .operations
        .iter()
        .flat_map(|operation| &operation.responses)
    {
        if let Some(component) = response.component.as_deref()
            && several
                .insert(component, response.content.len() > 1)
                .is_none()
        {
            order.push(component);
        }
    }
    order.sort_by_key(|component| names::pascal(component) != *component);
    let mut taken = HashSet::new();
    let mut name = |component: &str| {
        let name = names::first_free(names::pascal(component), |name| {
            let body = format!("{name}Body");
            let is_free = !(taken.contains(name) || several[component] && taken.contains(&body));
            if is_free {
                taken.insert(name.to_owned());
                taken.extend(several[component].then_some(body));
            }
            is_free
        });
        (component.to_owned(), name)
    };
    order.into_iter().map(&mut name).collect()
}

fn joined(summary: Option<&str>, description: Option<&str>) -> String {
    match (summary, description) {
        (Some(summary), Some(description)) if summary.trim() != description.trim() => {
            format!("{}\n\n{}", summary.trim(), description.trim())
        }
        (Some(text), _) | (None, Some(text)) => text.trim().to_owned(),
        (None, None) => String::new(),
    }
}

fn parameters(
    lowering: &mut Lowering<'_>,
    operation: &model::Operation,
    pascal: &str,
) -> Vec<Parameter> {
    let names = parameter_names(&operation.parameters, &["body"]);
    let each = operation
        .parameters
        .iter()
        .zip(names)
        .map(|(parameter, name)| {
            let hint = format!("{pascal}{}", names::pascal(&parameter.name));
            lowered_parameter(lowering, parameter, &hint, &name)
        });
    each.collect()
}

/// A name for each parameter, none of them one of these.
fn parameter_names(parameters: &[model::Parameter], taken: &[&str]) -> Vec<String> {
    let mut taken: HashSet<String> = taken.iter().map(|name| (*name).to_owned()).collect();
    let wanted: Vec<_> = parameters
        .iter()
        .map(|parameter| (parameter.name.as_str(), names::snake(&parameter.name)))
        .collect();
    names::unique_all(&mut taken, &wanted)
}

fn lowered_parameter(
    lowering: &mut Lowering<'_>,
    parameter: &model::Parameter,
    hint: &str,
    name: &str,
) -> Parameter {
    let hint = match &parameter.component {
        Some(component) => names::pascal(component),
        None => hint.to_owned(),
    };
    let ty = match lowering.type_of(parameter.schema, &hint) {
        TypeRef::Nullable(inner) => *inner,
        other => other,
    };
    Parameter {
        wire: parameter.name.clone(),
        name: names::identifier(name),
        location: parameter.location,
        encoding: parameter.encoding.clone(),
        ty,
        schema: parameter.schema,
        required: parameter.required,
        default: if parameter.required {
            None
        } else {
            default_of(lowering, parameter.schema)
        },
        description: parameter.description.clone(),
        deprecated: parameter.deprecated,
    }
}

/// The default of a parameter, wherever its schema says it.
fn default_of(lowering: &Lowering<'_>, schema: SchemaId) -> Option<Value> {
    lowering
        .own_default(schema)
        .or_else(|| lowering.own_default(lowering.contract.resolve(schema)))
}

fn request_body(lowering: &mut Lowering<'_>, body: &model::RequestBody, pascal: &str) -> Body {
    let hint = match &body.component {
        Some(component) => names::pascal(component),
        None => format!("{pascal}Body"),
    };
    Body {
        required: body.required,
        media: media(lowering, &body.content, &hint),
        description: body.description.clone(),
    }
}

fn responses(
    lowering: &mut Lowering<'_>,
    operation: &model::Operation,
    pascal: &str,
    components: &HashMap<String, String>,
) -> Vec<Response> {
    let mut responses: Vec<Response> = operation
        .responses
        .iter()
        .enumerate()
        .map(|(index, response)| {
            let name = status_name(response.status);
            let component = response
                .component
                .as_ref()
                .map(|component| components[component].clone());
            let stem = component
                .clone()
                .unwrap_or_else(|| format!("{pascal}{name}"));
            let names = parameter_names(&response.headers, &["body", "status", "media"]);
            Response {
                status: response.status,
                index,
                headers: response
                    .headers
                    .iter()
                    .zip(names)
                    .map(|(header, name)| {
                        let hint = format!("{stem}{}", names::pascal(&header.name));
                        lowered_parameter(lowering, header, &hint, &name)
                    })
                    .collect(),
                media: media(lowering, &response.content, &format!("{stem}Body")),
                name,
                component,
                description: response.description.clone(),
            }
        })
        .collect();
    responses.sort_by_key(|response| response.status);
    responses
}

fn media(lowering: &mut Lowering<'_>, content: &[model::MediaType], hint: &str) -> Vec<Media> {
    content
        .iter()
        .map(|media| {
            let kind = media_kind(&media.name, scalar_text(lowering, media.schema));
            let ty = match kind {
                MediaKind::Bytes => None,
                MediaKind::Text => Some(match media.schema {
                    Some(schema) => lowering.type_of(schema, hint),
                    None => TypeRef::Primitive(Primitive::String),
                }),
                MediaKind::Json
                | MediaKind::Form
                | MediaKind::Multipart
                | MediaKind::EventStream => Some(
                    media
                        .schema
                        .map_or(TypeRef::Any, |schema| lowering.type_of(schema, hint)),
                ),
            };
            Media {
                name: media.name.clone(),
                kind,
                ty,
                schema: media.schema,
            }
        })
        .collect()
}

/// Whether a schema is plain text or may be: then a `text/*` body holds it.
fn scalar_text(lowering: &Lowering<'_>, schema: Option<SchemaId>) -> bool {
    let Some(schema) = schema else { return true };
    let flat = super::flatten::Flat::of(lowering.contract, &[schema]);
    flat.format.as_deref() != Some("binary")
        && flat.types.is_some_and(|types| {
            use contract::model::Types;
            !types.contains(Types::OBJECT) && !types.contains(Types::ARRAY)
        })
}

/// How a media type is read and written. Essence only: parameters and case do not matter.
fn media_kind(name: &str, scalar: bool) -> MediaKind {
    let essence = name
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match essence.as_str() {
        "application/json" | "text/json" => MediaKind::Json,
        json if json.ends_with("+json") => MediaKind::Json,
        "application/x-www-form-urlencoded" => MediaKind::Form,
        multipart if multipart.starts_with("multipart/") => MediaKind::Multipart,
        "text/event-stream" => MediaKind::EventStream,
        text if text.starts_with("text/") && scalar => MediaKind::Text,
        _ => MediaKind::Bytes,
    }
}

/// The variant of a status: the reason phrase of RFC 9110 and its kin.
fn status_name(status: StatusKey) -> String {
    let name = match status {
        StatusKey::Default => "Default",
        StatusKey::Range(1) => "Informational",
        StatusKey::Range(2) => "Success",
        StatusKey::Range(3) => "Redirection",
        StatusKey::Range(4) => "ClientError",
        StatusKey::Range(_) => "ServerError",
        StatusKey::Code(code) => match code {
            100 => "Continue",
            101 => "SwitchingProtocols",
            102 => "Processing",
            103 => "EarlyHints",
            200 => "Ok",
            201 => "Created",
            202 => "Accepted",
            203 => "NonAuthoritativeInformation",
            204 => "NoContent",
            205 => "ResetContent",
            206 => "PartialContent",
            207 => "MultiStatus",
            208 => "AlreadyReported",
            226 => "ImUsed",
            300 => "MultipleChoices",
            301 => "MovedPermanently",
            302 => "Found",
            303 => "SeeOther",
            304 => "NotModified",
            305 => "UseProxy",
            307 => "TemporaryRedirect",
            308 => "PermanentRedirect",
            400 => "BadRequest",
            401 => "Unauthorized",
            402 => "PaymentRequired",
            403 => "Forbidden",
            404 => "NotFound",
            405 => "MethodNotAllowed",
            406 => "NotAcceptable",
            407 => "ProxyAuthenticationRequired",
            408 => "RequestTimeout",
            409 => "Conflict",
            410 => "Gone",
            411 => "LengthRequired",
            412 => "PreconditionFailed",
            413 => "PayloadTooLarge",
            414 => "UriTooLong",
            415 => "UnsupportedMediaType",
            416 => "RangeNotSatisfiable",
            417 => "ExpectationFailed",
            418 => "ImATeapot",
            421 => "MisdirectedRequest",
            422 => "UnprocessableContent",
            423 => "Locked",
            424 => "FailedDependency",
            425 => "TooEarly",
            426 => "UpgradeRequired",
            428 => "PreconditionRequired",
            429 => "TooManyRequests",
            431 => "RequestHeaderFieldsTooLarge",
            451 => "UnavailableForLegalReasons",
            500 => "InternalServerError",
            501 => "NotImplemented",
            502 => "BadGateway",
            503 => "ServiceUnavailable",
            504 => "GatewayTimeout",
            505 => "HttpVersionNotSupported",
            506 => "VariantAlsoNegotiates",
            507 => "InsufficientStorage",
            508 => "LoopDetected",
            510 => "NotExtended",
            511 => "NetworkAuthenticationRequired",
            _ => return format!("Status{code}"),
        },
    };
    name.to_owned()
}

/// How an operation is walked, if it follows the paging convention.
fn paged(
    lowering: &Lowering<'_>,
    paging: &Paging,
    parameters: &[Parameter],
    responses: &[Response],
) -> Option<PagedOperation> {
    let query = |name: &str| {
        parameters.iter().position(|parameter| {
            parameter.location == model::Location::Query && parameter.wire == name
        })
    };
    let start_after = query(&paging.start_after)?;
    let success = responses.iter().find(|response| response.is_success())?;
    let page = success
        .media
        .iter()
        .find(|media| media.kind == MediaKind::Json)?
        .ty
        .clone()?;
    let items = fields_of(&lowering.types, &page)?
        .iter()
        .find(|field| field.wire == paging.items)?;
    Some(PagedOperation {
        start_after,
        page_size: query(&paging.page_size),
        order_column: paging.order_column.as_deref().and_then(query),
        items: items.name.clone(),
        item: items_of(&lowering.types, &items.ty)?,
        page,
        key: paging.key.clone(),
    })
}

fn fields_of<'t>(types: &'t [Option<TypeDef>], ty: &TypeRef) -> Option<&'t [Field]> {
    let TypeRef::Named(id) = ty else { return None };
    match &types[id.0].as_ref()?.kind {
        TypeKind::Object(object) => Some(&object.fields),
        TypeKind::Alias(target) => fields_of(types, target),
        _ => None,
    }
}

fn items_of(types: &[Option<TypeDef>], ty: &TypeRef) -> Option<TypeRef> {
    match ty {
        TypeRef::Vec(items) => Some((**items).clone()),
        TypeRef::Named(id) => match &types[id.0].as_ref()?.kind {
            TypeKind::Array(array) => Some(array.items.clone()),
            TypeKind::Alias(target) => items_of(types, target),
            _ => None,
        },
        _ => None,
    }
}

/// The one JSON type of every error body, if there is one.
pub(super) fn shared_error(types: &[TypeDef], operations: &[Operation]) -> Option<TypeRef> {
    let mut shared: Option<&TypeRef> = None;
    let errors = operations
        .iter()
        .flat_map(|operation| &operation.responses)
        .filter(|response| !response.is_success());
    for media in errors.flat_map(|response| &response.media) {
        let ty = media
            .ty
            .as_ref()
            .filter(|_| media.kind == MediaKind::Json)?;
        match shared {
            None => shared = Some(ty),
            Some(before) if before == ty => {}
            Some(_) => return None,
        }
    }
    match shared {
        Some(TypeRef::Named(id)) if matches!(types[id.0].kind, TypeKind::Object(_)) => {
            shared.cloned()
        }
        _ => None,
    }
}
