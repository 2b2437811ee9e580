//! Settings that are integers within a range.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// Declares types of integers within a range. A type is parsed from a decimal string.
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
    /// A number of connections, from 1 to 1,000,000.
    Connections(u32) in 1..=1_000_000;
    /// A size in bytes, from 1 KiB to 1 GiB.
    Bytes(usize) in 1024..=1_073_741_824;
    /// The maximum size in bytes of all bodies in progress together, from 8 MiB to one byte less
    /// than 4 GiB.
    BodyBudget(usize) in 8_388_608..=4_294_967_295;
    /// The maximum number of resources of one kind in a project, from 0 to 1,000,000,000.
    Quota(u32) in 0..=1_000_000_000;
    /// The maximum number of idempotency keys of a project, from 1 to 1,000,000.
    Keys(u32) in 1..=1_000_000;
    /// The maximum number of entries of a project in the audit trail, from 10,000 to 1,000,000,000.
    Entries(u32) in 10_000..=1_000_000_000;
    /// A number of health checks in a row, from 1 to 100.
    Threshold(u32) in 1..=100;
    /// A number of virtual machines, from 1 to 10,000.
    Machines(u32) in 1..=10_000;
    /// A percentage, from 0 to 100.
    Percent(u8) in 0..=100;
    /// The number of a user of the operating system, from 1 to 2,147,483,647, without root.
    UserNumber(u32) in 1..=2_147_483_647;
    /// The bytes that stand for a GiB, from 1 MiB to 1 GiB.
    Scale(u64) in 1_048_576..=1_073_741_824;
    /// A number of requests, per second or at once, from 1 to 4,294,967,295.
    Rate(NonZeroU32) in 1..=4_294_967_295;
}
