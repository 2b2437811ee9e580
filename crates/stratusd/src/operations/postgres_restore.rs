//! Operations on the backups of Postgres databases.

use api_types::{
    Count, KeyOrderColumn, Location, MaintenanceHour, Name, PageSize, Postgres, PostgresBackupPage,
    PostgresFirewallRule, PostgresFirewallRuleId, PostgresId, PostgresParent, PostgresRestore,
    PostgresState, Reference, StartAfter,
};
use jiff::Timestamp as Moment;

use super::postgres::{
    ensure_new_name, ensure_no_id, ensure_offered, is_kept, load, lookup, shown, stored_tags,
    together,
};
use super::{Context, Result, Scope, ensure_room};
use crate::domain::entity_tag::Tagged;
use crate::domain::id::Id;
use crate::domain::list::LARGEST;
use crate::domain::postgres::{ensure_few_tags, sealed_for, timestamp};
use crate::domain::{Refusal, password, quota};
use crate::provision::Offer;
use crate::storage::database::Database;
use crate::storage::{self, Change, Connection};

/// The query parameters of `postgres_backup_list`.
#[derive(Debug, Clone)]
pub struct BackupQuery {
    /// The page starts after the backup with this key. `None` for the start of the list.
    pub start_after: Option<StartAfter>,
    /// The number of items that the caller asks for. A page has at most 1000.
    pub page_size: PageSize,
    /// The order of the list. Other values than `key` are refused.
    pub order_column: KeyOrderColumn,
}

/// The query `postgres_backup_list`: returns a page of the backups of a database, by key.
///
/// # Panics
///
/// Never: a database has at most [`MOST_BACKUPS`](crate::provision::MOST_BACKUPS) backups.
pub async fn list(
    c: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
    query: &BackupQuery,
) -> Result<PostgresBackupPage> {
    let found = lookup(c, scope, reference).await?;
    let found = found.ok_or(Refusal::NotFound)?;
    if query.order_column.as_str() != "key" {
        return Err(Refusal::invalid("order_column", "must be `key`").into());
    }
    let mut backups = storage::database::backups(c, &scope.project, &found.id).await?;
    let count = i64::try_from(backups.len()).ok();
    let count = count.and_then(|count| Count::try_from(count).ok());
    let count = count.expect("a database has few backups");
    // A provisioner may list them in the order of their times.
    backups.sort_by(|one, other| one.key.as_str().cmp(other.key.as_str()));
    if let Some(after) = &query.start_after {
        backups.retain(|backup| backup.key.as_str() > after.as_str());
    }
    let size = query.page_size.get().min(LARGEST);
    backups.truncate(usize::try_from(size).unwrap_or(usize::MAX));
    Ok(PostgresBackupPage::new(count, backups))
}

/// The change `postgres_restore`: inserts the row of a new database that has the data of another one
/// at a time, with the state `creating`. The reconciler then creates the database.
#[derive(Debug)]
pub struct Restore {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the other database.
    pub reference: Reference,
    /// The request body, with the name of the new database and the time.
    pub body: PostgresRestore,
    /// The locations in which Postgres databases can be created.
    pub offered_in: Vec<Location>,
    /// The source of time and randomness, the sealer of the password, and the default quotas.
    pub context: Context,
}

impl Change for Restore {
    type Output = Tagged<Postgres>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Tagged<Postgres>> {
        let found = load(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        // Locked, so that the other database is not deleted before the new one is there, which then
        // prevents it.
        storage::lock::database(tx, &self.scope.project, &found.id).await?;
        let found = storage::database::lookup_id(tx, self.scope.key(), found.id.as_str()).await?;
        let found = found.filter(is_kept).ok_or(Refusal::NotFound)?;
        let until = self.checked(&found)?;
        ensure_new_name(tx, &self.scope, self.body.name.as_str()).await?;
        let quotas = &self.context.quotas;
        ensure_room(tx, &self.scope.project, quota::Kind::Postgres, quotas).await?;
        let made = self.made(&found, until);
        let now = storage::clock::now(tx, &self.context.world).await?;
        storage::database::insert(tx, &self.scope.project, &made, now).await?;
        Ok(shown(made, &self.scope, &self.context.sealer)?)
    }
}

impl Restore {
    /// Checks the name, the location, what the new database has from the other one, the number of its tags, and
    /// the time, which is returned in microseconds since 1970.
    ///
    /// # Errors
    ///
    /// If one of them cannot be used. The refusal names all that cannot be used, not only the first.
    fn checked(&self, other: &Database) -> std::result::Result<i64, Refusal> {
        let name = ensure_no_id(self.body.name.as_str()).err();
        let location = ensure_offered(&self.scope.location, &self.offered_in).err();
        let like = ensure_like(other, &self.context.postgres_offers.get()).err();
        let tags = ensure_few_tags(self.body.tags.as_deref().map_or(0, <[_]>::len)).err();
        let mut refused: Vec<Refusal> =
            [name, location, like, tags].into_iter().flatten().collect();
        let until =
            ensure_no_upgrade(other).and_then(|()| until(self.body.restore_target.as_str(), other));
        match until {
            Ok(until) if refused.is_empty() => Ok(until),
            until => {
                refused.extend(until.err());
                Err(together(refused))
            }
        }
    }

    /// Returns the row of the new database, with a generated id and a generated password.
    fn made(&self, other: &Database, until: i64) -> Database {
        let world = &self.context.world;
        let id = PostgresId::generate(world);
        let superuser_password = password::generate(world);
        Database {
            location: other.location.clone(),
            name: self.body.name.clone(),
            flavor: other.flavor.clone(),
            ha_type: other.ha_type.clone(),
            state: PostgresState::Creating,
            storage_size_gib: other.target_storage_size_gib,
            target_storage_size_gib: other.target_storage_size_gib,
            // The version of the data, and not that to which the other database is to be upgraded.
            version: other.version.clone(),
            target_version: other.version.clone(),
            vm_size: other.target_vm_size.clone(),
            target_vm_size: other.target_vm_size.clone(),
            maintenance_window_start_at: MaintenanceHour::try_from(0).expect("midnight is an hour"),
            maintenance_window_is_set: false,
            parent: Some(path(&other.location, &other.name)),
            restored_from: Some(other.id.clone()),
            restore_target: Some(until),
            tags: stored_tags(self.body.tags.as_deref().unwrap_or_default()),
            firewall_rules: self.firewall_rules(&other.firewall_rules),
            password: self.context.sealer.seal(
                &superuser_password,
                world,
                &sealed_for(&self.scope.project, &id),
            ),
            host: None,
            ca_certificates: None,
            earliest_restore_time: None,
            latest_restore_time: world.now() / 1000,
            used_bytes: 0,
            revision: 0,
            id,
        }
    }

    /// Returns rules like those of the other database, with ids of their own.
    fn firewall_rules(&self, other: &[PostgresFirewallRule]) -> Vec<PostgresFirewallRule> {
        let copy = |rule: &PostgresFirewallRule| {
            let id = PostgresFirewallRuleId::generate(&self.context.world);
            PostgresFirewallRule::new(rule.cidr.clone(), rule.description.clone(), id)
        };
        other.iter().map(copy).collect()
    }
}

/// Checks that a database with the version, flavor, size and storage of another one can be created.
///
/// # Errors
///
/// If one of them is not offered any more.
fn ensure_like(other: &Database, offer: &Offer) -> std::result::Result<(), Refusal> {
    let (size, gib) = (&other.target_vm_size, other.target_storage_size_gib);
    let (version, flavor) = (&other.version, &other.flavor);
    let has = if offer
        .versions
        .as_ref()
        .is_some_and(|all| !all.contains(version))
    {
        format!("the version {version}")
    } else if offer
        .flavors
        .as_ref()
        .is_some_and(|all| !all.contains(flavor))
    {
        format!("the flavor `{flavor}`")
    } else if offer
        .sizes
        .allowed(size.as_str())
        .is_none_or(|all| !all.contains(&gib.get()))
    {
        format!("the size `{size}` with {gib} GiB")
    } else {
        return Ok(());
    };
    let wrong = format!("has {has}, which is not offered any more");
    Err(Refusal::invalid("postgres_database_reference", wrong))
}

/// Returns the path of a database, as the property `parent` has it.
fn path(location: &Location, name: &Name) -> PostgresParent {
    let path = format!("/location/{location}/postgres/{name}");
    PostgresParent::try_from(path).expect("the path of a database has its pattern")
}

/// Checks that a database is not to be upgraded: an upgrade removes the backups of the version before, which
/// a restoration that has begun needs.
fn ensure_no_upgrade(other: &Database) -> std::result::Result<(), Refusal> {
    if other.target_version == other.version {
        return Ok(());
    }
    let wrong = format!(
        "cannot be restored while the database is upgraded from version {} to {}",
        other.version, other.target_version
    );
    Err(Refusal::invalid("restore_target", wrong))
}

/// Returns a time that a database can be restored to, in microseconds since 1970.
///
/// # Errors
///
/// If the database cannot be restored to this time.
fn until(text: &str, of: &Database) -> std::result::Result<i64, Refusal> {
    let refused = |wrong: String| Err(Refusal::invalid("restore_target", wrong));
    let Some(earliest) = of.earliest_restore_time else {
        return refused("the database has no backup yet".to_owned());
    };
    let until = text.parse().map(Moment::as_microsecond);
    let (first, last) = (seconds(earliest), seconds(of.latest_restore_time));
    match until {
        Ok(until) if (first..=last).contains(&until) => Ok(until),
        _ => match (timestamp(earliest), timestamp(of.latest_restore_time)) {
            (Some(first), Some(last)) if earliest <= of.latest_restore_time => refused(format!(
                "must be from {first} to {last}, between which the database can be restored"
            )),
            _ => refused("the database cannot be restored to any time yet".to_owned()),
        },
    }
}

/// Converts seconds to microseconds.
fn seconds(seconds: i64) -> i64 {
    seconds.saturating_mul(1_000_000)
}
