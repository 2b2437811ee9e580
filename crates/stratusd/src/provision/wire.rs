//! Converts between the types of [`Provisioner`](super::Provisioner) and those of its protocol over
//! HTTP.

use std::time::Duration;

use jiff::Timestamp as Moment;
use provisioner_types as wire;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::ParsedCertificate;

use super::{
    Backup, ConnectionDetails, MOST_BACKUPS, Observed, Progress, ProvisionError, Restored, Shape,
    Wanted,
};

/// The wait for a pending step whose response names none.
const WAIT: Duration = Duration::from_secs(1);
/// The shortest wait for a pending step, so that no response makes the service ask all the time.
const LEAST_WAIT: Duration = Duration::from_millis(100);
/// The maximum number of certificates of an authority, or of a server with those between it and its
/// authority.
const MOST_CERTIFICATES: usize = 16;
/// The maximum number of characters of a version, a size or a kind of high availability that the
/// contract does not list.
const MOST_UNLISTED: usize = 63;

/// Something that has no form in the protocol, or none in the service.
fn unfit(what: &str) -> ProvisionError {
    ProvisionError::Failed(format!("{what} does not fit the protocol of provisioners"))
}

/// Returns a database as it is wanted, for a request.
pub(super) fn wanted(of: &Wanted) -> Result<wire::WantedDatabase, ProvisionError> {
    let networks: Result<Vec<wire::Network>, _> = of.open_to.iter().map(|it| it.parse()).collect();
    let networks = networks.map_err(|_| unfit("a network"))?;
    let mut wanted = wire::WantedDatabase::from(wire::WantedDatabaseFields {
        project_id: of.project_id.parse().map_err(|_| unfit("the project"))?,
        location: of.location.parse().map_err(|_| unfit("the location"))?,
        name: of.name.parse().map_err(|_| unfit("the name"))?,
        flavor: wire::Flavor::from(&*of.flavor),
        open_to: networks
            .try_into()
            .map_err(|_| unfit("the number of networks"))?,
        shape: shape(&of.shape)?,
    });
    wanted.maintenance_window = of
        .maintenance_window
        .map(|hour| wire::MaintenanceHour::try_from(i32::from(hour)))
        .transpose()
        .map_err(|_| unfit("the maintenance window"))?;
    wanted.restored = of.restored.as_ref().map(restored).transpose()?;
    Ok(wanted)
}

fn restored(of: &Restored) -> Result<wire::Restored, ProvisionError> {
    let until = Moment::from_microsecond(of.until).ok();
    let until = until.and_then(|until| format!("{until:.6}").parse().ok());
    Ok(wire::Restored::new(
        of.from
            .parse()
            .map_err(|_| unfit("the restored database"))?,
        until.ok_or_else(|| unfit("the time to restore"))?,
    ))
}

fn shape(of: &Shape) -> Result<wire::Shape, ProvisionError> {
    Ok(wire::Shape::from(wire::ShapeFields {
        version: wire::Version::from(&*of.version),
        vm_size: of.vm_size.parse().map_err(|_| unfit("the size"))?,
        storage_size_gib: of
            .storage_size_gib
            .try_into()
            .map_err(|_| unfit("the storage size"))?,
        ha_type: wire::HaType::from(&*of.ha_type),
    }))
}

/// Returns what the service has recorded of a database, for a request.
pub(super) fn known(of: &Wanted) -> Result<Option<wire::KnownDatabase>, ProvisionError> {
    let Some(of) = &of.known else {
        return Ok(None);
    };
    let mut known = wire::KnownDatabase::from(wire::KnownDatabaseFields {
        is_available: of.is_available,
        shape: shape(&of.shape)?,
        used_bytes: used_bytes(of.used_bytes)?,
        latest_restore_time: timestamp(of.latest_restore_time)?,
    });
    known.earliest_restore_time = of.earliest_restore_time.map(timestamp).transpose()?;
    Ok(Some(known))
}

fn used_bytes(bytes: i64) -> Result<wire::UsedBytes, ProvisionError> {
    bytes.try_into().map_err(|_| unfit("the used storage"))
}

/// Returns a time in seconds since 1970 as text.
fn timestamp(seconds: i64) -> Result<wire::Timestamp, ProvisionError> {
    let moment = Moment::from_second(seconds).ok();
    let text = moment.and_then(|moment| moment.to_string().parse().ok());
    text.ok_or_else(|| unfit("a time"))
}

/// Returns the number of a restart or of a switch, for a request.
pub(super) fn number(number: i64) -> Result<wire::StepNumber, ProvisionError> {
    number.try_into().map_err(|_| unfit("the number of a step"))
}

/// Returns what is observed of a database, for a response.
pub(super) fn observed(of: &Observed) -> Result<wire::ObservedDatabase, ProvisionError> {
    let newest = of.backups.len().saturating_sub(MOST_BACKUPS);
    let backups = of.backups[newest..].iter().map(|backup| {
        let key = backup.key.parse().map_err(|_| unfit("a backup"))?;
        Ok(wire::Backup::new(key, timestamp(backup.last_modified)?))
    });
    let backups: Result<Vec<_>, ProvisionError> = backups.collect();
    let mut observed = wire::ObservedDatabase::from(wire::ObservedDatabaseFields {
        is_available: of.is_available,
        shape: shape(&of.shape)?,
        used_bytes: used_bytes(of.used_bytes)?,
        latest_restore_time: timestamp(of.latest_restore_time)?,
        backups: backups?
            .try_into()
            .map_err(|_| unfit("the number of backups"))?,
    });
    observed.earliest_restore_time = of.earliest_restore_time.map(timestamp).transpose()?;
    Ok(observed)
}

/// Returns the progress of a step, for a response.
pub(super) fn progress(of: Progress) -> wire::Progress {
    match of {
        Progress::Done => wire::Progress::new(wire::ProgressState::Done),
        Progress::Pending(wait) => {
            let mut progress = wire::Progress::new(wire::ProgressState::Pending);
            // One that is longer than a day is asked for earlier, which is allowed.
            let millis = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
            progress.wait_ms =
                wire::WaitMilliseconds::try_from(millis.min(24 * 60 * 60 * 1000)).ok();
            progress
        }
    }
}

/// Returns how clients connect to a database, for a response.
pub(super) fn connection(of: &ConnectionDetails) -> Result<wire::Connection, ProvisionError> {
    Ok(wire::Connection::new(
        of.host.parse().map_err(|_| unfit("the host"))?,
        of.ca_certificates
            .parse()
            .map_err(|_| unfit("the certificate of the authority"))?,
        of.server_certificate
            .parse()
            .map_err(|_| unfit("the certificate of the server"))?,
    ))
}

/// Returns an event that names databases.
pub(super) fn event(ids: &[String]) -> Result<wire::DatabaseEvent, ProvisionError> {
    let ids: Result<Vec<wire::DatabaseId>, _> = ids.iter().map(|id| id.parse()).collect();
    let ids = ids.map_err(|_| unfit("the id of a database"))?;
    let ids = ids.try_into().map_err(|_| unfit("the number of ids"))?;
    Ok(wire::DatabaseEvent::new(ids))
}

/// Returns a database as a request says that it is wanted.
///
/// # Errors
///
/// If a time does not exist.
pub(super) fn read_wanted(
    id: &wire::DatabaseId,
    wanted: wire::WantedDatabase,
    known: Option<wire::KnownDatabase>,
) -> Result<Wanted, ProvisionError> {
    let restored = match wanted.restored {
        Some(restored) => Some(Restored {
            from: restored.from.to_string(),
            until: moment(restored.until.as_str())?.as_microsecond(),
        }),
        None => None,
    };
    let known = match known {
        Some(known) => Some(Observed {
            is_available: known.is_available,
            shape: read_shape(&known.shape),
            used_bytes: known.used_bytes.get(),
            earliest_restore_time: read_optional(known.earliest_restore_time.as_ref())?,
            latest_restore_time: seconds(&known.latest_restore_time)?,
            backups: Vec::new(),
        }),
        None => None,
    };
    Ok(Wanted {
        project_id: wanted.project_id.to_string(),
        id: id.to_string(),
        location: wanted.location.to_string(),
        name: wanted.name.to_string(),
        flavor: wanted.flavor.to_string(),
        open_to: wanted.open_to.iter().map(ToString::to_string).collect(),
        shape: read_shape(&wanted.shape),
        maintenance_window: wanted
            .maintenance_window
            .and_then(|hour| u8::try_from(hour.get()).ok()),
        restored,
        known,
    })
}

fn read_shape(of: &wire::Shape) -> Shape {
    Shape {
        version: of.version.to_string(),
        vm_size: of.vm_size.to_string(),
        storage_size_gib: of.storage_size_gib.get(),
        ha_type: of.ha_type.to_string(),
    }
}

fn moment(text: &str) -> Result<Moment, ProvisionError> {
    text.parse().map_err(|_| unfit("a time"))
}

fn seconds(of: &wire::Timestamp) -> Result<i64, ProvisionError> {
    Ok(moment(of.as_str())?.as_second())
}

fn read_optional(of: Option<&wire::Timestamp>) -> Result<Option<i64>, ProvisionError> {
    of.map(seconds).transpose()
}

/// Returns what a response says of a database.
pub(super) fn read_observed(of: &wire::ObservedDatabase) -> Result<Observed, ProvisionError> {
    let backups = of.backups.iter().map(|backup| {
        Ok(Backup {
            key: backup.key.to_string(),
            last_modified: seconds(&backup.last_modified)?,
        })
    });
    let shape = read_shape(&of.shape);
    // They are stored, shown, and sent back with each request.
    if ![&shape.version, &shape.vm_size, &shape.ha_type]
        .into_iter()
        .all(|value| is_short(value))
    {
        return Err(unfit("a shape"));
    }
    Ok(Observed {
        is_available: of.is_available,
        shape,
        used_bytes: of.used_bytes.get(),
        earliest_restore_time: read_optional(of.earliest_restore_time.as_ref())?,
        latest_restore_time: seconds(&of.latest_restore_time)?,
        backups: backups.collect::<Result<_, ProvisionError>>()?,
    })
}

/// Returns whether a value of an enumeration that may grow is one that the service can store.
pub(super) fn is_short(value: &str) -> bool {
    (1..=MOST_UNLISTED).contains(&value.chars().count()) && !value.contains(char::is_control)
}

/// Returns what a response says of a step.
pub(super) fn read_progress(of: &wire::Progress) -> Progress {
    match of.state {
        wire::ProgressState::Done => Progress::Done,
        wire::ProgressState::Pending => {
            let wait = of.wait_ms.and_then(|wait| u64::try_from(wait.get()).ok());
            let wait = wait.map_or(WAIT, Duration::from_millis);
            Progress::Pending(wait.max(LEAST_WAIT))
        }
    }
}

/// Returns what a response says of how clients connect.
///
/// # Errors
///
/// If the certificates are none: their owner would get them, and could not connect.
pub(super) fn read_connection(of: &wire::Connection) -> Result<ConnectionDetails, ProvisionError> {
    ensure_certificates("`ca_certificates`", of.ca_certificates.as_str())?;
    ensure_certificates("`server_certificate`", of.server_certificate.as_str())?;
    Ok(ConnectionDetails {
        host: of.host.to_string(),
        ca_certificates: of.ca_certificates.to_string(),
        server_certificate: of.server_certificate.to_string(),
    })
}

/// Checks that a text has certificates in PEM, at least one and at most [`MOST_CERTIFICATES`].
fn ensure_certificates(name: &str, text: &str) -> Result<(), ProvisionError> {
    let wrong = |what: &str| ProvisionError::Failed(format!("{name} {what}"));
    let mut count = 0;
    for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
        count += 1;
        if count > MOST_CERTIFICATES {
            return Err(wrong(&format!(
                "has more than {MOST_CERTIFICATES} certificates"
            )));
        }
        let certificate = certificate.map_err(|_| wrong("is not in PEM"))?;
        ParsedCertificate::try_from(&certificate)
            .map_err(|_| wrong("has a certificate that cannot be parsed"))?;
    }
    if count == 0 {
        return Err(wrong("has no certificate in PEM"));
    }
    Ok(())
}
