//! The request of a builder: headers and cookies, and where progenitor does not write them, path,
//! query and body in every style.

use contract::model::{Location, Method, ParameterEncoding, PathPart, Style};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::super::progenitor::has_plain_path;
use super::super::responses::{Body, Choice, essence};
use super::Builder;
use crate::ir::Parameter;

/// The header by which a server recognises a request that is sent again (the IETF's draft
/// `httpapi-idempotency-key-header`).
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

impl Builder<'_> {
    /// Returns the statements that make `request`, a `reqwest::RequestBuilder`, of the builder's
    /// arguments.
    pub(super) fn request(&self) -> TokenStream {
        let accept = self
            .accept()
            .map(|accept| quote!(.header("accept", #accept)));
        let headers = self.headers();
        let cookies = self.cookies();
        if let Some(request) = &self.progenitors {
            return quote! {
                let request = #request #accept;
                #(#headers)*
                #cookies
            };
        }
        let url = self.url();
        let query = self.query();
        let body = self.body_use();
        let (transport, method) = (self.transport(), method(&self.operation.method));
        quote! {
            let url = #url;
            #query
            let request = self.#transport.http().request(#method, url) #accept;
            #(#headers)*
            #cookies
            #body
        }
    }

    /// Returns the expression of the URL: each argument is escaped, and each segment checked as a
    /// whole.
    fn url(&self) -> TokenStream {
        let transport = self.transport();
        if has_plain_path(self.api, self.operation) {
            return self.plain_url();
        }
        let path = if self.api.names.is_reversed {
            &[]
        } else {
            self.operation.segments.as_slice()
        };
        let mut template = String::new();
        let mut arguments = Vec::new();
        for segment in segments(path) {
            let (text, values) = self.segment(&segment);
            if values.is_empty() {
                template.push_str(&text);
                continue;
            }
            // The segment is one argument, with its texts: only the whole of `.{a}{b}` shows
            // whether it is `..`.
            template.push_str("/{}");
            let text = text.trim_start_matches('/');
            arguments.push(match &values[..] {
                [value] if text == "{}" => quote!(#value),
                _ => quote!(format!(#text #(, #values)*)),
            });
        }
        quote!(runtime::escaped_url(self.#transport, #template, [#(#arguments),*])?)
    }

    /// Returns the expression of the URL for a plain path, as progenitor's requests have it.
    fn plain_url(&self) -> TokenStream {
        let arguments = self.operation.segments.iter().filter_map(|part| {
            let PathPart::Parameter(name) = part else {
                return None;
            };
            let mut declared = self.located(Location::Path);
            let declared = declared.find(|(parameter, _)| parameter.wire == *name);
            let (_, field) = declared.expect("a plain path declares its parameters");
            Some(quote!(&self.#field?))
        });
        let transport = self.transport();
        quote!(self.#transport.url(&[#(#arguments),*])?)
    }

    /// Returns a segment as a format string and the values that it formats.
    fn segment(&self, segment: &[PathPart]) -> (String, Vec<TokenStream>) {
        let mut format = String::new();
        let mut values = Vec::new();
        for part in segment {
            let name = match part {
                PathPart::Literal(text) => {
                    format.push_str(&escaped(text));
                    continue;
                }
                PathPart::Parameter(name) => name,
            };
            let declared = self
                .located(Location::Path)
                .find(|(parameter, _)| parameter.wire == *name);
            match declared {
                Some((parameter, field)) => {
                    format.push_str("{}");
                    values.push(self.path_value(parameter, &field));
                }
                None => format.push_str(&escaped(&format!("{{{name}}}"))),
            }
        }
        (format, values)
    }

    /// Returns the expression of a path parameter as escaped text.
    fn path_value(&self, parameter: &Parameter, field: &Ident) -> TokenStream {
        let name = &parameter.wire;
        let part = PathPart::Parameter(name.clone());
        let uses = self.operation.segments.iter().filter(|used| **used == part);
        // The argument is moved out of the builder, so several uses need copies.
        let mut value = if uses.count() > 1 {
            quote!(self.#field.clone()?)
        } else {
            quote!(self.#field?)
        };
        if !parameter.required {
            let name = parameter.name.trim_start_matches("r#");
            let transport = self.transport();
            value = quote!(#value.map_or_else(|| self.#transport.missing(#name), Ok)?);
        }
        match &parameter.encoding {
            ParameterEncoding::Style { style, explode, .. } => {
                let style = style_tokens(*style);
                quote!(runtime::path_text(#name, &#value, #style, #explode)?)
            }
            ParameterEncoding::Content(_) => quote!(runtime::path_content(#name, &#value)?),
        }
    }

    /// Returns the statements that append the query to `url`, if there is one: the parameters, then
    /// that of the path's label.
    fn query(&self) -> Option<TokenStream> {
        let label = self.operation.query.iter();
        let label: Vec<TokenStream> = label.map(|(name, value)| quote!((#name, #value))).collect();
        let label = (!label.is_empty()).then(|| quote!(query.label(&[#(#label),*]);));
        let added = self.query_parameters();
        if label.is_none() && added.is_none() {
            return None;
        }
        Some(quote! {
            let mut query = runtime::Query::new();
            #added
            #label
            let url = query.on(url);
        })
    }

    /// Returns the statements that add the parameters to the query, if there are any.
    fn query_parameters(&self) -> Option<TokenStream> {
        self.each(Location::Query, |parameter, value| {
            let name = &parameter.wire;
            match &parameter.encoding {
                ParameterEncoding::Content(_) if parameter.is_whole_query => {
                    quote!(query.add_whole(&runtime::content(#name, #value)?);)
                }
                ParameterEncoding::Style {
                    style: Style::Simple,
                    ..
                } if parameter.is_whole_query => {
                    quote!(query.add_whole(&runtime::single(#name, #value)?);)
                }
                ParameterEncoding::Style {
                    style,
                    explode,
                    allow_reserved,
                } => {
                    let style = style_tokens(*style);
                    quote!(query.add(#name, #value, (#style, #explode, #allow_reserved))?;)
                }
                ParameterEncoding::Content(_) => {
                    quote!(query.add_text(#name, &runtime::content(#name, #value)?);)
                }
            }
        })
    }

    /// Returns the statements that set the header `Cookie`, if an operation has cookies.
    fn cookies(&self) -> Option<TokenStream> {
        let added = self.each(Location::Cookie, |parameter, value| {
            let name = &parameter.wire;
            match &parameter.encoding {
                ParameterEncoding::Style {
                    style: Style::Cookie,
                    explode,
                    ..
                } => quote!(cookies.add_plain(#name, #value, #explode)?;),
                ParameterEncoding::Style { explode, .. } => {
                    quote!(cookies.add(#name, #value, #explode)?;)
                }
                ParameterEncoding::Content(_) => {
                    quote!(cookies.add_text(#name, &runtime::content(#name, #value)?);)
                }
            }
        })?;
        Some(quote! {
            let mut cookies = runtime::Cookies::new();
            #added
            let request = cookies.on(request);
        })
    }

    /// Returns a statement for each parameter that is a header.
    fn headers(&self) -> Vec<TokenStream> {
        self.located(Location::Header)
            .map(|(parameter, field)| {
                let name = &parameter.wire;
                if is_idempotency_key(parameter) {
                    let transport = self.transport();
                    return quote! {
                        let request = self.#transport.idempotent(request, self.#field?.as_ref())?;
                    };
                }
                let value = if parameter.required {
                    quote!(Some(&self.#field?))
                } else {
                    quote!(self.#field?.as_ref())
                };
                let function = match &parameter.encoding {
                    ParameterEncoding::Style { explode: false, .. } => quote!(header),
                    ParameterEncoding::Style { explode: true, .. } => quote!(exploded_header),
                    ParameterEncoding::Content(_) => quote!(content_header),
                };
                quote!(let request = runtime::#function(request, #name, #value)?;)
            })
            .collect()
    }

    /// Returns a statement for each parameter of a location, run if the parameter has a value.
    fn each(
        &self,
        location: Location,
        statement: impl Fn(&Parameter, TokenStream) -> TokenStream,
    ) -> Option<TokenStream> {
        let statements: Vec<TokenStream> = self
            .located(location)
            .map(|(parameter, field)| {
                if parameter.required {
                    return statement(parameter, quote!(&self.#field?));
                }
                let statement = statement(parameter, quote!(value));
                quote!(if let Some(value) = &self.#field? { #statement })
            })
            .collect();
        (!statements.is_empty()).then(|| quote!(#(#statements)*))
    }

    /// Returns the parameters of a location, each with the builder's field.
    fn located(&self, location: Location) -> impl Iterator<Item = (&Parameter, Ident)> {
        self.parameters()
            .filter(move |(parameter, _)| parameter.location == location)
    }

    /// Returns the header `Accept`: the media types of the successes, or those of the errors if no
    /// success has a body.
    fn accept(&self) -> Option<String> {
        let is_named = |name: &str| {
            self.located(Location::Header)
                .any(|(parameter, _)| parameter.wire.eq_ignore_ascii_case(name))
        };
        let choices = |choices: &mut dyn Iterator<Item = &Choice>| {
            let mut media: Vec<String> = Vec::new();
            // One name for each body is enough: its other names are the same body.
            let names: Vec<&String> = choices.filter_map(|choice| choice.media.first()).collect();
            for name in &names {
                // Parameters, such as a charset, are asked for only where they tell bodies apart.
                let is_told = |other: &&String| other != name && essence(other) == essence(name);
                let name = if names.iter().any(is_told) {
                    (*name).clone()
                } else {
                    essence(name)
                };
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
        // A parameter of this name leaves the choice to the caller.
        let usable = accept.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        (!accept.is_empty() && usable && !is_named("accept")).then_some(accept)
    }
}

/// Returns whether a parameter is an idempotency key that the client may choose itself.
fn is_idempotency_key(parameter: &Parameter) -> bool {
    let is_plain = matches!(
        parameter.encoding,
        ParameterEncoding::Style { explode: false, .. }
    );
    !parameter.required && is_plain && parameter.wire.eq_ignore_ascii_case(IDEMPOTENCY_KEY)
}

/// Escapes the braces of a literal, which would stand for an argument in a format string.
fn escaped(literal: &str) -> String {
    literal.replace('{', "%7B").replace('}', "%7D")
}

/// Returns the segments of a path, each with the slash before it.
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

/// Returns a style as the run time names it.
pub(super) fn style_tokens(style: Style) -> TokenStream {
    match style {
        Style::Matrix => quote!(runtime::Style::Matrix),
        Style::Label => quote!(runtime::Style::Label),
        Style::Simple => quote!(runtime::Style::Simple),
        // Of parameters, only cookies have the last, and they are written by `Cookies`.
        Style::Form | Style::Cookie => quote!(runtime::Style::Form),
        Style::SpaceDelimited => quote!(runtime::Style::SpaceDelimited),
        Style::PipeDelimited => quote!(runtime::Style::PipeDelimited),
        Style::DeepObject => quote!(runtime::Style::DeepObject),
    }
}

/// Returns a method as reqwest names it.
fn method(method: &Method) -> TokenStream {
    match method {
        Method::Get => quote!(runtime::reqwest::Method::GET),
        Method::Put => quote!(runtime::reqwest::Method::PUT),
        Method::Post => quote!(runtime::reqwest::Method::POST),
        Method::Delete => quote!(runtime::reqwest::Method::DELETE),
        Method::Options => quote!(runtime::reqwest::Method::OPTIONS),
        Method::Head => quote!(runtime::reqwest::Method::HEAD),
        Method::Patch => quote!(runtime::reqwest::Method::PATCH),
        Method::Trace => quote!(runtime::reqwest::Method::TRACE),
        Method::Query | Method::Other(_) => {
            let name = method.as_str();
            quote!(runtime::method(#name))
        }
    }
}
