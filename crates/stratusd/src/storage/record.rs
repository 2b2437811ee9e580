//! Records: the rows that a statement returns, whose columns are parsed into types of the domain.

use std::cell::Cell;
use std::marker::PhantomData;

use api_types::{
    CaCertificates, Cidr, Count, FirewallId, FirewallProtocol, FirewallRuleId, HealthCheckEndpoint,
    HealthCheckProtocol, InferenceApiKeyEnding, InferenceApiKeyId, Ipv4Address, Ipv4Cidr,
    Ipv6Address, Ipv6Cidr, LoadBalancerAlgorithm, LoadBalancerId, Location, MaintenanceHour, Name,
    NetworkStack, NicId, Port, PortRange, PostgresBackup, PostgresFirewallRule, PostgresFlavor,
    PostgresHaType, PostgresId, PostgresParent, PostgresSize, PostgresState, PostgresVersion,
    PrivateSubnetId, PrivateSubnetState, ProjectId, StorageSizeGib, Tag, VmId, VmSize, VmState,
};
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, QueryableByName};
use diesel::row::{Field as _, NamedRow};
use diesel::sql_types::{BigInt, Binary, Bool, Text};

use super::error::Corrupt;
use super::statement::{Parameter, Value};
use crate::domain::network::{Net4, Net6};
use crate::give_way::give_way;

/// A type that is parsed from the columns of a row.
///
/// Columns are read by position, since a search for the name of each would take longer than to
/// parse it. So a statement must list its columns in the order in which [`Record::read`] reads
/// them.
pub(super) trait Record: Sized + Send + 'static {
    /// The number of columns that [`Record::read`] reads.
    const COLUMNS: usize;

    /// Parses a row.
    ///
    /// # Errors
    ///
    /// Names the column whose stored value does not fit the type of its field.
    fn read(row: &dyn Row) -> Result<Self, Corrupt>;
}

/// A record that may fail to parse. The failure is the `Err` of this row alone, and the statement
/// returns its other rows.
impl<R: Record> Record for Result<R, Corrupt> {
    const COLUMNS: usize = R::COLUMNS;

    fn read(row: &dyn Row) -> Result<Self, Corrupt> {
        Ok(R::read(row))
    }
}

/// A record of one column, whose value is not read: it shows only that there is a row.
pub(super) struct Present;

impl Record for Present {
    const COLUMNS: usize = 1;

    fn read(_: &dyn Row) -> Result<Self, Corrupt> {
        Ok(Self)
    }
}

/// Defines a record: a struct whose fields are named as the columns of a table.
///
/// With `columns name`, also defines a macro `name!()` that expands to the list of these columns
/// for a statement: as columns of the alias `t`, or without an alias for `name!(bare)`. Fields
/// after `with` are not in this list, since they come from other tables: a statement must name them
/// after the list.
macro_rules! record {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident in $table:literal {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty,)*
        }
        $(with { $($(#[$other_meta:meta])* $other_vis:vis $other:ident: $other_type:ty,)* })?
        $(columns $columns:ident;)?
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $type,)*
            $($($(#[$other_meta])* $other_vis $other: $other_type,)*)?
        }

        impl $crate::storage::record::Record for $name {
            const COLUMNS: usize =
                [$(stringify!($field),)* $($(stringify!($other),)*)?].len();

            fn read(
                row: &dyn $crate::storage::record::Row,
            ) -> Result<Self, $crate::storage::error::Corrupt> {
                Ok(Self {
                    $($field: $crate::storage::record::column(row, $table, stringify!($field))?,)*
                    $($($other: $crate::storage::record::column(row, $table, stringify!($other))?,)*)?
                })
            }
        }

        $crate::storage::record::columns!($($columns)?: $($field)*);
    };
}

macro_rules! columns {
    (: $($field:ident)*) => {};
    ($columns:ident: $($field:ident)*) => {
        macro_rules! $columns {
            () => {
                $crate::storage::record::column_list!("t.": $($field)*)
            };
            (bare) => {
                $crate::storage::record::column_list!("": $($field)*)
            };
        }
    };
}

macro_rules! column_list {
    ($alias:literal: $first:ident $($rest:ident)*) => {
        concat!($alias, stringify!($first) $(, ", ", $alias, stringify!($rest))*)
    };
}

pub(super) use {column_list, columns, record};

/// Parses the next column of a row, which must be the one named `column`.
///
/// # Errors
///
/// Names the table and the column if the stored value does not fit the type, but not the value,
/// which may be a secret.
pub(super) fn column<T: Field>(
    row: &dyn Row,
    table: &'static str,
    column: &'static str,
) -> Result<T, Corrupt> {
    T::read(row, column).map_err(|_| Corrupt { table, column })
}

/// A type that reads the columns of a row of SQLite or PostgreSQL, one after the other. Records are
/// parsed from `dyn Row`, so that one function serves both databases.
pub(super) trait Row {
    fn text(&self, column: &str) -> deserialize::Result<Option<String>>;
    fn integer(&self, column: &str) -> deserialize::Result<Option<i64>>;
    fn boolean(&self, column: &str) -> deserialize::Result<Option<bool>>;
    fn bytes(&self, column: &str) -> deserialize::Result<Option<Vec<u8>>>;
}

/// A wrapper of a record, through which diesel parses a row into it. A row with another number of
/// columns than the record is an error.
pub(super) struct Read<R>(pub R);

impl<DB, R> QueryableByName<DB> for Read<R>
where
    DB: Backend,
    R: Record,
    String: FromSql<Text, DB>,
    i64: FromSql<BigInt, DB>,
    bool: FromSql<Bool, DB>,
    Vec<u8>: FromSql<Binary, DB>,
{
    fn build<'a>(row: &impl NamedRow<'a, DB>) -> deserialize::Result<Self> {
        let returned = row.field_count();
        // A release build compares no names, so this is what notices a wrong list.
        if returned != R::COLUMNS {
            let wrong = format!(
                "a statement returns {returned} columns for a record of {}",
                R::COLUMNS
            );
            return Err(wrong.into());
        }
        // A long page has a thousand rows, or some with long texts.
        give_way();
        let row = DieselRow {
            row,
            next: Cell::new(0),
            database: PhantomData,
        };
        Ok(Self(R::read(&row)?))
    }
}

struct DieselRow<'r, R, DB> {
    row: &'r R,
    /// The position in the row of the next column to read.
    next: Cell<usize>,
    database: PhantomData<DB>,
}

impl<'a, DB, R> DieselRow<'_, R, DB>
where
    DB: Backend,
    R: NamedRow<'a, DB>,
{
    /// Reads the next column. Returns `None` if it is NULL. Debug builds panic if it is not named
    /// `column`.
    fn next<T, V: FromSql<T, DB>>(&self, column: &str) -> deserialize::Result<Option<V>> {
        let position = self.next.get();
        self.next.set(position + 1);
        let field = diesel::row::Row::get(self.row, position)
            .ok_or("a record reads more columns than it has")?;
        debug_assert_eq!(field.field_name(), Some(column), "column {position}");
        field.value().map(V::from_sql).transpose()
    }
}

impl<'a, DB, R> Row for DieselRow<'_, R, DB>
where
    DB: Backend,
    R: NamedRow<'a, DB>,
    String: FromSql<Text, DB>,
    i64: FromSql<BigInt, DB>,
    bool: FromSql<Bool, DB>,
    Vec<u8>: FromSql<Binary, DB>,
{
    fn text(&self, column: &str) -> deserialize::Result<Option<String>> {
        self.next::<Text, _>(column)
    }

    fn integer(&self, column: &str) -> deserialize::Result<Option<i64>> {
        self.next::<BigInt, _>(column)
    }

    fn boolean(&self, column: &str) -> deserialize::Result<Option<bool>> {
        self.next::<Bool, _>(column)
    }

    fn bytes(&self, column: &str) -> deserialize::Result<Option<Vec<u8>>> {
        self.next::<Binary, _>(column)
    }
}

/// The error for a column that cannot be read, or whose value does not fit the type that it is
/// parsed into.
pub(super) struct Unfit;

/// A type that a column is parsed into.
pub(super) trait Column: Sized {
    /// Parses a column. Returns `None` if it is NULL.
    fn read(row: &dyn Row, column: &str) -> Result<Option<Self>, Unfit>;
}

/// A type that a field of a record can have: a [`Column`], or an `Option` of one if the column may
/// be NULL. NULL is an error for any other type.
pub(super) trait Field: Sized {
    fn read(row: &dyn Row, column: &str) -> Result<Self, Unfit>;
}

impl<T: Column> Field for T {
    fn read(row: &dyn Row, column: &str) -> Result<Self, Unfit> {
        T::read(row, column)?.ok_or(Unfit)
    }
}

impl<T: Column> Field for Option<T> {
    fn read(row: &dyn Row, column: &str) -> Result<Self, Unfit> {
        T::read(row, column)
    }
}

/// Implements [`Column`] for types. Each is read by a method of [`Row`], and then parsed by a
/// function unless it is the stored type itself.
macro_rules! column {
    ($($type:ty: $read:ident $(, $parse:expr)?;)*) => {
        $(impl Column for $type {
            fn read(row: &dyn Row, column: &str) -> Result<Option<Self>, Unfit> {
                let stored = row.$read(column).map_err(|_| Unfit)?;
                $(let stored = stored.map($parse).transpose().map_err(|_| Unfit)?;)?
                Ok(stored)
            }
        })*
    };
}

column! {
    String: text;
    i64: integer;
    bool: boolean;
    Vec<u8>: bytes;
    Net4: text, |text| Net4::parse(&text).ok_or(Unfit);
    Net6: text, |text| Net6::parse(&text).ok_or(Unfit);
    Vec<Tag>: text, |text| serde_json::from_str(&text);
    Vec<PostgresFirewallRule>: text, |text| serde_json::from_str(&text);
    Vec<PostgresBackup>: text, |text| serde_json::from_str(&text);
    Count: integer, Count::try_from;
}

/// Implements [`Column`] and [`Parameter`] for types of the contract that are stored as strings.
macro_rules! text {
    ($($type:ty: $parse:expr;)*) => {
        column! { $($type: text, $parse;)* }

        $(impl Parameter for $type {
            fn value(&self) -> Value<'_> {
                Value::Text(Some(self.as_str().into()))
            }
        }

        impl Parameter for Option<$type> {
            fn value(&self) -> Value<'_> {
                Value::Text(self.as_ref().map(|value| value.as_str().into()))
            }
        })*
    };
}

text! {
    CaCertificates: CaCertificates::try_from;
    Cidr: Cidr::try_from;
    FirewallId: FirewallId::try_from;
    FirewallProtocol: |text| text.parse();
    FirewallRuleId: FirewallRuleId::try_from;
    HealthCheckEndpoint: HealthCheckEndpoint::try_from;
    HealthCheckProtocol: |text| text.parse();
    InferenceApiKeyEnding: InferenceApiKeyEnding::try_from;
    InferenceApiKeyId: InferenceApiKeyId::try_from;
    Ipv4Address: Ipv4Address::try_from;
    Ipv4Cidr: Ipv4Cidr::try_from;
    Ipv6Address: Ipv6Address::try_from;
    Ipv6Cidr: Ipv6Cidr::try_from;
    LoadBalancerAlgorithm: |text| text.parse();
    LoadBalancerId: LoadBalancerId::try_from;
    Location: Location::try_from;
    Name: Name::try_from;
    NetworkStack: |text| text.parse();
    NicId: NicId::try_from;
    PortRange: PortRange::try_from;
    PostgresFlavor: |text| text.parse();
    PostgresHaType: |text| text.parse();
    PostgresId: PostgresId::try_from;
    PostgresParent: PostgresParent::try_from;
    PostgresSize: |text| text.parse();
    PostgresState: |text| text.parse();
    PostgresVersion: |text| text.parse();
    PrivateSubnetId: PrivateSubnetId::try_from;
    PrivateSubnetState: |text| text.parse();
    ProjectId: ProjectId::try_from;
    VmId: VmId::try_from;
    VmSize: |text| text.parse();
    VmState: |text| text.parse();
}

/// Implements [`Column`] and [`Parameter`] for types of the contract that hold an `i32`. Their
/// columns have 64 bits, as all columns of numbers do.
macro_rules! number {
    ($($type:ty),* $(,)?) => {
        column! { $($type: integer, |number| {
            let number = i32::try_from(number).ok();
            number.and_then(|number| number.try_into().ok()).ok_or(Unfit)
        };)* }

        $(impl Parameter for $type {
            fn value(&self) -> Value<'_> {
                Value::Integer(Some(i64::from(self.get())))
            }
        })*
    };
}

number!(MaintenanceHour, Port, StorageSizeGib);
