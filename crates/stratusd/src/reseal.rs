//! Rotation of encryption keys: encrypts again, with the current key, every stored secret that is
//! encrypted (sealed) with another key.

use std::convert::Infallible;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::domain::postgres::sealed_for;
use crate::operations::idempotency;
use crate::provision::authority;
use crate::seal::Sealer;
use crate::storage::database::{Sealed, reseal, sealed_after};
use crate::storage::idempotency::Stored;
use crate::storage::{self, Aborted, Change, Connection, Store};
use crate::world::World;

/// The maximum number of passwords that are read at once, and sealed again in one transaction.
const PASSWORDS: i64 = 500;
/// The maximum number of responses: fewer, as one may have several hundred KiB.
const RESPONSES: i64 = 50;

/// Encrypts (seals) with the current key every stored secret that is sealed with another key.
/// Returns the number of these secrets.
///
/// # Errors
///
/// If the database fails, or a secret is sealed with a key that the sealer does not have. What was
/// sealed with the current key before stays so, and the rotation can be run again.
pub async fn reseal_all(store: &Store, sealer: &Sealer, world: &World) -> Result<usize> {
    let mut count = usize::from(authority::reseal(store, sealer, world).await?);
    // Until a pass finds none: a service may seal something during a pass, with the old key if it
    // has not been restarted with the new one.
    loop {
        let resealed = reseal_passwords(store, sealer, world).await?
            + reseal_responses(store, sealer, world).await?;
        count += resealed;
        if resealed == 0 {
            return Ok(count);
        }
    }
}

/// Seals with the current key all passwords of databases that are sealed with another key, in one
/// pass over the table. Returns the number of these passwords.
async fn reseal_passwords(store: &Store, sealer: &Sealer, world: &World) -> Result<usize> {
    let mut count = 0;
    let mut after = (String::new(), String::new());
    loop {
        let mut reader = store.reader().await?;
        let batch = sealed_after(&mut reader.connection(), (&after.0, &after.1), PASSWORDS).await?;
        drop(reader);
        let Some(last) = batch.last() else {
            return Ok(count);
        };
        after = (last.project_id.to_string(), last.id.to_string());
        let mut resealed = Vec::new();
        for old in batch
            .into_iter()
            .filter(|old| !sealer.is_current(&old.password))
        {
            let owner = sealed_for(&old.project_id, &old.id);
            let password = sealer.open(&old.password, &owner);
            let password = password
                .with_context(|| format!("failed to open the password of database {}", old.id))?;
            let sealed = sealer.seal(&password, world, &owner);
            resealed.push((old, sealed));
        }
        if resealed.is_empty() {
            continue;
        }
        count += resealed.len();
        make(store, Reseal { resealed }).await?;
    }
}

/// Seals with the current key all responses of idempotency keys that are sealed with another key,
/// in one pass over the table. Returns the number of these responses.
async fn reseal_responses(store: &Store, sealer: &Sealer, world: &World) -> Result<usize> {
    let mut count = 0;
    let mut after = (String::new(), Vec::new());
    loop {
        let mut reader = store.reader().await?;
        let from = (after.0.as_str(), after.1.as_slice());
        let batch = storage::idempotency::after(&mut reader.connection(), from, RESPONSES).await?;
        drop(reader);
        let Some(last) = batch.last() else {
            return Ok(count);
        };
        after = (last.project_id.to_string(), last.id.clone());
        let mut resealed = Vec::new();
        for old in batch
            .into_iter()
            .filter(|old| !sealer.is_current(&old.sealed))
        {
            let owner = idempotency::sealed_for(&old.project_id, &old.id);
            let response = sealer.open(&old.sealed, &owner);
            let response = response.with_context(|| {
                format!(
                    "failed to open a stored response of project {}",
                    old.project_id
                )
            })?;
            let sealed = sealer.seal(&response, world, &owner);
            resealed.push((old, sealed));
        }
        if resealed.is_empty() {
            continue;
        }
        count += resealed.len();
        make(store, ResealResponses { resealed }).await?;
    }
}

/// Makes a change, and then rests for as long as it took: so that a service beside this has the database
/// for half of the time.
async fn make<C>(store: &Store, change: C) -> Result<()>
where
    C: Change<Output = (), Refusal = Infallible>,
{
    let begun = Instant::now();
    store.change(change).await.map_err(Aborted::failure)?;
    tokio::time::sleep(begun.elapsed()).await;
    Ok(())
}

struct ResealResponses {
    resealed: Vec<(Stored, Vec<u8>)>,
}

impl Change for ResealResponses {
    type Output = ();
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<(), Aborted<Infallible>> {
        for (old, sealed) in &self.resealed {
            storage::idempotency::reseal(tx, old, sealed).await?;
        }
        Ok(())
    }
}

struct Reseal {
    resealed: Vec<(Sealed, Vec<u8>)>,
}

impl Change for Reseal {
    type Output = ();
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<(), Aborted<Infallible>> {
        for (old, sealed) in &self.resealed {
            reseal(tx, old, sealed).await?;
        }
        Ok(())
    }
}
