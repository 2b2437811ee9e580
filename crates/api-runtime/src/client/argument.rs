//! The arguments of a call, as the setters of a builder take them.

use std::any::type_name;
use std::fmt;

/// An argument of a call: the value that a setter was given, or why the request cannot be sent.
pub type Argument<T> = Result<T, InvalidArgument>;

/// An argument that is missing, does not fit the contract, or cannot be written where it belongs.
#[derive(Clone, PartialEq, Eq)]
pub struct InvalidArgument(String);

impl InvalidArgument {
    pub(super) fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}

impl fmt::Display for InvalidArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for InvalidArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl std::error::Error for InvalidArgument {}

/// Converts the value that the setter `name` was given into the type of the argument.
pub fn argument<T, V: TryInto<T>>(name: &str, value: V) -> Argument<T> {
    value.try_into().map_err(|_| {
        let ty = short(type_name::<T>());
        InvalidArgument(format!("`{name}` is not a valid `{ty}`"))
    })
}

/// Converts the value that the setter of an optional argument was given, as [`argument`] does.
pub fn optional<T, V: TryInto<T>>(name: &str, value: V) -> Argument<Option<T>> {
    argument(name, value).map(Some)
}

/// Returns the name of a type without the modules that it is in: `Vec<VmId>` for
/// `alloc::vec::Vec<api_types::vm::VmId>`.
fn short(name: &str) -> String {
    let mut short = String::new();
    for part in name.split_inclusive(['<', '>', ',', ' ', '(', '[', '&']) {
        short.push_str(part.rsplit("::").next().unwrap_or(part));
    }
    short
}

/// Returns the error for a required argument whose setter has not been called.
pub fn missing<T>(name: &str) -> Argument<T> {
    Err(InvalidArgument(format!("`{name}` is required but not set")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_a_type_without_its_modules() {
        assert_eq!(short("bool"), "bool");
        assert_eq!(short("api_types::vm::VmId"), "VmId");
        assert_eq!(
            short("alloc::collections::BTreeMap<alloc::string::String, a::B<c::D>>"),
            "BTreeMap<String, B<D>>"
        );
    }
}
