//! A database as the provisioner sees it, and what the provisioner reports as it is stored.

use std::time::Duration;

use api_types::{PostgresBackup, PostgresState};

use crate::domain::postgres::timestamp;
use crate::provision::{Backup, MOST_BACKUPS, Observed, ProvisionError, Restored, Shape, Wanted};
use crate::storage::lease::{Due, StepRecord};

/// Returns a database in the provisioner's terms.
pub(super) fn wanted(due: &Due) -> Wanted {
    let database = &due.database;
    let is_creating = database.state == PostgresState::Creating;
    let known = Observed {
        is_available: database.state == PostgresState::Running,
        shape: Shape {
            version: database.version.to_string(),
            vm_size: database.vm_size.to_string(),
            storage_size_gib: database.storage_size_gib.get().into(),
            ha_type: database.ha_type.to_string(),
        },
        used_bytes: database.used_bytes,
        earliest_restore_time: database.earliest_restore_time,
        latest_restore_time: database.latest_restore_time,
        backups: Vec::new(),
    };
    let restored = database.restored_from.as_ref().zip(database.restore_target);
    Wanted {
        project_id: due.project_id.to_string(),
        id: database.id.to_string(),
        location: database.location.to_string(),
        name: database.name.to_string(),
        flavor: database.flavor.to_string(),
        open_to: database
            .firewall_rules
            .iter()
            .map(|rule| rule.cidr.to_string())
            .collect(),
        shape: Shape {
            version: database.target_version.to_string(),
            vm_size: database.target_vm_size.to_string(),
            storage_size_gib: database.target_storage_size_gib.get().into(),
            ha_type: database.ha_type.to_string(),
        },
        // An hour that was set before it was recorded whether one is.
        maintenance_window: u8::try_from(database.maintenance_window_start_at.get())
            .ok()
            .filter(|hour| *hour != 0 || database.maintenance_window_is_set),
        restored: restored.map(|(from, until)| Restored {
            from: from.to_string(),
            until,
        }),
        // Before the first complete step, which records the host, the row has what was asked for, and
        // nobody has observed the database: also if it is deleted by then.
        known: (!is_creating && database.host.is_some()).then_some(known),
    }
}

/// Returns the state of a database that exists.
pub(super) fn state(observed: &Observed) -> PostgresState {
    if observed.is_available {
        PostgresState::Running
    } else {
        PostgresState::Unavailable
    }
}

/// Returns the newest backups of a database as they are stored.
pub(super) fn backups(observed: &[Backup]) -> Result<Vec<PostgresBackup>, ProvisionError> {
    let newest = observed.len().saturating_sub(MOST_BACKUPS);
    let stored = observed[newest..].iter().map(|backup| {
        let key = backup.key.as_str().try_into().ok()?;
        let last_modified = timestamp(backup.last_modified)?;
        Some(PostgresBackup::new(key, last_modified))
    });
    let stored: Option<Vec<_>> = stored.collect();
    stored.ok_or_else(|| unfit("backup"))
}

/// Returns the error of a step whose provisioner reports what the contract has no room for.
pub(super) fn unfit(what: &str) -> ProvisionError {
    ProvisionError::Failed(format!(
        "the provisioner reports a {what} that does not fit the contract"
    ))
}

/// Returns a record that changes nothing, for a database that is due at once.
pub(super) fn unchanged(due: &Due) -> StepRecord {
    let database = due.database.clone();
    StepRecord {
        state: database.state,
        storage_size_gib: database.storage_size_gib,
        version: database.version,
        vm_size: database.vm_size,
        password_is_set: due.password_is_set,
        restarts: due.restarts,
        promotions: due.promotions,
        backups: None,
        host: database.host,
        ca_certificates: database.ca_certificates,
        earliest_restore_time: database.earliest_restore_time,
        latest_restore_time: database.latest_restore_time,
        used_bytes: database.used_bytes,
        attempts: due.attempts,
        failure: None,
        wait: Duration::ZERO,
    }
}
