//! `stratusd apply`: what an inventory changes, first shown and then done.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use stratusd::inventory::{Apply, Findings, Inventory, Mode, Refused, Step, StepKind};
use stratusd::settings::{SettingsFile, StoreGiven};
use stratusd::storage::Aborted;
use stratusd::world::World;

/// How large an inventory may be, in bytes.
const LARGEST: u64 = 64 << 20;

/// Bring the store to an inventory: projects, locations, and what no operation of the API makes
///
/// Everything happens or nothing does. What is not in the inventory stays, unless --prune is given. What the API can
/// change of a thing is taken from the inventory when it is made, and left to the API from then on.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The inventory, in YAML; `stratusd schema` prints its JSON Schema.
    #[arg(value_name = "INVENTORY")]
    inventory: PathBuf,
    /// Show the plan and apply nothing of it.
    #[arg(long)]
    dry_run: bool,
    /// Remove what is not in the inventory.
    #[arg(long)]
    prune: bool,
    #[command(flatten)]
    store: StoreGiven,
}

pub fn run(arguments: &Arguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let path = &arguments.inventory;
    let bytes = read(path).with_context(|| format!("failed to read {}", path.display()))?;
    let inventory = Inventory::read(path, &bytes)?;
    let settings = arguments.store.settle(matches, file)?;
    let mode = Mode {
        is_dry_run: arguments.dry_run,
        prunes: arguments.prune,
    };
    let applied = super::block_on(async {
        let store = super::open(&settings).await?;
        let applied = store
            .change(Apply {
                inventory,
                mode,
                world: World::real(),
            })
            .await;
        store.close().await;
        Ok(applied)
    })?;
    match applied {
        Ok(steps) => {
            show(&steps)?;
            super::say(summary(&steps, "applied"))
        }
        Err(Aborted::Refused(Refused::DryRun(steps))) => {
            show(&steps)?;
            super::say(summary(&steps, "planned, nothing was changed"))
        }
        Err(Aborted::Refused(Refused::Inconsistent(finding))) => {
            bail!(Findings::new(path, vec![finding]))
        }
        Err(Aborted::Refused(Refused::InTheWay(message))) => bail!("{}: {message}", path.display()),
        Err(Aborted::Failed(error)) => Err(error).context("failed to apply the inventory"),
    }
}

/// A file that is not larger than an inventory may be.
fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        bail!("it is larger than {} MiB", LARGEST >> 20);
    }
    Ok(bytes)
}

fn show(steps: &[Step]) -> Result<()> {
    steps.iter().try_for_each(super::say)
}

fn summary(steps: &[Step], done: &str) -> String {
    let count = |kind| steps.iter().filter(|step| step.kind == kind).count();
    let (made, changed, removed) = (
        count(StepKind::Create),
        count(StepKind::Update),
        count(StepKind::Delete),
    );
    format!("{made} to create, {changed} to update, {removed} to delete: {done}")
}
