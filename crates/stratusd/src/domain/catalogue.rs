//! The sizes of Postgres databases, and the storage that each can have.

use api_types::{PostgresSize, PostgresSizeInput, PostgresStorageSizeInput, StorageSizeGib};

use super::refusal::{Invalid, Refusal, Wrong, enumerate};

/// Every size of a Postgres database, with the storage sizes that it allows, in GiB.
const SIZES: [(PostgresSize, [i32; 3]); 10] = [
    (PostgresSize::Hobby1, [16, 32, 64]),
    (PostgresSize::Hobby2, [32, 64, 128]),
    (PostgresSize::Burstable1, [16, 32, 64]),
    (PostgresSize::Burstable2, [32, 64, 128]),
    (PostgresSize::Standard2, [64, 128, 256]),
    (PostgresSize::Standard4, [128, 256, 512]),
    (PostgresSize::Standard8, [256, 512, 1024]),
    (PostgresSize::Standard16, [512, 1024, 2048]),
    (PostgresSize::Standard30, [1024, 2048, 4096]),
    (PostgresSize::Standard60, [1024, 2048, 4096]),
];

/// Returns every size of a Postgres database.
pub fn sizes() -> impl Iterator<Item = PostgresSize> {
    SIZES.iter().map(|(size, _)| size.clone())
}

/// The sizes that databases can have, with the storage sizes that each allows, in GiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue(Vec<(PostgresSize, Vec<i32>)>);

impl Default for Catalogue {
    /// Returns all sizes.
    fn default() -> Self {
        let sizes = SIZES.iter();
        Self(
            sizes
                .map(|(size, allowed)| (size.clone(), allowed.to_vec()))
                .collect(),
        )
    }
}

impl Catalogue {
    /// Leaves out what is not offered, of which `is_offered` is asked with each size and its storage sizes.
    #[must_use]
    pub fn only(mut self, is_offered: impl Fn(&PostgresSize, i64) -> bool) -> Self {
        for (size, allowed) in &mut self.0 {
            allowed.retain(|gib| is_offered(size, i64::from(*gib)));
        }
        self.0.retain(|(_, allowed)| !allowed.is_empty());
        self
    }

    /// Returns whether no database can be created.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the storage sizes of a size, or `None` if databases cannot have the size.
    #[must_use]
    pub fn allowed(&self, size: &str) -> Option<&[i32]> {
        let mut sizes = self.0.iter();
        let found = sizes.find(|(known, _)| known.as_str() == size);
        found.map(|(_, allowed)| &**allowed)
    }

    /// Returns the size of a Postgres database that a request names.
    ///
    /// # Errors
    ///
    /// If databases cannot have it. The refusal names the sizes that they can have in `details.size`.
    pub fn size(&self, asked: &PostgresSizeInput) -> Result<PostgresSize, Refusal> {
        let mut sizes = self.0.iter();
        let found = sizes.find(|(size, _)| size.as_str() == asked.as_str());
        found
            .map(|(size, _)| size.clone())
            .ok_or_else(|| Refusal::invalid("size", self.choose("must be")))
    }

    /// Returns which sizes a request can name, after words that say why it has to.
    fn choose(&self, why: &str) -> String {
        let names: Vec<&str> = self.0.iter().map(|(size, _)| size.as_str()).collect();
        if names.is_empty() {
            return "no size is offered here".to_owned();
        }
        format!("{why} one of {}", enumerate(&names))
    }

    /// Returns the storage size that a request names, if the database size `size` allows it.
    ///
    /// # Errors
    ///
    /// If `size` does not allow this storage size. The refusal names the storage sizes that `size`
    /// allows in `details.storage_size`. If databases cannot have `size` any more, it names those that they can
    /// have in `details.size`.
    pub fn storage(
        &self,
        size: &PostgresSize,
        asked: PostgresStorageSizeInput,
    ) -> Result<StorageSizeGib, Refusal> {
        let Some(allowed) = self.allowed(size.as_str()) else {
            let why = format!("is `{size}`, which is not offered any more: choose");
            return Err(Refusal::invalid("size", self.choose(&why)));
        };
        let found = allowed.iter().find(|gib| i64::from(**gib) == asked.get());
        found.and_then(|gib| (*gib).try_into().ok()).ok_or_else(|| {
            let wrong = format!("`{size}` allows {} GiB", enumerate(allowed));
            let message = "the size does not allow this storage size".to_owned();
            Refusal::Invalid(Invalid {
                message,
                details: vec![("storage_size", Wrong::One(wrong))],
            })
        })
    }
}
