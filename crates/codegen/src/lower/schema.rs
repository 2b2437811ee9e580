//! The type of a schema, which is an existing type or a new item with a name.

use contract::model::{SchemaId, SchemaKind};

use super::flatten::FlatSchema;
use super::form::{Form, NullableForm, Subject};
use super::lowering::Lowering;
use super::scalar::scalar;
use crate::ir::{Array, Map, Object, Primitive, Scalar, TypeId, TypeKind, TypeRef, Union};
use crate::names;

impl Lowering<'_> {
    /// Returns the type of a schema. An item that is made for an inline schema is called `hint`.
    pub(super) fn type_of(&mut self, id: SchemaId, hint: &str) -> TypeRef {
        let id = self.follow_references(id);
        if let Some(known) = self.lowered.get(&id) {
            return known.clone();
        }
        // An inline schema can hold itself, through a reference to its own pointer. So it gets a
        // slot before its form is known, to which such a reference leads, and gives it back if it
        // needs no item.
        let slot = self.reserve_slot();
        let previous = self.lowered.insert(id, TypeRef::Named(slot));
        debug_assert!(previous.is_none(), "a schema is lowered once");
        let name = names::unique(&mut self.taken, hint.to_owned());
        let NullableForm { form, nullable } = self.choose_form(&Subject {
            ids: &[id],
            name: &name,
            check: self.check_pointer(id),
        });
        let ty = match form {
            Form::Item(kind) => {
                self.finish(slot, name, id, None, kind);
                with_null(TypeRef::Named(slot), nullable)
            }
            // A list of itself has to be an item: `Vec<T>` alone cannot name the `T` that it is.
            Form::Type(ty) if ty.mentions(slot) => {
                let kind = self.item_of(id, ty);
                self.finish(slot, name, id, None, kind);
                with_null(TypeRef::Named(slot), nullable)
            }
            Form::Type(ty) => {
                let ty = with_null(ty, nullable);
                self.release_slot(slot, name, id, &ty);
                ty
            }
        };
        self.lowered.insert(id, ty.clone());
        ty
    }

    /// Returns the type of a conjunction of schemas, and whether it accepts exactly what they
    /// accept together.
    ///
    /// If it accepts more, the caller's item has to be checked by its compiled schema.
    pub(super) fn type_of_all(&mut self, ids: &[SchemaId], hint: &str) -> (TypeRef, bool) {
        if let [id] = ids {
            return (self.type_of(*id, hint), true);
        }
        let name = names::unique(&mut self.taken, hint.to_owned());
        // No single pointer covers schemas of different places. The object or list around them has
        // one that does, so its check is the one that is made, and the item here has none.
        let NullableForm { form, nullable } = self.choose_form(&Subject {
            ids,
            name: &name,
            check: String::new(),
        });
        let ty = self.unchecked(form, name, ids[0]);
        (with_null(ty, nullable), false)
    }

    /// Returns the type of a form whose check is that of what is around it. An item is called `name`,
    /// which is free again if there is none.
    pub(super) fn unchecked(&mut self, form: Form, name: String, schema: SchemaId) -> TypeRef {
        match form {
            Form::Type(ty) => {
                self.taken.remove(&name);
                ty
            }
            Form::Item(kind) => {
                let slot = self.reserve_slot();
                self.finish(slot, name, schema, None, without_check(kind));
                TypeRef::Named(slot)
            }
        }
    }

    /// Returns the item of a component.
    ///
    /// A component is always an item, even where a type of the standard library would do, so that
    /// callers keep its name when the contract adds a constraint to it.
    pub(super) fn component_kind(&mut self, id: SchemaId, name: &str) -> TypeKind {
        if let SchemaKind::Object(keywords) = &self.contract.schema(id).kind
            && let Some(target) = keywords.reference
            && keywords.only_reference
        {
            return TypeKind::Alias(self.type_of(target, name));
        }
        let NullableForm { form, nullable } = self.choose_form(&Subject {
            ids: &[id],
            name,
            check: self.check_pointer(id),
        });
        if nullable {
            // The component's name is the alias of an `Option`, so what is inside needs another
            // name.
            let inner = match form {
                Form::Type(ty) => ty,
                Form::Item(kind) => {
                    let inner = names::unique(&mut self.taken, format!("{name}Value"));
                    let slot = self.reserve_slot();
                    self.finish(slot, inner, id, None, kind);
                    TypeRef::Named(slot)
                }
            };
            return TypeKind::Alias(with_null(inner, true));
        }
        match form {
            Form::Item(kind) => kind,
            Form::Type(ty) => self.item_of(id, ty),
        }
    }

    /// Returns an item for a type that is not an item itself: an alias, a newtype, or any JSON.
    fn item_of(&self, id: SchemaId, ty: TypeRef) -> TypeKind {
        match ty {
            TypeRef::Any => TypeKind::Json { check: None },
            TypeRef::Vec(items) => TypeKind::Array(Array {
                items: *items,
                min_items: None,
                max_items: None,
                unique_items: false,
                check: None,
            }),
            TypeRef::Map(values) => TypeKind::Map(Map {
                values: *values,
                min_properties: None,
                max_properties: None,
                check: None,
            }),
            TypeRef::Primitive(Primitive::Bool)
            | TypeRef::Named(_)
            | TypeRef::Nullable(_)
            | TypeRef::Boxed(_) => TypeKind::Alias(ty),
            TypeRef::Primitive(primitive) => {
                let flat = FlatSchema::of(self.contract, &[id]);
                // The addresses are checked as formats of a string, so that the newtype keeps the
                // text as written.
                let inner = match primitive {
                    Primitive::Ipv4Addr | Primitive::Ipv6Addr => Primitive::String,
                    other => other,
                };
                TypeKind::Scalar(scalar(inner, &flat, None))
            }
        }
    }

    /// Gives back the slot and name of an inline schema that needs no item.
    ///
    /// A slot that is not the last one any more cannot be removed, since later ones are known by
    /// their index: it becomes an alias.
    fn release_slot(&mut self, slot: TypeId, name: String, id: SchemaId, ty: &TypeRef) {
        if slot.0 + 1 == self.types.len() {
            self.types.pop();
            self.taken.remove(&name);
        } else {
            self.finish(slot, name, id, None, TypeKind::Alias(ty.clone()));
        }
    }

    /// Returns the pointer under which the schema bundle has the compiled check of a schema.
    pub(super) fn check_pointer(&self, id: SchemaId) -> String {
        contract::bundle::schema_pointer(self.contract, id)
    }
}

/// Wraps a type in [`TypeRef::Nullable`] if null is accepted and the type does not accept null
/// itself.
pub(super) fn with_null(ty: TypeRef, accepts_null: bool) -> TypeRef {
    match ty {
        _ if !accepts_null => ty,
        TypeRef::Nullable(_) | TypeRef::Any => ty,
        other => TypeRef::Nullable(Box::new(other)),
    }
}

/// Removes the check of an item whose container is checked as a whole.
fn without_check(kind: TypeKind) -> TypeKind {
    match kind {
        TypeKind::Object(object) => TypeKind::Object(Object {
            check: None,
            ..object
        }),
        TypeKind::Scalar(scalar) => TypeKind::Scalar(Scalar {
            check: None,
            ..scalar
        }),
        TypeKind::Array(array) => TypeKind::Array(Array {
            check: None,
            ..array
        }),
        TypeKind::Map(map) => TypeKind::Map(Map { check: None, ..map }),
        TypeKind::Union(union) => TypeKind::Union(Union {
            check: None,
            ..union
        }),
        TypeKind::Json { .. } => TypeKind::Json { check: None },
        other @ (TypeKind::Alias(_) | TypeKind::Enumeration(_)) => other,
    }
}
