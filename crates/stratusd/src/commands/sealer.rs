//! The encryption keys that the settings name.

use std::path::Path;

use anyhow::{Context, Result, bail};
use stratusd::seal::Sealer;
use stratusd::settings::{KeySettings, KeySource};
use zeroize::Zeroizing;

/// Returns a sealer with the encryption keys that the settings name.
pub(super) fn sealer(settings: &KeySettings) -> Result<Sealer> {
    let text = match settings.source()? {
        Some(KeySource::Text(keys)) => Zeroizing::new(keys.expose().to_owned()),
        Some(KeySource::File(path)) => read_keys(path)?,
        None => bail!(
            "no encryption keys are set: create a key with `stratusd key generate > FILE`, and pass \
             --encryption-keys-file FILE"
        ),
    };
    Sealer::parse(&text).context("failed to read the encryption keys")
}

fn read_keys(path: &Path) -> Result<Zeroizing<String>> {
    // The error about a missing file would print the path, which here is a key.
    if path
        .to_str()
        .is_some_and(|text| Sealer::parse(text).is_ok())
    {
        bail!("encryption_keys_file is a key: set it to the path of a file with keys");
    }
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("failed to read {}", path.display()))?;
    Ok(Zeroizing::new(text))
}
