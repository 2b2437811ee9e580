//! The macros that expansions of the derives call, for what they generate for each type alike.
//!
//! cargo compiles derives without optimisation unless it builds for a release, so each token that a
//! derive writes takes many times as long as one that the compiler copies from a macro.

/// Implements serde's traits, [`Wire`](crate::Wire) and `Properties` for a struct whose fields are
/// the properties of an object.
///
/// The compiler checks each closure as a function and each `?` as two calls of traits, so there are
/// none of either. Type parameters start with `__`, as no type of a contract does.
#[doc(hidden)]
#[macro_export]
macro_rules! __object {
    (
        $ident:ident
        // The body of `deserialize`, which reads from `$deserializer`.
        decode($deserializer:ident) { $($decode:tt)* }
        // Each property: its name, and the index, the local variable and the type of its value.
        properties { $($wire:literal $index:literal $slot:ident [$ty:ty])* }
        // The collection of what the schema does not declare, and the function that fills it.
        others $others:ident [$collection:ty] $next:ident($($closed:literal)?)
        // Checks of the whole object, after which the fields are made of the local variables.
        rules { $($rules:tt)* }
        required { $($needed:ident $name:literal)* }
        made { $($made:tt)* }
        // Each field: the function that writes it.
        entries { $($entry:ident $field:ident $key:literal)* }
        // The number of properties that are always there, the fields of others, and the field of
        // additional properties.
        count $certain:literal { $($optional:ident)* } { $($additional:ident)? }
    ) => {
        #[automatically_derived]
        impl $crate::__private::Properties for $ident {
            fn index(name: &str) -> ::core::option::Option<usize> {
                // A `match` and not a search in a list: it compiles to fewer comparisons.
                match name {
                    $($wire => ::core::option::Option::Some($index),)*
                    _ => ::core::option::Option::None,
                }
            }

            fn read<'de, __A: $crate::__private::serde::de::MapAccess<'de>>(
                mut map: __A,
            ) -> ::core::result::Result<Self, __A::Error> {
                $(let mut $slot: ::core::option::Option<$ty> = ::core::option::Option::None;)*
                let mut $others = <$collection>::new();
                loop {
                    let next = $crate::__private::$next::<Self, __A>(&mut map, &mut $others $(, $closed)?);
                    let read = match next {
                        ::core::result::Result::Ok(::core::option::Option::Some(at)) => match at {
                            $($index => $crate::__private::fill(&mut $slot, $wire, &mut map),)*
                            // `index` returns no other number, but the match must be exhaustive.
                            _ => ::core::result::Result::Ok(()),
                        },
                        ::core::result::Result::Ok(::core::option::Option::None) => break,
                        ::core::result::Result::Err(error) => ::core::result::Result::Err(error),
                    };
                    if let ::core::result::Result::Err(error) = read {
                        return ::core::result::Result::Err(error);
                    }
                }
                $($rules)*
                match ($($needed,)*) {
                    ($(::core::option::Option::Some($needed),)*) => {
                        ::core::result::Result::Ok($ident { $($made)* $($additional: $others)? })
                    }
                    // Not reached if nothing is required.
                    ($($needed,)*) => ::core::result::Result::Err(
                        $crate::__private::first_missing(&[$(($name, $needed.is_some())),*])
                    ),
                }
            }
        }

        #[automatically_derived]
        impl $crate::__private::serde::Serialize for $ident {
            fn serialize<__S: $crate::__private::serde::Serializer>(
                &self,
                serializer: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                // The number must be exact: serde_json writes `{}` for none, and binary formats
                // write it before the entries.
                let count = $certain
                    $(+ $crate::__private::one_if_some(&self.$optional))*
                    $(+ self.$additional.len())?;
                let mut map = match serializer.serialize_map(::core::option::Option::Some(count)) {
                    ::core::result::Result::Ok(map) => map,
                    ::core::result::Result::Err(error) => return ::core::result::Result::Err(error),
                };
                $(
                    if let ::core::result::Result::Err(error) =
                        $crate::__private::$entry::<__S, _>(&mut map, $key, &self.$field)
                    {
                        return ::core::result::Result::Err(error);
                    }
                )*
                $(
                    if let ::core::result::Result::Err(error) =
                        $crate::__private::other_entries::<__S, _>(&mut map, &self.$additional)
                    {
                        return ::core::result::Result::Err(error);
                    }
                )?
                $crate::__private::serde::ser::SerializeMap::end(map)
            }
        }

        #[automatically_derived]
        impl<'de> $crate::__private::serde::Deserialize<'de> for $ident {
            fn deserialize<__D: $crate::__private::serde::Deserializer<'de>>(
                $deserializer: __D,
            ) -> ::core::result::Result<Self, __D::Error> {
                $($decode)*
            }
        }

        #[automatically_derived]
        impl $crate::Wire for $ident {}
    };
}

/// Implements an enum of the strings that a schema lists. After `unlisted`, the enumeration is
/// extensible, and that variant holds other strings.
#[doc(hidden)]
#[macro_export]
macro_rules! __enumeration {
    ($ident:ident { $($name:ident $text:literal)* }) => {
        $crate::__enumeration!(@strings $ident { $($name $text)* } {}
            // From a string of the schema alone.
            $crate::__private::read_text(deserializer, <Self as ::core::str::FromStr>::from_str),
            deserializer
        );

        #[automatically_derived]
        impl ::core::str::FromStr for $ident {
            type Err = $crate::ConstraintError;

            fn from_str(text: &str) -> ::core::result::Result<Self, $crate::ConstraintError> {
                match Self::listed(text) {
                    ::core::option::Option::Some(value) => ::core::result::Result::Ok(value),
                    ::core::option::Option::None => {
                        ::core::result::Result::Err($crate::ConstraintError::Enum(Self::VALUES))
                    }
                }
            }
        }

        #[automatically_derived]
        impl ::core::convert::TryFrom<&str> for $ident {
            type Error = $crate::ConstraintError;

            fn try_from(text: &str) -> ::core::result::Result<Self, $crate::ConstraintError> {
                <Self as ::core::str::FromStr>::from_str(text)
            }
        }

        #[automatically_derived]
        impl ::core::convert::TryFrom<::std::string::String> for $ident {
            type Error = $crate::ConstraintError;

            fn try_from(text: ::std::string::String) -> ::core::result::Result<Self, $crate::ConstraintError> {
                <Self as ::core::str::FromStr>::from_str(&text)
            }
        }
    };

    ($ident:ident { $($name:ident $text:literal)* } unlisted $unlisted:ident) => {
        $crate::__enumeration!(@strings $ident { $($name $text)* } { $unlisted }
            $crate::__private::read_listed(deserializer, Self::listed, Self::$unlisted, Self::VALUES),
            deserializer
        );

        // In Rust any string converts to an extensible enumeration, but only lenient mode decodes
        // an unlisted one: a client has to accept values of a newer server, a server must reject
        // what its contract does not list.
        #[automatically_derived]
        impl ::core::str::FromStr for $ident {
            type Err = ::core::convert::Infallible;

            fn from_str(text: &str) -> ::core::result::Result<Self, ::core::convert::Infallible> {
                ::core::result::Result::Ok(<Self as ::core::convert::From<&str>>::from(text))
            }
        }

        #[automatically_derived]
        impl ::core::convert::From<&str> for $ident {
            fn from(text: &str) -> Self {
                match Self::listed(text) {
                    ::core::option::Option::Some(value) => value,
                    ::core::option::Option::None => Self::$unlisted(::std::borrow::ToOwned::to_owned(text)),
                }
            }
        }

        #[automatically_derived]
        impl ::core::convert::From<::std::string::String> for $ident {
            fn from(text: ::std::string::String) -> Self {
                match Self::listed(&text) {
                    ::core::option::Option::Some(value) => value,
                    ::core::option::Option::None => Self::$unlisted(text),
                }
            }
        }
    };

    // What both kinds have. `$decode` is the body of `deserialize`.
    (@strings $ident:ident { $($name:ident $text:literal)* } { $($unlisted:ident)? } $decode:expr, $deserializer:ident) => {
        impl $ident {
            /// The values that the contract lists.
            pub const VALUES: &'static [&'static str] = &[$($text),*];

            fn listed(text: &str) -> ::core::option::Option<Self> {
                // A `match` and not a search in `VALUES`: the compiler compares lengths first.
                ::core::option::Option::Some(match text {
                    $($text => Self::$name,)*
                    _ => return ::core::option::Option::None,
                })
            }

            /// Returns the string that the value is in JSON, without quotes and escapes.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$name => $text,)*
                    $(Self::$unlisted(text) => text,)?
                }
            }

            /// Returns whether the contract lists the value.
            #[must_use]
            pub fn is_listed(&self) -> bool {
                match self {
                    $(Self::$unlisted(_) => false,)?
                    _ => true,
                }
            }
        }

        #[automatically_derived]
        impl ::core::fmt::Display for $ident {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        #[automatically_derived]
        impl $crate::__private::serde::Serialize for $ident {
            fn serialize<__S: $crate::__private::serde::Serializer>(
                &self,
                serializer: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        #[automatically_derived]
        impl<'de> $crate::__private::serde::Deserialize<'de> for $ident {
            fn deserialize<__D: $crate::__private::serde::Deserializer<'de>>(
                $deserializer: __D,
            ) -> ::core::result::Result<Self, __D::Error> {
                $decode
            }
        }

        #[automatically_derived]
        impl $crate::Wire for $ident {}
    };
}

/// Implements the access to the string in a newtype, unless it is a secret, and the conversions from
/// and to strings.
#[doc(hidden)]
#[macro_export]
macro_rules! __text {
    // Access to the string.
    (@access $ident:ident $name:literal) => {
        #[automatically_derived]
        impl ::core::fmt::Debug for $ident {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.debug_tuple($name).field(&self.0).finish()
            }
        }

        #[automatically_derived]
        impl ::core::fmt::Display for $ident {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl $ident {
            /// Returns the string.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Returns the string, without copying it.
            #[must_use]
            pub fn into_string(self) -> ::std::string::String {
                self.0
            }
        }

        #[automatically_derived]
        impl ::core::convert::AsRef<str> for $ident {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        #[automatically_derived]
        impl ::core::cmp::PartialEq<str> for $ident {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        #[automatically_derived]
        impl ::core::cmp::PartialEq<&str> for $ident {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }
    };

    // Conversions of a newtype that accepts every string.
    (@unconstrained $ident:ident) => {
        $crate::__text!(@conversions $ident);

        #[automatically_derived]
        impl ::core::convert::From<::std::string::String> for $ident {
            fn from(value: ::std::string::String) -> Self {
                Self(value)
            }
        }

        #[automatically_derived]
        impl ::core::convert::From<&str> for $ident {
            fn from(value: &str) -> Self {
                Self(::std::borrow::ToOwned::to_owned(value))
            }
        }
    };

    // Conversions of a newtype with constraints.
    (@constrained $ident:ident) => {
        $crate::__text!(@conversions $ident);

        #[automatically_derived]
        impl ::core::convert::TryFrom<::std::string::String> for $ident {
            type Error = $crate::ConstraintError;

            fn try_from(value: ::std::string::String) -> ::core::result::Result<Self, $crate::ConstraintError> {
                Self::checked(value)
            }
        }

        #[automatically_derived]
        impl ::core::convert::TryFrom<&str> for $ident {
            type Error = $crate::ConstraintError;

            fn try_from(value: &str) -> ::core::result::Result<Self, $crate::ConstraintError> {
                Self::checked(::std::borrow::ToOwned::to_owned(value))
            }
        }
    };

    (@conversions $ident:ident) => {
        #[automatically_derived]
        impl ::core::convert::From<$ident> for ::std::string::String {
            fn from(value: $ident) -> ::std::string::String {
                value.0
            }
        }

        #[automatically_derived]
        impl ::core::str::FromStr for $ident {
            type Err = $crate::ConstraintError;

            fn from_str(text: &str) -> ::core::result::Result<Self, $crate::ConstraintError> {
                Self::checked(::std::borrow::ToOwned::to_owned(text))
            }
        }
    };
}
