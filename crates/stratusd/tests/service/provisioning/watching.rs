//! A provisioner for tests, which records what it is asked to do.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stratusd::provision::{
    ConnectionDetails, Observed, Password, Progress, ProvisionError, Provisioner, Shape, Wanted,
};

/// The calls that a provisioner has recorded. All workers share it.
#[derive(Default)]
pub struct Watched {
    pub at_work: Mutex<HashMap<String, Arc<AtomicUsize>>>,
    pub made: Mutex<HashMap<String, u32>>,
    pub resized: Mutex<HashMap<String, Shape>>,
    pub open_to: Mutex<HashMap<String, Vec<String>>>,
    pub passwords: Mutex<HashMap<String, String>>,
    pub overlaps: AtomicU64,
    pub finished: AtomicUsize,
    pub restarts: Mutex<Vec<(String, i64)>>,
    /// The promotions of standbys that were started: the database's name, and the number.
    pub promotions: Mutex<Vec<(String, i64)>>,
    pub deleted: Mutex<Vec<String>>,
    pub asked_for_password: AtomicUsize,
    pub passwords_begun: AtomicUsize,
    /// The bytes that each database has in use.
    pub used: AtomicI64,
    /// How often a database was observed.
    pub observed: AtomicUsize,
    /// Makes the error of each database that is observed, if a test has put it there.
    pub failing: Mutex<Option<fn() -> ProvisionError>>,
    /// How long to wait for a database that is being created, if not 5 ms.
    pub creating: Mutex<Option<Duration>>,
    /// Held by a test to block calls that set a password.
    pub holds_passwords: tokio::sync::Mutex<()>,
}

/// A provisioner that records its calls, and counts calls for the same database that overlap.
pub struct Watching(pub Arc<Watched>);

impl Watching {
    async fn at(&self, wanted: &Wanted) {
        let count = Arc::clone(
            self.0
                .at_work
                .lock()
                .unwrap()
                .entry(wanted.id.clone())
                .or_default(),
        );
        let _begun = Begun::of(&count);
        if count.load(Ordering::SeqCst) > 1 {
            self.0.overlaps.fetch_add(1, Ordering::SeqCst);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

impl Provisioner for Watching {
    async fn observe(&self, wanted: &Wanted) -> Result<Option<Observed>, ProvisionError> {
        self.0.observed.fetch_add(1, Ordering::SeqCst);
        if let Some(error) = *self.0.failing.lock().unwrap() {
            return Err(error());
        }
        self.at(wanted).await;
        let steps = self
            .0
            .made
            .lock()
            .unwrap()
            .get(&wanted.id)
            .copied()
            .unwrap_or_default();
        Ok((steps >= 2).then(|| Observed {
            is_available: true,
            shape: {
                let made = Shape {
                    ha_type: "none".to_owned(),
                    ..wanted.shape.clone()
                };
                self.0
                    .resized
                    .lock()
                    .unwrap()
                    .get(&wanted.id)
                    .cloned()
                    .unwrap_or(made)
            },
            used_bytes: self.0.used.load(Ordering::SeqCst),
            earliest_restore_time: None,
            latest_restore_time: 0,
            backups: Vec::new(),
        }))
    }

    async fn create(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        self.at(wanted).await;
        *self
            .0
            .made
            .lock()
            .unwrap()
            .entry(wanted.id.clone())
            .or_insert(0) += 1;
        self.0
            .open_to
            .lock()
            .unwrap()
            .insert(wanted.name.clone(), wanted.open_to.clone());
        let wait = *self.0.creating.lock().unwrap();
        Ok(Progress::Pending(wait.unwrap_or(Duration::from_millis(5))))
    }

    async fn resize(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        self.0
            .resized
            .lock()
            .unwrap()
            .insert(wanted.id.clone(), wanted.shape.clone());
        Ok(Progress::Done)
    }

    async fn restart(&self, wanted: &Wanted, number: i64) -> Result<Progress, ProvisionError> {
        self.at(wanted).await;
        let restart = (wanted.name.clone(), number);
        let mut restarts = self.0.restarts.lock().unwrap();
        // The first call starts the restart, and the second finds it complete.
        if restarts.contains(&restart) {
            return Ok(Progress::Done);
        }
        restarts.push(restart);
        Ok(Progress::Pending(Duration::from_millis(5)))
    }

    async fn promote(&self, wanted: &Wanted, number: i64) -> Result<Progress, ProvisionError> {
        self.at(wanted).await;
        let promotion = (wanted.name.clone(), number);
        let mut promotions = self.0.promotions.lock().unwrap();
        // The first call starts the switch, and the second finds it complete.
        if promotions.contains(&promotion) {
            return Ok(Progress::Done);
        }
        promotions.push(promotion);
        Ok(Progress::Pending(Duration::from_millis(5)))
    }

    async fn delete(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        self.at(wanted).await;
        let mut deleted = self.0.deleted.lock().unwrap();
        if deleted.contains(&wanted.id) {
            return Ok(Progress::Done);
        }
        deleted.push(wanted.id.clone());
        Ok(Progress::Pending(Duration::from_millis(5)))
    }

    async fn restrict(&self, wanted: &Wanted) -> Result<(), ProvisionError> {
        let mut open_to = self.0.open_to.lock().unwrap();
        open_to.insert(wanted.name.clone(), wanted.open_to.clone());
        Ok(())
    }

    async fn set_password(
        &self,
        wanted: &Wanted,
        password: &Password,
    ) -> Result<(), ProvisionError> {
        self.at(wanted).await;
        self.0.asked_for_password.fetch_add(1, Ordering::SeqCst);
        let _begun = Begun::of(&self.0.passwords_begun);
        let _held = self.0.holds_passwords.lock().await;
        self.0
            .passwords
            .lock()
            .unwrap()
            .insert(wanted.id.clone(), password.expose().to_owned());
        Ok(())
    }

    async fn connection(&self, wanted: &Wanted) -> Result<ConnectionDetails, ProvisionError> {
        self.at(wanted).await;
        self.0.finished.fetch_add(1, Ordering::SeqCst);
        Ok(ConnectionDetails {
            host: format!("{}.{}.stratus.example", wanted.name, wanted.id),
            ca_certificates: "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n".to_owned(),
            server_certificate: String::new(),
        })
    }
}

/// A call in progress, counted until it ends or is cancelled.
struct Begun<'c>(&'c AtomicUsize);

impl<'c> Begun<'c> {
    fn of(count: &'c AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
