//! Where the parts of the model come from: the nodes that they were read from.

use crate::model::SchemaId;
use crate::node::Node;
use crate::source::Span;

/// The nodes that the parts of a contract were read from.
#[derive(Default)]
pub(crate) struct Origins<'a> {
    /// The node of each schema, by its index.
    pub(crate) nodes: Vec<&'a Node>,
    /// Values that a schema must accept.
    pub(crate) values: Vec<ValueSite<'a>>,
    /// The operations as they were written.
    pub(crate) operations: Vec<OperationSite<'a>>,
}

/// A value in the document that a schema must accept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueSite<'a> {
    /// The schema.
    pub(crate) schema: SchemaId,
    /// The value.
    pub(crate) node: &'a Node,
    /// What it is there for.
    pub(crate) role: Role,
}

/// What a value is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// `default`
    Default,
    /// `example`, or one of `examples`
    Example,
    /// One of `enum`, or `const`
    Member,
}

/// An operation as it was written.
pub(crate) struct OperationSite<'a> {
    /// The operation object.
    pub(crate) node: &'a Node,
    /// The key of its path, or of its webhook or callback.
    pub(crate) path_span: Span,
    /// The path's template; none for webhooks and callbacks, which have none.
    pub(crate) template: Option<&'a str>,
    /// Its path parameters, path-level ones included: name, and where the name stands.
    pub(crate) path_parameters: Vec<(&'a str, Span)>,
    /// Parameters that were declared twice in one list.
    pub(crate) duplicates: Vec<(&'a str, Span)>,
}
