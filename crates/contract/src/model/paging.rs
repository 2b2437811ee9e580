//! The paging convention.

/// The paging convention, `x-paging`. Each field is the name of a parameter or property.
///
/// An operation is a list if it has the query parameter `start_after`, and its success response is
/// an object whose property `items` is an array. A page may hold fewer items than were asked for, so
/// the list ends with an empty page, or with a first page that holds as many items as `count` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paging {
    /// The query parameter that takes the key of the last item of the previous page.
    pub start_after: String,
    /// The query parameter that takes the number of items.
    pub page_size: String,
    /// The query parameter that takes the name of the property that is the key.
    pub order_column: Option<String>,
    /// The property of the response that holds the items.
    pub items: String,
    /// The property of the response that holds the size of the whole list.
    pub count: Option<String>,
    /// The property of an item that is the key, unless `order_column` names another.
    pub key: String,
}
