//! Statements in SQL that both databases understand, and the parameters that they bind.
//!
//! Parameters are written as PostgreSQL's `$1`. The value of a parameter never becomes part of the
//! statement's text, so no value can change what a statement does.

use std::borrow::Cow;
use std::marker::PhantomData;

use api_types::{PostgresBackup, PostgresFirewallRule, Tag};
use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text, Untyped};
use diesel::sqlite::Sqlite;

use crate::domain::network::{Net4, Net6};

/// The text of a statement for SQLite and for PostgreSQL. Most statements have the same for both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sql {
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

impl Sql {
    /// Creates the text of a statement that is the same for both databases.
    pub(super) const fn same(text: &'static str) -> Self {
        Self {
            sqlite: text,
            postgres: text,
        }
    }
}

/// A type that holds the text of a statement, and by which connections to SQLite find the prepared
/// statement.
///
/// diesel finds a prepared statement by a type, or else by its text, which it must write and hash
/// at each run. [`statement!`] makes a type for a text. A plain `&str` works too, and is meant for
/// statements that no request runs.
pub(super) trait StatementText: Copy + Send {
    /// The type that identifies the text to diesel.
    type Id: 'static;
    /// Whether [`StatementText::Id`] is the type of this text alone. If not, diesel finds the
    /// prepared statement by its text.
    const HAS_ID: bool;
    /// Where the text for SQLite has its parameters, if that is known when the program is compiled.
    /// diesel walks through a statement twice at each run, and would search it for each `$` twice.
    const SQLITE_PLACES: Option<&'static [Place]> = None;

    /// Returns the text for each database.
    fn sql(self) -> Sql;
}

/// Where a text has a parameter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// The number after the `$`, from 1.
    number: usize,
    /// The range of the text that has the `$` and the number.
    start: usize,
    end: usize,
}

/// Returns the number of parameters that a text names; one that is named twice counts twice.
pub(super) const fn count_places(text: &str) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < text.len() {
        if text.as_bytes()[at] == b'$' {
            count += 1;
        }
        at += 1;
    }
    count
}

/// Returns where a text has its `N` parameters, as many as [`count_places`] has counted.
///
/// # Panics
///
/// If a `$` is not followed by a number. [`statement!`] calls it while the program is compiled, so such a
/// program does not compile.
pub(super) const fn places<const N: usize>(text: &str) -> [Place; N] {
    let bytes = text.as_bytes();
    let (number, start, end) = (0, 0, 0);
    let mut places = [Place { number, start, end }; N];
    let (mut at, mut found) = (0, 0);
    while at < bytes.len() {
        let start = at;
        at += 1;
        if bytes[start] != b'$' {
            continue;
        }
        let mut number = 0;
        while at < bytes.len() && bytes[at].is_ascii_digit() {
            number = number * 10 + (bytes[at] - b'0') as usize;
            at += 1;
        }
        assert!(number > 0, "a `$` must be followed by a number");
        let end = at;
        places[found] = Place { number, start, end };
        found += 1;
    }
    places
}

impl StatementText for &'static str {
    type Id = ();
    const HAS_ID: bool = false;

    fn sql(self) -> Sql {
        Sql::same(self)
    }
}

impl StatementText for Sql {
    type Id = ();
    const HAS_ID: bool = false;

    fn sql(self) -> Sql {
        self
    }
}

/// Creates a [`StatementText`] of a type of its own, by which connections to SQLite find the
/// prepared statement. Takes one text for both databases, or one for each as
/// `sqlite: …, postgres: …`.
macro_rules! statement {
    (sqlite: $sqlite:expr, postgres: $postgres:expr $(,)?) => {
        $crate::storage::statement::statement!(@ $crate::storage::statement::Sql {
            sqlite: $sqlite,
            postgres: $postgres,
        })
    };
    (@ $sql:expr) => {{
        #[derive(Clone, Copy)]
        struct Here;

        const SQL: $crate::storage::statement::Sql = $sql;
        // Finds a `$` without a number in the other text too.
        const _: [$crate::storage::statement::Place;
            $crate::storage::statement::count_places(SQL.postgres)] =
            $crate::storage::statement::places(SQL.postgres);

        impl $crate::storage::statement::StatementText for Here {
            type Id = Self;
            const HAS_ID: bool = true;
            const SQLITE_PLACES: Option<&'static [$crate::storage::statement::Place]> =
                Some(&$crate::storage::statement::places::<
                    { $crate::storage::statement::count_places(SQL.sqlite) },
                >(SQL.sqlite));

            fn sql(self) -> $crate::storage::statement::Sql {
                SQL
            }
        }

        Here
    }};
    ($text:expr) => {
        $crate::storage::statement::statement!(@ $crate::storage::statement::Sql::same($text))
    };
}

pub(super) use statement;

/// Creates a statement that selects the rows of a table that a table of attachments (`in`) attaches
/// to a resource. `$1` is the id of the project, and `$2` the id of the resource, in the column
/// `$owner` of the attachments. Their column `$id` holds the value of the column `$key` of the
/// rows.
///
/// Both databases read the attachments first. A planner may prefer to read the other table first,
/// to avoid a sort or because most projects are small, and then reads all its rows of the project:
/// `CROSS JOIN` fixes the order on SQLite, and `OFFSET 0` keeps PostgreSQL from planning the
/// subquery as a join.
macro_rules! attached {
    ($columns:expr, from: $table:literal by $key:literal, in: $attachments:literal ($owner:literal, $id:literal),
     order: $order:literal) => {
        $crate::storage::statement::statement! {
            sqlite: concat!(
                "SELECT ", $columns, " FROM ", $attachments, " AS attached CROSS JOIN ", $table,
                " AS t WHERE attached.project_id = $1 AND attached.", $owner,
                " = $2 AND t.project_id = $1 AND t.", $key, " = attached.", $id, " ORDER BY ", $order
            ),
            postgres: concat!(
                "SELECT ", $columns, " FROM ", $attachments, " AS attached CROSS JOIN LATERAL (SELECT * FROM ", $table,
                " AS named WHERE named.project_id = $1 AND named.", $key, " = attached.", $id,
                " OFFSET 0) AS t WHERE attached.project_id = $1 AND attached.", $owner, " = $2 ORDER BY ", $order
            ),
        }
    };
}

pub(super) use attached;

/// A statement with the values of its parameters. Connections to PostgreSQL find the prepared
/// statement by its text.
pub(super) struct Statement<'p> {
    sql: Sql,
    values: Vec<Value<'p>>,
}

/// A [`Statement`] whose prepared form connections to SQLite find by the type of its text, `T`.
pub(super) struct Typed<'p, T> {
    statement: Statement<'p>,
    text: PhantomData<T>,
}

impl<'p, T: StatementText> Typed<'p, T> {
    /// Creates a statement with its parameters, the values of `$1`, `$2` and so on.
    pub(super) fn new(text: T, parameters: &'p [&'p dyn Parameter]) -> Self {
        Self {
            statement: Statement::new(text.sql(), parameters),
            text: PhantomData,
        }
    }
}

/// Binds a value to the next parameter of a statement of either database.
macro_rules! bind {
    ($out:ident, $value:expr) => {
        match $value {
            Value::Text(Some(text)) => $out.push_bind_param::<Text, str>(text)?,
            Value::Text(None) => $out.push_bind_param::<Nullable<Text>, _>(&None::<String>)?,
            Value::Integer(Some(number)) => $out.push_bind_param::<BigInt, _>(number)?,
            Value::Integer(None) => $out.push_bind_param::<Nullable<BigInt>, _>(&None::<i64>)?,
            Value::Boolean(boolean) => $out.push_bind_param::<Bool, _>(boolean)?,
            Value::Bytes(bytes) => $out.push_bind_param::<Binary, [u8]>(bytes)?,
        }
    };
}

impl<T: StatementText> QueryFragment<Sqlite> for Typed<'_, T> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        let Some(places) = T::SQLITE_PLACES else {
            return self.statement.walk_ast(out);
        };
        let (text, mut written) = (self.statement.sql.sqlite, 0);
        for place in places {
            out.push_sql(&text[written..place.start]);
            bind!(out, value(&self.statement.values, place.number)?);
            written = place.end;
        }
        out.push_sql(&text[written..]);
        Ok(())
    }
}

impl<T: StatementText> QueryId for Typed<'_, T> {
    type QueryId = T::Id;

    const HAS_STATIC_QUERY_ID: bool = T::HAS_ID;
}

impl<T> Query for Typed<'_, T> {
    type SqlType = Untyped;
}

impl<C, T> diesel::RunQueryDsl<C> for Typed<'_, T> {}

impl<'p> Statement<'p> {
    /// Creates a statement with its parameters, the values of `$1`, `$2` and so on.
    pub(super) fn new(sql: Sql, parameters: &'p [&'p dyn Parameter]) -> Self {
        let values = parameters.iter().map(|parameter| parameter.value());
        Self {
            sql,
            values: values.collect(),
        }
    }

    /// Returns the statement with copies of what it borrows.
    pub(super) fn into_owned(self) -> Statement<'static> {
        let values = self.values.into_iter().map(Value::into_owned);
        Statement {
            sql: self.sql,
            values: values.collect(),
        }
    }

    /// Returns the text for PostgreSQL.
    pub(super) fn postgres(&self) -> &'static str {
        self.sql.postgres
    }
}

/// Implements diesel's `QueryFragment` of a statement for one database: writes the text, and binds
/// a value where it has `$1`, `$2` and so on.
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
                    let number = number
                        .parse()
                        .map_err(|_| wrong("a `$` must be followed by a number"))?;
                    bind!(out, value(&self.values, number)?);
                    out.push_sql(rest);
                }
                Ok(())
            }
        }
    };
}

fragment!(Sqlite, sqlite);
fragment!(Pg, postgres);

/// Returns the value of a parameter by the number after its `$` in a statement's text, from 1.
///
/// # Errors
///
/// If the statement has fewer parameters.
fn value<'v>(values: &'v [Value<'v>], number: usize) -> QueryResult<&'v Value<'v>> {
    values
        .get(number.wrapping_sub(1))
        .ok_or_else(|| wrong("there must be a parameter for each number"))
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

impl<C> diesel::RunQueryDsl<C> for Statement<'_> {}

/// A value that a statement binds to a parameter. NULL is the `None` of a type, since PostgreSQL
/// requires the type of each parameter.
pub(super) enum Value<'v> {
    Text(Option<Cow<'v, str>>),
    Integer(Option<i64>),
    Boolean(bool),
    Bytes(Cow<'v, [u8]>),
}

impl Value<'_> {
    fn into_owned(self) -> Value<'static> {
        match self {
            Value::Text(text) => Value::Text(text.map(|text| text.into_owned().into())),
            Value::Integer(number) => Value::Integer(number),
            Value::Boolean(boolean) => Value::Boolean(boolean),
            Value::Bytes(bytes) => Value::Bytes(bytes.into_owned().into()),
        }
    }
}

/// A type whose values a statement can bind to its parameters.
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
    [u8]: |bytes| Value::Bytes(bytes.into()),
    Vec<u8>: |bytes| Value::Bytes(bytes.into()),
    Net4: |network| Value::Text(Some(network.to_string().into())),
    Net6: |network| Value::Text(Some(network.to_string().into())),
    Vec<Tag>: |tags| json(tags),
    Vec<PostgresFirewallRule>: |rules| json(rules),
    Option<Vec<PostgresBackup>>: |backups| match backups {
        Some(backups) => json(backups),
        None => Value::Text(None),
    },
}

/// Strings that a statement binds to one parameter, as a JSON array: SQLite cannot bind a list.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_where_a_text_names_its_parameters() {
        const TEXT: &str = "a = $1$2 OR b = $10 OR c = 'é' AND d = $1";
        const PLACES: [Place; count_places(TEXT)] = places(TEXT);
        const NONE: [Place; count_places("BEGIN")] = places("BEGIN");
        let found = PLACES.map(|place| (place.number, &TEXT[place.start..place.end]));
        assert_eq!(found, [(1, "$1"), (2, "$2"), (10, "$10"), (1, "$1")]);
        assert!(NONE.is_empty());
    }
}
