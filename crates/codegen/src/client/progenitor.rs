//! The requests that progenitor writes: URL, query and JSON body of an operation, as a chain of
//! calls of reqwest.
//!
//! progenitor reads a document of placeholders, never the author's: operations are `op0`, `op1`, …,
//! parameters `p0`, `p1`, …, every type is a string, and each operation has a path of its own. So
//! no name of the contract can collide with one that progenitor writes, and progenitor has no
//! reason to rename, sort or merge anything. Of each function that it writes, two expressions are
//! kept, the URL and the request, with the placeholders replaced by the arguments of the builder.

use std::fmt::Write as _;

use contract::model::{Location, Method, ParameterEncoding, PathPart, Style};
use indexmap::IndexMap;
use openapiv3::{
    MediaType, OpenAPI, Operation, Parameter, ParameterData, ParameterSchemaOrContent, PathItem,
    PathStyle, QueryStyle, ReferenceOr, RequestBody, Schema, SchemaData, SchemaKind, StringType,
    Type,
};
use progenitor_impl::{GenerationSettings, Generator, InterfaceStyle, TagStyle};
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, Stmt, Token, parse_quote};

use super::error::ClientError;
use super::names::{ClientNames, OperationNames};
use super::parts;
use crate::ir::{self, Api, MediaKind, TypeKind, TypeRef};
use crate::tokens::ident;

/// Returns whether progenitor writes the request of an operation without losing anything of the
/// contract.
///
/// It does if each segment of the path is one parameter or one literal, each parameter is a plain
/// value of the path or the query (or a repeated list in the query), and the body is required JSON
/// or absent. Headers and cookies are added to the request that progenitor writes: progenitor has
/// no cookies, and sends a header `api-version` with every call that has headers. Webhooks and
/// callbacks are left to this crate.
#[must_use]
pub fn writes_request(api: &Api<'_>, operation: &ir::Operation) -> bool {
    has_plain_path(api, operation)
        // reqwest has no functions for these methods.
        && !matches!(
            operation.method,
            Method::Options | Method::Trace | Method::Query | Method::Other(_)
        )
        && operation.query.is_empty()
        && operation
            .parameters
            .iter()
            .all(|parameter| is_plain_parameter(api, parameter))
        && is_plain_body(operation)
}

/// Returns whether the URL of an operation is its path with a plain value in place of each
/// parameter.
pub(super) fn has_plain_path(api: &Api<'_>, operation: &ir::Operation) -> bool {
    let mut parameters = operation.parameters.iter();
    // Nothing is put behind the URL of a subscriber.
    !api.names.is_reversed
        && is_plain_path(operation)
        && parameters.all(|parameter| {
            parameter.location != Location::Path || is_plain_parameter(api, parameter)
        })
}

/// Returns whether the path has no label, and every path parameter is a segment of its own, is
/// declared, and is used once.
fn is_plain_path(operation: &ir::Operation) -> bool {
    if operation.path.contains(['?', '#']) {
        return false;
    }
    let mut after_slash = false;
    let are_segments = operation.segments.iter().all(|part| {
        let is_plain = match part {
            // progenitor folds double slashes.
            PathPart::Literal(text) => {
                text.starts_with('/') && !text.contains("//") && !text.contains(['{', '}'])
            }
            PathPart::Parameter(_) => after_slash,
        };
        after_slash = matches!(part, PathPart::Literal(text) if text.ends_with('/'));
        is_plain
    });
    let in_path = operation
        .parameters
        .iter()
        .filter(|parameter| parameter.location == Location::Path);
    let used = operation.segments.iter().filter_map(|part| match part {
        PathPart::Parameter(name) => Some(name),
        PathPart::Literal(_) => None,
    });
    let (mut declared, mut used): (Vec<&String>, Vec<&String>) = (
        in_path.map(|parameter| &parameter.wire).collect(),
        used.collect(),
    );
    declared.sort();
    used.sort();
    let is_unique = used.windows(2).all(|pair| pair[0] != pair[1]);
    !operation.segments.is_empty() && are_segments && is_unique && declared == used
}

/// Returns whether progenitor encodes a parameter as the contract declares it.
fn is_plain_parameter(api: &Api<'_>, parameter: &ir::Parameter) -> bool {
    match (parameter.location, &parameter.encoding) {
        (Location::Path, ParameterEncoding::Style { style, .. }) => {
            parameter.required && *style == Style::Simple && is_plain(api, &parameter.ty)
        }
        (
            Location::Query,
            ParameterEncoding::Style {
                style,
                explode,
                allow_reserved,
            },
        ) => {
            let is_repeated = *explode && is_plain_list(api, &parameter.ty);
            *style == Style::Form
                && !allow_reserved
                && (is_repeated || is_plain(api, &parameter.ty))
        }
        (Location::Path | Location::Query, ParameterEncoding::Content(_)) => false,
        // reqwest sets the `Content-Type` of the body, and would add the caller's to it.
        (Location::Header, _) => !parameter.wire.eq_ignore_ascii_case("content-type"),
        (Location::Cookie, _) => true,
    }
}

/// Returns whether progenitor reads a parameter. It never sees headers and cookies.
fn is_read(parameter: &ir::Parameter) -> bool {
    matches!(parameter.location, Location::Path | Location::Query)
}

/// Returns whether `Display` and serde write a value of this type as the same string. This is false
/// for every list, map, object, union and secret.
fn is_plain(api: &Api<'_>, ty: &TypeRef) -> bool {
    match ty {
        TypeRef::Primitive(_) => true,
        TypeRef::Named(id) => match &api.type_def(*id).kind {
            TypeKind::Alias(target) => is_plain(api, target),
            TypeKind::Scalar(scalar) => !scalar.secret,
            TypeKind::Enumeration(enumeration) => enumeration.strings,
            TypeKind::Object(_)
            | TypeKind::Array(_)
            | TypeKind::Map(_)
            | TypeKind::Union(_)
            | TypeKind::Json { .. } => false,
        },
        TypeRef::Vec(_)
        | TypeRef::Map(_)
        | TypeRef::Nullable(_)
        | TypeRef::Boxed(_)
        | TypeRef::Any => false,
    }
}

/// Returns whether a type is a list of values for which [`is_plain`] returns true.
fn is_plain_list(api: &Api<'_>, ty: &TypeRef) -> bool {
    match ty {
        TypeRef::Vec(items) => is_plain(api, items),
        TypeRef::Named(id) => match &api.type_def(*id).kind {
            TypeKind::Alias(target) => is_plain_list(api, target),
            TypeKind::Array(array) => is_plain(api, &array.items),
            _ => false,
        },
        _ => false,
    }
}

/// Returns whether an operation has no body, or a required one with `application/json` only.
fn is_plain_body(operation: &ir::Operation) -> bool {
    let Some(body) = parts::body_of(operation) else {
        return true;
    };
    let [media] = &body.media[..] else {
        return false;
    };
    body.required && media.kind == MediaKind::Json && media.name == "application/json"
}

/// Returns the requests that progenitor writes for the given operations, in their order: expressions
/// of the type `reqwest::RequestBuilder`. [`writes_request`] must hold for each operation.
pub(super) fn requests(
    names: &ClientNames,
    operations: &[&ir::Operation],
) -> Result<Vec<Expr>, ClientError> {
    let functions = functions(operations)?;
    if functions.len() != operations.len() {
        return Err(ClientError::Progenitor("one function per operation"));
    }
    operations
        .iter()
        .zip(functions)
        .map(|(operation, function)| request(names, operation, function))
        .collect()
}

/// Returns the bodies of the functions that progenitor writes for the given operations.
fn functions(operations: &[&ir::Operation]) -> Result<Vec<syn::Block>, ClientError> {
    if operations.is_empty() {
        return Ok(Vec::new());
    }
    // A positional function uses its arguments as they are, where a builder of progenitor's would
    // wrap each of them.
    let mut settings = GenerationSettings::new();
    settings
        .with_interface(InterfaceStyle::Positional)
        .with_tag(TagStyle::Merged);
    let tokens = Generator::new(&settings).generate_tokens(&document(operations))?;
    let methods = syn::parse2::<syn::File>(tokens)?
        .items
        .into_iter()
        .filter_map(|item| match item {
            syn::Item::Impl(methods) if methods.trait_.is_none() => Some(methods.items),
            _ => None,
        });
    let functions = methods.flatten().filter_map(|item| match item {
        syn::ImplItem::Fn(function) => Some(function),
        _ => None,
    });
    Ok(functions
        .filter(|function| placeholder(&function.sig.ident.to_string(), "op").is_some())
        .map(|function| function.block)
        .collect())
}

/// Returns the document of placeholders that progenitor reads.
fn document(operations: &[&ir::Operation]) -> OpenAPI {
    let paths: IndexMap<String, ReferenceOr<PathItem>> = operations
        .iter()
        .enumerate()
        .map(|(at, operation)| {
            (
                path(at, operation),
                ReferenceOr::Item(path_item(at, operation)),
            )
        })
        .collect();
    OpenAPI {
        openapi: "3.0.3".to_owned(),
        paths: openapiv3::Paths {
            paths,
            ..openapiv3::Paths::default()
        },
        ..OpenAPI::default()
    }
}

/// Returns the path template of the operation at index `at` in the document for progenitor: a
/// unique first segment, such as `/op0`, then the operation's own path with placeholders for its
/// parameters.
fn path(at: usize, operation: &ir::Operation) -> String {
    let mut path = format!("/op{at}");
    for part in &operation.segments {
        match part {
            PathPart::Literal(text) => path.push_str(text),
            PathPart::Parameter(name) => {
                let index = operation.parameters.iter().position(|parameter| {
                    parameter.location == Location::Path && parameter.wire == *name
                });
                let index = index.expect("a plain path declares the parameters that it uses");
                let _ = write!(path, "{{p{index}}}");
            }
        }
    }
    path
}

/// Returns the path item of the operation at index `at`, in which every name is a placeholder.
fn path_item(at: usize, operation: &ir::Operation) -> PathItem {
    let parameters = operation.parameters.iter().enumerate();
    let placeholder = Operation {
        operation_id: Some(format!("op{at}")),
        parameters: parameters
            .filter(|(_, given)| is_read(given))
            .map(|(at, given)| ReferenceOr::Item(parameter(at, given)))
            .collect(),
        request_body: parts::body_of(operation).map(|_| ReferenceOr::Item(body())),
        ..Operation::default()
    };
    let mut item = PathItem::default();
    if let Some(slot) = slot(&mut item, &operation.method) {
        *slot = Some(placeholder);
    }
    item
}

/// Returns a parameter that is a string, named by its index.
fn parameter(at: usize, parameter: &ir::Parameter) -> Parameter {
    let parameter_data = ParameterData {
        name: format!("p{at}"),
        description: None,
        required: parameter.required,
        deprecated: None,
        format: ParameterSchemaOrContent::Schema(ReferenceOr::Item(string())),
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
        Location::Query | Location::Header | Location::Cookie => Parameter::Query {
            parameter_data,
            allow_reserved: false,
            style: QueryStyle::Form,
            allow_empty_value: None,
        },
    }
}

/// Returns a required JSON body, which is a string.
fn body() -> RequestBody {
    let media = MediaType {
        schema: Some(ReferenceOr::Item(string())),
        ..MediaType::default()
    };
    RequestBody {
        content: [("application/json".to_owned(), media)].into(),
        required: true,
        ..RequestBody::default()
    }
}

/// Returns the schema of a string.
fn string() -> Schema {
    Schema {
        schema_data: SchemaData::default(),
        schema_kind: SchemaKind::Type(Type::String(StringType::default())),
    }
}

/// Returns the field of a path item that holds the operation with a method. Returns `None` for a
/// method that OpenAPI 3.0 does not have; the path item then stays empty.
fn slot<'i>(item: &'i mut PathItem, method: &Method) -> Option<&'i mut Option<Operation>> {
    Some(match method {
        Method::Get => &mut item.get,
        Method::Put => &mut item.put,
        Method::Post => &mut item.post,
        Method::Delete => &mut item.delete,
        Method::Options => &mut item.options,
        Method::Head => &mut item.head,
        Method::Patch => &mut item.patch,
        Method::Trace => &mut item.trace,
        Method::Query | Method::Other(_) => return None,
    })
}

/// Returns the request of a function that progenitor wrote, with the fields of the builder in place
/// of the placeholders.
///
/// # Errors
///
/// Returns an error if the function does not have the expected form, or does not use each argument
/// once.
fn request(
    names: &ClientNames,
    operation: &ir::Operation,
    function: syn::Block,
) -> Result<Expr, ClientError> {
    let mut locals = function
        .stmts
        .into_iter()
        .filter_map(|statement| match statement {
            Stmt::Local(syn::Local {
                pat: syn::Pat::Ident(name),
                init: Some(init),
                ..
            }) => Some((name.ident, *init.expr)),
            _ => None,
        });
    let mut local = |wanted: &str| {
        locals
            .find(|(name, _)| name == wanted)
            .map(|(_, value)| value)
    };
    let mut placeholders = Placeholders {
        operation,
        fields: names.of(operation),
        in_path: Vec::new(),
        replaced: 0,
    };
    let in_path = local("url").and_then(|url| placeholders.in_path(&url));
    let has_url = in_path.is_some();
    placeholders.in_path = in_path.unwrap_or_default();
    let request = local("request").and_then(|request| placeholders.builder(request));
    // An argument that progenitor leaves out, or uses twice, has to be noticed.
    let read = operation.parameters.iter().filter(|given| is_read(given));
    let url = 1;
    let expected = url + read.count() + usize::from(parts::body_of(operation).is_some());
    match request {
        Some(request) if has_url && placeholders.replaced == expected => Ok(request),
        _ if !has_url => Err(ClientError::Progenitor(
            "`let url = format!(\"{}/op0…\", …)`",
        )),
        None => Err(ClientError::Progenitor(
            "`let request = ….headers(header_map).build()?`",
        )),
        _ => Err(ClientError::Progenitor("each argument once")),
    }
}

/// Replaces the variables in an expression that progenitor wrote (`p0`, `p1`, …, `body`) with the
/// fields of the operation's builder.
struct Placeholders<'a> {
    operation: &'a ir::Operation,
    fields: &'a OperationNames,
    /// The arguments of the path, in its order.
    in_path: Vec<Expr>,
    /// The number of arguments that were replaced so far; the URL counts as one.
    replaced: usize,
}

impl Placeholders<'_> {
    /// Returns the arguments of a URL that progenitor writes as
    /// `format!("{}/op0/x/{}", self.baseurl, encode_path(&p0.to_string()))`.
    fn in_path(&mut self, url: &Expr) -> Option<Vec<Expr>> {
        let Expr::Macro(format) = url else {
            return None;
        };
        let arguments = Punctuated::<Expr, Token![,]>::parse_terminated
            .parse2(format.mac.tokens.clone())
            .ok()?;
        // The first two arguments are the text and the base URL.
        let encoded = arguments.into_iter().skip(2).map(|argument| {
            let Expr::Call(mut encoded) = argument else {
                return None;
            };
            let Expr::Reference(text) = encoded.args.pop()? else {
                return None;
            };
            let mut value = receiver(*text.expr, "to_string")?;
            self.visit_expr_mut(&mut value);
            Some(value)
        });
        encoded.collect()
    }

    /// Returns the expression that `.headers(header_map).build()?` is called on, without those
    /// calls: the only header in the map is `api-version`.
    fn builder(&mut self, request: Expr) -> Option<Expr> {
        let Expr::Try(built) = request else {
            return None;
        };
        let with_headers = receiver(*built.expr, "build")?;
        let mut request = receiver(with_headers, "headers")?;
        self.visit_expr_mut(&mut request);
        Some(request)
    }

    /// Returns the name of the builder's field that a variable of progenitor stands for.
    fn field(&self, variable: &syn::Ident) -> Option<&str> {
        let name = variable.to_string();
        match placeholder(&name, "p") {
            Some(at) => self.fields.parameters.get(at).map(String::as_str),
            None => (name == "body").then_some(self.fields.body.as_str()),
        }
    }
}

impl VisitMut for Placeholders<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        // Children come first, so that what replaces a placeholder is not searched itself: the
        // field of an argument can be called `client`.
        visit_mut::visit_expr_mut(self, expr);
        let transport = ident(&self.fields.transport);
        match expr {
            // `p0` is an argument, which may be missing or invalid.
            Expr::Path(path) => {
                if let Some(field) = path.path.get_ident().and_then(|name| self.field(name)) {
                    let field = ident(field);
                    *expr = parse_quote!(self.#field?);
                    self.replaced += 1;
                }
            }
            // `self.client.get(url)` begins the request. `api-runtime` puts the arguments into the
            // path: progenitor's `encode_path` would let an argument `..` change which path is called.
            Expr::MethodCall(call) if is_variable(call.args.first(), "url") => {
                let (method, arguments) = (&call.method, &self.in_path);
                *expr = parse_quote!(self.#transport.#method(&[#(&#arguments),*])?);
                self.replaced += 1;
            }
            _ => {}
        }
    }

    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        if path.segments[0].ident == "progenitor_client" {
            path.segments[0].ident = ident("runtime");
        }
        visit_mut::visit_path_mut(self, path);
    }

    fn visit_lit_str_mut(&mut self, literal: &mut syn::LitStr) {
        // progenitor passes the name of a query parameter as a string.
        let named = placeholder(&literal.value(), "p");
        if let Some(parameter) = named.and_then(|at| self.operation.parameters.get(at)) {
            *literal = syn::LitStr::new(&parameter.wire, literal.span());
        }
    }
}

/// Returns whether an argument is the variable `name`.
fn is_variable(argument: Option<&Expr>, name: &str) -> bool {
    matches!(argument, Some(Expr::Path(path)) if path.path.is_ident(name))
}

/// Returns the receiver of a call of `method`, or `None` for another expression.
fn receiver(call: Expr, method: &str) -> Option<Expr> {
    match call {
        Expr::MethodCall(call) if call.method == method => Some(*call.receiver),
        _ => None,
    }
}

/// Returns the number in a placeholder such as `p7`, where `kind` is `p`.
fn placeholder(word: &str, kind: &str) -> Option<usize> {
    word.strip_prefix(kind)?.parse().ok()
}
