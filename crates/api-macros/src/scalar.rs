//! `#[derive(Scalar)]`: a newtype over a string or number that can only hold what the schema accepts.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Expr, LitInt, LitStr, Result, Type};

use crate::impls::{self, optional};
use crate::schema::{self, Annotations};

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

    fn bound(&self, name: &str) -> Option<&Expr> {
        self.bounds
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }

    /// Returns the format of a text with the path of the function that checks it.
    ///
    /// The generator writes a format that is not enforced into `#[schema(…)]`, so this crate needs no list of formats:
    /// one that `api_runtime::format` has no function for does not compile. The format of a number is its type.
    fn enforced_format(&self, is_text: bool) -> Option<(String, TokenStream)> {
        let format = self.format.as_ref().filter(|_| is_text)?.value();
        let function = quote::format_ident!("{}", format.replace('-', "_"));
        Some((format, quote!(::api_runtime::format::#function)))
    }

    fn is_unconstrained(&self, is_text: bool) -> bool {
        self.min_length.is_none()
            && self.max_length.is_none()
            && self.pattern.is_none()
            && self.enforced_format(is_text).is_none()
            && self.bounds.is_empty()
            && self.check.is_none()
    }
}

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let inner = impls::newtype(input, "Scalar")?;
    let rules = Rules::read(input)?;
    let is_text = matches!(inner, Type::Path(path) if path.path.is_ident("String"));
    let ident = &input.ident;
    let annotations = Annotations::read(&input.attrs)?;
    let described = schema::described(input, &annotations, &keywords(inner, &rules, is_text), &[]);
    let serde = impls::serde(ident);
    let check = check(input, inner, &rules, is_text);
    let wire = impls::wire(
        ident,
        &quote! {
            let value = <#inner as ::api_runtime::Wire>::decode(deserializer)?;
            Self::checked(value).map_err(::api_runtime::__private::serde::de::Error::custom)
        },
        &quote!(::api_runtime::Wire::encode(&self.0, serializer)),
    );
    let conversions = conversions(input, inner, &rules, is_text);
    let access = if is_text {
        text_access(input, &rules)
    } else {
        number_access(input, inner, &rules)
    };
    Ok(quote! { #check #wire #serde #conversions #access #described })
}

fn check(input: &DeriveInput, inner: &Type, rules: &Rules, is_text: bool) -> TokenStream {
    let own = if rules.is_unconstrained(is_text) {
        quote!(let _ = value;)
    } else if is_text {
        let min = optional(rules.min_length.as_ref());
        let max = optional(rules.max_length.as_ref());
        let (declared, pattern) = match &rules.pattern {
            Some(pattern) => (
                quote!(static __PATTERN: ::api_runtime::Pattern = ::api_runtime::Pattern::new(#pattern);),
                quote!(::core::option::Option::Some(&__PATTERN)),
            ),
            None => (quote!(), quote!(::core::option::Option::None)),
        };
        let format = if let Some((name, function)) = rules.enforced_format(is_text) {
            quote!(::core::option::Option::Some((#name, #function)))
        } else {
            quote!(::core::option::Option::None)
        };
        quote! {
            #declared
            ::api_runtime::__private::Text { min_length: #min, max_length: #max, pattern: #pattern, format: #format }
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
    let ident = &input.ident;
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

/// A bound in the newtype's own number type: `1` becomes `1.0` for floats, and a fraction the next integer that
/// means the same. None where every value of the type is within it, or where only the compiled schema can say.
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
        () => return Some(quote!((#value) as #inner)),
    };
    let bound = whole(name, &quote!(#value).to_string().replace(' ', ""))?;
    let says_nothing = match name {
        "minimum" | "exclusive_minimum" => bound < low,
        "maximum" | "exclusive_maximum" => bound > high,
        _ => false,
    };
    // A bound beyond the other end leaves no value: the type's own end is as far.
    let clamped = proc_macro2::Literal::i128_unsuffixed(bound.clamp(low, high));
    (!says_nothing).then(|| quote!(#clamped))
}

/// A number that means the same for integers; none if there is none.
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

fn keywords(inner: &Type, rules: &Rules, is_text: bool) -> TokenStream {
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

fn conversions(input: &DeriveInput, inner: &Type, rules: &Rules, is_text: bool) -> TokenStream {
    let ident = &input.ident;
    let into = quote! {
        #[automatically_derived]
        impl ::core::convert::From<#ident> for #inner {
            fn from(value: #ident) -> #inner {
                value.0
            }
        }
    };
    let other_integers = other_integers(ident, inner);
    let from = if rules.is_unconstrained(is_text) {
        let borrowed = is_text.then(|| {
            quote! {
                #[automatically_derived]
                impl ::core::convert::From<&str> for #ident {
                    fn from(value: &str) -> Self {
                        Self(::std::borrow::ToOwned::to_owned(value))
                    }
                }
            }
        });
        quote! {
            #[automatically_derived]
            impl ::core::convert::From<#inner> for #ident {
                fn from(value: #inner) -> Self {
                    Self(value)
                }
            }
            #borrowed
        }
    } else {
        let borrowed = is_text.then(|| {
            quote! {
                #[automatically_derived]
                impl ::core::convert::TryFrom<&str> for #ident {
                    type Error = ::api_runtime::ConstraintError;

                    fn try_from(value: &str) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                        Self::checked(::std::borrow::ToOwned::to_owned(value))
                    }
                }
            }
        });
        quote! {
            #[automatically_derived]
            impl ::core::convert::TryFrom<#inner> for #ident {
                type Error = ::api_runtime::ConstraintError;

                fn try_from(value: #inner) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                    Self::checked(value)
                }
            }
            #borrowed
        }
    };
    let parse = if is_text {
        quote!(Self::checked(::std::borrow::ToOwned::to_owned(text)))
    } else {
        quote! {
            let value = text.parse::<#inner>().map_err(|_| ::api_runtime::ConstraintError::Kind("a number in range"))?;
            Self::checked(value)
        }
    };
    quote! {
        #into
        #from
        #other_integers

        #[automatically_derived]
        impl ::core::str::FromStr for #ident {
            type Err = ::api_runtime::ConstraintError;

            fn from_str(text: &str) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                #parse
            }
        }
    }
}

/// The other integers that convert: a literal is an `i32` unless something says otherwise, a length is a `usize`.
fn other_integers(ident: &syn::Ident, inner: &Type) -> TokenStream {
    const INTEGERS: [&str; 8] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];
    const OTHERS: [&str; 5] = ["i32", "i64", "u32", "u64", "usize"];
    let is = |name: &str| matches!(inner, Type::Path(path) if path.path.is_ident(name));
    if !INTEGERS.iter().any(|name| is(name)) {
        return TokenStream::new();
    }
    let others = OTHERS.iter().filter(|name| !is(name)).map(|name| {
        let other = quote::format_ident!("{name}");
        quote! {
            #[automatically_derived]
            impl ::core::convert::TryFrom<#other> for #ident {
                type Error = ::api_runtime::ConstraintError;

                fn try_from(value: #other) -> ::core::result::Result<Self, ::api_runtime::ConstraintError> {
                    let value = <#inner as ::core::convert::TryFrom<#other>>::try_from(value)
                        .map_err(|_| ::api_runtime::ConstraintError::Kind("a number in range"))?;
                    Self::checked(value)
                }
            }
        }
    });
    quote!(#(#others)*)
}

/// Debug, Display and the ways to the text; a secret has one way only, whose name says so.
fn text_access(input: &DeriveInput, rules: &Rules) -> TokenStream {
    let ident = &input.ident;
    let name = ident.to_string();
    if rules.secret {
        return quote! {
            #[automatically_derived]
            impl ::core::fmt::Debug for #ident {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    f.write_str(concat!(#name, "([redacted])"))
                }
            }

            impl #ident {
                /// The secret itself. Whoever calls this keeps it out of logs and errors.
                #[must_use]
                pub fn expose(&self) -> &str {
                    &self.0
                }
            }
        };
    }
    quote! {
        #[automatically_derived]
        impl ::core::fmt::Debug for #ident {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.debug_tuple(#name).field(&self.0).finish()
            }
        }

        #[automatically_derived]
        impl ::core::fmt::Display for #ident {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl #ident {
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The text.
            #[must_use]
            pub fn into_string(self) -> ::std::string::String {
                self.0
            }
        }

        #[automatically_derived]
        impl ::core::convert::AsRef<str> for #ident {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        #[automatically_derived]
        impl ::core::cmp::PartialEq<str> for #ident {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        #[automatically_derived]
        impl ::core::cmp::PartialEq<&str> for #ident {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }
    }
}

fn number_access(input: &DeriveInput, inner: &Type, rules: &Rules) -> TokenStream {
    let ident = &input.ident;
    let name = ident.to_string();
    let (debug, display) = if rules.secret {
        (quote!(f.write_str(concat!(#name, "([redacted])"))), None)
    } else {
        let display = quote! {
            #[automatically_derived]
            impl ::core::fmt::Display for #ident {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    ::core::fmt::Display::fmt(&self.0, f)
                }
            }
        };
        (
            quote!(f.debug_tuple(#name).field(&self.0).finish()),
            Some(display),
        )
    };
    quote! {
        #[automatically_derived]
        impl ::core::fmt::Debug for #ident {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                #debug
            }
        }

        #display

        impl #ident {
            /// The number.
            #[must_use]
            pub const fn get(self) -> #inner {
                self.0
            }
        }
    }
}
