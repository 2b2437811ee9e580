//! What a value of one type must fulfil: the conjunction that remains when all alternatives of the
//! schemas are chosen.

use std::collections::BTreeSet;

use serde_json::Value;

use super::decimal::{Bound, Decimal, Numbers};
use super::literal::Literal;
use super::value::is_equal;
use crate::pair::Class;

/// One thing that a value must fulfil.
#[derive(Debug, Clone)]
pub(crate) enum Fact {
    Among(Vec<Value>),
    NotAmong(Vec<Value>),
    Low(Bound),
    High(Bound),
    Multiple(Decimal),
    NotMultiple(Decimal),
    Integer,
    Fraction,
    MinLength(u64),
    MaxLength(u64),
    Pattern(String),
    NotPattern(String),
    Format(String),
    NotFormat(String),
    Items(ItemGroup),
    /// The item at the index is there and fulfils the literal.
    Item(usize, Literal),
    /// An item from the index on fulfils the literal.
    SomeItem(usize, Literal),
    /// So many items fulfil the literal.
    ManyItems(usize, Literal),
    /// Every item fulfils the literal.
    EachItem(Literal),
    /// Every item but so many fulfils the literal.
    MostItems(usize, Literal),
    MinItems(u64),
    MaxItems(u64),
    Unique,
    Repeated,
    Properties(PropertyGroup),
    Rest(Rest),
    Required(String),
    /// A schema of the sender requires the property, so it is sent, whether it is named or not.
    Sends(String),
    Absent(String),
    /// The property is there and its value fulfils the literal.
    Property(String, Literal),
    /// A property outside of the named and the matching ones fulfils the literal.
    Outside(Outside),
    /// A property whose name matches the pattern fulfils the literal.
    Matching(String, Literal),
    /// The name of each property fulfils the literal.
    EachName(Literal),
    /// The name of some property fulfils the literal.
    SomeName(Literal),
    MinProperties(u64),
    MaxProperties(u64),
    /// If the property is there, the others are as well.
    Dependent(String, Vec<String>),
    /// The object may fulfil the literal, and has its properties then: a further branch of a
    /// sender's `anyOf`.
    MayHold(Literal),
    /// A keyword is not understood here, for this reason.
    Unclear(&'static str),
}

/// `prefixItems` and `items` of a schema.
#[derive(Debug, Clone)]
pub(crate) struct ItemGroup {
    pub(crate) prefix: Vec<Literal>,
    pub(crate) rest: Option<Literal>,
}

/// `properties`, `patternProperties` and `additionalProperties` of a schema.
#[derive(Debug, Clone)]
pub(crate) struct PropertyGroup {
    pub(crate) named: Vec<(String, Literal)>,
    pub(crate) patterns: Vec<(String, Literal)>,
    pub(crate) rest: Option<Literal>,
    /// Whether the sender of the value has said with this which properties it sends.
    pub(crate) is_sent: bool,
    /// The properties that the sender may leave out and never sends in this direction.
    pub(crate) withheld: Vec<String>,
}

/// A property that `properties` does not have, and whose name matches no pattern.
#[derive(Debug, Clone)]
pub(crate) struct Outside {
    pub(crate) named: Vec<String>,
    pub(crate) patterns: Vec<String>,
    pub(crate) literal: Literal,
}

/// `unevaluatedProperties` of a schema.
#[derive(Debug, Clone)]
pub(crate) struct Rest {
    /// What each property fulfils that the schema certainly does not evaluate, if that is known.
    pub(crate) beyond: Option<Outside>,
    /// Whether it is certain that the schema evaluates all other properties.
    pub(crate) is_certain: bool,
    /// Whether the sender of the value may send properties by it.
    pub(crate) is_sent: bool,
}

/// Everything that a value must fulfil.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    /// The only possible values, if they are listed.
    pub(crate) among: Option<Vec<Value>>,
    pub(crate) excluded: Vec<Value>,
    pub(crate) numbers: Numbers,
    pub(crate) strings: Strings,
    pub(crate) arrays: Arrays,
    pub(crate) objects: Objects,
    pub(crate) unclear: Option<&'static str>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Strings {
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    pub(crate) patterns: Vec<String>,
    pub(crate) not_patterns: Vec<String>,
    pub(crate) formats: Vec<String>,
    pub(crate) not_formats: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Arrays {
    pub(crate) groups: Vec<ItemGroup>,
    pub(crate) at: Vec<(usize, Literal)>,
    pub(crate) some: Vec<(usize, Literal)>,
    pub(crate) many: Vec<(usize, Literal)>,
    pub(crate) each: Vec<Literal>,
    pub(crate) most: Vec<(usize, Literal)>,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    pub(crate) is_unique: bool,
    pub(crate) is_repeated: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Objects {
    pub(crate) groups: Vec<PropertyGroup>,
    pub(crate) rests: Vec<Rest>,
    pub(crate) required: BTreeSet<String>,
    pub(crate) sends: BTreeSet<String>,
    pub(crate) absent: BTreeSet<String>,
    pub(crate) having: Vec<(String, Literal)>,
    pub(crate) outside: Vec<Outside>,
    pub(crate) matching: Vec<(String, Literal)>,
    pub(crate) each_name: Vec<Literal>,
    pub(crate) some_name: Vec<Literal>,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    pub(crate) dependent: Vec<(String, Vec<String>)>,
    pub(crate) may_hold: Vec<Literal>,
}

impl Objects {
    /// Returns what schemas say of a property that they name.
    pub(crate) fn literals(&self, name: &str) -> Vec<Literal> {
        let named = self.groups.iter().flat_map(|group| &group.named);
        named
            .chain(&self.having)
            .filter(|(other, _)| other == name)
            .map(|(_, literal)| *literal)
            .collect()
    }
}

impl Facts {
    /// Adds a fact. Returns false if nothing can fulfil it together with the others.
    pub(crate) fn add(&mut self, fact: Fact) -> bool {
        match fact {
            Fact::Among(values) => {
                let left = match self.among.take() {
                    Some(mut known) => {
                        known.retain(|value| values.iter().any(|other| is_equal(value, other)));
                        known
                    }
                    None => values,
                };
                let is_empty = left.is_empty();
                self.among = Some(left);
                return !is_empty;
            }
            Fact::NotAmong(values) => self.excluded.extend(values),
            Fact::Low(bound) => {
                if !self.numbers.raise(bound) {
                    self.unclear = Some("bounds with too many digits");
                }
                return !self.numbers.is_empty();
            }
            Fact::High(bound) => {
                if !self.numbers.lower(bound) {
                    self.unclear = Some("bounds with too many digits");
                }
                return !self.numbers.is_empty();
            }
            Fact::Multiple(step) => self.numbers.multiples.push(step),
            Fact::NotMultiple(step) => self.numbers.not_multiples.push(step),
            Fact::Integer => {
                self.numbers.is_integer = true;
                return !self.numbers.is_empty();
            }
            Fact::Fraction => {
                self.numbers.is_fraction = true;
                return !self.numbers.is_empty();
            }
            // Not the end: another fact may still show that nothing fulfils them all.
            Fact::Unclear(why) => self.unclear = Some(why),
            fact => return self.add_text(fact),
        }
        true
    }

    fn add_text(&mut self, fact: Fact) -> bool {
        let strings = &mut self.strings;
        match fact {
            Fact::MinLength(min) => strings.min = strings.min.max(min),
            Fact::MaxLength(max) => lower(&mut strings.max, max),
            Fact::Pattern(pattern) => push_new(&mut strings.patterns, pattern),
            Fact::NotPattern(pattern) => push_new(&mut strings.not_patterns, pattern),
            Fact::Format(format) => push_new(&mut strings.formats, format),
            Fact::NotFormat(format) => push_new(&mut strings.not_formats, format),
            fact => return self.add_items(fact),
        }
        // Only equal texts are compared here. What different patterns exclude, their automata show.
        let contradicts = |wanted: &[String], unwanted: &[String]| {
            wanted.iter().any(|pattern| unwanted.contains(pattern))
        };
        strings.max.is_none_or(|max| strings.min <= max)
            && !contradicts(&strings.patterns, &strings.not_patterns)
            && !contradicts(&strings.formats, &strings.not_formats)
    }

    fn add_items(&mut self, fact: Fact) -> bool {
        let arrays = &mut self.arrays;
        match fact {
            Fact::Items(group) => arrays.groups.push(group),
            Fact::Item(index, literal) => {
                // An item that is missing breaks no schema, so the item has to be there.
                arrays.min = arrays.min.max(index as u64 + 1);
                arrays.at.push((index, literal));
            }
            Fact::SomeItem(from, literal) => {
                arrays.min = arrays.min.max(from as u64 + 1);
                arrays.some.push((from, literal));
            }
            Fact::ManyItems(count, literal) => {
                arrays.min = arrays.min.max(count as u64);
                arrays.many.push((count, literal));
            }
            Fact::EachItem(literal) => arrays.each.push(literal),
            Fact::MostItems(but, literal) => arrays.most.push((but, literal)),
            Fact::MinItems(min) => arrays.min = arrays.min.max(min),
            Fact::MaxItems(max) => lower(&mut arrays.max, max),
            Fact::Unique => arrays.is_unique = true,
            Fact::Repeated => {
                arrays.is_repeated = true;
                arrays.min = arrays.min.max(2);
            }
            fact => return self.add_properties(fact),
        }
        arrays.max.is_none_or(|max| arrays.min <= max) && !(arrays.is_unique && arrays.is_repeated)
    }

    fn add_properties(&mut self, fact: Fact) -> bool {
        let objects = &mut self.objects;
        match fact {
            Fact::Properties(group) => objects.groups.push(group),
            Fact::Rest(rest) => objects.rests.push(rest),
            Fact::Sends(name) => {
                objects.sends.insert(name);
            }
            Fact::Required(name) => {
                objects.required.insert(name);
            }
            Fact::Absent(name) => {
                objects.absent.insert(name);
            }
            Fact::Property(name, literal) => {
                objects.required.insert(name.clone());
                objects.having.push((name, literal));
            }
            Fact::Outside(outside) => objects.outside.push(outside),
            Fact::Matching(pattern, literal) => objects.matching.push((pattern, literal)),
            Fact::EachName(literal) => objects.each_name.push(literal),
            Fact::SomeName(literal) => objects.some_name.push(literal),
            Fact::MinProperties(min) => objects.min = objects.min.max(min),
            Fact::MaxProperties(max) => lower(&mut objects.max, max),
            Fact::MayHold(literal) => push_new(&mut objects.may_hold, literal),
            Fact::Dependent(name, others) => objects.dependent.push((name, others)),
            _ => {}
        }
        objects.max.is_none_or(|max| objects.min <= max)
            && objects
                .required
                .intersection(&objects.absent)
                .next()
                .is_none()
    }
}

fn lower(most: &mut Option<u64>, bound: u64) {
    *most = Some(most.map_or(bound, |most| most.min(bound)));
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// The literals of a schema's parts.
pub(crate) fn literals(
    parts: impl IntoIterator<Item = (String, Class)>,
    literal: impl Fn(Class) -> Literal,
) -> Vec<(String, Literal)> {
    parts
        .into_iter()
        .map(|(name, class)| (name, literal(class)))
        .collect()
}
