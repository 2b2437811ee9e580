//! Checks whether a provisioner keeps the rules of its protocol, with databases that it makes and
//! deletes.
//!
//! The calls are made without the generated client, so that requests can be wrong, and so that a
//! response is judged as it was sent. `rules` has the rules in their order, `requests` those about
//! single requests, `life` those about the life of a database, and `session` what is seen through a
//! connection to one.

mod caller;
mod events;
mod life;
mod requests;
mod rules;
mod session;
mod shapes;
mod upgrades;

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::remote;
use crate::domain::id::Kind;
use crate::domain::refusal::enumerate;
use crate::settings::RemoteSettings;
use crate::world::World;

pub use rules::Rule;
use shapes::Shapes;

/// What a check does with its databases.
#[derive(Debug, Clone)]
pub struct CheckConfig {
    /// How long a step may take until it is done.
    pub patience: Duration,
    /// The version of PostgreSQL of the databases; the last one that the provisioner names if `None`.
    pub version: Option<String>,
    /// The size of the databases, and the one that a database is changed to. If `None`, the first two that the
    /// provisioner names.
    pub sizes: Option<[String; 2]>,
    /// The storage of the databases in GiB, and the one that a database is changed to. If `None`, the
    /// smallest that the sizes can have.
    pub storage: Option<[i64; 2]>,
    /// Whether a database gets a standby.
    pub standbys: bool,
    /// Whether the check connects to its databases.
    pub connects: bool,
}

/// What was found of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The provisioner keeps the rule.
    Passed,
    /// The provisioner breaks the rule, and how.
    Failed(String),
    /// The rule was not checked, and why.
    Skipped(String),
}

/// A rule with what was found.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The rule.
    pub rule: &'static Rule,
    /// What was found.
    pub verdict: Verdict,
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rule { name, expected, .. } = self.rule;
        match &self.verdict {
            Verdict::Passed => write!(f, "passed   {name}: {expected}"),
            Verdict::Failed(found) => {
                write!(f, "failed   {name}: {expected}\n         but {found}")
            }
            Verdict::Skipped(why) => write!(f, "skipped  {name}: {why}"),
        }
    }
}

/// Why a rule is not kept, or could not be checked.
#[derive(Debug)]
enum Broken {
    Failed(String),
    Skipped(String),
}

impl From<String> for Broken {
    fn from(found: String) -> Self {
        Self::Failed(found)
    }
}

/// What checking a rule returns.
type Checked = Result<(), Broken>;

/// A provisioner that is checked, and what is known of it so far.
struct Check {
    http: reqwest::Client,
    /// A client with connections of its own, see [`Check::call_apart`].
    apart: reqwest::Client,
    url: String,
    token: Zeroizing<String>,
    timeout: Duration,
    config: CheckConfig,
    world: World,
    /// What the provisioner says of itself.
    about: Option<provisioner_types::Provisioner>,
    /// The shapes of the databases, by what the provisioner says of itself.
    shapes: Shapes,
    /// The database whose life is checked, once it was created.
    main: Option<Subject>,
    /// The ids of all databases that may exist, with what was wanted of them.
    made: Vec<Subject>,
}

/// A database of the check, as it is wanted.
#[derive(Debug, Clone)]
struct Subject {
    id: String,
    wanted: Value,
    /// What the service would have recorded of it, once it was created.
    known: Option<Value>,
    /// The certificates and the host, once they are known.
    connection: Option<provisioner_types::Connection>,
    password: Option<String>,
}

/// Checks the provisioner that settings name. Each rule is reported as soon as it was checked.
/// Returns whether the provisioner keeps all of them.
///
/// # Errors
///
/// If the settings cannot be used, or if `interrupted` ends before the check does. What the check has
/// made is deleted first.
pub async fn run(
    settings: &RemoteSettings,
    config: CheckConfig,
    interrupted: impl Future<Output = ()>,
    mut report: impl FnMut(&Judged) -> Result<()>,
) -> Result<bool> {
    let url = settings.provisioner_url.as_ref();
    let url = url.context("there is no URL: name that of the provisioner")?;
    let mut check = Check {
        http: remote::http(url, settings)?,
        apart: remote::http(url, settings)?,
        url: url.as_str().to_owned(),
        token: remote::token(settings)?,
        timeout: settings.provisioner_timeout.get(),
        shapes: Shapes::choose(&config, None),
        config,
        world: World::real(),
        about: None,
        main: None,
        made: Vec::new(),
    };
    let mut is_kept = true;
    let mut interrupted = pin!(interrupted);
    for rule in rules::RULES {
        let checked = tokio::select! {
            checked = check.check(rule) => checked,
            () = &mut interrupted => {
                let left = check.clean_up().await;
                bail!("the check was interrupted: {left}");
            }
        };
        let verdict = match checked {
            Ok(()) => Verdict::Passed,
            Err(Broken::Skipped(why)) => Verdict::Skipped(why),
            Err(Broken::Failed(found)) => {
                is_kept = false;
                Verdict::Failed(found)
            }
        };
        if let Err(error) = report(&Judged { rule, verdict }) {
            check.clean_up().await;
            return Err(error);
        }
    }
    check.clean_up().await;
    Ok(is_kept)
}

/// The ids of the databases that could not be deleted.
struct Left(Vec<String>);

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            f.write_str("its databases are deleted")
        } else {
            write!(f, "delete its databases {}", enumerate(&self.0))
        }
    }
}

impl Check {
    /// Returns a new database, which does not exist yet.
    fn subject(&self) -> Subject {
        let version = match (&self.config.version, &self.about) {
            (Some(version), _) => version.clone(),
            (None, Some(about)) => about
                .versions
                .last()
                .map_or_else(|| "17".to_owned(), ToString::to_string),
            (None, None) => "17".to_owned(),
        };
        let flavors = self.about.as_ref().and_then(|it| it.flavors.as_deref());
        let flavor = flavors
            .and_then(<[_]>::first)
            .map_or_else(|| "standard".to_owned(), ToString::to_string);
        let name = u32::from_be_bytes(self.world.random());
        Subject {
            id: Kind::Postgres.new_id(&self.world),
            wanted: json!({
                "project_id": Kind::Project.new_id(&self.world),
                "location": "check",
                "name": format!("check-{name:08x}"),
                "flavor": flavor,
                "open_to": ["0.0.0.0/0", "::/0"],
                "shape": {
                    "version": version,
                    "vm_size": self.shapes.sizes[0],
                    "storage_size_gib": self.shapes.storage[0],
                    "ha_type": "none",
                },
            }),
            known: None,
            connection: None,
            password: None,
        }
    }

    /// Deletes what is left of the databases of the check, as well as that works.
    async fn clean_up(&mut self) -> Left {
        let mut left = Vec::new();
        for subject in std::mem::take(&mut self.made) {
            if self
                .until_done("delete", &subject, json!({}))
                .await
                .is_err()
            {
                left.push(subject.id);
            }
        }
        Left(left)
    }

    /// Returns the database whose life is checked.
    fn main(&self) -> Result<Subject, Broken> {
        self.main
            .clone()
            .ok_or_else(|| Broken::Skipped("the database was not created".to_owned()))
    }

    /// Returns whether the databases only look as if they existed.
    fn is_simulated(&self) -> bool {
        self.about.as_ref().is_some_and(|about| about.is_simulated)
    }
}
