//! A first look at a file: which other files it refers to.

use std::collections::HashSet;

use crate::documents::METASCHEMA;
use crate::node::{Node, NodeValue};

/// What a first look at a file finds.
#[derive(Default)]
pub(super) struct Survey {
    pub(super) files: Vec<String>,
    pub(super) has_resources: bool,
    pub(super) wants_metaschema: bool,
}

impl Survey {
    pub(super) fn of(root: &Node) -> Self {
        let mut survey = Self::default();
        let mut seen = HashSet::new();
        let mut pending = vec![root];
        while let Some(node) = pending.pop() {
            match &node.value {
                NodeValue::Array(items) => pending.extend(items.iter().rev()),
                NodeValue::Object(entries) => {
                    for entry in entries {
                        if let NodeValue::String(text) = &entry.value.value {
                            match entry.key.as_str() {
                                "$ref" => {
                                    survey.wants_metaschema |= text.starts_with(METASCHEMA);
                                    if let Some(file) = local_file(text)
                                        && seen.insert(file.clone())
                                    {
                                        survey.files.push(file);
                                    }
                                }
                                "$id" | "$anchor" | "$dynamicAnchor" => {
                                    survey.has_resources = true;
                                }
                                _ => {}
                            }
                        }
                    }
                    pending.extend(entries.iter().rev().map(|entry| &entry.value));
                }
                _ => {}
            }
        }
        survey
    }
}

/// The file that a reference names, percent-decoded, if it names one.
pub(crate) fn local_file(reference: &str) -> Option<String> {
    let (file, _) = reference.split_once('#').unwrap_or((reference, ""));
    if file.is_empty() || has_scheme(file) || file.starts_with("//") {
        return None;
    }
    percent_encoding::percent_decode_str(file).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

/// Whether a reference starts with a URI scheme. One letter is a drive, not a scheme.
pub(crate) fn has_scheme(reference: &str) -> bool {
    reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.len() > 1
            && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '+' | '-' | '.'))
    })
}
