//! The certificate of a server, which the authority of the service issues for its address.

use std::fs;
use std::path::Path;

use zeroize::Zeroizing;

use super::files::{failed, replace};
use super::folder::Database;
use super::{Inner, server};
use crate::provision::{ProvisionError, authority};

/// The name of the file of a database with its certificate.
pub(super) const FILE: &str = "server.pem";
/// The beginning of a private key in PEM.
const KEY: &str = "-----BEGIN PRIVATE KEY";

/// Returns the certificate in a file that has its private key too.
pub(super) fn read(path: &Path) -> Result<String, ProvisionError> {
    let text = fs::read_to_string(path).map(Zeroizing::new);
    let text = text.map_err(|error| failed("the certificate", &error))?;
    let (certificate, _) = text.split_once(KEY).unwrap_or((&text, ""));
    Ok(certificate.to_owned())
}

impl Inner {
    /// Returns the certificate of a server in PEM. Issues one if there is none, or if it is not of
    /// this year: each is valid for about two years.
    pub(super) fn ensure_certificate(
        &self,
        database: &mut Database,
    ) -> Result<String, ProvisionError> {
        let wrong = |error| ProvisionError::Failed(format!("the certificate: {error:#}"));
        let year = authority::year(&self.world).map_err(wrong)?;
        // One file has both, so that a server never finds a key that is not that of the certificate.
        let path = database.locked.path(FILE);
        if database.record.certificate_year == year {
            return read(&path);
        }
        let host = database.record.address.to_string();
        let issued = self.authority.issue(&host).map_err(wrong)?;
        let both = Zeroizing::new([issued.certificate.as_bytes(), issued.key.as_bytes()].concat());
        replace(&path, &both, database.user())?;
        server::reload(database)?;
        database.record.certificate_year = year;
        database.write()?;
        Ok(issued.certificate)
    }
}
