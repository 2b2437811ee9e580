//! The keyring of the system: the Secret Service, the Keychain of macOS, or the Credential Manager of
//! Windows.

use keyring::{Entry, Error};

use super::Account;
use crate::client::Secret;

pub(super) fn find(account: &Account) -> Result<Option<Secret>, Error> {
    match entry(account)?.get_password() {
        Ok(text) => Ok(Some(Secret::from(text))),
        Err(Error::NoEntry) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn keep(account: &Account, secret: &str) -> Result<(), Error> {
    entry(account)?.set_password(secret)
}

pub(super) fn forget(account: &Account) -> Result<(), Error> {
    match entry(account)?.delete_credential() {
        Err(Error::NoEntry) => Ok(()),
        done => done,
    }
}

fn entry(account: &Account) -> Result<Entry, Error> {
    Entry::new(account.program, &account.key())
}
