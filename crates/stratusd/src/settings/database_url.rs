//! The setting that says where the database is, which may hold a password.

use std::fmt;
use std::str::FromStr;

use crate::storage::{Address, AddressError, DatabaseLocation};

/// Where the database is. It prints without the password.
///
/// Whatever is no such place is told when it is needed: whoever parses arguments would repeat it, password and all.
#[derive(Clone)]
pub struct DatabaseUrl {
    database: Result<DatabaseLocation, String>,
    shown: String,
}

impl DatabaseUrl {
    /// The database.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn database(&self) -> anyhow::Result<DatabaseLocation> {
        self.database
            .clone()
            .map_err(|reason| anyhow::anyhow!("the database's URL cannot be used: {reason}"))
    }
}

impl FromStr for DatabaseUrl {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (database, shown) = match place(text) {
            Ok((database, shown)) => (Ok(database), shown),
            Err(reason) => (Err(reason), "[malformed]".to_owned()),
        };
        Ok(Self { database, shown })
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The database that a URL names, and how it is shown; or why it names none, without what may be a secret.
fn place(url: &str) -> Result<(DatabaseLocation, String), String> {
    const NEITHER: &str = "it must be sqlite://FILE or postgres://USER:PASSWORD@HOST:PORT/NAME";
    if let Some(file) = url
        .strip_prefix("sqlite://")
        .filter(|file| !file.is_empty())
    {
        if file.contains('?') {
            return Err("a file has no options: leave out what follows the `?`".to_owned());
        }
        return Ok((DatabaseLocation::Sqlite(file.into()), url.to_owned()));
    }
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(NEITHER.to_owned());
    }
    // After the first one everything would be taken for a host, and be shown, though it may be half of a password.
    if url.matches('@').count() > 1 {
        return Err("every `@` but the one before the host must be written %40".to_owned());
    }
    // It would be taken for a user's name, and be shown, though it is the query of a URL that names no user.
    if url
        .split_once('@')
        .is_some_and(|(user, _)| user.contains("password="))
    {
        return Err("every `@` behind the host must be written %40".to_owned());
    }
    match url.parse::<Address>() {
        Ok(address) => Ok((
            DatabaseLocation::Postgres(url.to_owned()),
            address.to_string(),
        )),
        // What follows a password may be the rest of it, behind an `&`.
        Err(AddressError::Malformed(_)) if url.contains("password=") => Err(NEITHER.to_owned()),
        Err(AddressError::Malformed(error)) => {
            // This names an option, or what of the form is wrong, and never a value.
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            Err(cause.unwrap_or_else(|| NEITHER.to_owned()))
        }
        Err(error) => Err(error.to_string()),
    }
}
