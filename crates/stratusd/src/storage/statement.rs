//! Statements in SQL that both databases understand, and the parameters that they bind.
//!
//! Parameters are written as PostgreSQL's `$1`. A parameter never becomes part of the text, so no
//! value can change what a statement does.

use std::borrow::Cow;

use api_types::{PostgresFirewallRule, Tag};
use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text, Untyped};
use diesel::sqlite::Sqlite;

use crate::domain::network::{Net4, Net6};

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
    sql: Sql,
    values: Vec<Value<'p>>,
}

impl<'p> Statement<'p> {
    /// Creates a statement with a value for each `$1`, `$2` and so on.
    pub(super) fn new(sql: Sql, parameters: &'p [&'p dyn Parameter]) -> Self {
        let values = parameters.iter().map(|parameter| parameter.value());
        Self {
            sql,
            values: values.collect(),
        }
    }
}

/// Writes a statement for one database: its text, with a bound value at each `$1`.
macro_rules! fragment {
    ($database:ty, $text:ident) => {
        impl QueryFragment<$database> for Statement<'_> {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, $database>) -> QueryResult<()> {
                let mut parts = self.sql.$text.split('$');
                out.push_sql(parts.next().unwrap_or_default());
                for part in parts {
                    let digits = part.bytes().take_while(u8::is_ascii_digit).count();
                    let (number, rest) = part.split_at(digits);
                    // A number that is named twice is bound twice: SQLite numbers its `?` by where
                    // they stand.
                    match value(&self.values, number)? {
                        Value::Text(Some(text)) => out.push_bind_param::<Text, str>(text)?,
                        Value::Text(None) => {
                            out.push_bind_param::<Nullable<Text>, _>(&None::<String>)?;
                        }
                        Value::Integer(Some(number)) => {
                            out.push_bind_param::<BigInt, _>(number)?;
                        }
                        Value::Integer(None) => {
                            out.push_bind_param::<Nullable<BigInt>, _>(&None::<i64>)?;
                        }
                        Value::Boolean(boolean) => out.push_bind_param::<Bool, _>(boolean)?,
                        Value::Bytes(bytes) => out.push_bind_param::<Binary, [u8]>(bytes)?,
                    }
                    out.push_sql(rest);
                }
                Ok(())
            }
        }
    };
}

fragment!(Sqlite, sqlite);
fragment!(Pg, postgres);

/// Returns the value that a number in a statement's text means.
fn value<'v>(values: &'v [Value<'v>], number: &str) -> QueryResult<&'v Value<'v>> {
    let wrong = |rule: &'static str| diesel::result::Error::QueryBuilderError(rule.into());
    let number: usize = number
        .parse()
        .map_err(|_| wrong("a `$` must be followed by a number"))?;
    values
        .get(number.wrapping_sub(1))
        .ok_or_else(|| wrong("there must be a parameter for each number"))
}

impl QueryId for Statement<'_> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Query for Statement<'_> {
    type SqlType = Untyped;
}

impl<C> diesel::RunQueryDsl<C> for Statement<'_> {}

/// A value as a statement binds it. A NULL has a type too: PostgreSQL asks for the type of each
/// parameter.
pub(super) enum Value<'v> {
    Text(Option<Cow<'v, str>>),
    Integer(Option<i64>),
    Boolean(bool),
    Bytes(&'v [u8]),
}

/// A type whose values statements take.
pub(super) trait Parameter: Sync {
    /// Returns the value in the form in which its column stores it.
    fn value(&self) -> Value<'_>;
}

impl<T: Parameter + ?Sized> Parameter for &T {
    fn value(&self) -> Value<'_> {
        T::value(self)
    }
}

macro_rules! parameter {
    ($($rust:ty: |$value:ident| $stored:expr),* $(,)?) => {
        $(impl Parameter for $rust {
            fn value(&self) -> Value<'_> {
                let $value = self;
                $stored
            }
        })*
    };
}

parameter! {
    str: |text| Value::Text(Some(text.into())),
    String: |text| Value::Text(Some(text.into())),
    Option<String>: |text| Value::Text(text.as_deref().map(Cow::from)),
    i64: |number| Value::Integer(Some(*number)),
    Option<i64>: |number| Value::Integer(*number),
    bool: |boolean| Value::Boolean(*boolean),
    [u8]: |bytes| Value::Bytes(bytes),
    Vec<u8>: |bytes| Value::Bytes(bytes),
    Net4: |network| Value::Text(Some(network.to_string().into())),
    Net6: |network| Value::Text(Some(network.to_string().into())),
    Vec<Tag>: |tags| json(tags),
    Vec<PostgresFirewallRule>: |rules| json(rules),
}

/// Texts that a statement takes as one JSON array: SQLite binds no lists.
pub(super) struct JsonArray<'t>(pub &'t [&'t str]);

impl Parameter for JsonArray<'_> {
    fn value(&self) -> Value<'_> {
        json(&self.0)
    }
}

fn json(value: &impl serde::Serialize) -> Value<'static> {
    let text = serde_json::to_string(value).expect("values of the contract can be written as JSON");
    Value::Text(Some(text.into()))
}
