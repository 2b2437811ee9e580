//! What a provisioner offers: what databases can be created with, and changed to.

use std::sync::{Arc, PoisonError, RwLock};

use api_types::{PostgresFlavor, PostgresVersion};

use crate::domain::catalogue::Catalogue;

/// What databases can be created with, and changed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The versions of PostgreSQL, or `None` for all.
    pub versions: Option<Vec<PostgresVersion>>,
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
            flavors: None,
            sizes: Catalogue::default(),
            can_shrink: true,
        }
    }
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
