//! The view, in the words of version 3.0, that progenitor reads: made of placeholders alone, never the author's document.
//!
//! Operations are `op0`, `op1`, …, parameters `p0`, `p1`, …, types `T0`, `T1`, …; each operation has a path of its
//! own. So no name of the contract can meet one of progenitor's, and nothing is sanitised, sorted or merged on the
//! way. `fixups` puts the contract's names in.

use std::fmt::Write as _;

use contract::model::{Location, Method, PathPart};
use indexmap::{IndexMap, IndexSet};
use openapiv3::{
    AnySchema, Components, HeaderStyle, Info, MediaType, OpenAPI, Operation, Parameter,
    ParameterData, ParameterSchemaOrContent, PathItem, PathStyle, QueryStyle, ReferenceOr,
    RequestBody, Response, Responses, Schema, SchemaData, SchemaKind, StatusCode, StringFormat,
    StringType, Type, VariantOrUnknownOrEmpty,
};
use proc_macro2::{TokenStream, TokenTree};
use progenitor_impl::{GenerationSettings, Generator, HooksMode, InterfaceStyle, TagStyle};

use super::ClientError;
use super::responses::{self, Body, Side};
use crate::ir::{self, Api, MediaKind, TypeRef};

/// What progenitor made of some operations.
pub(super) struct Output {
    /// The types behind the placeholders.
    pub(super) types: IndexSet<TypeRef>,
    /// The builders: a structure and its methods per operation, in their order.
    pub(super) builders: Vec<(syn::ItemStruct, syn::ItemImpl)>,
}

/// Has progenitor write builders. It must be able to carry every operation: see [`carrier`](super::carrier).
pub(super) fn builders(
    api: &Api<'_>,
    operations: &[&ir::Operation],
) -> Result<Output, ClientError> {
    let mut view = View {
        types: IndexSet::new(),
    };
    let paths = operations
        .iter()
        .enumerate()
        .map(|(at, operation)| {
            (
                path(at, operation),
                ReferenceOr::Item(view.path_item(api, at, operation)),
            )
        })
        .collect::<IndexMap<_, _>>();
    let document = OpenAPI {
        openapi: "3.0.3".to_owned(),
        info: Info::default(),
        paths: openapiv3::Paths {
            paths,
            extensions: IndexMap::new(),
        },
        components: Some(Components {
            schemas: (0..view.types.len())
                .map(|at| (format!("T{at}"), ReferenceOr::Item(anything())))
                .collect(),
            ..Components::default()
        }),
        ..OpenAPI::default()
    };
    let mut settings = GenerationSettings::new();
    settings
        .with_interface(InterfaceStyle::Builder)
        .with_tag(TagStyle::Separate)
        .with_hooks(HooksMode::Expected);
    for at in 0..view.types.len() {
        let name = format!("T{at}");
        settings.with_replacement(&name, &name, std::iter::empty());
    }
    let tokens = Generator::new(&settings).generate_tokens(&document)?;
    Ok(Output {
        types: view.types,
        builders: taken_apart(tokens, operations.len())?,
    })
}

/// The builders of a generated file. Only their module is parsed.
fn taken_apart(
    tokens: TokenStream,
    expected: usize,
) -> Result<Vec<(syn::ItemStruct, syn::ItemImpl)>, ClientError> {
    let mut tokens = tokens.into_iter();
    let found = tokens
        .by_ref()
        .any(|token| matches!(token, TokenTree::Ident(word) if word == "builder"));
    let Some(TokenTree::Group(module)) = tokens.next().filter(|_| found) else {
        return Err(ClientError::Progenitor("there is no module `builder`"));
    };
    let items = syn::parse2::<syn::File>(module.stream())?.items;
    let mut builders = Vec::new();
    let mut structure = None;
    for item in items {
        match item {
            syn::Item::Struct(item) => structure = Some(item),
            syn::Item::Impl(methods) => {
                let structure = structure.take();
                builders.push((
                    structure.ok_or(ClientError::Progenitor("methods without a structure"))?,
                    methods,
                ));
            }
            _ => {}
        }
    }
    if builders.len() == expected {
        Ok(builders)
    } else {
        Err(ClientError::Progenitor(
            "there is not one builder per operation",
        ))
    }
}

/// The path that only this operation has.
fn path(at: usize, operation: &ir::Operation) -> String {
    let mut path = format!("/op{at}");
    for part in &operation.segments {
        match part {
            PathPart::Literal(text) => path.push_str(text),
            PathPart::Parameter(name) => {
                let index = operation.parameters.iter().position(|parameter| {
                    parameter.location == Location::Path && parameter.wire == *name
                });
                let index = index
                    .expect("an operation that progenitor carries declares its path parameters");
                let _ = write!(path, "{{p{index}}}");
            }
        }
    }
    path
}

struct View {
    types: IndexSet<TypeRef>,
}

impl View {
    fn path_item(&mut self, api: &Api<'_>, at: usize, operation: &ir::Operation) -> PathItem {
        let parameters = operation.parameters.iter().enumerate();
        let view = Operation {
            operation_id: Some(format!("op{at}")),
            parameters: parameters
                .map(|(at, given)| ReferenceOr::Item(self.parameter(at, given)))
                .collect(),
            request_body: operation
                .body
                .as_ref()
                .and_then(|body| self.body(body))
                .map(ReferenceOr::Item),
            responses: self.responses(api, operation),
            ..Operation::default()
        };
        let mut item = PathItem::default();
        *slot(&mut item, operation.method) = Some(view);
        item
    }

    fn reference<T>(&mut self, ty: &TypeRef) -> ReferenceOr<T> {
        let (at, _) = self.types.insert_full(ty.clone());
        ReferenceOr::Reference {
            reference: format!("#/components/schemas/T{at}"),
        }
    }

    fn parameter(&mut self, at: usize, parameter: &ir::Parameter) -> Parameter {
        let parameter_data = ParameterData {
            name: format!("p{at}"),
            description: None,
            required: parameter.required,
            deprecated: None,
            format: ParameterSchemaOrContent::Schema(self.reference(&parameter.ty)),
            example: None,
            examples: IndexMap::new(),
            explode: None,
            extensions: IndexMap::new(),
        };
        match parameter.location {
            Location::Path => Parameter::Path {
                parameter_data,
                style: PathStyle::Simple,
            },
            Location::Header => Parameter::Header {
                parameter_data,
                style: HeaderStyle::Simple,
            },
            Location::Query | Location::Cookie => Parameter::Query {
                parameter_data,
                allow_reserved: false,
                style: QueryStyle::Form,
                allow_empty_value: None,
            },
        }
    }

    fn body(&mut self, body: &ir::Body) -> Option<RequestBody> {
        let media = body.media.first()?;
        let schema = match media.kind {
            MediaKind::Json => self.reference(media.ty.as_ref().unwrap_or(&TypeRef::Any)),
            _ => ReferenceOr::Item(binary()),
        };
        Some(RequestBody {
            content: content(&media.name, schema),
            required: true,
            ..RequestBody::default()
        })
    }

    fn responses(&mut self, api: &Api<'_>, operation: &ir::Operation) -> Responses {
        let mut responses = IndexMap::new();
        for side in [
            responses::successes(api, operation),
            responses::errors(api, operation),
        ] {
            for status in statuses(&side) {
                responses.insert(status, ReferenceOr::Item(self.response(&side)));
            }
        }
        Responses {
            responses,
            ..Responses::default()
        }
    }

    fn response(&mut self, side: &Side) -> Response {
        let content = match side.single() {
            Some(Body::Json(ty)) => content("application/json", self.reference(ty)),
            Some(Body::Bytes) => content("application/octet-stream", ReferenceOr::Item(binary())),
            _ => IndexMap::new(),
        };
        Response {
            content,
            ..Response::default()
        }
    }
}

/// The statuses of a side whose bodies agree: ranges, and the codes that no range holds.
pub(super) fn statuses(side: &Side) -> IndexSet<StatusCode> {
    let ranges: IndexSet<u16> = side
        .arms
        .iter()
        .filter(|arm| arm.statuses.0 != arm.statuses.1)
        .flat_map(|arm| arm.statuses.0 / 100..=arm.statuses.1 / 100)
        .collect();
    let codes = side
        .arms
        .iter()
        .filter(|arm| arm.statuses.0 == arm.statuses.1 && !ranges.contains(&(arm.statuses.0 / 100)))
        .map(|arm| StatusCode::Code(arm.statuses.0));
    codes
        .chain(ranges.iter().map(|digit| StatusCode::Range(*digit)))
        .collect()
}

fn content(name: &str, schema: ReferenceOr<Schema>) -> IndexMap<String, MediaType> {
    let media = MediaType {
        schema: Some(schema),
        ..MediaType::default()
    };
    [(name.to_owned(), media)].into()
}

fn anything() -> Schema {
    Schema {
        schema_data: SchemaData::default(),
        schema_kind: SchemaKind::Any(AnySchema::default()),
    }
}

fn binary() -> Schema {
    Schema {
        schema_data: SchemaData::default(),
        schema_kind: SchemaKind::Type(Type::String(StringType {
            format: VariantOrUnknownOrEmpty::Item(StringFormat::Binary),
            ..StringType::default()
        })),
    }
}

fn slot(item: &mut PathItem, method: Method) -> &mut Option<Operation> {
    match method {
        Method::Get => &mut item.get,
        Method::Put => &mut item.put,
        Method::Post => &mut item.post,
        Method::Delete => &mut item.delete,
        Method::Options => &mut item.options,
        Method::Head => &mut item.head,
        Method::Patch => &mut item.patch,
        Method::Trace => &mut item.trace,
    }
}
