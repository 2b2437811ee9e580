//! What the operator declares: projects, locations, and the resources that no operation of the API makes.
//!
//! The types are by hand and yield the JSON Schema for editors. [`Inventory::read`] checks everything that a file
//! alone can tell, all of it in one run and with the place of each finding; [`Apply`] brings the store to it.

mod apply;
mod check;
mod finding;
mod steps;

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

pub use apply::{Apply, Mode, Refused};
pub use finding::{Finding, Findings};
pub use steps::{Step, StepKind};

/// Everything that the operator declares.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    /// The locations (regions) that there are; `eu-central-h1`, `eu-north-h1` without Postgres, and `us-east-a2`
    /// unless given.
    #[serde(default = "usual_locations")]
    pub locations: Vec<LocationEntry>,
    /// The projects and what they have.
    #[serde(default)]
    pub projects: Vec<ProjectEntry>,
}

/// A location (region).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocationEntry {
    /// Its name, as paths have it: 1 to 63 characters of `a-z`, `0-9` and `-`.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Whether Postgres databases can be created here.
    #[serde(default = "yes")]
    pub postgres: bool,
}

/// A project.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectEntry {
    /// Its name, by which it is known from one run to the next.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Its id, `pj` and 24 characters; made when it is missing.
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    pub id: Option<Spanned<String>>,
    /// Its virtual machines.
    #[serde(default)]
    pub vms: Vec<VmEntry>,
    /// Its firewalls.
    #[serde(default)]
    pub firewalls: Vec<FirewallEntry>,
    /// Its private subnets.
    #[serde(default)]
    pub private_subnets: Vec<PrivateSubnetEntry>,
    /// Its load balancers.
    #[serde(default)]
    pub load_balancers: Vec<LoadBalancerEntry>,
}

/// A virtual machine.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VmEntry {
    /// Its name, unique in its location.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Where it is.
    #[schemars(with = "String")]
    pub location: Spanned<String>,
    /// Its public IPv4 address.
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    pub ip4: Option<Spanned<String>>,
    /// Whether it shall have a public IPv4 address; it shall if it has one.
    #[serde(default)]
    pub ip4_enabled: Option<bool>,
    /// Its public IPv6 address.
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    pub ip6: Option<Spanned<String>>,
    /// Its size, such as `standard-2`.
    #[schemars(with = "String")]
    pub size: Spanned<String>,
    /// What it is doing, `running` unless given.
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    pub state: Option<Spanned<String>>,
    /// Its storage in GiB.
    #[schemars(with = "i32", range(min = 1))]
    pub storage_size_gib: Spanned<i32>,
    /// The user to log in as.
    #[schemars(with = "String")]
    pub unix_user: Spanned<String>,
}

/// A firewall.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FirewallEntry {
    /// Its name, unique in its location.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Where it is.
    #[schemars(with = "String")]
    pub location: Spanned<String>,
    /// What it is for.
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    pub description: Option<Spanned<String>>,
    /// Whom it lets in, and where to.
    #[serde(default)]
    pub rules: Vec<RuleEntry>,
}

/// A rule of a firewall.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleEntry {
    /// The network that is let in, such as `0.0.0.0/0`.
    #[schemars(with = "String")]
    pub cidr: Spanned<String>,
    /// The port, such as `80`, or the range of ports, such as `80..90`.
    #[schemars(with = "String")]
    pub port_range: Spanned<String>,
}

/// A private subnet.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrivateSubnetEntry {
    /// Its name, unique in its location.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Where it is.
    #[schemars(with = "String")]
    pub location: Spanned<String>,
    /// Its IPv4 network, a /26 of 10.0.0.0/8; a free one when it is missing.
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    pub net4: Option<Spanned<String>>,
    /// Its IPv6 network, a /64 of `fd00::/8`; a free one when it is missing.
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    pub net6: Option<Spanned<String>>,
    /// The names of the firewalls that guard it when it is made, or when they are. Later the API decides that.
    #[schemars(with = "Vec<String>")]
    #[serde(default)]
    pub firewalls: Vec<Spanned<String>>,
    /// Its network interfaces.
    #[serde(default)]
    pub nics: Vec<NicEntry>,
}

/// A network interface.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NicEntry {
    /// Its name, unique in its subnet.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// The name of the virtual machine that uses it.
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    pub vm: Option<Spanned<String>>,
    /// Its address in the subnet's IPv4 network; a free one when it is missing.
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    pub private_ipv4: Option<Spanned<String>>,
    /// Its address in the subnet's IPv6 network; a free one when it is missing.
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    pub private_ipv6: Option<Spanned<String>>,
}

/// A load balancer. What the API can change of it holds when it is made; later the API decides.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadBalancerEntry {
    /// Its name, unique in its location.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Where it is.
    #[schemars(with = "String")]
    pub location: Spanned<String>,
    /// The name of its private subnet.
    #[schemars(with = "String")]
    pub subnet: Spanned<String>,
    /// How it chooses, `round_robin` unless given.
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    pub algorithm: Option<Spanned<String>>,
    /// The port that it listens on.
    #[schemars(with = "i32", range(min = 1, max = 65535))]
    pub src_port: Spanned<i32>,
    /// The port of the virtual machines.
    #[schemars(with = "i32", range(min = 1, max = 65535))]
    pub dst_port: Spanned<i32>,
    /// The path or URL that it asks for health.
    #[schemars(with = "String")]
    pub health_check_endpoint: Spanned<String>,
    /// How it asks, `http` unless given.
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    pub health_check_protocol: Option<Spanned<String>>,
    /// Which versions of IP it speaks, `dual` unless given.
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    pub stack: Option<Spanned<String>>,
    /// Whether it has a certificate.
    #[serde(default)]
    pub cert_enabled: bool,
    /// The names of the virtual machines that are attached to it.
    #[schemars(with = "Vec<String>")]
    #[serde(default)]
    pub vms: Vec<Spanned<String>>,
}

fn yes() -> bool {
    true
}

fn usual_locations() -> Vec<LocationEntry> {
    let usual = [
        ("eu-central-h1", true),
        ("eu-north-h1", false),
        ("us-east-a2", true),
    ];
    let entry = |(name, postgres): (&str, bool)| {
        let name = Spanned {
            value: name.to_owned(),
            referenced: Location::UNKNOWN,
            defined: Location::UNKNOWN,
        };
        LocationEntry { name, postgres }
    };
    usual.into_iter().map(entry).collect()
}

impl Inventory {
    /// Reads an inventory and checks it.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, each with its place.
    pub fn read(path: &Path, bytes: &[u8]) -> Result<Self, Findings> {
        let text =
            std::str::from_utf8(bytes).map_err(|error| Findings::of_bytes(path, bytes, error))?;
        let options = serde_saphyr::options! {
            with_snippet: false,
            // What the published schema takes, and no more: an editor and this shall not disagree.
            strict_booleans: true,
            no_schema: true,
            // What a file of the largest size may hold; deeper than any entry is nested.
            budget: serde_saphyr::budget! { max_nodes: 20_000_000, max_events: 50_000_000, max_depth: 32 },
        };
        let read: Option<Self> = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| Findings::of_yaml(path, &error))?;
        // Whoever prunes by a file that came to nothing loses everything.
        let inventory = read.ok_or_else(|| Findings::of_nothing(path))?;
        let findings = check::check(&inventory);
        if findings.is_empty() {
            Ok(inventory)
        } else {
            Err(Findings::new(path, findings))
        }
    }

    /// The JSON Schema of inventories, for editors.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        let mut schema = schemars::schema_for!(Self);
        schema.insert("title".to_owned(), "Inventory of Stratus".into());
        schema.to_value()
    }
}
