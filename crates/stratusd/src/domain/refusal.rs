//! Refusals: the reasons why an operation is not done.

use std::fmt;
use std::time::Duration;

use api_types::Name;

use super::quota::Usage;

/// The reason why an operation is refused. A refused operation changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The project does not exist, or is not the caller's. Callers cannot tell the two apart.
    ProjectNotFound,
    /// The location does not exist. Lists those that do.
    UnknownLocation(Vec<String>),
    /// The resource does not exist in this project and location.
    NotFound,
    /// The operation writes, and the caller may only read.
    ReadOnly,
    /// The project has as many resources of a kind as its quota allows.
    QuotaExceeded(Usage),
    /// The resource has none of the entity tags that the caller knows of it.
    Stale,
    /// The idempotency key stands for another request.
    KeyReused,
    /// The project has as many idempotency keys in use as it may have.
    TooManyKeys(KeysInUse),
    /// The request fits the contract, but has values that cannot be used.
    Invalid(Invalid),
    /// The request deletes a resource that others use.
    InUse {
        /// The parameter that names the resource.
        field: &'static str,
        /// What uses it, as sentences. Not empty.
        by: Vec<String>,
    },
}

/// The idempotency keys of a project that may have no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeysInUse {
    /// How many keys the project may have.
    pub most: u32,
    /// The time until the oldest key is forgotten.
    pub wait: Duration,
}

/// Why the values of a request cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// The summary.
    pub message: String,
    /// What is wrong with each field.
    pub details: Vec<(&'static str, Wrong)>,
}

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// The only thing that is wrong.
    One(String),
    /// The rules that the field breaks, of several that it has.
    Rules(Vec<String>),
}

impl Refusal {
    /// Creates a refusal of one field.
    pub fn invalid(field: &'static str, wrong: impl Into<String>) -> Self {
        let wrong = wrong.into();
        Self::Invalid(Invalid {
            message: format!("`{field}` is not valid"),
            details: vec![(field, Wrong::One(wrong))],
        })
    }

    /// Creates a refusal of one field by several rules.
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
            Self::QuotaExceeded(Usage { kind, most, items }) => {
                let kind = kind.plural();
                write!(
                    f,
                    "the project's quota of {kind} is used up: it has {items} and may have {most}; ask the operator for \
                     a larger quota"
                )
            }
            Self::Stale => f.write_str(
                "the resource has changed since you saw it: get it again, and send its new entity tag",
            ),
            Self::KeyReused => f.write_str(
                "the `Idempotency-Key` was used for a request with another path or body: send another key",
            ),
            Self::TooManyKeys(KeysInUse { most, .. }) => write!(
                f,
                "the project has {most} idempotency keys in use, each for 24 hours: send the request without one, or later",
            ),
            Self::Invalid(invalid) => f.write_str(&invalid.message),
            Self::InUse { .. } => {
                f.write_str("the resource is in use, and cannot be deleted before what uses it")
            }
        }
    }
}

/// Joins names for a sentence: `a, b and c`.
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

/// The maximum number of users of each kind that a refusal names.
pub const MOST_USERS: i64 = 20;

/// Joins names for a sentence, and returns whether there is only one. Returns `None` if there are
/// none. At most [`MOST_USERS`] are named; more than that stand for any number.
pub(crate) fn named(mut names: Vec<Name>) -> Option<(String, bool)> {
    let most = usize::try_from(MOST_USERS).expect("it is a small number");
    let has_others = names.len() > most;
    names.sort_unstable();
    names.truncate(most);
    let mut words: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if has_others {
        words.push("others".to_owned());
    }
    (!words.is_empty()).then(|| (enumerate(&words), words.len() == 1))
}
