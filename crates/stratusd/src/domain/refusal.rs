//! Why an operation is not done.

use std::fmt;

/// Why an operation is not done, with nothing changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The project does not exist, or is not the caller's: the two look alike.
    ProjectNotFound,
    /// The location is none of these.
    UnknownLocation(Vec<String>),
    /// The resource does not exist in this project and location.
    NotFound,
    /// The caller may read only.
    ReadOnly,
    /// Values that fit the contract and cannot be used.
    Invalid(Invalid),
}

/// Values that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// What is wrong altogether.
    pub message: String,
    /// What is wrong with each field.
    pub details: Vec<(&'static str, Wrong)>,
}

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// One thing.
    One(String),
    /// Every rule that fails, of a field whose rules are told as a list.
    Rules(Vec<String>),
}

impl Refusal {
    /// One field that cannot be used.
    pub fn invalid(field: &'static str, wrong: impl Into<String>) -> Self {
        let wrong = wrong.into();
        Self::Invalid(Invalid {
            message: format!("`{field}` is not valid"),
            details: vec![(field, Wrong::One(wrong))],
        })
    }

    /// Several rules of one field that fail.
    #[must_use]
    pub fn failed_rules(field: &'static str, message: &str, rules: Vec<String>) -> Self {
        Self::Invalid(Invalid {
            message: message.to_owned(),
            details: vec![(field, Wrong::Rules(rules))],
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProjectNotFound => f.write_str("there is no such project"),
            Self::UnknownLocation(_) => f.write_str("there is no such location"),
            Self::NotFound => f.write_str("there is no such resource in this project and location"),
            Self::ReadOnly => f.write_str("the token has read-only access"),
            Self::Invalid(invalid) => f.write_str(&invalid.message),
        }
    }
}

/// Names as a sentence has them: `a, b and c`.
#[must_use]
pub fn enumerate<T: fmt::Display>(names: &[T]) -> String {
    match names {
        [] => "none".to_owned(),
        [only] => only.to_string(),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(ToString::to_string).collect();
            format!("{} and {last}", first.join(", "))
        }
    }
}
