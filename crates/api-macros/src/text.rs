//! `#[text(…)]`: an alias of `Text` with the rules of a schema.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{ItemType, LitInt, Result};

use crate::scalar::{self, Rules, Scalar};
use crate::schema::{self, Annotations, unraw};

/// Expands `#[text(…)]` on an alias: to the alias with the rules as its argument, and a type without
/// values, which stands for the rules.
pub(crate) fn expand(arguments: TokenStream, alias: &ItemType) -> Result<TokenStream> {
    let rules = Rules::of(arguments)?;
    if !rules.bounds.is_empty() || rules.secret {
        return Err(syn::Error::new_spanned(
            &alias.ident,
            "text takes min_length, max_length, pattern, format and check",
        ));
    }
    let ident = &alias.ident;
    let name = unraw(&ident.to_string());
    let marker = format_ident!("__{name}");
    let annotations = Annotations::read(&alias.attrs)?;
    let inner = &alias.ty;
    let string = syn::parse_quote!(String);
    let scalar = Scalar {
        ident,
        inner: &string,
        rules: &rules,
        is_text: true,
        component: None,
        description: annotations.description.as_ref(),
    };
    let described = schema::described_text(&marker, &annotations, || scalar::keywords(&scalar));
    let kept = alias
        .attrs
        .iter()
        .filter(|attribute| !attribute.path().is_ident("schema"));
    let visibility = &alias.vis;
    let constants = constants(&scalar);
    let functions = functions(&scalar);
    Ok(quote! {
        #(#kept)*
        #visibility type #ident = #inner<#marker>;

        #[doc(hidden)]
        #visibility enum #marker {}

        #[automatically_derived]
        impl ::api_runtime::TextRules for #marker {
            const ALIAS: &'static str = #name;
            #constants
            #functions
        }

        #described
    })
}

/// Generates the constants of the rules that are there, since each has a value by default.
fn constants(scalar: &Scalar<'_>) -> TokenStream {
    let rules = scalar.rules;
    let count = |name: &str, value: Option<&LitInt>| {
        let name = format_ident!("{name}");
        value.map(|value| {
            quote! {
                const #name: ::core::option::Option<usize> = ::core::option::Option::Some(#value);
            }
        })
    };
    let min = count("MIN_LENGTH", rules.min_length.as_ref());
    let max = count("MAX_LENGTH", rules.max_length.as_ref());
    let format = scalar.enforced_format().map(|(name, function)| {
        quote! {
            const FORMAT: ::core::option::Option<(&'static str, fn(&str) -> bool)> =
                ::core::option::Option::Some((#name, #function));
        }
    });
    // Messages for other keywords do not need it.
    let description = scalar.description.filter(|_| rules.pattern.is_some());
    let description = description.map(|description| {
        quote! {
            const DESCRIPTION: ::core::option::Option<&'static str> =
                ::core::option::Option::Some(#description);
        }
    });
    quote!(#min #max #format #description)
}

/// Generates the functions of the rules that are there.
fn functions(scalar: &Scalar<'_>) -> TokenStream {
    let pattern = scalar.rules.pattern.as_ref().map(|pattern| {
        quote! {
            fn pattern() -> ::core::option::Option<&'static ::api_runtime::Pattern> {
                // A static, so that the pattern is compiled once and not for each value.
                static __PATTERN: ::api_runtime::Pattern = ::api_runtime::Pattern::new(#pattern);
                ::core::option::Option::Some(&__PATTERN)
            }
        }
    });
    let compiled = scalar.rules.check.as_ref().map(|check| {
        quote! {
            fn compiled(text: &str) -> ::core::result::Result<(), ::api_runtime::ConstraintError> {
                ::api_runtime::__private::constraint_check(&crate::schemas::SCHEMAS, #check, text)
            }
        }
    });
    quote!(#pattern #compiled)
}
