//! The packages of the workspace: by hand, generated, published.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

/// Package names, each list sorted.
pub(super) struct Packages {
    /// Packages that people write.
    pub(super) by_hand: Vec<String>,
    /// Packages that the generator writes.
    pub(super) generated: Vec<String>,
    /// Packages that other teams install or depend on: all that do not say `publish = false`.
    pub(super) published: Vec<String>,
}

/// What a manifest says about its package.
#[derive(Deserialize)]
struct Manifest {
    package: Package,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    #[serde(default = "yes")]
    publish: bool,
}

fn yes() -> bool {
    true
}

impl Packages {
    /// Lists the packages of the workspace at `root`.
    pub(super) fn find(root: &Path) -> anyhow::Result<Self> {
        let crates = root.join("crates");
        let mut by_hand = ["launch", "tests", "xtask"].map(str::to_owned).to_vec();
        let (mut generated, mut published) = (Vec::new(), Vec::new());
        for entry in
            fs::read_dir(&crates).with_context(|| format!("failed to read {}", crates.display()))?
        {
            let folder = entry
                .with_context(|| format!("failed to read {}", crates.display()))?
                .path();
            let path = folder.join("Cargo.toml");
            if !path.is_file() {
                continue;
            }
            let text = fs::read_to_string(&path)
                .with_context(|| format!("failed to read {}", path.display()))?;
            let Manifest { package } = toml::from_str(&text)
                .with_context(|| format!("failed to read {}", path.display()))?;
            if package.publish {
                published.push(package.name.clone());
            }
            let list = if codegen::emit::is_generated(&folder) {
                &mut generated
            } else {
                &mut by_hand
            };
            list.push(package.name);
        }
        by_hand.sort();
        generated.sort();
        published.sort();
        Ok(Self {
            by_hand,
            generated,
            published,
        })
    }
}
