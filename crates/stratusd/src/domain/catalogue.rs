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

/// Returns the size of a Postgres database that a request names.
///
/// # Errors
///
/// If there is no such size. The refusal names the known sizes in `details.size`.
pub fn size(asked: &PostgresSizeInput) -> Result<PostgresSize, Refusal> {
    let found = SIZES
        .iter()
        .find(|(size, _)| size.as_str() == asked.as_str());
    found.map(|(size, _)| size.clone()).ok_or_else(|| {
        let names: Vec<&str> = SIZES.iter().map(|(size, _)| size.as_str()).collect();
        Refusal::invalid("size", format!("must be one of {}", enumerate(&names)))
    })
}

/// Returns the storage size that a request names, if the database size `size` allows it.
///
/// # Errors
///
/// If `size` does not allow this storage size. The refusal names the storage sizes that `size`
/// allows in `details.storage_size`.
pub fn storage(
    size: &PostgresSize,
    asked: PostgresStorageSizeInput,
) -> Result<StorageSizeGib, Refusal> {
    let allowed = SIZES
        .iter()
        .find(|(known, _)| known == size)
        .map_or([0; 3], |(_, allowed)| *allowed);
    let found = allowed
        .into_iter()
        .find(|gib| i64::from(*gib) == asked.get());
    found.and_then(|gib| gib.try_into().ok()).ok_or_else(|| {
        let wrong = format!("`{size}` allows {} GiB", enumerate(&allowed));
        let message = "the size does not allow this storage size".to_owned();
        Refusal::Invalid(Invalid {
            message,
            details: vec![("storage_size", Wrong::One(wrong))],
        })
    })
}
