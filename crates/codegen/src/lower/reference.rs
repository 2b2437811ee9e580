//! The schema that a reference leads to, also where an `allOf` wraps the reference.

use contract::Contract;
use contract::model::{Keywords, SchemaId, SchemaKind};

use super::lowering::Lowering;

impl Lowering<'_> {
    /// Returns the schema at the end of a schema's references.
    ///
    /// An `allOf` of one reference, with nothing but annotations beside it, counts as a reference:
    /// documents of 3.0 wrap references so, because 3.0 ignores what stands beside a `$ref`.
    pub(super) fn follow_references(&self, id: SchemaId) -> SchemaId {
        let mut id = self.contract.resolve(id);
        // Such wrappers can lead in a cycle, which `resolve` cannot see.
        let mut seen = Vec::new();
        // A component that wraps a reference keeps its name, and becomes an item of its own.
        while self.contract.schema(id).component.is_none()
            && let Some(target) = wrapped_reference(self.contract, id)
            && !seen.contains(&id)
        {
            seen.push(id);
            id = self.contract.resolve(target);
        }
        id
    }
}

/// Returns the target of a schema that consists of an `allOf` of one reference, and of annotations.
fn wrapped_reference(contract: &Contract, id: SchemaId) -> Option<SchemaId> {
    let SchemaKind::Object(keywords) = &contract.schema(id).kind else {
        return None;
    };
    let [only] = keywords.all_of.as_slice() else {
        return None;
    };
    let only_annotates = has_only_annotations(keywords)
        && !has_subschemas_beside_all_of(keywords)
        && !changes_the_type(keywords);
    (only_annotates && is_reference(contract, *only)).then_some(*only)
}

/// The keywords that may stand beside a wrapped reference, since they accept every value.
const ANNOTATIONS: [&str; 12] = [
    "$comment",
    "default",
    "deprecated",
    "description",
    "example",
    "examples",
    "externalDocs",
    // In 3.0 it only has an effect beside `type` in the same schema.
    "nullable",
    "readOnly",
    "title",
    "writeOnly",
    "xml",
];

/// Returns whether every keyword is an annotation, leaving aside those that hold schemas.
fn has_only_annotations(keywords: &Keywords) -> bool {
    // `raw` has every keyword that the author wrote except those that hold schemas.
    let mut names = keywords.raw.iter().map(|(name, _)| name);
    names.all(|name| ANNOTATIONS.contains(&&**name) || name.starts_with("x-"))
}

/// Returns whether a keyword other than `allOf` holds a schema that constrains the value.
///
/// `$defs` constrains nothing. Without `if`, `then` and `else` constrain nothing as well.
fn has_subschemas_beside_all_of(keywords: &Keywords) -> bool {
    let single = [
        keywords.reference,
        keywords.not,
        keywords.if_schema,
        keywords.items,
        keywords.contains,
        keywords.unevaluated_items,
        keywords.additional_properties,
        keywords.property_names,
        keywords.unevaluated_properties,
    ];
    let lists = [&keywords.any_of, &keywords.one_of, &keywords.prefix_items];
    let maps = [
        &keywords.properties,
        &keywords.pattern_properties,
        &keywords.dependent_schemas,
    ];
    single.iter().any(Option::is_some)
        || lists.iter().any(|schemas| !schemas.is_empty())
        || maps.iter().any(|schemas| !schemas.is_empty())
}

/// Returns whether an extension asks for a type other than the reference's: one that is secret or
/// extensible.
fn changes_the_type(keywords: &Keywords) -> bool {
    keywords.secret || keywords.extensible
}

/// Returns whether a schema is a `$ref` without a constraint beside it.
fn is_reference(contract: &Contract, id: SchemaId) -> bool {
    matches!(&contract.schema(id).kind, SchemaKind::Object(keywords) if keywords.only_reference)
}
