//! Rotation of encryption keys: encrypts again, with the current key, every stored secret that is
//! encrypted (sealed) with another key.

use std::convert::Infallible;
use std::time::Instant;

use anyhow::{Result, bail};

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

/// The number of passes over all secrets. A service that was restarted during the first one may have sealed
/// something with the old key; in the second one, none does.
const PASSES: usize = 3;
/// The number of secrets that are named if they cannot be opened.
const NAMED: usize = 10;

/// What a rotation has done.
#[derive(Debug, Default)]
pub struct Rotation {
    /// The number of secrets that are sealed with the current key now, and were not before.
    pub resealed: usize,
    /// The secrets that could not be opened, and are left as they are.
    pub unreadable: Unreadable,
}

/// Secrets that are sealed with a key which the sealer does not have, or are damaged.
#[derive(Debug, Default)]
pub struct Unreadable {
    /// The number of these secrets.
    pub count: usize,
    /// What the first ones are, as in `the password of database pg…`.
    pub named: Vec<String>,
}

impl Unreadable {
    fn note(&mut self, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.named.len() < NAMED {
            self.named.push(what());
        }
    }
}

/// Encrypts (seals) with the current key every stored secret that is sealed with another key. One that
/// cannot be opened is left as it is.
///
/// # Errors
///
/// If the database fails, the key of the certificate authority cannot be opened, or a service still seals
/// with another key. What was sealed with the current key before stays so, and the rotation can be run
/// again.
pub async fn reseal_all(store: &Store, sealer: &Sealer, world: &World) -> Result<Rotation> {
    let mut resealed = usize::from(authority::reseal(store, sealer, world).await?);
    // Until a pass finds none: a service may seal something during a pass, with the old key if it
    // has not been restarted with the new one.
    for _ in 0..PASSES {
        let passwords = reseal_passwords(store, sealer, world).await?;
        let responses = reseal_responses(store, sealer, world).await?;
        let found = passwords.resealed + responses.resealed;
        resealed += found;
        if found == 0 {
            let mut unreadable = passwords.unreadable;
            unreadable.count += responses.unreadable.count;
            unreadable.named.extend(responses.unreadable.named);
            unreadable.named.truncate(NAMED);
            return Ok(Rotation {
                resealed,
                unreadable,
            });
        }
    }
    bail!(
        "{resealed} secrets were encrypted with the current key, but a service still encrypts others with another key: \
         restart every replica with the new key in front, and run this again"
    )
}

/// Seals with the current key all passwords of databases that are sealed with another key, in one
/// pass over the table.
async fn reseal_passwords(store: &Store, sealer: &Sealer, world: &World) -> Result<Rotation> {
    let mut rotation = Rotation::default();
    let mut after = (String::new(), String::new());
    loop {
        let mut reader = store.reader().await?;
        let batch = sealed_after(&mut reader.connection(), (&after.0, &after.1), PASSWORDS).await?;
        drop(reader);
        let Some(last) = batch.last() else {
            return Ok(rotation);
        };
        after = (last.project_id.to_string(), last.id.to_string());
        let mut resealed = Vec::new();
        for old in batch
            .into_iter()
            .filter(|old| !sealer.is_current(&old.password))
        {
            let owner = sealed_for(&old.project_id, &old.id);
            let Ok(password) = sealer.open(&old.password, &owner) else {
                let unreadable = &mut rotation.unreadable;
                unreadable.note(|| format!("the password of database {}", old.id));
                continue;
            };
            let sealed = sealer.seal(&password, world, &owner);
            resealed.push((old, sealed));
        }
        if resealed.is_empty() {
            continue;
        }
        rotation.resealed += resealed.len();
        make(store, Reseal { resealed }).await?;
    }
}

/// Seals with the current key all responses of idempotency keys that are sealed with another key,
/// in one pass over the table.
async fn reseal_responses(store: &Store, sealer: &Sealer, world: &World) -> Result<Rotation> {
    let mut rotation = Rotation::default();
    let mut after = (String::new(), Vec::new());
    loop {
        let mut reader = store.reader().await?;
        let from = (after.0.as_str(), after.1.as_slice());
        let batch = storage::idempotency::after(&mut reader.connection(), from, RESPONSES).await?;
        drop(reader);
        let Some(last) = batch.last() else {
            return Ok(rotation);
        };
        after = (last.project_id.to_string(), last.id.clone());
        let mut resealed = Vec::new();
        for old in batch
            .into_iter()
            .filter(|old| !sealer.is_current(&old.sealed))
        {
            let owner = idempotency::sealed_for(&old.project_id, &old.id);
            let Ok(response) = sealer.open(&old.sealed, &owner) else {
                let unreadable = &mut rotation.unreadable;
                unreadable.note(|| format!("a stored response of project {}", old.project_id));
                continue;
            };
            let sealed = sealer.seal(&response, world, &owner);
            resealed.push((old, sealed));
        }
        if resealed.is_empty() {
            continue;
        }
        rotation.resealed += resealed.len();
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
