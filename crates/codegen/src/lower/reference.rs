//! The schema that a reference means.

use contract::Contract;
use contract::model::{SchemaId, SchemaKind};

use super::Lowering;

impl Lowering<'_> {
    /// The schema that a reference means, be it wrapped in an `allOf` that only annotates it: so does 3.0, where
    /// nothing may stand beside a reference.
    pub(super) fn follow_references(&self, id: SchemaId) -> SchemaId {
        let mut id = self.contract.resolve(id);
        let mut seen = Vec::new();
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

/// The reference that is the only member of an `allOf` beside which nothing constrains a value.
fn wrapped_reference(contract: &Contract, id: SchemaId) -> Option<SchemaId> {
    const ANNOTATIONS: [&str; 12] = [
        "title",
        "description",
        "default",
        "example",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "nullable",
        "externalDocs",
        "xml",
        "$comment",
    ];
    let SchemaKind::Object(k) = &contract.schema(id).kind else {
        return None;
    };
    let [only] = k.all_of.as_slice() else {
        return None;
    };
    let is_annotation =
        |name: &String| ANNOTATIONS.contains(&name.as_str()) || name.starts_with("x-");
    let is_bare = k
        .raw
        .as_object()
        .is_none_or(|raw| raw.keys().all(is_annotation))
        && !k.secret
        && !k.extensible
        && k.reference.is_none()
        && k.any_of.is_empty()
        && k.one_of.is_empty()
        && k.not.is_none()
        && k.if_schema.is_none()
        && k.items.is_none()
        && k.prefix_items.is_empty()
        && k.contains.is_none()
        && k.unevaluated_items.is_none()
        && k.properties.is_empty()
        && k.additional_properties.is_none()
        && k.pattern_properties.is_empty()
        && k.property_names.is_none()
        && k.dependent_schemas.is_empty()
        && k.unevaluated_properties.is_none();
    let is_reference =
        matches!(&contract.schema(*only).kind, SchemaKind::Object(member) if member.only_reference);
    (is_bare && is_reference).then_some(*only)
}
