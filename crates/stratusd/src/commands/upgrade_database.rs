//! `stratusd upgrade-database`: gives a database another major version of PostgreSQL.

use anyhow::{Context, Result, bail};
use api_types::{PostgresId, PostgresVersion};
use clap::ArgMatches;
use stratusd::issue::find_project;
use stratusd::provision::local::Binaries;
use stratusd::settings::{
    Folders, ProvisionerArguments, RemoteArguments, SettingsFile, StoreArguments,
};
use stratusd::storage::Aborted;
use stratusd::upgrade::{Possible, Upgrade};
use stratusd::world::World;

use super::output::print;
use super::store::{block_on, open};

/// Give a Postgres database a later major version of PostgreSQL
///
/// The version is recorded, and the service then asks its provisioner for it, which interrupts the
/// database. `stratusd databases` prints why an upgrade fails; to take it back, give the version that the
/// database has. For databases on this machine (`provisioner = "local"`), the folders of both versions need
/// the programs of an upgrade, such as `pg_upgrade`; otherwise it is refused. A provisioner in another process
/// is asked whether it can make the upgrade, with the settings of the service.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The id of the database, as the API shows it.
    #[arg(value_name = "ID")]
    id: String,
    /// The id or the name of the project.
    #[arg(long, value_name = "PROJECT")]
    project: String,
    /// The version: 16, 17 or 18.
    #[arg(long, value_name = "VERSION")]
    to: String,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    provisioner: ProvisionerArguments,
    #[command(flatten)]
    remote: RemoteArguments,
}

pub fn run(arguments: &Arguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let settings = arguments.store.resolve(matches, file)?;
    let provisioner = arguments.provisioner.resolve(matches, file)?;
    let remote = arguments.remote.resolve(matches, file)?;
    let folders = provisioner.local_binaries.as_ref();
    let programs = Binaries::find(&folders.map_or_else(Vec::new, Folders::paths));
    let to = PostgresVersion::from(&*arguments.to);
    if !PostgresVersion::VALUES.contains(&&*arguments.to) {
        bail!("--to must be 16, 17 or 18");
    }
    let id = PostgresId::try_from(arguments.id.clone());
    let id = id
        .ok()
        .context("ID must be the id of a database, such as pgt10a2ct09p45wb0b42xgnrf3")?;
    let from = block_on(async {
        let store = open(&settings).await?;
        let project = find_project(&store, &arguments.project).await?.id;
        let possible = Possible::find(&store, programs, &remote).await;
        let upgrade = Upgrade {
            project,
            id,
            to: to.clone(),
            possible: possible.context("failed to read what creates the databases")?,
            world: World::real(),
        };
        let from = store.change(upgrade).await;
        store.close().await;
        from.map_err(|aborted| match aborted {
            Aborted::Refused(refused) => refused.into(),
            Aborted::Failed(error) => {
                anyhow::Error::new(error).context("failed to record the version")
            }
        })
    })?;
    if from == to {
        return print(format_args!("the database has version {to}, and keeps it"));
    }
    print(format_args!(
        "the database has version {from}, and is to have {to}"
    ))
}
