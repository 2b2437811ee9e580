//! Builders that this crate writes, in the shape of progenitor's and on the same run time, for operations that
//! progenitor cannot carry.

mod body;
mod request;
mod response;

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::names::ClientNames;
use super::responses::{self, Side};
use super::{paging, parts, text};
use crate::ir::{Api, Operation, Parameter};
use crate::tokens::{docs, ident};

/// An operation on its way to a builder.
struct Own<'a> {
    api: &'a Api<'a>,
    names: &'a ClientNames,
    operation: &'a Operation,
    successes: Side,
    errors: Side,
    locals: Locals,
}

/// The local variables of `send`, none of them a parameter's name.
struct Locals {
    client: Ident,
    url: Ident,
    query: Ident,
    cookies: Ident,
    body: Ident,
    request: Ident,
    info: Ident,
    response: Ident,
    /// The stem of names for segments of several parts.
    segment: String,
}

impl Locals {
    fn new(parameters: &[String]) -> Self {
        let mut taken: HashSet<String> = parameters.iter().cloned().collect();
        let mut local = |name: &str| {
            let name = if taken.contains(name) {
                format!("{name}_")
            } else {
                name.to_owned()
            };
            ident(&crate::names::unique(&mut taken, name))
        };
        Self {
            client: local("client"),
            url: local("url"),
            query: local("query"),
            cookies: local("cookies"),
            body: local("body"),
            request: local("request"),
            info: local("info"),
            response: local("response"),
            segment: stem(parameters),
        }
    }
}

/// A word that no parameter's name begins with.
fn stem(parameters: &[String]) -> String {
    let mut stem = "segment".to_owned();
    while parameters.iter().any(|name| name.starts_with(&stem)) {
        stem.push('_');
    }
    stem
}

/// The builder of an operation, and the enums of its responses.
pub(super) fn builder(api: &Api<'_>, names: &ClientNames, operation: &Operation) -> TokenStream {
    let own = Own {
        api,
        names,
        operation,
        successes: responses::successes(api, operation),
        errors: responses::errors(api, operation),
        locals: Locals::new(&names.of(operation).parameters),
    };
    let structure = own.structure();
    let methods = own.methods();
    let enums = own.enums();
    quote!(#structure #methods #enums)
}

impl Own<'_> {
    /// Each parameter with the builder's field.
    fn parameters(&self) -> impl Iterator<Item = (&Parameter, Ident)> {
        let names = &self.names.of(self.operation).parameters;
        self.operation
            .parameters
            .iter()
            .zip(names.iter().map(|name| ident(name)))
    }

    fn structure(&self) -> TokenStream {
        let name = ident(&self.operation.pascal);
        let client_trait = &self.api.tags[self.operation.tag].client_trait;
        let docs = docs(&text::builder(self.api, self.operation, client_trait));
        let client = &self.locals.client;
        let fields = self.parameters().map(|(parameter, field)| {
            let ty = parts::type_of(self.api, &parameter.ty);
            if parameter.required {
                quote!(#field: Result<#ty, String>,)
            } else {
                quote!(#field: Result<Option<#ty>, String>,)
            }
        });
        let body = self.body_field();
        let derive = if self.body_is_whole() {
            quote!(Clone, Debug)
        } else {
            quote!(Debug)
        };
        quote! {
            #docs
            #[derive(#derive)]
            pub struct #name<'a> {
                #client: &'a runtime::Transport,
                #(#fields)*
                #body
            }
        }
    }

    fn methods(&self) -> TokenStream {
        let name = ident(&self.operation.pascal);
        let client = &self.locals.client;
        let values = self.parameters().map(|(parameter, field)| {
            if parameter.required {
                let missing = text::missing(&parameter.name);
                quote!(#field: Err(#missing.to_owned()),)
            } else {
                quote!(#field: Ok(None),)
            }
        });
        let body_value = self.body_value();
        let setters = self
            .parameters()
            .map(|(parameter, field)| self.setter(parameter, &field));
        let body_setters = self.body_setters();
        let send = self.send();
        let stream = paging::stream(self.api, self.names, self.operation);
        quote! {
            impl<'a> #name<'a> {
                /// A call without arguments yet.
                pub(crate) fn new(client: &'a runtime::Transport) -> Self {
                    Self {
                        #client: client,
                        #(#values)*
                        #body_value
                    }
                }

                #(#setters)*
                #(#body_setters)*
                #send
                #stream
            }
        }
    }

    fn setter(&self, parameter: &Parameter, field: &Ident) -> TokenStream {
        let docs = docs(&text::setter(parameter));
        let deprecated = parameter.deprecated.then(|| quote!(#[deprecated]));
        let ty = parts::type_of(self.api, &parameter.ty);
        let misfit = text::misfit(self.api, &parameter.name, &parameter.ty);
        let some = (!parameter.required).then(|| quote!(.map(Some)));
        quote! {
            #docs
            #deprecated
            pub fn #field<V>(mut self, value: V) -> Self
            where
                V: TryInto<#ty>,
            {
                self.#field = value.try_into() #some .map_err(|_| #misfit.to_owned());
                self
            }
        }
    }

    fn send(&self) -> TokenStream {
        let docs = docs(&text::send(self.api, &self.successes, &self.errors));
        let names = self.names.of(self.operation);
        let success = parts::side_type(self.api, &self.successes, &names.response);
        let error = parts::side_type(self.api, &self.errors, &names.error);
        let Locals {
            client,
            request,
            info,
            response,
            body,
            ..
        } = &self.locals;
        let fields = self.parameters().map(|(_, field)| field);
        let given = self.parameters().map(
            |(_, field)| quote!(let #field = #field.map_err(runtime::Error::InvalidRequest)?;),
        );
        let (body, body_given) = match self.operation.body {
            Some(_) => (
                Some(quote!(#body,)),
                Some(quote!(let #body = #body.map_err(runtime::Error::InvalidRequest)?;)),
            ),
            None => (None, None),
        };
        let built = self.request();
        let operation_info = parts::operation_info(self.api, self.names, self.operation);
        let arms = self.arms();
        quote! {
            #docs
            pub async fn send(self) -> Result<runtime::ResponseValue<#success>, runtime::Error<#error>> {
                let Self { #client, #(#fields,)* #body } = self;
                #(#given)*
                #body_given
                #built
                let #info = #operation_info;
                #client.pre(&mut #request, &#info).await?;
                let #response = #client.exec(#request, &#info).await?;
                match #response.status().as_u16() {
                    #(#arms)*
                    _ => Err(runtime::Error::unlisted(#response)),
                }
            }
        }
    }
}
