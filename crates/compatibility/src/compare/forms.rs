//! Compares how the fields of forms and the parts of multipart bodies are written.

use contract::model::{MediaType, PropertyEncoding, Style};

use super::bodies::{covers, describe};
use super::walk::Place;
use super::{Comparison, Flow, Found};
use crate::finding::Kind;

/// The media types that a part without `contentType` may have, by the kind of its property.
const DEFAULTS: [&str; 3] = ["application/json", "application/octet-stream", "text/plain"];

impl<'c> Comparison<'c> {
    /// Reports fields and parts that the sender writes in a way that the receiver does not read.
    pub(super) fn encodings(
        &mut self,
        index: usize,
        place: &Place,
        flow: Flow,
        (old, new): (&'c MediaType, &'c MediaType),
    ) {
        let (sender, receiver) = if flow.is_to_api() {
            (old, new)
        } else {
            (new, old)
        };
        let added = receiver
            .encoding
            .keys()
            .filter(|name| !sender.encoding.contains_key(*name));
        let names: Vec<&String> = sender.encoding.keys().chain(added).collect();
        for name in names {
            let (sent, read) = (sender.encoding.get(name), receiver.encoding.get(name));
            let Some(what) = difference(sent, read) else {
                continue;
            };
            let operation = self.pairs[index].name.clone();
            self.add(
                Some(&operation),
                Found {
                    kind: Kind::Breaking,
                    rule: "encoding-changed",
                    message: format!("{}: the field `{name}` {what}", describe(place)),
                    base: Some(old.span),
                    revision: Some(new.span),
                    witness: None,
                },
            );
        }
    }
}

/// Returns how a field is written otherwise than it is read.
fn difference(sent: Option<&PropertyEncoding>, read: Option<&PropertyEncoding>) -> Option<String> {
    let types = |encoding: Option<&PropertyEncoding>| -> Option<Vec<String>> {
        let listed = encoding?.content_type.as_ref()?;
        Some(listed.split(',').map(|one| one.trim().to_owned()).collect())
    };
    let (one, other) = (types(sent), types(read));
    let is_read = |name: &str| match &other {
        Some(other) => other.iter().any(|range| covers(range, name).is_some()),
        None => DEFAULTS.contains(&name),
    };
    let unread = match &one {
        Some(one) => one.iter().find(|name| !is_read(name)).cloned(),
        // Which of the defaults it is depends on the schema.
        None => (!DEFAULTS.iter().any(|name| is_read(name)))
            .then(|| "its default media type".to_owned()),
    };
    if let Some(unread) = unread {
        return Some(format!("may no longer be `{unread}`"));
    }
    let written = |encoding: Option<&PropertyEncoding>| {
        let style = encoding.and_then(|one| one.style).unwrap_or(Style::Form);
        let explode = encoding.and_then(|one| one.explode);
        (style, explode.unwrap_or(style == Style::Form))
    };
    (written(sent) != written(read)).then(|| "is written in another style".to_owned())
}
