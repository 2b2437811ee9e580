//! The search for an object.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::Reading;
use super::evaluate::{evaluate, is_equal};
use super::facts::{Fact, Facts, Objects};
use super::outcome::Outcome;
use super::tableau::{Extra, Literal, Role, Tableau};

/// The most properties that an object is given only to have enough of them.
const MOST_FILLERS: usize = 300;
/// The most ways of choosing names for the properties that some keyword asks for.
const MOST_CHOICES: usize = 400;
/// The number of names of each pattern that are tried.
const NAMES: usize = 3;

/// The name of a property that no schema names.
const FRESH: &str = "extra";

/// The properties that must be there, each with further literals.
type Chosen = BTreeMap<String, Vec<Literal>>;

/// What the properties of an object are searched with.
struct Search<'f> {
    facts: &'f Facts,
    /// The names that some schema names.
    names: BTreeSet<String>,
    patterns: Vec<String>,
    /// Whether other names than the ones that are tried may behave differently.
    is_partial: bool,
}

impl Tableau<'_, '_> {
    /// Searches for an object that fulfils the facts.
    pub(crate) fn object(&self, facts: &Facts) -> Outcome {
        let search = Search::of(facts);
        let mut unknown = None;
        let mut choices: Vec<Chosen> = vec![Chosen::new()];
        for (name, literal) in &facts.objects.having {
            for chosen in &mut choices {
                chosen.entry(name.clone()).or_default().push(*literal);
            }
        }
        for (candidates, literal) in self.candidates(&search) {
            let mut next = Vec::new();
            for chosen in &choices {
                for name in &candidates {
                    let mut chosen = chosen.clone();
                    let literals = chosen.entry(name.clone()).or_default();
                    literals.extend(literal);
                    next.push(chosen);
                }
            }
            if next.len() > MOST_CHOICES {
                unknown = Some("objects in which many properties are asked for");
                next.truncate(MOST_CHOICES);
            }
            if search.is_partial {
                unknown = Some("names of properties by several patterns");
            }
            choices = next;
        }
        for chosen in choices {
            match self.build(&search, chosen) {
                Outcome::Value(value) => return Outcome::Value(value),
                Outcome::Nothing => {}
                Outcome::Unknown(why) => unknown = Some(why),
            }
        }
        unknown.map_or(Outcome::Nothing, Outcome::Unknown)
    }

    /// Returns, for each property that must be there without a name, the names that it may have,
    /// and the literal that its value must fulfil.
    fn candidates(&self, search: &Search<'_>) -> Vec<(Vec<String>, Option<Literal>)> {
        let objects = &search.facts.objects;
        let fresh = search.fresh(1);
        let mut out = Vec::new();
        for outside in &objects.outside {
            let is_outside = |name: &String| {
                !outside.named.contains(name)
                    && !objects.absent.contains(name)
                    && outside
                        .patterns
                        .iter()
                        .all(|pattern| self.context.patterns.matches(pattern, name) == Some(false))
            };
            let of_patterns = search
                .patterns
                .iter()
                .flat_map(|pattern| self.words(pattern, &outside.patterns, NAMES));
            let names = search
                .names
                .iter()
                .cloned()
                .chain(fresh.clone())
                .chain(of_patterns);
            let mut names: Vec<String> = names.filter(is_outside).collect();
            names.extend(self.spelled(search, &outside.patterns, &[]));
            names.dedup();
            out.push((names, Some(outside.literal)));
        }
        for (pattern, literal) in &objects.matching {
            let matches = |name: &&String| {
                !objects.absent.contains(*name)
                    && self.context.patterns.matches(pattern, name) == Some(true)
            };
            let known = search.names.iter().filter(matches).cloned();
            let mut names: Vec<String> = known.collect();
            names.extend(self.words(pattern, &[], NAMES));
            for other in search.patterns.iter().filter(|other| *other != pattern) {
                names.extend(self.words(pattern, std::slice::from_ref(other), 1));
            }
            out.push((names, Some(*literal)));
        }
        for literal in &objects.some_name {
            out.push((self.spelled(search, &[], &[*literal]), None));
        }
        out
    }

    /// Returns a name that fulfils what is said of the names of all properties, if anything is.
    fn spelled(&self, search: &Search<'_>, unwanted: &[String], more: &[Literal]) -> Vec<String> {
        let objects = &search.facts.objects;
        if objects.each_name.is_empty() && more.is_empty() {
            return Vec::new();
        }
        let literals = [&objects.each_name[..], more].concat();
        let not = unwanted.iter().cloned().map(Fact::NotPattern);
        let names = search.names.iter().cloned().map(Value::String);
        let extra = Extra {
            excluded: names.collect(),
            facts: not.collect(),
        };
        match self.solve(literals, &extra) {
            Outcome::Value(Value::String(name)) => vec![name],
            _ => Vec::new(),
        }
    }

    /// Searches for the values of the chosen properties and of all that must be there besides.
    fn build(&self, search: &Search<'_>, mut chosen: Chosen) -> Outcome {
        let objects = &search.facts.objects;
        for name in &objects.required {
            chosen.entry(name.clone()).or_default();
        }
        add_dependent(objects, &mut chosen);
        if objects.max.is_some_and(|max| chosen.len() as u64 > max)
            || chosen.keys().any(|name| objects.absent.contains(name))
        {
            return Outcome::Nothing;
        }
        let mut entries = Map::new();
        for (name, more) in &chosen {
            match self.property(objects, name, more) {
                Outcome::Value(value) => entries.insert(name.clone(), value),
                other => return other,
            };
        }
        self.pad(search, entries)
    }

    /// Adds properties until there are enough, and the object is not excluded.
    fn pad(&self, search: &Search<'_>, mut entries: Map<String, Value>) -> Outcome {
        let objects = &search.facts.objects;
        let least = usize::try_from(objects.min).unwrap_or(usize::MAX);
        let is_done = |entries: &Map<String, Value>| {
            let value = Value::Object(entries.clone());
            entries.len() >= least
                && !search
                    .facts
                    .excluded
                    .iter()
                    .any(|other| is_equal(&value, other))
        };
        if least > entries.len() + MOST_FILLERS {
            return Outcome::Unknown("objects with many properties");
        }
        let fillers = search.names.iter().cloned();
        let of_patterns = search
            .patterns
            .iter()
            .flat_map(|pattern| self.words(pattern, &[], least.min(MOST_FILLERS) + NAMES));
        let fillers = fillers
            .chain(of_patterns)
            .chain(search.fresh(least.max(NAMES)));
        let mut unknown = None;
        for name in fillers.collect::<Vec<_>>() {
            if is_done(&entries) {
                break;
            }
            if entries.contains_key(&name) || objects.absent.contains(&name) {
                continue;
            }
            let needs_more = objects.dependent.iter().any(|(one, _)| *one == name);
            match self.property(objects, &name, &[]) {
                Outcome::Value(value) if !needs_more => {
                    entries.insert(name, value);
                }
                Outcome::Value(_) => unknown = Some("properties that need others"),
                Outcome::Nothing => {}
                Outcome::Unknown(why) => unknown = Some(why),
            }
        }
        if !is_done(&entries) {
            return match unknown {
                Some(why) => Outcome::Unknown(why),
                None if search.is_partial || !objects.each_name.is_empty() => {
                    Outcome::Unknown("names of properties by patterns")
                }
                None if !search.facts.excluded.is_empty() => {
                    Outcome::Unknown("objects that must differ")
                }
                None => Outcome::Nothing,
            };
        }
        if objects.max.is_some_and(|max| entries.len() as u64 > max) {
            return Outcome::Nothing;
        }
        Outcome::Value(Value::Object(entries))
    }

    /// Searches for the value of a property.
    fn property(&self, objects: &Objects, name: &str, more: &[Literal]) -> Outcome {
        let text = Value::String(name.to_owned());
        for literal in &objects.each_name {
            let is_lenient = literal.role == Role::Receiver && self.reading == Reading::Response;
            match evaluate(self.context, literal.class, &text, is_lenient) {
                Some(result) if result == literal.is_positive => {}
                Some(_) => return Outcome::Nothing,
                None => return Outcome::Unknown("`propertyNames`"),
            }
        }
        let mut literals = more.to_vec();
        let mut is_sent = false;
        let mut is_limited = false;
        let is_required = objects.required.contains(name);
        for group in &objects.groups {
            let mut is_named = false;
            if let Some((_, literal)) = group.named.iter().find(|(named, _)| named == name) {
                is_named = true;
                literals.push(*literal);
            }
            for (pattern, literal) in &group.patterns {
                match self.context.patterns.matches(pattern, name) {
                    Some(true) => {
                        is_named = true;
                        literals.push(*literal);
                    }
                    Some(false) => {}
                    None => return Outcome::Unknown("a pattern of `patternProperties`"),
                }
            }
            if !is_named {
                literals.extend(group.rest);
            }
            if group.is_sent {
                is_limited |= !group.named.is_empty();
                is_sent |= is_named || group.rest.is_some();
                if group.withheld.iter().any(|withheld| withheld == name) && !is_required {
                    return Outcome::Nothing;
                }
            }
        }
        // A sender sends the properties that it names, unless it names none.
        if is_limited && !is_sent {
            return Outcome::Nothing;
        }
        self.solve(literals, &Extra::default())
    }
}

impl<'f> Search<'f> {
    fn of(facts: &'f Facts) -> Self {
        let objects = &facts.objects;
        let mut names: BTreeSet<String> = objects.required.clone();
        let mut patterns: BTreeSet<String> = BTreeSet::new();
        for group in &objects.groups {
            names.extend(group.named.iter().map(|(name, _)| name.clone()));
            patterns.extend(group.patterns.iter().map(|(pattern, _)| pattern.clone()));
        }
        for outside in &objects.outside {
            names.extend(outside.named.iter().cloned());
            patterns.extend(outside.patterns.iter().cloned());
        }
        patterns.extend(objects.matching.iter().map(|(pattern, _)| pattern.clone()));
        for (name, others) in &objects.dependent {
            names.insert(name.clone());
            names.extend(others.iter().cloned());
        }
        let patterns: Vec<String> = patterns.into_iter().collect();
        Self {
            facts,
            names,
            is_partial: patterns.len() > 1 || !objects.each_name.is_empty(),
            patterns,
        }
    }

    /// Returns names that no schema names.
    fn fresh(&self, count: usize) -> Vec<String> {
        let numbered = (2..).map(|number| format!("{FRESH}_{number}"));
        std::iter::once(FRESH.to_owned())
            .chain(numbered)
            .filter(|name| !self.names.contains(name))
            .take(count.min(MOST_FILLERS))
            .collect()
    }
}

/// Adds the properties that others need.
fn add_dependent(objects: &Objects, chosen: &mut Chosen) {
    loop {
        let before = chosen.len();
        for (name, others) in &objects.dependent {
            if chosen.contains_key(name) {
                for other in others {
                    chosen.entry(other.clone()).or_default();
                }
            }
        }
        if chosen.len() == before {
            return;
        }
    }
}
