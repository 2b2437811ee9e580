//! Statuses of responses that the contract lists as a range or as `default`. They are checked when
//! they are created, so that no response is sent with a wrong status.

use std::fmt;
use std::marker::PhantomData;

use http::StatusCode;

use super::operation::{ListedResponse, Status};

/// A type that knows all responses of an operation, so that no status with a response of its own is
/// sent as a range or as `default`.
///
/// `#[derive(Responses)]` implements it for an enum with such a variant.
pub trait Statuses {
    /// The responses that a handler may return as `Ok`, and those that it may return as `Err`.
    const LISTED: &'static [&'static [ListedResponse]];
    /// The statuses that `default` may have unless another response lists them.
    const DEFAULT: std::ops::RangeInclusive<u16> = 300..=599;
}

/// The error for a status that a response is not listed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnlistedStatusError {
    code: u16,
}

impl UnlistedStatusError {
    /// Creates the error for a status that no response is listed for.
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
            "status {} cannot be sent as this response: it is out of its range or has a response of its own; use that",
            self.code
        )
    }
}

impl std::error::Error for UnlistedStatusError {}

/// A status for the `default` response of `T`: one in `T::DEFAULT` that has no response of its own
/// in `T::LISTED`.
// `fn() -> T` and not `T`, of which the status holds no value: it is `Send` and `Sync` for every
// `T`.
pub struct DefaultStatus<T>(StatusCode, PhantomData<fn() -> T>);

/// A status for the response of a range of `T`, such as `4XX`: it begins with `DIGIT` and has no
/// response of its own in `T::LISTED`.
pub struct RangeStatus<T, const DIGIT: u8>(StatusCode, PhantomData<fn() -> T>);

impl<T: Statuses> DefaultStatus<T> {
    /// Creates the value from a status, if this response may be sent with it.
    ///
    /// # Errors
    ///
    /// If the status has a response of its own or is out of range.
    pub const fn new(status: StatusCode) -> Result<Self, UnlistedStatusError> {
        let code = status.as_u16();
        let range = T::DEFAULT;
        let digit = status_digit(code);
        if code < *range.start()
            || code > *range.end()
            || is_listed(T::LISTED, Status::Code(code))
            || is_listed(T::LISTED, Status::Range(digit))
        {
            return Err(UnlistedStatusError { code });
        }
        Ok(Self(status, PhantomData))
    }

    /// Creates the value from a constant, for [`default_status!`](crate::default_status).
    ///
    /// # Panics
    ///
    /// If the status may not be sent.
    #[doc(hidden)]
    #[must_use]
    pub const fn constant(code: u16) -> Self {
        match Self::new(known(code)) {
            Ok(status) => status,
            Err(_) => panic!("this status has a response of its own, or `default` cannot have it"),
        }
    }
}

impl<T: Statuses, const DIGIT: u8> RangeStatus<T, DIGIT> {
    /// Creates the value from a status, if this response may be sent with it.
    ///
    /// # Errors
    ///
    /// If the status has a response of its own or is out of range.
    pub const fn new(status: StatusCode) -> Result<Self, UnlistedStatusError> {
        let code = status.as_u16();
        if code / 100 != DIGIT as u16 || is_listed(T::LISTED, Status::Code(code)) {
            return Err(UnlistedStatusError { code });
        }
        Ok(Self(status, PhantomData))
    }

    /// Creates the value from a constant, for [`range_status!`](crate::range_status).
    ///
    /// # Panics
    ///
    /// If the status may not be sent.
    #[doc(hidden)]
    #[must_use]
    pub const fn constant(code: u16) -> Self {
        match Self::new(known(code)) {
            Ok(status) => status,
            Err(_) => panic!("this status has a response of its own, or begins with another digit"),
        }
    }
}

/// Creates the [`DefaultStatus`](crate::server::DefaultStatus) of an enum of responses from a number:
/// `default_status!(PetViewError, 503)`.
///
/// A status that may not be sent does not compile, and `cargo check` says so too.
///
/// ```
/// # use api_runtime::server::{DefaultStatus, ListedResponse, Statuses, default_status};
/// # struct PetViewError;
/// # impl Statuses for PetViewError {
/// #     const LISTED: &'static [&'static [ListedResponse]] = &[&[ListedResponse::code(404)]];
/// # }
/// let status: DefaultStatus<PetViewError> = default_status!(PetViewError, 503);
/// # assert_eq!(status.get(), 503);
/// ```
///
/// The contract lists 404 with a response of its own:
///
/// ```compile_fail,no_run
/// # use api_runtime::server::{DefaultStatus, ListedResponse, Statuses, default_status};
/// # struct PetViewError;
/// # impl Statuses for PetViewError {
/// #     const LISTED: &'static [&'static [ListedResponse]] = &[&[ListedResponse::code(404)]];
/// # }
/// # async fn view() -> DefaultStatus<PetViewError> {
/// default_status!(PetViewError, 404)
/// # }
/// ```
#[macro_export]
macro_rules! default_status {
    ($responses:ty, $code:expr $(,)?) => {{
        // A constant of its own, since `cargo check` evaluates only these, and no expression of an
        // `async` function.
        const STATUS: $crate::server::DefaultStatus<$responses> =
            $crate::server::DefaultStatus::constant($code);
        STATUS
    }};
}

/// Creates the [`RangeStatus`](crate::server::RangeStatus) of an enum of responses from a number:
/// `range_status!(PetViewError, 409)`.
///
/// A status that may not be sent does not compile, and `cargo check` says so too.
#[macro_export]
macro_rules! range_status {
    ($responses:ty, $code:expr $(,)?) => {{
        const CODE: u16 = $code;
        const STATUS: $crate::server::RangeStatus<
            $responses,
            { $crate::server::status_digit(CODE) },
        > = $crate::server::RangeStatus::constant(CODE);
        STATUS
    }};
}

/// Returns the first digit of a status.
#[doc(hidden)]
#[must_use]
pub const fn status_digit(code: u16) -> u8 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a status has three digits, and `try_from` is not const"
    )]
    {
        (code / 100) as u8
    }
}

/// A number that is checked before it is a status: none is.
///
/// It is only here to say, where a number is converted, what to write instead.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a number must be checked before it is a status of `{Self}`",
    label = "this number is not checked",
    note = "for a constant, write `server::default_status!({Self}, 503)`, or `server::range_status!({Self}, 503)` for a range",
    note = "for a status that is known when the program runs, write `DefaultStatus::new(status)?`, or `RangeStatus::new(status)?`"
)]
pub trait CheckedNumber {}

impl<T: Statuses + CheckedNumber> From<u16> for DefaultStatus<T> {
    fn from(code: u16) -> Self {
        Self::constant(code)
    }
}

impl<T: Statuses + CheckedNumber, const DIGIT: u8> From<u16> for RangeStatus<T, DIGIT> {
    fn from(code: u16) -> Self {
        Self::constant(code)
    }
}

const fn known(code: u16) -> StatusCode {
    match StatusCode::from_u16(code) {
        Ok(status) => status,
        Err(_) => panic!("a status has three digits"),
    }
}

/// Returns whether a response is listed for exactly this key. A loop, because it runs in constants.
const fn is_listed(listed: &[&[ListedResponse]], key: Status) -> bool {
    let mut side = 0;
    while side < listed.len() {
        let mut at = 0;
        while at < listed[side].len() {
            // A derived `==` cannot be called in a constant.
            let is_same = match (listed[side][at].key, key) {
                (Status::Code(one), Status::Code(other)) => one == other,
                (Status::Range(one), Status::Range(other)) => one == other,
                _ => false,
            };
            if is_same {
                return true;
            }
            at += 1;
        }
        side += 1;
    }
    false
}

impl<T> DefaultStatus<T> {
    /// Returns the status.
    #[must_use]
    pub const fn get(self) -> StatusCode {
        self.0
    }
}

impl<T, const DIGIT: u8> RangeStatus<T, DIGIT> {
    /// Returns the status.
    #[must_use]
    pub const fn get(self) -> StatusCode {
        self.0
    }
}

// By hand, because a derive would ask for `T: Clone`; so are the impls below.
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
