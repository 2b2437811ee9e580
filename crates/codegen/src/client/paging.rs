//! The method that walks every page of a list.

use proc_macro2::TokenStream;
use quote::quote;

use super::names::ClientNames;
use super::parts;
use super::responses::{self, Body};
use crate::ir::{Api, Field, Operation, PagedOperation, TypeKind, TypeRef};
use crate::tokens::{docs, ident};

/// The method `stream` of a list operation.
pub(super) fn stream(
    api: &Api<'_>,
    names: &ClientNames,
    operation: &Operation,
) -> Option<TokenStream> {
    let paged = operation.paging.as_ref()?;
    let fields = fields(api, &paged.page)?;
    let items = fields.iter().find(|field| field.name == paged.items)?;
    if *responses::successes(api, operation).single()? != Body::Json(paged.page.clone()) {
        return None;
    }
    let item = parts::type_of(api, &paged.item);
    let error = parts::side_type(
        api,
        &responses::errors(api, operation),
        &names.of(operation).error,
    );
    let cursor = &names.of(operation).parameters[paged.start_after];
    let key = key(names, operation, paged);
    let page_size = paged.page_size.map(|at| {
        let given = argument(names, operation, at);
        quote!(#given.and_then(runtime::number))
    });
    let page_size = page_size.unwrap_or_else(|| quote!(None));
    let default = paged
        .page_size
        .and_then(|at| operation.parameters[at].default.as_ref()?.as_u64());
    let default = default.map_or_else(|| quote!(None), |size| quote!(Some(#size)));
    let start_after = start_after(operation, paged, cursor);
    let items = taken(items, &quote!(page));
    let count = count(api, fields);
    let docs = docs(&format!(
        "Every item of the list, page by page, from `{cursor}` on if it was given. The first error ends it.\n\n\
         The pages are not taken at one moment: an item that is added or removed meanwhile may be seen or not."
    ));
    Some(quote! {
        #docs
        pub fn stream(self) -> impl runtime::Stream<Item = Result<#item, runtime::Error<#error>>> + Send + 'a {
            let paging = runtime::Paging {
                key: #key,
                page_size: #page_size,
                default_page_size: #default,
            };
            runtime::pages(paging, move |key| {
                let mut call = self.clone();
                #start_after
                async move {
                    let page = call.send().await?.into_inner();
                    Ok(runtime::Page { count: #count, items: #items })
                }
            })
        }
    })
}

/// The property of an item that is the cursor: what the order says, else the convention's.
fn key(names: &ClientNames, operation: &Operation, paged: &PagedOperation) -> TokenStream {
    let key = &paged.key;
    match paged.order_column {
        None => quote!(#key.to_owned()),
        Some(at) => {
            let given = argument(names, operation, at);
            quote!(#given.map_or_else(|| #key.to_owned(), runtime::text))
        }
    }
}

/// A parameter's value as an `Option<&T>`, whether or not it is required.
fn argument(names: &ClientNames, operation: &Operation, at: usize) -> TokenStream {
    let field = ident(&names.of(operation).parameters[at]);
    if operation.parameters[at].required {
        quote!(self.#field.as_ref().ok())
    } else {
        quote!(self.#field.as_ref().ok().and_then(Option::as_ref))
    }
}

fn start_after(operation: &Operation, paged: &PagedOperation, cursor: &str) -> TokenStream {
    let field = ident(cursor);
    let value = if operation.parameters[paged.start_after].required {
        quote!(runtime::cursor(key))
    } else {
        quote!(runtime::cursor(key).map(Some))
    };
    quote! {
        if let Some(key) = key {
            call.#field = #value;
        }
    }
}

/// A field's items as a `Vec`, whatever the field is.
fn taken(field: &Field, page: &TokenStream) -> TokenStream {
    let name = ident(&field.name);
    let optional = !field.required && field.default.is_none();
    match (optional, field.nullable) {
        (false, false) if matches!(field.ty, TypeRef::Vec(_)) => quote!(#page.#name),
        (false, false) => quote!(#page.#name.into_iter().collect()),
        (true, true) => quote!(#page.#name.into_iter().flatten().flatten().collect()),
        _ => quote!(#page.#name.into_iter().flatten().collect()),
    }
}

/// The size of the whole list, if the page says it.
fn count(api: &Api<'_>, fields: &[Field]) -> TokenStream {
    let count = api
        .contract
        .paging
        .as_ref()
        .and_then(|paging| paging.count.as_deref());
    let count = fields
        .iter()
        .find(|field| Some(field.wire.as_str()) == count);
    count.map_or_else(
        || quote!(None),
        |field| {
            let name = ident(&field.name);
            quote!(runtime::number(&page.#name))
        },
    )
}

fn fields<'a>(api: &'a Api<'_>, page: &TypeRef) -> Option<&'a [Field]> {
    let TypeRef::Named(id) = page else {
        return None;
    };
    match &api.type_def(*id).kind {
        TypeKind::Object(object) => Some(&object.fields),
        TypeKind::Alias(target) => fields(api, target),
        _ => None,
    }
}
