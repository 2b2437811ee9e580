//! `#[derive(Scalar)]`: a newtype over a string or number that holds only values that its schema
//! accepts.

mod access;
mod conversions;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Expr, Ident, LitInt, LitStr, Result, Type};

use access::access;
use conversions::conversions;

use crate::impls::{self, optional};
use crate::schema::{self, Annotations};

/// Expands the derive.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let inner = impls::newtype(input, "Scalar")?;
    let ident = &input.ident;
    let annotations = Annotations::read(&input.attrs)?;
    let component = annotations.component(ident);
    let scalar = Scalar {
        ident,
        inner,
        rules: &Rules::read(input)?,
        is_text: matches!(inner, Type::Path(path) if path.path.is_ident("String")),
        component: component.as_ref(),
        description: annotations.description.as_ref(),
    };
    let described = schema::described(input, &annotations, &keywords(&scalar), &[]);
    let serde = impls::serde(ident);
    let wire = impls::wire(
        ident,
        &quote! {
            let value = <#inner as ::api_runtime::Wire>::decode(deserializer)?;
            Self::checked(value).map_err(::api_runtime::__private::serde::de::Error::custom)
        },
        &quote!(::api_runtime::Wire::encode(&self.0, serializer)),
    );
    let check = check(&scalar);
    let conversions = conversions(&scalar);
    let access = access(&scalar);
    Ok(quote! { #check #wire #serde #conversions #access #described })
}

/// A newtype over a string or number.
#[derive(Clone, Copy)]
struct Scalar<'i> {
    ident: &'i Ident,
    inner: &'i Type,
    rules: &'i Rules,
    is_text: bool,
    /// The name of the schema among the contract's components, for messages.
    component: Option<&'i String>,
    /// The description of the schema, which gives the rule of its pattern.
    description: Option<&'i String>,
}

impl Scalar<'_> {
    /// Returns the format of a text with the path of the function that checks it.
    ///
    /// The generator writes a format that is not enforced into `#[schema(…)]`, so this crate needs
    /// no list of formats: one that `api_runtime::format` has no function for does not compile. The
    /// format of a number is its type.
    fn enforced_format(&self) -> Option<(String, TokenStream)> {
        let format = self.rules.format.as_ref().filter(|_| self.is_text)?.value();
        let function = quote::format_ident!("{}", format.replace('-', "_"));
        Some((format, quote!(::api_runtime::format::#function)))
    }

    /// Returns whether the newtype accepts every value of the type inside it.
    fn is_unconstrained(&self) -> bool {
        self.rules.min_length.is_none()
            && self.rules.max_length.is_none()
            && self.rules.pattern.is_none()
            && self.enforced_format().is_none()
            && self.rules.bounds.is_empty()
            && self.rules.check.is_none()
    }
}

/// The arguments of `#[scalar(…)]`.
#[derive(Default)]
struct Rules {
    min_length: Option<LitInt>,
    max_length: Option<LitInt>,
    pattern: Option<LitStr>,
    format: Option<LitStr>,
    bounds: Vec<(String, Expr)>,
    secret: bool,
    check: Option<LitStr>,
}

impl Rules {
    /// Reads `#[scalar(…)]`.
    fn read(input: &DeriveInput) -> Result<Self> {
        let mut rules = Self::default();
        for attribute in input
            .attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("scalar"))
        {
            attribute.parse_nested_meta(|meta| {
                let name = meta
                    .path
                    .get_ident()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                match name.as_str() {
                    "min_length" => rules.min_length = Some(meta.value()?.parse()?),
                    "max_length" => rules.max_length = Some(meta.value()?.parse()?),
                    "pattern" => rules.pattern = Some(meta.value()?.parse()?),
                    "format" => rules.format = Some(meta.value()?.parse()?),
                    "minimum" | "maximum" | "exclusive_minimum" | "exclusive_maximum"
                    | "multiple_of" => {
                        rules.bounds.push((name, meta.value()?.parse()?));
                    }
                    "secret" => rules.secret = true,
                    "check" => rules.check = Some(meta.value()?.parse()?),
                    _ => {
                        return Err(meta.error(
                            "scalar knows the keywords of strings and numbers, secret and check",
                        ));
                    }
                }
                Ok(())
            })?;
        }
        Ok(rules)
    }

    /// Returns a bound by the name of its argument.
    fn bound(&self, name: &str) -> Option<&Expr> {
        self.bounds
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }
}

/// Generates `check`, which borrows a value, and `checked`, which wraps it.
fn check(scalar: &Scalar<'_>) -> TokenStream {
    let Scalar {
        ident,
        inner,
        rules,
        is_text,
        ..
    } = *scalar;
    let own = if scalar.is_unconstrained() {
        quote!(let _ = value;)
    } else if is_text {
        let min = optional(rules.min_length.as_ref());
        let max = optional(rules.max_length.as_ref());
        let schema = optional(scalar.component);
        // Messages for other keywords do not need it.
        let description = optional(scalar.description.filter(|_| rules.pattern.is_some()));
        // A static, so that the pattern is compiled once and not for each value.
        let (declared, pattern) = match &rules.pattern {
            Some(pattern) => (
                quote!(static __PATTERN: ::api_runtime::Pattern = ::api_runtime::Pattern::new(#pattern);),
                quote!(::core::option::Option::Some(&__PATTERN)),
            ),
            None => (quote!(), quote!(::core::option::Option::None)),
        };
        let format = if let Some((name, function)) = scalar.enforced_format() {
            quote!(::core::option::Option::Some((#name, #function)))
        } else {
            quote!(::core::option::Option::None)
        };
        quote! {
            #declared
            ::api_runtime::__private::Text { schema: #schema, description: #description, min_length: #min, max_length: #max, pattern: #pattern, format: #format }
                .check(value)?;
        }
    } else {
        let bound = |name: &str| {
            optional(
                rules
                    .bound(name)
                    .and_then(|value| bound_of(name, value, inner))
                    .as_ref(),
            )
        };
        let (minimum, maximum) = (bound("minimum"), bound("maximum"));
        let (exclusive_minimum, exclusive_maximum) =
            (bound("exclusive_minimum"), bound("exclusive_maximum"));
        let multiple_of = bound("multiple_of");
        quote! {
            ::api_runtime::__private::Bounds::<#inner> {
                minimum: #minimum,
                maximum: #maximum,
                exclusive_minimum: #exclusive_minimum,
                exclusive_maximum: #exclusive_maximum,
                multiple_of: #multiple_of,
            }
            .check(*value)?;
        }
    };
    let compiled = rules.check.as_ref().map(|check| {
        quote! {
            ::api_runtime::__private::constraint_check(&crate::schemas::SCHEMAS, #check, value)?;
        }
    });
    let by = if is_text {
        quote!(&str)
    } else {
        quote!(&#inner)
    };
    quote! {
        impl #ident {
            fn check(value: #by) -> ::core::result::Result<(), ::api_runtime::ConstraintError> {
                #own
                #compiled
                ::core::result::Result::Ok(())
            }

            fn checked(value: #inner) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                Self::check(&value)?;
                ::core::result::Result::Ok(Self(value))
            }
        }
    }
}

/// Generates a bound in the number type inside the newtype; none if every value of the type
/// satisfies the bound, or if only the compiled schema can check it.
///
/// The contract may bound an integer by `0.5`, or by a number that the type cannot hold.
fn bound_of(name: &str, value: &Expr, inner: &Type) -> Option<TokenStream> {
    let is = |name: &str| matches!(inner, Type::Path(path) if path.path.is_ident(name));
    let (low, high) = match () {
        () if is("i8") => (i8::MIN.into(), i8::MAX.into()),
        () if is("i16") => (i16::MIN.into(), i16::MAX.into()),
        () if is("u8") => (u8::MIN.into(), u8::MAX.into()),
        () if is("u16") => (u16::MIN.into(), u16::MAX.into()),
        () if is("i32") => (i32::MIN.into(), i32::MAX.into()),
        () if is("i64") => (i64::MIN.into(), i64::MAX.into()),
        () if is("u32") => (u32::MIN.into(), u32::MAX.into()),
        () if is("u64") => (u64::MIN.into(), u64::MAX.into()),
        // An integer bound of a float needs the cast, which rounds as decoding a value does.
        () => return Some(quote!((#value) as #inner)),
    };
    let bound = whole(name, &quote!(#value).to_string().replace(' ', ""))?;
    let says_nothing = match name {
        "minimum" | "exclusive_minimum" => bound < low,
        "maximum" | "exclusive_maximum" => bound > high,
        _ => false,
    };
    // A minimum above the range of the type, or a maximum below it, can only be written as the end
    // of the range.
    let clamped = proc_macro2::Literal::i128_unsuffixed(bound.clamp(low, high));
    (!says_nothing).then(|| quote!(#clamped))
}

/// Rounds a bound to the equivalent integer, if there is one.
///
/// A minimum is rounded up and a maximum down. An exclusive bound is rounded the other way: `> 0.5`
/// is `> 0`.
fn whole(name: &str, number: &str) -> Option<i128> {
    if let Ok(integer) = number.parse() {
        return Some(integer);
    }
    let fraction: f64 = number.parse().ok()?;
    let integer = match name {
        "minimum" | "exclusive_maximum" => fraction.ceil(),
        "maximum" | "exclusive_minimum" => fraction.floor(),
        _ if fraction.fract() == 0.0 => fraction,
        _ => return None,
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a cast from a float saturates"
    )]
    Some(integer as i128)
}

/// Generates an expression of the schema without annotations.
fn keywords(scalar: &Scalar<'_>) -> TokenStream {
    let Scalar {
        inner,
        rules,
        is_text,
        ..
    } = *scalar;
    let mut pairs = Vec::new();
    if is_text {
        pairs.push(quote!(("type", json!("string"))));
    }
    for (name, value) in [
        ("minLength", &rules.min_length),
        ("maxLength", &rules.max_length),
    ] {
        if let Some(value) = value {
            pairs.push(quote!((#name, json!(#value))));
        }
    }
    for (name, value) in [("pattern", &rules.pattern), ("format", &rules.format)] {
        if let Some(value) = value {
            pairs.push(quote!((#name, json!(#value))));
        }
    }
    for (attribute, name) in [
        ("minimum", "minimum"),
        ("maximum", "maximum"),
        ("exclusive_minimum", "exclusiveMinimum"),
        ("exclusive_maximum", "exclusiveMaximum"),
        ("multiple_of", "multipleOf"),
    ] {
        if let Some(value) = rules.bound(attribute) {
            // As text and not as a Rust literal: the number may be too large for every integer
            // type. Tokens are printed with a blank after a minus sign.
            let text = quote!(#value).to_string().replace(' ', "");
            pairs.push(quote!((#name, ::api_runtime::__private::parsed(#text))));
        }
    }
    let base = if is_text {
        quote!(json!({}))
    } else {
        quote!(<#inner as ::api_runtime::Described>::schema())
    };
    quote!(::api_runtime::described::with(#base, &[#(#pairs),*]))
}
