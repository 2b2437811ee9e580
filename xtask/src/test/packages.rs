//! The packages of the workspace: by hand, generated, published.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// Package names, each list sorted. A package has the name of its folder.
pub(super) struct Packages {
    /// Packages that people write.
    pub(super) by_hand: Vec<String>,
    /// Packages that the generator writes.
    pub(super) generated: Vec<String>,
    /// Packages that other teams depend on: the generated ones, `api-macros` and `api-runtime`.
    pub(super) published: Vec<String>,
}

/// The packages that generated crates depend on.
const RUN_TIME: [&str; 2] = ["api-macros", "api-runtime"];

impl Packages {
    /// Lists the packages of the workspace at `root`.
    pub(super) fn find(root: &Path) -> anyhow::Result<Self> {
        let crates = root.join("crates");
        let mut by_hand = vec!["tests".to_owned(), "xtask".to_owned()];
        let mut generated = Vec::new();
        for entry in
            fs::read_dir(&crates).with_context(|| format!("failed to read {}", crates.display()))?
        {
            let folder = entry
                .with_context(|| format!("failed to read {}", crates.display()))?
                .path();
            let Some(name) = folder.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            if !folder.join("Cargo.toml").is_file() {
                continue;
            }
            let list = if codegen::emit::is_generated(&folder) {
                &mut generated
            } else {
                &mut by_hand
            };
            list.push(name.to_owned());
        }
        by_hand.sort();
        generated.sort();
        let run_time = RUN_TIME.iter().map(|name| (*name).to_owned());
        let published = run_time.chain(generated.iter().cloned()).collect();
        Ok(Self {
            by_hand,
            generated,
            published,
        })
    }
}
