//! The nodes that the parts of a contract were read from.

use crate::model::{Location, SchemaId};
use crate::node::Node;
use crate::node_ref::NodeRef;
use crate::source::Span;

/// The nodes that the parts of a contract were read from.
#[derive(Default)]
pub(crate) struct Origins<'a> {
    /// The node of each schema, by the schema's index.
    pub(crate) nodes: Vec<&'a Node>,
    /// The defaults, examples and listed values of the document, which their schemas must accept.
    pub(crate) values: Vec<ValueSite<'a>>,
    /// The nodes of the operations, including webhooks and callbacks.
    pub(crate) operations: Vec<OperationSite<'a>>,
}

/// A value of the document that a schema must accept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueSite<'a> {
    /// The schema that must accept the value.
    pub(crate) schema: SchemaId,
    /// The node of the value.
    pub(crate) node: &'a Node,
    /// The keyword that the value is in.
    pub(crate) role: Role,
}

/// The keyword that a value is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// `default`
    Default,
    /// `example`, or an item of `examples`
    Example,
    /// `const`, or an item of `enum`
    Member,
    /// A constant that a link gives to a parameter, or as the request body
    Link,
}

/// The node of an operation, and the spans of its path and parameters.
pub(crate) struct OperationSite<'a> {
    /// The operation object.
    pub(crate) node: &'a Node,
    /// The index of its document.
    pub(crate) document: usize,
    /// The span of the key of its path, webhook or callback.
    pub(crate) path_span: Span,
    /// The template of its path, or `None` for webhooks and callbacks.
    pub(crate) template: Option<&'a str>,
    /// The parameters, including those of the path item.
    pub(crate) parameters: Vec<ParameterSite<'a>>,
    /// The name and the span of each path parameter, including those of the path item.
    pub(crate) path_parameters: Vec<(&'a str, Span)>,
    /// The name and the span of each parameter that is declared twice in one list.
    pub(crate) duplicates: Vec<(&'a str, Span)>,
}

/// A parameter of an operation.
pub(crate) struct ParameterSite<'a> {
    /// The name.
    pub(crate) name: &'a str,
    /// The location.
    pub(crate) location: Location,
    /// Whether the parameter is the whole query.
    pub(crate) is_whole_query: bool,
    /// The schema.
    pub(crate) schema: SchemaId,
    /// Whether the value is written as text by a style, and not in a media type.
    pub(crate) has_style: bool,
}

impl<'a> OperationSite<'a> {
    /// Returns a reference to the operation object.
    pub(crate) fn at(&self) -> NodeRef<'a> {
        NodeRef {
            document: self.document,
            node: self.node,
            pointer: "".into(),
        }
    }

    /// Returns the parameter that a link names, by its name or by its location and name, as in
    /// `path.id`.
    pub(crate) fn parameter(&self, key: &str) -> Option<&ParameterSite<'a>> {
        let (word, rest) = key.split_once('.').unwrap_or_default();
        self.parameters.iter().find(|parameter| {
            let is_here = words(parameter.location).contains(&word);
            parameter.name == key || (is_here && parameter.name == rest)
        })
    }
}

/// Returns the words for a location, as in `in`.
fn words(location: Location) -> &'static [&'static str] {
    match location {
        Location::Path => &["path"],
        Location::Query => &["query", "querystring"],
        Location::Header => &["header"],
        Location::Cookie => &["cookie"],
    }
}
