//! One connection, whichever the database: the macros below run a statement on it.

use sqlx::{PgConnection, SqliteConnection};

/// A connection of either database, usually within a transaction.
#[derive(Debug)]
pub struct Connection<'c> {
    pub(super) inner: Inner<'c>,
    /// Whether anything was written: a transaction that has read only may be shared with others that fail.
    pub(super) wrote: bool,
}

#[derive(Debug)]
pub(super) enum Inner<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

impl<'c> Connection<'c> {
    pub(super) fn sqlite(connection: &'c mut SqliteConnection) -> Self {
        Self { inner: Inner::Sqlite(connection), wrote: false }
    }

    pub(super) fn postgres(connection: &'c mut PgConnection) -> Self {
        Self { inner: Inner::Postgres(connection), wrote: false }
    }
}

/// All rows of a query, as a type that is made from a row.
macro_rules! fetch_all {
    ($connection:expr, $row:ty, sqlite: $sqlite:expr, postgres: $postgres:expr $(, $bind:expr)* $(,)?) => {
        match &mut $connection.inner {
            $crate::storage::connection::Inner::Sqlite(connection) => {
                sqlx::query_as::<sqlx::Sqlite, $row>($sqlite)$(.bind($bind))*.fetch_all(&mut **connection).await
            }
            $crate::storage::connection::Inner::Postgres(connection) => {
                sqlx::query_as::<sqlx::Postgres, $row>($postgres)$(.bind($bind))*.fetch_all(&mut **connection).await
            }
        }
        .map_err($crate::storage::StorageError::from)
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
                sqlx::query_as::<sqlx::Sqlite, $row>($sql)$(.bind($bind))*.fetch_optional(&mut **connection).await
            }
            $crate::storage::connection::Inner::Postgres(connection) => {
                sqlx::query_as::<sqlx::Postgres, $row>($sql)$(.bind($bind))*.fetch_optional(&mut **connection).await
            }
        }
        .map_err($crate::storage::StorageError::from)
    };
}

/// Runs a statement that writes; gives how many rows it touched.
macro_rules! execute {
    ($connection:expr, sqlite: $sqlite:expr, postgres: $postgres:expr $(, $bind:expr)* $(,)?) => {{
        $connection.wrote = true;
        match &mut $connection.inner {
            $crate::storage::connection::Inner::Sqlite(connection) => {
                let done = sqlx::query::<sqlx::Sqlite>($sqlite)$(.bind($bind))*.execute(&mut **connection).await;
                done.map(|done| done.rows_affected())
            }
            $crate::storage::connection::Inner::Postgres(connection) => {
                let done = sqlx::query::<sqlx::Postgres>($postgres)$(.bind($bind))*.execute(&mut **connection).await;
                done.map(|done| done.rows_affected())
            }
        }
        .map_err($crate::storage::StorageError::from)
    }};
    ($connection:expr, $sql:expr $(, $bind:expr)* $(,)?) => {
        $crate::storage::connection::execute!($connection, sqlite: $sql, postgres: $sql $(, $bind)*)
    };
}

pub(crate) use {execute, fetch_all, fetch_optional};
