//! A page of a list, and how many items the whole list has.

use sqlx::{ColumnIndex, Decode, FromRow, Row, Type};

use super::connection::FromSqlite;

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

/// An item of a list beside the size of the whole, which is told even where there is no item.
#[derive(Debug)]
pub struct Listed<T> {
    /// How many items the list has.
    pub count: i64,
    /// The item.
    pub item: Option<T>,
}

impl<'r, R, T> FromRow<'r, R> for Listed<T>
where
    R: Row,
    T: FromRow<'r, R>,
    &'static str: ColumnIndex<R>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    Option<&'r str>: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
        let is_empty = row.try_get::<Option<&'r str>, _>("id")?.is_none();
        let item = if is_empty { None } else { Some(T::from_row(row)?) };
        Ok(Self { count: row.try_get("count")?, item })
    }
}

impl<T: FromSqlite> FromSqlite for Listed<T> {
    fn from_sqlite(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        let is_empty = row.get_ref("id")? == rusqlite::types::ValueRef::Null;
        let item = if is_empty { None } else { Some(T::from_sqlite(row)?) };
        Ok(Self { count: row.get("count")?, item })
    }
}

/// The size of a list and a page of its items.
pub(super) fn split<T>(rows: Vec<Listed<T>>) -> (i64, Vec<T>) {
    let count = rows.first().map_or(0, |first| first.count);
    (count, rows.into_iter().filter_map(|row| row.item).collect())
}

/// A query for a page of a table: the count stands in each row, also in the only one of an empty page.
macro_rules! page_sql {
    ($columns:literal, $from:literal, $kind:literal, location: $location:literal, after: $after:literal,
     order: $order:literal) => {
        concat!(
            "SELECT size.count, item.* FROM (SELECT CAST(COALESCE(SUM(items), 0) AS BIGINT) AS count \
             FROM resource_count WHERE project_id = $1 AND kind = '",
            $kind,
            "'",
            $location,
            ") AS size LEFT JOIN (SELECT ",
            $columns,
            " FROM ",
            $from,
            " AS t WHERE t.project_id = $1",
            $location,
            " AND ",
            $after,
            " ORDER BY ",
            $order,
            " LIMIT $3) AS item ON TRUE ORDER BY ",
            $order
        )
    };
}

pub(super) use page_sql;
