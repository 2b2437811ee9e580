//! A page of a list, and how many items the whole list has.

use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, QueryableByName};
use diesel::row::NamedRow;
use diesel::sql_types::BigInt;

use super::statement::{Parameter, Record, Sql};
use super::{Connection, StorageError};

/// The statements of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageSql {
    /// The items, each beside the size of the whole list.
    pub items: Sql,
    /// The size alone.
    pub count: &'static str,
}

/// The size of a list and a page of its items.
///
/// A page without items asks for the size once more. As one statement that has a row in any case, each page would be
/// sorted a second time.
pub(super) async fn fetch<T: Record>(
    c: &mut Connection<'_>,
    sql: PageSql,
    parameters: &[&dyn Parameter],
) -> Result<(i64, Vec<T>), StorageError> {
    let rows = c.fetch_all::<Listed<T>>(sql.items, parameters).await?;
    let count = match rows.first() {
        Some(first) => first.count,
        None => c
            .fetch_optional::<Size>(sql.count, parameters)
            .await?
            .map_or(0, |size| size.count),
    };
    Ok((count, rows.into_iter().map(|row| row.item).collect()))
}

/// An item of a list beside the size of the whole.
struct Listed<T> {
    count: i64,
    item: T,
}

impl<DB, T> QueryableByName<DB> for Listed<T>
where
    DB: Backend,
    T: QueryableByName<DB>,
    i64: FromSql<BigInt, DB>,
{
    fn build<'a>(row: &impl NamedRow<'a, DB>) -> deserialize::Result<Self> {
        Ok(Self {
            count: NamedRow::get::<BigInt, _>(row, "count")?,
            item: T::build(row)?,
        })
    }
}

/// The size of a list.
#[derive(QueryableByName)]
struct Size {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

/// The statements for a page of a table.
///
/// SQLite plans a statement again for each new value of a bare `LIMIT $3`, which takes longer than running it. Left to
/// itself it reads a list that is ordered by id along the primary key, and so whatever is in other locations too: there
/// it is told the index.
macro_rules! page_sql {
    (@count $kind:literal, $location:literal) => {
        concat!(
            "SELECT CAST(COALESCE(SUM(items), 0) AS BIGINT) AS count FROM resource_count \
             WHERE project_id = $1 AND kind = '",
            $kind,
            "'",
            $location
        )
    };
    (@items $columns:literal, $from:literal, $kind:literal, $location:literal, $after:literal, $order:literal,
     $index:literal) => {
        concat!(
            "SELECT (",
            page_sql!(@count $kind, $location),
            ") AS count, ",
            $columns,
            " FROM ",
            $from,
            " AS t",
            $index,
            " WHERE t.project_id = $1",
            $location,
            " AND ",
            $after,
            " ORDER BY ",
            $order,
            " LIMIT CAST($3 AS BIGINT)"
        )
    };
    ($columns:literal, $from:literal, $kind:literal, location: $location:literal, after: $after:literal,
     order: $order:literal, index: $index:literal) => {
        PageSql {
            items: Sql {
                sqlite: page_sql!(@items $columns, $from, $kind, $location, $after, $order, $index),
                postgres: page_sql!(@items $columns, $from, $kind, $location, $after, $order, ""),
            },
            count: page_sql!(@count $kind, $location),
        }
    };
}

pub(super) use page_sql;
