//! `#[derive(Scalar)]`: a newtype over a string or number that holds only values that its schema
//! accepts.

mod access;
mod conversions;
mod rules;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Expr, Result, Type};

use access::access;
use conversions::conversions;
pub(crate) use rules::{Rules, Scalar};

use crate::impls::{self, optional};
use crate::schema::{self, Annotations};
use crate::shape;

/// Expands `#[derive(Scalar)]`.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let inner = shape::newtype(input, "Scalar")?;
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
    let described = schema::described(input, &annotations, || (keywords(&scalar), Vec::new()));
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
    Ok(quote! { #check #wire #conversions #access #described })
}

/// Generates `check`, which checks a borrowed value against the constraints, and `checked`, which
/// checks a value and wraps it in the newtype.
fn check(scalar: &Scalar<'_>) -> TokenStream {
    let Scalar {
        ident,
        inner,
        rules,
        is_text,
        ..
    } = *scalar;
    let own = if scalar.is_unconstrained() {
        // The compiler would warn about an argument that is not used.
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

/// Generates a bound in the number type inside the newtype. Returns `None` if every value of the
/// type satisfies the bound, or if only the compiled schema can check it.
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
        () => return Some(float_bound(value, inner)),
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

/// Generates a bound of a float. An integer bound needs a cast, which rounds as decoding a value
/// does.
fn float_bound(value: &Expr, inner: &Type) -> TokenStream {
    let text = quote!(#value).to_string().replace(' ', "");
    let Ok(integer) = text.parse::<i128>() else {
        return quote!((#value) as #inner);
    };
    // With its type: the compiler would take a literal without one for an `i32`.
    let size = proc_macro2::Literal::u128_suffixed(integer.unsigned_abs());
    if integer < 0 {
        quote!(-(#size as #inner))
    } else {
        quote!(#size as #inner)
    }
}

/// Rounds the bound `name` to the equivalent integer. Returns `None` for a `multiple_of` that is
/// not an integer.
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

/// Generates an expression that returns the JSON Schema of the value, without annotations such as
/// `title`.
pub(crate) fn keywords(scalar: &Scalar<'_>) -> TokenStream {
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
        if let Some(value) = value.as_ref().map(impls::count) {
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
