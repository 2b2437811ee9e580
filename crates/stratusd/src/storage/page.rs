//! A page of a list, and how many items the whole list has.

use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, QueryableByName};
use diesel::row::NamedRow;
use diesel::sql_types::{BigInt, Nullable, Text};

use super::statement::Present;

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

impl<DB, T> QueryableByName<DB> for Listed<T>
where
    DB: Backend,
    T: QueryableByName<DB>,
    i64: FromSql<BigInt, DB>,
    Option<Present>: FromSql<Nullable<Text>, DB>,
{
    fn build<'a>(row: &impl NamedRow<'a, DB>) -> deserialize::Result<Self> {
        let present: Option<Present> = NamedRow::get::<Nullable<Text>, _>(row, "id")?;
        let item = present.map(|_| T::build(row)).transpose()?;
        Ok(Self { count: NamedRow::get::<BigInt, _>(row, "count")?, item })
    }
}

/// The size of a list and a page of its items.
pub(super) fn split<T>(rows: Vec<Listed<T>>) -> (i64, Vec<T>) {
    let count = rows.first().map_or(0, |first| first.count);
    (count, rows.into_iter().filter_map(|row| row.item).collect())
}

/// A query for a page of a table: the count stands in each row, also in the only one of an empty page.
///
/// SQLite plans a statement again for each new value of a bare `LIMIT $3`, which takes longer than running it.
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
            " LIMIT CAST($3 AS BIGINT)) AS item ON TRUE ORDER BY ",
            $order
        )
    };
}

pub(super) use page_sql;
