//! One connection, whichever the database: the macros below run a statement on it.
//!
//! Statements are written once, with PostgreSQL's `$1`, which SQLite writes `?1`. On SQLite they run to their end in
//! the calling thread: a statement is over sooner than another thread would be awake.

use sqlx::PgConnection;

/// A connection of either database, usually within a transaction.
#[derive(Debug)]
pub struct Connection<'c> {
    pub(super) inner: Inner<'c>,
    /// Whether anything was written: a transaction that has read only may be shared with others that fail.
    pub(super) wrote: bool,
}

#[derive(Debug)]
pub(super) enum Inner<'c> {
    Sqlite(&'c mut rusqlite::Connection),
    Postgres(&'c mut PgConnection),
}

impl<'c> Connection<'c> {
    pub(super) fn sqlite(connection: &'c mut rusqlite::Connection) -> Self {
        Self { inner: Inner::Sqlite(connection), wrote: false }
    }

    pub(super) fn postgres(connection: &'c mut PgConnection) -> Self {
        Self { inner: Inner::Postgres(connection), wrote: false }
    }
}

/// A value that is made from a row of SQLite, as sqlx's `FromRow` makes it from one of PostgreSQL.
pub(super) trait FromSqlite: Sized {
    /// Reads the columns by their names.
    fn from_sqlite(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self>;
}

impl<T: rusqlite::types::FromSql> FromSqlite for (T,) {
    fn from_sqlite(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok((row.get(0)?,))
    }
}

/// Reads each field from the column of its name.
macro_rules! from_sqlite {
    ($record:ident { $($field:ident),* $(,)? }) => {
        impl $crate::storage::connection::FromSqlite for $record {
            fn from_sqlite(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
                Ok(Self { $($field: row.get(stringify!($field))?),* })
            }
        }
    };
}

/// A statement with its parameters as SQLite numbers them.
pub(super) fn numbered(sql: &'static str) -> String {
    sql.replace('$', "?")
}

/// All rows of a query on SQLite.
pub(super) fn sqlite_rows<T: FromSqlite>(
    connection: &rusqlite::Connection,
    sql: &'static str,
    parameters: &[&dyn rusqlite::ToSql],
) -> rusqlite::Result<Vec<T>> {
    let mut statement = connection.prepare_cached(&numbered(sql))?;
    let rows = statement.query_map(parameters, T::from_sqlite)?;
    rows.collect()
}

/// Runs a statement on SQLite; gives how many rows it touched.
pub(super) fn sqlite_execute(
    connection: &rusqlite::Connection,
    sql: &'static str,
    parameters: &[&dyn rusqlite::ToSql],
) -> rusqlite::Result<u64> {
    let touched = connection.prepare_cached(&numbered(sql))?.execute(parameters)?;
    Ok(u64::try_from(touched).unwrap_or(u64::MAX))
}

/// All rows of a query, as a type that is made from a row.
macro_rules! fetch_all {
    ($connection:expr, $row:ty, sqlite: $sqlite:expr, postgres: $postgres:expr $(, $bind:expr)* $(,)?) => {
        match &mut $connection.inner {
            $crate::storage::connection::Inner::Sqlite(connection) => {
                $crate::storage::connection::sqlite_rows::<$row>(connection, $sqlite, &[$(&$bind),*])
                    .map_err($crate::storage::StorageError::from)
            }
            $crate::storage::connection::Inner::Postgres(connection) => {
                sqlx::query_as::<sqlx::Postgres, $row>($postgres)$(.bind($bind))*
                    .fetch_all(&mut **connection)
                    .await
                    .map_err($crate::storage::StorageError::from)
            }
        }
    };
    ($connection:expr, $row:ty, $sql:expr $(, $bind:expr)* $(,)?) => {
        $crate::storage::connection::fetch_all!($connection, $row, sqlite: $sql, postgres: $sql $(, $bind)*)
    };
}

/// The only row of a query, or none.
macro_rules! fetch_optional {
    ($connection:expr, $row:ty, $sql:expr $(, $bind:expr)* $(,)?) => {
        match &mut $connection.inner {
            $crate::storage::connection::Inner::Sqlite(connection) => {
                $crate::storage::connection::sqlite_rows::<$row>(connection, $sql, &[$(&$bind),*])
                    .map(|rows| rows.into_iter().next())
                    .map_err($crate::storage::StorageError::from)
            }
            $crate::storage::connection::Inner::Postgres(connection) => {
                sqlx::query_as::<sqlx::Postgres, $row>($sql)$(.bind($bind))*
                    .fetch_optional(&mut **connection)
                    .await
                    .map_err($crate::storage::StorageError::from)
            }
        }
    };
}

/// Runs a statement that writes; gives how many rows it touched.
macro_rules! execute {
    ($connection:expr, sqlite: $sqlite:expr, postgres: $postgres:expr $(, $bind:expr)* $(,)?) => {{
        $connection.wrote = true;
        match &mut $connection.inner {
            $crate::storage::connection::Inner::Sqlite(connection) => {
                $crate::storage::connection::sqlite_execute(connection, $sqlite, &[$(&$bind),*])
                    .map_err($crate::storage::StorageError::from)
            }
            $crate::storage::connection::Inner::Postgres(connection) => {
                sqlx::query::<sqlx::Postgres>($postgres)$(.bind($bind))*
                    .execute(&mut **connection)
                    .await
                    .map(|done| done.rows_affected())
                    .map_err($crate::storage::StorageError::from)
            }
        }
    }};
    ($connection:expr, $sql:expr $(, $bind:expr)* $(,)?) => {
        $crate::storage::connection::execute!($connection, sqlite: $sql, postgres: $sql $(, $bind)*)
    };
}

pub(crate) use {execute, fetch_all, fetch_optional, from_sqlite};
