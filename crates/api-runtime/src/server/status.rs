//! Statuses that answers for ranges and `default` may carry: checked when made, so never wrong when sent.

use std::fmt;
use std::marker::PhantomData;

use http::StatusCode;

/// What an operation's answers or errors list, so that nothing listed is sent under another name.
pub trait Statuses {
    /// Statuses with an answer of their own.
    const LISTED: &'static [u16];
    /// Ranges with an answer of their own, as first digits.
    const RANGES: &'static [u8] = &[];
    /// Statuses that `default` may carry unless something else lists them.
    const DEFAULT: std::ops::RangeInclusive<u16> = 300..=599;
}

/// A status that may not stand where it was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnlistedStatusError {
    code: u16,
}

impl UnlistedStatusError {
    /// The error for a status that no answer takes.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(status: StatusCode) -> Self {
        Self {
            code: status.as_u16(),
        }
    }
}

impl fmt::Display for UnlistedStatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "status {} cannot be sent as this answer: it is out of its range or has an answer of its own; use that",
            self.code
        )
    }
}

impl std::error::Error for UnlistedStatusError {}

/// A status for the `default` answer of `T`: none that `T` lists, and for errors none of 2xx.
pub struct DefaultStatus<T>(StatusCode, PhantomData<fn() -> T>);

/// A status for the answer of a range of `T`, such as `4XX`: begins with `DIGIT` and is not listed itself.
pub struct RangeStatus<T, const DIGIT: u8>(StatusCode, PhantomData<fn() -> T>);

impl<T: Statuses> DefaultStatus<T> {
    /// Checks a status.
    pub const fn new(status: StatusCode) -> Result<Self, UnlistedStatusError> {
        let code = status.as_u16();
        let range = T::DEFAULT;
        if code < *range.start()
            || code > *range.end()
            || is_listed(T::LISTED, code)
            || is_ranged(T::RANGES, code)
        {
            return Err(UnlistedStatusError { code });
        }
        Ok(Self(status, PhantomData))
    }

    /// A status known when compiling: `DefaultStatus::of::<409>()`. A wrong one does not compile.
    #[must_use]
    pub const fn of<const CODE: u16>() -> Self {
        const {
            match Self::new(known(CODE)) {
                Ok(status) => status,
                Err(_) => {
                    panic!("this status has an answer of its own, or `default` cannot carry it")
                }
            }
        }
    }
}

impl<T: Statuses, const DIGIT: u8> RangeStatus<T, DIGIT> {
    /// Checks a status.
    pub const fn new(status: StatusCode) -> Result<Self, UnlistedStatusError> {
        let code = status.as_u16();
        if code / 100 != DIGIT as u16 || is_listed(T::LISTED, code) {
            return Err(UnlistedStatusError { code });
        }
        Ok(Self(status, PhantomData))
    }

    /// A status known when compiling: `RangeStatus::of::<409>()`. A wrong one does not compile.
    #[must_use]
    pub const fn of<const CODE: u16>() -> Self {
        const {
            match Self::new(known(CODE)) {
                Ok(status) => status,
                Err(_) => {
                    panic!("this status has an answer of its own, or begins with another digit")
                }
            }
        }
    }
}

const fn known(code: u16) -> StatusCode {
    match StatusCode::from_u16(code) {
        Ok(status) => status,
        Err(_) => panic!("a status has three digits"),
    }
}

const fn is_listed(listed: &[u16], code: u16) -> bool {
    let mut at = 0;
    while at < listed.len() {
        if listed[at] == code {
            return true;
        }
        at += 1;
    }
    false
}

const fn is_ranged(ranges: &[u8], code: u16) -> bool {
    let mut at = 0;
    while at < ranges.len() {
        if ranges[at] as u16 == code / 100 {
            return true;
        }
        at += 1;
    }
    false
}

impl<T> DefaultStatus<T> {
    /// The status.
    #[must_use]
    pub const fn get(self) -> StatusCode {
        self.0
    }
}

impl<T, const DIGIT: u8> RangeStatus<T, DIGIT> {
    /// The status.
    #[must_use]
    pub const fn get(self) -> StatusCode {
        self.0
    }
}

impl<T> Clone for DefaultStatus<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DefaultStatus<T> {}

impl<T> PartialEq for DefaultStatus<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for DefaultStatus<T> {}

impl<T> fmt::Debug for DefaultStatus<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<T: Statuses> TryFrom<StatusCode> for DefaultStatus<T> {
    type Error = UnlistedStatusError;

    fn try_from(status: StatusCode) -> Result<Self, Self::Error> {
        Self::new(status)
    }
}

impl<T, const DIGIT: u8> Clone for RangeStatus<T, DIGIT> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const DIGIT: u8> Copy for RangeStatus<T, DIGIT> {}

impl<T, const DIGIT: u8> PartialEq for RangeStatus<T, DIGIT> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T, const DIGIT: u8> Eq for RangeStatus<T, DIGIT> {}

impl<T, const DIGIT: u8> fmt::Debug for RangeStatus<T, DIGIT> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<T: Statuses, const DIGIT: u8> TryFrom<StatusCode> for RangeStatus<T, DIGIT> {
    type Error = UnlistedStatusError;

    fn try_from(status: StatusCode) -> Result<Self, Self::Error> {
        Self::new(status)
    }
}

/// Makes a status and what goes with it the variant that takes this status: one that is listed, a range, the default.
///
/// `from_status!(ListPetsError, body: Error, [NotFound = NOT_FOUND,], [ClientError, Default,])`
#[macro_export]
#[doc(hidden)]
macro_rules! __from_status {
    (
        $name:ident, $field:ident: $payload:ty,
        [$($fixed:ident = $listed:ident,)*], [$($dynamic:ident,)*]
    ) => {
        impl TryFrom<($crate::server::StatusCode, $payload)> for $name {
            type Error = $crate::server::UnlistedStatusError;

            fn try_from(
                (status, $field): ($crate::server::StatusCode, $payload),
            ) -> Result<Self, $crate::server::UnlistedStatusError> {
                $(if status == Self::$listed.status() {
                    return Ok(Self::$fixed($field));
                })*
                $(if let Ok(status) = status.try_into() {
                    return Ok(Self::$dynamic { status, $field });
                })*
                Err($crate::server::UnlistedStatusError::new(status))
            }
        }
    };
}
