//! A newtype over a string or number with the keywords of its schema.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::parse::Parser as _;
use syn::{DeriveInput, Expr, Ident, LitInt, LitStr, Result, Type};

/// A newtype over a string (`is_text`) or a number.
#[derive(Clone, Copy)]
pub(crate) struct Scalar<'i> {
    pub(crate) ident: &'i Ident,
    pub(crate) inner: &'i Type,
    pub(crate) rules: &'i Rules,
    pub(crate) is_text: bool,
    /// The name of the schema among the contract's components, for messages. `None` for an inline
    /// schema.
    pub(crate) component: Option<&'i String>,
    /// The description of the schema, from which the message for a pattern takes the rule in words.
    pub(crate) description: Option<&'i String>,
}

impl Scalar<'_> {
    /// Returns the format of a string with the path of the function that checks it. Returns `None`
    /// if the newtype is a number, whose format is its type, or has no format.
    ///
    /// The generator writes a format that is not enforced into `#[schema(…)]`, so this crate needs
    /// no list of formats: one that `api_runtime::format` has no function for does not compile.
    pub(crate) fn enforced_format(&self) -> Option<(String, TokenStream)> {
        let format = self.rules.format.as_ref().filter(|_| self.is_text)?.value();
        let function = quote::format_ident!("{}", format.replace('-', "_"));
        Some((format, quote!(::api_runtime::format::#function)))
    }

    /// Returns whether the newtype accepts every value of the type inside it.
    pub(crate) fn is_unconstrained(&self) -> bool {
        self.rules.min_length.is_none()
            && self.rules.max_length.is_none()
            && self.rules.pattern.is_none()
            && self.enforced_format().is_none()
            && self.rules.bounds.is_empty()
            && self.rules.check.is_none()
    }
}

/// The arguments of `#[scalar(…)]` or `#[text(…)]`. `bounds` are the numeric bounds, each after the name of its
/// argument; `check` is the pointer of a compiled schema that values are checked against too.
#[derive(Default)]
pub(crate) struct Rules {
    pub(crate) min_length: Option<LitInt>,
    pub(crate) max_length: Option<LitInt>,
    pub(crate) pattern: Option<LitStr>,
    pub(crate) format: Option<LitStr>,
    pub(crate) bounds: Vec<(String, Expr)>,
    pub(crate) secret: bool,
    pub(crate) check: Option<LitStr>,
}

impl Rules {
    /// Parses the arguments of `#[scalar(…)]`. An unknown argument is an error.
    pub(crate) fn read(input: &DeriveInput) -> Result<Self> {
        let mut rules = Self::default();
        for attribute in input
            .attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("scalar"))
        {
            attribute.parse_nested_meta(|meta| rules.add(&meta))?;
        }
        Ok(rules)
    }

    /// Parses the arguments of `#[text(…)]`. An unknown argument is an error.
    pub(crate) fn of(arguments: TokenStream) -> Result<Self> {
        let mut rules = Self::default();
        syn::meta::parser(|meta| rules.add(&meta)).parse2(arguments)?;
        Ok(rules)
    }

    /// Parses one argument.
    fn add(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let name = meta
            .path
            .get_ident()
            .map(ToString::to_string)
            .unwrap_or_default();
        match name.as_str() {
            "min_length" => self.min_length = Some(meta.value()?.parse()?),
            "max_length" => self.max_length = Some(meta.value()?.parse()?),
            "pattern" => self.pattern = Some(meta.value()?.parse()?),
            "format" => self.format = Some(meta.value()?.parse()?),
            "minimum" | "maximum" | "exclusive_minimum" | "exclusive_maximum" | "multiple_of" => {
                self.bounds.push((name, meta.value()?.parse()?));
            }
            "secret" => self.secret = true,
            "check" => self.check = Some(meta.value()?.parse()?),
            _ => {
                return Err(meta
                    .error("scalar takes the keywords of strings and numbers, secret and check"));
            }
        }
        Ok(())
    }

    /// Returns the bound that the argument `name` gives, such as `exclusive_minimum`.
    pub(crate) fn bound(&self, name: &str) -> Option<&Expr> {
        self.bounds
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }
}
