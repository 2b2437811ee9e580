//! Key rotation: seals again, with the current key, every secret that is sealed with another key.

use std::convert::Infallible;

use anyhow::{Context, Result};

use crate::domain::postgres::sealed_for;
use crate::provision::authority;
use crate::seal::Sealer;
use crate::storage::database::{Sealed, reseal, sealed_after};
use crate::storage::{Aborted, Change, Connection, Store};
use crate::world::World;

/// The number of passwords that are resealed in one transaction.
const BATCH: i64 = 500;

/// Seals every secret with the current key. Returns the number of secrets that were sealed with
/// another key.
///
/// # Errors
///
/// If the database fails, or a secret is sealed with a key that the sealer does not have. Nothing
/// is lost, and the rotation can be run again.
pub async fn reseal_all(store: &Store, sealer: &Sealer, world: &World) -> Result<usize> {
    let mut count = usize::from(authority::reseal(store, sealer, world).await?);
    // Until a pass finds none: a service may set a password during a pass, with the old key if it
    // has not been restarted with the new one.
    loop {
        let resealed = reseal_passwords(store, sealer, world).await?;
        count += resealed;
        if resealed == 0 {
            return Ok(count);
        }
    }
}

/// Reseals all passwords in one pass. Returns the number of passwords that were sealed with another
/// key.
async fn reseal_passwords(store: &Store, sealer: &Sealer, world: &World) -> Result<usize> {
    let mut count = 0;
    let mut after = (String::new(), String::new());
    loop {
        let mut reader = store.reader().await?;
        let batch = sealed_after(&mut reader.connection(), (&after.0, &after.1), BATCH).await?;
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
        count += resealed.len();
        store
            .change(Reseal { resealed })
            .await
            .map_err(Aborted::failure)?;
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
