//! Where documents of other hosts lie on this machine: nothing is fetched, so whoever refers to them keeps copies.

use std::path::PathBuf;
use std::str::FromStr;

use crate::uri;

/// Addresses, and the local files and folders that stand for them.
#[derive(Debug, Clone, Default)]
pub struct Mapping(Vec<LocalCopy>);

impl Mapping {
    /// Nothing is kept locally: every reference to another host is a finding.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The file that stands for an address: of the copy whose address says most about it.
    pub(crate) fn locate(&self, address: &str) -> Option<PathBuf> {
        let found = self
            .0
            .iter()
            .filter_map(|copy| Some((copy, copy.below(address)?)));
        let (copy, rest) = found.max_by_key(|(copy, _)| copy.address.len())?;
        if rest.is_empty() {
            return Some(copy.path.clone());
        }
        let rest = percent_encoding::percent_decode_str(rest)
            .decode_utf8()
            .ok()?;
        // Dots were resolved with the address; what is decoded only now must not climb out of the folder.
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

/// A local copy: of one document, or of everything below an address that ends in `/`.
///
/// Written `ADDRESS=PATH`, such as `https://example.com/schemas/=vendor/schemas`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalCopy {
    address: String,
    path: PathBuf,
}

impl LocalCopy {
    /// What an address says beyond that of the copy; nothing if it is another.
    fn below<'t>(&self, address: &'t str) -> Option<&'t str> {
        let rest = address.strip_prefix(&self.address)?;
        let is_below = rest.is_empty() != self.address.ends_with('/');
        is_below.then_some(rest)
    }
}

/// `ADDRESS=PATH`, as it was written.
impl std::fmt::Display for LocalCopy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.address, self.path.display())
    }
}

/// Why a text is no [`LocalCopy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WrongLocalCopy {
    /// There is no `=`, or nothing beside it.
    #[error("write `ADDRESS=PATH`, such as `https://example.com/schemas/=vendor/schemas`")]
    Incomplete,
    /// What stands before the `=` is no address.
    #[error(
        "the address before `=` must be a URI with a scheme and without `#`, such as `https://example.com/a.yaml`"
    )]
    Address,
}

impl FromStr for LocalCopy {
    type Err = WrongLocalCopy;

    fn from_str(text: &str) -> Result<Self, WrongLocalCopy> {
        // An address may hold `=` in its query, and a path hardly does.
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
