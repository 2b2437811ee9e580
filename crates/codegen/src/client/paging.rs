//! The method `stream` of a list, which calls for page after page.

use proc_macro2::TokenStream;
use quote::quote;

use super::names::ClientNames;
use super::parts;
use super::responses::{self, Body};
use crate::ir::{Api, Field, Operation, PagedOperation, TypeKind, TypeRef};
use crate::tokens::{docs, ident};

/// Returns the method `stream`, if the operation is a list.
pub(super) fn stream(
    api: &Api<'_>,
    names: &ClientNames,
    operation: &Operation,
) -> Option<TokenStream> {
    let paged = operation.paging.as_ref()?;
    let fields = fields(api, &paged.page)?;
    let items = fields.iter().find(|field| field.name == paged.items)?;
    // If the page is not the only body of a success, `send` returns an enum, which has no items.
    if *responses::successes(api, operation).single()? != Body::Json(paged.page.clone()) {
        return None;
    }
    let item = parts::type_of(api, names, &paged.item);
    let error = parts::side_type(
        api,
        names,
        &responses::errors(api, operation),
        &names.of(operation).error,
    );
    let cursor = &names.of(operation).parameters[paged.start_after];
    let field = |at: usize| ident(&names.of(operation).parameters[at]);
    let key = &paged.key;
    // The next cursor is what the last item has in the property that the list is sorted by, which
    // the caller may choose.
    let key = if let Some(order) = paged.order_column.map(field) {
        quote!(runtime::text(&self.#order, #key))
    } else {
        quote!(#key.to_owned())
    };
    let start_after = start_after(operation, paged, cursor);
    let items = items_of(items, &quote!(page));
    let count = count(api, fields);
    let docs = docs(&format!(
        "Returns every item of the list, page by page, after `{cursor}` if it is set. The first error ends the stream.\n\n\
         Pages are read one after the other: an item that is added or removed meanwhile may be missing or not."
    ));
    Some(quote! {
        #docs
        pub fn stream(self) -> impl runtime::Stream<Item = Result<#item, runtime::Error<#error>>> + Send + 'a {
            let paging = runtime::Paging { key: #key };
            paging.pages(move |key| {
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

/// Generates the statement that makes a call return the page after an item.
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

/// Returns the expression of a page's items as a `Vec`.
fn items_of(field: &Field, page: &TokenStream) -> TokenStream {
    let name = ident(&field.name);
    let optional = !field.required && field.default.is_none();
    match (optional, field.nullable) {
        (false, false) if matches!(field.ty, TypeRef::Vec(_)) => quote!(#page.#name),
        (false, false) => quote!(#page.#name.into_iter().collect()),
        (true, true) => quote!(#page.#name.into_iter().flatten().flatten().collect()),
        _ => quote!(#page.#name.into_iter().flatten().collect()),
    }
}

/// Returns the expression of the size of the whole list, which some pages have.
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
            quote!(runtime::count(&page.#name))
        },
    )
}

/// Returns the fields of a page.
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
