//! The context of a lint: everything that it reads.

use crate::build::Origins;
use crate::model::Contract;
use crate::normalise::Changes;
use crate::resolve::Resolver;
use crate::source::Sources;
use crate::syntax::Syntax;

/// What lints read: a contract, its documents, and the records of earlier steps.
pub(crate) struct Context<'l, 'a> {
    /// The contract, normalised.
    pub(crate) contract: &'l Contract,
    /// The changes that normalising has made.
    pub(crate) changes: &'l Changes,
    /// The nodes that the contract was read from.
    pub(crate) origins: &'l Origins<'a>,
    /// What the check of the syntax has recorded, such as the operation ids in links.
    pub(crate) syntax: &'l Syntax<'a>,
    /// The documents, with their references resolved.
    pub(crate) resolver: &'l Resolver<'a>,
    /// The source text of the documents.
    pub(crate) sources: &'l Sources,
    /// Whether an error was reported before linting.
    pub(crate) is_wrong: bool,
    /// Whether the contract is only compared with another one.
    pub(crate) is_only_compared: bool,
}
