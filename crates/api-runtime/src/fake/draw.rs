//! Drawing a value: which of its alternatives, properties and items there are.

use std::collections::HashSet;
use std::rc::Rc;

use proptest::sample::select;
use proptest::strategy::{BoxedStrategy, Just, NewTree, Strategy, ValueTree as _};
use proptest::test_runner::{Config, Reason, TestRunner};
use serde_json::Value;

use super::plan::{Array, Branch, Form, Id, NONE, Object, Plan};
use super::tree::{Alternative, Entry, Later, Parts, Tree};

/// The depth from which a value has nothing that its schema does not demand.
const DEEP: i32 = 4;
/// The maximum number of items and entries that are made beyond those that a schema demands, at the
/// top.
const MORE: usize = 3;
/// The maximum number of parts that a value has beyond the least number for its schema.
const MORE_PARTS: usize = 1_000;
/// The largest least number of parts that values are made for.
const MOST_PARTS: usize = 100_000;
/// How often an item is drawn that must differ from others.
const TRIES: usize = 16;
/// How often a text is drawn that must match what it is not made for. Each text has its own number,
/// so that many of them do not use up what one needs.
const REJECTS: u32 = 1_000;

/// Which values are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taste {
    /// All that a schema accepts.
    Any,
    /// One of the examples of its parts, with the optional ones.
    Example,
}

/// A strategy for the values of a schema. What keywords demand that it does not know must be checked.
#[derive(Debug)]
pub(super) struct Drawn {
    pub(super) plan: Rc<Plan>,
    pub(super) taste: Taste,
}

impl Strategy for Drawn {
    type Tree = Tree;
    type Value = Value;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let least = self.plan.least(0);
        if least == NONE {
            return Err("its schema accepts no value".into());
        }
        if least > MOST_PARTS {
            return Err(format!("its smallest value has more than {MOST_PARTS} parts").into());
        }
        let mut drawing = Drawing {
            plan: &self.plan,
            taste: self.taste,
            left: MORE_PARTS,
            runner,
        };
        drawing.tree(0, 0)
    }
}

/// Draws the least value of a schema, for a value that shrinks to it.
pub(super) fn least(plan: &Rc<Plan>, id: Id, runner: &mut TestRunner) -> Result<Tree, Reason> {
    let mut drawing = Drawing {
        plan,
        taste: Taste::Any,
        left: 0,
        runner,
    };
    drawing.tree(id, DEEP)
}

/// A value that is being drawn.
///
/// What a schema demands is drawn in any case, and ends, since it is what the least number of parts
/// counts. Everything else is taken from what is left of [`MORE_PARTS`] before it is drawn.
struct Drawing<'d> {
    plan: &'d Rc<Plan>,
    taste: Taste,
    left: usize,
    runner: &'d mut TestRunner,
}

impl Drawing<'_> {
    fn tree(&mut self, id: Id, depth: i32) -> Result<Tree, Reason> {
        let node = self.plan.node(id);
        if self.taste == Taste::Example
            && let Some(example) = &node.example
        {
            return self.leaf(&Just(example.clone()).boxed());
        }
        match &node.form {
            Form::Nothing => Err("its schema accepts no value".into()),
            Form::Values(values) => self.values(values),
            Form::Scalar(strategy) => self.leaf(strategy),
            Form::Choice(branches) => self.choice(branches, depth),
            Form::Object(object) => self.object(object, depth),
            Form::Array(array) => self.array(array, depth),
            Form::JsonText(content) => {
                let content = self.tree(*content, depth + 1)?;
                Ok(Tree::JsonText(Box::new(content)))
            }
        }
    }

    fn leaf(&mut self, strategy: &BoxedStrategy<Value>) -> Result<Tree, Reason> {
        let config = Config {
            max_local_rejects: REJECTS,
            ..self.runner.config().clone()
        };
        let mut runner = TestRunner::new_with_rng(config, self.runner.new_rng());
        Ok(Tree::Leaf(strategy.new_tree(&mut runner)?))
    }

    fn values(&mut self, values: &[Value]) -> Result<Tree, Reason> {
        match (self.taste, values.first()) {
            (Taste::Example, Some(first)) => self.leaf(&Just(first.clone()).boxed()),
            _ => self.leaf(&select(values.to_vec()).boxed()),
        }
    }

    /// Draws a value of one of the alternatives for which there are parts left.
    fn choice(&mut self, branches: &[Branch], depth: i32) -> Result<Tree, Reason> {
        let plan = self.plan;
        let possible = branches.iter().filter(|it| plan.least(it.id) != NONE);
        let mut possible: Vec<&Branch> = possible.collect();
        let least = possible.iter().map(|branch| plan.least(branch.id));
        let least = least.min().unwrap_or_default();
        let more = |branch: &Branch| plan.least(branch.id) - least;
        // Where a value is deep, those that end it.
        let most = if depth < DEEP { self.left } else { 0 };
        possible.retain(|branch| more(branch) <= most);
        let chosen = match self.taste {
            Taste::Example => possible.iter().position(|branch| !branch.is_null),
            Taste::Any => {
                // Null is rarer than others.
                let weight = |branch: &Branch| if branch.is_null { 1 } else { 3 };
                let weighted = possible.iter().enumerate();
                let weighted =
                    weighted.flat_map(|(at, branch)| std::iter::repeat_n(at, weight(branch)));
                let weighted: Vec<usize> = weighted.collect();
                Some(weighted[self.below(weighted.len())])
            }
        };
        let branch = possible[chosen.unwrap_or_default()];
        self.left -= more(branch);
        let tree = self.tree(branch.id, depth)?;
        let first = possible[0];
        // A value that shrinks has no more parts than before.
        let is_simpler = first.id != branch.id && more(first) <= more(branch);
        let later = is_simpler.then(|| Later {
            plan: Rc::clone(self.plan),
            id: first.id,
            tag: first.tag.clone(),
            runner: TestRunner::new_with_rng(self.runner.config().clone(), self.runner.new_rng()),
        });
        let chosen = Alternative::new(tree, branch.tag.clone(), later);
        Ok(Tree::Choice(Box::new(chosen)))
    }

    fn object(&mut self, object: &Object, depth: i32) -> Result<Tree, Reason> {
        let mut names: Vec<&str> = object.required.iter().map(|(name, _)| &name[..]).collect();
        let count = object.optional.len();
        let start = match self.taste {
            Taste::Any => self.below(count),
            Taste::Example => 0,
        };
        // Any property can be among the few for which there is room.
        for (name, id) in (0..count).map(|at| &object.optional[(start + at) % count]) {
            let has_room = names.len() < object.most && self.plan.least(*id) <= self.left;
            if has_room && self.is_shown(depth) {
                self.left -= self.plan.least(*id);
                names.push(name);
            }
        }
        self.complete(object, &mut names);
        let mut entries = Vec::new();
        for (name, id) in object.required.iter().chain(&object.optional) {
            if names.contains(&name.as_str()) {
                entries.push(Entry {
                    is_required: object.required.iter().any(|(own, _)| own == name),
                    name: Some(name.clone()),
                    tree: self.tree(*id, depth + 1)?,
                });
            }
        }
        self.others(object, depth, &mut entries)?;
        Ok(Tree::Parts(Parts::object(entries, object.least)))
    }

    /// Returns whether an optional property is there. The deeper it is, the rarer, so that a value
    /// has a size even if its schema refers to itself in many places.
    fn is_shown(&mut self, depth: i32) -> bool {
        match self.taste {
            _ if depth >= DEEP => false,
            Taste::Example => true,
            Taste::Any => self.below(2 << depth) == 0,
        }
    }

    /// Adds the properties that an object must have, and those that others of it need, or removes
    /// those others.
    fn complete<'o>(&mut self, object: &'o Object, names: &mut Vec<&'o str>) {
        let mut optional: Vec<&(String, Id)> = object.optional.iter().collect();
        optional.retain(|(_, id)| self.plan.least(*id) != NONE);
        optional.sort_by_key(|(_, id)| self.plan.least(*id));
        for (name, needed) in &object.dependent {
            if !names.contains(&name.as_str()) {
                continue;
            }
            for other in needed {
                let known = optional.iter().find(|(own, _)| own == other);
                let affordable = known.filter(|(_, id)| self.plan.least(*id) <= self.left);
                if let Some((other, id)) = affordable
                    && !names.contains(&other.as_str())
                    && names.len() < object.most
                {
                    self.left -= self.plan.least(*id);
                    names.push(other);
                }
            }
        }
        // As often as one may leave out another.
        for _ in 0..=object.dependent.len() {
            for (name, needed) in &object.dependent {
                if !needed.iter().all(|other| names.contains(&other.as_str())) {
                    names.retain(|own| own != name);
                }
            }
        }
        for (name, _) in optional {
            if names.len() < object.least && !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }

    /// Draws the properties that the schema does not name.
    fn others(
        &mut self,
        object: &Object,
        depth: i32,
        entries: &mut Vec<Entry>,
    ) -> Result<(), Reason> {
        let Some(others) = &object.others else {
            return Ok(());
        };
        let cost = self.plan.least(others.id);
        let needed = object.least.saturating_sub(entries.len());
        let room = object.most.saturating_sub(entries.len());
        let more = if others.is_declared && cost != NONE {
            self.more(depth, room.saturating_sub(needed), cost)
        } else {
            0
        };
        // A name that the schema knows would be the property of another schema.
        let mut taken: HashSet<String> = object
            .required
            .iter()
            .chain(&object.optional)
            .map(|(name, _)| name.clone())
            .collect();
        for _ in 0..needed + more {
            let mut names = (0..TRIES).map(|_| others.name.new_tree(self.runner));
            let name = names.find_map(|name| {
                let name = name.ok()?.current();
                taken.insert(name.clone()).then_some(name)
            });
            // There may be no further name.
            let Some(name) = name else {
                break;
            };
            entries.push(Entry {
                is_required: false,
                name: Some(name),
                tree: self.tree(others.id, depth + 1)?,
            });
        }
        Ok(())
    }

    fn array(&mut self, array: &Array, depth: i32) -> Result<Tree, Reason> {
        let needed = array.least.saturating_sub(array.first.len());
        let room = array.most.saturating_sub(array.first.len());
        let cost = self.plan.least(array.items);
        let more = self.more(depth, room.saturating_sub(needed), cost);
        let items = std::iter::repeat_n(array.items, needed + more);
        let mut seen = HashSet::new();
        let mut entries = Vec::new();
        for (at, id) in array.first.iter().copied().chain(items).enumerate() {
            let mut tree = self.tree(id, depth + 1)?;
            for _ in 0..TRIES {
                if !array.is_unique || !seen.contains(&tree.current().to_string()) {
                    break;
                }
                tree = self.tree(id, depth + 1)?;
            }
            // An item that cannot be made different is left out, if there are enough without it.
            if array.is_unique && !seen.insert(tree.current().to_string()) && at >= array.least {
                continue;
            }
            entries.push(Entry {
                is_required: at < array.first.len(),
                name: None,
                tree,
            });
        }
        Ok(Tree::Parts(Parts::array(entries, array.least)))
    }

    /// Returns how many more items or entries are made than a schema demands, each of at least so many
    /// parts, and takes these.
    fn more(&mut self, depth: i32, room: usize, cost: usize) -> usize {
        let most = match self.taste {
            Taste::Any => MORE.saturating_sub(depth.unsigned_abs() as usize),
            Taste::Example => usize::from(depth < DEEP),
        };
        let most = most.min(room).min(self.left / cost);
        let more = match self.taste {
            Taste::Any => self.below(most + 1),
            Taste::Example => most,
        };
        self.left -= more * cost;
        more
    }

    /// Returns a random number below a bound, or 0 if the bound is 0.
    fn below(&mut self, bound: usize) -> usize {
        let drawn = (0..bound.max(1)).new_tree(self.runner);
        drawn.map_or(0, |drawn| drawn.current())
    }
}
