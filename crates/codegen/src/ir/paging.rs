//! How an operation's list is walked.

use super::TypeRef;

/// How to walk a list.
#[derive(Debug, Clone)]
pub struct PagedOperation {
    /// Index into the parameters: the cursor.
    pub start_after: usize,
    /// Index into the parameters: the page's size.
    pub page_size: Option<usize>,
    /// Index into the parameters: the order.
    pub order_column: Option<usize>,
    /// Field of the page that holds the items.
    pub items: String,
    /// The items' type.
    pub item: TypeRef,
    /// The page's type.
    pub page: TypeRef,
    /// Property of an item that is the cursor when no order is given.
    pub key: String,
}
