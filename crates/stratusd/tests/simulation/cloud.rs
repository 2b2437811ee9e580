//! The provisioner of a simulation. It outlives the processes, stalls and fails, and checks that
//! only the holder of a lease acts on a database.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use diesel::sql_types::{Nullable, Text};
use diesel::{QueryableByName, RunQueryDsl};
use stratusd::provision::{
    ConnectionDetails, Observed, Password, Progress, ProvisionError, Provisioner, Shape, Wanted,
};

use crate::ground::Ground;

/// How long the lease of a worker is.
pub const LEASE: Duration = Duration::from_secs(2);

/// Databases that exist, or are being made.
#[derive(Default)]
pub struct Cloud(Mutex<BTreeMap<String, Thing>>);

#[derive(Clone)]
struct Thing {
    shape: Shape,
    /// When the creation ends.
    made_at: i64,
    /// A change in progress, and when it ends.
    pending: Option<(i64, Shape)>,
    password: Option<String>,
    /// The number of the last restart that has started, and when it ends.
    restart: (i64, i64),
    /// The number of the last promotion of a standby that has started, and when it ends.
    promotion: (i64, i64),
    /// When the deletion ends, if one has started.
    deleted_at: Option<i64>,
}

impl Cloud {
    /// Returns the ids of all databases.
    pub fn ids(&self) -> Vec<String> {
        let things = self.0.lock().expect("nobody panics with the lock");
        things.keys().cloned().collect()
    }

    /// Returns the number of the last restart of a database.
    pub fn restarts(&self, id: &str) -> Option<i64> {
        let things = self.0.lock().expect("nobody panics with the lock");
        Some(things.get(id)?.restart.0)
    }

    /// Returns the password that was set last.
    pub fn password(&self, id: &str) -> Option<String> {
        let things = self.0.lock().expect("nobody panics with the lock");
        things.get(id)?.password.clone()
    }
}

/// The provisioner as one process uses it.
pub struct Door {
    pub cloud: Arc<Cloud>,
    pub ground: Arc<Ground>,
    /// The number of the process.
    pub process: u64,
    /// The calls of the process in progress, by database.
    pub at_work: Mutex<BTreeMap<String, u32>>,
}

#[derive(QueryableByName)]
struct Lease {
    #[diesel(sql_type = Nullable<Text>)]
    lease: Option<String>,
}

#[derive(QueryableByName)]
struct Leased {
    #[diesel(sql_type = Text)]
    id: String,
    #[diesel(sql_type = Text)]
    lease: String,
}

/// The lease of each database that is leased.
#[derive(Clone, Default)]
pub struct Leases(BTreeMap<String, String>);

impl Leases {
    /// Reads what is committed.
    pub fn of(ground: &Ground) -> Self {
        let rows: Vec<Leased> = ground.probe(|connection| {
            diesel::sql_query("SELECT id, lease FROM postgres_database WHERE lease IS NOT NULL")
                .load(connection)
                .expect("the rows can be read")
        });
        Self(rows.into_iter().map(|row| (row.id, row.lease)).collect())
    }

    /// Returns the leases of resources that have no lease in a later state.
    pub fn ended(&self, later: &Self) -> Vec<String> {
        let ended = self.0.iter().filter(|(id, _)| !later.0.contains_key(*id));
        ended.map(|(_, lease)| lease.clone()).collect()
    }
}

impl Door {
    /// Checks that this process holds the lease of a database.
    fn ensure_leased(&self, id: &str, what: &str) {
        let rows: Vec<Lease> = self.ground.probe(|connection| {
            diesel::sql_query("SELECT lease FROM postgres_database WHERE id = $1")
                .bind::<Text, _>(id)
                .load(connection)
                .expect("the row can be read")
        });
        // What a step without a lease has created is deleted once its row is.
        if rows.is_empty() && what == "delete" {
            return;
        }
        let lease = rows.first().and_then(|row| row.lease.clone());
        let holder = lease.and_then(|lease| self.ground.kept().leases.get(&lease).copied());
        // A worker finds that a clock that was set has ended its lease when it prolongs the lease.
        let since = self.ground.now() - self.ground.jumped();
        let lease = i64::try_from(LEASE.as_millis()).expect("a lease is short");
        if holder != Some(self.process) && since > lease {
            self.ground.broken(format!(
                "process {} acts ({what}) on {id}, whose lease is held by {holder:?}",
                self.process
            ));
        }
    }

    async fn act<T>(
        &self,
        wanted: &Wanted,
        what: &str,
        effect: impl FnOnce(&mut BTreeMap<String, Thing>, i64) -> T,
    ) -> Result<T, ProvisionError> {
        let ground = &self.ground;
        let _here = Here::begin(self, &wanted.id);
        self.ensure_leased(&wanted.id, what);
        if ground.is_rough.load(Ordering::SeqCst) {
            let stall = match ground.below(12) {
                0 => ground.below(12_000),
                1..=3 => ground.below(900),
                4..=6 => ground.below(60),
                _ => 0,
            };
            if stall > 0 {
                tokio::time::sleep(Duration::from_millis(stall)).await;
                self.ensure_leased(&wanted.id, what);
            }
            if ground.once_in(20) {
                ground.trace(format_args!("{what} of {} fails", wanted.id));
                return Err(ProvisionError::Failed("simulated failure".to_owned()));
            }
        }
        ground.trace(format_args!(
            "process {}: {what} of {}",
            self.process, wanted.id
        ));
        let now = ground.now();
        Ok(effect(
            &mut self.cloud.0.lock().expect("nobody panics with the lock"),
            now,
        ))
    }
}

fn missing() -> ProvisionError {
    ProvisionError::no_database()
}

impl Provisioner for Door {
    async fn observe(&self, wanted: &Wanted) -> Result<Option<Observed>, ProvisionError> {
        self.act(wanted, "observe", |things, now| {
            let thing = things.get_mut(&wanted.id).filter(|it| it.made_at <= now)?;
            if let Some((_, shape)) = thing.pending.take_if(|(at, _)| *at <= now) {
                thing.shape = shape;
            }
            Some(Observed {
                is_available: thing.restart.1.max(thing.promotion.1) <= now,
                shape: thing.shape.clone(),
                used_bytes: 1 << 30,
                earliest_restore_time: Some(0),
                latest_restore_time: 0,
                backups: Vec::new(),
            })
        })
        .await
    }

    async fn create(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        let more = i64::try_from(self.ground.below(1500)).expect("it is small");
        self.act(wanted, "create", |things, now| {
            let new = || Thing {
                shape: wanted.shape.clone(),
                made_at: now + more,
                pending: None,
                password: None,
                restart: (0, 0),
                promotion: (0, 0),
                deleted_at: None,
            };
            progress(
                things.entry(wanted.id.clone()).or_insert_with(new).made_at,
                now,
            )
        })
        .await
    }

    async fn resize(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        let more = i64::try_from(self.ground.below(1500)).expect("it is small");
        self.act(wanted, "resize", |things, now| {
            let thing = things.get_mut(&wanted.id).ok_or_else(missing)?;
            let is_begun = matches!(&thing.pending, Some((_, to)) if *to == wanted.shape);
            if !is_begun {
                thing.pending = Some((now + more, wanted.shape.clone()));
            }
            let at = thing.pending.as_ref().map_or(now, |(at, _)| *at);
            Ok(progress(at, now))
        })
        .await?
    }

    async fn restart(&self, wanted: &Wanted, number: i64) -> Result<Progress, ProvisionError> {
        let more = i64::try_from(self.ground.below(1500)).expect("it is small");
        self.act(wanted, "restart", |things, now| {
            let thing = things.get_mut(&wanted.id).ok_or_else(missing)?;
            if thing.restart.0 < number {
                thing.restart = (number, now + more);
            }
            Ok(progress(thing.restart.1, now))
        })
        .await?
    }

    async fn promote(&self, wanted: &Wanted, number: i64) -> Result<Progress, ProvisionError> {
        let more = i64::try_from(self.ground.below(1500)).expect("it is small");
        self.act(wanted, "promote", |things, now| {
            let thing = things.get_mut(&wanted.id).ok_or_else(missing)?;
            if thing.promotion.0 < number {
                thing.promotion = (number, now + more);
            }
            Ok(progress(thing.promotion.1, now))
        })
        .await?
    }

    async fn delete(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        let more = i64::try_from(self.ground.below(1500)).expect("it is small");
        self.act(wanted, "delete", |things, now| {
            let Some(thing) = things.get_mut(&wanted.id) else {
                return Progress::Done;
            };
            let progress = progress(*thing.deleted_at.get_or_insert(now + more), now);
            if progress == Progress::Done {
                things.remove(&wanted.id);
            }
            progress
        })
        .await
    }

    async fn restrict(&self, wanted: &Wanted) -> Result<(), ProvisionError> {
        self.act(wanted, "restrict", |things, _| {
            things.get(&wanted.id).map(|_| ()).ok_or_else(missing)
        })
        .await?
    }

    async fn set_password(
        &self,
        wanted: &Wanted,
        password: &Password,
    ) -> Result<(), ProvisionError> {
        self.act(wanted, "set the password", |things, _| {
            let thing = things.get_mut(&wanted.id).ok_or_else(missing)?;
            thing.password = Some(password.expose().to_owned());
            Ok(())
        })
        .await?
    }

    async fn connection(&self, wanted: &Wanted) -> Result<ConnectionDetails, ProvisionError> {
        self.act(wanted, "ask how to connect", |_, _| ConnectionDetails {
            host: format!("{}.{}.stratus.example", wanted.name, wanted.id),
            ca_certificates: "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n".to_owned(),
            server_certificate: String::new(),
        })
        .await
    }
}

fn progress(at: i64, now: i64) -> Progress {
    match u64::try_from(at - now) {
        Ok(left @ 1..) => Progress::Pending(Duration::from_millis(left)),
        _ => Progress::Done,
    }
}

/// A call in progress.
struct Here<'d> {
    door: &'d Door,
    id: String,
}

impl<'d> Here<'d> {
    fn begin(door: &'d Door, id: &str) -> Self {
        let mut at_work = door.at_work.lock().expect("nobody panics with the lock");
        let calls = at_work.entry(id.to_owned()).or_default();
        *calls += 1;
        if *calls > 1 {
            door.ground.broken(format!(
                "two workers of process {} are at {id}",
                door.process
            ));
        }
        Self {
            door,
            id: id.to_owned(),
        }
    }
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        let mut at_work = self
            .door
            .at_work
            .lock()
            .expect("nobody panics with the lock");
        if let Some(calls) = at_work.get_mut(&self.id) {
            *calls -= 1;
        }
    }
}
