//! The audit trail: what is in an entry, beside the resource and the time.

use super::Caller;

/// The principal of changes that the operator makes by a command.
pub const OPERATOR: &str = "operator";
/// The principal of changes that the reconciler makes.
pub const RECONCILER: &str = "reconciler";
/// The operation of the reconciler: what a step has changed about a database.
pub const POSTGRES_RECONCILE: &str = "postgres_reconcile";

/// The request that makes a change: who has sent it, which operation it calls, and its id.
#[derive(Debug, Clone)]
pub struct Author {
    /// The caller.
    pub caller: Caller,
    /// The id of the operation.
    pub operation: &'static str,
    /// The id of the request.
    pub request_id: Option<String>,
}
