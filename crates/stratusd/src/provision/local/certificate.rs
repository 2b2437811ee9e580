//! The certificate of a server, which the authority of the service issues for its address.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use super::folder::{Database, failed};
use super::{Inner, owner, server};
use crate::provision::{ProvisionError, authority};

impl Inner {
    /// Returns the certificate of a server in PEM. Issues one if there is none, or if it is not of
    /// this year: each is valid for about two years.
    pub(super) fn ensure_certificate(
        &self,
        database: &mut Database,
    ) -> Result<String, ProvisionError> {
        let wrong = |error| ProvisionError(format!("the certificate: {error:#}"));
        let year = authority::year(&self.world).map_err(wrong)?;
        // One file has both, so that a server never finds a key that is not that of the certificate.
        let path = database.locked.path("server.pem");
        if database.record.certificate_year == year {
            let text = fs::read_to_string(&path);
            let text = text.map_err(|error| failed("the certificate", &error))?;
            let (certificate, _) = text.split_once(KEY).unwrap_or((&text, ""));
            return Ok(certificate.to_owned());
        }
        let host = database.record.address.to_string();
        let issued = self.authority.issue(&host).map_err(wrong)?;
        let write = || -> io::Result<()> {
            let new = path.with_extension("new");
            let mut options = File::options();
            options.write(true).create(true).truncate(true).mode(0o600);
            let mut file = options.open(&new)?;
            file.write_all(issued.certificate.as_bytes())?;
            file.write_all(issued.key.as_bytes())?;
            file.sync_all()?;
            owner::give(&new, self.user(database))?;
            fs::rename(&new, &path)
        };
        write().map_err(|error| failed("the certificate", &error))?;
        server::reload(database)?;
        database.record.certificate_year = year;
        database.write()?;
        Ok(issued.certificate)
    }
}

/// How a private key in PEM begins.
const KEY: &str = "-----BEGIN PRIVATE KEY";
