//! Access to the value inside a newtype over a string or number.

use proc_macro2::TokenStream;
use quote::quote;

use super::rules::Scalar;

/// Generates `Debug`, `Display` and the methods that return the value.
pub(super) fn access(scalar: &Scalar<'_>) -> TokenStream {
    if scalar.is_text {
        of_text(scalar)
    } else {
        of_number(scalar)
    }
}

/// Generates `Debug`, `Display` and the access to a string. A secret has no `Display`, its `Debug`
/// is redacted, and only `expose` returns it, so that it is not printed by mistake.
fn of_text(scalar: &Scalar<'_>) -> TokenStream {
    let ident = scalar.ident;
    let name = ident.to_string();
    if scalar.rules.secret {
        return quote! {
            #[automatically_derived]
            impl ::core::fmt::Debug for #ident {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    f.write_str(concat!(#name, "([redacted])"))
                }
            }

            impl #ident {
                /// Returns the secret. Keep it out of logs and error messages.
                #[must_use]
                pub fn expose(&self) -> &str {
                    &self.0
                }
            }
        };
    }
    quote!(::api_runtime::__text! { @access #ident #name })
}

/// Generates `Debug`, `Display` and `get` of a number. A secret has no `Display`, and its `Debug`
/// is redacted.
fn of_number(scalar: &Scalar<'_>) -> TokenStream {
    let Scalar { ident, inner, .. } = *scalar;
    let name = ident.to_string();
    let (debug, display) = if scalar.rules.secret {
        (quote!(f.write_str(concat!(#name, "([redacted])"))), None)
    } else {
        let display = quote! {
            #[automatically_derived]
            impl ::core::fmt::Display for #ident {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    ::core::fmt::Display::fmt(&self.0, f)
                }
            }
        };
        (
            quote!(f.debug_tuple(#name).field(&self.0).finish()),
            Some(display),
        )
    };
    quote! {
        #[automatically_derived]
        impl ::core::fmt::Debug for #ident {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                #debug
            }
        }

        #display

        impl #ident {
            /// Returns the number.
            #[must_use]
            pub const fn get(self) -> #inner {
                self.0
            }
        }
    }
}
