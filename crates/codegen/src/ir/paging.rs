//! Operations that return a list page by page.

use super::TypeRef;

/// The parameters and properties by which the pages of a list are requested one after the other.
#[derive(Debug, Clone)]
pub struct PagedOperation {
    /// The index of the parameter that is the cursor.
    pub start_after: usize,
    /// The index of the parameter that orders the list.
    pub order_column: Option<usize>,
    /// The field of the page that holds the items.
    pub items: String,
    /// The type of an item.
    pub item: TypeRef,
    /// The type of a page.
    pub page: TypeRef,
    /// The property of an item that is the next page's cursor, if no order is given.
    pub key: String,
}
