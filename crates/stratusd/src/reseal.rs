//! Rotation of keys: everything that is sealed, sealed again with the current key.

use std::convert::Infallible;

use anyhow::{Context, Result};

use crate::domain::postgres::sealed_for;
use crate::provision::authority;
use crate::seal::Sealer;
use crate::storage::database::{Sealed, reseal, sealed_after};
use crate::storage::{Aborted, Change, Connection, Store};
use crate::world::World;

/// Secrets in one transaction.
const BATCH: i64 = 500;

/// Seals everything with the current key; tells how many secrets were sealed with another one. It looks again until
/// it finds none, since a service may have set a password meanwhile.
///
/// # Errors
///
/// If a secret is sealed with a key that is not there: nothing is lost, and it may be run again.
pub async fn reseal_all(store: &Store, sealer: &Sealer, world: &World) -> Result<usize> {
    let mut count = usize::from(authority::reseal(store, sealer, world).await?);
    loop {
        let resealed = reseal_passwords(store, sealer, world).await?;
        count += resealed;
        if resealed == 0 {
            return Ok(count);
        }
    }
}

/// Goes once through all passwords; tells how many it found that were sealed with another key.
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
            let place = sealed_for(&old.project_id, &old.id);
            let password = sealer.open(&old.password, &place);
            let password = password
                .with_context(|| format!("no key opens the password of database {}", old.id))?;
            let sealed = sealer.seal(&password, world, &place);
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
