//! The paging convention.

/// The paging convention, `x-paging`. Each field names a parameter or property.
///
/// An operation is a list when it has the cursor's query parameter and its success answer is an object
/// whose `items` property is an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paging {
    /// Query parameter that takes the last seen item's key.
    pub start_after: String,
    /// Query parameter that takes the number of items.
    pub page_size: String,
    /// Query parameter whose value names the item's property that is the key.
    pub order_column: Option<String>,
    /// Property of the answer that holds the items.
    pub items: String,
    /// Property of the answer that holds the size of the whole list.
    pub count: Option<String>,
    /// Property of an item that is the key unless `order_column` says otherwise.
    pub key: String,
}
