//! From a schema to a type: an existing one, or a new item with a name.

use contract::model::{SchemaId, SchemaKind};

use super::Lowering;
use super::flatten::FlatSchema;
use super::form::{Form, Subject};
use super::scalar::scalar;
use crate::ir::{Array, Map, Object, Primitive, Scalar, TypeId, TypeKind, TypeRef, Union};
use crate::names;

impl Lowering<'_> {
    /// The type of a schema; an inline one that needs an item is called `hint`.
    pub(super) fn type_of(&mut self, id: SchemaId, hint: &str) -> TypeRef {
        let id = self.follow_references(id);
        if let Some(known) = self.lowered.get(&id) {
            return known.clone();
        }
        // An inline schema may hold itself through a reference into the document: it then needs an item
        // whatever it turns out to be, and this is its place.
        let slot = self.reserve_slot();
        let before = self.lowered.insert(id, TypeRef::Named(slot));
        debug_assert!(before.is_none(), "a schema is lowered once");
        let name = names::unique(&mut self.taken, hint.to_owned());
        let form = self.form(&Subject {
            ids: &[id],
            name: &name,
            check: self.check_pointer(id),
        });
        let ty = match form.form {
            Form::Item(kind) => {
                self.finish(slot, name, id, None, kind);
                nullable(TypeRef::Named(slot), form.nullable)
            }
            // A list of itself has to be an item, since an alias cannot hold itself.
            Form::Type(ty) if ty.mentions(slot) => {
                let kind = self.item_of(id, ty);
                self.finish(slot, name, id, None, kind);
                nullable(TypeRef::Named(slot), form.nullable)
            }
            Form::Type(ty) => {
                let ty = nullable(ty, form.nullable);
                self.release_slot(slot, name, id, &ty);
                ty
            }
        };
        self.lowered.insert(id, ty.clone());
        ty
    }

    /// The type of a conjunction of schemas; `false` when the type alone accepts more than they do.
    pub(super) fn type_of_all(&mut self, ids: &[SchemaId], hint: &str) -> (TypeRef, bool) {
        if let [id] = ids {
            return (self.type_of(*id, hint), true);
        }
        let name = names::unique(&mut self.taken, hint.to_owned());
        // The check of a conjunction belongs to the object around it, which knows a pointer that covers it.
        let form = self.form(&Subject {
            ids,
            name: &name,
            check: String::new(),
        });
        let ty = match form.form {
            Form::Type(ty) => {
                self.taken.remove(&name);
                ty
            }
            Form::Item(kind) => {
                let slot = self.reserve_slot();
                self.finish(slot, name, ids[0], None, without_check(kind));
                TypeRef::Named(slot)
            }
        };
        (nullable(ty, form.nullable), false)
    }

    /// The item that a component becomes: always one, so that its name stays when it grows constraints.
    pub(super) fn component_kind(&mut self, id: SchemaId, name: &str) -> TypeKind {
        if let SchemaKind::Object(keywords) = &self.contract.schema(id).kind
            && let Some(target) = keywords.reference
            && keywords.only_reference
        {
            return TypeKind::Alias(self.type_of(target, name));
        }
        let form = self.form(&Subject {
            ids: &[id],
            name,
            check: self.check_pointer(id),
        });
        if form.nullable {
            let inner = match form.form {
                Form::Type(ty) => ty,
                Form::Item(kind) => {
                    let inner = names::unique(&mut self.taken, format!("{name}Value"));
                    let slot = self.reserve_slot();
                    self.finish(slot, inner, id, None, kind);
                    TypeRef::Named(slot)
                }
            };
            return TypeKind::Alias(nullable(inner, true));
        }
        match form.form {
            Form::Item(kind) => kind,
            Form::Type(ty) => self.item_of(id, ty),
        }
    }

    /// A component around a type that would need no item.
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
                let inner = match primitive {
                    Primitive::Ipv4Addr | Primitive::Ipv6Addr => Primitive::String,
                    other => other,
                };
                TypeKind::Scalar(scalar(inner, &flat, None))
            }
        }
    }

    /// The slot of an inline schema that needed no item: dropped, unless something refers to it.
    fn release_slot(&mut self, slot: TypeId, name: String, id: SchemaId, ty: &TypeRef) {
        if slot.0 + 1 == self.types.len() {
            self.types.pop();
            self.taken.remove(&name);
        } else {
            self.finish(slot, name, id, None, TypeKind::Alias(ty.clone()));
        }
    }

    /// Where the compiled check of a schema is found in the bundle.
    pub(super) fn check_pointer(&self, id: SchemaId) -> String {
        contract::bundle::schema_pointer(self.contract, id)
    }
}

/// The type with null, once.
pub(super) fn nullable(ty: TypeRef, null: bool) -> TypeRef {
    match ty {
        _ if !null => ty,
        TypeRef::Nullable(_) | TypeRef::Any => ty,
        other => TypeRef::Nullable(Box::new(other)),
    }
}

/// The same item without its check, where the object around it carries one.
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
