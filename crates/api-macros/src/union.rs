//! `#[derive(Union)]`: an enum of types, whose variant is selected by a tag or by trying each.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields, Ident, LitStr, Result, Type};

use crate::impls;
use crate::schema::{self, Annotations};
use crate::shape::wrong_shape;

/// The arguments of `#[union(…)]`: what selects the variant, which is `tag`, `one_of` or `any_of`, or
/// `tag` and for values without it one of the others, and in `check` the pointer of a compiled schema that every value must satisfy as well.
#[derive(Default)]
struct Rules {
    tag: Option<LitStr>,
    one_of: bool,
    any_of: bool,
    check: Option<LitStr>,
}

/// A variant with its type, the values of the tag that select it, whether it is selected where no
/// value does, and whether its type converts into the union.
struct Variant {
    ident: Ident,
    ty: Type,
    tags: Vec<LitStr>,
    is_default: bool,
    from: bool,
}

/// Expands `#[derive(Union)]`.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let rules = rules(input)?;
    let variants = variants(input)?;
    let ident = &input.ident;
    let annotations = Annotations::read_to_describe(&input.attrs)?;
    let described = schema::described(input, &annotations, || {
        // What stands beside the alternatives is in the schema alone that checks the value.
        if let Some(check) = &rules.check {
            let schema =
                quote!(::api_runtime::__private::schema_at(&crate::schemas::SCHEMAS, #check));
            return (schema, Vec::new());
        }
        let types = variants.iter().map(|variant| variant.ty.clone());
        (keywords(&rules, &variants), types.collect())
    });
    let choose = match &rules.tag {
        Some(tag) => {
            let is_tried = rules.one_of || rules.any_of;
            let trial = is_tried.then(|| by_trial(&variants, rules.one_of));
            by_tag(tag, &variants, trial.as_ref())
        }
        None => by_trial(&variants, rules.one_of),
    };
    let check = rules.check.as_ref().map(
        |check| quote!(::api_runtime::__private::check(&crate::schemas::SCHEMAS, #check, &value)?;),
    );
    let names = variants.iter().map(|variant| &variant.ident);
    let wire = impls::wire(
        ident,
        &quote! {
            let value = <::api_runtime::__private::Value as ::api_runtime::Wire>::decode(deserializer)?;
            #check
            #choose
        },
        &quote! {
            match self {
                #(Self::#names(value) => ::api_runtime::Wire::encode(value, serializer),)*
            }
        },
    );
    let conversions = variants
        .iter()
        // The generator leaves out `from` where two variants have the same type: the impls would
        // conflict.
        .filter(|variant| variant.from)
        .map(|variant| {
            let (name, ty) = (&variant.ident, &variant.ty);
            quote! {
                #[automatically_derived]
                impl ::core::convert::From<#ty> for #ident {
                    fn from(value: #ty) -> Self {
                        Self::#name(value)
                    }
                }
            }
        });
    Ok(quote! { #wire #(#conversions)* #described })
}

/// Parses the arguments of `#[union(…)]`. One of `tag`, `one_of` and `any_of` must be there, and the
/// last two exclude each other.
fn rules(input: &DeriveInput) -> Result<Rules> {
    let mut rules = Rules::default();
    for attribute in input
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("union"))
    {
        attribute.parse_nested_meta(|meta| {
            match meta
                .path
                .get_ident()
                .map(ToString::to_string)
                .unwrap_or_default()
                .as_str()
            {
                "tag" => rules.tag = Some(meta.value()?.parse()?),
                "one_of" => rules.one_of = true,
                "any_of" => rules.any_of = true,
                "check" => rules.check = Some(meta.value()?.parse()?),
                _ => return Err(meta.error("union takes tag, one_of, any_of and check")),
            }
            Ok(())
        })?;
    }
    let is_tried = rules.one_of || rules.any_of;
    if (rules.tag.is_none() && !is_tried) || (rules.one_of && rules.any_of) {
        return Err(wrong_shape(
            input,
            "the variant of a union is selected by tag, or by one of one_of and any_of, or by both",
        ));
    }
    Ok(rules)
}

/// Reads the variants and their `#[variant(…)]`.
fn variants(input: &DeriveInput) -> Result<Vec<Variant>> {
    let Data::Enum(data) = &input.data else {
        return Err(wrong_shape(input, "Union is for an enum"));
    };
    let mut variants = Vec::new();
    for variant in &data.variants {
        let (Fields::Unnamed(fields), 1) = (&variant.fields, variant.fields.len()) else {
            return Err(syn::Error::new_spanned(
                variant,
                "a union's variant has one unnamed field",
            ));
        };
        let mut made = Variant {
            ident: variant.ident.clone(),
            ty: fields.unnamed[0].ty.clone(),
            tags: Vec::new(),
            is_default: false,
            from: false,
        };
        for attribute in variant
            .attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("variant"))
        {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("from") {
                    made.from = true;
                    return Ok(());
                }
                if meta.path.is_ident("default") {
                    made.is_default = true;
                    return Ok(());
                }
                if !meta.path.is_ident("tag") {
                    return Err(meta.error("variant takes tag, default and from"));
                }
                let inside;
                syn::parenthesized!(inside in meta.input);
                let tags = inside
                    .parse_terminated(<LitStr as syn::parse::Parse>::parse, syn::Token![,])?;
                made.tags.extend(tags);
                Ok(())
            })?;
        }
        variants.push(made);
    }
    Ok(variants)
}

/// Generates an expression that decodes `value` as the variant that its property `tag` selects. A value
/// without a text there is decoded by `trial`. Without `trial`, the default takes it, and values with
/// a tag that no variant has. Where there is neither, such values are errors.
///
/// The tag may be anywhere in the object, so the whole value has to be read as JSON before.
fn by_tag(tag: &LitStr, variants: &[Variant], trial: Option<&TokenStream>) -> TokenStream {
    let tagged = variants.iter().filter(|variant| !variant.tags.is_empty());
    let arms = tagged.map(|variant| {
        let (name, tags) = (&variant.ident, &variant.tags);
        quote! {
            #(::core::option::Option::Some(#tags))|* => ::api_runtime::__private::variant(value, Self::#name),
        }
    });
    let all = variants.iter().flat_map(|variant| &variant.tags);
    let unknown = quote! {
        ::core::result::Result::Err(::api_runtime::__private::unknown_tag(#tag, &[#(#all),*]))
    };
    let default = variants.iter().find(|variant| variant.is_default);
    // Copied, because the arms consume `value`.
    let optional = quote!(::api_runtime::__private::optional_tag(&value, #tag));
    let (read, others) = match (trial, default) {
        (Some(trial), _) => (
            optional,
            quote! {
                ::core::option::Option::Some(_) => #unknown,
                ::core::option::Option::None => #trial,
            },
        ),
        (None, Some(default)) => {
            let name = &default.ident;
            let arm = quote!(_ => ::api_runtime::__private::variant(value, Self::#name),);
            (optional, arm)
        }
        (None, None) => (
            quote! {
                ::core::option::Option::Some(
                    ::api_runtime::__private::tag(&value, #tag)?.to_owned()
                )
            },
            quote!(_ => #unknown,),
        ),
    };
    quote! {
        let tag: ::core::option::Option<::std::string::String> = #read;
        match tag.as_deref() {
            #(#arms)*
            #others
        }
    }
}

/// Generates an expression that decodes `value` by trying each variant. If several accept it,
/// `exactly_one` makes that an error; otherwise the variant that keeps most of the value is used.
fn by_trial(variants: &[Variant], exactly_one: bool) -> TokenStream {
    let choose = if exactly_one {
        quote!(one_of)
    } else {
        quote!(any_of)
    };
    // Closures without captures are function pointers, so the selection is compiled once in the
    // run time and not expanded for each union.
    let alternatives = variants.iter().map(|variant| {
        let (name, ty) = (&variant.ident, &variant.ty);
        quote!(|value| <#ty as ::api_runtime::Wire>::decode(value).map(Self::#name))
    });
    quote!(::api_runtime::__private::#choose(&value, &[#(#alternatives),*]))
}

/// Generates an expression that returns the JSON Schema of the union, without annotations such as
/// `title`.
fn keywords(rules: &Rules, variants: &[Variant]) -> TokenStream {
    let references = variants.iter().map(|variant| {
        let ty = &variant.ty;
        quote!(<#ty as ::api_runtime::Described>::reference())
    });
    let keyword = if rules.any_of { "anyOf" } else { "oneOf" };
    let base = quote! {
        ::api_runtime::described::with(json!({}), &[
            (#keyword, ::core::iter::FromIterator::from_iter([#(#references),*])),
        ])
    };
    match &rules.tag {
        None => base,
        Some(tag) => {
            let mapping = variants.iter().flat_map(|variant| {
                let ty = &variant.ty;
                variant
                    .tags
                    .iter()
                    .map(move |value| quote!((#value, <#ty as ::api_runtime::Described>::NAME)))
            });
            let discriminated =
                quote!(::api_runtime::__private::discriminated(#base, #tag, &[#(#mapping),*]));
            match variants.iter().find(|variant| variant.is_default) {
                None => discriminated,
                Some(default) => {
                    let ty = &default.ty;
                    let name = quote!(<#ty as ::api_runtime::Described>::NAME);
                    quote!(::api_runtime::__private::defaulting(#discriminated, #name))
                }
            }
        }
    }
}
