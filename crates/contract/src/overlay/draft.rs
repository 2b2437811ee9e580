//! Writes an overlay that makes the changes which the repairs of a document have made.

use serde_json::{Map, Value};

use super::select::{normalized, push_name};
use crate::diagnostic::Diagnostic;
use crate::node::{Entry, Node, NodeValue};
use crate::source::Sources;

/// An action of a drafted overlay.
#[derive(Debug, Clone, PartialEq)]
pub struct DraftAction {
    /// The normalized path of the node that is changed.
    pub target: String,
    /// What is wrong there: the rule and the message of the diagnostic, and its help.
    pub description: String,
    /// The change.
    pub change: DraftChange,
}

/// The change of a drafted action.
#[derive(Debug, Clone, PartialEq)]
pub enum DraftChange {
    /// `remove: true`
    Remove,
    /// `update`, with its value.
    Update(Value),
    /// `copy`, with the normalized path of the node that is copied.
    Copy(String),
}

/// An overlay that mends a document, see [`draft_overlay`](crate::draft_overlay).
#[derive(Debug, Default)]
pub struct Draft {
    /// The files, for quoting them.
    pub sources: Sources,
    /// The actions, in the order in which they have to be applied. Empty if nothing can be mended.
    pub actions: Vec<DraftAction>,
    /// The number of mended diagnostics.
    pub mended: usize,
    /// The number of diagnostics that an overlay of another file of the contract can mend, by the
    /// path of the file.
    pub elsewhere: Vec<(String, usize)>,
    /// The diagnostics that are left when all of these are mended.
    pub left: Vec<Diagnostic>,
}

impl Draft {
    /// Returns the overlay as YAML. `document` is the path that it extends, from its own folder.
    #[must_use]
    pub fn text(&self, document: &str) -> String {
        // YAML reads a JSON string as it is, so no text needs another form.
        let quoted = |text: &str| Value::from(text).to_string();
        let mut out = format!(
            "overlay: 1.1.0\ninfo:\n  title: {}\n  version: 1.0.0\nextends: {}\nactions:\n",
            quoted(&format!("Corrections of {document}")),
            quoted(&reference(document)),
        );
        for action in &self.actions {
            out.push_str(&format!("  - target: {}\n", quoted(&action.target)));
            out.push_str(&format!(
                "    description: {}\n",
                quoted(&action.description)
            ));
            out.push_str(&match &action.change {
                DraftChange::Remove => "    remove: true\n".to_owned(),
                DraftChange::Update(value) => format!("    update: {value}\n"),
                DraftChange::Copy(from) => format!("    copy: {}\n", quoted(from)),
            });
        }
        out
    }
}

/// Returns a path as a URI reference.
fn reference(path: &str) -> String {
    const PATH: &percent_encoding::AsciiSet = &percent_encoding::CONTROLS
        .add(b' ')
        .add(b'"')
        .add(b'#')
        .add(b'%')
        .add(b'<')
        .add(b'>')
        .add(b'?')
        .add(b'`')
        .add(b'{')
        .add(b'}');
    let path = path.replace('\\', "/");
    let path = percent_encoding::utf8_percent_encode(&path, PATH).to_string();
    // The part before a colon in the first segment would be a scheme.
    if path
        .split('/')
        .next()
        .is_some_and(|first| first.contains(':'))
    {
        format!("./{path}")
    } else {
        path
    }
}

/// Returns the actions that change a node from what it was before to what it is now.
///
/// `root` is the document as it is now, and `path` leads to the node. Returns `None` if no actions
/// can.
pub(crate) fn actions(
    root: &Node,
    path: &[usize],
    before: &Node,
    after: &Node,
    diagnostic: &Diagnostic,
) -> Option<Vec<DraftAction>> {
    let location = location(path);
    let mut at = root;
    let mut key = None;
    for index in path {
        (at, key) = match &at.value {
            NodeValue::Object(entries) => {
                let entry = entries.get(*index)?;
                (&entry.value, Some(entry.key.as_str()))
            }
            NodeValue::Array(items) => (items.get(*index)?, None),
            _ => return None,
        };
    }
    let parent = location
        .split_last()
        .map(|(_, parent)| normalized(root, parent));
    let mut drafting = Drafting {
        description: description(diagnostic),
        actions: Vec::new(),
    };
    let site = Site {
        path: normalized(root, &location),
        parent: parent.as_deref().zip(key),
    };
    drafting
        .diff(&site, before, after)
        .then_some(drafting.actions)
}

/// Returns the action that replaces the string to which a path leads.
pub(crate) fn replaced(root: &Node, path: &[usize], text: &str, description: &str) -> DraftAction {
    DraftAction {
        target: normalized(root, &location(path)),
        description: description.to_owned(),
        change: DraftChange::Update(text.into()),
    }
}

/// Returns the action that adds a value below the root of a document, at a way of keys of which
/// the document has the first `existing`.
pub(crate) fn added(
    keys: &[&str],
    existing: usize,
    value: Value,
    diagnostic: &Diagnostic,
) -> DraftAction {
    let (above, below) = keys.split_at(existing);
    let mut target = String::from("$");
    for key in above {
        push_name(&mut target, key);
    }
    let nest =
        |value, key: &&str| Value::Object([((*key).to_owned(), value)].into_iter().collect());
    DraftAction {
        target,
        description: description(diagnostic),
        change: DraftChange::Update(below.iter().rev().fold(value, nest)),
    }
}

/// Returns the action that removes the value at a way of keys below the root of a document.
pub(crate) fn removed(keys: &[&str], diagnostic: &Diagnostic) -> DraftAction {
    let mut target = String::from("$");
    for key in keys {
        push_name(&mut target, key);
    }
    DraftAction {
        target,
        description: description(diagnostic),
        change: DraftChange::Remove,
    }
}

fn location(path: &[usize]) -> Vec<u32> {
    let index = |index: &usize| u32::try_from(*index).unwrap_or(u32::MAX);
    path.iter().map(index).collect()
}

fn description(diagnostic: &Diagnostic) -> String {
    let Diagnostic {
        code,
        message,
        help,
        ..
    } = diagnostic;
    match help {
        Some(help) => format!("{code}: {message} ({help})"),
        None => format!("{code}: {message}"),
    }
}

/// A node to which a path leads.
struct Site<'s> {
    /// The normalized path.
    path: String,
    /// The path of the object that holds the node, and its key there.
    parent: Option<(&'s str, &'s str)>,
}

struct Drafting {
    description: String,
    actions: Vec<DraftAction>,
}

impl Drafting {
    fn push(&mut self, target: &str, change: DraftChange) {
        self.actions.push(DraftAction {
            target: target.to_owned(),
            description: self.description.clone(),
            change,
        });
    }

    fn update(&mut self, target: &str, entries: &[(&str, Value)]) {
        let entries = entries
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone()));
        let update = Value::Object(entries.collect::<Map<_, _>>());
        self.push(target, DraftChange::Update(update));
    }

    /// Adds the actions that make `after` of `before`. Returns whether that is possible.
    fn diff(&mut self, site: &Site<'_>, before: &Node, after: &Node) -> bool {
        if alike(before, after) {
            return true;
        }
        match (&before.value, &after.value) {
            (NodeValue::Object(old), NodeValue::Object(new)) => self.objects(site, old, new, after),
            (NodeValue::Array(old), NodeValue::Array(new)) => self.arrays(site, old, new, after),
            (NodeValue::Object(_) | NodeValue::Array(_), _)
            | (_, NodeValue::Object(_) | NodeValue::Array(_)) => self.replace(site, after),
            _ => {
                self.push(&site.path, DraftChange::Update(after.to_json()));
                true
            }
        }
    }

    /// Removes a node, and adds another value at its key.
    fn replace(&mut self, site: &Site<'_>, after: &Node) -> bool {
        let Some((parent, key)) = site.parent else {
            return false;
        };
        self.push(&site.path, DraftChange::Remove);
        self.update(parent, &[(key, after.to_json())]);
        true
    }

    fn objects(&mut self, site: &Site<'_>, old: &[Entry], new: &[Entry], after: &Node) -> bool {
        let has = |entries: &[Entry], key: &str| entries.iter().any(|entry| entry.key == key);
        let gone: Vec<&Entry> = old.iter().filter(|entry| !has(new, &entry.key)).collect();
        let added: Vec<&Entry> = new.iter().filter(|entry| !has(old, &entry.key)).collect();
        if let ([from], [to]) = (gone.as_slice(), added.as_slice())
            && from.value.as_object().is_some()
            && alike(&from.value, &to.value)
        {
            return self.rename(site, &from.key, &to.key);
        }
        // To replace the whole takes two actions, however many keys are gone.
        if gone.len() > 1 && self.replace(site, after) {
            return true;
        }
        let below = |key: &str| {
            let mut path = site.path.clone();
            push_name(&mut path, key);
            path
        };
        let start = self.actions.len();
        for entry in &gone {
            self.push(&below(&entry.key), DraftChange::Remove);
        }
        for entry in new {
            let Some(before) = old.iter().find(|before| before.key == entry.key) else {
                continue;
            };
            let inner = Site {
                path: below(&entry.key),
                parent: Some((site.path.as_str(), entry.key.as_str())),
            };
            if !self.diff(&inner, &before.value, &entry.value) {
                self.actions.truncate(start);
                return self.replace(site, after);
            }
        }
        if !added.is_empty() {
            let entries: Vec<(&str, Value)> = added
                .iter()
                .map(|entry| (entry.key.as_str(), entry.value.to_json()))
                .collect();
            self.update(&site.path, &entries);
        }
        true
    }

    /// Moves the value of a key to another key, without repeating it in the overlay.
    fn rename(&mut self, site: &Site<'_>, from: &str, to: &str) -> bool {
        let (mut source, mut target) = (site.path.clone(), site.path.clone());
        push_name(&mut source, from);
        push_name(&mut target, to);
        // The target of a copy must be there, and an empty object takes on all that is copied.
        self.update(&site.path, &[(to, Value::Object(Map::new()))]);
        self.push(&target, DraftChange::Copy(source.clone()));
        self.push(&source, DraftChange::Remove);
        true
    }

    fn arrays(&mut self, site: &Site<'_>, old: &[Node], new: &[Node], after: &Node) -> bool {
        let is_prefix =
            old.len() <= new.len() && old.iter().zip(new).all(|(old, new)| alike(old, new));
        // An update of an array adds its items behind those that are there.
        if is_prefix {
            let more = new[old.len()..].iter().map(Node::to_json).collect();
            self.push(&site.path, DraftChange::Update(more));
            return true;
        }
        if old.len() == new.len() {
            let before = self.actions.len();
            // An item has no key to be replaced at: where that is needed, the whole array is.
            let is_done = old.iter().zip(new).enumerate().all(|(index, (old, new))| {
                let inner = Site {
                    path: format!("{}[{index}]", site.path),
                    parent: None,
                };
                self.diff(&inner, old, new)
            });
            if is_done {
                return true;
            }
            self.actions.truncate(before);
            return self.replace(site, after);
        }
        let mut kept = new.iter().peekable();
        let gone: Vec<usize> = (0..old.len())
            .filter(|index| kept.next_if(|kept| alike(kept, &old[*index])).is_none())
            .collect();
        if kept.next().is_some() {
            return self.replace(site, after);
        }
        // From the end, so that no removal moves what is still to be removed.
        for index in gone.into_iter().rev() {
            let target = format!("{}[{index}]", site.path);
            self.push(&target, DraftChange::Remove);
        }
        true
    }
}

/// Returns whether two nodes are the same value, wherever they come from.
fn alike(left: &Node, right: &Node) -> bool {
    match (&left.value, &right.value) {
        (NodeValue::Array(left), NodeValue::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| alike(left, right))
        }
        (NodeValue::Object(left), NodeValue::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| left.key == right.key && alike(&left.value, &right.value))
        }
        (left, right) => left == right,
    }
}
