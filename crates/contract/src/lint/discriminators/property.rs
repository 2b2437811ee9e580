//! What a schema says about the property of a discriminator: whether it is declared and required, and
//! the values that it accepts.

use std::collections::HashSet;

use serde_json::Value;

use crate::model::{Contract, Keywords, SchemaId, SchemaKind, Types};

/// The number of schemas that are looked at for one branch. If there are more, the branch counts as
/// right.
const MOST_LOOKS: usize = 500;

/// What a schema says about the property of a discriminator.
#[derive(Debug, Clone, Default)]
pub(super) struct Property {
    is_declared: bool,
    is_required: bool,
    /// Whether a part of the schema could not be looked at, or may say anything.
    is_unknown: bool,
    /// Whether it accepts no string, number or boolean.
    is_no_text: bool,
    /// Whether it accepts no string.
    pub(super) is_no_string: bool,
    /// The texts of the values that it accepts, if it lists them.
    pub(super) values: Option<HashSet<String>>,
}

/// What is missing of the property of a discriminator.
pub(super) enum Lack {
    /// The schema does not declare it.
    Undeclared,
    /// The schema does not require it.
    Optional,
    /// It accepts no string, number or boolean.
    NoText,
}

impl Property {
    /// Returns whether the property may have a value that is written like this.
    pub(super) fn may_be(&self, text: &str) -> bool {
        let is_scalar = || {
            let value = serde_json::from_str(text);
            matches!(value, Ok(Value::Number(_) | Value::Bool(_)))
        };
        let is_listed = |values: &HashSet<String>| values.contains(text);
        self.values.as_ref().is_none_or(is_listed) && (!self.is_no_string || is_scalar())
    }

    /// Returns what is missing of the property, or `None` if nothing is, or that is unknown.
    pub(super) fn lack(&self, may_be_absent: bool) -> Option<Lack> {
        match self {
            Self {
                is_unknown: true, ..
            } => None,
            Self {
                is_declared: false, ..
            } => Some(Lack::Undeclared),
            Self {
                is_no_text: true, ..
            } => Some(Lack::NoText),
            Self {
                is_required: false, ..
            } if !may_be_absent => Some(Lack::Optional),
            Self { .. } => None,
        }
    }

    /// Adds what a schema says about the property `name`, with its references and parts.
    pub(super) fn add(&mut self, contract: &Contract, id: SchemaId, name: &str, looks: &mut usize) {
        *looks += 1;
        if *looks > MOST_LOOKS {
            self.is_unknown = true;
            return;
        }
        match &contract.schema(id).kind {
            SchemaKind::Object(keywords) => self.add_keywords(contract, keywords, name, looks),
            SchemaKind::Bool(_) => self.is_unknown = true,
        }
    }

    /// Adds what the keywords of a schema say about the property, with its references and parts.
    pub(super) fn add_keywords(
        &mut self,
        contract: &Contract,
        keywords: &Keywords,
        name: &str,
        looks: &mut usize,
    ) {
        self.add_own(contract, keywords, name);
        for part in keywords.reference.iter().chain(&keywords.all_of) {
            self.add(contract, *part, name, looks);
        }
        for choices in [&keywords.one_of, &keywords.any_of] {
            // What all choices say holds for the whole.
            let parts: Vec<Self> = choices
                .iter()
                .map(|choice| {
                    let mut part = Self::default();
                    part.add(contract, *choice, name, looks);
                    part
                })
                .collect();
            if parts.is_empty() {
                continue;
            }
            self.is_declared |= parts.iter().all(|part| part.is_declared || part.is_unknown);
            self.is_required |= parts.iter().all(|part| part.is_required || part.is_unknown);
        }
        self.is_unknown |= keywords.if_schema.is_some();
    }

    /// Adds what the keywords of a schema say about the property, without its references and parts.
    pub(super) fn add_own(&mut self, contract: &Contract, keywords: &Keywords, name: &str) {
        self.is_required |= keywords.required.iter().any(|required| required == name);
        let Some(id) = keywords.properties.get(name) else {
            let others = [
                keywords.additional_properties,
                keywords.unevaluated_properties,
            ];
            let is_schema =
                |id: SchemaId| matches!(contract.schema(id).kind, SchemaKind::Object(_));
            self.is_unknown |= !keywords.pattern_properties.is_empty()
                || others.into_iter().flatten().any(is_schema);
            return;
        };
        self.is_declared = true;
        if let SchemaKind::Object(property) = &contract.schema(contract.resolve(*id)).kind {
            // By OpenAPI, tools may convert numbers and booleans to text.
            let scalars = [Types::STRING, Types::INTEGER, Types::NUMBER, Types::BOOLEAN];
            self.is_no_text |= property
                .types
                .is_some_and(|types| !scalars.iter().any(|scalar| types.contains(*scalar)));
            self.is_no_string |= property
                .types
                .is_some_and(|types| !types.contains(Types::STRING));
            let listed = property.enumeration.clone();
            let listed = listed.or_else(|| Some(vec![property.constant.clone()?]));
            // Where no listed value is of the type, that is the cause, and reported as such.
            let is_text = property.types == Some(Types::STRING);
            let fits = |value: &Value| !is_text || value.is_string();
            if let Some(listed) = listed.filter(|listed| listed.iter().any(fits)) {
                let texts: HashSet<String> = listed.iter().filter_map(scalar_text).collect();
                self.values = Some(match self.values.take() {
                    Some(values) => values.intersection(&texts).cloned().collect(),
                    None => texts,
                });
            }
        }
    }
}

/// Returns the text of a string, number or boolean.
fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
