//! The certificate authority of Postgres databases and of load balancers. It issues real
//! certificates, also for simulated databases, is created once, and is stored in the database of the
//! service, or in a file of `stratusd provision`.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use serde::{Deserialize, Serialize};

use zeroize::Zeroizing;

use crate::seal::Sealer;
use crate::storage::{self, Aborted, Change, Connection, Store};
use crate::world::World;

/// The name of the authority in the table `service_state`, and the owner that its private key is
/// sealed for.
const NAME: &str = "certificate_authority";

/// The line that the private key of an authority begins with, in a file.
const KEY: &str = "-----BEGIN PRIVATE KEY-----";

/// A certificate authority that issues server certificates.
pub struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
    world: World,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

/// The authority as it is stored, in JSON: its certificate in PEM, and its private key, sealed.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    certificate: String,
    key: Vec<u8>,
}

impl Stored {
    fn parse(stored: &[u8]) -> Result<Self> {
        serde_json::from_slice(stored)
            .context("the certificate authority in the database is malformed")
    }

    fn open(&self, sealer: &Sealer) -> Result<Zeroizing<String>> {
        let opened = sealer.open(&self.key, NAME);
        opened.context("failed to open the certificate authority: check that the encryption keys are the right ones")
    }
}

/// Seals the private key of the stored authority with the current encryption key, unless it is
/// already sealed with that. Returns whether it changed the stored authority; `false` also if none
/// is stored.
///
/// # Errors
///
/// If the database fails, the stored authority is malformed, or none of the encryption keys opens
/// its private key.
pub async fn reseal(store: &Store, sealer: &Sealer, world: &World) -> Result<bool> {
    let mut reader = store.reader().await?;
    let Some(stored) = storage::service_state::lookup(&mut reader.connection(), NAME).await? else {
        return Ok(false);
    };
    drop(reader);
    let stored = Stored::parse(&stored)?;
    if sealer.is_current(&stored.key) {
        return Ok(false);
    }
    let key = sealer.seal(&stored.open(sealer)?, world, NAME);
    let value = serde_json::to_vec(&Stored { key, ..stored })?;
    store
        .change(Replace { value })
        .await
        .map_err(Aborted::failure)?;
    Ok(true)
}

/// The change that replaces the stored authority by `value`.
struct Replace {
    value: Vec<u8>,
}

impl Change for Replace {
    type Output = ();
    type Refusal = std::convert::Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<(), Aborted<Self::Refusal>> {
        Ok(storage::service_state::update(tx, NAME, &self.value).await?)
    }
}

impl Authority {
    /// Loads the authority from the database. If there is none, creates and stores it.
    ///
    /// # Errors
    ///
    /// If the database fails, the stored authority is malformed, or none of the encryption keys
    /// opens its private key.
    pub async fn load_or_create(store: &Store, sealer: &Sealer, world: &World) -> Result<Self> {
        let year = year(world)?;
        let key = KeyPair::generate().context("failed to generate a key")?;
        let certificate = params(year)?
            .self_signed(&key)
            .context("failed to sign a certificate")?;
        let sealed = sealer.seal(&key.serialize_pem(), world, NAME);
        let candidate = serde_json::to_vec(&Stored {
            certificate: certificate.pem(),
            key: sealed,
        })?;
        // Always with a new candidate, in one transaction: several replicas may start on an empty
        // database at the same time, and must end up with the same authority.
        let stored = store
            .change(LoadOrInsert { candidate })
            .await
            .map_err(Aborted::failure)?;
        Self::opened(&stored, sealer, world)
    }

    /// Loads the authority from a file with its certificate and its private key in PEM. If the file
    /// is not there, creates it, for this user alone to read.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or written, or is malformed.
    pub fn load_or_create_file(path: &Path, world: &World) -> Result<Self> {
        if !path.try_exists().unwrap_or(true) {
            let key = KeyPair::generate().context("failed to generate a key")?;
            let certificate = params(year(world)?)?
                .self_signed(&key)
                .context("failed to sign a certificate")?;
            let key = Zeroizing::new(key.serialize_pem());
            let text = Zeroizing::new(format!("{}{}", certificate.pem(), *key));
            create(path, text.as_bytes(), world)
                .with_context(|| format!("failed to write {}", path.display()))?;
        }
        let text = fs::read_to_string(path)
            .map(Zeroizing::new)
            .with_context(|| format!("failed to read {}", path.display()))?;
        let opened = text.find(KEY).and_then(|at| {
            let (certificate, key) = text.split_at(at);
            let key = KeyPair::from_pem(key).ok()?;
            certificate
                .starts_with("-----BEGIN CERTIFICATE-----")
                .then(|| (certificate.to_owned(), key))
        });
        let (certificate, key) = opened.with_context(|| {
            format!(
                "{} must have a certificate and then its private key, both in PEM",
                path.display()
            )
        })?;
        Ok(Self {
            certificate,
            issuer: Issuer::new(params(year(world)?)?, key),
            world: world.clone(),
        })
    }

    /// Loads the authority from a database that is only read. Returns `None` if there is none yet.
    ///
    /// # Errors
    ///
    /// As [`load_or_create`](Self::load_or_create).
    pub async fn load(
        c: &mut Connection<'_>,
        sealer: &Sealer,
        world: &World,
    ) -> Result<Option<Self>> {
        let Some(stored) = storage::service_state::lookup(c, NAME).await? else {
            return Ok(None);
        };
        Ok(Some(Self::opened(&stored, sealer, world)?))
    }

    fn opened(stored: &[u8], sealer: &Sealer, world: &World) -> Result<Self> {
        let stored = Stored::parse(stored)?;
        let key = stored.open(sealer)?;
        let key =
            KeyPair::from_pem(&key).context("the key of the certificate authority is malformed")?;
        Ok(Self {
            certificate: stored.certificate,
            issuer: Issuer::new(params(year(world)?)?, key),
            world: world.clone(),
        })
    }

    /// Returns the certificate of the authority in PEM.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Issues a server certificate for a host name or an IP address. It is valid from 31 December of
    /// last year until 31 January in two years. The authority does not keep its private key.
    ///
    /// # Errors
    ///
    /// If the host is not ASCII, or the certificate cannot be signed.
    pub fn issue(&self, host: &str) -> Result<Issued> {
        let year = year(&self.world)?;
        let mut params = CertificateParams::new(vec![host.to_owned()])?;
        params
            .distinguished_name
            .push(DnType::CommonName, "Stratus Postgres server");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        params.not_before = rcgen::date_time_ymd(year - 1, 12, 31);
        params.not_after = rcgen::date_time_ymd(year + 2, 1, 31);
        let key = KeyPair::generate()?;
        Ok(Issued {
            certificate: params.signed_by(&key, &self.issuer)?.pem(),
            key: Zeroizing::new(key.serialize_pem()),
        })
    }

    /// Issues a certificate for the host of a load balancer, with its private key. It is valid from an
    /// hour ago, for clocks that are behind, until after `lifetime`.
    ///
    /// # Errors
    ///
    /// If the host is not ASCII, or the certificate cannot be signed.
    pub fn issue_for(&self, host: &str, lifetime: Duration) -> Result<(Certificate, KeyPair)> {
        let now = Duration::from_millis(u64::try_from(self.world.now())?);
        let mut params = CertificateParams::new(vec![host.to_owned()])?;
        params
            .distinguished_name
            .push(DnType::CommonName, "Stratus load balancer");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let start = rcgen::date_time_ymd(1970, 1, 1) + now;
        params.not_before = start - Duration::from_hours(1);
        params.not_after = start + lifetime;
        let key = KeyPair::generate()?;
        Ok((params.signed_by(&key, &self.issuer)?, key))
    }
}

/// Creates a file with a content, unless another process does so first.
fn create(path: &Path, content: &[u8], world: &World) -> io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(format!("-{:016x}", u64::from_be_bytes(world.random())));
    let new = PathBuf::from(new);
    let mut options = File::options();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    // A link is made at once, with the whole content, and never replaces a file.
    let linked = file
        .write_all(content)
        .and_then(|()| file.sync_all())
        .and_then(|()| match fs::hard_link(&new, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        });
    fs::remove_file(&new)?;
    linked
}

/// A server certificate and its private key, both in PEM.
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// The private key, which is erased from memory when dropped.
    pub key: Zeroizing<String>,
}

impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued").finish_non_exhaustive()
    }
}

/// Returns the parameters of the authority's certificate, which is valid for about 20 years from
/// the start of `year`. The subject and the usages are the same in every year, so that certificates
/// name the stored authority as their issuer, although it may be from another year.
fn params(year: i32) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params
        .distinguished_name
        .push(DnType::CommonName, "Stratus Postgres root CA");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = rcgen::date_time_ymd(year - 1, 12, 31);
    params.not_after = rcgen::date_time_ymd(year + 20, 1, 31);
    Ok(params)
}

/// Returns the year of the clock, in UTC.
pub(super) fn year(world: &World) -> Result<i32> {
    let now = Timestamp::from_millisecond(world.now())?;
    Ok(i32::from(now.to_zoned(TimeZone::UTC).year()))
}

/// The change that stores `candidate` as the authority if none is stored. Its output is the stored
/// authority, the candidate or an earlier one.
struct LoadOrInsert {
    candidate: Vec<u8>,
}

impl Change for LoadOrInsert {
    type Output = Vec<u8>;
    type Refusal = std::convert::Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Vec<u8>, Aborted<Self::Refusal>> {
        if let Some(stored) = storage::service_state::lookup(tx, NAME).await? {
            return Ok(stored);
        }
        storage::service_state::insert(tx, NAME, &self.candidate).await?;
        Ok(self.candidate.clone())
    }
}
