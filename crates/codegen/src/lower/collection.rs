//! The form of lists and maps.

use super::flatten::{AdditionalProperties, FlatSchema};
use super::form::{Form, Subject};
use super::lowering::Lowering;
use crate::ir::{Array, Map, TypeKind, TypeRef};

impl Lowering<'_> {
    /// Chooses the form of a list: `Vec` if nothing but the items is constrained, else an item.
    pub(super) fn array(&mut self, flat: &FlatSchema, subject: &Subject<'_>) -> Form {
        let hint = format!("{}Item", subject.name);
        let (items, exact) = match flat.items.as_slice() {
            // A tuple would hold the items by position, but not those beyond it, which are accepted
            // too.
            _ if flat.positional => (TypeRef::Any, true),
            [] => (TypeRef::Any, true),
            ids => self.type_of_all(ids, &hint),
        };
        let constrained = flat.min_items.is_some() || flat.max_items.is_some() || flat.unique_items;
        let check = (flat.residual || !exact).then(|| subject.check.clone());
        if !constrained && check.is_none() {
            return Form::Type(TypeRef::Vec(Box::new(items)));
        }
        Form::Item(TypeKind::Array(Array {
            items,
            min_items: flat.min_items,
            max_items: flat.max_items,
            unique_items: flat.unique_items,
            check,
        }))
    }

    /// Chooses the form of an object without declared properties: a map of the standard library if
    /// nothing but the values is constrained, else an item. `undeclared` is whether a property is
    /// required although it is not declared.
    pub(super) fn map(
        &mut self,
        flat: &FlatSchema,
        subject: &Subject<'_>,
        undeclared: bool,
    ) -> Form {
        let values = match &flat.additional {
            AdditionalProperties::Follow(id) => {
                self.type_of(*id, &format!("{}Value", subject.name))
            }
            AdditionalProperties::Unspecified
            | AdditionalProperties::Refused
            | AdditionalProperties::Any => TypeRef::Any,
        };
        // A map has no field for a name in `required` or `dependentRequired`, so the schema checks
        // them.
        let residual = flat.residual || undeclared || !flat.dependent_required.is_empty();
        if !residual && flat.min_properties.is_none() && flat.max_properties.is_none() {
            return Form::Type(TypeRef::Map(Box::new(values)));
        }
        Form::Item(TypeKind::Map(Map {
            values,
            min_properties: flat.min_properties,
            max_properties: flat.max_properties,
            check: residual.then(|| subject.check.clone()),
        }))
    }
}
