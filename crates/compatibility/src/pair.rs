//! Two contracts side by side, with the schemas of both sorted into classes of equal meaning.

use std::collections::HashMap;

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
}

/// A schema as it is compared: what it says by itself, and its parts.
struct Node {
    own: String,
    /// The label of each part and the index of its node. Sorted.
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
            &keywords.content_encoding
        ],
        keywords.unique_items,
        required,
        dependent,
        keywords.default,
        [keywords.read_only, keywords.write_only, keywords.extensible],
    ])
    .to_string()
}

/// Returns the coarsest classes in which equal schemas have equal parts, by refining the classes of
/// equal own keywords until nothing changes. Schemas that contain themselves need no special case.
fn refine(nodes: &[Node]) -> Vec<Class> {
    let mut known: HashMap<&str, u32> = HashMap::new();
    let mut classes: Vec<u32> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
        classes.push(*known.entry(&node.own).or_insert(next));
    }
    let mut count = known.len();
    loop {
        let mut known: HashMap<(u32, Vec<(u32, u32)>), u32> = HashMap::new();
        let mut finer = Vec::with_capacity(nodes.len());
        for (node, class) in nodes.iter().zip(&classes) {
            let mut parts: Vec<(u32, u32)> = node
                .parts
                .iter()
                .map(|(label, part)| (*label, classes[*part]))
                .collect();
            parts.sort_unstable();
            let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
            finer.push(*known.entry((*class, parts)).or_insert(next));
        }
        classes = finer;
        if known.len() == count {
            return classes.into_iter().map(Class).collect();
        }
        count = known.len();
    }
}
