//! What generated code does not apply to parts with positions.

use super::{Reader, Unapplied};
use crate::model::{Keywords, Parameter, ParameterEncoding, PropertyEncoding, Types};

impl Reader<'_> {
    /// Notes a header of which no value is checked.
    pub(super) fn note_header(&mut self, header: &Parameter) {
        if matches!(&header.encoding, ParameterEncoding::Content(name) if name.contains("json")) {
            return;
        }
        let types = self.types(header.schema);
        let is_open = types == Types::default()
            && self
                .keywords(header.schema)
                .is_some_and(|keywords| !keywords.any_of.is_empty() || !keywords.one_of.is_empty());
        if is_open || types.0 & Types::OBJECT.with(Types::ARRAY).0 != 0 {
            self.add(
                "unapplied-encoding",
                &format!(
                    "the header `{}` of a part may be an array or object, so only its presence is checked",
                    header.name
                ),
                "write the type of one value, or `content` with `application/json`",
            );
        }
    }

    /// Notes the keywords of an array that are not applied to parts.
    pub(super) fn note_array(&mut self, array: &Keywords) {
        let open_end = array
            .unevaluated_items
            .filter(|rest| array.items.is_none() && !self.accepts_nothing(*rest));
        let keywords = [
            ("contains", array.contains.is_some()),
            ("uniqueItems", array.unique_items),
            ("unevaluatedItems", open_end.is_some()),
            ("allOf", !array.all_of.is_empty()),
            ("anyOf", !array.any_of.is_empty()),
            ("oneOf", !array.one_of.is_empty()),
            ("not", array.not.is_some()),
            ("if", array.if_schema.is_some()),
            ("enum", array.enumeration.is_some()),
            ("const", array.constant.is_some()),
            ("$ref", array.reference.is_some()),
        ];
        for (keyword, _) in keywords.into_iter().filter(|(_, is_there)| *is_there) {
            self.add(
                "unapplied-schema",
                &format!("the parts are read by position, and `{keyword}` of the array is not applied to them"),
                "check it where the body is read",
            );
        }
    }

    /// Notes encodings by position within parts that have names.
    pub(super) fn named(
        &mut self,
        encodings: &indexmap::IndexMap<String, PropertyEncoding>,
        is_nested: bool,
    ) {
        if is_nested && !encodings.is_empty() {
            self.add(
                "unapplied-encoding",
                "a part whose own parts have names is passed on as bytes, so its `encoding` is not applied",
                "write its parts where the body is written, or describe them by position",
            );
        }
        let of_parts = |encoding: &PropertyEncoding| {
            !encoding.encoding.is_empty()
                || !encoding.prefix_encoding.is_empty()
                || encoding.item_encoding.is_some()
        };
        for (name, _) in encodings.iter().filter(|(_, encoding)| of_parts(encoding)) {
            self.add(
                "unapplied-encoding",
                &format!("the part `{name}` is read and written with its name, so the encodings of the parts within it are not applied"),
                "write its parts where the body is written, or describe the whole body by position",
            );
        }
    }

    pub(super) fn add(&mut self, code: &'static str, message: &str, help: &'static str) {
        let message = message.to_owned();
        let found = Unapplied {
            code,
            message,
            help,
        };
        if !self.unapplied.contains(&found) {
            self.unapplied.push(found);
        }
    }
}
