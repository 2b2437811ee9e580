//! The filters of JSONPaths (RFC 9535, section 2.3.5): comparisons, tests and functions.

use std::cmp::Ordering;

use jsonpath_rust::parser::model::{
    Comparable, Comparison, Filter, FilterAtom, FnArg, Literal, Segment, Selector, SingularQuery,
    SingularQuerySegment, Test, TestFunction,
};

use super::pattern::{Extent, compile};
use super::select::{Evaluation, Exceeded, children, position};
use crate::node::{Node, NodeValue};

/// The number of patterns from the document that an evaluation keeps compiled.
const MOST_COMPILED: usize = 100;

/// A side of a comparison, or an argument of a function.
#[derive(Debug, Clone)]
enum Operand<'a> {
    /// The result of a query that selects nothing.
    Nothing,
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(&'a str),
    /// An array or an object.
    Collection(&'a Node),
}

impl<'a> Evaluation<'_, 'a> {
    /// Returns whether a filter holds for a node.
    pub(super) fn holds(&self, filter: &Filter, current: &'a Node) -> Result<bool, Exceeded> {
        match filter {
            Filter::Or(parts) => {
                for part in parts {
                    if self.holds(part, current)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Filter::And(parts) => {
                for part in parts {
                    if !self.holds(part, current)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Filter::Atom(FilterAtom::Filter { expr, not }) => {
                Ok(self.holds(expr, current)? != *not)
            }
            Filter::Atom(FilterAtom::Test { expr, not }) => Ok(self.test(expr, current)? != *not),
            Filter::Atom(FilterAtom::Comparison(comparison)) => self.compare(comparison, current),
        }
    }

    fn test(&self, test: &Test, current: &'a Node) -> Result<bool, Exceeded> {
        match test {
            Test::RelQuery(segments) => self.exists(segments, current),
            Test::AbsQuery(query) => self.exists(&query.segments, self.root),
            Test::Function(function) => match &**function {
                TestFunction::Match(text, pattern) => {
                    self.is_match(text, pattern, Extent::Whole, current)
                }
                TestFunction::Search(text, pattern) => {
                    self.is_match(text, pattern, Extent::Part, current)
                }
                // The check of types lets no other function through.
                _ => Ok(false),
            },
        }
    }

    fn exists(&self, segments: &[Segment], start: &'a Node) -> Result<bool, Exceeded> {
        if let Some(steps) = singular(segments) {
            return Ok(self.walk(steps, start)?.is_some());
        }
        Ok(!self.nodes(segments, start)?.is_empty())
    }

    /// Returns the node that a query for one node selects.
    fn walk<'s>(
        &self,
        steps: impl Iterator<Item = Step<'s>>,
        start: &'a Node,
    ) -> Result<Option<&'a Node>, Exceeded> {
        let mut at = start;
        for step in steps {
            self.work.visit(1)?;
            let next = match step {
                Step::Name(name) => {
                    self.work.visit(at.as_object().map_or(0, <[_]>::len) / 8)?;
                    at.get(name)
                }
                Step::Index(index) => {
                    let items = at.as_array().unwrap_or_default();
                    position(index, items.len()).map(|index| &items[index])
                }
            };
            match next {
                Some(node) => at = node,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    fn compare(&self, comparison: &Comparison, current: &'a Node) -> Result<bool, Exceeded> {
        let (left, right) = comparison.vals();
        let left = self.comparable(left, current)?;
        let right = self.comparable(right, current)?;
        let is_less = |left: &_, right: &_| order(left, right) == Some(Ordering::Less);
        Ok(match comparison {
            Comparison::Eq(..) => self.equal(&left, &right)?,
            Comparison::Ne(..) => !self.equal(&left, &right)?,
            Comparison::Lt(..) => is_less(&left, &right),
            Comparison::Gt(..) => is_less(&right, &left),
            Comparison::Lte(..) => is_less(&left, &right) || self.equal(&left, &right)?,
            Comparison::Gte(..) => is_less(&right, &left) || self.equal(&left, &right)?,
        })
    }

    fn comparable<'s>(
        &'s self,
        side: &'s Comparable,
        current: &'a Node,
    ) -> Result<Operand<'s>, Exceeded> {
        let node = match side {
            Comparable::Literal(literal) => return Ok(of_literal(literal)),
            Comparable::Function(function) => return self.function(function, current),
            Comparable::SingularQuery(SingularQuery::Current(segments)) => {
                self.walk(segments.iter().map(Step::from), current)?
            }
            Comparable::SingularQuery(SingularQuery::Root(segments)) => {
                self.walk(segments.iter().map(Step::from), self.root)?
            }
        };
        Ok(of_node(node))
    }

    fn function<'s>(
        &'s self,
        function: &'s TestFunction,
        current: &'a Node,
    ) -> Result<Operand<'s>, Exceeded> {
        let count = |count: usize| Operand::Number(count.into());
        Ok(match function {
            TestFunction::Length(argument) => match self.argument(argument, current)? {
                Operand::Text(text) => {
                    self.work.visit(text.len() / 64)?;
                    count(text.chars().count())
                }
                Operand::Collection(node) => count(children(node).count()),
                Operand::Nothing | Operand::Null | Operand::Bool(_) | Operand::Number(_) => {
                    Operand::Nothing
                }
            },
            TestFunction::Count(argument) => count(self.list(argument, current)?.len()),
            TestFunction::Value(argument) => match self.list(argument, current)?.as_slice() {
                [only] => of_node(Some(only)),
                _ => Operand::Nothing,
            },
            // The check of types lets no other function through.
            TestFunction::Match(..) | TestFunction::Search(..) | TestFunction::Custom(..) => {
                Operand::Nothing
            }
        })
    }

    /// Returns the nodes of an argument that is a query.
    fn list(&self, argument: &FnArg, current: &'a Node) -> Result<Vec<&'a Node>, Exceeded> {
        let found = match argument {
            FnArg::Test(test) => match &**test {
                Test::RelQuery(segments) => self.nodes(segments, current)?,
                Test::AbsQuery(query) => self.nodes(&query.segments, self.root)?,
                Test::Function(_) => Vec::new(),
            },
            FnArg::Literal(_) | FnArg::Filter(_) => Vec::new(),
        };
        Ok(found.into_iter().map(|selected| selected.node).collect())
    }

    /// Returns the value of an argument that must be a value, which is nothing if the argument is a
    /// filter or a query that may select several nodes.
    fn argument<'s>(
        &'s self,
        argument: &'s FnArg,
        current: &'a Node,
    ) -> Result<Operand<'s>, Exceeded> {
        let (segments, start) = match argument {
            FnArg::Literal(literal) => return Ok(of_literal(literal)),
            FnArg::Filter(_) => return Ok(Operand::Nothing),
            FnArg::Test(test) => match &**test {
                Test::RelQuery(segments) => (segments, current),
                Test::AbsQuery(query) => (&query.segments, self.root),
                Test::Function(function) => return self.function(function, current),
            },
        };
        match singular(segments) {
            Some(steps) => Ok(of_node(self.walk(steps, start)?)),
            None => Ok(Operand::Nothing),
        }
    }

    fn is_match(
        &self,
        text: &FnArg,
        pattern: &FnArg,
        extent: Extent,
        current: &'a Node,
    ) -> Result<bool, Exceeded> {
        let (Operand::Text(text), Operand::Text(pattern)) = (
            self.argument(text, current)?,
            self.argument(pattern, current)?,
        ) else {
            return Ok(false);
        };
        // The time grows with the product of both, but 64 bytes take less than a visit.
        self.work.visit(1 + text.len() / 64)?;
        let key = (pattern.to_owned(), extent);
        if let Some(is_match) = self.patterns.matches(&key, text) {
            return Ok(is_match);
        }
        let mut compiled = self.compiled.borrow_mut();
        if compiled.len() >= MOST_COMPILED && !compiled.contains_key(&key) {
            compiled.clear();
        }
        if !compiled.contains_key(&key) {
            // Compiling takes about as long as this many visits.
            self.work.visit(10_000)?;
        }
        let regex = compiled
            .entry(key)
            .or_insert_with(|| compile(pattern, extent));
        Ok(regex.as_ref().is_some_and(|regex| regex.is_match(text)))
    }

    fn equal(&self, left: &Operand<'_>, right: &Operand<'_>) -> Result<bool, Exceeded> {
        Ok(match (left, right) {
            (Operand::Nothing, Operand::Nothing) | (Operand::Null, Operand::Null) => true,
            (Operand::Bool(left), Operand::Bool(right)) => left == right,
            (Operand::Text(left), Operand::Text(right)) => left == right,
            (Operand::Number(_), Operand::Number(_)) => order(left, right) == Some(Ordering::Equal),
            (Operand::Collection(left), Operand::Collection(right)) => self.same(left, right)?,
            _ => false,
        })
    }

    /// Returns whether two nodes are the same value; the order of an object's entries is none.
    fn same(&self, left: &Node, right: &Node) -> Result<bool, Exceeded> {
        self.work.visit(1)?;
        match (&left.value, &right.value) {
            (NodeValue::Array(left), NodeValue::Array(right)) => {
                if left.len() != right.len() {
                    return Ok(false);
                }
                for (left, right) in left.iter().zip(right) {
                    if !self.same(left, right)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (NodeValue::Object(entries), NodeValue::Object(others)) => {
                if entries.len() != others.len() {
                    return Ok(false);
                }
                for entry in entries {
                    self.work.visit(others.len() / 8)?;
                    match right.get(&entry.key) {
                        Some(other) if self.same(&entry.value, other)? => {}
                        _ => return Ok(false),
                    }
                }
                Ok(true)
            }
            (NodeValue::Array(_) | NodeValue::Object(_), _)
            | (_, NodeValue::Array(_) | NodeValue::Object(_)) => Ok(false),
            _ => self.equal(&of_node(Some(left)), &of_node(Some(right))),
        }
    }
}

/// A step of a query for one node.
enum Step<'s> {
    Name(&'s str),
    Index(i64),
}

impl<'s> From<&'s SingularQuerySegment> for Step<'s> {
    fn from(segment: &'s SingularQuerySegment) -> Self {
        match segment {
            SingularQuerySegment::Name(name) => Self::Name(name),
            SingularQuerySegment::Index(index) => Self::Index(*index),
        }
    }
}

/// Returns the steps of a query, if it can select one node at most.
fn singular(segments: &[Segment]) -> Option<impl Iterator<Item = Step<'_>>> {
    let steps = segments.iter().map(|segment| match segment {
        Segment::Selector(Selector::Name(name)) => Some(Step::Name(name)),
        Segment::Selector(Selector::Index(index)) => Some(Step::Index(*index)),
        _ => None,
    });
    let steps: Option<Vec<Step<'_>>> = steps.collect();
    steps.map(Vec::into_iter)
}

fn of_node(node: Option<&Node>) -> Operand<'_> {
    let Some(node) = node else {
        return Operand::Nothing;
    };
    match &node.value {
        NodeValue::Null => Operand::Null,
        NodeValue::Bool(value) => Operand::Bool(*value),
        NodeValue::Number(value) => Operand::Number(value.clone()),
        NodeValue::String(text) => Operand::Text(text),
        NodeValue::Array(_) | NodeValue::Object(_) => Operand::Collection(node),
    }
}

fn of_literal(literal: &Literal) -> Operand<'_> {
    match literal {
        Literal::Int(value) => Operand::Number((*value).into()),
        Literal::Float(value) => {
            serde_json::Number::from_f64(*value).map_or(Operand::Nothing, Operand::Number)
        }
        Literal::String(text) => Operand::Text(text),
        Literal::Bool(value) => Operand::Bool(*value),
        Literal::Null => Operand::Null,
    }
}

/// Returns the order of two numbers or two strings; other values have none.
fn order(left: &Operand<'_>, right: &Operand<'_>) -> Option<Ordering> {
    match (left, right) {
        (Operand::Text(left), Operand::Text(right)) => Some(left.cmp(right)),
        (Operand::Number(left), Operand::Number(right)) => {
            // As integers first: a float does not tell large ones apart.
            match (left.as_i128(), right.as_i128()) {
                (Some(left), Some(right)) => Some(left.cmp(&right)),
                _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
            }
        }
        _ => None,
    }
}
