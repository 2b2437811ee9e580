//! `#[schema(…)]`, doc comments, and the impls of `Described`, `schemars::JsonSchema`,
//! `utoipa::ToSchema` and `proptest::arbitrary::Arbitrary`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, DeriveInput, Expr, ExprLit, Ident, Lit, LitStr, Meta, Result};

use crate::impls::optional;

/// Whether expansions describe types: whether the feature `schemars`, `utoipa` or `fake` is on.
///
/// The features of `api-runtime` switch these on. The compiler would expand, parse and drop the
/// descriptions otherwise, which takes a quarter of the time of all expansions.
const IS_DESCRIBED: bool = cfg!(any(
    feature = "schemars",
    feature = "utoipa",
    feature = "fake"
));

/// The annotations of a schema: `#[schema(…)]` and the doc comments of an item or field.
#[derive(Default)]
pub(crate) struct Annotations {
    name: Option<String>,
    inline: bool,
    pub(crate) description: Option<String>,
    title: Option<String>,
    format: Option<String>,
    examples: Option<String>,
    default: Option<String>,
    deprecated: bool,
    read_only: bool,
    write_only: bool,
    extensions: Option<String>,
}

impl Annotations {
    /// Reads the annotations from the attributes of an item or field.
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut made = Self {
            description: description(attributes),
            ..Self::default()
        };
        for attribute in attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("schema"))
        {
            attribute.parse_nested_meta(|meta| {
                let text = |into: &mut Option<String>| -> Result<()> {
                    *into = Some(meta.value()?.parse::<LitStr>()?.value());
                    Ok(())
                };
                let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                match name.as_str() {
                    "name" => text(&mut made.name)?,
                    "title" => text(&mut made.title)?,
                    "format" => text(&mut made.format)?,
                    "examples" => json(&meta.value()?.parse()?, &mut made.examples)?,
                    "default" => json(&meta.value()?.parse()?, &mut made.default)?,
                    "extensions" => json(&meta.value()?.parse()?, &mut made.extensions)?,
                    "inline" => made.inline = true,
                    "deprecated" => made.deprecated = true,
                    "read_only" => made.read_only = true,
                    "write_only" => made.write_only = true,
                    _ => return Err(meta.error("schema takes name, inline, title, examples, default, deprecated, read_only, write_only, format and extensions")),
                }
                Ok(())
            })?;
        }
        Ok(made)
    }

    /// Reads the annotations that only a description needs. Returns no annotations if expansions
    /// describe no types.
    pub(crate) fn read_to_describe(attributes: &[Attribute]) -> Result<Self> {
        if IS_DESCRIBED {
            Self::read(attributes)
        } else {
            Ok(Self::default())
        }
    }

    /// Returns the name of the schema: `name` of `#[schema(…)]`, else the identifier of the item.
    fn own_name(&self, ident: &Ident) -> String {
        self.name
            .clone()
            .unwrap_or_else(|| unraw(&ident.to_string()))
    }

    /// Returns the name of the schema among the contract's components, or `None` for an inline
    /// schema.
    pub(crate) fn component(&self, ident: &Ident) -> Option<String> {
        (!self.inline).then(|| self.own_name(ident))
    }

    /// Generates an expression that adds the annotations to the value of the expression `schema`.
    pub(crate) fn add_to(&self, schema: &TokenStream) -> TokenStream {
        let described = quote!(::api_runtime::described);
        let mut pairs = Vec::new();
        let mut text = |name: &str, value: &Option<String>| {
            if let Some(value) = value {
                pairs.push(quote!((#name, ::core::convert::Into::into(#value))));
            }
        };
        text("title", &self.title);
        text("description", &self.description);
        text("format", &self.format);
        for (name, value) in [("examples", &self.examples), ("default", &self.default)] {
            if let Some(value) = value {
                pairs.push(quote!((#name, ::api_runtime::__private::parsed(#value))));
            }
        }
        for (name, set) in [
            ("deprecated", self.deprecated),
            ("readOnly", self.read_only),
            ("writeOnly", self.write_only),
        ] {
            if set {
                pairs.push(quote!((#name, ::core::convert::Into::into(true))));
            }
        }
        let mut made = schema.clone();
        if !pairs.is_empty() {
            made = quote!(#described::with(#made, &[#(#pairs),*]));
        }
        if let Some(extensions) = &self.extensions {
            made = quote!(#described::with_extensions(#made, #extensions));
        }
        made
    }
}

/// Stores a string literal of an attribute in `into`, after a check that it is a JSON text.
///
/// The expansion parses the text when the program runs, which the check keeps from failing.
pub(crate) fn json(literal: &LitStr, into: &mut Option<String>) -> Result<()> {
    let text = literal.value();
    serde_json::from_str::<serde_json::Value>(&text)
        .map_err(|error| syn::Error::new(literal.span(), format!("this is not JSON: {error}")))?;
    *into = Some(text);
    Ok(())
}

/// Returns the lines of the doc comments, joined and trimmed, or `None` if nothing is left.
fn description(attributes: &[Attribute]) -> Option<String> {
    let mut lines = Vec::new();
    for attribute in attributes {
        if let Meta::NameValue(meta) = &attribute.meta
            && meta.path.is_ident("doc")
            && let Expr::Lit(ExprLit {
                lit: Lit::Str(line),
                ..
            }) = &meta.value
        {
            let line = line.value();
            // The text of a doc comment starts with the blank after `///`.
            lines.push(line.strip_prefix(' ').unwrap_or(&line).to_owned());
        }
    }
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Generates `Described`, `schemars::JsonSchema`, `utoipa::ToSchema` and `Arbitrary` with an example,
/// behind the features `schemars`, `utoipa` and `fake` of the generated crate. Generates nothing if
/// these features of this crate are off.
///
/// `describe` returns an expression of the JSON Schema without annotations, and the types that the
/// schema refers to.
pub(crate) fn described(
    input: &DeriveInput,
    annotations: &Annotations,
    describe: impl FnOnce() -> (TokenStream, Vec<syn::Type>),
) -> TokenStream {
    if !IS_DESCRIBED {
        return TokenStream::new();
    }
    let (keywords, mentions) = describe();
    let ident = &input.ident;
    let own = annotations.own_name(ident);
    let name = optional(annotations.component(ident).as_ref());
    let schema = annotations.add_to(&keywords);
    let inline = annotations.inline;
    quote! {
        // The features are those of the generated crate: `cfg` is evaluated where the code is
        // expanded to. Another crate of the build may have switched on those of this crate.
        #[cfg(any(feature = "schemars", feature = "utoipa", feature = "fake"))]
        #[automatically_derived]
        impl ::api_runtime::Described for #ident {
            const NAME: ::core::option::Option<&'static str> = #name;

            fn schema() -> ::api_runtime::__private::Value {
                use ::api_runtime::__private::json;
                #schema
            }

            fn collect_inner(
                into: &mut ::std::collections::BTreeMap<::std::string::String, ::api_runtime::__private::Value>,
            ) {
                // Otherwise unused in a type that refers to no other.
                let _ = &into;
                #(<#mentions as ::api_runtime::Described>::collect(into);)*
            }
        }

        #[cfg(feature = "schemars")]
        #[automatically_derived]
        impl ::api_runtime::__private::schemars::JsonSchema for #ident {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                ::core::convert::Into::into(#own)
            }

            fn inline_schema() -> bool {
                #inline
            }

            fn json_schema(
                generator: &mut ::api_runtime::__private::schemars::SchemaGenerator,
            ) -> ::api_runtime::__private::schemars::Schema {
                ::api_runtime::described::schemars_schema::<Self>(generator)
            }
        }

        #[cfg(feature = "utoipa")]
        #[automatically_derived]
        impl ::api_runtime::__private::utoipa::PartialSchema for #ident {
            fn schema() -> ::api_runtime::__private::utoipa::openapi::RefOr<::api_runtime::__private::utoipa::openapi::Schema> {
                ::api_runtime::described::utoipa_schema(<Self as ::api_runtime::Described>::schema())
            }
        }

        #[cfg(feature = "utoipa")]
        #[automatically_derived]
        impl ::api_runtime::__private::utoipa::ToSchema for #ident {
            fn name() -> ::std::borrow::Cow<'static, str> {
                ::core::convert::Into::into(#own)
            }

            fn schemas(
                schemas: &mut ::std::vec::Vec<(
                    ::std::string::String,
                    ::api_runtime::__private::utoipa::openapi::RefOr<::api_runtime::__private::utoipa::openapi::Schema>,
                )>,
            ) {
                ::api_runtime::described::utoipa_schemas::<Self>(schemas);
            }
        }

        #[cfg(feature = "fake")]
        #[automatically_derived]
        impl ::api_runtime::__private::proptest::arbitrary::Arbitrary for #ident {
            type Parameters = ();
            type Strategy = ::api_runtime::__private::proptest::strategy::BoxedStrategy<Self>;

            fn arbitrary_with((): ()) -> Self::Strategy {
                ::api_runtime::fake::values(&crate::schemas::SCHEMAS)
            }
        }

        #[cfg(feature = "fake")]
        impl #ident {
            /// Returns a valid value for tests, always the same: the contract's example, or one
            /// that is made of the examples of its parts.
            #[must_use]
            pub fn example() -> Self {
                ::api_runtime::fake::example(&crate::schemas::SCHEMAS)
            }
        }
    }
}

/// Generates `Described` for the rules of a text, and what the feature `fake` needs to find their
/// contract. Generates nothing if the features of this crate are off.
///
/// The other traits of a text follow from these in the run time. `describe` returns an expression of
/// the JSON Schema without annotations.
pub(crate) fn described_text(
    rules: &Ident,
    annotations: &Annotations,
    describe: impl FnOnce() -> TokenStream,
) -> TokenStream {
    if !IS_DESCRIBED {
        return TokenStream::new();
    }
    let schema = annotations.add_to(&describe());
    quote! {
        #[cfg(any(feature = "schemars", feature = "utoipa", feature = "fake"))]
        #[automatically_derived]
        impl ::api_runtime::Described for #rules {
            fn schema() -> ::api_runtime::__private::Value {
                use ::api_runtime::__private::json;
                #schema
            }
        }

        #[cfg(feature = "fake")]
        #[automatically_derived]
        impl ::api_runtime::fake::OfContract for #rules {
            fn schemas() -> &'static ::api_runtime::Schemas {
                &crate::schemas::SCHEMAS
            }
        }
    }
}

/// Returns the name of a raw identifier without `r#`.
pub(crate) fn unraw(name: &str) -> String {
    name.strip_prefix("r#").unwrap_or(name).to_owned()
}
