//! Where the credentials of calls come from.

use std::fmt;

use super::description::{Description, SchemeKind};
use super::failure::Failure;
use super::kept::{Account, Place};
use super::sources::Sources;
use super::{kept, secrets};
use crate::client::Secret;

/// Where a credential is.
pub(super) enum Found {
    /// The credential is in the file that a flag names.
    Flag(String),
    /// The credential is in a variable of the environment.
    Variable(String),
    /// The credential is in a file that a variable or the configuration file names.
    File(String),
    /// `auth login` has kept the credential in this place.
    Kept(Secret, Place),
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(path) | Self::File(path) => write!(f, "read from {}", secrets::place(path)),
            Self::Variable(name) => write!(f, "in the variable {name}"),
            Self::Kept(_, place) => write!(f, "kept in {place}"),
        }
    }
}

impl Sources<'_> {
    /// Returns the name of the setting that has the credential of a scheme.
    pub(super) fn scheme_name(&self, at: usize) -> String {
        scheme_name(self.description, at)
    }

    /// Returns whether there is a credential for a scheme.
    pub(super) fn has_credential(&self, at: usize) -> bool {
        matches!(self.found(at), Ok(Some(_)))
    }

    /// Returns the credential for a scheme.
    pub(super) fn credential(&self, at: usize) -> Result<Option<Secret>, Failure> {
        let Some(found) = self.found(at)? else {
            return Ok(None);
        };
        let name = self.scheme_name(at);
        match found {
            Found::Variable(_) => {
                let text = self.variable(&name)?;
                Ok(text.map(|text| Secret::from(text.trim_end_matches(['\r', '\n']))))
            }
            Found::Flag(path) | Found::File(path) => {
                secrets::from_file(&path, &format!("the credential `{name}`")).map(Some)
            }
            Found::Kept(secret, _) => Ok(Some(secret)),
        }
    }

    /// Returns where the credential for a scheme is: in a file that is given as an argument, or else
    /// in its variable, in a file that is set, or where `auth login` has kept it.
    pub(super) fn found(&self, at: usize) -> Result<Option<Found>, Failure> {
        if self.description.schemes[at].kind == SchemeKind::Certificate {
            return Ok(None);
        }
        let set = self.set(at)?;
        if set.is_some() {
            return Ok(set);
        }
        let Some(account) = self.account(at)? else {
            return Ok(None);
        };
        let kept = kept::find(&account)?;
        Ok(kept.map(|(secret, place)| Found::Kept(secret, place)))
    }

    /// Returns where the credential for a scheme is, if it is set and not kept.
    pub(super) fn set(&self, at: usize) -> Result<Option<Found>, Failure> {
        let flag = self.flag(&format!("{}-file", self.scheme_name(at)));
        match flag {
            Some(path) => Ok(Some(Found::Flag(path.clone()))),
            None => self.set_for_all(at),
        }
    }

    /// Returns where the credential for a scheme is, if it is set for all calls and not kept.
    pub(super) fn set_for_all(&self, at: usize) -> Result<Option<Found>, Failure> {
        let name = self.scheme_name(at);
        if self.variable(&name)?.is_some() {
            return Ok(Some(Found::Variable(self.variable_name(&name))));
        }
        let file = self.lasting_value(&format!("{name}-file"))?;
        Ok(file.map(Found::File))
    }

    /// Returns the account of a scheme. It belongs to the host of the API, so that what was kept for
    /// one is never sent to another.
    pub(super) fn account(&self, at: usize) -> Result<Option<Account>, Failure> {
        Ok(self.origin()?.map(|origin| Account {
            program: self.program.name,
            scheme: self.scheme_name(at),
            origin,
            profile: self.profile.clone(),
        }))
    }
}

/// Returns the name of the setting that has the credential of a scheme: `token` if there is only a
/// bearer token.
pub(super) fn scheme_name(description: &Description, at: usize) -> String {
    match &description.schemes[..] {
        [only] if only.kind == SchemeKind::Bearer => "token".to_owned(),
        schemes => schemes[at].name.clone(),
    }
}
