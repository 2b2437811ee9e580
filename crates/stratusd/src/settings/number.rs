//! Settings that are integers within a range.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// Declares integer types that accept only a range of values.
macro_rules! bounded {
    ($($(#[$doc:meta])* $name:ident($inner:ty) in $min:literal..=$max:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name($inner);

        impl $name {
            /// Returns the number.
            #[must_use]
            pub fn get(self) -> $inner {
                self.0
            }
        }

        impl FromStr for $name {
            type Err = &'static str;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let number = text.parse().ok().filter(|number| ($min..=$max).contains(number));
                number
                    .and_then(|number: u32| <$inner>::try_from(number).ok())
                    .map(Self)
                    .ok_or(concat!("must be an integer from ", $min, " to ", $max))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

bounded! {
    /// A number of connections.
    Connections(u32) in 1..=1_000_000;
    /// A size in bytes, from 1 KiB to 1 GiB.
    Bytes(usize) in 1024..=1_073_741_824;
    /// A size in bytes of all bodies in progress, from 8 MiB to 4 GiB.
    BodyBudget(usize) in 8_388_608..=4_294_967_295;
    /// A number of resources that a project may have.
    Quota(u32) in 0..=1_000_000_000;
    /// A number of idempotency keys.
    Keys(u32) in 1..=1_000_000;
    /// A percentage.
    Percent(u8) in 0..=100;
    /// A number of requests per second.
    Rate(NonZeroU32) in 1..=4_294_967_295;
}
