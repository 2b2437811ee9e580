//! The builder of an operation: a structure with an argument per parameter, a setter for each of
//! them, and `send`.

pub(super) mod body;
mod request;
mod response;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::common::CommonResponses;
use super::names::ClientNames;
use super::responses::{self, Side};
use super::{paging, parts, text};
use crate::ir::{Api, Operation, Parameter};
use crate::tokens::{docs, ident};

/// Returns the source of an operation's builder, and of the enums of its responses.
///
/// `progenitors` is the request that progenitor has written, or `None` if the request is generated
/// here.
pub(super) fn builder(
    api: &Api<'_>,
    names: &ClientNames,
    common: &CommonResponses,
    operation: &Operation,
    progenitors: Option<syn::Expr>,
) -> TokenStream {
    let builder = Builder {
        api,
        names,
        common,
        operation,
        successes: responses::successes(api, operation),
        errors: responses::errors(api, operation),
        progenitors,
    };
    let structure = builder.structure();
    let methods = builder.methods();
    let enums = builder.enums();
    quote!(#structure #methods #enums)
}

/// The parts that the builder of an operation is generated from.
struct Builder<'a> {
    api: &'a Api<'a>,
    names: &'a ClientNames,
    common: &'a CommonResponses,
    operation: &'a Operation,
    successes: Side,
    errors: Side,
    progenitors: Option<syn::Expr>,
}

impl Builder<'_> {
    /// Returns each parameter with the name of the builder's field for it.
    fn parameters(&self) -> impl Iterator<Item = (&Parameter, Ident)> {
        let names = &self.names.of(self.operation).parameters;
        self.operation
            .parameters
            .iter()
            .zip(names.iter().map(|name| ident(name)))
    }

    /// Returns the name of the builder's field for the transport, which sends requests.
    fn transport(&self) -> Ident {
        ident(&self.names.of(self.operation).transport)
    }

    /// Returns the struct of the builder.
    fn structure(&self) -> TokenStream {
        let name = ident(&self.operation.pascal);
        let client_trait = &self.api.tags[self.operation.tag].client_trait;
        let docs = docs(&text::builder(self.api, self.operation, client_trait));
        let transport = self.transport();
        let fields = self.parameters().map(|(parameter, field)| {
            let ty = parts::type_of(self.api, self.names, &parameter.ty);
            let ty = parts::optional(&ty, parameter.required);
            quote!(#field: runtime::Argument<#ty>,)
        });
        let body = self.body_field();
        // A body that is a stream can only be sent once, so its builder is not `Clone`.
        let derive = if self.body_can_be_cloned() {
            quote!(Clone, Debug)
        } else {
            quote!(Debug)
        };
        quote! {
            #docs
            #[derive(#derive)]
            pub struct #name<'a> {
                #transport: runtime::Call<'a>,
                #(#fields)*
                #body
            }
        }
    }

    /// Returns the `impl` of the builder.
    fn methods(&self) -> TokenStream {
        let name = ident(&self.operation.pascal);
        let transport = self.transport();
        let (id, path) = (&self.operation.id, &self.operation.path);
        let made = quote!(client.call(#id, #path));
        // What is missing is an error of the call.
        let needs_call = self.parameters().any(|(parameter, _)| parameter.required)
            || parts::body_of(self.operation).is_some_and(|body| body.required);
        let (before, call) = if needs_call {
            (Some(quote!(let call = #made;)), quote!(call))
        } else {
            (None, made)
        };
        let values = self.parameters().map(|(parameter, field)| {
            let value = initial(&parameter.name, parameter.required);
            quote!(#field: #value,)
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
                fn new(client: &'a runtime::Transport) -> Self {
                    #before
                    Self {
                        #transport: #call,
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

    /// Returns the setter of a parameter.
    fn setter(&self, parameter: &Parameter, field: &Ident) -> TokenStream {
        let docs = docs(&text::setter(parameter));
        let deprecated = parameter.deprecated.then(|| quote!(#[deprecated]));
        let ty = parts::type_of(self.api, self.names, &parameter.ty);
        let convert = if parameter.required {
            "argument"
        } else {
            "optional"
        };
        let argument = parts::argument(&self.transport(), convert, &parameter.name);
        // A value that does not convert is kept as an error until `send`, so that a chain of
        // setters needs no `?`.
        quote! {
            #docs
            #deprecated
            pub fn #field<V: Value<#ty>>(mut self, value: V) -> Self {
                self.#field = #argument;
                self
            }
        }
    }

    /// Returns the method `send`.
    fn send(&self) -> TokenStream {
        let docs = docs(&text::send(
            self.api,
            self.common,
            &self.successes,
            &self.errors,
        ));
        let names = self.names.of(self.operation);
        let success = parts::side_type(self.api, self.names, &self.successes, &names.response);
        let error = parts::side_type(self.api, self.names, &self.errors, &names.error);
        let transport = self.transport();
        let request = self.request();
        let security = parts::security(self.api, self.names, self.operation);
        let arms = self.arms();
        quote! {
            #docs
            pub async fn send(self) -> runtime::Result<#success, #error> {
                #request
                let response = self.#transport.send(request, #security).await?;
                match response.status().as_u16() {
                    #(#arms)*
                    _ => Err(runtime::Error::unlisted(response)),
                }
            }
        }
    }
}

/// Returns the initial value of the builder's field for a parameter: the error that a required
/// argument is missing, or `Ok(None)`.
fn initial(name: &str, required: bool) -> TokenStream {
    if required {
        let name = name.trim_start_matches("r#");
        quote!(call.missing(#name))
    } else {
        quote!(Ok(None))
    }
}
