//! The surface of the generated crates: every item that Rust programs can name, from the IR.
//!
//! Each pass says what it exposes, beside the code that writes it, so that two contracts can be
//! compared by what their crates offer without generating or compiling them. Two surfaces are
//! compared in `compatibility::rust`.

mod signature;

use std::collections::{BTreeMap, BTreeSet};

use contract::model::{Location, PathPart};
use contract::source::Span;

use crate::ir::{Api, Operation, Parameter};
use crate::{client, server, types};
pub use signature::{Piece, Signature};

/// What Rust programs can name of the crates of a contract.
#[derive(Debug, Clone, Default)]
pub struct Surface {
    /// The items by their paths, such as `api_types::Vm`.
    pub items: BTreeMap<String, Item>,
}

/// A crate of a contract, by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Crate {
    /// The types, which both sides use.
    Types,
    /// The client, which callers use.
    Client,
    /// The server, which implementers use.
    Server,
    /// The sender of webhooks and callbacks, which implementers use.
    Sender,
    /// The receiver of webhooks and callbacks, which callers use.
    Receiver,
}

impl Crate {
    /// Every crate.
    pub const ALL: [Self; 5] = [
        Self::Types,
        Self::Client,
        Self::Server,
        Self::Sender,
        Self::Receiver,
    ];

    /// Returns the end of the crate's name, such as `types` in `api-types`.
    #[must_use]
    pub fn part(self) -> &'static str {
        match self {
            Self::Types => "types",
            Self::Client => "client",
            Self::Server => "server",
            Self::Sender => "webhook-sender",
            Self::Receiver => "webhook-receiver",
        }
    }
}

/// An item of a generated crate.
#[derive(Debug, Clone)]
pub struct Item {
    /// The crate.
    pub krate: Crate,
    /// The path, such as `api_types::Vm`.
    pub path: String,
    /// What the item is.
    pub form: Form,
    /// The generic parameters, such as `<P>`; empty for most items.
    pub generics: &'static str,
    /// Whether a further member breaks nobody: the item is `#[non_exhaustive]` or sealed.
    pub is_open: bool,
    /// The traits and conversions that another contract can take away, such as `Copy` or
    /// `From<String>`.
    pub traits: BTreeSet<String>,
    /// How the item is built from its members.
    pub constructor: Constructor,
    /// The cargo feature that the item is behind.
    pub feature: Option<String>,
    /// The fields, variants or methods.
    pub members: Vec<Member>,
    /// The side that builds values of the item.
    pub built_by: Built,
    /// Whether the item is named after the place where its schema is, and not by the contract.
    pub is_inline: bool,
    /// The span of what the item was made from.
    pub span: Option<Span>,
    /// The operation that the item belongs to, such as `vm_list (GET /vm)`.
    pub operation: Option<String>,
}

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A struct with named fields.
    Struct,
    /// A struct around one value.
    Newtype,
    /// An enum of values.
    Values,
    /// An enum whose variants hold types.
    Enum,
    /// A trait.
    Trait,
    /// Another name of a type.
    Alias,
    /// A struct with methods.
    Builder,
    /// A function.
    Function,
    /// A static.
    Static,
    /// A cargo feature.
    Feature,
}

impl Form {
    /// Returns the form in words, such as `a struct with fields`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Struct => "a struct with fields",
            Self::Newtype => "a struct around one value",
            Self::Values => "an enum of values",
            Self::Enum => "an enum of types",
            Self::Trait => "a trait",
            Self::Alias => "another name of a type",
            Self::Builder => "a builder",
            Self::Function => "a function",
            Self::Static => "a static",
            Self::Feature => "a cargo feature",
        }
    }
}

/// How a struct is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Constructor {
    /// Programs cannot build the struct from its members.
    Nothing,
    /// `new` builds the struct. Its arguments are the required members, in their order.
    New,
    /// The struct is converted from another one with this path, whose fields are the required
    /// members.
    Fields(String),
    /// A literal that names all members builds the struct.
    Literal,
}

/// The side that builds values of an item. The other side only reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Built {
    /// Only callers build values, since the item is only part of requests.
    Callers,
    /// Only implementers build values, since the item is only part of responses.
    Implementers,
    /// Both sides build values.
    Both,
}

/// A field, variant, method or setter.
#[derive(Debug, Clone)]
pub struct Member {
    /// The Rust identifier.
    pub name: String,
    /// What the member stands for in the contract, such as the name of a property. Unique in the
    /// item.
    pub wire: String,
    /// The type, or what a method takes and returns.
    pub signature: Signature,
    /// Whether the item cannot be built without the member.
    pub is_required: bool,
    /// Whether a value of the member's type converts into the item.
    pub converts: bool,
    /// The span of what the member was made from.
    pub span: Option<Span>,
    /// The operation that the member belongs to.
    pub operation: Option<String>,
}

impl Item {
    /// Creates an item of a crate, without members.
    pub(crate) fn new(krate: Crate, path: String, form: Form) -> Self {
        Self {
            krate,
            path,
            form,
            generics: "",
            is_open: false,
            traits: BTreeSet::new(),
            constructor: Constructor::Nothing,
            feature: None,
            members: Vec::new(),
            built_by: Built::Both,
            is_inline: false,
            span: None,
            operation: None,
        }
    }
}

impl Member {
    /// Creates a member that the item can be built without.
    pub(crate) fn new(name: &str, wire: impl Into<String>, signature: Signature) -> Self {
        Self {
            name: name.to_owned(),
            wire: wire.into(),
            signature,
            is_required: false,
            converts: false,
            span: None,
            operation: None,
        }
    }

    /// Returns the member with the span of what it was made from.
    pub(crate) fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    /// Returns the member of an operation.
    pub(crate) fn of(mut self, api: &Api<'_>, operation: &Operation) -> Self {
        self.span = Some(api.contract.operations[operation.index].span);
        self.operation = Some(operation_name(operation));
        self
    }
}

/// Returns the name of an operation for messages.
pub(crate) fn operation_name(operation: &Operation) -> String {
    format!(
        "{} ({} {})",
        operation.id,
        operation.method.as_str(),
        operation.path
    )
}

/// Returns what makes an operation the same in two contracts: its method and path, without the
/// names of path parameters.
pub(crate) fn operation_key(operation: &Operation) -> String {
    let path: String = operation
        .segments
        .iter()
        .map(|part| match part {
            PathPart::Literal(text) => text.as_str(),
            PathPart::Parameter(_) => "{}",
        })
        .collect();
    let label = operation.query.iter();
    let label: Vec<String> = label
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    format!("{} {path}?{}", operation.method.as_str(), label.join("&"))
}

/// Returns what makes a parameter the same in two contracts: its place and its name.
pub(crate) fn parameter_key(parameter: &Parameter) -> String {
    let location = match parameter.location {
        Location::Path => "path",
        Location::Query => "query",
        Location::Header => "header",
        Location::Cookie => "cookie",
    };
    format!("the {location} parameter `{}`", parameter.wire)
}

/// Returns the span of a parameter of an operation.
pub(crate) fn parameter_span(
    api: &Api<'_>,
    operation: &Operation,
    parameter: &Parameter,
) -> Option<Span> {
    let declared = api.contract.operations[operation.index].parameters.iter();
    let mut same = declared
        .filter(|known| known.name == parameter.wire && known.location == parameter.location);
    same.next().map(|known| known.span)
}

/// Returns the surface of the crates of an API, and of those of its webhooks and callbacks.
#[must_use]
pub fn surface(api: &Api<'_>, events: Option<&Api<'_>>) -> Surface {
    let mut items = types::surface(api, events.is_some());
    for side in [Some(api), events].into_iter().flatten() {
        items.extend(client::surface(side));
        items.extend(server::surface(side));
    }
    items.extend(features(api, events));
    let items = items.into_iter().map(|item| (item.path.clone(), item));
    Surface {
        items: items.collect(),
    }
}

/// Returns the cargo features of the crates: one for each tag.
fn features(api: &Api<'_>, events: Option<&Api<'_>>) -> Vec<Item> {
    let sides = [Some(api), events].into_iter().flatten();
    let crates = sides.flat_map(|side| {
        let [client, server] = if side.names.is_reversed {
            [Crate::Sender, Crate::Receiver]
        } else {
            [Crate::Client, Crate::Server]
        };
        [(side, client, "client"), (side, server, "server")]
    });
    let types = std::iter::once((api, Crate::Types, "types"));
    let mut out = Vec::new();
    for (side, krate, part) in types.chain(crates) {
        for (at, tag) in side.tags.iter().enumerate() {
            let path = format!("{}[{}]", side.names.krate(part), tag.feature);
            let mut item = Item::new(krate, path, Form::Feature);
            let first = side.operations_of(at).next();
            item.span = first.map(|first| side.contract.operations[first.index].span);
            out.push(item);
        }
    }
    out
}
