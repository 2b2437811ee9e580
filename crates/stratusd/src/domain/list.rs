//! The order, the start and the size of the pages of lists.

use api_types::{OrderColumn, PageSize, StartAfter};

use super::Refusal;
use super::id::Kind;

/// The maximum number of items on a page.
pub const LARGEST: i64 = 1000;

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Sorted by id.
    Id,
    /// Sorted by name, and by id among equal names.
    Name,
}

/// The part of a list that a query returns.
#[derive(Debug, Clone)]
pub struct Page {
    /// The order of the list.
    pub order: Order,
    /// The page starts after this id, or after this name if the list is sorted by name. Empty for
    /// the start of the list.
    pub after: String,
    /// The maximum number of items on the page.
    pub size: i64,
}

/// The query parameters of an operation that returns a page of a list.
#[derive(Debug, Clone)]
pub struct ListQuery {
    /// The page starts after this id, or after this name if the list is sorted by name. `None` for
    /// the start of the list.
    pub start_after: Option<StartAfter>,
    /// The number of items that the caller asks for. A page has at most 1000.
    pub page_size: PageSize,
    /// The order of the list, `id` or `name`. Other values are refused.
    pub order_column: OrderColumn,
}

impl ListQuery {
    /// Converts the query parameters to a page of a list of resources of a kind. A page size over
    /// 1000 becomes 1000.
    ///
    /// # Errors
    ///
    /// If `order_column` is not `id` or `name`, or if it is `id` and `start_after` is not an id of
    /// `kind`. The refusal names the parameter in `details`.
    pub fn page(&self, kind: Kind) -> Result<Page, Refusal> {
        let order = match self.order_column.as_str() {
            "id" => Order::Id,
            "name" => Order::Name,
            _ => return Err(Refusal::invalid("order_column", "must be `id` or `name`")),
        };
        let after = self.start_after.as_ref().map_or("", StartAfter::as_str);
        if order == Order::Id && self.start_after.is_some() && !kind.is_id(after) {
            let wrong = format!(
                "must be an id that begins with `{}` when `order_column` is `id`",
                kind.prefix()
            );
            return Err(Refusal::invalid("start_after", wrong));
        }
        // PostgreSQL accepts no NUL in strings. No name contains one, so the part before it selects
        // the same page.
        let after = after.split('\0').next().unwrap_or_default().to_owned();
        Ok(Page {
            order,
            after,
            size: self.page_size.get().min(LARGEST),
        })
    }

    /// Converts the query parameters to a page of a list of resources that have no names, as
    /// [`page`](Self::page) does.
    ///
    /// # Errors
    ///
    /// As [`page`](Self::page), and if `order_column` is `name`.
    pub fn page_by_id(&self, kind: Kind) -> Result<Page, Refusal> {
        if self.order_column.as_str() != "id" {
            return Err(Refusal::invalid("order_column", "must be `id`"));
        }
        self.page(kind)
    }
}
