//! The macros that expansions of the derives call, for what they generate for each type alike.
//!
//! cargo compiles derives without optimisation unless it builds for a release, so each token that a
//! derive writes takes many times as long as one that the compiler copies from a macro.

/// Implements serde's traits, [`Wire`](crate::Wire) and `Properties` for a struct whose fields are
/// the properties of an object.
///
/// The compiler checks each closure as a function and each `?` as two calls of traits, so there are
/// neither. Type parameters start with `__`, as no type of a contract does.
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
                ::core::option::Option::Some(match name {
                    $($wire => $index,)*
                    _ => return ::core::option::Option::None,
                })
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
