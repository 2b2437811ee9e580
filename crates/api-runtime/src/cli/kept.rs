//! Credentials that `auth login` has kept: in the keyring of the system, if the program is built with
//! it, or else in a file that only its owner can read.

mod file;
#[cfg(feature = "keyring")]
mod keyring;

use std::fmt;
use std::path::PathBuf;

use super::failure::Failure;
use crate::client::Secret;

/// What a kept credential is for.
pub(super) struct Account {
    pub(super) program: &'static str,
    pub(super) scheme: String,
    /// The scheme, host and port of the API.
    pub(super) origin: String,
    pub(super) profile: Option<String>,
}

impl Account {
    /// Returns the name of the account among those of its program.
    fn key(&self) -> String {
        let Self { scheme, origin, .. } = self;
        match &self.profile {
            Some(profile) => format!("{scheme} {origin} {profile}"),
            None => format!("{scheme} {origin}"),
        }
    }
}

/// Where a credential is kept.
pub(super) enum Place {
    File(PathBuf),
    #[cfg(feature = "keyring")]
    Keyring,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            #[cfg(feature = "keyring")]
            Self::Keyring => f.write_str("the keyring of the system"),
        }
    }
}

/// Whether the program is built with the keyring of the system.
pub(super) const HAS_KEYRING: bool = cfg!(feature = "keyring");

/// Returns a credential and where it is kept.
pub(super) fn find(account: &Account) -> Result<Option<(Secret, Place)>, Failure> {
    if let Some(found) = file::find(account)? {
        return Ok(Some(found));
    }
    // A machine without a keyring has nothing in it.
    #[cfg(feature = "keyring")]
    if let Ok(Some(secret)) = keyring::find(account) {
        return Ok(Some((secret, Place::Keyring)));
    }
    Ok(None)
}

/// Keeps a credential in place of the one before it, and returns where.
pub(super) fn keep(account: &Account, secret: &str, in_file: bool) -> Result<Place, Failure> {
    #[cfg(feature = "keyring")]
    if !in_file {
        let kept = keyring::keep(account, secret);
        kept.map_err(|problem| {
            Failure::other(format!(
                "the keyring of the system cannot be used ({problem}); --in-file keeps the credential in a file that only you can read"
            ))
        })?;
        // Otherwise that one would be found first.
        file::forget(account)?;
        return Ok(Place::Keyring);
    }
    // Without a keyring there is only the file.
    let _ = in_file;
    let path = file::keep(account, secret)?;
    #[cfg(feature = "keyring")]
    // The file is looked at first, so what stays in the keyring is not found.
    let _ = keyring::forget(account);
    Ok(Place::File(path))
}

/// Removes a credential, and returns whether there was one.
pub(super) fn forget(account: &Account) -> Result<bool, Failure> {
    let was_in_file = file::forget(account)?;
    #[cfg(feature = "keyring")]
    if keyring::find(account).is_ok_and(|found| found.is_some()) {
        return keyring::forget(account).map(|()| true).map_err(|problem| {
            Failure::other(format!("the keyring of the system keeps it ({problem})"))
        });
    }
    Ok(was_in_file)
}
