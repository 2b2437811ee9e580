//! Local copies of documents on other hosts. Nothing is fetched, so references to other hosts need
//! a copy.

use std::path::PathBuf;
use std::str::FromStr;

use crate::uri;

/// The addresses on other hosts that have local copies.
#[derive(Debug, Clone, Default)]
pub struct Mapping(Vec<LocalCopy>);

impl Mapping {
    /// Returns a mapping without local copies, with which every reference to another host is an
    /// error.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the path of the local copy of an address, or `None` if there is none. If several
    /// entries match, the one with the longest address is used.
    pub(crate) fn locate(&self, address: &str) -> Option<PathBuf> {
        let found = self
            .0
            .iter()
            .filter_map(|copy| Some((copy, copy.below(address)?)));
        // The longest address wins, so that one document below a mapped folder can be mapped
        // elsewhere.
        let (copy, rest) = found.max_by_key(|(copy, _)| copy.address.len())?;
        if rest.is_empty() {
            return Some(copy.path.clone());
        }
        let rest = percent_encoding::percent_decode_str(rest)
            .decode_utf8()
            .ok()?;
        // `..` was resolved as part of the address. The rest is percent-decoded only here, so it is
        // checked again: it must not lead out of the folder.
        let is_inside = rest
            .split(['/', '\\'])
            .all(|part| !matches!(part, "" | "." | ".."))
            && !rest.contains('\0');
        is_inside.then(|| copy.path.join(rest.as_ref()))
    }
}

impl FromIterator<LocalCopy> for Mapping {
    fn from_iter<I: IntoIterator<Item = LocalCopy>>(copies: I) -> Self {
        Self(copies.into_iter().collect())
    }
}

/// A local copy of one document, or of everything below an address that ends in `/`.
///
/// It is written `ADDRESS=PATH`, such as `https://example.com/schemas/=vendor/schemas`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalCopy {
    address: String,
    path: PathBuf,
}

impl LocalCopy {
    /// Returns the rest of an address after that of the copy, or `None` if the copy is not for this
    /// address.
    fn below<'t>(&self, address: &'t str) -> Option<&'t str> {
        let rest = address.strip_prefix(&self.address)?;
        let is_below = rest.is_empty() != self.address.ends_with('/');
        is_below.then_some(rest)
    }
}

/// Writes `ADDRESS=PATH`, as [`FromStr`] reads it.
impl std::fmt::Display for LocalCopy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.address, self.path.display())
    }
}

/// The reason why a string is not a [`LocalCopy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WrongLocalCopy {
    /// There is no `=`, or nothing before or after it.
    #[error("write `ADDRESS=PATH`, such as `https://example.com/schemas/=vendor/schemas`")]
    Incomplete,
    /// The part before `=` is not a URI with a scheme, or contains `#`.
    #[error(
        "the address before `=` must be a URI with a scheme and without `#`, such as `https://example.com/a.yaml`"
    )]
    Address,
}

impl FromStr for LocalCopy {
    type Err = WrongLocalCopy;

    fn from_str(text: &str) -> Result<Self, WrongLocalCopy> {
        // The last `=` separates: the query of an address can contain `=`, and a path rarely does.
        let (address, path) = text.rsplit_once('=').ok_or(WrongLocalCopy::Incomplete)?;
        if address.is_empty() || path.is_empty() {
            return Err(WrongLocalCopy::Incomplete);
        }
        let address = uri::absolute(None, address)
            .filter(|_| !address.contains('#'))
            .ok_or(WrongLocalCopy::Address)?;
        Ok(Self {
            address: address.as_str().to_owned(),
            path: PathBuf::from(path),
        })
    }
}
