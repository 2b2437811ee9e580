//! Discriminators: whether each branch has their property, and whether their values lead to
//! branches.

mod property;

use std::cell::LazyCell;
use std::collections::HashSet;

use serde_json::Value;

use super::context::Context;
use crate::diagnostic::Diagnostic;
use crate::model::{Contract, Dialect, Discriminator, Keywords, SchemaId, SchemaKind, Types};
use crate::node::Node;
use crate::source::Span;
use property::{Lack, Property};

/// Reports branches that lack the property of their discriminator, do not require it, or allow no
/// value of it that chooses them, and mappings to schemas that are no branches.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let contract = context.contract;
    for (schema, node) in contract.schemas.iter().zip(&context.origins.nodes) {
        if let SchemaKind::Object(keywords) = &schema.kind
            && let Some(discriminator) = &keywords.discriminator
            && let Some(written) = node.get("discriminator")
        {
            let union = Union {
                context,
                keywords,
                discriminator,
                written,
            };
            union.check(diagnostics);
        }
    }
}

/// A schema with a discriminator.
struct Union<'u, 'l, 'a> {
    context: &'u Context<'l, 'a>,
    keywords: &'u Keywords,
    discriminator: &'u Discriminator,
    /// The node of the discriminator.
    written: &'a Node,
}

impl Union<'_, '_, '_> {
    fn check(&self, diagnostics: &mut Vec<Diagnostic>) {
        let contract = self.context.contract;
        let chosen = [&self.keywords.one_of, &self.keywords.any_of];
        let branches: Vec<SchemaId> = chosen
            .into_iter()
            .flatten()
            .copied()
            // A branch for null makes the union nullable, and one for nothing adds nothing.
            .filter(|branch| !is_null_or_nothing(contract, *branch))
            .collect();
        if branches.is_empty() {
            // The discriminator is on a base schema, which others extend with `allOf`.
            let mut own = Property::default();
            own.add_keywords(
                contract,
                self.keywords,
                &self.discriminator.property,
                &mut 0,
            );
            diagnostics.extend(self.lack(&own, self.name_span(), "the schema"));
            self.heirs(diagnostics);
            return;
        }
        self.properties(&branches, diagnostics);
        self.mapping(&branches, diagnostics);
    }

    /// Returns the span of the name of the property.
    fn name_span(&self) -> Span {
        let name = self.written.get("propertyName");
        name.map_or(self.written.span, |name| name.span)
    }

    /// Returns whether a value without the property is of a branch too, also if that branch does not
    /// exist.
    fn may_be_absent(&self) -> bool {
        self.written.get("defaultMapping").is_some()
    }

    /// Returns whether a branch is chosen by the absent property.
    fn is_default(&self, branch: SchemaId) -> bool {
        let contract = self.context.contract;
        let default = self.discriminator.default;
        default.map(|id| contract.resolve(id)) == Some(contract.resolve(branch))
    }

    fn properties(&self, branches: &[SchemaId], diagnostics: &mut Vec<Diagnostic>) {
        let contract = self.context.contract;
        let name = &self.discriminator.property;
        // What the union says beside its branches holds for each of them.
        let mut beside = Property::default();
        beside.add_own(contract, self.keywords, name);
        for part in &self.keywords.all_of {
            beside.add(contract, *part, name, &mut 0);
        }
        let properties: Vec<Property> = branches
            .iter()
            .map(|branch| {
                let mut property = beside.clone();
                property.add(contract, *branch, name, &mut 0);
                property
            })
            .collect();
        let lacks: Vec<bool> = branches
            .iter()
            .zip(&properties)
            .map(
                |(branch, property)| match property.lack(self.may_be_absent()) {
                    // The absent property chooses this branch.
                    Some(Lack::Undeclared) => !self.is_default(*branch),
                    lack => lack.is_some(),
                },
            )
            .collect();
        // If all branches lack it, the cause is the name.
        if lacks.iter().all(|lacks| *lacks) && branches.len() > 1 {
            diagnostics.extend(self.lack(&properties[0], self.name_span(), "no branch"));
            return;
        }
        for ((branch, property), lacks) in branches.iter().zip(&properties).zip(lacks) {
            let span = self.context.origins.nodes[branch.index()].span;
            if lacks {
                diagnostics.extend(self.lack(property, span, "this branch"));
            } else {
                self.values(*branch, property, span, diagnostics);
            }
        }
    }

    fn lack(&self, property: &Property, span: Span, who: &str) -> Option<Diagnostic> {
        let name = &self.discriminator.property;
        let lack = property.lack(self.may_be_absent())?;
        let is_none = who == "no branch";
        let (message, help) = match (lack, is_none) {
            (Lack::Undeclared, true) => (
                format!("no branch declares the property `{name}` of the discriminator"),
                "correct the name, or declare the property in each branch",
            ),
            (Lack::Undeclared, false) => (
                format!("{who} does not declare the property `{name}` of its discriminator"),
                if self.may_be_absent() {
                    "declare it"
                } else {
                    "declare it, and add it to `required`"
                },
            ),
            (Lack::Optional, true) => (
                format!("no branch requires the property `{name}` of the discriminator"),
                "add it to `required` in each branch",
            ),
            (Lack::Optional, false) => (
                format!("{who} does not require the property `{name}` of its discriminator"),
                if self.context.contract.dialect >= Dialect::V32 {
                    "add it to `required`, or name the branch of values without it in `defaultMapping`"
                } else {
                    "add it to `required`"
                },
            ),
            (Lack::NoText, _) => (
                format!("the property `{name}` of the discriminator must be a string"),
                "write `type: string`",
            ),
        };
        Some(Diagnostic::warning("discriminator-property", span, message).help(help))
    }

    /// Reports a branch whose property allows no value that chooses it.
    fn values(
        &self,
        branch: SchemaId,
        property: &Property,
        span: Span,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let contract = self.context.contract;
        let target = contract.resolve(branch);
        let mut chooses = self
            .discriminator
            .mapping
            .iter()
            .filter(|(_, id)| contract.resolve(*id) == target || *id == branch)
            .map(|(value, _)| value.as_str())
            .peekable();
        // A mapping to a schema that does not exist is reported, and may be meant for this branch.
        if self.may_be_absent() || self.has_unknown_mapping() {
            return;
        }
        let name = &self.discriminator.property;
        if chooses.peek().is_none() {
            // A reference has the name of its component as a value, unless the mapping gives that to
            // another schema.
            if target == branch {
                diagnostics.push(
                    Diagnostic::warning(
                        "discriminator-value",
                        span,
                        format!("no value of `{name}` chooses this branch, because it has no name"),
                    )
                    .help("make the branch a component and refer to it: a discriminator chooses between references"),
                );
            }
            return;
        }
        if property.values.is_none() && !property.is_no_string {
            return;
        }
        if !chooses.any(|value| property.may_be(value)) {
            diagnostics.push(
                Diagnostic::warning(
                    "discriminator-value",
                    span,
                    format!("no value of `{name}` that this branch allows chooses it"),
                )
                .help(
                    "add the value to `mapping`; without one, the value is the name of the schema",
                ),
            );
        }
    }

    /// Returns whether a value of the mapping leads to no schema.
    fn has_unknown_mapping(&self) -> bool {
        let written = self.written.get("mapping").and_then(Node::as_object);
        let known = &self.discriminator.mapping;
        let mut written = written.unwrap_or_default().iter();
        written.any(|entry| known.iter().all(|(value, _)| *value != entry.key))
    }

    /// Reports values of a base schema that lead to schemas that do not extend it.
    fn heirs(&self, diagnostics: &mut Vec<Diagnostic>) {
        let contract = self.context.contract;
        let is_base = |id: &SchemaId| match &contract.schema(*id).kind {
            SchemaKind::Object(keywords) => std::ptr::eq(&raw const **keywords, self.keywords),
            SchemaKind::Bool(_) => false,
        };
        for (value, target) in &self.discriminator.mapping {
            let entry = self.written.get("mapping").and_then(|map| map.entry(value));
            let Some(entry) = entry else { continue };
            if within(contract, &[*target]).iter().any(is_base) {
                continue;
            }
            diagnostics.push(
                Diagnostic::warning(
                    "mapping-no-branch",
                    entry.value.span,
                    format!("`{value}` leads to a schema that does not extend the one with the discriminator"),
                )
                .help("add the schema with the discriminator to its `allOf`, or correct the mapping"),
            );
        }
    }

    /// Reports values that lead to schemas that are no branches.
    fn mapping(&self, branches: &[SchemaId], diagnostics: &mut Vec<Diagnostic>) {
        let contract = self.context.contract;
        let known: HashSet<SchemaId> = branches
            .iter()
            .flat_map(|branch| [*branch, contract.resolve(*branch)])
            .collect();
        // A branch can itself be a union, of which the value chooses a part.
        let within = LazyCell::new(|| within(contract, branches));
        for (value, target) in &self.discriminator.mapping {
            let entry = self.written.get("mapping").and_then(|map| map.entry(value));
            let Some(entry) = entry else { continue };
            if known.contains(target) || known.contains(&contract.resolve(*target)) {
                continue;
            }
            if within.contains(&contract.resolve(*target)) {
                continue;
            }
            diagnostics.push(
                Diagnostic::warning(
                    "mapping-no-branch",
                    entry.value.span,
                    format!("`{value}` leads to a schema that is no branch"),
                )
                .help("add the schema to the branches, or correct the mapping"),
            );
        }
    }
}

/// Returns the branches and the schemas that they are composed of, at any depth, with references
/// followed.
fn within(contract: &Contract, branches: &[SchemaId]) -> HashSet<SchemaId> {
    let mut pending = branches.to_vec();
    let mut seen = HashSet::new();
    while let Some(id) = pending.pop() {
        let id = contract.resolve(id);
        if seen.insert(id)
            && let SchemaKind::Object(keywords) = &contract.schema(id).kind
        {
            pending.extend(keywords.one_of.iter().chain(&keywords.any_of));
            pending.extend(keywords.all_of.iter().chain(&keywords.reference));
            if let Some(inner) = &keywords.discriminator {
                pending.extend(inner.mapping.iter().map(|(_, id)| *id));
            }
        }
    }
    seen
}

/// Returns whether a schema accepts at most null.
fn is_null_or_nothing(contract: &Contract, id: SchemaId) -> bool {
    match &contract.schema(contract.resolve(id)).kind {
        SchemaKind::Object(keywords) => {
            keywords.types == Some(Types::NULL)
                || keywords.constant == Some(Value::Null)
                || keywords.enumeration.as_deref() == Some(&[Value::Null])
        }
        SchemaKind::Bool(accepts) => !accepts,
    }
}
