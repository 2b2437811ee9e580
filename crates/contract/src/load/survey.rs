//! Surveys a document for the other documents that it refers to.

use std::collections::HashSet;
use std::path::Path;
use std::rc::Rc;

use jsonschema::Uri;

use crate::documents::METASCHEMA;
use crate::keys::is_map;
use crate::node::{Node, NodeValue};
use crate::uri::{absolute, is_scheme_uri, local_file};

/// What surveying a document finds: the documents that it refers to, and whether it has `$id` or
/// anchors.
#[derive(Default)]
pub(super) struct Survey {
    pub(super) targets: Vec<Target>,
    pub(super) has_resources: bool,
    pub(super) wants_metaschema: bool,
}

/// What the keys of an object are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// The fields of an object of the standard, of which some are extensions.
    Fields,
    /// The sections of `components`, each of which is a map.
    Sections,
    /// The names in a map, none of which is an extension.
    Names,
    /// The names in a map that may have extensions beside them.
    ExtensibleNames,
    /// The names of examples, none of which is an extension.
    Examples,
    /// The fields of an example.
    Example,
}

/// The maps that may have extensions beside names, except as sections of `components`.
const EXTENSIBLE: [&str; 3] = ["paths", "responses", "scopes"];

impl Keys {
    /// Returns what the keys of the value of a key are.
    fn below(self, key: &str) -> Self {
        match self {
            Self::Sections | Self::Fields if key == "examples" => Self::Examples,
            Self::Sections => Self::Names,
            Self::Fields if key == "components" => Self::Sections,
            Self::Fields if EXTENSIBLE.contains(&key) => Self::ExtensibleNames,
            Self::Fields if is_map(key) => Self::Names,
            Self::Examples => Self::Example,
            // A name says nothing of what it names: a property may be called `headers`.
            Self::Names | Self::ExtensibleNames | Self::Fields | Self::Example => Self::Fields,
        }
    }

    /// Returns whether the value of a key is one that the document describes, in which a `$ref` is a
    /// property like any other.
    fn is_literal(self, key: &str, value: &Node) -> bool {
        match self {
            Self::Fields => {
                matches!(key, "const" | "default" | "enum" | "example")
                    || (key == "examples" && value.as_array().is_some())
            }
            Self::Example => matches!(key, "dataValue" | "value"),
            Self::Sections | Self::Names | Self::ExtensibleNames | Self::Examples => false,
        }
    }
}

/// A document that a reference names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Target {
    /// The path of a file, as in the reference but percent-decoded.
    File(String),
    /// An address on another host.
    Address(Uri<String>),
}

impl Survey {
    /// Searches everything below `root` for references and ids. `base` is the document's address,
    /// if it is a copy of a document on another host.
    pub(super) fn of(root: &Node, base: Option<&Uri<String>>) -> Self {
        let mut survey = Self::default();
        let mut seen = HashSet::new();
        let mut pending = vec![(root, base.cloned().map(Rc::new), false, Keys::Fields)];
        while let Some((node, mut base, is_extension, keys)) = pending.pop() {
            match &node.value {
                NodeValue::Array(items) => {
                    // Reversed, because the last one is taken first: files are read in the order of
                    // the text.
                    let items = items.iter().rev();
                    let fields = Keys::Fields;
                    pending.extend(items.map(|item| (item, base.clone(), is_extension, fields)));
                }
                NodeValue::Object(entries) => {
                    if let Some(id) = node.get("$id").and_then(Node::as_str) {
                        base = absolute(base.as_deref(), id).map(Rc::new).or(base);
                    }
                    for reference in references(node) {
                        survey.wants_metaschema |= reference.starts_with(METASCHEMA);
                        let address = absolute(base.as_deref(), reference)
                            .filter(|_| !reference.starts_with('#'));
                        // Below a `$id`, a relative reference means an address. Without a local
                        // copy of that address, it is resolved to the file, so both are read.
                        let file = local_file(reference)
                            .filter(|file| !is_extension || may_be_document(file))
                            .map(Target::File);
                        let targets = [address.map(Target::Address), file];
                        survey.targets.extend(
                            targets
                                .into_iter()
                                .flatten()
                                .filter(|target| seen.insert(target.clone())),
                        );
                    }
                    let names = ["$id", "$anchor", "$dynamicAnchor"];
                    survey.has_resources |= names
                        .iter()
                        .any(|name| node.get(name).is_some_and(|value| value.as_str().is_some()));
                    let entries = entries.iter().rev();
                    let entries =
                        entries.filter(|entry| !keys.is_literal(&entry.key, &entry.value));
                    pending.extend(entries.map(|entry| {
                        let is_own = !matches!(keys, Keys::Names | Keys::Examples)
                            && entry.key.starts_with("x-");
                        let below = keys.below(&entry.key);
                        (&entry.value, base.clone(), is_extension || is_own, below)
                    }));
                }
                _ => {}
            }
        }
        survey
    }
}

/// Returns whether a file that an extension refers to may be a document. Some refer to samples of code,
/// whose errors would say nothing about the contract.
fn may_be_document(file: &str) -> bool {
    let ending = Path::new(file).extension();
    ending.is_none_or(|ending| ["yaml", "yml", "json"].iter().any(|known| ending == *known))
}

/// Returns the references in an object: its `$ref` and `$dynamicRef`, those values in the mapping of
/// its discriminator that contain `/` or `#`, since others are names, and those keys of its security
/// requirements that are URIs.
fn references(node: &Node) -> impl Iterator<Item = &str> {
    let own = ["$ref", "$dynamicRef"]
        .into_iter()
        .filter_map(|key| node.get(key)?.as_str());
    let discriminator = node.get("discriminator");
    let mapping = discriminator.and_then(|node| node.get("mapping")?.as_object());
    let mapped = mapping.unwrap_or_default().iter().map(|entry| &entry.value);
    let default = discriminator.and_then(|node| node.get("defaultMapping"));
    let mapped = mapped.chain(default).filter_map(Node::as_str);
    let requirements = node.get("security").and_then(Node::as_array);
    let requirements = requirements.unwrap_or_default().iter();
    let schemes = requirements
        .flat_map(|node| node.as_object().unwrap_or_default())
        .map(|entry| entry.key.as_str());
    own.chain(mapped.filter(|text| text.contains(['/', '#'])))
        .chain(schemes.filter(|key| is_scheme_uri(key)))
}
