//! `#[api(module)]`: what the trait of a tag needs besides its methods. Their futures are `Send`, and
//! a macro stands in for operations which an implementation does not have yet.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote};
use syn::ext::IdentExt as _;
use syn::{FnArg, GenericParam, ItemTrait, Result, ReturnType, TraitItem, TraitItemFn, Type};

/// Expands `#[api(module)]` on the trait of a tag: to the trait, whose methods return futures that
/// are `Send`, and a macro `module_stubs!`.
///
/// The macro is called in an implementation of the trait, with the names of operations or with `..`
/// for all, and is the methods for these. It repeats their signatures, since an implementation must write each out.
pub(crate) fn expand(module: &Ident, tag: &ItemTrait) -> Result<TokenStream> {
    let name = format_ident!("{}_stubs", module.unraw());
    let principal = tag
        .generics
        .params
        .iter()
        .find_map(|parameter| match parameter {
            GenericParam::Type(parameter) => Some(&parameter.ident),
            _ => None,
        });
    let methods = tag.items.iter().filter_map(|item| match item {
        TraitItem::Fn(method) => Some(method),
        _ => None,
    });
    let methods: Vec<&TraitItemFn> = methods.collect();
    let arms = methods
        .iter()
        .map(|method| arm(module, principal, method))
        .collect::<Result<Vec<_>>>()?;
    let names = methods.iter().map(|method| &method.sig.ident);
    let (given, passed) = match principal {
        Some(_) => (Some(quote!($principal:ty:)), Some(quote!($principal))),
        None => (None, None),
    };
    let mut written = tag.clone();
    for item in &mut written.items {
        if let TraitItem::Fn(method) = item {
            *method = with_send(method)?;
        }
    }
    let docs = docs(&name, tag, principal.is_some());
    let unknown = format!("` is no operation of `{}`", tag.ident);
    Ok(quote! {
        #written

        #(#[doc = #docs])*
        #[macro_export]
        macro_rules! #name {
            #(#arms)*
            // `@` marks the calls of the macro by itself, because no list of operations begins with
            // it.
            (@ $other:ident $($rest:tt)*) => {
                ::core::compile_error!(::core::concat!("`", ::core::stringify!($other), #unknown));
            };
            (#given ..) => {
                #($crate::#name! { @ #names #passed })*
            };
            (#given $($operation:ident),+ $(,)?) => {
                $($crate::#name! { @ $operation #passed })+
            };
        }
    })
}

/// Generates the arm that expands to the method of one operation.
fn arm(module: &Ident, principal: Option<&Ident>, method: &TraitItemFn) -> Result<TokenStream> {
    let name = &method.sig.ident;
    let given = principal.map(|_| quote!($principal:ty));
    let inputs = method.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(input) => Some(outside(module, principal, input.ty.to_token_stream())),
        FnArg::Receiver(_) => None,
    });
    let output = outside(module, principal, output(method)?.to_token_stream());
    Ok(quote! {
        (@ #name #given) => {
            async fn #name(&self, #(_: #inputs),*) -> #output {
                $crate::server::not_implemented().await
            }
        };
    })
}

/// Writes an `async fn` as a function whose future is `Send`, which the router needs and an
/// `async fn` of a trait does not promise.
fn with_send(method: &TraitItemFn) -> Result<TraitItemFn> {
    let output = output(method)?;
    let mut written = method.clone();
    written.sig.asyncness = None;
    written.default = written
        .default
        .map(|body| syn::parse_quote!({ async move #body }));
    written.sig.output = syn::parse_quote! {
        -> impl ::core::future::Future<Output = #output> + ::core::marker::Send
    };
    Ok(written)
}

/// Returns the type that a method returns.
fn output(method: &TraitItemFn) -> Result<&Type> {
    match &method.sig.output {
        ReturnType::Type(_, ty) if method.sig.asyncness.is_some() => Ok(ty),
        _ => Err(syn::Error::new_spanned(
            &method.sig,
            "the method of an operation is an `async fn` that returns a `Result`",
        )),
    }
}

/// Writes a type of the tag's module so that it means the same in another crate.
fn outside(module: &Ident, principal: Option<&Ident>, ty: TokenStream) -> TokenStream {
    ty.into_iter()
        .map(|token| match token {
            TokenTree::Ident(ident) if Some(&ident) == principal => quote!($principal),
            TokenTree::Ident(ident) if ident == "Option" => quote!(::core::option::Option),
            TokenTree::Ident(ident) if ident == "Result" => quote!(::core::result::Result),
            // The others are requests, responses and errors, which no name of Rust's has a suffix of.
            TokenTree::Ident(ident) => quote!($crate::#module::#ident),
            other => other.into(),
        })
        .collect()
}

/// Returns the lines of the macro's doc comment.
fn docs(name: &Ident, tag: &ItemTrait, is_secured: bool) -> Vec<String> {
    let first = tag.items.iter().find_map(|item| match item {
        TraitItem::Fn(method) => Some(method.sig.ident.to_string()),
        _ => None,
    });
    let (first, trait_name) = (first.unwrap_or_default(), &tag.ident);
    let (generics, principal) = if is_secured {
        ("<Caller>", "Caller: ")
    } else {
        ("", "")
    };
    [
        format!(" Stands in for operations that an implementation of `{trait_name}` does not have yet: each"),
        " responds with 501. An operation that is neither written nor listed here is a compile error.".to_owned(),
        " `..` stands for all operations of the tag.".to_owned(),
        String::new(),
        " ```text".to_owned(),
        format!(" impl {trait_name}{generics} for Service {{"),
        format!("     {name}!({principal}{first});"),
        " }".to_owned(),
        " ```".to_owned(),
    ]
    .into()
}
