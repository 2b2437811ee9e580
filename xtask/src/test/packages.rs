//! The packages of the workspace, by who writes them.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// Package names, each list sorted. A package's folder is called as the package is.
pub(super) struct Packages {
    /// Those that people write.
    pub(super) by_hand: Vec<String>,
    /// Those that the generator writes.
    pub(super) generated: Vec<String>,
    /// Those that others depend on: the generated ones and what they lean on.
    pub(super) published: Vec<String>,
}

/// What generated crates lean on.
const RUN_TIME: [&str; 2] = ["api-macros", "api-runtime"];

impl Packages {
    /// Looks into the workspace's folders.
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
