//! What a provisioner offers: what databases can be created with, and changed to.

use std::sync::{Arc, PoisonError, RwLock};

use api_types::{PostgresFlavor, PostgresVersion};

use crate::domain::catalogue::Catalogue;

/// What databases can be created with, and changed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The versions of PostgreSQL, or `None` for all.
    pub versions: Option<Vec<PostgresVersion>>,
    /// The versions that a database of a version can be upgraded to. From a version that is not listed, these
    /// are all later ones of `versions`.
    pub upgrades: Vec<(PostgresVersion, Vec<PostgresVersion>)>,
    /// The flavors, or `None` for all.
    pub flavors: Option<Vec<PostgresFlavor>>,
    /// The sizes, each with its storage.
    pub sizes: Catalogue,
    /// Whether the storage of a database can become smaller.
    pub can_shrink: bool,
}

impl Default for Offer {
    /// Returns an offer of everything.
    fn default() -> Self {
        Self {
            versions: None,
            upgrades: Vec::new(),
            flavors: None,
            sizes: Catalogue::default(),
            can_shrink: true,
        }
    }
}

impl Offer {
    /// Returns the versions that a database of a version can be upgraded to, the earliest first.
    #[must_use]
    pub fn upgrades_from(&self, from: &PostgresVersion) -> Vec<PostgresVersion> {
        let mut listed = self.upgrades.iter();
        let listed = listed.find(|(version, _)| version == from);
        let mut to = match (listed, &self.versions) {
            (Some((_, to)), _) => to.clone(),
            (None, Some(versions)) => versions.clone(),
            (None, None) => {
                let all = PostgresVersion::VALUES.iter();
                all.map(|version| PostgresVersion::from(*version)).collect()
            }
        };
        // The numbers, since a provisioner may name others than those of the contract.
        to.retain(|version| number(version) > number(from));
        to.sort_by_key(number);
        to
    }
}

/// Returns the number of a major version, or `None` if it is none.
fn number(version: &PostgresVersion) -> Option<u32> {
    version.to_string().parse().ok()
}

/// The offer that counts now: everything, until it is set. Clones share it, so that it can change while
/// the service runs.
#[derive(Debug, Clone, Default)]
pub struct Offers(Arc<RwLock<Arc<Offer>>>);

impl Offers {
    /// Returns the offer.
    #[must_use]
    pub fn get(&self) -> Arc<Offer> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the offer.
    pub fn set(&self, offer: Offer) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(offer);
    }
}

impl From<Offer> for Offers {
    fn from(offer: Offer) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(offer))))
    }
}
