//! Pages of lists: the statements that select them, and how these are run.

use api_types::Count;

use super::record::{Record, Row, column, record};
use super::statement::{Parameter, Sql};
use super::{Connection, Corrupt, StorageError};

/// The size in bytes that ends a page, however few items it has. The first item is on the page in
/// any case.
///
/// With the longest texts that the contract allows, a page of 1000 databases would have over
/// 100 MiB. An ordinary page of as many databases has less than this size.
macro_rules! page_bytes {
    () => {
        2_097_152
    };
}

/// As a number; the statements contain it as text.
const PAGE_BYTES: i64 = page_bytes!();

/// The statements of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageSql {
    /// Selects the items, each with the size of the whole list and with its own size in bytes.
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
    let mut bytes = 0;
    let ends = |listed: &Listed<T>| {
        bytes += listed.bytes;
        bytes >= PAGE_BYTES
    };
    let rows = c.fetch_until(sql.items, parameters, ends).await?;
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

/// An item of a list, with the size of the whole list, and about how many bytes the item has.
struct Listed<T> {
    count: Count,
    bytes: i64,
    item: T,
}

impl<T: Record> Record for Listed<T> {
    fn read(row: &dyn Row) -> Result<Self, Corrupt> {
        Ok(Self {
            count: column(row, "resource_count", "count")?,
            bytes: column(row, "resource_count", "bytes")?,
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
///
/// `bytes` is the size of an item's long texts; without any, a page of 1000 items is small enough.
/// SQLite reads row by row, so it stops where the page ends. PostgreSQL would send all rows, so its
/// statement leaves out those after the end, without reading their texts: a text knows its length.
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
     $bytes:literal, $index:literal) => {
        concat!(
            "SELECT (",
            page_sql!(@count $kind, $location),
            // 640: the other properties of an item, and the syntax.
            ") AS count, CAST(640 + ",
            $bytes,
            " AS BIGINT) AS bytes, ",
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
                sqlite: page_sql!(@items $columns, $from, $kind, $location, $after, $order, "0", $index),
                postgres: page_sql!(@items $columns, $from, $kind, $location, $after, $order, "0", ""),
            },
            count: page_sql!(@count $kind, $location),
        }
    };
    ($columns:expr, $from:literal, $kind:literal, location: $location:literal, after: $after:literal,
     order: $order:literal, index: $index:literal, bytes: $bytes:literal) => {
        PageSql {
            items: Sql {
                sqlite: page_sql!(@items $columns, $from, $kind, $location, $after, $order, $bytes, $index),
                postgres: concat!(
                    "SELECT * FROM (SELECT page.*, COALESCE(SUM(page.bytes) OVER (ORDER BY ",
                    $order,
                    " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before FROM (",
                    page_sql!(@items $columns, $from, $kind, $location, $after, $order, $bytes, ""),
                    ") AS page) AS page WHERE bytes_before < ",
                    page_bytes!(),
                    " ORDER BY ",
                    $order
                ),
            },
            count: page_sql!(@count $kind, $location),
        }
    };
}

pub(super) use {page_bytes, page_sql};
