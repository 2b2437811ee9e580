//! The types of an inventory and its entries. The doc comments of the types and fields are the
//! descriptions in the published JSON Schema.
//!
//! Each value that a check may reject is [`Spanned`], so that a diagnostic can name its line and
//! column.

use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

use crate::domain::quota::Kind;

/// Everything that the operator declares.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    /// The locations (regions) that exist. If not set: `eu-central-h1`, `eu-north-h1` without
    /// Postgres, and `us-east-a2`.
    #[serde(default = "default_locations")]
    pub locations: Vec<LocationEntry>,
    /// The projects and their resources.
    #[serde(default)]
    pub projects: Vec<ProjectEntry>,
}

impl Inventory {
    /// Returns the JSON Schema of inventory files, which editors use to check them. A program without the
    /// feature `schema` has the published one, which a test compares with that of the types.
    ///
    /// # Panics
    ///
    /// Never: the published schema is JSON, which that test shows.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        #[cfg(feature = "schema")]
        let schema = {
            let mut schema = schemars::schema_for!(Self);
            schema.insert("title".to_owned(), "Inventory of Stratus".into());
            schema.to_value()
        };
        #[cfg(not(feature = "schema"))]
        let schema = serde_json::from_str(include_str!("../../inventory.schema.json"))
            .expect("the published schema is JSON");
        schema
    }
}

/// A location (region).
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LocationEntry {
    /// The name, as it appears in URLs: 1 to 63 characters of `a-z`, `0-9` and `-`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: Spanned<String>,
    /// Whether Postgres databases can be created in the location.
    #[serde(default = "yes")]
    pub postgres: bool,
}

/// A project.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProjectEntry {
    /// The name, which identifies the project in later runs.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: Spanned<String>,
    /// The id: `pj` and 24 characters. Generated if not set.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[serde(default)]
    pub id: Option<Spanned<String>>,
    /// The quotas of the project that differ from those in the settings.
    #[serde(default)]
    pub quotas: QuotaEntries,
    /// The virtual machines of the project.
    #[serde(default)]
    pub vms: Vec<VmEntry>,
    /// The firewalls of the project.
    #[serde(default)]
    pub firewalls: Vec<FirewallEntry>,
    /// The private subnets of the project.
    #[serde(default)]
    pub private_subnets: Vec<PrivateSubnetEntry>,
    /// The load balancers of the project.
    #[serde(default)]
    pub load_balancers: Vec<LoadBalancerEntry>,
}

/// How many resources of each kind a project may have. A kind that is not listed has the quota of
/// the settings. A quota below what the project has only prevents it from having more.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QuotaEntries {
    /// The number of virtual machines.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<i64>", range(min = 0, max = 1_000_000_000))
    )]
    #[serde(default)]
    pub vms: Option<Spanned<i64>>,
    /// The number of load balancers.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<i64>", range(min = 0, max = 1_000_000_000))
    )]
    #[serde(default)]
    pub load_balancers: Option<Spanned<i64>>,
    /// The number of Postgres databases.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<i64>", range(min = 0, max = 1_000_000_000))
    )]
    #[serde(default)]
    pub postgres_databases: Option<Spanned<i64>>,
    /// The number of private subnets.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<i64>", range(min = 0, max = 1_000_000_000))
    )]
    #[serde(default)]
    pub private_subnets: Option<Spanned<i64>>,
    /// The number of firewalls. A private subnet that is created without one needs one.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<i64>", range(min = 0, max = 1_000_000_000))
    )]
    #[serde(default)]
    pub firewalls: Option<Spanned<i64>>,
    /// The number of inference API keys.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<i64>", range(min = 0, max = 1_000_000_000))
    )]
    #[serde(default)]
    pub inference_api_keys: Option<Spanned<i64>>,
}

impl QuotaEntries {
    /// Returns the quota that the entry sets for a kind, or `None` if it sets none.
    #[must_use]
    pub fn of(&self, kind: Kind) -> Option<&Spanned<i64>> {
        let of = match kind {
            Kind::Vm => &self.vms,
            Kind::LoadBalancer => &self.load_balancers,
            Kind::Postgres => &self.postgres_databases,
            Kind::PrivateSubnet => &self.private_subnets,
            Kind::Firewall => &self.firewalls,
            Kind::InferenceApiKey => &self.inference_api_keys,
        };
        of.as_ref()
    }
}

/// A virtual machine.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct VmEntry {
    /// The name, unique among the virtual machines of the project in the location.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: Spanned<String>,
    /// The location of the virtual machine.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub location: Spanned<String>,
    /// The public IPv4 address.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[serde(default)]
    pub ip4: Option<Spanned<String>>,
    /// Whether the virtual machine has a public IPv4 address. If not set, it does when `ip4` is
    /// set.
    #[serde(default)]
    pub ip4_enabled: Option<bool>,
    /// The public IPv6 address.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[serde(default)]
    pub ip6: Option<Spanned<String>>,
    /// The size, such as `standard-2`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub size: Spanned<String>,
    /// The state. `running` if not set.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[serde(default)]
    pub state: Option<Spanned<String>>,
    /// The size of the storage in GiB.
    #[cfg_attr(feature = "schema", schemars(with = "i32", range(min = 1)))]
    pub storage_size_gib: Spanned<i32>,
    /// The Unix user to log in as.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub unix_user: Spanned<String>,
    /// The image that the virtual machine was started from, such as `debian-13`. Only shown.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[serde(default)]
    pub boot_image: Option<Spanned<String>>,
}

/// A firewall.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FirewallEntry {
    /// The name, unique among the firewalls of the project in the location.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: Spanned<String>,
    /// The location of the firewall.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub location: Spanned<String>,
    /// The description of the firewall.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[serde(default)]
    pub description: Option<Spanned<String>>,
    /// The traffic that the firewall allows.
    #[serde(default)]
    pub rules: Vec<RuleEntry>,
}

/// A rule of a firewall.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RuleEntry {
    /// The network that traffic is allowed from, such as `0.0.0.0/0`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub cidr: Spanned<String>,
    /// The port that traffic is allowed to, such as `80`, or a range of ports, such as `80..90`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub port_range: Spanned<String>,
}

/// A private subnet.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PrivateSubnetEntry {
    /// The name, unique among the private subnets of the project in the location.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: Spanned<String>,
    /// The location of the private subnet.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub location: Spanned<String>,
    /// The IPv4 network: a /26 of `10.0.0.0/8`. A free one if not set.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[serde(default)]
    pub net4: Option<Spanned<String>>,
    /// The IPv6 network: a /64 of `fd00::/8`. A free one if not set.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[serde(default)]
    pub net6: Option<Spanned<String>>,
    /// The names of the firewalls to attach when the subnet or the firewall is created.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    #[serde(default)]
    pub firewalls: Vec<Spanned<String>>,
    /// The network interfaces of the subnet.
    #[serde(default)]
    pub nics: Vec<NicEntry>,
}

/// A network interface.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NicEntry {
    /// The name, unique in the subnet.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: Spanned<String>,
    /// The name of the virtual machine that uses the interface.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[serde(default)]
    pub vm: Option<Spanned<String>>,
    /// The address in the IPv4 network of the subnet. A free one if not set.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[serde(default)]
    pub private_ipv4: Option<Spanned<String>>,
    /// The address in the IPv6 network of the subnet. A free one if not set.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[serde(default)]
    pub private_ipv6: Option<Spanned<String>>,
}

/// A load balancer. What the API can change is set only when the load balancer is created.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LoadBalancerEntry {
    /// The name, unique among the load balancers of the project in the location.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: Spanned<String>,
    /// The location of the load balancer.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub location: Spanned<String>,
    /// The name of the private subnet of the load balancer.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub subnet: Spanned<String>,
    /// How the load balancer selects a virtual machine. `round_robin` if not set.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[serde(default)]
    pub algorithm: Option<Spanned<String>>,
    /// The port that the load balancer listens on.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "i32", range(min = 1, max = 65535))
    )]
    pub src_port: Spanned<i32>,
    /// The port of the virtual machines.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "i32", range(min = 1, max = 65535))
    )]
    pub dst_port: Spanned<i32>,
    /// The path or URL of health checks.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub health_check_endpoint: Spanned<String>,
    /// The protocol of health checks. `http` if not set.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[serde(default)]
    pub health_check_protocol: Option<Spanned<String>>,
    /// The versions of IP that the load balancer supports. `dual` if not set.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[serde(default)]
    pub stack: Option<Spanned<String>>,
    /// Whether the load balancer has a certificate.
    #[serde(default)]
    pub cert_enabled: bool,
    /// The names of the virtual machines that are attached to the load balancer, at most 100.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>", length(max = 100)))]
    #[serde(default)]
    pub vms: Vec<Spanned<String>>,
}

fn yes() -> bool {
    true
}

/// Returns the locations of an inventory that does not list any.
fn default_locations() -> Vec<LocationEntry> {
    let defaults = [
        ("eu-central-h1", true),
        ("eu-north-h1", false),
        ("us-east-a2", true),
    ];
    let entry = |(name, postgres): (&str, bool)| {
        // No diagnostic is about these, so none needs their line.
        let name = Spanned {
            value: name.to_owned(),
            referenced: Location::UNKNOWN,
            defined: Location::UNKNOWN,
        };
        LocationEntry { name, postgres }
    };
    defaults.into_iter().map(entry).collect()
}
