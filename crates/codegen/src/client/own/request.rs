//! The request: its path, query, headers, cookies and body, in every style.

use std::collections::HashSet;

use contract::model::{Location, Method, ParameterEncoding, PathPart, Style};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::super::carrier::essence;
use super::super::responses::{Body, Choice};
use super::{Locals, Own};
use crate::ir::Parameter;
use crate::tokens::ident;

impl Own<'_> {
    /// The statements from arguments to a request.
    pub(super) fn request(&self) -> TokenStream {
        let Locals {
            client,
            request,
            body,
            ..
        } = &self.locals;
        let url = self.url();
        let (query, query_use) = self.query();
        let (cookies, cookies_use) = self.cookies();
        let headers = self.headers();
        let method = method(self.operation.method);
        let accept = self
            .accept()
            .map(|accept| quote!(.header(runtime::reqwest::header::ACCEPT, #accept)));
        let body = self
            .operation
            .body
            .as_ref()
            .map(|_| self.body_use(body, request));
        let grows = !headers.is_empty() || !cookies.is_empty() || body.is_some();
        let mutable = grows.then(|| quote!(mut));
        quote! {
            #url
            #query
            #cookies
            let #mutable #request = #client.http().request(#method, #query_use) #accept;
            #headers
            #cookies_use
            #body
            let mut #request = #request.build()?;
        }
    }

    /// The statements that put the URL together: each argument escaped, each segment checked as a whole.
    fn url(&self) -> TokenStream {
        let mut statements = Vec::new();
        let mut escaped = HashSet::new();
        let mut format = "{}".to_owned();
        let mut arguments = Vec::new();
        let path = if self.api.names.is_reversed {
            &[]
        } else {
            self.operation.segments.as_slice()
        };
        for segment in segments(path) {
            let (text, values) = self.segment(&segment, &mut escaped, &mut statements);
            match &values[..] {
                [] => format.push_str(&text),
                [value] if text == "/{}" => {
                    statements.push(quote!(let #value = runtime::encode_segment(#value)?;));
                    format.push_str("/{}");
                    arguments.push(value.clone());
                }
                several => {
                    let joined = ident(&format!("{}_{}", self.locals.segment, arguments.len() + 1));
                    let text = text.trim_start_matches('/');
                    statements.push(quote!(let #joined = runtime::encode_segment(format!(#text, #(#several),*))?;));
                    format.push_str("/{}");
                    arguments.push(joined);
                }
            }
        }
        let Locals { client, url, .. } = &self.locals;
        quote!(#(#statements)* let #url = format!(#format, #client.base_url() #(, #arguments)*);)
    }

    /// A segment as a format string and its values, which are escaped first, each once.
    fn segment(
        &self,
        segment: &[PathPart],
        escaped: &mut HashSet<Ident>,
        statements: &mut Vec<TokenStream>,
    ) -> (String, Vec<Ident>) {
        let mut format = String::new();
        let mut values = Vec::new();
        for part in segment {
            let name = match part {
                PathPart::Literal(text) => {
                    format.push_str(&text.replace('{', "{{").replace('}', "}}"));
                    continue;
                }
                PathPart::Parameter(name) => name,
            };
            let found = self
                .parameters()
                .find(|(given, _)| given.location == Location::Path && given.wire == *name);
            match found {
                Some((parameter, field)) => {
                    format.push_str("{}");
                    if escaped.insert(field.clone()) {
                        let value = path_value(parameter, &field);
                        statements.push(quote!(let #field = #value;));
                    }
                    values.push(field);
                }
                None => format.extend(["{{", name, "}}"]),
            }
        }
        (format, values)
    }

    /// The query: the statements that put it together, and the URL with it.
    fn query(&self) -> (TokenStream, TokenStream) {
        let Locals { url, query, .. } = &self.locals;
        let added: Vec<TokenStream> = self
            .located(Location::Query)
            .map(|(parameter, field)| {
                let name = &parameter.wire;
                given(parameter, &field, |value| match &parameter.encoding {
                    ParameterEncoding::Style {
                        style,
                        explode,
                        allow_reserved,
                    } => {
                        let style = style_tokens(*style);
                        quote!(#query.add(#name, #value, (#style, #explode, #allow_reserved))?;)
                    }
                    ParameterEncoding::Content(_) => {
                        quote!(#query.add_text(#name, &runtime::content(#name, #value)?);)
                    }
                })
            })
            .collect();
        if added.is_empty() {
            return (TokenStream::new(), quote!(#url));
        }
        (
            quote!(let mut #query = runtime::Query::new(); #(#added)*),
            quote!(#query.on(#url)),
        )
    }

    fn cookies(&self) -> (TokenStream, TokenStream) {
        let Locals {
            cookies, request, ..
        } = &self.locals;
        let added: Vec<TokenStream> = self
            .located(Location::Cookie)
            .map(|(parameter, field)| {
                let name = &parameter.wire;
                given(parameter, &field, |value| match &parameter.encoding {
                    ParameterEncoding::Style { explode, .. } => {
                        quote!(#cookies.add(#name, #value, #explode)?;)
                    }
                    ParameterEncoding::Content(_) => {
                        quote!(#cookies.add_text(#name, &runtime::content(#name, #value)?);)
                    }
                })
            })
            .collect();
        if added.is_empty() {
            return (TokenStream::new(), TokenStream::new());
        }
        let used = quote! {
            if let Some(#cookies) = #cookies.into_header() {
                #request = #request.header(runtime::reqwest::header::COOKIE, #cookies);
            }
        };
        (
            quote!(let mut #cookies = runtime::Cookies::new(); #(#added)*),
            used,
        )
    }

    fn headers(&self) -> TokenStream {
        let request = &self.locals.request;
        let added = self.located(Location::Header).map(|(parameter, field)| {
            let name = &parameter.wire;
            given(parameter, &field, |value| {
                let text = match &parameter.encoding {
                    ParameterEncoding::Style { explode, .. } => {
                        quote!(runtime::header_text(#name, #value, #explode)?)
                    }
                    ParameterEncoding::Content(_) => quote!(runtime::content(#name, #value)?),
                };
                quote!(#request = #request.header(#name, #text);)
            })
        });
        quote!(#(#added)*)
    }

    fn located(&self, location: Location) -> impl Iterator<Item = (&Parameter, Ident)> {
        self.parameters()
            .filter(move |(parameter, _)| parameter.location == location)
    }

    /// What the client asks for: the media types of its successes, or of its errors where a success has no body.
    fn accept(&self) -> Option<String> {
        let is_named = |name: &str| {
            self.located(Location::Header)
                .any(|(parameter, _)| parameter.wire.eq_ignore_ascii_case(name))
        };
        let choices = |choices: &mut dyn Iterator<Item = &Choice>| {
            let mut media: Vec<String> = Vec::new();
            for name in choices.filter_map(|choice| choice.media.first()) {
                let name = essence(name);
                if !media.contains(&name) {
                    media.push(name);
                }
            }
            media.join(", ")
        };
        let successes = choices(&mut self.successes.arms.iter().flat_map(|arm| &arm.bodies));
        let typed_errors = self.errors.arms.iter().flat_map(|arm| &arm.bodies);
        let accept = if successes.is_empty() {
            choices(&mut typed_errors.filter(|choice| matches!(choice.body, Body::Json(_))))
        } else {
            successes
        };
        // The caller may choose by a parameter, and so does what is no header's value.
        let usable = accept.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        (!accept.is_empty() && usable && !is_named("accept")).then_some(accept)
    }
}

/// A statement for a parameter's value, if there is one.
fn given(
    parameter: &Parameter,
    field: &Ident,
    statement: impl FnOnce(TokenStream) -> TokenStream,
) -> TokenStream {
    if parameter.required {
        statement(quote!(&#field))
    } else {
        let statement = statement(quote!(#field));
        quote!(if let Some(#field) = &#field { #statement })
    }
}

/// The path in segments, each beginning with its slash.
fn segments(parts: &[PathPart]) -> Vec<Vec<PathPart>> {
    let mut segments: Vec<Vec<PathPart>> = Vec::new();
    for part in parts {
        match part {
            PathPart::Parameter(_) => match segments.last_mut() {
                Some(segment) => segment.push(part.clone()),
                None => segments.push(vec![part.clone()]),
            },
            PathPart::Literal(text) => {
                for (at, piece) in text.split('/').enumerate() {
                    match (at, segments.last_mut()) {
                        (0, Some(segment)) => segment.push(PathPart::Literal(piece.to_owned())),
                        (0, None) if piece.is_empty() => {}
                        _ => segments.push(vec![PathPart::Literal(format!("/{piece}"))]),
                    }
                }
            }
        }
    }
    segments
}

/// A path parameter as escaped text.
fn path_value(parameter: &Parameter, field: &Ident) -> TokenStream {
    let name = &parameter.wire;
    let value = |value: TokenStream| match &parameter.encoding {
        ParameterEncoding::Style { style, explode, .. } => {
            let style = style_tokens(*style);
            quote!(runtime::path_text(#name, #value, #style, #explode)?)
        }
        ParameterEncoding::Content(_) => quote!(runtime::path_content(#name, #value)?),
    };
    if parameter.required {
        value(quote!(&#field))
    } else {
        let missing = super::text::missing(&parameter.name);
        let given = quote!(#field.as_ref().ok_or_else(|| runtime::Error::InvalidRequest(#missing.to_owned()))?);
        value(given)
    }
}

/// A style of the run time.
pub(super) fn style_tokens(style: Style) -> TokenStream {
    match style {
        Style::Matrix => quote!(runtime::Style::Matrix),
        Style::Label => quote!(runtime::Style::Label),
        Style::Simple => quote!(runtime::Style::Simple),
        Style::Form => quote!(runtime::Style::Form),
        Style::SpaceDelimited => quote!(runtime::Style::SpaceDelimited),
        Style::PipeDelimited => quote!(runtime::Style::PipeDelimited),
        Style::DeepObject => quote!(runtime::Style::DeepObject),
    }
}

fn method(method: Method) -> TokenStream {
    match method {
        Method::Get => quote!(runtime::reqwest::Method::GET),
        Method::Put => quote!(runtime::reqwest::Method::PUT),
        Method::Post => quote!(runtime::reqwest::Method::POST),
        Method::Delete => quote!(runtime::reqwest::Method::DELETE),
        Method::Options => quote!(runtime::reqwest::Method::OPTIONS),
        Method::Head => quote!(runtime::reqwest::Method::HEAD),
        Method::Patch => quote!(runtime::reqwest::Method::PATCH),
        Method::Trace => quote!(runtime::reqwest::Method::TRACE),
    }
}
