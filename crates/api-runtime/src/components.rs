//! The tables of a types crate, from one list of its components.

/// Declares the tables of a types crate that have all components: `TYPES` with functions that
/// decode and encode them, `JSON_SCHEMAS` and `COMPONENTS` with functions that return their
/// schemas, and `FAKES` with their values for tests.
///
/// `components! { "Pet": crate::Pet, #[cfg(feature = "toy")] "Toy": crate::Toy }`
#[doc(hidden)]
#[macro_export]
macro_rules! __components {
    ($($(#[$gate:meta])* $name:literal: $ty:ty),* $(,)?) => {
        /// Every component by its name in the contract, with the function that decodes a JSON text
        /// as its type and encodes it again.
        pub static TYPES: &[(&str, $crate::json::Recode)] =
            &[$($(#[$gate])* ($name, $crate::json::recode::<$ty>)),*];

        /// Every component by its name in the contract, with the function that returns the JSON
        /// Schema of its type.
        #[cfg(feature = "schemars")]
        pub static JSON_SCHEMAS: &[(&str, $crate::described::JsonSchemaOf)] =
            &[$($(#[$gate])* ($name, $crate::described::json_schema::<$ty>)),*];

        /// Every component by its name in the contract, with the function that returns its schema
        /// for the re-derived OpenAPI document.
        #[cfg(feature = "utoipa")]
        pub static COMPONENTS: &[(&str, $crate::described::Component)] =
            &[$($(#[$gate])* ($name, $crate::described::component::<$ty>)),*];

        /// Every component by its name in the contract, with the values that its type has for
        /// tests.
        #[cfg(feature = "fake")]
        pub static FAKES: &[(&str, $crate::fake::Fake)] =
            &[$($(#[$gate])* ($name, $crate::fake::fake::<$ty>())),*];
    };
}

pub use __components as components;
