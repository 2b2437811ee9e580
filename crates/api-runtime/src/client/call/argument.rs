//! What the setters of a builder do with the arguments of a call.

use std::any::type_name;

use super::super::argument::{Argument, InvalidArgument, Value};
use super::Call;

impl Call<'_> {
    /// Converts the value that the setter `name` was given into the type of the argument.
    pub fn argument<T>(&self, name: &str, value: impl Value<T>) -> Argument<T> {
        value.convert().map_err(|error| {
            // Errors of generated types say the rule. Others may quote the value.
            let problem = if error.starts_with("must ") {
                format!("`{name}` {error}")
            } else {
                let ty = short(type_name::<T>());
                format!("`{name}` is not a valid `{ty}`")
            };
            InvalidArgument::new(problem).of(self.id())
        })
    }

    /// Converts the value that the setter of an optional argument was given, as
    /// [`argument`](Self::argument) does.
    pub fn optional<T>(&self, name: &str, value: impl Value<T>) -> Argument<Option<T>> {
        self.argument(name, value).map(Some)
    }

    /// Returns the error for a required argument whose setter has not been called.
    pub fn missing<T>(&self, name: &'static str) -> Argument<T> {
        Err(InvalidArgument::missing(self.id(), name))
    }
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
