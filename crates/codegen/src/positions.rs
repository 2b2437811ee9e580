//! The Rust of multipart bodies whose parts have positions and no names: their types, and the
//! descriptions of their encodings, which client and server share.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use crate::ir::{Part, PartContent, PartHeader, PartList, TypeRef};
use crate::surface::Signature;

/// How a crate writes what it takes from elsewhere.
pub(crate) struct Words<'w> {
    /// The module of the run time: `server` or `runtime`.
    pub(crate) root: TokenStream,
    /// The type of a reference.
    pub(crate) ty: &'w dyn Fn(&TypeRef) -> TokenStream,
}

/// Returns the type of a whole body.
pub(crate) fn whole_type(parts: &PartList, words: &Words<'_>) -> TokenStream {
    let root = &words.root;
    let prefix = parts.prefix.iter().enumerate().map(|(at, part)| {
        let content = content_type(part, words);
        if at < parts.least {
            quote!(#root::Part<#content>)
        } else {
            quote!(Option<#root::Part<#content>>)
        }
    });
    let item = content_type(&parts.item, words);
    quote!(#root::Parts<(#(#prefix,)*), #item>)
}

/// Returns the type of what each part of a streamed body holds.
pub(crate) fn item_type(parts: &PartList, words: &Words<'_>) -> TokenStream {
    content_type(&parts.item, words)
}

fn content_type(part: &Part, words: &Words<'_>) -> TokenStream {
    let root = &words.root;
    match &part.content {
        PartContent::Json(ty) => {
            let ty = (words.ty)(ty);
            quote!(#root::Json<#ty>)
        }
        PartContent::Text(ty) => {
            let ty = (words.ty)(ty);
            quote!(#root::Text<#ty>)
        }
        PartContent::Bytes => quote!(#root::Bytes),
        PartContent::Nothing => quote!(#root::NoPart),
        PartContent::Parts(parts) => whole_type(parts, words),
    }
}

/// Returns the expression of the encodings of a body, which is constant.
pub(crate) fn encodings(parts: &PartList, words: &Words<'_>) -> TokenStream {
    let root = &words.root;
    let prefix = parts.prefix.iter().map(|part| encoding(part, words));
    let item = encoding(&parts.item, words);
    let least = (parts.least > 0).then(|| {
        let least = Literal::usize_unsuffixed(parts.least);
        quote!(.at_least(#least))
    });
    let most = parts.most.map(|most| {
        let most = Literal::usize_unsuffixed(most);
        quote!(.at_most(#most))
    });
    let form = parts.is_form.then(|| quote!(.form()));
    quote!(#root::Encodings::new(&[#(#prefix),*], #item) #least #most #form)
}

fn encoding(part: &Part, words: &Words<'_>) -> TokenStream {
    let root = &words.root;
    let names = &part.media_types;
    let headers = part.headers.iter().map(|one| header(one, words));
    let headers = (!part.headers.is_empty()).then(|| quote!(.headers(&[#(#headers),*])));
    let nested = match &part.content {
        PartContent::Parts(parts) => {
            let encodings = encodings(parts, words);
            Some(quote!(.parts(&#encodings)))
        }
        PartContent::Json(_) | PartContent::Text(_) | PartContent::Bytes | PartContent::Nothing => {
            None
        }
    };
    quote!(#root::Encoding::new(&[#(#names),*]) #headers #nested)
}

fn header(header: &PartHeader, words: &Words<'_>) -> TokenStream {
    let root = &words.root;
    let name = &header.name;
    let required = header.is_required.then(|| quote!(.required()));
    let forbidden = header.is_forbidden.then(|| quote!(.forbidden()));
    let value = header.value.as_ref().map(|value| quote!(.value(#value)));
    let fits = header.ty.as_ref().map(|ty| {
        let ty = (words.ty)(ty);
        if header.is_json {
            quote!(.fits(#root::fits_json::<#ty>))
        } else {
            quote!(.fits(#root::fits::<#ty>))
        }
    });
    quote!(#root::PartHeader::new(#name) #required #forbidden #value #fits)
}

/// Returns the signature of a whole body. `of` returns that of a type.
pub(crate) fn whole_signature(parts: &PartList, of: &dyn Fn(&TypeRef) -> Signature) -> Signature {
    let mut made = Signature::text("Parts<(");
    for (at, part) in parts.prefix.iter().enumerate() {
        let part = content_signature(part, of).within("Part");
        made = made.and(part.optional(at >= parts.least)).then(",");
    }
    made.then("), ")
        .and(content_signature(&parts.item, of))
        .then(">")
}

/// Returns the signature of what each part of a streamed body holds.
pub(crate) fn item_signature(parts: &PartList, of: &dyn Fn(&TypeRef) -> Signature) -> Signature {
    content_signature(&parts.item, of)
}

fn content_signature(part: &Part, of: &dyn Fn(&TypeRef) -> Signature) -> Signature {
    match &part.content {
        PartContent::Json(ty) => of(ty).within("Json"),
        PartContent::Text(ty) => of(ty).within("Text"),
        PartContent::Bytes => Signature::text("Bytes"),
        PartContent::Nothing => Signature::text("NoPart"),
        PartContent::Parts(parts) => whole_signature(parts, of),
    }
}
