//! What lists have in common: their order, their start and their size.

use api_types::{OrderColumn, PageSize, StartAfter};

use super::Refusal;
use super::id::Kind;

/// Items of a page at most, whatever was asked for.
const LARGEST: i64 = 1000;

/// What orders a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By id.
    Id,
    /// By name, equal ones by id.
    Name,
}

/// Which part of a list.
#[derive(Debug, Clone)]
pub struct Page {
    /// What orders it.
    pub order: Order,
    /// The value before the first item; empty for the start.
    pub after: String,
    /// Items at most.
    pub size: i64,
}

/// How a list is asked for.
#[derive(Debug, Clone)]
pub struct ListQuery {
    /// The value before the first item.
    pub start_after: Option<StartAfter>,
    /// Items at most.
    pub page_size: PageSize,
    /// What orders it.
    pub order_column: OrderColumn,
}

impl ListQuery {
    /// The page that is asked for, in a list of this kind.
    ///
    /// # Errors
    ///
    /// `details.order_column` or `details.start_after`.
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
        // No name has the character NUL, and PostgreSQL does not take it: what follows it changes nothing.
        let after = after.split('\0').next().unwrap_or_default().to_owned();
        Ok(Page {
            order,
            after,
            size: self.page_size.get().min(LARGEST),
        })
    }
}
