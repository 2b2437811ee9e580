//! `#[parameter(…)]` of a request's field and `#[header(…)]` of a response's field.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Ident, Lit, LitStr, Meta, Result, Token, Type};

use crate::schema::{json, unraw};

/// The arguments of `#[parameter(…)]` for a parameter of a request, or of `#[header(…)]` for a
/// header of a response.
pub(crate) struct Parameter {
    location: Ident,
    name: LitStr,
    pub is_required: bool,
    default: Option<String>,
    style: Option<Ident>,
    explode: bool,
    is_json: bool,
    properties: Vec<LitStr>,
    is_open: bool,
    is_whole_query: bool,
}

impl Parameter {
    /// Reads the `#[parameter(…)]` or `#[header(…)]` of a field. `location` is the part of the
    /// request that the value is in, or `None` if the attribute names it.
    pub(crate) fn read(
        attribute: &Attribute,
        field: &Ident,
        location: Option<&str>,
    ) -> Result<Self> {
        let mut read = location.map(|location| format_ident!("{location}"));
        let mut made = Self {
            // Replaced below: the location may be anywhere among the arguments.
            location: field.clone(),
            name: LitStr::new(&unraw(&field.to_string()), field.span()),
            is_required: false,
            default: None,
            style: None,
            explode: false,
            is_json: false,
            properties: Vec::new(),
            is_open: false,
            is_whole_query: false,
        };
        if !matches!(attribute.meta, Meta::Path(_)) {
            attribute.parse_nested_meta(|meta| {
                let word = meta
                    .path
                    .get_ident()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                if matches!(word.as_str(), "path" | "query" | "header" | "cookie") {
                    let said = read.replace(format_ident!("{word}"));
                    return said
                        .map_or(Ok(()), |_| Err(meta.error("the location is said already")));
                }
                made.item(&word, &meta)
            })?;
        }
        if made.explode && made.style.is_none() {
            return Err(syn::Error::new_spanned(
                attribute,
                "explode goes with a style",
            ));
        }
        made.location = read.ok_or_else(|| {
            syn::Error::new_spanned(
                attribute,
                "a parameter says where it is: path, query, header or cookie",
            )
        })?;
        Ok(made)
    }

    /// Parses the argument `word` of the attribute. The location (`path`, `query`, `header` or
    /// `cookie`) is an error here.
    fn item(&mut self, word: &str, meta: &ParseNestedMeta<'_>) -> Result<()> {
        match word {
            "name" => self.name = meta.value()?.parse()?,
            "required" => self.is_required = true,
            "default" => self.default = Some(literal(meta)?),
            "default_json" => json(&meta.value()?.parse()?, &mut self.default)?,
            "style" => self.style = Some(style(&meta.value()?.parse()?)?),
            "explode" => self.explode = true,
            "json" => self.is_json = true,
            "open" => self.is_open = true,
            "whole_query" => self.is_whole_query = true,
            "properties" => {
                let inside;
                syn::parenthesized!(inside in meta.input);
                let names =
                    inside.parse_terminated(<LitStr as syn::parse::Parse>::parse, Token![,])?;
                self.properties.extend(names);
            }
            _ => {
                return Err(meta.error(
                    "a parameter takes path, query, header, cookie, name, required, default, default_json, style, \
                     explode, json, properties, open and whole_query",
                ));
            }
        }
        Ok(())
    }

    /// Returns the name of the parameter or header in a request or response, which may differ from
    /// the name of its field.
    pub(crate) fn name(&self) -> String {
        self.name.value()
    }

    /// Generates the `api_runtime::server::Parameter` that describes the parameter. It includes the
    /// schema of `ty`, the type of the field, if `ty` is given.
    pub(crate) fn description(&self, ty: Option<&Type>) -> TokenStream {
        let Self {
            location,
            name,
            explode,
            properties,
            ..
        } = self;
        // `Parameter::path` is required already.
        let required = (self.is_required && location != "path").then(|| quote!(.required()));
        let default = self.default.iter();
        let style = self.style.iter();
        let json = self.is_json.then(|| quote!(.json()));
        let object = (!properties.is_empty()).then(|| quote!(.object(&[#(#properties),*])));
        let open = self.is_open.then(|| quote!(.open()));
        let whole_query = self.is_whole_query.then(|| quote!(.whole_query()));
        let described = ty.map(|ty| quote!(.described::<#ty>()));
        quote! {
            ::api_runtime::server::Parameter::#location(#name)
                #required
                #(.default(#default))*
                #(.style(::api_runtime::server::Style::#style, #explode))*
                #json #object #open #whole_query #described
        }
    }
}

/// Parses `= literal` and returns the literal as a JSON text. A literal other than a string, a
/// boolean or a number without a suffix is an error.
fn literal(meta: &ParseNestedMeta<'_>) -> Result<String> {
    let input = meta.value()?;
    // A minus sign is a token of its own, before the literal.
    let sign = if input.peek(Token![-]) {
        input.parse::<Token![-]>()?;
        "-"
    } else {
        ""
    };
    let text = match input.parse()? {
        Lit::Str(text) if sign.is_empty() => serde_json::Value::from(text.value()).to_string(),
        Lit::Bool(value) if sign.is_empty() => value.value.to_string(),
        Lit::Int(number) if number.suffix().is_empty() => number.base10_digits().to_owned(),
        Lit::Float(number) if number.suffix().is_empty() => number.base10_digits().to_owned(),
        other => {
            return Err(syn::Error::new(
                other.span(),
                "a default is a string, a number or a boolean, else default_json = \"…\"",
            ));
        }
    };
    Ok(format!("{sign}{text}"))
}

/// Returns the variant of `Style` for a style in OpenAPI's spelling.
fn style(literal: &LitStr) -> Result<Ident> {
    let variant = match literal.value().as_str() {
        "simple" => "Simple",
        "label" => "Label",
        "matrix" => "Matrix",
        "form" => "Form",
        "spaceDelimited" => "SpaceDelimited",
        "pipeDelimited" => "PipeDelimited",
        "deepObject" => "DeepObject",
        "cookie" => "Cookie",
        _ => {
            return Err(syn::Error::new(
                literal.span(),
                "a style is simple, label, matrix, form, spaceDelimited, pipeDelimited, deepObject or cookie",
            ));
        }
    };
    Ok(Ident::new(variant, literal.span()))
}
