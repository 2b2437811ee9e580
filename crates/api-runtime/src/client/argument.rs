//! The arguments of a call, as the setters of a builder take them.

use std::fmt;

/// An argument of a call: the value that a setter was given, or why the request cannot be sent.
pub type Argument<T> = Result<T, InvalidArgument>;

/// An argument that is missing, does not fit the contract, or cannot be written where it belongs.
#[derive(Clone, PartialEq, Eq)]
pub struct InvalidArgument {
    operation: Option<&'static str>,
    problem: Problem,
}

/// What is wrong with an argument.
#[derive(Clone, PartialEq, Eq)]
enum Problem {
    /// The argument with this name is not set. Every builder begins with one of these for each
    /// required argument, so it costs no allocation.
    Missing(&'static str),
    /// Another problem, in words.
    Other(String),
}

impl InvalidArgument {
    pub(super) fn new(problem: impl Into<String>) -> Self {
        Self {
            operation: None,
            problem: Problem::Other(problem.into()),
        }
    }

    /// Returns the error for a required argument that is not set.
    pub(super) fn missing(operation: &'static str, name: &'static str) -> Self {
        Self {
            operation: Some(operation),
            problem: Problem::Missing(name),
        }
    }

    /// Sets the operation, unless there is one.
    pub(super) fn of(mut self, operation: &'static str) -> Self {
        self.operation.get_or_insert(operation);
        self
    }

    /// Returns the id of the operation in the contract, such as `pet_view`. Returns `None` for a
    /// value that cannot be written where it belongs.
    #[must_use]
    pub fn operation(&self) -> Option<&'static str> {
        self.operation
    }
}

/// Prints the argument and what is wrong with it, and no value.
impl fmt::Display for InvalidArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            Problem::Missing(name) => write!(f, "`{name}` is required but not set"),
            Problem::Other(problem) => f.write_str(problem),
        }
    }
}

impl fmt::Debug for InvalidArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

impl std::error::Error for InvalidArgument {}

/// A value that the setter of an argument takes: one that converts into a `T`, with an error that
/// says why not.
///
/// Every type that implements [`TryInto<T>`] does so, if its error can be printed.
pub trait Value<T> {
    /// Converts the value, or returns the error in words.
    ///
    /// # Errors
    ///
    /// If the conversion fails.
    fn convert(self) -> Result<T, String>;
}

impl<T, V> Value<T> for V
where
    V: TryInto<T>,
    V::Error: fmt::Display,
{
    fn convert(self) -> Result<T, String> {
        self.try_into().map_err(|error| error.to_string())
    }
}
