//! OpenAPI Overlays 1.0 and 1.1: changes to a document that stay outside of it.
//!
//! `read` checks an overlay and parses its JSONPaths, and `apply` changes the nodes of a document by
//! it, before anything else looks at them. A node that comes from an overlay keeps its span there,
//! so what is wrong with it is reported in the overlay. `draft` writes an overlay that mends what is
//! wrong with a document of others.

mod apply;
mod bounds;
pub(crate) mod draft;
mod filter;
mod merge;
mod pattern;
mod query;
mod read;
mod select;
mod selector;

pub(crate) use apply::apply;
pub use bounds::{
    MAX_OVERLAY_BYTES, MAX_QUERY_BYTES, MAX_QUERY_DEPTH, MOST_ACTIONS, MOST_ADDED, MOST_OVERLAYS,
    MOST_PATTERNS, MOST_SELECTED, MOST_VISITED,
};
pub use draft::{Draft, DraftAction, DraftChange};
pub(crate) use read::{Overlay, read, too_many};
pub use selector::{Match, NotSelected, NotSelector, Selector};
