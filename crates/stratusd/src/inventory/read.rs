//! Parses an inventory from the bytes of a YAML file, and checks it.

use std::path::Path;

use super::check::check;
use super::diagnostic::Diagnostics;
use super::entries::Inventory;

impl Inventory {
    /// Parses an inventory from the bytes of a YAML file, and checks it without the database.
    /// `path` is only for diagnostics.
    ///
    /// # Errors
    ///
    /// All errors in the inventory, or only the first if the file is empty or cannot be parsed.
    pub fn read(path: &Path, bytes: &[u8]) -> Result<Self, Diagnostics> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| Diagnostics::of_invalid_utf8(path, bytes, error))?;
        let options = serde_saphyr::options! {
            with_snippet: false,
            // Accept what the published JSON Schema accepts, so that an editor and this program
            // agree.
            strict_booleans: true,
            no_schema: true,
            // Enough for the largest file that `stratusd apply` reads. No entry is nested 32 levels
            // deep.
            budget: serde_saphyr::budget! { max_nodes: 20_000_000, max_events: 50_000_000, max_depth: 32 },
        };
        let parsed: Option<Self> = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| Diagnostics::of_yaml(path, &error))?;
        // Refuse an empty file, which with `--prune` would delete everything. It is more likely a
        // mistake, such as a redirection that failed.
        let inventory = parsed.ok_or_else(|| Diagnostics::of_empty_file(path))?;
        let diagnostics = check(&inventory);
        if diagnostics.is_empty() {
            Ok(inventory)
        } else {
            Err(Diagnostics::new(path, diagnostics))
        }
    }
}
