//! The commands of `ip` that bring a place from what it has to what it is to have.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::actual::{Actual, ActualLink, ActualRoute, PROTOCOL};
use super::names::{LinkName, Place};
use super::programs::Programs;
use super::space::{Kind, Link, Space, TABLES};

/// The commands for a place, and those that must run in other places before.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Commands {
    /// Other ends of pairs that are made again, which are deleted before.
    pub before: Vec<(Place, String)>,
    pub own: Vec<String>,
    /// Those that `ip` takes only if it is asked for IPv6.
    pub own6: Vec<String>,
    /// The places in which a new end of a pair appears.
    pub touched: BTreeSet<Place>,
}

impl Commands {
    /// Returns whether the place is as it is to be.
    pub(super) fn are_none(&self) -> bool {
        self.own.is_empty() && self.own6.is_empty()
    }
}

/// Looks up a link of another place, to compare both ends of a pair.
pub(super) type Lookup<'l> =
    &'l mut dyn FnMut(&Place, &LinkName) -> anyhow::Result<Option<(u32, Option<u32>)>>;

/// Returns the commands that are left for a place.
pub(super) fn difference(
    programs: &Programs,
    place: &Place,
    wanted: &Space,
    actual: &Actual,
    lookup: Lookup<'_>,
) -> anyhow::Result<Commands> {
    let mut commands = Commands::default();
    if *place != Place::Host {
        unwanted(place, wanted, actual, &mut commands);
    }
    // All links before what refers to them, as ports do to their bridge.
    let mut kept = Vec::new();
    for (name, link) in &wanted.links {
        let there = actual.links.get(name.as_str());
        let found = pair(programs, name, link, there, lookup, &mut commands)?;
        kept.push((name, link, found));
    }
    let stays = |link: &str| {
        kept.iter()
            .any(|(name, _, found)| name.as_str() == link && found.is_some())
    };
    let wanted_routes = routes(wanted);
    // Those of a link that is deleted are gone with it. Of the machine's own place, only those by our link
    // are ours.
    for route in actual.routes.difference(&wanted_routes) {
        if stays(&route.link) {
            commands.own.push(format!("route delete {}", text(route)));
        }
    }
    for (name, link, found) in &kept {
        configure(name, link, *found, &mut commands);
    }
    // Those of a link that is made anew are counted in the next round, in which they are not there.
    for route in wanted_routes.difference(&actual.routes) {
        let is_missing = |(name, link, found): &(&LinkName, &Link, Option<&ActualLink>)| {
            name.as_str() == route.link && link.kind == Kind::Upper && found.is_none()
        };
        // The other end makes the link.
        if !kept.iter().any(is_missing) {
            let on_link = if route.via.is_some() { " onlink" } else { "" };
            commands
                .own
                .push(format!("route add {}{on_link}", text(route)));
        }
    }
    // Before others are added: the table of one may be that of another interface now. Rules of other addresses
    // may be those of programs in the virtual machine.
    if let Place::Vm(_) = place {
        let own = wanted.links.values().flat_map(|link| &link.addresses);
        let own: BTreeSet<&IpAddr> = own.map(|(address, _)| address).collect();
        for (address, table) in &actual.rules {
            if TABLES.contains(table)
                && own.contains(address)
                && wanted.rules.get(address) != Some(table)
            {
                let line = format!("rule delete from {address} lookup {table}");
                if address.is_ipv6() {
                    commands.own6.push(line);
                } else {
                    commands.own.push(line);
                }
            }
        }
    }
    for (address, table) in &wanted.rules {
        if !actual.rules.contains(&(*address, *table)) {
            let line = format!("rule add from {address} lookup {table}");
            if address.is_ipv6() {
                commands.own6.push(line);
            } else {
                commands.own.push(line);
            }
        }
    }
    Ok(commands)
}

/// Deletes links that were made here and are not wanted, and sets the link up that each namespace has. The
/// programs in a virtual machine may have made others.
fn unwanted(place: &Place, wanted: &Space, actual: &Actual, commands: &mut Commands) {
    for (name, link) in &actual.links {
        let is_wanted = wanted.links.keys().any(|it| it.as_str() == name);
        let is_of_our_kind = matches!(link.kind.as_deref(), Some("bridge" | "veth"));
        let number = name.strip_prefix('n').map(str::parse::<u16>);
        let is_made_here = !matches!(place, Place::Vm(_)) || matches!(number, Some(Ok(_)));
        if !is_wanted && is_of_our_kind && is_made_here && is_name(name) {
            commands.own.push(format!("link delete dev {name}"));
        }
    }
    if actual.links.get("lo").is_some_and(|lo| !lo.is_up) {
        commands.own.push("link set dev lo up".to_owned());
    }
}

/// Returns whether a name is one that commands can have as it stands.
fn is_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Makes a link that is missing, and a pair whose other end is missing or another one. Returns the link
/// if it stays.
fn pair<'a>(
    programs: &Programs,
    name: &LinkName,
    link: &Link,
    there: Option<&'a ActualLink>,
    lookup: Lookup<'_>,
    commands: &mut Commands,
) -> anyhow::Result<Option<&'a ActualLink>> {
    let Link { kind, mac, .. } = link;
    match kind {
        // The other end makes it.
        Kind::Upper => Ok(there),
        Kind::Bridge => {
            let kept = there.filter(|it| it.kind.as_deref() == Some("bridge"));
            if kept.is_none() {
                if there.is_some() {
                    commands.own.push(format!("link delete dev {name}"));
                }
                commands.own.push(format!(
                    "link add name {name} address {mac} type bridge mcast_snooping 0"
                ));
            }
            Ok(kept)
        }
        Kind::Lower {
            place,
            name: other_name,
            mac: other_mac,
            alias,
        } => {
            let other = lookup(place, other_name)?;
            let kept = there.filter(|it| {
                other.is_some_and(|(index, back)| it.other == Some(index) && back == Some(it.index))
            });
            if kept.is_some() {
                return Ok(kept);
            }
            if there.is_some() {
                commands.own.push(format!("link delete dev {name}"));
            }
            if other.is_some() {
                let line = format!("link delete dev {other_name}");
                commands.before.push((place.clone(), line));
            }
            commands.own.push(format!(
                "link add name {name} address {mac} type veth peer name {other_name} address {other_mac}"
            ));
            if let Some(alias) = alias {
                // Before it is in the machine's own namespace, where the alias shows whose it is.
                commands
                    .own
                    .push(format!("link set dev {other_name} alias \"{alias}\""));
            }
            let target = match place.name(programs.prefix()) {
                Some(namespace) => namespace,
                None => std::process::id().to_string(),
            };
            commands
                .own
                .push(format!("link set dev {other_name} netns {target}"));
            commands.touched.insert(place.clone());
            Ok(None)
        }
    }
}

/// Brings the addresses and the state of a link to what they are to be.
fn configure(name: &LinkName, link: &Link, there: Option<&ActualLink>, commands: &mut Commands) {
    if matches!(link.kind, Kind::Upper) && there.is_none() {
        return;
    }
    let own = &mut commands.own;
    if there.is_some_and(|it| it.mac != link.mac.to_string()) {
        own.push(format!("link set dev {name} address {}", link.mac));
    }
    if let Some(master) = &link.master
        && there.is_none_or(|it| it.master.as_deref() != Some(master.as_str()))
    {
        own.push(format!("link set dev {name} master {master}"));
    }
    let none = BTreeSet::new();
    let addresses = there.map_or(&none, |it| &it.addresses);
    for (address, prefix) in addresses.difference(&link.addresses) {
        own.push(format!("address delete {address}/{prefix} dev {name}"));
    }
    for (address, prefix) in link.addresses.difference(addresses) {
        // Nobody else has it, so there is no need to ask the neighbours for a second.
        let at_once = if address.is_ipv6() { " nodad" } else { "" };
        own.push(format!(
            "address add {address}/{prefix} dev {name}{at_once}"
        ));
    }
    if !there.is_some_and(|it| it.is_up) {
        own.push(format!("link set dev {name} up"));
    }
}

/// Returns all routes of a place.
fn routes(wanted: &Space) -> BTreeSet<ActualRoute> {
    let routes = wanted
        .links
        .iter()
        .flat_map(|(name, link)| link.routes.iter().map(move |route| (name, route)));
    let actual = routes.map(|(name, route)| ActualRoute {
        to: route.to,
        via: route.via,
        link: name.as_str().to_owned(),
        from: route.from,
        table: route.table,
    });
    actual.collect()
}

fn text(route: &ActualRoute) -> String {
    let mut text = route.to.to_string();
    if let Some(via) = route.via {
        text.push_str(&format!(" via {via}"));
    }
    text.push_str(&format!(" dev {}", route.link));
    if let Some(from) = route.from {
        text.push_str(&format!(" src {from}"));
    }
    text.push_str(&format!(" proto {PROTOCOL} table {}", route.table));
    text
}
