//! The names that several files of the server pass write: of modules, crates, constants and types.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::ir::{Api, Operation};
use crate::tokens::ident;

/// Returns the name of a module that is not a tag's, with `shared_` before it if the module of a
/// tag has that name.
pub(super) fn fixed(api: &Api<'_>, name: &str) -> String {
    let mut name = name.to_owned();
    // Once may not be enough, since another tag can be named `shared_router`.
    while api.tags.iter().any(|tag| tag.module == name) {
        name.insert_str(0, "shared_");
    }
    name
}

/// Generates the import of a module that is not a tag's, such as `use crate::responses;`.
///
/// The module is imported under its usual name even if it has another, so that the code that uses
/// it is always the same.
pub(super) fn import(api: &Api<'_>, name: &str) -> TokenStream {
    let module = ident(&fixed(api, name));
    let name = ident(name);
    if module == name {
        quote!(use crate::#name;)
    } else {
        quote!(use crate::#module as #name;)
    }
}

/// Returns the name of the types crate in Rust, such as `api_types`.
pub(super) fn types_crate(api: &Api<'_>) -> Ident {
    ident(&api.names.krate("types"))
}

/// Returns the name of an operation's static, such as `LOAD_BALANCER_LIST`.
pub(crate) fn constant(name: &str) -> Ident {
    // No keyword is in upper case, so the name is never raw.
    ident(&name.trim_start_matches("r#").to_uppercase())
}

/// Returns the names of an operation's types: its request, its responses and its errors.
pub(crate) fn type_names(operation: &Operation) -> [Ident; 3] {
    ["Request", "Response", "Error"].map(|suffix| format_ident!("{}{}", operation.pascal, suffix))
}

/// Returns the method and path of an operation as code in a doc comment, such as
/// `GET /pets/{pet_id}`.
pub(crate) fn method_and_path(operation: &Operation) -> String {
    // A backtick in the path would end the code.
    format!(
        "`{} {}`",
        operation.method.as_str(),
        operation.path.replace('`', "'")
    )
}
