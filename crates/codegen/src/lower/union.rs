//! The form of `oneOf` and `anyOf`.
//!
//! Three forms are tighter than a union: an `Option` for null beside one type, an enumeration where
//! every member lists strings, and a struct where the members only differ in what they require. A
//! union selects its variant by a tag if there is one, which costs one look at the value, else by
//! trying each variant.

mod tags;

use std::collections::{HashMap, HashSet};

use contract::model::{Keywords, SchemaId, SchemaKind, Types};
use serde_json::Value;

use super::enumeration::variants_of;
use super::flatten::{Alternatives, FlatSchema};
use super::form::{Form, NullableForm, Subject};
use super::lowering::Lowering;
use crate::ir::{Selection, Trial, TypeKind, TypeRef, Union, Variant};
use crate::names;

impl Lowering<'_> {
    /// Chooses the form of a schema with `oneOf` or `anyOf`.
    pub(super) fn form_of_choices(
        &mut self,
        mut flat: FlatSchema,
        subject: &Subject<'_>,
    ) -> NullableForm {
        if self.only_requires(&flat) {
            // The fields are the same whichever member accepts the value; the compiled schema
            // checks which do.
            flat.choices.clear();
            flat.residual = true;
            if flat.types.is_none() && self.implies_types() {
                flat.types = Some(Types::OBJECT);
            }
            return self.form_by_type(&flat, subject);
        }
        // Two choices at once, such as `oneOf` in two members of an `allOf`, would need a variant
        // for each pair.
        let [alternatives] = flat.choices.as_slice() else {
            return NullableForm::json(&subject.check);
        };
        let alternatives = alternatives.clone();
        // What stands beside the alternatives constrains each of them, and a variant is the type of
        // one alone.
        if flat.residual || flat.constrains_any_type() || !self.types_agree(&flat, &alternatives) {
            return match self.events_beside(&alternatives, subject) {
                Some(union) => NullableForm::of(Form::Item(TypeKind::Union(union))),
                None => NullableForm::json(&subject.check),
            };
        }
        self.alternatives(&alternatives, subject)
    }

    /// Chooses the form of alternatives with nothing else beside them.
    fn alternatives(&mut self, alternatives: &Alternatives, subject: &Subject<'_>) -> NullableForm {
        let (nulls, members): (Vec<SchemaId>, Vec<SchemaId>) = alternatives
            .members
            .iter()
            .partition(|id| self.is_null(**id));
        let null = match (nulls.len(), alternatives.exactly_one) {
            (0, _) => false,
            (1, _) | (_, false) => true,
            // Null fits two members, and `oneOf` accepts what fits one.
            (_, true) => return NullableForm::json(&subject.check),
        };
        // The same with a member that accepts null among others.
        if null && alternatives.exactly_one && self.any_accepts_null(&members, &mut HashMap::new())
        {
            return NullableForm::json(&subject.check);
        }
        let form = match members.as_slice() {
            [] => return NullableForm::json(&subject.check),
            [only] => {
                let ty = self.type_of(*only, subject.name);
                return match ty {
                    // A member that accepts null itself: null beside it adds nothing.
                    TypeRef::Nullable(inner) => NullableForm {
                        form: Form::Type(*inner),
                        nullable: true,
                    },
                    ty => NullableForm {
                        form: Form::Type(ty),
                        nullable: null,
                    },
                };
            }
            several => match self.string_enumeration(several, alternatives.exactly_one) {
                Some(enumeration) => Form::Item(enumeration),
                None => Form::Item(TypeKind::Union(self.union(several, alternatives, subject))),
            },
        };
        NullableForm {
            form,
            nullable: null,
        }
    }

    /// Returns a union with a variant for each member.
    fn union(
        &mut self,
        members: &[SchemaId],
        alternatives: &Alternatives,
        subject: &Subject<'_>,
    ) -> Union {
        let tags = alternatives
            .discriminator
            .as_ref()
            .and_then(|discriminator| self.declared_tags(members, discriminator))
            .or_else(|| self.constant_tags(members));
        // Only a tag that the discriminator declares has a default.
        let default = alternatives
            .discriminator
            .as_ref()
            .filter(|discriminator| {
                tags.as_ref()
                    .is_some_and(|(property, _)| *property == discriminator.property)
            })
            .and_then(|discriminator| discriminator.default)
            .map(|id| self.contract.resolve(id));
        let mut taken = HashSet::new();
        let mut variants: Vec<Variant> = Vec::with_capacity(members.len());
        for (at, member) in members.iter().enumerate() {
            let tags = tags
                .as_ref()
                .map(|(_, tags)| tags[at].clone())
                .unwrap_or_default();
            let words = self.variant_words(*member, &tags);
            let name = names::unique(
                &mut taken,
                names::variant(&words.unwrap_or_else(|| format!("Variant{}", at + 1))),
            );
            let ty = self.type_of(*member, &format!("{}{name}", subject.name));
            variants.push(Variant {
                name,
                ty,
                tags,
                is_default: Some(self.contract.resolve(*member)) == default,
                from: false,
            });
        }
        // Only now, when the types of all variants are known.
        mark_convertible(&mut variants);
        let trial = Trial::of(alternatives.exactly_one);
        // The default takes values without the tag.
        let is_everywhere = default.is_some()
            || tags.as_ref().is_some_and(|(property, _)| {
                let mut requires = members.iter();
                requires.all(|member| self.requires(*member, property))
            });
        Union {
            selection: match tags {
                Some((property, _)) if is_everywhere => Selection::Tag(property),
                Some((property, _)) => Selection::OptionalTag(property, trial),
                None => Selection::Trial(trial),
            },
            variants,
            check: None,
        }
    }

    /// Returns a union of events whose common properties stand beside the alternatives, as in the
    /// examples of OpenAPI 3.2: each variant has the properties of both. Returns `None` if the data of
    /// no variant holds JSON of a schema, or if a variant is no plain object.
    fn events_beside(
        &mut self,
        alternatives: &Alternatives,
        subject: &Subject<'_>,
    ) -> Option<Union> {
        let mut events = Vec::with_capacity(alternatives.members.len());
        for member in &alternatives.members {
            let mut ids = subject.ids.to_vec();
            ids.push(*member);
            let mut flat = FlatSchema::of(self.contract, &ids);
            flat.choices
                .retain(|choice| choice.members != alternatives.members);
            flat.settle_additional_properties(self.contract);
            let is_plain = flat.types == Some(Types::OBJECT)
                && flat.values.is_none()
                && flat.choices.is_empty()
                && !flat.never
                && !flat.too_deep;
            if !is_plain {
                return None;
            }
            events.push((ids, flat));
        }
        let has_content = |(_, flat): &(_, FlatSchema)| {
            let mut properties = flat.properties.values();
            properties.any(|schemas| self.event_content(schemas).is_some())
        };
        if !events.iter().any(has_content) {
            return None;
        }
        let (ids, flats): (Vec<_>, Vec<_>) = events.into_iter().unzip();
        let tags = self.constant_tags_of(&flats);
        let mut taken = HashSet::new();
        let mut variants = Vec::with_capacity(flats.len());
        for (at, (flat, ids)) in flats.iter().zip(&ids).enumerate() {
            let member = alternatives.members[at];
            let tags = tags.as_ref().map(|(_, tags)| tags[at].clone());
            let tags = tags.unwrap_or_default();
            let words = self.variant_words(member, &tags);
            let words = words.unwrap_or_else(|| format!("Variant{}", at + 1));
            let name = names::unique(&mut taken, names::variant(&words));
            let item = names::unique(&mut self.taken, format!("{}{name}", subject.name));
            // The whole union is checked, which knows the alternatives too.
            let form = self.object(
                flat,
                &Subject {
                    ids,
                    name: &item,
                    check: String::new(),
                },
            );
            let ty = self.unchecked(form, item, self.contract.resolve(member));
            variants.push(Variant {
                name,
                ty,
                tags,
                is_default: false,
                from: false,
            });
        }
        mark_convertible(&mut variants);
        Some(Union {
            selection: match tags {
                Some((property, _)) => Selection::Tag(property),
                None => Selection::Trial(Trial::of(alternatives.exactly_one)),
            },
            variants,
            check: Some(subject.check.clone()),
        })
    }

    /// Returns one enumeration of all values, if every member is a list of strings. Returns `None`
    /// if `exactly_one` is set and two members list the same value.
    fn string_enumeration(&self, members: &[SchemaId], exactly_one: bool) -> Option<TypeKind> {
        let mut all: Vec<Value> = Vec::new();
        let mut extensible = false;
        for member in members {
            extensible |= FlatSchema::of(self.contract, &[*member]).extensible;
            for value in self.string_values(&[*member])? {
                match all.contains(&value) {
                    // `oneOf` rejects a value that two members list.
                    true if exactly_one => return None,
                    true => {}
                    false => all.push(value),
                }
            }
        }
        Some(TypeKind::Enumeration(variants_of(all, extensible)))
    }

    /// Returns whether the alternatives only choose which properties are required: the schema has
    /// keywords for objects, and no member has properties, references or combinators of its own.
    fn only_requires(&self, flat: &FlatSchema) -> bool {
        flat.constrains_objects()
            && flat
                .choices
                .iter()
                .flat_map(|choice| &choice.members)
                .all(|id| match &self.contract.schema(*id).kind {
                    SchemaKind::Bool(_) => true,
                    SchemaKind::Object(k) => {
                        k.reference.is_none()
                            && k.properties.is_empty()
                            && k.additional_properties.is_none()
                            && k.pattern_properties.is_empty()
                            && k.all_of.is_empty()
                            && k.one_of.is_empty()
                            && k.any_of.is_empty()
                            && k.types.is_none_or(|types| types == Types::OBJECT)
                    }
                })
    }

    /// Returns whether every member has a type that `type` beside the alternatives accepts.
    fn types_agree(&self, flat: &FlatSchema, alternatives: &Alternatives) -> bool {
        let Some(types) = flat.types else { return true };
        alternatives.members.iter().all(|member| {
            FlatSchema::of(self.contract, &[*member])
                .types
                .is_some_and(|own| types.contains(own))
        })
    }

    /// Returns whether a schema accepts null and nothing else.
    fn is_null(&self, id: SchemaId) -> bool {
        let id = self.contract.resolve(id);
        matches!(
            &self.contract.schema(id).kind,
            SchemaKind::Object(k) if k.types == Some(Types::NULL)
                || (k.constant == Some(Value::Null))
                || k.enumeration.as_deref() == Some(&[Value::Null])
        )
    }

    /// Returns whether one of several schemas may accept null. `known` has what was found of others
    /// before.
    fn any_accepts_null(&self, ids: &[SchemaId], known: &mut HashMap<SchemaId, bool>) -> bool {
        ids.iter().any(|id| self.accepts_null(*id, known))
    }

    /// Returns whether a schema may accept null, among other values or alone.
    fn accepts_null(&self, id: SchemaId, known: &mut HashMap<SchemaId, bool>) -> bool {
        if let Some(accepts) = known.get(&id) {
            return *accepts;
        }
        // Until more is known, so that a cycle ends: what only may accept null is checked.
        known.insert(id, true);
        let flat = FlatSchema::of(self.contract, &[id]);
        let typed = flat.types.is_none_or(|types| types.contains(Types::NULL));
        let valued = flat
            .values
            .as_ref()
            .is_none_or(|values| values.contains(&Value::Null));
        let mut choices = flat.choices.iter();
        let accepts =
            typed && valued && choices.all(|choice| self.any_accepts_null(&choice.members, known));
        known.insert(id, accepts);
        accepts
    }

    /// Returns the words to name a variant by: the component's name, else the title if it is short,
    /// the tag or the type. Returns `None` if the member has none of these.
    fn variant_words(&self, member: SchemaId, tags: &[String]) -> Option<String> {
        let member = self.follow_references(member);
        let schema = self.contract.schema(member);
        if let Some(component) = &schema.component {
            return Some(component.clone());
        }
        let SchemaKind::Object(keywords) = &schema.kind else {
            return None;
        };
        let keywords: &Keywords = keywords;
        keywords
            .title
            .clone()
            // A longer title is a sentence.
            .filter(|title| title.len() <= 40)
            .or_else(|| tags.first().cloned())
            .or_else(|| {
                let word = match keywords.types? {
                    Types::BOOLEAN => "Boolean",
                    Types::INTEGER => "Integer",
                    Types::NUMBER => "Number",
                    Types::STRING => "String",
                    Types::ARRAY => "Array",
                    Types::OBJECT => "Object",
                    _ => return None,
                };
                Some(word.to_owned())
            })
    }
}

/// Marks the variants that implement `From`, which are those whose type no other variant holds.
fn mark_convertible(variants: &mut [Variant]) {
    for at in 0..variants.len() {
        let same = variants
            .iter()
            .filter(|other| other.ty == variants[at].ty)
            .count();
        variants[at].from =
            // Any JSON may be a value of another variant, for which `From` would not look.
            same == 1 && !matches!(variants[at].ty, TypeRef::Any | TypeRef::Nullable(_));
    }
}
