//! Normalises a document and its contract: everything that changes what was read.
//!
//! Each change is either what the standard says about the words of the author, or drops what is reported as wrong, so
//! that everything else can be judged still. Keywords of 3.0 have become those of 2020-12 where the contract is built.

mod one_way;
mod sections;

pub(crate) use one_way::{OneWay, Way};
pub(crate) use sections::correct_sections;

use crate::build::{Origins, Role};
use crate::circles;
use crate::model::{Contract, SchemaId, SchemaKind};
use crate::syntax::{Syntax, why_unusable};
use crate::validate::{Validation, validate};

/// What was changed in a contract, for the lints that report it.
pub(crate) struct Changes<'a> {
    /// Circles of schemas that judge the same value. Each of their schemas accepts anything now.
    pub(crate) circles: Vec<Vec<SchemaId>>,
    /// Required properties that only one side sends. Under 3.0 they are not required any more.
    pub(crate) one_way: Vec<OneWay>,
    /// Values that their schemas refuse. Those that are defaults have been dropped.
    pub(crate) validation: Validation<'a>,
}

/// Normalises a contract.
pub(crate) fn normalise<'a>(
    contract: &mut Contract,
    origins: &Origins<'a>,
    syntax: &Syntax<'_>,
) -> Changes<'a> {
    // First, since following references would not end otherwise.
    let circles = break_circles(contract);
    let one_way = one_way::relax(contract);
    if syntax.has_unusable_patterns {
        drop_unusable_patterns(contract);
    }
    let validation = validate(contract, &origins.values);
    drop_refused_defaults(contract, &validation);
    Changes {
        circles,
        one_way,
        validation,
    }
}

/// Has schemas that contain themselves without going into the value accept anything.
fn break_circles(contract: &mut Contract) -> Vec<Vec<SchemaId>> {
    let steps: Vec<Vec<usize>> = contract
        .schemas
        .iter()
        .map(|schema| {
            schema
                .kind
                .in_place()
                .into_iter()
                .map(SchemaId::index)
                .collect()
        })
        .collect();
    let mut found: Vec<Vec<SchemaId>> = Vec::new();
    circles::find(&steps, |circle| {
        let ids = circle.iter().map(|index| SchemaId::at(*index));
        found.push(ids.collect());
    });
    for id in found.iter().flatten() {
        contract.schemas[id.index()].kind = SchemaKind::Bool(true);
    }
    found
}

/// Drops the patterns that are reported as wrong, so that a validator can be made of the schemas.
fn drop_unusable_patterns(contract: &mut Contract) {
    for schema in &mut contract.schemas {
        if let SchemaKind::Object(keywords) = &mut schema.kind {
            keywords.pattern = keywords
                .pattern
                .take()
                .filter(|pattern| why_unusable(pattern).is_none());
            keywords
                .pattern_properties
                .retain(|pattern, _| why_unusable(pattern).is_none());
        }
    }
}

/// Drops the defaults that their schemas refuse, so that nobody applies them.
fn drop_refused_defaults(contract: &mut Contract, validation: &Validation<'_>) {
    let Validation::Judged(refused) = validation else {
        return;
    };
    for (site, _) in refused {
        if site.role == Role::Default
            && let SchemaKind::Object(keywords) = &mut contract.schemas[site.schema.index()].kind
        {
            keywords.default = None;
        }
    }
}
