//! The descriptions by which the run time of generated servers serves operations, made from the IR
//! and not by generated code.
//!
//! They live until the process ends, as the run time demands: a mock is made once.

use api_runtime::server::{
    Body, ListedResponse, Media, Method, Operation, Parameter, Scheme, SecurityRequirements, Style,
};
use codegen::ir::{self, Api, MediaKind};
use contract::Moment;
use contract::model::{self, Location, ParameterEncoding, Security, StatusKey};

use crate::parts;

/// Returns the description of an operation.
pub(crate) fn operation(
    api: &'static Api<'static>,
    operation: &'static ir::Operation,
) -> &'static Operation {
    let parameters = operation.parameters.iter();
    let listed = |is_error: bool| -> &'static [ListedResponse] {
        let responses = operation.responses.iter();
        let chosen = responses
            .filter(|response| !response.is_rejection && response.is_success() != is_error)
            .map(|response| listed(api, response));
        Vec::leak(chosen.collect())
    };
    let rejections = operation.responses.iter().filter_map(|response| {
        match (response.is_rejection, response.status) {
            (true, StatusKey::Code(code)) => Some(code),
            _ => None,
        }
    });
    let since = operation.deprecation.map(Moment::seconds);
    Box::leak(Box::new(Operation {
        id: &operation.id,
        method: Method::new(method(&operation.method)),
        path: &operation.path,
        tag: api.tags[operation.tag].name.as_deref(),
        parameters: Vec::leak(parameters.map(|one| parameter(api, one)).collect()),
        body: operation
            .body
            .as_ref()
            .filter(|body| !body.media.is_empty())
            .map(|one| body(api, one)),
        responses: listed(false),
        errors: listed(true),
        rejections: Vec::leak(rejections.collect()),
        deprecation: since.map(|since| &*format!("@{since}").leak()),
        sunset: operation
            .sunset
            .map(Moment::http_date)
            .map(|date| &*date.leak()),
        security: requirements(api, &operation.security),
    }))
}

/// Returns the description of all paths that the contract does not have, if credentials are checked
/// for them.
pub(crate) fn unknown_route(api: &'static Api<'static>) -> Option<&'static Operation> {
    let security = &api.contract.security;
    codegen::guards_unknown_routes(api).then(|| {
        let operation = Operation::unknown_route(requirements(api, security));
        &*Box::leak(Box::new(operation))
    })
}

/// Returns the description of a response.
pub(crate) fn listed(
    api: &'static Api<'static>,
    response: &'static ir::Response,
) -> ListedResponse {
    let mut listed = match response.status {
        StatusKey::Code(code) => ListedResponse::code(code),
        StatusKey::Range(digit) => ListedResponse::range(digit),
        StatusKey::Default => ListedResponse::default(),
    };
    let headers = response.headers.iter().map(|header| parameter(api, header));
    listed.headers = Vec::leak(headers.collect());
    let media = response.media.iter().map(|one| media(api, one));
    listed.media(Vec::leak(media.collect()))
}

/// Returns the security requirements of an operation.
fn requirements(api: &Api<'_>, security: &'static Security) -> SecurityRequirements {
    let schemes = |alternative: &'static model::SecurityRequirement| -> &'static [Scheme] {
        let schemes = alternative.schemes.iter().map(|(name, scopes)| {
            let scopes = scopes.iter().map(String::as_str).collect();
            Scheme::new(name, Vec::leak(scopes))
        });
        Vec::leak(schemes.collect())
    };
    SecurityRequirements {
        alternatives: Vec::leak(security.iter().map(schemes).collect()),
        challenge: codegen::challenge(api, security).leak(),
    }
}

fn method(method: &'static model::Method) -> &'static str {
    method.as_str()
}

/// Returns the description of a parameter, or of a header of a response.
pub(crate) fn parameter(
    api: &'static Api<'static>,
    parameter: &'static ir::Parameter,
) -> Parameter {
    let name = parameter.wire.as_str();
    let mut made = match parameter.location {
        Location::Path => Parameter::path(name),
        Location::Query => Parameter::query(name),
        Location::Header => Parameter::header(name),
        Location::Cookie => Parameter::cookie(name),
    };
    if parameter.required {
        made = made.required();
    }
    if let Some(default) = &parameter.default {
        made = made.default(default.to_string().leak());
    }
    made = match &parameter.encoding {
        ParameterEncoding::Content(_) => made.json(),
        ParameterEncoding::Style { style, explode, .. } => {
            made.style(self::style(*style), *explode)
        }
    };
    if parameter.is_whole_query {
        made = made.whole_query();
    }
    if let Some((properties, is_open)) = codegen::property_names(api, &parameter.ty) {
        let properties = properties.into_iter().map(|name| &*name.leak()).collect();
        made = made.object(Vec::leak(properties));
        if is_open {
            made = made.open();
        }
    }
    made
}

fn style(style: model::Style) -> Style {
    match style {
        model::Style::Simple => Style::Simple,
        model::Style::Label => Style::Label,
        model::Style::Matrix => Style::Matrix,
        model::Style::Form => Style::Form,
        model::Style::SpaceDelimited => Style::SpaceDelimited,
        model::Style::PipeDelimited => Style::PipeDelimited,
        model::Style::DeepObject => Style::DeepObject,
        model::Style::Cookie => Style::Cookie,
    }
}

fn body(api: &'static Api<'static>, body: &'static ir::Body) -> Body {
    let made = Body::new(Vec::leak(
        body.media.iter().map(|one| media(api, one)).collect(),
    ));
    if body.required { made.required() } else { made }
}

/// Returns the description of a media type.
pub(crate) fn media(api: &'static Api<'static>, media: &'static ir::Media) -> Media {
    let made = Media::new(&media.name);
    if let Some(parts) = &media.parts {
        return made.encodings(Box::leak(Box::new(parts::encodings(parts))));
    }
    let fields = codegen::form_fields(api, media);
    let fields: Vec<_> = Vec::leak(fields).iter().collect();
    let fields = fields.into_iter().map(|field| parameter(api, field));
    let made = made.fields(Vec::leak(fields.collect()));
    match pointer(api, media).filter(|_| media.kind == MediaKind::Json) {
        Some(pointer) => made.schema(pointer),
        None => made,
    }
}

/// Returns the pointer of the schema of a media type in the bundle of schemas.
pub(crate) fn pointer(
    api: &'static Api<'static>,
    media: &'static ir::Media,
) -> Option<&'static str> {
    let id = api.contract.resolve(media.schema?);
    Some(&api.contract.schema(id).pointer)
}
