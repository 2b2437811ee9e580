//! Pages of lists: the statements that select them, and how these are run.

use api_types::Count;

use super::record::{Record, Row, column, record};
use super::statement::{Parameter, Sql};
use super::{Connection, Corrupt, StorageError};

/// The statements of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageSql {
    /// Selects the items, each with the size of the whole list.
    pub items: Sql,
    /// Selects only the size of the list.
    pub count: &'static str,
}

/// Returns the size of a list and a page of its items.
///
/// The size comes with each item, so an empty page needs a second statement. One statement that
/// always has a row would join the items to the size, and the databases would sort the page a
/// second time.
pub(super) async fn fetch<T: Record>(
    c: &mut Connection<'_>,
    sql: PageSql,
    parameters: &[&dyn Parameter],
) -> Result<(Count, Vec<T>), StorageError> {
    let rows = c.fetch_all::<Listed<T>>(sql.items, parameters).await?;
    let count = if let Some(first) = rows.first() {
        first.count
    } else {
        let size = c.fetch_optional::<Size>(sql.count, parameters).await?;
        // A sum has a row even if it is one of nothing.
        let missing = Corrupt {
            table: "resource_count",
            column: "count",
        };
        size.ok_or(missing)?.count
    };
    Ok((count, rows.into_iter().map(|row| row.item).collect()))
}

/// An item of a list, with the size of the whole list.
struct Listed<T> {
    count: Count,
    item: T,
}

impl<T: Record> Record for Listed<T> {
    fn read(row: &dyn Row) -> Result<Self, Corrupt> {
        Ok(Self {
            count: column(row, "resource_count", "count")?,
            item: T::read(row)?,
        })
    }
}

record! {
    /// The size of a list.
    struct Size in "resource_count" {
        count: Count,
    }
}

/// Builds the statements for a page of a table.
///
/// The limit is a cast because SQLite plans a statement again for each new value of a bare `LIMIT
/// $3`, which takes longer than running it. `index` names an index for SQLite: for a list ordered
/// by id it would otherwise read along the primary key, and so the rows of all other locations too.
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
    (@items $columns:expr, $from:literal, $kind:literal, $location:literal, $after:literal, $order:literal,
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
    ($columns:expr, $from:literal, $kind:literal, location: $location:literal, after: $after:literal,
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
