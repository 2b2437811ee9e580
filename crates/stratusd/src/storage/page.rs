//! Pages of lists: the statements that select them, and how these are run.

use api_types::Count;

use super::count::{self, Size};
use super::record::{Record, Row, column};
use super::statement::{Parameter, StatementText};
use super::{Connection, Corrupt, StorageError};

/// The size in bytes that ends a page, however few items it has. The first item is on the page in
/// any case.
///
/// With the longest texts that the contract allows, a page of 1000 databases would have over
/// 100 MiB; as many items without long texts have less than this size. To make such a page takes
/// milliseconds, in which others wait for a processor: with twice the size, they waited longer.
pub(super) const PAGE_BYTES: i64 = 1 << 20;
/// The size in bytes of a page that is not long: that of about a hundred ordinary databases.
pub(super) const SHORT_PAGE_BYTES: i64 = 256 << 10;

/// The statements of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageSql<I, C> {
    /// Selects the items, each with the size of the whole list and with its own size in bytes.
    pub items: I,
    /// Selects only the size of the list.
    pub count: C,
}

/// Returns the size of a list and a page of its items.
///
/// The size comes with each item, so an empty page needs a second statement. One statement that
/// always has a row would join the items to the size, and the databases would sort the page a
/// second time.
pub(super) async fn fetch<T: Record>(
    c: &mut Connection<'_>,
    sql: PageSql<impl StatementText, impl StatementText>,
    parameters: &[&dyn Parameter],
) -> Result<(Count, Vec<T>), StorageError> {
    let (mut bytes, most) = (0, c.page_bytes());
    let ends = |listed: &Listed<T>| {
        bytes += listed.bytes;
        bytes >= most
    };
    let mut with_most = parameters.to_vec();
    with_most.push(&most);
    let rows = c.fetch_until(sql.items, &with_most, ends).await?;
    c.note_page(bytes);
    let count = if let Some(first) = rows.first() {
        first.count
    } else {
        count::of(c.fetch_optional::<Size>(sql.count, parameters).await?)?
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
    const COLUMNS: usize = 3 + T::COLUMNS;

    fn read(row: &dyn Row) -> Result<Self, Corrupt> {
        // The last column, `bytes_before`, is not read: only the statement for PostgreSQL uses it.
        Ok(Self {
            count: column(row, "resource_count", "count")?,
            bytes: column(row, "resource_count", "bytes")?,
            item: T::read(row)?,
        })
    }
}

/// Builds the statements for a page of a table, of a project or of one of its locations. `$1` is the
/// project, `$2` the value after which the page starts, `$3` its size, and `$4` the location of a page of
/// one. After these comes the size in bytes that ends the page.
///
/// Each page is read along an index that is in its order. A planner may also read along the order of
/// another index and drop the rows of other locations, however many there are. So for SQLite `index`
/// names the index, and on PostgreSQL a location is an end of a range: only an index that begins with
/// the location has the order of such a page. The range is there twice, because the planner takes the one of
/// pairs for a ninth of the rows: without the other, it would rather sort the whole location.
///
/// The limit is a cast because SQLite plans a statement again for each new value of a bare `LIMIT
/// $3`, which takes longer than running it.
///
/// `ties` is the column that orders items of equal values, where there can be any.
///
/// `bytes` is the size of an item's long texts, or `"0"` without any: a page of 1000 items is then small
/// enough.
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
    (@items $columns:expr, $from:expr, $kind:literal, $location:literal, $where:expr, $order:expr, $bytes:literal,
     $last:literal) => {
        concat!(
            "SELECT (",
            page_sql!(@count $kind, $location),
            // 640: the other properties of an item, and the syntax.
            ") AS count, CAST(640 + ",
            $bytes,
            " AS BIGINT) AS bytes, ",
            $columns,
            $last,
            " FROM ",
            $from,
            " WHERE t.project_id = $1 AND ",
            $where,
            " ORDER BY ",
            $order,
            " LIMIT CAST($3 AS BIGINT)"
        )
    };
    // Leaves out the rows after the end of the page, on PostgreSQL. Without long texts, the limit ends
    // the page.
    (@ended [$($items:tt)*] $order:expr, $most:literal, "0") => {
        page_sql!(@items $($items)*, "0", ", CAST(0 AS BIGINT) AS bytes_before")
    };
    (@ended [$($items:tt)*] $order:expr, $most:literal, $bytes:literal) => {
        concat!(
            "SELECT * FROM (SELECT page.*, CAST(COALESCE(SUM(page.bytes) OVER (ORDER BY ",
            $order,
            " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS BIGINT) AS bytes_before FROM (",
            page_sql!(@items $($items)*, $bytes, ""),
            ") AS page) AS page WHERE bytes_before < ",
            $most,
            " ORDER BY ",
            $order
        )
    };
    ($columns:expr, of_project: $from:literal, $kind:literal, after: $after:literal, order: $order:literal,
     bytes: $bytes:tt) => {
        PageSql {
            items: statement! {
                sqlite: page_sql!(
                    @items $columns, concat!($from, " AS t"), $kind, "", concat!("t.", $after, " > $2"), $order, $bytes,
                    ", CAST(0 AS BIGINT) AS bytes_before"
                ),
                postgres: page_sql!(
                    @ended
                    [$columns, concat!($from, " AS t"), $kind, "", concat!("t.", $after, " > $2"), $order]
                    $order, "CAST($4 AS BIGINT)", $bytes
                ),
            },
            count: statement!(page_sql!(@count $kind, "")),
        }
    };
    ($columns:expr, of_location: $from:literal, $kind:literal, by: $column:literal, $(ties: $ties:literal,)? index: $index:literal,
     bytes: $bytes:tt) => {
        PageSql {
            items: statement! {
                sqlite: page_sql!(
                    @items $columns, concat!($from, " AS t", $index), $kind, " AND location = $4",
                    concat!("t.location = $4 AND t.", $column, " > $2"), concat!("t.", $column $(, ", t.", $ties)?), $bytes,
                    ", CAST(0 AS BIGINT) AS bytes_before"
                ),
                // The tilde comes after all characters of ids and names.
                postgres: page_sql!(
                    @ended
                    [
                        $columns, concat!($from, " AS t"), $kind, " AND location = $4",
                        concat!(
                            "t.location >= $4 AND t.location <= $4 AND (t.location, t.", $column,
                            ") > ($4, $2) AND (t.location, t.", $column, ") < ($4, '~')"
                        ),
                        concat!("t.location, t.", $column $(, ", t.", $ties)?)
                    ]
                    concat!("location, ", $column $(, ", ", $ties)?), "CAST($5 AS BIGINT)", $bytes
                ),
            },
            count: statement!(page_sql!(@count $kind, " AND location = $4")),
        }
    };
}

pub(super) use page_sql;
