//! Postgres databases.

use api_types::{
    Postgres, PostgresCreate, PostgresFields, PostgresFirewallRule, PostgresPage,
    PostgresResetSuperuserPassword, PostgresSize, PostgresState, PostgresStorageSizeInput,
    PostgresSummary, PostgresSummaryFields, PostgresUpdate, ProjectId, Reference, StorageSizeGib,
    Tag, TagInput, Timestamp,
};
use jiff::Timestamp as Moment;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::count;
use super::{Context, Locations, Outcome, Scope, stored, stored_number};
use crate::domain::id::{Kind, Referred};
use crate::domain::list::ListQuery;
use crate::domain::postgres::{fits, sealed_for};
use crate::domain::refusal::{Invalid, Wrong, enumerate};
use crate::domain::{Caller, Refusal, catalogue, ensure_project, password};
use crate::seal::Sealer;
use crate::storage::database::{Database, DatabaseSummary};
use crate::storage::{self, Change, Connection, StorageError};

/// A page of the databases of a project.
pub async fn list_of_project(
    c: &mut Connection<'_>,
    caller: &Caller,
    project: &ProjectId,
    query: &ListQuery,
) -> Outcome<PostgresPage> {
    ensure_project(caller, project)?;
    let page = query.page(Kind::Postgres)?;
    let (size, items) = storage::database::page(c, &caller.project_id, &page).await?;
    let items: Result<Vec<_>, _> = items.iter().map(summary).collect();
    Ok(PostgresPage::new(count(size)?, items?))
}

/// Everything about a database, its secret included.
pub async fn view(
    c: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
    sealer: &Sealer,
) -> Outcome<Postgres> {
    let found = lookup(c, scope, reference).await?;
    Ok(shown(&found, scope, sealer)?)
}

/// Makes a database.
#[derive(Debug)]
pub struct Create {
    /// Where.
    pub scope: Scope,
    /// Its name.
    pub reference: Reference,
    /// What it shall be like.
    pub body: PostgresCreate,
    /// The locations that offer databases.
    pub offered_in: Vec<String>,
    /// Time, randomness, and what seals the password.
    pub context: Context,
}

/// The names of the locations that offer databases.
#[must_use]
pub fn offered_in(locations: &Locations) -> Vec<String> {
    locations
        .iter()
        .filter(|location| location.offers_postgres)
        .map(|location| location.name.clone())
        .collect()
}

impl Change for Create {
    type Output = Postgres;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Outcome<Postgres> {
        self.scope.access.ensure_full()?;
        let (size, storage_size) = self.checked()?;
        let name = self.reference.as_str();
        if storage::database::lookup_name(tx, self.scope.key(), name)
            .await?
            .is_some()
        {
            return Err(Refusal::invalid(
                "name",
                "is already the name of a database in this location",
            )
            .into());
        }
        let made = self.made(&size, storage_size)?;
        storage::database::insert(tx, &self.scope.project, &made, self.context.world.now()).await?;
        Ok(shown(&made, &self.scope, &self.context.sealer)?)
    }
}

impl Create {
    /// The size and the storage, if every value can be used; otherwise all that cannot.
    fn checked(&self) -> Result<(PostgresSize, StorageSizeGib), Refusal> {
        let mut refused = Vec::new();
        if matches!(
            Referred::of(Kind::Postgres, &self.reference),
            Referred::Id(_)
        ) {
            refused.push(Refusal::invalid(
                "name",
                "must not have the form of a database's id",
            ));
        }
        if !self
            .offered_in
            .iter()
            .any(|offering| offering == self.scope.location.as_str())
        {
            let wrong = format!(
                "does not offer Postgres: it is available in {}",
                enumerate(&self.offered_in)
            );
            refused.push(Refusal::invalid("location", wrong));
        }
        let sized = catalogue::size(&self.body.size).and_then(|size| {
            catalogue::storage(&size, self.body.storage_size).map(|storage| (size, storage))
        });
        match sized {
            Ok(sized) if refused.is_empty() => Ok(sized),
            sized => {
                refused.extend(sized.err());
                Err(together(refused))
            }
        }
    }

    fn made(
        &self,
        size: &PostgresSize,
        storage_size: StorageSizeGib,
    ) -> Result<Database, StorageError> {
        let world = &self.context.world;
        let id = Kind::Postgres.new_id(world);
        let superuser_password = password::generate(world);
        let storage_size_gib = i64::from(storage_size.get());
        Ok(Database {
            location: self.scope.location.to_string(),
            name: self.reference.to_string(),
            flavor: self.body.flavor.as_str().to_owned(),
            ha_type: self.body.ha_type.as_str().to_owned(),
            state: PostgresState::Creating.as_str().to_owned(),
            storage_size_gib,
            target_storage_size_gib: storage_size_gib,
            version: self.body.version.as_str().to_owned(),
            target_version: self.body.version.as_str().to_owned(),
            vm_size: size.as_str().to_owned(),
            target_vm_size: size.as_str().to_owned(),
            maintenance_window_start_at: 0,
            parent: None,
            tags: tags_to_store(self.body.tags.as_deref().unwrap_or_default())?,
            firewall_rules: self.firewall_rules()?,
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
        })
    }

    /// None, or two that let everybody in.
    fn firewall_rules(&self) -> Result<String, StorageError> {
        let open = [
            ("0.0.0.0/0", "Everybody over IPv4"),
            ("::/0", "Everybody over IPv6"),
        ];
        let open = if self.body.restrict_by_default {
            &[][..]
        } else {
            &open[..]
        };
        let rules: Result<Vec<_>, StorageError> = open
            .iter()
            .map(|(cidr, description)| {
                let id = Kind::PostgresFirewallRule.new_id(&self.context.world);
                let (cidr, id) = (stored(cidr, "a network")?, stored(&id, "an id")?);
                Ok(PostgresFirewallRule::new(
                    cidr,
                    (*description).to_owned(),
                    id,
                ))
            })
            .collect();
        to_json(&rules?)
    }
}

/// Changes what a database shall be.
#[derive(Debug)]
pub struct Update {
    /// Where.
    pub scope: Scope,
    /// The database.
    pub reference: Reference,
    /// What changes.
    pub body: Option<PostgresUpdate>,
    /// Time, randomness, and what opens the password.
    pub context: Context,
}

impl Change for Update {
    type Output = Postgres;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Outcome<Postgres> {
        let found = lookup(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let changed = match &self.body {
            Some(body) => merged(&found, body)?,
            None => found.clone(),
        };
        if changed != found {
            storage::database::retarget(
                tx,
                &self.scope.project,
                &changed,
                self.context.world.now(),
            )
            .await?;
        }
        Ok(shown(&changed, &self.scope, &self.context.sealer)?)
    }
}

/// A database with other targets, if it could be created with them.
fn merged(found: &Database, body: &PostgresUpdate) -> Outcome<Database> {
    let size = match &body.size {
        Some(size) => catalogue::size(size)?,
        None => stored(&found.target_vm_size, "a size")?,
    };
    let storage_size = match body.storage_size {
        Some(storage_size) => storage_size,
        None => PostgresStorageSizeInput::try_from(found.target_storage_size_gib)
            .map_err(|_| StorageError::Corrupt("a storage size"))?,
    };
    let storage_size = catalogue::storage(&size, storage_size)?;
    let gib = i64::from(storage_size.get());
    let is_new = gib != found.target_storage_size_gib;
    let shrinks = is_new && gib < found.storage_size_gib.max(found.target_storage_size_gib);
    if shrinks && !fits(found.used_bytes, gib) {
        let used = found.used_bytes.saturating_add((1 << 30) - 1) >> 30;
        let wrong =
            format!("cannot shrink to {gib} GiB: the {used} GiB in use must be under 80 % of it");
        return Err(Refusal::invalid("storage_size", wrong).into());
    }
    let mut changed = found.clone();
    changed.target_storage_size_gib = gib;
    size.as_str().clone_into(&mut changed.target_vm_size);
    if let Some(ha_type) = &body.ha_type {
        ha_type.as_str().clone_into(&mut changed.ha_type);
    }
    if let Some(tags) = &body.tags {
        changed.tags = tags_to_store(tags)?;
    }
    Ok(changed)
}

/// Sets another superuser password.
#[derive(Debug)]
pub struct ResetSuperuserPassword {
    /// Where.
    pub scope: Scope,
    /// The database.
    pub reference: Reference,
    /// The password.
    pub body: PostgresResetSuperuserPassword,
    /// Time, randomness, and what seals the password.
    pub context: Context,
}

impl Change for ResetSuperuserPassword {
    type Output = Postgres;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Outcome<Postgres> {
        let mut found = lookup(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let asked = self.body.password.expose();
        password::ensure_strong(asked)?;
        let (world, sealer) = (&self.context.world, &self.context.sealer);
        let project = &self.scope.project;
        found.password = sealer.seal(asked, world, &sealed_for(project, &found.id));
        storage::database::set_password(tx, project, &found, world.now()).await?;
        Ok(shown(&found, &self.scope, sealer)?)
    }
}

async fn lookup(c: &mut Connection<'_>, scope: &Scope, reference: &Reference) -> Outcome<Database> {
    let found = match Referred::of(Kind::Postgres, reference) {
        Referred::Id(id) => storage::database::lookup_id(c, scope.key(), id).await?,
        Referred::Name(name) => storage::database::lookup_name(c, scope.key(), name).await?,
    };
    Ok(found.ok_or(Refusal::NotFound)?)
}

/// Several refusals of values as one.
fn together(refused: Vec<Refusal>) -> Refusal {
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

fn connection_string(
    of: &Database,
    scope: &Scope,
    sealer: &Sealer,
) -> Result<Option<String>, StorageError> {
    let Some(host) = &of.host else {
        return Ok(None);
    };
    let opened = sealer.open(&of.password, &sealed_for(&scope.project, &of.id));
    let password =
        opened.map_err(|_| StorageError::Corrupt("a password that no key opens, or something"))?;
    let password = utf8_percent_encode(&password, NON_ALPHANUMERIC);
    Ok(Some(format!(
        "postgres://postgres:{password}@{host}:5432/postgres?sslmode=require"
    )))
}

fn tags_to_store(tags: &[TagInput]) -> Result<String, StorageError> {
    let tags: Vec<Tag> = tags
        .iter()
        .map(|tag| Tag::new(tag.key.clone(), tag.value.clone()))
        .collect();
    to_json(&tags)
}

fn to_json<T: serde::Serialize>(value: &T) -> Result<String, StorageError> {
    serde_json::to_string(value).map_err(|_| StorageError::Corrupt("something"))
}

fn from_json<T: serde::de::DeserializeOwned>(
    text: &str,
    what: &'static str,
) -> Result<T, StorageError> {
    serde_json::from_str(text).map_err(|_| StorageError::Corrupt(what))
}

/// Seconds since 1970 as the contract writes a moment.
fn timestamp(seconds: i64) -> Result<Timestamp, StorageError> {
    let moment = Moment::from_second(seconds).map_err(|_| StorageError::Corrupt("a time"))?;
    stored(&moment.to_string(), "a time")
}

fn summary(of: &DatabaseSummary) -> Result<PostgresSummary, StorageError> {
    let mut summary = PostgresSummary::from(PostgresSummaryFields {
        flavor: stored(&of.flavor, "a flavor")?,
        ha_type: stored(&of.ha_type, "an availability")?,
        id: stored(&of.id, "an id")?,
        location: stored(&of.location, "a location")?,
        name: stored(&of.name, "a name")?,
        state: stored(&of.state, "a state")?,
        storage_size_gib: stored_number(of.storage_size_gib, "a storage size")?,
        version: stored(&of.version, "a version")?,
        target_version: stored(&of.target_version, "a version")?,
        vm_size: stored(&of.vm_size, "a size")?,
        maintenance_window_start_at: stored_number(of.maintenance_window_start_at, "an hour")?,
        read_replica: of.parent.is_some(),
        tags: from_json(&of.tags, "tags")?,
    });
    summary.target_storage_size_gib =
        Some(stored_number(of.target_storage_size_gib, "a storage size")?);
    summary.target_vm_size = Some(stored(&of.target_vm_size, "a size")?);
    summary.ca_certificates = Some(
        of.ca_certificates
            .as_deref()
            .map(|pem| stored(pem, "a certificate"))
            .transpose()?,
    );
    summary.parent = Some(
        of.parent
            .as_deref()
            .map(|parent| stored(parent, "a parent"))
            .transpose()?,
    );
    Ok(summary)
}

fn shown(of: &Database, scope: &Scope, sealer: &Sealer) -> Result<Postgres, StorageError> {
    let connection_string = connection_string(of, scope, sealer)?;
    let mut shown = Postgres::from(PostgresFields {
        flavor: stored(&of.flavor, "a flavor")?,
        ha_type: stored(&of.ha_type, "an availability")?,
        id: stored(&of.id, "an id")?,
        location: stored(&of.location, "a location")?,
        name: stored(&of.name, "a name")?,
        state: stored(&of.state, "a state")?,
        storage_size_gib: stored_number(of.storage_size_gib, "a storage size")?,
        version: stored(&of.version, "a version")?,
        target_version: stored(&of.target_version, "a version")?,
        vm_size: stored(&of.vm_size, "a size")?,
        maintenance_window_start_at: stored_number(of.maintenance_window_start_at, "an hour")?,
        read_replica: of.parent.is_some(),
        tags: from_json(&of.tags, "tags")?,
        connection_string: connection_string
            .map(|text| stored(&text, "a host"))
            .transpose()?,
        earliest_restore_time: of.earliest_restore_time.map(timestamp).transpose()?,
        latest_restore_time: timestamp(of.latest_restore_time)?,
        firewall_rules: from_json(&of.firewall_rules, "firewall rules")?,
        primary: of.parent.is_none(),
    });
    shown.target_storage_size_gib =
        Some(stored_number(of.target_storage_size_gib, "a storage size")?);
    shown.target_vm_size = Some(stored(&of.target_vm_size, "a size")?);
    shown.ca_certificates = Some(
        of.ca_certificates
            .as_deref()
            .map(|pem| stored(pem, "a certificate"))
            .transpose()?,
    );
    shown.parent = Some(
        of.parent
            .as_deref()
            .map(|parent| stored(parent, "a parent"))
            .transpose()?,
    );
    Ok(shown)
}
