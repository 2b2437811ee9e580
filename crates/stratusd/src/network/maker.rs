//! Brings the machine to the plan, again and again: compares what is there with what is wanted, so that it
//! does not matter who has changed it, or where a process before this one was killed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::actual::{Actual, ActualLink, Namespaces};
use super::difference::{Commands, difference};
use super::names::{LinkName, Place};
use super::plan::Plan;
use super::programs::{Program, Programs};
use super::space::Space;

/// How long rules that were refused are not loaded again, unless they change.
const REFUSED: Duration = Duration::from_secs(5);
/// How many times as long as a place took to be brought to the plan it is not doubted, so that one with
/// many rules leaves time for others.
const RESTS: u32 = 50;
/// How often a place is compared and changed until it is as wanted.
const ROUNDS: u32 = 5;
/// What the kernel does in a namespace. Packets are checked by the rules of nftables, and not by the
/// routes back, which are not those of all links.
const SETTINGS: [(&str, &str); 5] = [
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
    ("ipv6/conf/default/accept_dad", "0"),
    ("ipv6/conf/all/accept_ra", "0"),
    ("ipv6/conf/default/accept_ra", "0"),
];

/// Brings the machine to plans.
#[derive(Debug)]
pub(super) struct Maker {
    programs: Programs,
    /// By what the machine's own link to the hub is known.
    alias: String,
    /// The namespaces that were there at the last pass.
    there: BTreeMap<Place, u64>,
    /// What was brought to the plan.
    links: BTreeMap<Place, Brought>,
    rulesets: BTreeMap<Place, String>,
    /// When the rules of a place were loaded last, and how long that took.
    loads: BTreeMap<Place, (Instant, Duration)>,
    /// The places whose rules have changed again so soon that others come first, and until when.
    resting: BTreeMap<Place, Instant>,
    /// Whether the last pass ended before all places had their turn.
    is_cut: bool,
    /// The rules that nftables has refused last, when, and why. Loading them takes long, and stops others.
    refused: BTreeMap<Place, (String, Instant, String)>,
    /// The places whose links are as planned, and not in use yet.
    settling: BTreeSet<Place>,
    /// What cannot be brought to the plan, and why.
    pub failures: BTreeMap<Place, String>,
}

/// A place that was brought to the plan.
#[derive(Debug)]
struct Brought {
    space: Space,
    /// When it was compared last.
    at: Instant,
    /// When it is doubted at the earliest.
    rests_until: Instant,
}

/// What was read of places in a pass.
type Read = BTreeMap<Place, Actual>;

impl Maker {
    /// Creates a maker, which looks at everything in its first pass.
    pub(super) fn new(programs: Programs, alias: String) -> Self {
        Self {
            programs,
            alias,
            there: BTreeMap::new(),
            links: BTreeMap::new(),
            rulesets: BTreeMap::new(),
            loads: BTreeMap::new(),
            resting: BTreeMap::new(),
            is_cut: false,
            refused: BTreeMap::new(),
            settling: BTreeSet::new(),
            failures: BTreeMap::new(),
        }
    }

    pub(super) fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Returns whether a place is as planned.
    pub(super) fn has(&self, place: &Place) -> bool {
        self.links.contains_key(place)
    }

    /// Returns the number of the namespace of a place, which changes when the namespace is made anew.
    pub(super) fn number(&self, place: &Place) -> Option<u64> {
        self.there.get(place).copied()
    }

    /// Returns whether the last pass has done everything but load rules that rest.
    pub(super) fn rests(&self) -> bool {
        let is_done = self.failures.is_empty() && self.settling.is_empty() && !self.is_cut;
        is_done && !self.resting.is_empty()
    }

    /// Returns when the first rules that rest may be loaded.
    pub(super) fn rests_until(&self) -> Option<Instant> {
        self.resting.values().min().copied()
    }

    /// Brings the machine towards a plan: all rules, and links for about as long as `slice`. Returns
    /// whether there is nothing left to do, and nothing has failed.
    ///
    /// # Errors
    ///
    /// If nothing can be done, such as because the link of the machine is not ours.
    pub(super) fn pass(&mut self, plan: &Plan, slice: Duration) -> Result<bool> {
        let failed: BTreeSet<Place> = std::mem::take(&mut self.failures).into_keys().collect();
        self.settling.clear();
        self.resting.clear();
        self.loads
            .retain(|_, (ended, took)| ended.elapsed() < *took * RESTS);
        self.is_cut = false;
        self.look(plan)?;
        // What is allowed comes before links that it is about, and is in force soon however much else
        // there is to do.
        let mut order = order(plan);
        // What has failed comes last, so that it stops no other place.
        order.sort_by_key(|place| failed.contains(place));
        for place in &order {
            self.load(plan, place);
        }
        // Virtual machines make links into routers.
        for place in order.iter().filter(|it| !matches!(it, Place::Vm(_))) {
            self.ensure(plan, place);
        }
        let mut read = Read::new();
        // However long the rules have taken, each pass brings a place nearer.
        let until = Instant::now() + slice;
        for place in &order {
            self.ensure(plan, place);
            self.bring(plan, place, &mut read);
            if Instant::now() >= until {
                self.is_cut = true;
                return Ok(false);
            }
        }
        // Those that got another end of a pair from a place after them.
        for place in order.iter().rev() {
            self.bring(plan, place, &mut read);
        }
        Ok(self.failures.is_empty() && self.settling.is_empty() && self.resting.is_empty())
    }

    /// Forgets that the place which was compared longest ago is as planned, if that is so long ago. Those
    /// that take long are left out for longer.
    pub(super) fn doubt(&mut self, age: Duration) {
        let now = Instant::now();
        let rested = self.links.iter().filter(|(_, it)| it.rests_until <= now);
        let oldest = rested.min_by_key(|(_, it)| it.at);
        let Some((place, brought)) = oldest else {
            return;
        };
        if brought.at.elapsed() >= age {
            let place = place.clone();
            self.links.remove(&place);
            self.rulesets.remove(&place);
        }
    }

    /// Looks which namespaces there are, and deletes those that are not planned.
    fn look(&mut self, plan: &Plan) -> Result<()> {
        let Namespaces { there, broken } = Namespaces::list(&self.programs)?;
        for place in broken {
            // Another program may be deleting it at this moment.
            if let Err(error) = self.delete(&place) {
                self.fail(place, &error);
            }
        }
        for (place, number) in &there {
            if self.there.get(place) != Some(number) {
                self.forget(place);
            }
        }
        let gone: Vec<Place> = self
            .there
            .keys()
            .filter(|it| !there.contains_key(it))
            .cloned()
            .collect();
        for place in gone {
            self.forget(&place);
        }
        self.there = there;
        self.ensure_own_link()?;
        let unwanted = self.there.keys().filter(|it| !plan.spaces.contains_key(it));
        for place in unwanted.cloned().collect::<Vec<_>>() {
            self.forget(&place);
            match self.delete(&place) {
                Ok(()) => {
                    self.there.remove(&place);
                }
                Err(error) => self.fail(place, &error),
            }
        }
        Ok(())
    }

    /// Checks that the link of the machine, if there is one, is of this service.
    fn ensure_own_link(&self) -> Result<()> {
        let name = LinkName::of_host(self.programs.prefix());
        let actual = Actual::read(&self.programs, &Place::Host, false)?;
        match actual.links.get(name.as_str()) {
            Some(link) if link.alias.as_deref() != Some(&self.alias) => Err(foreign(&name, link)),
            _ => Ok(()),
        }
    }

    /// Makes the namespace of a place, if it is missing, with its rules of nftables.
    fn ensure(&mut self, plan: &Plan, place: &Place) {
        let name = place.name(self.programs.prefix());
        let Some(name) = name.filter(|_| !self.there.contains_key(place)) else {
            return;
        };
        let made = self
            .programs
            .run(&Place::Host, Program::Ip, &["netns", "add", &name], "");
        match made.and_then(|_| Namespaces::number(&name)) {
            Ok(number) => {
                self.there.insert(place.clone(), number);
                self.load(plan, place);
            }
            Err(error) => self.fail(place.clone(), &error),
        }
    }

    fn delete(&self, place: &Place) -> Result<()> {
        let Some(name) = place.name(self.programs.prefix()) else {
            return Ok(());
        };
        // Its links go first: a program that runs in it would keep it, with them.
        if self.there.contains_key(place) {
            let empty = Space::default();
            let actual = Actual::read(&self.programs, place, false)?;
            let commands =
                difference(&self.programs, place, &empty, &actual, &mut |_, _| Ok(None))?;
            self.batch(place, &commands.own)?;
        }
        self.programs
            .run(&Place::Host, Program::Ip, &["netns", "delete", &name], "")?;
        Ok(())
    }

    /// Loads the rules of nftables of a place, if they are others than before. If they change all the
    /// time, others have half of it.
    fn load(&mut self, plan: &Plan, place: &Place) {
        let Some(ruleset) = plan.rulesets.get(place) else {
            return;
        };
        if self.rulesets.get(place) == Some(ruleset) || !self.there.contains_key(place) {
            return;
        }
        let load = self.loads.get(place).copied();
        let pause = load.map_or(REFUSED, |(_, took)| took.max(REFUSED));
        if let Some((text, at, why)) = self.refused.get(place)
            && text == ruleset
            && at.elapsed() < pause
        {
            self.failures.insert(place.clone(), why.clone());
            return;
        }
        if let Some((ended, took)) = load
            && ended.elapsed() < took
        {
            self.resting.insert(place.clone(), ended + took);
            return;
        }
        let begun = Instant::now();
        let loaded = self
            .programs
            .run(place, Program::Nft, &["-f", "-"], ruleset);
        self.loads
            .insert(place.clone(), (Instant::now(), begun.elapsed()));
        match loaded {
            Ok(_) => {
                self.refused.remove(place);
                self.rulesets.insert(place.clone(), ruleset.clone());
            }
            // The rules that were in force before still are.
            Err(error) => {
                let refused = (ruleset.clone(), Instant::now(), format!("{error:#}"));
                self.refused.insert(place.clone(), refused);
                self.fail(place.clone(), &error);
            }
        }
    }

    /// Brings the links of a place to the plan, unless they are so already.
    fn bring(&mut self, plan: &Plan, place: &Place, read: &mut Read) {
        let Some(wanted) = plan.spaces.get(place) else {
            return;
        };
        let is_done = self
            .links
            .get(place)
            .is_some_and(|brought| brought.space == *wanted);
        let is_there = *place == Place::Host || self.there.contains_key(place);
        // Without its rules, a router must not forward.
        let is_closed = plan.rulesets.contains_key(place) && !self.rulesets.contains_key(place);
        // Nor may it get links to which older rules would let in more.
        let is_resting = self.resting.contains_key(place);
        let has_failed = self.failures.contains_key(place);
        if is_done || !is_there || is_closed || is_resting || has_failed {
            return;
        }
        let begun = Instant::now();
        match self.bring_links(place, wanted, read) {
            Ok((touched, is_settling)) => {
                if is_settling {
                    self.settling.insert(place.clone());
                } else {
                    self.settling.remove(place);
                    let at = Instant::now();
                    let load = self.loads.get(place).map(|(_, took)| *took);
                    let took = load.unwrap_or_default() + begun.elapsed();
                    let brought = Brought {
                        space: wanted.clone(),
                        at,
                        rests_until: at + took * RESTS,
                    };
                    self.links.insert(place.clone(), brought);
                }
                for place in touched {
                    self.links.remove(&place);
                }
            }
            Err(error) => {
                read.clear();
                self.links.remove(place);
                self.fail(place.clone(), &error);
            }
        }
    }

    /// Brings the links of a place to what is wanted. Returns the places that have got another end of a
    /// pair, and whether links are settling.
    fn bring_links(
        &self,
        place: &Place,
        wanted: &Space,
        read: &mut Read,
    ) -> Result<(BTreeSet<Place>, bool)> {
        let mut touched = BTreeSet::new();
        if *place != Place::Host {
            self.programs.set(place, &SETTINGS)?;
        }
        for _ in 0..ROUNDS {
            let actual = Actual::read(&self.programs, place, !wanted.rules.is_empty())?;
            let mut lookup = |other: &Place, name: &LinkName| {
                if !read.contains_key(other) {
                    let found = Actual::read(&self.programs, other, false)?;
                    read.insert(other.clone(), found);
                }
                let link = read.get(other).and_then(|it| it.links.get(name.as_str()));
                Ok(link.map(|link| (link.index, link.other)))
            };
            let commands = difference(&self.programs, place, wanted, &actual, &mut lookup)?;
            if commands.are_none() {
                let forwards = if wanted.forwards { "1" } else { "0" };
                if *place != Place::Host {
                    let forwarding = [
                        ("ipv4/ip_forward", forwards),
                        ("ipv6/conf/all/forwarding", forwards),
                    ];
                    self.programs.set(place, &forwarding)?;
                }
                let mut links = wanted
                    .links
                    .keys()
                    .filter_map(|it| actual.links.get(it.as_str()));
                return Ok((touched, links.any(|link| link.is_settling)));
            }
            let Commands {
                before,
                own,
                own6,
                touched: new,
            } = commands;
            for (other, line) in before {
                // Deleting one end deletes the other, maybe the one that is here.
                read.remove(&other);
                self.batch(&other, &[line])?;
                touched.insert(other);
            }
            for other in &new {
                read.remove(other);
            }
            read.remove(place);
            touched.extend(new);
            self.batch(place, &own)?;
            if !own6.is_empty() {
                let input = own6.join("\n") + "\n";
                self.programs
                    .run(place, Program::Ip, &["-6", "-batch", "-"], &input)?;
            }
        }
        bail!("its links do not become what they are to be")
    }

    fn batch(&self, place: &Place, lines: &[String]) -> Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let input = lines.join("\n") + "\n";
        self.programs
            .run(place, Program::Ip, &["-batch", "-"], &input)?;
        Ok(())
    }

    fn forget(&mut self, place: &Place) {
        self.refused.remove(place);
        self.links.remove(place);
        self.rulesets.remove(place);
    }

    fn fail(&mut self, place: Place, error: &anyhow::Error) {
        self.failures.insert(place, format!("{error:#}"));
    }
}

/// Returns the places of a plan in the order in which they are brought: the machine's link first, by which
/// another service would see whose they are, then virtual machines, which make the links to their
/// routers, and then the routers.
fn order(plan: &Plan) -> Vec<Place> {
    let vms = plan.vms.iter().map(|vm| Place::Vm(vm.id.clone()));
    let routers = plan
        .spaces
        .keys()
        .filter(|it| matches!(it, Place::Project(_)));
    let first = [Place::Hub, Place::Host].into_iter();
    first.chain(vms).chain(routers.cloned()).collect()
}

/// Deletes everything of a prefix, and returns the names of the namespaces.
///
/// # Errors
///
/// If something cannot be deleted. The rest is deleted by then.
pub(super) fn remove(programs: Programs) -> Result<Vec<String>> {
    let maker = Maker::new(programs, String::new());
    let programs = &maker.programs;
    let Namespaces { there, broken } = Namespaces::list(programs)?;
    let name = LinkName::of_host(programs.prefix());
    let host = Actual::read(programs, &Place::Host, false)?;
    if let Some(link) = host.links.get(name.as_str())
        && is_of_prefix(programs, link)
    {
        maker.batch(&Place::Host, &[format!("link delete dev {name}")])?;
    }
    let maker = Maker {
        there: there.clone(),
        ..maker
    };
    let mut removed = Vec::new();
    let mut failure = Ok(());
    for place in there.into_keys().chain(broken) {
        match maker.delete(&place) {
            Ok(()) => removed.extend(place.name(maker.programs.prefix())),
            Err(error) => failure = Err(error.context("failed to delete a namespace")),
        }
    }
    failure?;
    maker.programs.close()?;
    Ok(removed)
}

/// Returns whether a link of the machine was made with a prefix, for any database.
fn is_of_prefix(programs: &Programs, link: &ActualLink) -> bool {
    let start = alias(programs.prefix().as_str(), "");
    link.alias
        .as_deref()
        .is_some_and(|alias| alias.starts_with(&start))
}

/// Returns by what the machine's own link is known, for a database.
pub(super) fn alias(prefix: &str, database: &str) -> String {
    format!("stratusd network {prefix} {database}")
}

/// Returns the error for a link that has our name and is not ours.
fn foreign(name: &LinkName, link: &ActualLink) -> anyhow::Error {
    let is_of_a_service = link
        .alias
        .as_deref()
        .is_some_and(|it| it.starts_with(&alias(name.as_str(), "")));
    let words = if is_of_a_service {
        "the networks of network_prefix = {} on this machine are those of another database: set another prefix, or \
         remove them by `stratusd network --remove`"
    } else {
        "this machine has a link called {} that is not ours: set another network_prefix"
    };
    anyhow::Error::msg(words.replace("{}", name.as_str()))
}
