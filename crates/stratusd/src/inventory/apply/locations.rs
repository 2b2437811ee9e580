//! Applies the locations of an inventory.

use std::collections::{HashMap, HashSet};

use super::{Applied, Run, blocked, checked};
use crate::inventory::{Inventory, StepKind};
use crate::storage::location::Location;
use crate::storage::{self, StorageError};

impl Run<'_, '_> {
    pub(super) async fn locations(&mut self, inventory: &Inventory) -> Applied<()> {
        let existing = storage::location::all(self.tx).await?;
        let existing: HashMap<&str, &Location> = existing
            .iter()
            .map(|location| (location.name.as_str(), location))
            .collect();
        for entry in &inventory.locations {
            let wanted = Location {
                name: checked(&entry.name),
                offers_postgres: entry.postgres,
            };
            let kind = match existing.get(wanted.name.as_str()) {
                Some(location) if **location == wanted => continue,
                Some(_) => StepKind::Update,
                None => StepKind::Create,
            };
            self.step(kind, format!("location {}", wanted.name));
            storage::location::put(self.tx, &wanted).await?;
        }
        Ok(())
    }

    pub(super) async fn prune_locations(&mut self, inventory: &Inventory) -> Applied<()> {
        let wanted: HashSet<&str> = inventory
            .locations
            .iter()
            .map(|entry| &*entry.name.value)
            .collect();
        for location in storage::location::all(self.tx).await? {
            if wanted.contains(location.name.as_str())
                || !self.prunes(format!("location {}", location.name))
            {
                continue;
            }
            // A foreign key rejects the deletion of a location in use. The failed statement does no
            // harm: the transaction is then rolled back anyway.
            match storage::location::delete(self.tx, &location.name).await {
                Err(StorageError::Conflict) => {
                    return blocked(format!(
                        "cannot remove location {}: it still has resources",
                        location.name
                    ));
                }
                deleted => deleted?,
            }
        }
        Ok(())
    }
}
