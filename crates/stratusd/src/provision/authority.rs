//! The certificate authority of simulated databases: a real one, made once and kept in the store.

use std::fmt;

use anyhow::{Context, Result};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde::{Deserialize, Serialize};

use zeroize::Zeroizing;

use crate::seal::Sealer;
use crate::storage::{self, Aborted, Change, Connection, Store};
use crate::world::World;

/// The name that it is kept under, and that its sealed key belongs to.
const NAME: &str = "certificate_authority";

/// Signs certificates of servers.
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

/// What is kept: the key only sealed.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    certificate: String,
    key: Vec<u8>,
}

impl Kept {
    fn parse(stored: &[u8]) -> Result<Self> {
        serde_json::from_slice(stored)
            .context("the certificate authority in the store is malformed")
    }

    fn open(&self, sealer: &Sealer) -> Result<Zeroizing<String>> {
        let opened = sealer.open(&self.key, NAME);
        opened.context("no key opens the certificate authority; is the file of keys the right one?")
    }
}

/// Seals the authority's key with the current key; tells whether it was sealed with another one.
///
/// # Errors
///
/// If the store fails, or no key opens it.
pub async fn reseal(store: &Store, sealer: &Sealer, world: &World) -> Result<bool> {
    let mut reader = store.reader().await?;
    let Some(stored) = storage::service_state::lookup(&mut reader.connection(), NAME).await? else {
        return Ok(false);
    };
    drop(reader);
    let kept = Kept::parse(&stored)?;
    if sealer.is_current(&kept.key) {
        return Ok(false);
    }
    let key = sealer.seal(&kept.open(sealer)?, world, NAME);
    let value = serde_json::to_vec(&Kept { key, ..kept })?;
    store
        .change(Replace { value })
        .await
        .map_err(Aborted::failure)?;
    Ok(true)
}

/// Replaces what is kept.
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
    /// The authority of a store, made now if there is none.
    ///
    /// # Errors
    ///
    /// If the store fails, or no key opens what is kept.
    pub async fn of(store: &Store, sealer: &Sealer, world: &World) -> Result<Self> {
        let year = year(world)?;
        let key = KeyPair::generate().context("failed to make a key")?;
        let certificate = params(year)?
            .self_signed(&key)
            .context("failed to sign a certificate")?;
        let sealed = sealer.seal(&key.serialize_pem(), world, NAME);
        let candidate = serde_json::to_vec(&Kept {
            certificate: certificate.pem(),
            key: sealed,
        })?;
        let kept = store
            .change(KeepOne { candidate })
            .await
            .map_err(Aborted::failure)?;
        let kept = Kept::parse(&kept)?;
        let key = kept.open(sealer)?;
        let key =
            KeyPair::from_pem(&key).context("the key of the certificate authority is malformed")?;
        Ok(Self {
            certificate: kept.certificate,
            issuer: Issuer::new(params(year)?, key),
            world: world.clone(),
        })
    }

    /// Its own certificate in PEM.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// A certificate for a host in PEM, good for a year and a bit.
    ///
    /// # Errors
    ///
    /// If the host is no DNS name.
    pub fn issue(&self, host: &str) -> Result<String> {
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
        Ok(params.signed_by(&key, &self.issuer)?.pem())
    }
}

/// What the authority says of itself: always the same, so that the key alone makes it again.
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

fn year(world: &World) -> Result<i32> {
    let now = Timestamp::from_millisecond(world.now())?;
    Ok(i32::from(now.to_zoned(TimeZone::UTC).year()))
}

/// Keeps a value unless there is one; answers the one that is kept.
struct KeepOne {
    candidate: Vec<u8>,
}

impl Change for KeepOne {
    type Output = Vec<u8>;
    type Refusal = std::convert::Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Vec<u8>, Aborted<Self::Refusal>> {
        if let Some(kept) = storage::service_state::lookup(tx, NAME).await? {
            return Ok(kept);
        }
        storage::service_state::insert(tx, NAME, &self.candidate).await?;
        Ok(self.candidate.clone())
    }
}
