//! The tables of a types crate, from one list of its components.

/// Writes the tables of components: what reads and writes their JSON, and what makes their schemas.
///
/// `components! { "Pet": crate::Pet, #[cfg(feature = "toy")] "Toy": crate::Toy }`
#[doc(hidden)]
#[macro_export]
macro_rules! __components {
    ($($(#[$gate:meta])* $name:literal: $ty:ty),* $(,)?) => {
        /// Every component by its name in the contract, with what reads a JSON text as its type and
        /// writes it again.
        pub static TYPES: &[(&str, $crate::json::Recode)] =
            &[$($(#[$gate])* ($name, $crate::json::recode::<$ty>)),*];

        /// Every component by its name in the contract, with what makes a JSON Schema of its type.
        #[cfg(feature = "schemars")]
        pub static JSON_SCHEMAS: &[(&str, $crate::described::JsonSchemaOf)] =
            &[$($(#[$gate])* ($name, $crate::described::json_schema::<$ty>)),*];

        /// Every component by its name in the contract, with what makes its schema in the
        /// re-derived document.
        #[cfg(feature = "utoipa")]
        pub static COMPONENTS: &[(&str, $crate::described::Component)] =
            &[$($(#[$gate])* ($name, $crate::described::component::<$ty>)),*];
    };
}

pub use __components as components;
