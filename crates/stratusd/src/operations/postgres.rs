//! Operations on Postgres databases.

use api_types::{
    Cidr, ConnectionString, IfMatch, Location, MaintenanceHour, Postgres, PostgresCreate,
    PostgresFields, PostgresFirewallRule, PostgresFirewallRuleId, PostgresId, PostgresPage,
    PostgresResetSuperuserPassword, PostgresSize, PostgresState, PostgresStorageSizeInput,
    PostgresSummary, PostgresSummaryFields, PostgresUpdate, ProjectId, Reference, StorageSizeGib,
    Tag, TagInput, Timestamp,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Context, Result, Scope, ensure_room};
use crate::domain::entity_tag::{self, Tagged, ensure_match};
use crate::domain::id::{Id, Kind, Referred, name_of};
use crate::domain::list::ListQuery;
use crate::domain::postgres::{self, ensure_few_tags, fits, sealed_for};
use crate::domain::refusal::{Invalid, Wrong, enumerate};
use crate::domain::{Caller, Refusal, password, quota};
use crate::provision::Offer;
use crate::seal::Sealer;
use crate::storage::database::Part;
use crate::storage::database::{Database, DatabaseSummary};
use crate::storage::location;
use crate::storage::{self, Change, Connection, Corrupt, StorageError};

/// The query `postgres_list`: returns a page of the databases of a location.
pub async fn list(
    c: &mut Connection<'_>,
    scope: &Scope,
    query: &ListQuery,
) -> Result<PostgresPage> {
    page(c, (&scope.project, Some(&scope.location)), query).await
}

/// The query `project_postgres_list`: returns a page of the databases of the caller's project.
pub async fn list_of_project(
    c: &mut Connection<'_>,
    caller: &Caller,
    query: &ListQuery,
) -> Result<PostgresPage> {
    page(c, (&caller.project_id, None), query).await
}

async fn page(
    c: &mut Connection<'_>,
    (project, location): (&ProjectId, Option<&Location>),
    query: &ListQuery,
) -> Result<PostgresPage> {
    let page = query.page(Kind::Postgres)?;
    let (size, items) = storage::database::page(c, project, location, &page).await?;
    Ok(PostgresPage::new(
        size,
        items.into_iter().map(summary).collect(),
    ))
}

/// The query `postgres_view`: returns a database. Its connection string contains its password.
pub async fn view(
    c: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
    sealer: &Sealer,
) -> Result<Tagged<Postgres>> {
    let found = lookup(c, scope, reference).await?;
    Ok(shown(found.ok_or(Refusal::NotFound)?, scope, sealer)?)
}

/// The change `postgres_create`: inserts the row of a new database, with the state `creating`. The
/// reconciler then creates the database.
#[derive(Debug)]
pub struct Create {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The name of the new database. A reference of the form of an id is refused.
    pub reference: Reference,
    /// The request body, with the properties of the new database.
    pub body: PostgresCreate,
    /// The locations in which Postgres databases can be created.
    pub offered_in: Vec<Location>,
    /// The source of time and randomness, the sealer of the password, and the default quotas.
    pub context: Context,
}

/// Returns the names of the locations in which Postgres databases can be created.
#[must_use]
pub fn offered_in(locations: &[location::Location]) -> Vec<Location> {
    locations
        .iter()
        .filter(|location| location.offers_postgres)
        .map(|location| location.name.clone())
        .collect()
}

impl Change for Create {
    type Output = Tagged<Postgres>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Tagged<Postgres>> {
        self.scope.access.ensure_full()?;
        let (size, storage_size) = self.checked()?;
        ensure_new_name(tx, &self.scope, self.reference.as_str()).await?;
        let quotas = &self.context.quotas;
        ensure_room(tx, &self.scope.project, quota::Kind::Postgres, quotas).await?;
        let made = self.made(size, storage_size);
        let now = storage::clock::now(tx, &self.context.world).await?;
        storage::database::insert(tx, &self.scope.project, &made, now).await?;
        Ok(shown(made, &self.scope, &self.context.sealer)?)
    }
}

impl Create {
    /// Checks the name, the location, the version, the flavor, the number of tags, the size and the storage size of the new database.
    /// Returns the size and the storage size.
    ///
    /// # Errors
    ///
    /// If one of them cannot be used. The refusal names all that cannot be used, not only the
    /// first. The storage size is only checked if the size is valid.
    fn checked(&self) -> std::result::Result<(PostgresSize, StorageSizeGib), Refusal> {
        let mut refused = Vec::new();
        refused.extend(ensure_no_id(self.reference.as_str()).err());
        refused.extend(ensure_offered(&self.scope.location, &self.offered_in).err());
        let offer = self.context.postgres_offers.get();
        if let Some(versions) = &offer.versions
            && !versions.contains(&self.body.version)
        {
            let wrong = format!("is not offered here: choose {}", enumerate(versions));
            refused.push(Refusal::invalid("version", wrong));
        }
        if let Some(flavors) = &offer.flavors
            && !flavors.contains(&self.body.flavor)
        {
            let wrong = format!("is not offered here: choose {}", enumerate(flavors));
            refused.push(Refusal::invalid("flavor", wrong));
        }
        refused.extend(ensure_few_tags(self.body.tags.as_deref().map_or(0, <[_]>::len)).err());
        let (sizes, asked) = (&offer.sizes, self.body.storage_size);
        let sized = sizes
            .size(&self.body.size)
            .and_then(|size| sizes.storage(&size, asked).map(|storage| (size, storage)));
        match sized {
            Ok(sized) if refused.is_empty() => Ok(sized),
            sized => {
                refused.extend(sized.err());
                Err(together(refused))
            }
        }
    }

    /// Returns the row of the new database, with a generated id and a generated password.
    fn made(&self, size: PostgresSize, storage_size: StorageSizeGib) -> Database {
        let world = &self.context.world;
        let id = PostgresId::generate(world);
        let superuser_password = password::generate(world);
        Database {
            location: self.scope.location.clone(),
            name: name_of(&self.reference),
            flavor: self.body.flavor.clone(),
            ha_type: self.body.ha_type.clone(),
            state: PostgresState::Creating,
            storage_size_gib: storage_size,
            target_storage_size_gib: storage_size,
            version: self.body.version.clone(),
            target_version: self.body.version.clone(),
            vm_size: size.clone(),
            target_vm_size: size,
            maintenance_window_start_at: MaintenanceHour::try_from(0).expect("midnight is an hour"),
            maintenance_window_is_set: false,
            parent: None,
            restored_from: None,
            restore_target: None,
            tags: stored_tags(self.body.tags.as_deref().unwrap_or_default()),
            firewall_rules: self.firewall_rules(),
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

    /// Returns the firewall rules of the new database: none if the request body restricts access by
    /// default, or else one that allows all IPv4 addresses and one that allows all IPv6 addresses.
    fn firewall_rules(&self) -> Vec<PostgresFirewallRule> {
        if self.body.restrict_by_default {
            return Vec::new();
        }
        let open = [
            ("0.0.0.0/0", "Everybody over IPv4"),
            ("::/0", "Everybody over IPv6"),
        ];
        let rules = open.into_iter().map(|(cidr, description)| {
            let cidr = Cidr::try_from(cidr).expect("the text is a network");
            let id = PostgresFirewallRuleId::generate(&self.context.world);
            PostgresFirewallRule::new(cidr, description.to_owned(), id)
        });
        rules.collect()
    }
}

/// Checks that no database of a location has a name.
///
/// # Errors
///
/// Refuses the change if one has it.
pub(super) async fn ensure_new_name(
    tx: &mut Connection<'_>,
    scope: &Scope,
    name: &str,
) -> Result<()> {
    // The unique key would reject the name too, but could not say why. It is needed as well: a
    // concurrent change may insert the name after this check.
    let found = storage::database::lookup_name(tx, scope.key(), name).await?;
    if found.is_some() {
        let wrong = "is already the name of a database in this location";
        return Err(Refusal::invalid("name", wrong).into());
    }
    Ok(())
}

/// Checks that the name of a new database does not have the form of an id.
pub(super) fn ensure_no_id(name: &str) -> std::result::Result<(), Refusal> {
    if Kind::Postgres.is_id(name) {
        let wrong = "must not have the form of a database's id";
        return Err(Refusal::invalid("name", wrong));
    }
    Ok(())
}

/// Checks that databases can be created in a location.
pub(super) fn ensure_offered(
    location: &Location,
    offered_in: &[Location],
) -> std::result::Result<(), Refusal> {
    if offered_in.contains(location) {
        return Ok(());
    }
    let wrong = format!(
        "does not offer Postgres: it is available in {}",
        enumerate(offered_in)
    );
    Err(Refusal::invalid("location", wrong))
}

/// The change `postgres_update`: stores the wanted size, storage, high availability and tags of a
/// database. The reconciler then changes the database to match.
#[derive(Debug)]
pub struct Update {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the database.
    pub reference: Reference,
    /// The request body, with the new values. Without a body, nothing changes.
    pub body: Option<PostgresUpdate>,
    /// The `If-Match` of the request: the entity tags that the database may have, or `None` for
    /// any.
    pub if_match: Option<IfMatch>,
    /// The source of time, and the sealer that opens the password.
    pub context: Context,
}

impl Change for Update {
    type Output = Tagged<Postgres>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Tagged<Postgres>> {
        let found = load_matching(
            tx,
            &self.scope,
            &self.reference,
            self.if_match.as_ref(),
            &self.context.sealer,
        )
        .await?;
        let mut changed = match &self.body {
            Some(body) => merged(&found, body, &self.context.postgres_offers.get())?,
            None => found.clone(),
        };
        // An update that changes nothing must not wake the reconciler.
        if changed != found {
            let now = storage::clock::now(tx, &self.context.world).await?;
            storage::database::retarget(tx, &self.scope.project, &changed, now).await?;
            // As the statement has done in the row.
            changed.revision += 1;
        }
        Ok(shown(changed, &self.scope, &self.context.sealer)?)
    }
}

/// Returns `found` with the wanted values that a request body sets. Values that the body does not
/// set stay as they are.
///
/// # Errors
///
/// If the size is not offered, does not allow the storage size, or if the storage cannot shrink, at all or
/// to less than the data needs.
fn merged(
    found: &Database,
    body: &PostgresUpdate,
    offer: &Offer,
) -> std::result::Result<Database, Refusal> {
    // What a database has already, it keeps, also if it is not offered any more.
    let size = match &body.size {
        Some(size) if size.as_str() != found.target_vm_size.as_str() => offer.sizes.size(size)?,
        Some(_) | None => found.target_vm_size.clone(),
    };
    let (has, target) = (found.storage_size_gib, found.target_storage_size_gib);
    let asked = match body.storage_size {
        Some(storage_size) => storage_size,
        None => PostgresStorageSizeInput::try_from(i64::from(target.get()))
            .expect("every stored size can be asked for"),
    };
    let is_kept = size == found.target_vm_size && asked.get() == i64::from(target.get());
    // Checked even if only the size changes: each size has its own storage sizes.
    let storage_size = if is_kept {
        target
    } else {
        offer.sizes.storage(&size, asked)?
    };
    // A storage size that is the target already is no change, so the fit of the data is not checked
    // again.
    let shrinks = storage_size != target && storage_size < has.max(target);
    if shrinks && !offer.can_shrink {
        let wrong = format!(
            "cannot shrink to {storage_size} GiB: here, the storage of a database can only grow"
        );
        return Err(Refusal::invalid("storage_size", wrong));
    }
    if shrinks && !fits(found.used_bytes, storage_size.get().into()) {
        // Rounded up, so that the message never names less than is in use.
        let used = found.used_bytes.saturating_add((1 << 30) - 1) >> 30;
        let wrong = format!(
            "cannot shrink to {storage_size} GiB: the {used} GiB in use must be under 80 % of it"
        );
        return Err(Refusal::invalid("storage_size", wrong));
    }
    let mut changed = found.clone();
    changed.target_storage_size_gib = storage_size;
    changed.target_vm_size = size;
    if let Some(ha_type) = &body.ha_type {
        changed.ha_type = ha_type.clone();
    }
    if let Some(tags) = &body.tags {
        ensure_few_tags(tags.len())?;
        changed.tags = stored_tags(tags);
    }
    Ok(changed)
}

/// The change `postgres_reset_superuser_password`: stores another password of the user `postgres`
/// of a database. The reconciler then sets it.
#[derive(Debug)]
pub struct ResetSuperuserPassword {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the database.
    pub reference: Reference,
    /// The request body, with the new password.
    pub body: PostgresResetSuperuserPassword,
    /// The `If-Match` of the request: the entity tags that the database may have, or `None` for
    /// any.
    pub if_match: Option<IfMatch>,
    /// The source of time and randomness, and the sealer of the password.
    pub context: Context,
}

impl Change for ResetSuperuserPassword {
    type Output = Tagged<Postgres>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Tagged<Postgres>> {
        let (world, sealer) = (&self.context.world, &self.context.sealer);
        let mut found = load_matching(
            tx,
            &self.scope,
            &self.reference,
            self.if_match.as_ref(),
            sealer,
        )
        .await?;
        let asked = self.body.password.expose();
        password::ensure_strong(asked)?;
        let project = &self.scope.project;
        found.password = sealer.seal(asked, world, &sealed_for(project, &found.id));
        let now = storage::clock::now(tx, world).await?;
        storage::database::set(tx, project, &found, Part::Password, now).await?;
        found.revision += 1;
        Ok(shown(found, &self.scope, sealer)?)
    }
}

/// Looks up a database by the reference of a request: by an id also one that is being deleted.
pub(super) async fn lookup(
    c: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
) -> Result<Option<Database>> {
    Ok(match Referred::of(Kind::Postgres, reference) {
        Referred::Id(id) => storage::database::lookup_id(c, scope.key(), id).await?,
        Referred::Name(name) => storage::database::lookup_name(c, scope.key(), name).await?,
    })
}

/// Returns the database that a change refers to.
///
/// # Errors
///
/// Refuses the change if there is no such database, or if it is being deleted.
pub(super) async fn load(
    c: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
) -> Result<Database> {
    let found = lookup(c, scope, reference).await?;
    Ok(found.filter(is_kept).ok_or(Refusal::NotFound)?)
}

/// Returns the database that a change refers to, for a caller who may change it. Locks it and checks its
/// entity tag if the change is conditional, as [`matching`] does.
///
/// # Errors
///
/// As [`load`] and [`matching`], and if the caller has read-only access.
pub(super) async fn load_matching(
    tx: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
    if_match: Option<&IfMatch>,
    sealer: &Sealer,
) -> Result<Database> {
    let found = load(tx, scope, reference).await?;
    scope.access.ensure_full()?;
    matching(tx, scope, if_match, found, sealer).await
}

/// Returns whether a database is not being deleted.
pub(super) fn is_kept(database: &Database) -> bool {
    database.state != PostgresState::Deleting
}

/// Locks a database until the end of the change, reads it again, and checks that it has one of the
/// entity tags in `if_match`, if that is set. Returns `None` if it does not exist any more, or is
/// being deleted.
///
/// # Errors
///
/// Refuses the change if the database has none of the tags.
pub(super) async fn locked(
    tx: &mut Connection<'_>,
    scope: &Scope,
    if_match: Option<&IfMatch>,
    id: &PostgresId,
    sealer: &Sealer,
) -> Result<Option<Database>> {
    storage::lock::database(tx, &scope.project, id).await?;
    let locked = storage::database::lookup_id(tx, scope.key(), id.as_str()).await?;
    let locked = locked.filter(is_kept);
    if let (Some(locked), Some(if_match)) = (&locked, if_match) {
        ensure_match(if_match, &shown(locked.clone(), scope, sealer)?.tag)?;
    }
    Ok(locked)
}

/// Locks a database and checks its entity tag, as [`locked`] does. Without `if_match`, returns
/// `found` unchecked and unlocked.
///
/// # Errors
///
/// Refuses the change if the database has none of the tags, or does not exist any more.
pub(super) async fn matching(
    tx: &mut Connection<'_>,
    scope: &Scope,
    if_match: Option<&IfMatch>,
    found: Database,
    sealer: &Sealer,
) -> Result<Database> {
    if if_match.is_none() {
        return Ok(found);
    }
    let locked = locked(tx, scope, if_match, &found.id, sealer).await?;
    Ok(locked.ok_or(Refusal::NotFound)?)
}

/// Merges refusals of invalid values into one, with the messages and details of all. If one of them
/// is another kind of refusal, returns that one alone.
pub(super) fn together(refused: Vec<Refusal>) -> Refusal {
    let (mut messages, mut details) = (Vec::new(), Vec::<(&'static str, Wrong)>::new());
    for refusal in refused {
        match refusal {
            Refusal::Invalid(invalid) => {
                messages.push(invalid.message);
                details.extend(invalid.details);
            }
            other => return other,
        }
    }
    Refusal::Invalid(Invalid {
        message: messages.join("; "),
        details,
    })
}

/// Returns the connection string of a database, which contains the password, or `None` if the
/// database has no host yet.
///
/// # Errors
///
/// If the stored password cannot be opened, or the host is not valid in a URL.
fn connection_string(
    of: &Database,
    scope: &Scope,
    sealer: &Sealer,
) -> std::result::Result<Option<ConnectionString>, StorageError> {
    let Some(host) = &of.host else {
        return Ok(None);
    };
    let password = sealer.open(&of.password, &sealed_for(&scope.project, &of.id));
    let password = password.map_err(|_| corrupt("password"))?;
    // Everything but letters and digits is encoded: an owner may choose a password with characters
    // that end a part of a URL.
    let password = utf8_percent_encode(&password, NON_ALPHANUMERIC);
    let text = format!("postgres://postgres:{password}@{host}:5432/postgres?sslmode=require");
    let text = ConnectionString::try_from(text);
    text.map(Some).map_err(|_| corrupt("host"))
}

fn corrupt(column: &'static str) -> StorageError {
    StorageError::Corrupt(Corrupt {
        table: "postgres_database",
        column,
    })
}

pub(super) fn stored_tags(tags: &[TagInput]) -> Vec<Tag> {
    tags.iter()
        .map(|tag| Tag::new(tag.key.clone(), tag.value.clone()))
        .collect()
}

/// Converts a time in seconds since 1970 to the contract's type. `column` is the column that the
/// time is from, for the error about a time out of range.
fn timestamp(seconds: i64, column: &'static str) -> std::result::Result<Timestamp, StorageError> {
    postgres::timestamp(seconds).ok_or_else(|| corrupt(column))
}

fn summary(of: DatabaseSummary) -> PostgresSummary {
    let mut summary = PostgresSummary::from(PostgresSummaryFields {
        flavor: of.flavor,
        ha_type: of.ha_type,
        id: of.id,
        location: of.location,
        name: of.name,
        state: of.state,
        storage_size_gib: of.storage_size_gib,
        version: of.version,
        target_version: of.target_version,
        vm_size: of.vm_size,
        maintenance_window_start_at: of.maintenance_window_start_at,
        read_replica: of.parent.is_some() && of.restored_from.is_none(),
        tags: of.tags,
    });
    summary.target_storage_size_gib = Some(of.target_storage_size_gib);
    summary.target_vm_size = Some(of.target_vm_size);
    summary.ca_certificates = Some(of.ca_certificates);
    summary.parent = Some(of.parent);
    summary
}

/// Returns a database as responses show it, with its entity tag.
pub(super) fn shown(
    of: Database,
    scope: &Scope,
    sealer: &Sealer,
) -> std::result::Result<Tagged<Postgres>, StorageError> {
    let connection_string = connection_string(&of, scope, sealer)?;
    let read_replica = of.parent.is_some() && of.restored_from.is_none();
    let mut shown = Postgres::from(PostgresFields {
        connection_string: None,
        earliest_restore_time: of
            .earliest_restore_time
            .map(|time| timestamp(time, "earliest_restore_time"))
            .transpose()?,
        latest_restore_time: timestamp(of.latest_restore_time, "latest_restore_time")?,
        flavor: of.flavor,
        ha_type: of.ha_type,
        id: of.id,
        location: of.location,
        name: of.name,
        state: of.state,
        storage_size_gib: of.storage_size_gib,
        version: of.version,
        target_version: of.target_version,
        vm_size: of.vm_size,
        maintenance_window_start_at: of.maintenance_window_start_at,
        read_replica,
        tags: of.tags,
        firewall_rules: of.firewall_rules,
        primary: !read_replica,
    });
    shown.target_storage_size_gib = Some(of.target_storage_size_gib);
    shown.target_vm_size = Some(of.target_vm_size);
    shown.ca_certificates = Some(of.ca_certificates);
    shown.parent = Some(of.parent);
    // The revision is hashed in place of the password: each new password increases it.
    let tag = entity_tag::hash(&(&shown, &of.host, of.revision));
    shown.connection_string = connection_string;
    Ok(Tagged { shown, tag })
}
