//! The properties of a form that have a style, as the server reads them.

use contract::model::{ParameterEncoding, Style};
use proc_macro2::TokenStream;
use quote::quote;

use super::parameter::property_names;
use crate::ir::{Api, Media, Parameter, TypeRef};

/// Returns the properties of a form that a server reads in another way than the usual one. If one of
/// them is an object that takes the names of all pairs that no other property has, the properties
/// without a style are there as well.
#[must_use]
pub fn form_fields(api: &Api<'_>, media: &Media) -> Vec<Parameter> {
    // Those in brackets are read without a style, and so is a repeated one that is no object.
    let has_style = |field: &&Parameter| match field.encoding {
        ParameterEncoding::Style { style, explode, .. } => match style {
            Style::DeepObject => false,
            Style::Form => !explode || property_names(api, &field.ty).is_some(),
            _ => true,
        },
        ParameterEncoding::Content(_) => true,
    };
    let mut fields: Vec<Parameter> = media.fields.iter().filter(has_style).cloned().collect();
    let takes_all = |field: &Parameter| {
        matches!(
            field.encoding,
            ParameterEncoding::Style { explode: true, .. }
        ) && property_names(api, &field.ty).is_some_and(|(_, is_open)| is_open)
    };
    let Some(first) = fields.iter().find(|field| takes_all(field)).cloned() else {
        return fields;
    };
    let names = media.ty.as_ref().and_then(|ty| property_names(api, ty));
    for wire in names.map_or_else(Vec::new, |(names, _)| names) {
        if fields.iter().all(|field| field.wire != wire) {
            fields.push(Parameter {
                wire,
                encoding: ParameterEncoding::Style {
                    style: Style::Form,
                    explode: true,
                    allow_reserved: false,
                },
                ty: TypeRef::Any,
                ..first.clone()
            });
        }
    }
    fields
}

/// Generates the list of the properties of a form with styles.
pub(super) fn fields(api: &Api<'_>, media: &Media) -> TokenStream {
    let fields = form_fields(api, media).into_iter().map(|field| {
        let name = &field.wire;
        let style = match field.encoding {
            ParameterEncoding::Content(_) => quote!(.json()),
            ParameterEncoding::Style {
                style: Style::Form,
                explode: true,
                ..
            } => TokenStream::new(),
            ParameterEncoding::Style { style, explode, .. } => {
                let style = match style {
                    Style::Simple => quote!(Simple),
                    Style::Label => quote!(Label),
                    Style::Matrix => quote!(Matrix),
                    Style::Form => quote!(Form),
                    Style::SpaceDelimited => quote!(SpaceDelimited),
                    Style::PipeDelimited => quote!(PipeDelimited),
                    Style::DeepObject => quote!(DeepObject),
                    Style::Cookie => quote!(Cookie),
                };
                quote!(.style(server::Style::#style, #explode))
            }
        };
        let object = property_names(api, &field.ty).map(|(names, is_open)| {
            let names = (!names.is_empty()).then(|| quote!(.object(&[#(#names),*])));
            let open = is_open.then(|| quote!(.open()));
            quote!(#names #open)
        });
        quote!(server::Parameter::query(#name) #style #object)
    });
    quote!(&[#(#fields),*])
}
