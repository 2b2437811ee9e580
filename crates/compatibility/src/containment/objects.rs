//! The search for an object.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::Reading;
use super::evaluate::evaluate;
use super::facts::{Fact, Facts, Objects};
use super::literal::{Literal, Role};
use super::outcome::{HEAVY, MOST_WEIGHT, Outcome, weigh};
use super::tableau::{Extra, LONG, Tableau};
use super::value::is_equal;

/// The maximum number of properties that an object is given only to have enough of them.
const MOST_FILLERS: usize = 300;
/// The maximum number of ways of choosing names for the properties that some keyword asks for.
const MOST_CHOICES: usize = 400;
/// The number of properties whose search counts as one more step.
const PROPERTIES_OF_STEP: usize = 100;
/// The number of names that are taken and count as one more step of the search for another one.
const NAMES_OF_STEP: usize = 4;
/// The number of names that are tried beyond those that are needed.
const NAMES: usize = 3;

/// The name of a property that no schema names.
const FRESH: &str = "extra";

/// Properties that must be there, each with a further literal. One may be listed several times.
type Chosen<'n> = Vec<(&'n str, Option<Literal>)>;

/// What the properties of an object are searched with.
struct Search<'f> {
    facts: &'f Facts,
    /// The names that some schema names.
    names: BTreeSet<String>,
    patterns: Vec<String>,
    /// Whether other names than the ones that are tried may behave differently.
    is_partial: bool,
}

/// Names for properties.
struct Names {
    list: Vec<String>,
    /// Whether every other name that is possible behaves like one of the list.
    is_whole: bool,
}

/// A required property that may have any of several names.
struct Asked {
    names: Names,
    literal: Option<Literal>,
}

impl Tableau<'_, '_> {
    /// Searches for an object that fulfils the facts.
    pub(crate) fn object(&self, facts: &Facts) -> Outcome {
        let mut search = Search::of(facts);
        for literal in &facts.objects.may_hold {
            let named = self.named(literal.class);
            search.names.extend(named.names().cloned());
        }
        let having = facts.objects.having.iter();
        let having = having.map(|(name, literal)| (name.as_str(), Some(*literal)));
        let mut choices: Vec<Chosen<'_>> = vec![having.collect()];
        let asked = self.asked(&search);
        let mut unknown = None;
        for Asked { names, literal } in &asked {
            // Noted before any choice is tried: it matters only if no choice leads to a value.
            if !names.is_whole {
                unknown = Some("names of properties by patterns");
            }
            let mut next = Vec::new();
            let pairs = choices
                .iter()
                .flat_map(|chosen| names.list.iter().map(move |name| (chosen, name)));
            for (chosen, name) in pairs {
                if next.len() >= MOST_CHOICES {
                    unknown = Some("objects in which many properties are asked for");
                    break;
                }
                let mut chosen = chosen.clone();
                chosen.push((name, *literal));
                next.push(chosen);
            }
            choices = next;
        }
        for chosen in choices {
            // An object of many properties is as much as many schemas.
            if !self.count(1 + (chosen.len() + facts.objects.required.len()) / PROPERTIES_OF_STEP) {
                return Outcome::Unknown(LONG);
            }
            match self.build(&search, &chosen) {
                Outcome::Value(value) => return Outcome::Value(value),
                Outcome::Nothing => {}
                Outcome::Unknown(why) => unknown = Some(why),
            }
        }
        unknown.map_or(Outcome::Nothing, Outcome::Unknown)
    }

    /// Returns the properties that must be there without a certain name.
    fn asked(&self, search: &Search<'_>) -> Vec<Asked> {
        let objects = &search.facts.objects;
        // Each of them may need a name of its own.
        let count = objects.outside.len() + objects.matching.len() + objects.some_name.len();
        if count == 0 {
            return Vec::new();
        }
        let fresh = self.fresh(search, count);
        let mut out = Vec::new();
        for outside in &objects.outside {
            let is_outside = |name: &&String| {
                !outside.named.contains(*name)
                    && !objects.absent.contains(*name)
                    && self.matches_none(&outside.patterns, name)
            };
            let known = search.names.iter().filter(is_outside).cloned();
            let mut names = Names {
                list: known.chain(fresh.list.iter().cloned()).collect(),
                is_whole: fresh.is_whole,
            };
            for pattern in &search.patterns {
                if !outside.patterns.contains(pattern) {
                    let pattern = std::slice::from_ref(pattern);
                    names.append(self.names(search, pattern, &outside.patterns, count));
                }
            }
            if !objects.each_name.is_empty() {
                names.append(self.spelled(search, &[], &outside.patterns, count));
            }
            // A name that matches no pattern is like any other one.
            let mut patterns = search.patterns.iter();
            let are_alike = patterns.all(|pattern| outside.patterns.contains(pattern));
            names.is_whole &= !search.is_partial || are_alike && count == 1;
            out.push(Asked {
                names,
                literal: Some(outside.literal),
            });
        }
        for (pattern, literal) in &objects.matching {
            let matches = |name: &&String| {
                !objects.absent.contains(*name)
                    && self.context.patterns.matches(pattern, name) == Some(true)
            };
            let wanted = std::slice::from_ref(pattern);
            let mut names = Names {
                list: search.names.iter().filter(matches).cloned().collect(),
                is_whole: true,
            };
            names.append(self.names(search, wanted, &[], count));
            for other in search.patterns.iter().filter(|other| *other != pattern) {
                names.append(self.names(search, wanted, std::slice::from_ref(other), 1));
            }
            if !objects.each_name.is_empty() {
                names.append(self.spelled(search, wanted, &[], count));
            }
            let are_alike = search.patterns.len() == 1;
            names.is_whole &= !search.is_partial || are_alike && count == 1;
            out.push(Asked {
                names,
                literal: Some(*literal),
            });
        }
        for literal in &objects.some_name {
            let mut names = self.suiting(search, *literal);
            // The properties that are asked for besides might need the same name.
            names.is_whole &= count == 1 && !search.is_partial;
            out.push(Asked {
                names,
                literal: None,
            });
        }
        out
    }

    /// Returns names that fulfil a literal.
    fn suiting(&self, search: &Search<'_>, literal: Literal) -> Names {
        let mut names = Names {
            list: Vec::new(),
            is_whole: true,
        };
        for name in &search.names {
            match self.suits(literal, name) {
                Some(true) => names.list.push(name.clone()),
                Some(false) => {}
                None => names.is_whole = false,
            }
        }
        let literals = [&search.facts.objects.each_name[..], &[literal]].concat();
        let mut next = |wanted: &[String], unwanted: &[String]| {
            let (found, is_whole) = self.name_like(&literals, wanted, unwanted, &search.names);
            names.append(Names {
                list: found.into_iter().collect(),
                is_whole,
            });
        };
        next(&[], &search.patterns);
        for pattern in &search.patterns {
            next(std::slice::from_ref(pattern), &[]);
        }
        names
    }

    /// Returns names that no schema names, and that fulfil what is said of the names of all
    /// properties.
    fn spelled(
        &self,
        search: &Search<'_>,
        wanted: &[String],
        unwanted: &[String],
        count: usize,
    ) -> Names {
        let literals = &search.facts.objects.each_name;
        let mut taken = search.names.clone();
        let mut names = Names {
            list: Vec::new(),
            is_whole: true,
        };
        while names.list.len() < count {
            // Each search looks at all names that are taken.
            if !self.count(1 + taken.len() / NAMES_OF_STEP) {
                names.is_whole = false;
                break;
            }
            let (found, is_whole) = self.name_like(literals, wanted, unwanted, &taken);
            let Some(name) = found else {
                names.is_whole = is_whole;
                break;
            };
            taken.insert(name.clone());
            names.list.push(name);
        }
        names
    }

    /// Returns a name that fulfils literals and is not taken, and whether it is certain that there is
    /// none if none was found.
    fn name_like(
        &self,
        literals: &[Literal],
        wanted: &[String],
        unwanted: &[String],
        taken: &BTreeSet<String>,
    ) -> (Option<String>, bool) {
        let wanted = wanted.iter().cloned().map(Fact::Pattern);
        let unwanted = unwanted.iter().cloned().map(Fact::NotPattern);
        let extra = Extra {
            excluded: taken.iter().cloned().map(Value::String).collect(),
            facts: wanted.chain(unwanted).collect(),
            ..Extra::default()
        };
        match self.solve_text(literals, &extra) {
            Outcome::Value(Value::String(name)) => (Some(name), true),
            Outcome::Value(_) | Outcome::Nothing => (None, true),
            Outcome::Unknown(_) => (None, false),
        }
    }

    /// Returns names that no schema names and that match no pattern.
    fn fresh(&self, search: &Search<'_>, count: usize) -> Names {
        let numbered = (2..).map(|number| format!("{FRESH}_{number}"));
        let list: Vec<String> = std::iter::once(FRESH.to_owned())
            .chain(numbered)
            .filter(|name| !search.names.contains(name))
            .take(count)
            .filter(|name| self.matches_none(&search.patterns, name))
            .collect();
        let mut names = Names {
            is_whole: true,
            list,
        };
        if names.list.len() < count {
            names.append(self.names(search, &[], &search.patterns, count));
        }
        names
    }

    /// Returns names that no schema names, and that match some patterns and not others.
    fn names(
        &self,
        search: &Search<'_>,
        wanted: &[String],
        unwanted: &[String],
        count: usize,
    ) -> Names {
        // So many words may be names that some schema names, and the empty one reads badly.
        let most = count + search.names.len() + 1;
        let Some(words) = self.words(wanted, unwanted, most) else {
            return Names {
                list: Vec::new(),
                is_whole: false,
            };
        };
        let is_new = |name: &String| !search.names.contains(name);
        let mut list: Vec<String> = words.list.into_iter().filter(is_new).collect();
        list.sort_by_key(String::is_empty);
        Names {
            is_whole: words.is_complete || list.len() >= count,
            list: list.into_iter().take(count).collect(),
        }
    }

    /// Returns whether a name certainly matches none of some patterns.
    fn matches_none(&self, patterns: &[String], name: &str) -> bool {
        let mut patterns = patterns.iter();
        patterns.all(|pattern| self.context.patterns.matches(pattern, name) == Some(false))
    }

    /// Returns whether a name fulfils a literal, or `None` if that is unclear.
    fn suits(&self, literal: Literal, name: &str) -> Option<bool> {
        let is_lenient = literal.role == Role::Receiver && self.reading == Reading::Response;
        let text = Value::String(name.to_owned());
        let result = evaluate(self.context, literal.class, &text, is_lenient)?;
        Some(result == literal.is_positive)
    }

    /// Searches for the values of the chosen properties and of all that must be there besides.
    fn build(&self, search: &Search<'_>, chosen: &Chosen<'_>) -> Outcome {
        let objects = &search.facts.objects;
        let mut properties: BTreeMap<&str, Vec<Literal>> = BTreeMap::new();
        for (name, literal) in chosen {
            properties.entry(name).or_default().extend(literal);
        }
        for name in &objects.required {
            properties.entry(name).or_default();
        }
        add_dependent(objects, &mut properties);
        if objects.max.is_some_and(|max| properties.len() as u64 > max)
            || properties.keys().any(|name| objects.absent.contains(*name))
        {
            return Outcome::Nothing;
        }
        let mut entries = Map::new();
        let mut weight = 1;
        for (name, more) in properties {
            match self.property(objects, name, &more) {
                Outcome::Value(value) => {
                    weight += name.len() + weigh(&value);
                    entries.insert(name.to_owned(), value);
                }
                other => return other,
            }
            if weight > MOST_WEIGHT {
                return Outcome::Unknown(HEAVY);
            }
        }
        self.pad(search, entries)
    }

    /// Adds properties until there are enough, and the object is not excluded.
    fn pad(&self, search: &Search<'_>, mut entries: Map<String, Value>) -> Outcome {
        let objects = &search.facts.objects;
        let least = usize::try_from(objects.min).unwrap_or(usize::MAX);
        let is_done = |entries: &Map<String, Value>| {
            let excluded = &search.facts.excluded;
            let is_excluded = || {
                let value = Value::Object(entries.clone());
                excluded.iter().any(|other| is_equal(&value, other))
            };
            entries.len() >= least && (excluded.is_empty() || !is_excluded())
        };
        if is_done(&entries) {
            return Outcome::Value(Value::Object(entries));
        }
        if least > entries.len() + MOST_FILLERS {
            return Outcome::Unknown("objects with many properties");
        }
        let count = least + NAMES;
        // Names that the schemas know come first, because a closed object has no others.
        let mut fillers = Names {
            list: search.names.iter().cloned().collect(),
            // Of names that match several patterns none is made.
            is_whole: search.patterns.len() <= 1,
        };
        let is_any_name = objects.each_name.is_empty();
        for pattern in &search.patterns {
            let pattern = std::slice::from_ref(pattern);
            fillers.append(if is_any_name {
                self.names(search, pattern, &[], count)
            } else {
                self.spelled(search, pattern, &[], count)
            });
        }
        fillers.append(if is_any_name {
            self.fresh(search, count)
        } else {
            self.spelled(search, &[], &search.patterns, count)
        });
        let mut unknown = None;
        let mut weight = weigh(&Value::Object(entries.clone()));
        for name in fillers.list {
            if is_done(&entries) {
                break;
            }
            if entries.contains_key(&name) || objects.absent.contains(&name) {
                continue;
            }
            let needs_more = objects.dependent.iter().any(|(one, _)| *one == name);
            match self.property(objects, &name, &[]) {
                Outcome::Value(value) if !needs_more => {
                    weight += name.len() + weigh(&value);
                    entries.insert(name, value);
                }
                // The others might be forbidden or too many, which this loop does not look at.
                Outcome::Value(_) => unknown = Some("properties that need others"),
                Outcome::Nothing => {}
                Outcome::Unknown(why) => unknown = Some(why),
            }
            if weight > MOST_WEIGHT {
                return Outcome::Unknown(HEAVY);
            }
        }
        // There is only one empty object, so no other one is missed in its place.
        let is_excluded = !search.facts.excluded.is_empty() && objects.max != Some(0);
        if !is_done(&entries) {
            return match unknown {
                Some(why) => Outcome::Unknown(why),
                None if !fillers.is_whole => Outcome::Unknown("names of properties by patterns"),
                None if is_excluded => Outcome::Unknown("objects that must differ"),
                None => Outcome::Nothing,
            };
        }
        match objects.max {
            // Other values of the same properties might not be excluded.
            Some(max) if entries.len() as u64 > max && is_excluded => {
                Outcome::Unknown("objects that must differ")
            }
            Some(max) if entries.len() as u64 > max => Outcome::Nothing,
            _ => Outcome::Value(Value::Object(entries)),
        }
    }

    /// Searches for the value of a property.
    fn property(&self, objects: &Objects, name: &str, more: &[Literal]) -> Outcome {
        for literal in &objects.each_name {
            match self.suits(*literal, name) {
                Some(true) => {}
                Some(false) => return Outcome::Nothing,
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
                // `additionalProperties` looks only at the names of its own schema, not at those of
                // the other schemas that hold as well.
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
        for rest in &objects.rests {
            let is_beyond = match &rest.beyond {
                Some(outside) if outside.named.iter().any(|named| named == name) => false,
                Some(outside) => {
                    let patterns = &self.context.patterns;
                    let mut matches = outside
                        .patterns
                        .iter()
                        .map(|pattern| patterns.matches(pattern, name));
                    if matches.clone().any(|matches| matches.is_none()) {
                        return Outcome::Unknown("a pattern of `patternProperties`");
                    }
                    !matches.any(|matches| matches == Some(true))
                }
                None => false,
            };
            if is_beyond {
                literals.extend(rest.beyond.as_ref().map(|outside| outside.literal));
            }
            is_sent |= rest.is_sent && (is_beyond || !rest.is_certain);
        }
        // A property that is required is sent although no schema names it.
        is_sent |= objects.sends.contains(name);
        // A sender sends the properties that it names, unless it names none.
        if is_limited && !is_sent {
            if !objects.may_hold.is_empty() {
                self.unsent.borrow_mut().insert(name.to_owned());
            }
            return Outcome::Nothing;
        }
        self.solve(literals, &Extra::default())
    }
}

impl<'f> Search<'f> {
    fn of(facts: &'f Facts) -> Self {
        let objects = &facts.objects;
        let mut names: BTreeSet<String> =
            objects.required.union(&objects.absent).cloned().collect();
        let mut patterns: BTreeSet<String> = BTreeSet::new();
        for group in &objects.groups {
            names.extend(group.named.iter().map(|(name, _)| name.clone()));
            patterns.extend(group.patterns.iter().map(|(pattern, _)| pattern.clone()));
        }
        let beyond = objects.rests.iter().filter_map(|rest| rest.beyond.as_ref());
        for outside in objects.outside.iter().chain(beyond) {
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
            // With several patterns, not every combination of those that a name matches is tried.
            is_partial: patterns.len() > 1,
            patterns,
        }
    }
}

impl Names {
    /// Appends names that behave differently.
    fn append(&mut self, other: Self) {
        self.is_whole &= other.is_whole;
        for name in other.list {
            if !self.list.contains(&name) {
                self.list.push(name);
            }
        }
    }
}

/// Adds the properties that others need.
fn add_dependent<'o>(objects: &'o Objects, chosen: &mut BTreeMap<&'o str, Vec<Literal>>) {
    loop {
        // Repeated, because a property that is added may need others itself.
        let before = chosen.len();
        for (name, others) in &objects.dependent {
            if chosen.contains_key(name.as_str()) {
                for other in others {
                    chosen.entry(other).or_default();
                }
            }
        }
        if chosen.len() == before {
            return;
        }
    }
}
