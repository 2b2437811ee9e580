//! The search for a value that fits some schemas and does not fit others: a tableau.
//!
//! A schema is contained in another one if no value fits the first and does not fit the second.
//! For each type of JSON, the search writes the schemas as alternatives of conjunctions, and then
//! looks for a value of each conjunction. The parts of arrays and objects are searched in the same
//! way. A set of schemas that contains itself is searched once: a smallest value cannot have a part
//! of the same set, so within the search of a set, the set has no value.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use contract::model::Keywords;
use serde_json::Value;

use super::evaluate::evaluate;
use super::expand::{Alternatives, Atom, Expansion};
use super::facts::{Fact, Facts};
use super::joined::Named;
use super::literal::{Literal, Role};
use super::outcome::Outcome;
use super::value::{Type, is_equal};
use super::{Context, Reading};
use crate::pair::{Class, Side};

/// The maximum number of schemas, facts and conjunctions that one search looks at.
const MOST_STEPS: usize = 100_000;
/// The reason to give up a search that takes too many steps.
pub(super) const LONG: &str = "too many alternatives";
/// The deepest nesting of values that are searched.
const MOST_DEPTH: usize = 40;

/// More conditions for a value than schemas.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extra {
    pub(crate) excluded: Vec<Value>,
    pub(crate) facts: Vec<Fact>,
    /// Keywords of a sender that are no schema of their own.
    pub(crate) sent: Option<(Side, Rc<Keywords>)>,
}

impl Extra {
    fn is_empty(&self) -> bool {
        self.excluded.is_empty() && self.facts.is_empty() && self.sent.is_none()
    }
}

/// A search, with what it has found out so far.
pub(crate) struct Tableau<'p, 'c> {
    pub(crate) context: &'p Context<'c>,
    pub(crate) reading: Reading,
    /// Pairs of classes of which the first is taken to be contained in the second.
    assumed: HashSet<(Class, Class)>,
    known: RefCell<HashMap<Vec<Literal>, Outcome>>,
    /// The sets of schemas that are being searched, from the outermost; `None` for one with more
    /// conditions, which is not met again.
    path: RefCell<Vec<Option<Vec<Literal>>>>,
    /// The outermost set on the path that the search has met again.
    met: Cell<usize>,
    steps: Cell<usize>,
    /// The properties that the search for an object has met and that its schemas do not send.
    pub(super) unsent: RefCell<BTreeSet<String>>,
    /// The properties that schemas name.
    pub(super) named: RefCell<HashMap<Class, Rc<Named>>>,
}

/// A conjunction in the making.
#[derive(Clone, Default)]
pub(super) struct Branch {
    pub(super) seen: Vec<Literal>,
    pub(super) facts: Facts,
    open: Vec<Rc<Alternatives>>,
    /// The number of further branches of `anyOf` that hold.
    pub(super) joined: usize,
}

impl<'p, 'c> Tableau<'p, 'c> {
    pub(crate) fn new(
        context: &'p Context<'c>,
        reading: Reading,
        assumed: HashSet<(Class, Class)>,
    ) -> Self {
        Self {
            context,
            reading,
            assumed,
            known: RefCell::default(),
            path: RefCell::default(),
            met: Cell::new(usize::MAX),
            steps: Cell::new(0),
            unsent: RefCell::default(),
            named: RefCell::default(),
        }
    }

    /// Searches for a value that fulfils all literals.
    pub(crate) fn solve(&self, mut literals: Vec<Literal>, extra: &Extra) -> Outcome {
        // The same set must be found again, in any order.
        literals.sort_unstable();
        literals.dedup();
        let is_plain = extra.is_empty();
        let depth = self.path.borrow().len();
        if is_plain {
            if let Some(known) = self.known.borrow().get(&literals) {
                return known.clone();
            }
            let path = self.path.borrow();
            let met = path.iter().position(|set| set.as_ref() == Some(&literals));
            if let Some(met) = met {
                self.met.set(self.met.get().min(met));
                return Outcome::Nothing;
            }
        }
        if depth >= MOST_DEPTH {
            return Outcome::Unknown("values that nest deeply");
        }
        let before = self.met.replace(usize::MAX);
        self.path
            .borrow_mut()
            .push(is_plain.then(|| literals.clone()));
        let outcome = self.solve_types(&literals, extra, &Type::ALL);
        self.path.borrow_mut().pop();
        let met = self.met.get();
        // That there is none may hold only because a set further out is taken to have none. A value
        // stays one.
        let is_settled = matches!(outcome, Outcome::Value(_)) || met >= depth;
        if is_plain && is_settled {
            self.known.borrow_mut().insert(literals, outcome.clone());
        }
        self.met
            .set(before.min(if met < depth { met } else { usize::MAX }));
        outcome
    }

    /// Searches for an object that fulfils all literals.
    pub(crate) fn solve_object(&self, literals: &[Literal], extra: &Extra) -> Outcome {
        self.path.borrow_mut().push(None);
        let outcome = self.solve_types(literals, extra, &[Type::Object]);
        self.path.borrow_mut().pop();
        outcome
    }

    /// Searches for a string that fulfils all literals.
    pub(crate) fn solve_text(&self, literals: &[Literal], extra: &Extra) -> Outcome {
        self.path.borrow_mut().push(None);
        let outcome = self.solve_types(literals, extra, &[Type::String]);
        self.path.borrow_mut().pop();
        outcome
    }

    fn solve_types(&self, literals: &[Literal], extra: &Extra, types: &[Type]) -> Outcome {
        let mut unknown = None;
        // One type after the other: most keywords concern a single type, so each search stays
        // small.
        for kind in types.iter().copied() {
            let mut branch = Branch::default();
            branch.facts.excluded.clone_from(&extra.excluded);
            let literals = literals.iter().copied().map(Atom::Literal);
            let facts = extra.facts.iter().cloned().map(Atom::Fact);
            let mut all = Expansion::default();
            if let Some((side, keywords)) = &extra.sent {
                match self.expand_sent(*side, keywords, kind) {
                    Some(sent) => all = sent,
                    None => continue,
                }
            }
            all.atoms.extend(literals.chain(facts));
            if !self.add(&mut branch, all, kind) {
                continue;
            }
            match self.search(&branch, kind) {
                Outcome::Value(value) => return Outcome::Value(value),
                Outcome::Nothing => {}
                Outcome::Unknown(why) => unknown = Some(why),
            }
        }
        unknown.map_or(Outcome::Nothing, Outcome::Unknown)
    }

    /// Counts steps. Returns false if the search, or all searches together, have taken too many.
    pub(super) fn count(&self, steps: usize) -> bool {
        let taken = self.steps.get().saturating_add(steps);
        self.steps.set(taken);
        self.context.budget.steps(steps, taken) && taken <= MOST_STEPS
    }

    /// Adds atoms to a conjunction. Returns false if nothing can fulfil it any more.
    pub(super) fn add(&self, branch: &mut Branch, expansion: Expansion, kind: Type) -> bool {
        let mut atoms = Vec::new();
        if !self.open(branch, &mut atoms, expansion) {
            return false;
        }
        while let Some(atom) = atoms.pop() {
            if !self.count(1) {
                // Not a contradiction, so the branch stays, and its conclusion is that nothing is
                // known.
                branch.facts.unclear = Some(LONG);
                return true;
            }
            let literal = match atom {
                Atom::Fact(fact) => {
                    if !branch.facts.add(fact) {
                        return false;
                    }
                    continue;
                }
                Atom::Literal(literal) => literal,
            };
            if branch.seen.contains(&literal) {
                continue;
            }
            if branch
                .seen
                .iter()
                .any(|other| self.contradicts(literal, *other))
            {
                return false;
            }
            branch.seen.push(literal);
            let pending = atoms.iter().filter_map(|atom| match atom {
                Atom::Literal(literal) => Some(*literal),
                Atom::Fact(_) => None,
            });
            // Only what a receiver refuses looks at what is sent.
            let beside: Vec<Literal> = if literal.is_positive {
                Vec::new()
            } else {
                branch.seen.iter().copied().chain(pending).collect()
            };
            let Some(expansion) = self.expand(literal, kind, &beside) else {
                return false;
            };
            if !self.open(branch, &mut atoms, expansion) {
                return false;
            }
        }
        true
    }

    /// Adds the alternatives of an expansion to a conjunction, and the rest of it to `atoms`.
    /// Returns false if there are alternatives of which none is left.
    fn open(&self, branch: &mut Branch, atoms: &mut Vec<Atom>, expansion: Expansion) -> bool {
        atoms.extend(expansion.atoms);
        for mut alternatives in expansion.alternatives {
            // If this is too much, the next step says so.
            self.count(alternatives.iter().map(Vec::len).sum());
            match alternatives.len() {
                0 => return false,
                // Without a choice there is nothing to try again, and the branch is not copied.
                1 => atoms.append(&mut alternatives[0]),
                _ => branch.open.push(Rc::new(alternatives)),
            }
        }
        true
    }

    fn contradicts(&self, one: Literal, other: Literal) -> bool {
        if one.is_positive == other.is_positive {
            return false;
        }
        if one.class == other.class {
            return true;
        }
        let (fits, fails) = if one.is_positive {
            (one, other)
        } else {
            (other, one)
        };
        // By assumption, the receiver's schema accepts all that the sender's schema describes.
        fits.role == Role::Sender
            && fails.role == Role::Receiver
            && self.assumed.contains(&(fits.class, fails.class))
    }

    pub(super) fn search(&self, branch: &Branch, kind: Type) -> Outcome {
        if !self.count(1) {
            return Outcome::Unknown(LONG);
        }
        let simplified;
        let branch = if kind == Type::Object && !branch.open.is_empty() {
            let Some(simpler) = self.simplify(branch) else {
                return Outcome::Nothing;
            };
            simplified = simpler;
            &simplified
        } else {
            branch
        };
        // The fewest first, so that a contradiction shows before the others multiply. Where one holds
        // anyway, there is no choice.
        let mut rest = branch.clone();
        rest.open
            .retain(|alternatives| !is_chosen(branch, alternatives));
        let counts = rest
            .open
            .iter()
            .map(|alternatives| self.left(&rest, alternatives));
        let fewest = counts.enumerate().min_by_key(|(_, count)| *count);
        let Some((fewest, count)) = fewest else {
            return self.conclude(&rest, kind);
        };
        if count == 0 {
            return Outcome::Nothing;
        }
        let alternatives = rest.open.swap_remove(fewest);
        let mut unknown = None;
        for alternative in alternatives.iter() {
            let mut next = rest.clone();
            let chosen = Expansion {
                atoms: alternative.clone(),
                alternatives: Vec::new(),
            };
            if !self.add(&mut next, chosen, kind) {
                continue;
            }
            match self.search(&next, kind) {
                Outcome::Value(value) => return Outcome::Value(value),
                Outcome::Nothing => {}
                Outcome::Unknown(why) => unknown = Some(why),
            }
        }
        unknown.map_or(Outcome::Nothing, Outcome::Unknown)
    }

    /// Returns the number of alternatives that no literal of the conjunction contradicts. Those of the
    /// sender's union are mostly left with one, since the receiver has the others too.
    fn left(&self, branch: &Branch, alternatives: &[Vec<Atom>]) -> usize {
        let is_left = |atoms: &&Vec<Atom>| {
            !atoms.iter().any(|atom| match atom {
                Atom::Literal(literal) => {
                    let mut seen = branch.seen.iter();
                    seen.any(|other| self.contradicts(*literal, *other))
                }
                Atom::Fact(_) => false,
            })
        };
        alternatives.iter().filter(is_left).count()
    }

    /// Drops alternatives by what they say about a property: those that the property cannot fulfil,
    /// and all of those of which one holds anyway. Returns `None` if none of some is left.
    ///
    /// Without this, the branches of a `oneOf` that a property tells apart would be tried in all
    /// combinations.
    fn simplify(&self, branch: &Branch) -> Option<Branch> {
        let mut out = branch.clone();
        out.open.clear();
        let objects = &branch.facts.objects;
        'next: for alternatives in &branch.open {
            let mut left = Vec::new();
            for alternative in alternatives.iter() {
                if let [Atom::Fact(Fact::Property(name, literal))] = alternative.as_slice() {
                    let mut literals = objects.literals(name);
                    if objects.absent.contains(name) {
                        continue;
                    }
                    if !literals.is_empty() {
                        let denied = Literal {
                            is_positive: !literal.is_positive,
                            ..*literal
                        };
                        let is_empty = |literals: Vec<Literal>| {
                            matches!(self.solve(literals, &Extra::default()), Outcome::Nothing)
                        };
                        // In this order: what is taken to be contained makes an alternative
                        // impossible that would otherwise hold anyway.
                        literals.push(*literal);
                        if is_empty(literals.clone()) {
                            continue;
                        }
                        literals.pop();
                        literals.push(denied);
                        if objects.required.contains(name) && is_empty(literals) {
                            continue 'next;
                        }
                    }
                }
                left.push(alternative.clone());
            }
            match left.len() {
                0 => return None,
                _ => out.open.push(Rc::new(left)),
            }
        }
        Some(out)
    }

    /// Searches for a value of a conjunction without alternatives.
    fn conclude(&self, branch: &Branch, kind: Type) -> Outcome {
        let facts = &branch.facts;
        if let Some(why) = facts.unclear {
            return Outcome::Unknown(why);
        }
        if let Some(values) = &facts.among {
            return self.choose(branch, values, kind);
        }
        let free = |values: &[Value]| {
            let mut free = values
                .iter()
                .filter(|value| !facts.excluded.iter().any(|other| is_equal(value, other)));
            free.next()
                .map_or(Outcome::Nothing, |value| Outcome::Value(value.clone()))
        };
        match kind {
            Type::Null => free(&[Value::Null]),
            Type::Boolean => free(&[false.into(), true.into()]),
            Type::Number => facts.numbers.find(&facts.excluded),
            Type::String => self.string(facts),
            Type::Array => self.array(facts),
            Type::Object => self.joined(branch),
        }
    }

    /// Returns the first of the listed values that fits.
    fn choose(&self, branch: &Branch, values: &[Value], kind: Type) -> Outcome {
        let mut unknown = false;
        for value in values.iter().filter(|value| Type::of(value) == kind) {
            if branch
                .facts
                .excluded
                .iter()
                .any(|other| is_equal(value, other))
            {
                continue;
            }
            // The facts are compared for numbers and strings alone, so the schemas judge the value
            // too.
            let mut fits = self.accepts(&branch.facts, value);
            for literal in &branch.seen {
                let is_lenient =
                    literal.role == Role::Receiver && self.reading == Reading::Response;
                let result = evaluate(self.context, literal.class, value, is_lenient);
                fits = match (fits, result) {
                    (Some(false), _) => Some(false),
                    (_, Some(result)) if result != literal.is_positive => Some(false),
                    (fits, Some(_)) => fits,
                    (_, None) => None,
                };
            }
            match fits {
                Some(true) => return Outcome::Value(value.clone()),
                Some(false) => {}
                None => unknown = true,
            }
        }
        if unknown {
            Outcome::Unknown("listed values that cannot be evaluated")
        } else {
            Outcome::Nothing
        }
    }

    /// Returns whether a number or string fulfils the facts. Other values are left to the schemas.
    fn accepts(&self, facts: &Facts, value: &Value) -> Option<bool> {
        match value {
            Value::Number(number) => facts.numbers.accepts(super::Decimal::parse(number)?),
            Value::String(text) => self.fits(&facts.strings, text),
            _ => Some(true),
        }
    }
}

/// Returns whether a conjunction has all literals of one of some alternatives that consist of literals
/// alone.
fn is_chosen(branch: &Branch, alternatives: &[Vec<Atom>]) -> bool {
    alternatives.iter().any(|atoms| {
        atoms.iter().all(|atom| match atom {
            Atom::Literal(literal) => branch.seen.contains(literal),
            Atom::Fact(_) => false,
        })
    })
}
