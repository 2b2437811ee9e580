//! What is on the machine: the namespaces of a prefix, and the links, addresses and routes of one, as `ip`
//! prints them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::names::Place;
use super::programs::{NAMESPACES, Program, Programs};
use super::space::MAIN;
use crate::domain::allowed::Network;

/// The number by which the routes that are made here are found again, among those of others.
pub(super) const PROTOCOL: &str = "83";
/// The type of the file system of namespaces, `NSFS_MAGIC`.
const NSFS: u64 = 0x6e73_6673;

/// The links and routes of a place.
#[derive(Debug, Default)]
pub(super) struct Actual {
    /// The links by name.
    pub links: BTreeMap<String, ActualLink>,
    pub routes: BTreeSet<ActualRoute>,
    /// The tables of routes for packets from addresses.
    pub rules: BTreeSet<(IpAddr, u32)>,
}

/// A link.
#[derive(Debug)]
pub(super) struct ActualLink {
    pub index: u32,
    /// The number of the other end of a pair.
    pub other: Option<u32>,
    /// The kind, such as `bridge` or `veth`.
    pub kind: Option<String>,
    pub master: Option<String>,
    pub is_up: bool,
    /// Whether the other end is up, and the kernel has yet to tell those that wait for it, such as a
    /// bridge, which takes it up to a second.
    pub is_settling: bool,
    pub mac: String,
    pub alias: Option<String>,
    /// The addresses, without those that Linux gives each link itself.
    pub addresses: BTreeSet<(IpAddr, u8)>,
}

/// A route that was made here.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ActualRoute {
    pub to: Network,
    pub via: Option<IpAddr>,
    pub link: String,
    pub from: Option<IpAddr>,
    pub table: u32,
}

#[derive(Deserialize)]
struct PrintedLink {
    ifindex: u32,
    ifname: String,
    link_index: Option<u32>,
    #[serde(default)]
    flags: Vec<String>,
    #[serde(default)]
    operstate: String,
    master: Option<String>,
    #[serde(default)]
    address: String,
    ifalias: Option<String>,
    linkinfo: Option<PrintedKind>,
    #[serde(default)]
    addr_info: Vec<PrintedAddress>,
}

#[derive(Deserialize)]
struct PrintedKind {
    info_kind: Option<String>,
}

#[derive(Deserialize)]
struct PrintedAddress {
    local: Option<IpAddr>,
    prefixlen: u8,
    scope: String,
}

#[derive(Deserialize)]
struct PrintedRoute {
    dst: String,
    gateway: Option<IpAddr>,
    dev: Option<String>,
    prefsrc: Option<IpAddr>,
    table: Option<String>,
}

#[derive(Deserialize)]
struct PrintedRule {
    src: String,
    /// Missing if the rule is for a single address.
    srclen: Option<u8>,
    table: Option<String>,
}

impl Actual {
    /// Reads a place. With `rules`, also the rules that choose tables of routes.
    pub(super) fn read(programs: &Programs, place: &Place, rules: bool) -> Result<Self> {
        let input = format!("address show\nroute show table all proto {PROTOCOL}\n");
        let printed = programs.run(place, Program::Ip, &["-j", "-d", "-batch", "-"], &input)?;
        let mut actual = Self::parse(&printed)?;
        if rules {
            for family in ["-4", "-6"] {
                let printed = programs.run(place, Program::Ip, &["-j", family, "rule"], "")?;
                let printed: Vec<PrintedRule> = serde_json::from_slice(&printed)?;
                let of_one = printed.iter().filter(|rule| rule.srclen.is_none());
                actual.rules.extend(of_one.filter_map(|rule| {
                    let table = rule.table.as_deref()?.parse().ok()?;
                    Some((rule.src.parse().ok()?, table))
                }));
            }
        }
        Ok(actual)
    }

    fn parse(printed: &[u8]) -> Result<Self> {
        let words = "ip prints something else than expected";
        // An array for each command.
        let mut values = serde_json::Deserializer::from_slice(printed).into_iter();
        let links: serde_json::Value = values.next().context(words)?.context(words)?;
        let routes: serde_json::Value = values.next().context(words)?.context(words)?;
        let links: Vec<PrintedLink> = serde_json::from_value(links).context(words)?;
        let routes: Vec<PrintedRoute> = serde_json::from_value(routes).context(words)?;
        Ok(Self {
            links: links.into_iter().map(link).collect(),
            routes: routes.into_iter().filter_map(route).collect(),
            rules: BTreeSet::new(),
        })
    }
}

fn link(printed: PrintedLink) -> (String, ActualLink) {
    let addresses = printed.addr_info.into_iter();
    let addresses = addresses.filter(|address| address.scope != "link" && address.scope != "host");
    let has = |wanted: &str| printed.flags.iter().any(|flag| flag == wanted);
    let link = ActualLink {
        is_up: has("UP"),
        is_settling: printed.linkinfo.is_some() && has("LOWER_UP") && printed.operstate != "UP",
        index: printed.ifindex,
        other: printed.link_index,
        kind: printed.linkinfo.and_then(|it| it.info_kind),
        master: printed.master,
        mac: printed.address,
        alias: printed.ifalias,
        addresses: addresses
            .filter_map(|address| Some((address.local?, address.prefixlen)))
            .collect(),
    };
    (printed.ifname, link)
}

/// Returns a route, or `None` if it is none that is made here.
fn route(printed: PrintedRoute) -> Option<ActualRoute> {
    let to = if printed.dst == "default" {
        let all = if printed.gateway?.is_ipv4() {
            "0.0.0.0/0"
        } else {
            "::/0"
        };
        Network::parse(all)?
    } else if printed.dst.contains('/') {
        Network::parse(&printed.dst)?
    } else {
        Network::of(printed.dst.parse().ok()?)
    };
    let table = match printed.table.as_deref() {
        None | Some("main") => MAIN,
        Some(number) => number.parse().ok()?,
    };
    Some(ActualRoute {
        to,
        via: printed.gateway,
        link: printed.dev?,
        from: printed.prefsrc,
        table,
    })
}

/// The namespaces of a prefix.
#[derive(Debug, Default)]
pub(super) struct Namespaces {
    /// Those that there are, with a number that changes when one is made anew.
    pub there: BTreeMap<Place, u64>,
    /// Names without a namespace, which a crash of the machine or of `ip` has left.
    pub broken: BTreeSet<Place>,
}

impl Namespaces {
    /// Returns the number of a namespace.
    pub(super) fn number(name: &str) -> Result<u64> {
        let found = fs::metadata(Path::new(NAMESPACES).join(name));
        Ok(found.context("the namespace is gone")?.ino())
    }

    pub(super) fn list(programs: &Programs) -> Result<Self> {
        let mut found = Self::default();
        let entries = match fs::read_dir(NAMESPACES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            entries => entries.context("failed to list the namespaces")?,
        };
        for entry in entries {
            let name = entry?.file_name();
            let place = name
                .to_str()
                .and_then(|name| Place::parse(programs.prefix(), name));
            let Some(place) = place else {
                continue;
            };
            let path = Path::new(NAMESPACES).join(&name);
            let is_namespace =
                rustix::fs::statfs(&path).is_ok_and(|it| u64::try_from(it.f_type) == Ok(NSFS));
            if is_namespace {
                // It may be deleted between the two looks.
                let Ok(metadata) = fs::metadata(&path) else {
                    continue;
                };
                found.there.insert(place, metadata.ino());
            } else {
                found.broken.insert(place);
            }
        }
        Ok(found)
    }
}
