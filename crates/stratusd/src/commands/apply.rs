//! `stratusd apply`: changes the database to match an inventory file, and prints the changes.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use stratusd::inventory::{Apply, ApplyRefusal, Diagnostics, Inventory, Mode, Step, StepKind};
use stratusd::settings::{QuotaArguments, SettingsFile, StoreArguments};
use stratusd::storage::{Aborted, DatabaseLocation};
use stratusd::world::World;

use super::output::print;
use super::store::{block_on, config, open_or_create};

/// The maximum size of an inventory, in bytes.
const MAX_SIZE: u64 = 64 << 20;

/// Create, update and remove projects, locations and resources as an inventory declares them
///
/// All changes are made in one transaction, or none are. Resources that are not in the inventory
/// are kept, unless you pass --prune. What the API can change (such as the ports of a load
/// balancer) is set when a resource is created, and not changed by the inventory afterwards.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The inventory, a YAML file. Run `stratusd schema` for its JSON Schema.
    #[arg(value_name = "INVENTORY")]
    inventory: PathBuf,
    /// Print the changes without making them.
    #[arg(long)]
    dry_run: bool,
    /// Remove what is not in the inventory.
    #[arg(long)]
    prune: bool,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    quotas: QuotaArguments,
}

pub fn run(arguments: &Arguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let path = &arguments.inventory;
    let bytes = read(path).with_context(|| format!("failed to read {}", path.display()))?;
    let inventory = Inventory::read(path, &bytes)?;
    let settings = arguments.store.resolve(matches, file)?;
    let quotas = arguments.quotas.resolve(matches, file)?.quotas();
    let mode = Mode {
        is_dry_run: arguments.dry_run,
        prunes: arguments.prune,
    };
    let mut config = config(&settings)?;
    // Without a database, a dry run is one on an empty database, which nobody finds afterwards.
    let scratch = match config.database.missing_file() {
        Some(_) if arguments.dry_run => {
            Some(tempfile::tempdir().context("failed to make a folder for an empty database")?)
        }
        _ => None,
    };
    if let Some(scratch) = &scratch {
        config.database = DatabaseLocation::Sqlite(scratch.path().join("stratus.db"));
    }
    let applied = block_on(async {
        let store = open_or_create(&config).await?;
        let apply = Apply {
            inventory,
            mode,
            world: World::real(),
            quotas,
        };
        let applied = store.change(apply).await;
        store.close().await;
        Ok(applied)
    })?;
    match applied {
        Ok(steps) => print_steps(&steps, "applied"),
        Err(Aborted::Refused(ApplyRefusal::DryRun(steps))) => {
            print_steps(&steps, "dry run, nothing was changed")
        }
        Err(Aborted::Refused(ApplyRefusal::Inconsistent(diagnostic))) => {
            bail!(Diagnostics::new(path, vec![diagnostic]))
        }
        Err(Aborted::Refused(ApplyRefusal::Blocked(message))) => {
            bail!("{}: {message}", path.display())
        }
        Err(Aborted::Failed(error)) => Err(error).context("failed to apply the inventory"),
    }
}

/// Reads a whole file. A file of more than [`MAX_SIZE`] bytes is an error.
fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // The size of the file is not checked beforehand: the path may be a pipe, such as /dev/stdin.
    File::open(path)?
        .take(MAX_SIZE + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_SIZE {
        bail!("the file is larger than {} MiB", MAX_SIZE >> 20);
    }
    Ok(bytes)
}

/// Prints each step on a line of its own, and then a line with the numbers of creates, updates and
/// deletes and with `outcome`.
fn print_steps(steps: &[Step], outcome: &str) -> Result<()> {
    steps.iter().try_for_each(print)?;
    let count = |kind| steps.iter().filter(|step| step.kind == kind).count();
    print(format_args!(
        "{} to create, {} to update, {} to delete: {outcome}",
        count(StepKind::Create),
        count(StepKind::Update),
        count(StepKind::Delete),
    ))
}
