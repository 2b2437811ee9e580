//! The keyring of the system: the Secret Service, the Keychain of macOS, or the Credential Manager of
//! Windows.

use keyring::{Entry, Error};

use super::Account;
use crate::client::Secret;

/// Why the keyring cannot be used, in words.
type Problem = String;

pub(super) fn find(account: &Account) -> Result<Option<Secret>, Problem> {
    match entry(account)?.get_password() {
        Ok(text) => Ok(Some(Secret::from(text))),
        Err(Error::NoEntry) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

pub(super) fn keep(account: &Account, secret: &str) -> Result<(), Problem> {
    let kept = entry(account)?.set_password(secret);
    kept.map_err(|error| error.to_string())
}

pub(super) fn forget(account: &Account) -> Result<(), Problem> {
    match entry(account)?.delete_credential() {
        Ok(()) | Err(Error::NoEntry) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

fn entry(account: &Account) -> Result<Entry, Problem> {
    // The error of an entry would not say why there is no keyring.
    if let Err(error) = Entry::store_status() {
        return Err(error.to_string());
    }
    Entry::new(account.program, &account.key()).map_err(|error| error.to_string())
}
