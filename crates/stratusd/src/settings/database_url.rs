//! The setting that names the database. Its value may contain a password.

use std::fmt;
use std::str::FromStr;

use crate::storage::{Address, AddressError, DatabaseLocation};

/// The URL of the database. It is printed without its password, and as `[malformed]` if it is
/// invalid.
///
/// Parsing never fails, because clap's error would repeat the value with its password.
/// [`DatabaseUrl::database`] reports an invalid URL instead.
#[derive(Clone)]
pub struct DatabaseUrl {
    database: Result<DatabaseLocation, String>,
    printed: String,
}

impl DatabaseUrl {
    /// Returns the database that the URL names.
    ///
    /// # Errors
    ///
    /// If the URL is invalid. The error does not contain any part of the URL that may be secret.
    pub fn database(&self) -> anyhow::Result<DatabaseLocation> {
        self.database
            .clone()
            .map_err(|reason| anyhow::anyhow!("invalid database URL: {reason}"))
    }
}

impl FromStr for DatabaseUrl {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (database, printed) = match parse(text) {
            Ok((database, printed)) => (Ok(database), printed),
            Err(reason) => (Err(reason), "[malformed]".to_owned()),
        };
        Ok(Self { database, printed })
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.printed)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

const FORM: &str = "it must be sqlite://FILE or postgres://USER:PASSWORD@HOST:PORT/NAME";

/// Parses a URL into a database and a string that is safe to print.
///
/// # Errors
///
/// The reason why the URL is invalid, without any value from it.
fn parse(url: &str) -> Result<(DatabaseLocation, String), String> {
    if let Some(file) = url
        .strip_prefix("sqlite://")
        .filter(|file| !file.is_empty())
    {
        if file.contains('?') {
            return Err("an SQLite URL has no options: remove everything from the `?`".to_owned());
        }
        return Ok((DatabaseLocation::Sqlite(file.into()), url.to_owned()));
    }
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        parse_postgres(url)
    } else {
        Err(FORM.to_owned())
    }
}

fn parse_postgres(url: &str) -> Result<(DatabaseLocation, String), String> {
    // The parser takes everything after the first `@` for a host, and we print hosts. With a second
    // `@` it may be half of a password.
    if url.matches('@').count() > 1 {
        return Err("write `@` as %40 everywhere but before the host".to_owned());
    }
    // The parser takes everything before the `@` for a user, and we print users. Here it is the
    // query of a URL without a user.
    if url
        .split_once('@')
        .is_some_and(|(user, _)| user.contains("password="))
    {
        return Err("write `@` as %40 in the options of the URL".to_owned());
    }
    match url.parse::<Address>() {
        Ok(address) => Ok((
            DatabaseLocation::Postgres(url.to_owned()),
            address.to_string(),
        )),
        // The parser's error names an unknown option. Behind a password with an `&` in it, that
        // name may be the rest of the password.
        Err(AddressError::Malformed(_)) if url.contains("password=") => Err(FORM.to_owned()),
        Err(AddressError::Malformed(error)) => {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            Err(cause.unwrap_or_else(|| FORM.to_owned()))
        }
        Err(error) => Err(error.to_string()),
    }
}
