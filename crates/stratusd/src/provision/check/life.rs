//! Rules about the life of a database.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use provisioner_types as wire;
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use serde_json::{Value, json};

use super::caller::is_missing;
use super::{Broken, Check, Checked, Subject};

impl Check {
    pub(super) async fn create(&mut self) -> Checked {
        let mut subject = self.subject();
        self.made.push(subject.clone());
        self.until_done("create", &subject, json!({})).await?;
        let wanted: wire::Shape = serde_json::from_value(subject.wanted["shape"].clone())
            .map_err(|error| error.to_string())?;
        let observed = self
            .until_observed(&subject, "the wanted shape", |it| it.shape == wanted)
            .await?;
        self.let_in(&subject).await?;
        if !observed.is_available {
            self.until_observed(&subject, "an available database", |it| it.is_available)
                .await?;
        }
        subject.known = Some(recorded(&observed));
        self.main = Some(subject);
        Ok(())
    }

    /// Does what the service does once a database is created: it may be available only then.
    pub(super) async fn let_in(&self, subject: &Subject) -> Result<(), String> {
        let password = format!("Check-{}-1a", self.world.letters_and_digits(24));
        for (step, more) in [
            ("restrict", json!({})),
            ("set-password", json!({ "password": password })),
        ] {
            let answer = self.call(step, subject, more).await?;
            answer
                .is_empty()
                .map_err(|found| format!("{step}: {found}"))?;
        }
        Ok(())
    }

    /// Keeps what the service would record of the main database.
    fn record(&mut self, observed: &wire::ObservedDatabase) {
        if let Some(main) = &mut self.main {
            main.known = Some(recorded(observed));
        }
    }

    pub(super) async fn flavor(&mut self) -> Checked {
        let flavors = self.about.as_ref().and_then(|it| it.flavors.as_deref());
        let Some(flavors) = flavors else {
            return Err(Broken::Skipped("it names no flavors".to_owned()));
        };
        let mut others = wire::Flavor::VALUES.iter().map(ToString::to_string);
        let is_other = |other: &String| flavors.iter().all(|flavor| flavor.to_string() != *other);
        let other = others.find(is_other);
        let Some(other) = other else {
            return Err(Broken::Skipped("it has all flavors".to_owned()));
        };
        let mut subject = self.subject();
        subject.wanted["flavor"] = json!(other);
        // In case that it makes one.
        self.made.push(subject.clone());
        let answer = self.call("create", &subject, json!({})).await?;
        if answer.status != 500 {
            return Err(format!("{other}: {}", answer.words()).into());
        }
        let answer = self.call("observe", &subject, json!({})).await?;
        Ok(is_missing("observe", &answer)?)
    }

    pub(super) async fn create_again(&mut self) -> Checked {
        let subject = self.main()?;
        // With another shape, which is not that of the database: a creation does not resize.
        let mut other = subject.clone();
        other.wanted["shape"]["storage_size_gib"] = json!(self.shapes.storage[1]);
        for subject in [&subject, &other] {
            let progress = self.step("create", subject, json!({})).await?;
            if progress.state != wire::ProgressState::Done {
                return Err("the creation of a database that exists is pending"
                    .to_owned()
                    .into());
            }
        }
        let observed = self.observed(&subject).await?;
        let observed = observed.ok_or("the database is gone".to_owned())?;
        if observed.shape.storage_size_gib.get() != self.shapes.storage[0] {
            return Err("the database has another storage size".to_owned().into());
        }
        Ok(())
    }

    pub(super) async fn observe(&mut self) -> Checked {
        let subject = self.main()?;
        let observed = self.observed(&subject).await?;
        let observed = observed.ok_or("the database is gone".to_owned())?;
        if let Some(earliest) = &observed.earliest_restore_time
            && earliest.as_str() > observed.latest_restore_time.as_str()
        {
            return Err("earliest_restore_time is after latest_restore_time"
                .to_owned()
                .into());
        }
        let in_order = observed.backups.windows(2).all(|two| {
            two[0].key.as_str() < two[1].key.as_str()
                && two[0].last_modified.as_str() <= two[1].last_modified.as_str()
        });
        if !in_order {
            return Err("a backup is listed before an earlier one".to_owned().into());
        }
        Ok(())
    }

    pub(super) async fn connection(&mut self) -> Checked {
        let mut subject = self.main()?;
        let connection = self.connected(&subject).await?;
        let again = self.connected(&subject).await?;
        if connection.host != again.host {
            return Err(format!("the host was {} and then {}", connection.host, again.host).into());
        }
        verify(&connection, self.world.now())?;
        subject.connection = Some(connection);
        self.main = Some(subject);
        Ok(())
    }

    async fn connected(&self, subject: &Subject) -> Result<wire::Connection, String> {
        let answer = self.call("connection", subject, json!({})).await?;
        answer.read(200)
    }

    /// Checks that a step with a number ends, and that a repeated one is done.
    async fn numbered(&self, step: &str, subject: &Subject, number: i64) -> Result<(), String> {
        let more = json!({ "number": number });
        self.until_done(step, subject, more.clone()).await?;
        self.until_observed(subject, "an available database", |it| it.is_available)
            .await?;
        let progress = self.step(step, subject, more).await?;
        if progress.state != wire::ProgressState::Done {
            return Err(format!(
                "{step} {number} is pending again after it was done"
            ));
        }
        Ok(())
    }

    pub(super) async fn restart(&mut self) -> Checked {
        let subject = self.main()?;
        self.numbered("restart", &subject, 2).await?;
        let progress = self
            .step("restart", &subject, json!({ "number": 1 }))
            .await?;
        if progress.state != wire::ProgressState::Done {
            return Err("restart 1 is pending after restart 2 was done"
                .to_owned()
                .into());
        }
        Ok(())
    }

    pub(super) async fn restart_once(&mut self) -> Checked {
        let subject = self.main()?;
        let begun = self.started_at(&subject).await?;
        for number in [2, 1] {
            self.step("restart", &subject, json!({ "number": number }))
                .await?;
        }
        if self.started_at(&subject).await? != begun {
            return Err("the server was started again".to_owned().into());
        }
        self.numbered("restart", &subject, 3).await?;
        if self.started_at(&subject).await? == begun {
            return Err("restart 3 has restarted nothing".to_owned().into());
        }
        Ok(())
    }

    /// Changes what is wanted of the main database, and keeps it.
    fn want(&mut self, key: &str, value: Value) -> Result<Subject, Broken> {
        let mut subject = self.main()?;
        subject.wanted["shape"][key] = value;
        self.main = Some(subject.clone());
        Ok(subject)
    }

    pub(super) async fn storage(&mut self) -> Checked {
        let gib = self.shapes.storage[1];
        if gib == self.shapes.storage[0] {
            return Err(Broken::Skipped("both of --storage are the same".to_owned()));
        }
        let written = self.write().await?;
        let subject = self.want("storage_size_gib", json!(gib))?;
        self.until_done("resize", &subject, json!({})).await?;
        let observed = self
            .until_observed(&subject, "the new storage size", |it| {
                it.is_available && it.shape.storage_size_gib.get() == gib
            })
            .await?;
        self.record(&observed);
        self.until_done("resize", &subject, json!({})).await?;
        Ok(self.is_there(&written).await?)
    }

    /// Checks that the check has two sizes: from one to itself, nothing changes.
    fn ensure_two_sizes(&self) -> Checked {
        let [before, after] = &self.shapes.sizes;
        if before == after {
            return Err(Broken::Skipped("both of --sizes are the same".to_owned()));
        }
        Ok(())
    }

    pub(super) async fn window(&mut self) -> Checked {
        self.ensure_two_sizes()?;
        let mut subject = self.main()?;
        let now = Timestamp::from_millisecond(self.world.now());
        let now = now.map_err(|error| error.to_string())?;
        let hour = now.to_zoned(TimeZone::UTC).hour();
        subject.wanted["shape"]["vm_size"] = json!(self.shapes.sizes[1]);
        // Far from now, also if the hour ends in this moment.
        subject.wanted["maintenance_window"] = json!((hour + 12).rem_euclid(24));
        let progress = self.step("resize", &subject, json!({})).await?;
        if progress.state != wire::ProgressState::Pending {
            return Err("it is done outside of the window".to_owned().into());
        }
        // A provisioner that has begun would show it a little later.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let observed = self.observed(&subject).await?;
        let observed = observed.ok_or("the database is gone".to_owned())?;
        if observed.shape.vm_size.as_str() != self.shapes.sizes[0] {
            return Err("the database has the new size outside of the window"
                .to_owned()
                .into());
        }
        Ok(())
    }

    pub(super) async fn size(&mut self) -> Checked {
        self.ensure_two_sizes()?;
        let size = self.shapes.sizes[1].clone();
        let subject = self.want("vm_size", json!(size))?;
        self.until_done("resize", &subject, json!({})).await?;
        let observed = self
            .until_observed(&subject, "the new size", |it| {
                it.is_available && it.shape.vm_size.as_str() == size
            })
            .await?;
        self.record(&observed);
        Ok(())
    }

    pub(super) async fn older(&mut self) -> Checked {
        let mut subject = self.main()?;
        let version = subject.wanted["shape"]["version"].clone();
        let version = version.as_str().unwrap_or_default();
        let number: u32 = version
            .parse()
            .map_err(|_| format!("the version {version:?} is no number"))?;
        let older = number.saturating_sub(1).to_string();
        if !wire::Version::VALUES.contains(&&*older) {
            let why = format!("the protocol has no version before {version}");
            return Err(Broken::Skipped(why));
        }
        subject.wanted["shape"]["version"] = json!(older);
        let refused = self.call("resize", &subject, json!({})).await?;
        refused.code(500)?;
        let observed = self.observed(&subject).await?;
        let observed = observed.ok_or("the database is gone".to_owned())?;
        if observed.shape.version.to_string() != version {
            return Err(format!("the database has the version {older}").into());
        }
        Ok(())
    }

    pub(super) async fn promote_alone(&mut self) -> Checked {
        let subject = self.main()?;
        let progress = self
            .step("promote", &subject, json!({ "number": 1 }))
            .await?;
        if progress.state != wire::ProgressState::Done {
            return Err("it is pending".to_owned().into());
        }
        Ok(())
    }

    pub(super) async fn promote(&mut self) -> Checked {
        if !self.config.standbys {
            return Err(Broken::Skipped("--no-standbys".to_owned()));
        }
        let written = self.write().await?;
        let subject = self.want("ha_type", json!("async"))?;
        self.until_done("resize", &subject, json!({})).await?;
        self.until_observed(&subject, "the standby", |it| {
            it.is_available && it.shape.ha_type == wire::HaType::Async
        })
        .await?;
        let before = self.connected(&subject).await?.host;
        let timeline = self.timeline(&subject).await?;
        self.numbered("promote", &subject, 2).await?;
        let after = self.connected(&subject).await?.host;
        if before != after {
            return Err(format!("the host was {before} and is {after} after the promotion").into());
        }
        // A standby that becomes the primary begins a timeline. Both are empty without a connection.
        let promoted = self.timeline(&subject).await?;
        if promoted <= timeline && !timeline.is_empty() {
            return Err(
                "no standby has become the primary: the log is on the same timeline"
                    .to_owned()
                    .into(),
            );
        }
        self.step("promote", &subject, json!({ "number": 1 }))
            .await?;
        if self.timeline(&subject).await? != promoted {
            return Err("promotion 1 was made after promotion 2".to_owned().into());
        }
        Ok(self.is_there(&written).await?)
    }

    pub(super) async fn together(&mut self) -> Checked {
        let first = self.main()?;
        let (one, two) = (self.subject(), self.subject());
        for subject in [&one, &two] {
            self.made.push(subject.clone());
        }
        // One cannot wait for the other.
        let created = tokio::join!(
            self.until_done("create", &one, json!({})),
            self.until_done("create", &two, json!({})),
        );
        created.0?;
        created.1?;
        let mut hosts = Vec::new();
        for subject in [&first, &one, &two] {
            if subject.id != first.id {
                self.let_in(subject).await?;
            }
            self.until_observed(subject, "an available database", |it| it.is_available)
                .await?;
            hosts.push(self.connected(subject).await?.host);
        }
        if hosts[0] == hosts[1] || hosts[1] == hosts[2] || hosts[0] == hosts[2] {
            return Err(format!("two databases have the host {}", hosts[1]).into());
        }
        for subject in [&one, &two] {
            self.until_done("delete", subject, json!({})).await?;
        }
        match self.observed(&first).await? {
            Some(_) => Ok(()),
            None => Err("the deletion of others has deleted a database"
                .to_owned()
                .into()),
        }
    }

    pub(super) async fn delete_unfinished(&mut self) -> Checked {
        let subject = self.subject();
        self.made.push(subject.clone());
        self.step("create", &subject, json!({})).await?;
        self.until_done("delete", &subject, json!({})).await?;
        match self.observed(&subject).await? {
            None => Ok(()),
            Some(_) => Err("the database is still observed".to_owned().into()),
        }
    }

    pub(super) async fn delete(&mut self) -> Checked {
        let subject = self.main()?;
        self.until_done("delete", &subject, json!({})).await?;
        // A simulator may take over what the service has recorded.
        let unknown = Subject {
            known: None,
            ..subject.clone()
        };
        for step in ["observe", "connection"] {
            let answer = self.call(step, &unknown, json!({})).await?;
            is_missing(step, &answer)?;
        }
        Ok(self.is_closed(&subject).await?)
    }

    pub(super) async fn delete_again(&mut self) -> Checked {
        let subject = self.main()?;
        let progress = self.step("delete", &subject, json!({})).await?;
        if progress.state != wire::ProgressState::Done {
            return Err("it is pending after it was done".to_owned().into());
        }
        Ok(())
    }
}

/// Returns what the service records of a database, for later requests.
pub(super) fn recorded(observed: &wire::ObservedDatabase) -> Value {
    let mut known = serde_json::to_value(observed).unwrap_or_default();
    if let Some(known) = known.as_object_mut() {
        known.remove("backups");
    }
    known
}

/// Checks that the certificate of a server is for its host, and issued by its authority.
fn verify(connection: &wire::Connection, now: i64) -> Result<(), String> {
    let certificates = |text: &wire::Certificates, whose: &str| {
        let parsed: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(text.as_str().as_bytes()).collect();
        parsed.map_err(|_| format!("the certificate of the {whose} is not in PEM"))
    };
    let mut roots = RootCertStore::empty();
    for root in certificates(&connection.ca_certificates, "authority")? {
        roots
            .add(root)
            .map_err(|error| format!("the certificate of the authority cannot be used: {error}"))?;
    }
    let chain = certificates(&connection.server_certificate, "server")?;
    let (server, others) = chain
        .split_first()
        .ok_or("there is no certificate of the server")?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let verifier = verifier.map_err(|error| format!("the authority cannot be used: {error}"))?;
    let name = ServerName::try_from(connection.host.as_str())
        .map_err(|_| "the host is no name of a server".to_owned())?;
    let now = UnixTime::since_unix_epoch(Duration::from_millis(
        u64::try_from(now).unwrap_or_default(),
    ));
    verifier
        .verify_server_cert(server, others, &name, &[], now)
        .map(drop)
        .map_err(|error| format!("the certificate of the server is not valid: {error}"))
}
