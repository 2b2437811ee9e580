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
    let wire = &items.wire;
    let items = items_of(items, &quote!(page));
    let size = size(api, fields);
    let count = count(size);
    let size = parts::option(size.map(|field| &field.wire));
    let docs = docs(&format!(
        "Returns every item of the list, page by page, after `{cursor}` if it is set. The first error ends the stream."
    ));
    Some(quote! {
        #docs
        pub fn stream(self) -> runtime::Items<'a, #item, #error> {
            let paging = runtime::Paging { operation: self.client.id(), key: #key, items: #wire, count: #size };
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

/// Returns the field of a page that has the size of the whole list, which some pages have.
fn size<'f>(api: &Api<'_>, fields: &'f [Field]) -> Option<&'f Field> {
    let count = api.contract.paging.as_ref()?.count.as_deref();
    fields
        .iter()
        .find(|field| Some(field.wire.as_str()) == count)
}

/// Returns an expression for the size of the whole list. `size` is the field of a page that has it.
fn count(size: Option<&Field>) -> TokenStream {
    size.map_or_else(
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
