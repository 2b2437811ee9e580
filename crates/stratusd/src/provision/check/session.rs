//! Rules that need a connection to a database.

use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{Broken, Check, Checked, Subject};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a change of who may connect may take to be in force.
const IN_FORCE: Duration = Duration::from_secs(5);
/// The port of databases.
const PORT: u16 = 5432;

/// What became of an attempt to connect.
enum Attempt {
    Open(Client),
    /// The server has refused the user.
    Refused,
    /// Nobody has answered, or something else was wrong.
    Nothing(String),
}

impl Check {
    /// Returns why the check does not connect, if so.
    fn unconnected(&self) -> Option<&'static str> {
        if !self.config.connects {
            Some("--no-connections")
        } else if self.is_simulated() {
            Some("nobody can connect to a simulated database")
        } else {
            None
        }
    }

    fn ensure_connects(&self) -> Result<(), Broken> {
        match self.unconnected() {
            Some(why) => Err(Broken::Skipped(why.to_owned())),
            None => Ok(()),
        }
    }

    pub(super) async fn set_password(&mut self) -> Checked {
        let mut subject = self.main()?;
        for _ in 0..2 {
            let password = format!("Check-{}-1a", self.world.letters_and_digits(24));
            let more = json!({ "password": password });
            self.call("set-password", &subject, more)
                .await?
                .is_empty()?;
            subject.password = Some(password);
        }
        self.main = Some(subject);
        Ok(())
    }

    pub(super) async fn password_opens(&mut self) -> Checked {
        self.ensure_connects()?;
        let mut subject = self.main()?;
        let earlier = subject.clone();
        let password = format!("Check-{}-1a", self.world.letters_and_digits(24));
        let more = json!({ "password": password });
        self.call("set-password", &subject, more)
            .await?
            .is_empty()?;
        subject.password = Some(password);
        self.main = Some(subject.clone());
        self.open(&subject).await?;
        match attempt(&earlier).await? {
            Attempt::Refused => Ok(()),
            Attempt::Open(_) => Err("the earlier password opens it too".to_owned().into()),
            Attempt::Nothing(error) => Err(error.into()),
        }
    }

    pub(super) async fn restrict(&mut self) -> Checked {
        let subject = self.main()?;
        let mut closed = subject.clone();
        closed.wanted["open_to"] = json!([]);
        for subject in [&closed, &closed, &subject, &subject] {
            self.call("restrict", subject, json!({}))
                .await?
                .is_empty()?;
        }
        Ok(())
    }

    pub(super) async fn restrict_closes(&mut self) -> Checked {
        self.ensure_connects()?;
        let subject = self.main()?;
        // Nobody, and networks for documentation, which nobody has.
        for networks in [json!([]), json!(["192.0.2.0/24", "2001:db8::/32"])] {
            let mut closed = subject.clone();
            closed.wanted["open_to"] = networks;
            self.call("restrict", &closed, json!({}))
                .await?
                .is_empty()?;
            let begun = Instant::now();
            while let Attempt::Open(_) = attempt(&subject).await? {
                if begun.elapsed() > IN_FORCE {
                    let networks = &closed.wanted["open_to"];
                    return Err(format!(
                        "one can connect from elsewhere with `open_to` {networks}"
                    )
                    .into());
                }
                sleep(IN_FORCE / 50).await;
            }
            // A server that was down would look as if it were closed.
            self.call("restrict", &subject, json!({}))
                .await?
                .is_empty()?;
            self.open(&subject).await?;
        }
        Ok(())
    }

    /// Connects to a database, which may take a moment after a step.
    async fn open(&self, subject: &Subject) -> Result<Client, String> {
        let begun = Instant::now();
        loop {
            let wrong = match attempt(subject).await? {
                Attempt::Open(client) => return Ok(client),
                Attempt::Refused => "the database refuses the password".to_owned(),
                Attempt::Nothing(error) => error,
            };
            if begun.elapsed() > self.config.patience.min(4 * IN_FORCE) {
                return Err(wrong);
            }
            sleep(IN_FORCE / 50).await;
        }
    }

    /// Returns when the server of a database was started, as its own clock says.
    pub(super) async fn started_at(&self, subject: &Subject) -> Result<String, Broken> {
        self.ensure_connects()?;
        Ok(self
            .ask(subject, "SELECT pg_postmaster_start_time()::text")
            .await?)
    }

    /// Returns the timeline of the log of a database, or an empty text if the check does not connect.
    pub(super) async fn timeline(&self, subject: &Subject) -> Result<String, String> {
        if self.unconnected().is_some() {
            return Ok(String::new());
        }
        let query = "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)";
        self.ask(subject, query).await
    }

    async fn ask(&self, subject: &Subject, query: &str) -> Result<String, String> {
        let client = self.open(subject).await?;
        let row = client.query_one(query, &[]).await;
        let row = row.map_err(|error| format!("a query fails: {error}"))?;
        row.try_get(0).map_err(|error| error.to_string())
    }

    /// Writes something to the main database, and returns it. Empty if the check does not connect.
    pub(super) async fn write(&self) -> Result<String, Broken> {
        let subject = self.main()?;
        if self.unconnected().is_some() {
            return Ok(String::new());
        }
        let text = self.world.letters_and_digits(24);
        let client = self.open(&subject).await?;
        let made = client
            .batch_execute("CREATE TABLE IF NOT EXISTS provisioner_check (text text)")
            .await;
        made.map_err(|error| format!("a table cannot be made: {error}"))?;
        let written = client
            .execute("INSERT INTO provisioner_check VALUES ($1)", &[&text])
            .await;
        written.map_err(|error| format!("a row cannot be written: {error}"))?;
        Ok(text)
    }

    /// Checks that what was written is in the main database.
    pub(super) async fn is_there(&self, written: &str) -> Result<(), String> {
        let Some(subject) = self.main.clone().filter(|_| !written.is_empty()) else {
            return Ok(());
        };
        let query = "SELECT string_agg(text, ' ') FROM provisioner_check";
        let found = self.ask(&subject, query).await?;
        if found.split(' ').any(|text| text == written) {
            Ok(())
        } else {
            Err("what was written before is gone".to_owned())
        }
    }

    /// Checks that nobody can connect to a database that was deleted.
    pub(super) async fn is_closed(&self, subject: &Subject) -> Result<(), String> {
        if self.unconnected().is_some() || subject.connection.is_none() {
            return Ok(());
        }
        match attempt(subject).await? {
            Attempt::Open(_) => Err("one can still connect to it".to_owned()),
            Attempt::Refused | Attempt::Nothing(_) => Ok(()),
        }
    }
}

/// Connects to a database as its owner, and trusts only its authority.
async fn attempt(subject: &Subject) -> Result<Attempt, String> {
    let (Some(connection), Some(password)) = (&subject.connection, &subject.password) else {
        return Err("the host or the password is not known".to_owned());
    };
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_slice_iter(connection.ca_certificates.as_str().as_bytes()) {
        let added = root.map(|root| roots.add(root));
        if !matches!(added, Ok(Ok(()))) {
            return Err("the certificate of the authority cannot be used".to_owned());
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut config = Config::new();
    config
        .host(connection.host.as_str())
        .port(PORT)
        .user("postgres")
        .dbname("postgres")
        .password(password)
        .ssl_mode(SslMode::Require);
    let connecting = config.connect(MakeRustlsConnect::new(tls));
    let Ok(connected) = timeout(CONNECT, connecting).await else {
        let host = &connection.host;
        return Ok(Attempt::Nothing(format!("{host}:{PORT} does not respond")));
    };
    Ok(match connected {
        Ok((client, connection)) => {
            tokio::spawn(connection);
            Attempt::Open(client)
        }
        Err(error) => match error.code() {
            Some(code)
                if *code == SqlState::INVALID_PASSWORD
                    || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION =>
            {
                Attempt::Refused
            }
            _ => {
                let host = &connection.host;
                let mut cause: &dyn std::error::Error = &error;
                while let Some(inner) = cause.source() {
                    cause = inner;
                }
                Attempt::Nothing(format!("one cannot connect to {host}:{PORT}: {cause}"))
            }
        },
    })
}
