//! The settings of `stratusd provision`.

use anyhow::{Result, bail};

use super::text::{FilePath, ListenAddress, SecretText};
use super::{Origin, Setting, SettingsFile};

settings! {
    /// The settings of `stratusd provision`.
    ProvisionSettings, from ProvisionArguments:
    /// Provision: the address to serve the protocol of provisioners on.
    provision_listen("STRATUS_PROVISION_LISTEN", "ADDRESS"): ListenAddress = "127.0.0.1:8082";
    /// Provision: the address to serve health checks on. Do not make it public.
    provision_management_listen("STRATUS_PROVISION_MANAGEMENT_LISTEN", "ADDRESS"): ListenAddress = "127.0.0.1:9093";
    /// Provision: the file with the tokens that callers may send, one per line.
    provision_token_file("STRATUS_PROVISION_TOKEN_FILE", "FILE"): FilePath;
    /// Provision: the token that callers must send. Set this in the environment, not as a flag, which other users can see.
    provision_token("STRATUS_PROVISION_TOKEN", "TOKEN"): SecretText;
    /// Provision: the file with the certificate authority of the databases and its private key. Made if it is not there.
    provision_authority_file("STRATUS_PROVISION_AUTHORITY_FILE", "FILE"): FilePath = "provisioner-authority.pem";
}

impl ProvisionSettings {
    /// Checks that there is exactly one source of tokens.
    ///
    /// # Errors
    ///
    /// If there is none, or two.
    pub fn ensure_complete(&self) -> Result<()> {
        match (&self.provision_token, &self.provision_token_file) {
            (Some(_), Some(_)) => {
                bail!("provision_token and provision_token_file are both set: remove one of them")
            }
            (None, None) => bail!(
                "no token is set: make one with `openssl rand -hex 32 > FILE`, and pass --provision-token-file FILE"
            ),
            _ => Ok(()),
        }
    }
}
