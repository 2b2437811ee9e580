//! The shapes of the items and types that the derives read: a newtype, a generic type with its
//! arguments, and the error for an item of another shape.

use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Fields, Result, Type};

/// Returns the type inside a newtype. For any other item, returns the error that the derive named
/// `derive` is for newtypes only.
pub(crate) fn newtype<'i>(input: &'i DeriveInput, derive: &str) -> Result<&'i Type> {
    if let Data::Struct(data) = &input.data
        && let Fields::Unnamed(fields) = &data.fields
        && let (1, Some(field)) = (fields.unnamed.len(), fields.unnamed.first())
    {
        return Ok(&field.ty);
    }
    Err(wrong_shape(
        input,
        &format!("{derive} is for a struct with one unnamed field"),
    ))
}

/// Returns the type argument at index `n` of a generic type such as `Vec<T>`.
pub(crate) fn argument(ty: &Type, n: usize) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    // By the last segment, so that `Vec<T>` and `::std::vec::Vec<T>` are the same.
    let syn::PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments
    else {
        return None;
    };
    arguments
        .args
        .iter()
        .filter_map(|argument| match argument {
            syn::GenericArgument::Type(ty) => Some(ty),
            _ => None,
        })
        .nth(n)
}

/// Returns the error for an item that a derive is not for. `words` is the message.
pub(crate) fn wrong_shape(input: &DeriveInput, words: &str) -> syn::Error {
    syn::Error::new(input.span(), words)
}
