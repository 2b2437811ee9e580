//! Two contracts side by side, with the schemas of both sorted into classes of equal meaning.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use contract::model::{Contract, Keywords, SchemaId, SchemaKind};
use serde_json::{Value, json};

use crate::containment::Decimal;

/// One of the two contracts that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The contract before the change.
    Base,
    /// The contract after the change.
    Revision,
}

impl Side {
    /// Returns the other contract.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Base => Self::Revision,
            Self::Revision => Self::Base,
        }
    }
}

/// The class of a schema: two schemas of the same class have the same keywords, apart from titles,
/// descriptions and examples, and their parts are of the same classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Class(u32);

/// Two contracts, and the class of each schema of both.
#[derive(Debug)]
pub(crate) struct Pair<'c> {
    base: &'c Contract,
    revision: &'c Contract,
    base_classes: Vec<Class>,
    revision_classes: Vec<Class>,
    /// A schema of each class, by the number of the class.
    members: Vec<(Side, SchemaId)>,
}

impl<'c> Pair<'c> {
    pub(crate) fn new(base: &'c Contract, revision: &'c Contract) -> Self {
        let mut nodes: Vec<Node> = Vec::new();
        let mut labels = Interner::default();
        for contract in [base, revision] {
            let offset = nodes.len();
            for id in (0..).map(SchemaId).take(contract.schemas.len()) {
                nodes.push(Node::of(contract, id, offset, &mut labels));
            }
        }
        let classes = refine(&nodes);
        let (base_classes, revision_classes) = classes.split_at(base.schemas.len());
        let mut members = Vec::new();
        for (side, classes) in [
            (Side::Base, base_classes),
            (Side::Revision, revision_classes),
        ] {
            for (id, class) in (0..).map(SchemaId).zip(classes) {
                let index = class.0 as usize;
                let contract = if side == Side::Base { base } else { revision };
                // A reference has the class of its target; the member must be the target, so that
                // its keywords are at hand.
                if index >= members.len() {
                    members.resize(index + 1, None);
                }
                if members[index].is_none() {
                    members[index] = Some((side, end(contract, id)));
                }
            }
        }
        Self {
            base,
            revision,
            base_classes: base_classes.to_vec(),
            revision_classes: revision_classes.to_vec(),
            members: members.into_iter().flatten().collect(),
        }
    }

    pub(crate) fn contract(&self, side: Side) -> &'c Contract {
        match side {
            Side::Base => self.base,
            Side::Revision => self.revision,
        }
    }

    pub(crate) fn class(&self, side: Side, id: SchemaId) -> Class {
        match side {
            Side::Base => self.base_classes[id.0 as usize],
            Side::Revision => self.revision_classes[id.0 as usize],
        }
    }

    /// Returns a schema of a class, and the contract that it is from.
    pub(crate) fn member(&self, class: Class) -> (Side, &'c SchemaKind) {
        let (side, id) = self.members[class.0 as usize];
        (side, &self.contract(side).schema(id).kind)
    }

    /// Returns the schema at the end of a chain of references without other keywords that count.
    pub(crate) fn end(&self, side: Side, id: SchemaId) -> SchemaId {
        end(self.contract(side), id)
    }
}

/// Follows references that have nothing beside them but words.
fn end(contract: &Contract, mut id: SchemaId) -> SchemaId {
    while let SchemaKind::Object(keywords) = &contract.schema(id).kind {
        match keywords.reference {
            Some(target) if is_plain_reference(keywords) => id = target,
            _ => break,
        }
    }
    id
}

fn is_plain_reference(keywords: &Keywords) -> bool {
    keywords.only_reference
        && keywords.default.is_none()
        && !keywords.read_only
        && !keywords.write_only
        && sunset_of(keywords).is_none()
}

/// Returns when what a schema describes ends, as the document writes it, if it is deprecated.
fn sunset_of(keywords: &Keywords) -> Option<&Value> {
    let sunset = keywords.extensions.get("x-sunset");
    sunset.filter(|_| keywords.deprecated)
}

/// A schema as it is compared: what it says by itself, and its parts.
struct Node {
    own: String,
    /// The label of each part and the index of its node, in the order of the keywords.
    parts: Vec<(u32, usize)>,
}

#[derive(Default)]
struct Interner(HashMap<String, u32>);

impl Interner {
    fn number(&mut self, label: String) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(label).or_insert(next)
    }
}

impl Node {
    fn of(contract: &Contract, id: SchemaId, offset: usize, labels: &mut Interner) -> Self {
        let end = end(contract, id);
        let keywords = match &contract.schema(end).kind {
            SchemaKind::Bool(value) => {
                return Self {
                    own: value.to_string(),
                    parts: Vec::new(),
                };
            }
            SchemaKind::Object(keywords) => keywords,
        };
        let mut parts = Vec::new();
        let mut part = |label: String, id: SchemaId| {
            // Both contracts share one list, in which the schemas of the second follow the first's.
            parts.push((labels.number(label), id.0 as usize + offset));
        };
        for (label, id) in [
            ("$ref", keywords.reference),
            ("items", keywords.items),
            ("contains", keywords.contains),
            ("unevaluatedItems", keywords.unevaluated_items),
            ("additionalProperties", keywords.additional_properties),
            ("propertyNames", keywords.property_names),
            ("unevaluatedProperties", keywords.unevaluated_properties),
            ("not", keywords.not),
            ("if", keywords.if_schema),
            ("then", keywords.then_schema),
            ("else", keywords.else_schema),
        ] {
            if let Some(id) = id {
                part(label.to_owned(), id);
            }
        }
        for (label, ids) in [
            ("allOf", &keywords.all_of),
            ("anyOf", &keywords.any_of),
            ("oneOf", &keywords.one_of),
        ] {
            // Without an index: the order of branches has no meaning.
            for id in ids {
                part(label.to_owned(), *id);
            }
        }
        for (index, id) in keywords.prefix_items.iter().enumerate() {
            part(format!("prefixItems/{index}"), *id);
        }
        for (label, map) in [
            ("properties", &keywords.properties),
            ("patternProperties", &keywords.pattern_properties),
            ("dependentSchemas", &keywords.dependent_schemas),
        ] {
            for (name, id) in map {
                part(format!("{label}/{name}"), *id);
            }
        }
        // It constrains nothing, but clients choose a type by it.
        if let Some(discriminator) = &keywords.discriminator {
            let property = &discriminator.property;
            for (value, id) in &discriminator.mapping {
                part(format!("discriminator/{property}/{value}"), *id);
            }
        }
        Self {
            own: own(keywords),
            parts,
        }
    }
}

/// Returns what a schema says without its parts, as a string that is equal for equal meanings.
fn own(keywords: &Keywords) -> String {
    let number = |number: &Option<serde_json::Number>| {
        number.as_ref().map(|number| match Decimal::parse(number) {
            Some(decimal) => decimal.to_string(),
            None => number.to_string(),
        })
    };
    // Sorted, because the order of these lists has no meaning and must not make another class.
    let mut required = keywords.required.clone();
    required.sort_unstable();
    let listed = keywords.enumeration.as_ref().map(|values| {
        let mut values: Vec<String> = values.iter().map(Value::to_string).collect();
        values.sort_unstable();
        values.dedup();
        values
    });
    let mut dependent: Vec<(&String, &Vec<String>)> = keywords.dependent_required.iter().collect();
    dependent.sort_unstable();
    json!([
        keywords.types.map(|types| types.0),
        listed,
        keywords.constant.as_ref().map(Value::to_string),
        [
            number(&keywords.minimum),
            number(&keywords.maximum),
            number(&keywords.exclusive_minimum),
            number(&keywords.exclusive_maximum),
            number(&keywords.multiple_of),
        ],
        [
            keywords.min_length,
            keywords.max_length,
            keywords.min_contains,
            keywords.max_contains
        ],
        [
            keywords.min_items,
            keywords.max_items,
            keywords.min_properties,
            keywords.max_properties
        ],
        [
            &keywords.pattern,
            &keywords.format,
            &keywords.content_encoding,
            &keywords.content_media_type
        ],
        keywords.unique_items,
        required,
        dependent,
        keywords.default,
        [keywords.read_only, keywords.write_only, keywords.extensible],
        sunset_of(keywords),
    ])
    .to_string()
}

/// Returns the coarsest classes in which equal schemas have equal parts. Schemas that contain
/// themselves need no special case.
///
/// The classes of equal own keywords are split until nothing changes. The largest piece of a class
/// keeps its number, so that a schema gets a new one only as often as its class is halved, and only
/// those that have it as a part are looked at again.
fn refine(nodes: &[Node]) -> Vec<Class> {
    let mut partition = Partition::of(nodes);
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        for (_, part) in &node.parts {
            users[*part].push(index);
        }
    }
    let mut pending: BTreeSet<usize> = (0..nodes.len()).collect();
    while !pending.is_empty() {
        let moved = partition.split(nodes, &pending);
        pending = moved
            .iter()
            .flat_map(|index| &users[*index])
            .copied()
            .collect();
    }
    // Numbers in the order of the documents, so that they do not depend on the order of splitting.
    let mut known: HashMap<u32, u32> = HashMap::new();
    let mut number = |class: &u32| {
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
        Class(*known.entry(*class).or_insert(next))
    };
    partition.classes.iter().map(&mut number).collect()
}

/// The schemas, sorted into classes.
struct Partition {
    /// The class of each schema.
    classes: Vec<u32>,
    /// The schemas of each class.
    members: Vec<Vec<usize>>,
    /// The place of each schema among the members of its class.
    places: Vec<usize>,
}

impl Partition {
    fn of(nodes: &[Node]) -> Self {
        let mut known: HashMap<&str, u32> = HashMap::new();
        let mut partition = Self {
            classes: Vec::with_capacity(nodes.len()),
            members: Vec::new(),
            places: Vec::with_capacity(nodes.len()),
        };
        for (index, node) in nodes.iter().enumerate() {
            let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
            let class = *known.entry(&node.own).or_insert(next);
            if class == next {
                partition.members.push(Vec::new());
            }
            let members = &mut partition.members[class as usize];
            partition.classes.push(class);
            partition.places.push(members.len());
            members.push(index);
        }
        partition
    }

    /// Splits the classes of the schemas in `pending`, of which a part has a new class (at first, all
    /// schemas): those whose parts have equal classes stay together. The largest piece keeps the class.
    /// Returns the schemas that have got a new one, which need not be in `pending`.
    fn split(&mut self, nodes: &[Node], pending: &BTreeSet<usize>) -> Vec<usize> {
        let mut pieces: BTreeMap<(u32, Vec<(u32, u32)>), Vec<usize>> = BTreeMap::new();
        for index in pending {
            let parts = nodes[*index].parts.iter();
            let mut parts: Vec<(u32, u32)> = parts
                .map(|(label, part)| (*label, self.classes[*part]))
                .collect();
            parts.sort_unstable();
            let piece = pieces.entry((self.classes[*index], parts)).or_default();
            piece.push(*index);
        }
        let mut by_class: BTreeMap<u32, Vec<Vec<usize>>> = BTreeMap::new();
        for ((class, _), piece) in pieces {
            by_class.entry(class).or_default().push(piece);
        }
        let mut moved = Vec::new();
        for (class, mut pieces) in by_class {
            let looked_at: usize = pieces.iter().map(Vec::len).sum();
            let others = self.members[class as usize].len() - looked_at;
            pieces.sort_by_key(Vec::len);
            // The others have parts of the same classes as before, which none of the pieces has.
            if pieces.last().is_some_and(|largest| largest.len() > others) {
                let largest: HashSet<usize> = pieces.pop().into_iter().flatten().collect();
                let pieces_of_class: HashSet<usize> = pieces.iter().flatten().copied().collect();
                let members = self.members[class as usize].iter().copied();
                let rest: Vec<usize> = members
                    .filter(|index| !largest.contains(index) && !pieces_of_class.contains(index))
                    .collect();
                pieces.push(rest);
            }
            for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
                self.give_new_class(&piece);
                moved.extend(piece);
            }
        }
        moved
    }

    fn give_new_class(&mut self, piece: &[usize]) {
        let new = u32::try_from(self.members.len()).unwrap_or(u32::MAX);
        for (place, index) in piece.iter().enumerate() {
            let members = &mut self.members[self.classes[*index] as usize];
            // The place is known, so that leaving a class takes no search through it.
            let left = self.places[*index];
            members.swap_remove(left);
            if let Some(other) = members.get(left) {
                self.places[*other] = left;
            }
            self.classes[*index] = new;
            self.places[*index] = place;
        }
        self.members.push(piece.to_vec());
    }
}
