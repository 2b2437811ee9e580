//! Statements in SQL that both databases take, and what goes in and comes out of them.
//!
//! They are written with PostgreSQL's `$1`. A parameter is never part of the text: each place that names one is
//! bound on its own, whatever the database calls it.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::deserialize::{self, QueryableByName};
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::row::NamedRow;
use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text, Untyped};
use diesel::sqlite::Sqlite;

/// The text of a statement, for each database where they differ.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sql {
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

impl From<&'static str> for Sql {
    fn from(text: &'static str) -> Self {
        Self {
            sqlite: text,
            postgres: text,
        }
    }
}

/// A statement with its parameters. Connections keep it prepared, by its text.
pub(super) struct Statement<'p> {
    pub sql: Sql,
    pub parameters: &'p [&'p dyn Parameter],
}

impl Statement<'_> {
    /// Writes a text, and binds the parameter that each `$1` in it means.
    fn walk<'b, DB: Backend>(
        &'b self,
        text: &str,
        mut out: AstPass<'_, 'b, DB>,
        bind: impl Fn(&'b dyn Parameter, AstPass<'_, 'b, DB>) -> QueryResult<()>,
    ) -> QueryResult<()> {
        let mut parts = text.split('$');
        out.push_sql(parts.next().unwrap_or_default());
        for part in parts {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = part.split_at(digits);
            let number: usize = number
                .parse()
                .map_err(|_| wrong("a `$` is followed by a number"))?;
            let parameter = self.parameters.get(number.wrapping_sub(1));
            bind(
                *parameter.ok_or_else(|| wrong("there is a parameter of each number"))?,
                out.reborrow(),
            )?;
            out.push_sql(rest);
        }
        Ok(())
    }
}

fn wrong(rule: &'static str) -> diesel::result::Error {
    diesel::result::Error::QueryBuilderError(rule.into())
}

impl QueryId for Statement<'_> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Query for Statement<'_> {
    type SqlType = Untyped;
}

impl QueryFragment<Sqlite> for Statement<'_> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        self.walk(self.sql.sqlite, out, |parameter, out| {
            parameter.bind_sqlite(out)
        })
    }
}

impl QueryFragment<Pg> for Statement<'_> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        self.walk(self.sql.postgres, out, |parameter, out| {
            parameter.bind_postgres(out)
        })
    }
}

impl<C> diesel::RunQueryDsl<C> for Statement<'_> {}

/// A value that a statement takes.
pub(super) trait Parameter: Sync {
    fn bind_sqlite<'b>(&'b self, out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()>;
    fn bind_postgres<'b>(&'b self, out: AstPass<'_, 'b, Pg>) -> QueryResult<()>;
}

impl<T: Parameter + ?Sized> Parameter for &T {
    fn bind_sqlite<'b>(&'b self, out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        T::bind_sqlite(self, out)
    }

    fn bind_postgres<'b>(&'b self, out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        T::bind_postgres(self, out)
    }
}

/// Says which type of SQL a type of Rust is bound as.
macro_rules! parameter {
    ($($rust:ty: $sql:ty),* $(,)?) => {
        $(impl Parameter for $rust {
            fn bind_sqlite<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
                out.push_bind_param::<$sql, Self>(self)
            }

            fn bind_postgres<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
                out.push_bind_param::<$sql, Self>(self)
            }
        })*
    };
}

parameter! {
    str: Text,
    String: Text,
    Option<String>: Nullable<Text>,
    i64: BigInt,
    Option<i64>: Nullable<BigInt>,
    bool: Bool,
    [u8]: Binary,
    Vec<u8>: Binary,
}

/// A value that is made from a row of either database, its columns by their names.
pub(super) trait Record:
    QueryableByName<Sqlite> + QueryableByName<Pg> + Send + 'static
{
}

impl<T: QueryableByName<Sqlite> + QueryableByName<Pg> + Send + 'static> Record for T {}

/// A row of which nothing matters but that it is there.
pub(super) struct Present;

impl<DB: Backend> QueryableByName<DB> for Present {
    fn build<'a>(_: &impl NamedRow<'a, DB>) -> deserialize::Result<Self> {
        Ok(Self)
    }
}
