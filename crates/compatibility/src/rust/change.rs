//! A change of one item, before those of one cause are put together.

use codegen::surface::{Built, Crate, Item, Member};
use contract::source::Span;

use super::Who;

/// A change of an item or of a member that breaks programs.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) rule: &'static str,
    /// The path of the item.
    pub(super) path: String,
    /// The path of the item or of its member.
    pub(super) name: String,
    pub(super) message: String,
    pub(super) who: Who,
    pub(super) krate: Crate,
    pub(super) base: Option<Span>,
    pub(super) revision: Option<Span>,
    pub(super) operation: Option<String>,
}

impl Change {
    /// Returns a change of a whole item, in the spans of both versions of it.
    pub(super) fn of_item(rule: &'static str, item: &Item, message: &str) -> Self {
        Self {
            rule,
            path: item.path.clone(),
            name: item.path.clone(),
            message: format!("`{}` {message}", item.path),
            who: everyone(item.krate),
            krate: item.krate,
            base: None,
            revision: None,
            operation: item.operation.clone(),
        }
    }

    /// Returns a change of a member.
    pub(super) fn of_member(
        rule: &'static str,
        item: &Item,
        member: &Member,
        message: &str,
    ) -> Self {
        let name = if member.name.is_empty() {
            item.path.clone()
        } else {
            format!("{}::{}", item.path, member.name)
        };
        let of_item = Self::of_item(rule, item, "");
        Self {
            message: format!("`{name}` {message}"),
            name,
            operation: member.operation.clone().or(of_item.operation.clone()),
            ..of_item
        }
    }

    /// Returns the change with its spans.
    pub(super) fn at(self, base: Option<Span>, revision: Option<Span>) -> Self {
        Self {
            base,
            revision,
            ..self
        }
    }

    /// Returns the change as one that only those notice who build values of the item.
    pub(super) fn for_builders(self, item: &Item) -> Self {
        let who = match (item.krate, item.built_by) {
            (Crate::Types, Built::Callers) => CALLERS,
            (Crate::Types, Built::Implementers) => IMPLEMENTERS,
            _ => self.who,
        };
        Self { who, ..self }
    }
}

const CALLERS: Who = Who {
    callers: true,
    implementers: false,
};
const IMPLEMENTERS: Who = Who {
    callers: false,
    implementers: true,
};

/// Returns those who use a crate.
fn everyone(krate: Crate) -> Who {
    match krate {
        Crate::Types => CALLERS.and(IMPLEMENTERS),
        Crate::Client | Crate::Receiver => CALLERS,
        Crate::Server | Crate::Sender => IMPLEMENTERS,
    }
}
