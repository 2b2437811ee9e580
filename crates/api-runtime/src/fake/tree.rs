//! A drawn value, which shrinks: parts that are not needed leave it, alternatives become the first
//! one, and then each part shrinks by itself.

use std::rc::Rc;

use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value};

use super::draw;
use super::plan::{Id, Plan};

/// A drawn value.
pub(super) enum Tree {
    Leaf(Box<dyn ValueTree<Value = Value>>),
    Choice(Box<Alternative>),
    Parts(Parts),
    /// A string that holds the JSON of a value.
    JsonText(Box<Tree>),
}

impl ValueTree for Tree {
    type Value = Value;

    fn current(&self) -> Value {
        match self {
            Self::Leaf(leaf) => leaf.current(),
            Self::Choice(choice) => choice.current(),
            Self::Parts(parts) => parts.current(),
            Self::JsonText(content) => Value::String(content.current().to_string()),
        }
    }

    fn simplify(&mut self) -> bool {
        match self {
            Self::Leaf(leaf) => leaf.simplify(),
            Self::Choice(choice) => choice.simplify(),
            Self::Parts(parts) => parts.simplify(),
            Self::JsonText(content) => content.simplify(),
        }
    }

    fn complicate(&mut self) -> bool {
        match self {
            Self::Leaf(leaf) => leaf.complicate(),
            Self::Choice(choice) => choice.complicate(),
            Self::Parts(parts) => parts.complicate(),
            Self::JsonText(content) => content.complicate(),
        }
    }
}

/// The property by which a discriminator selects an alternative, with its values.
type Tag = Option<(String, Vec<Value>)>;

/// A value of an alternative.
pub(super) struct Alternative {
    tree: Tree,
    tag: Tag,
    /// The alternative that it shrinks to.
    later: Option<Later>,
    /// The value before the last step, if that was to another alternative.
    before: Option<(Tree, Tag)>,
}

/// An alternative of which a value is drawn when it is needed.
pub(super) struct Later {
    pub(super) plan: Rc<Plan>,
    pub(super) id: Id,
    pub(super) tag: Tag,
    pub(super) runner: TestRunner,
}

impl Alternative {
    pub(super) fn new(tree: Tree, tag: Tag, later: Option<Later>) -> Self {
        Self {
            tree,
            tag,
            later,
            before: None,
        }
    }

    fn current(&self) -> Value {
        let mut value = self.tree.current();
        // An alternative that says what its tag is has one of them already.
        if let (Value::Object(entries), Some((property, tags))) = (&mut value, &self.tag)
            && let Some(first) = tags.first()
            && !entries.get(property).is_some_and(|tag| tags.contains(tag))
        {
            entries.insert(property.clone(), first.clone());
        }
        value
    }

    fn simplify(&mut self) -> bool {
        self.before = None;
        if let Some(mut later) = self.later.take()
            && let Ok(tree) = draw::least(&later.plan, later.id, &mut later.runner)
        {
            let before = std::mem::replace(&mut self.tree, tree);
            let tag = std::mem::replace(&mut self.tag, later.tag);
            self.before = Some((before, tag));
            return true;
        }
        self.tree.simplify()
    }

    fn complicate(&mut self) -> bool {
        let Some((tree, tag)) = self.before.take() else {
            return self.tree.complicate();
        };
        (self.tree, self.tag) = (tree, tag);
        true
    }
}

/// The entries of an object, or the items of an array.
pub(super) struct Parts {
    entries: Vec<Entry>,
    is_there: Vec<bool>,
    is_object: bool,
    /// The number of parts that there must be.
    least: usize,
    /// The next step: each part is removed, and then each shrinks.
    next: usize,
    last: Option<Step>,
}

/// A part of a value.
pub(super) struct Entry {
    /// The name of a property.
    pub(super) name: Option<String>,
    pub(super) is_required: bool,
    pub(super) tree: Tree,
}

/// What a step has changed.
#[derive(Clone, Copy)]
enum Step {
    Removed(usize),
    Shrunk(usize),
}

impl Parts {
    pub(super) fn object(entries: Vec<Entry>, least: usize) -> Self {
        Self::new(entries, least, true)
    }

    pub(super) fn array(entries: Vec<Entry>, least: usize) -> Self {
        Self::new(entries, least, false)
    }

    fn new(entries: Vec<Entry>, least: usize, is_object: bool) -> Self {
        Self {
            is_there: vec![true; entries.len()],
            entries,
            is_object,
            least,
            next: 0,
            last: None,
        }
    }

    fn current(&self) -> Value {
        let entries = self.entries.iter().zip(&self.is_there);
        let there = entries.filter_map(|(entry, is_there)| is_there.then_some(entry));
        if !self.is_object {
            return there.map(|entry| entry.tree.current()).collect();
        }
        let named = there.filter_map(|entry| Some((entry.name.clone()?, entry.tree.current())));
        Value::Object(named.collect::<Map<String, Value>>())
    }

    fn simplify(&mut self) -> bool {
        let count = self.entries.len();
        while self.next < count {
            let at = self.next;
            self.next += 1;
            let there = self.is_there.iter().filter(|is_there| **is_there).count();
            if !self.entries[at].is_required && there > self.least {
                self.is_there[at] = false;
                self.last = Some(Step::Removed(at));
                return true;
            }
        }
        while self.next < 2 * count {
            let at = self.next - count;
            if self.is_there[at] && self.entries[at].tree.simplify() {
                self.last = Some(Step::Shrunk(at));
                return true;
            }
            self.next += 1;
        }
        false
    }

    fn complicate(&mut self) -> bool {
        match self.last {
            None => false,
            Some(Step::Removed(at)) => {
                self.is_there[at] = true;
                self.last = None;
                true
            }
            Some(Step::Shrunk(at)) => {
                let is_changed = self.entries[at].tree.complicate();
                if !is_changed {
                    self.last = None;
                }
                is_changed
            }
        }
    }
}
