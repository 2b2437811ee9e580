//! A condition of a search: that a value fits a schema, or that it does not.

use crate::pair::Class;

/// Whether a schema says what may be sent, or what must be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Role {
    /// What may be sent.
    Sender,
    /// What must be accepted.
    Receiver,
}

/// A schema that a value fits, or does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Literal {
    pub(crate) class: Class,
    pub(crate) role: Role,
    pub(crate) is_positive: bool,
}
