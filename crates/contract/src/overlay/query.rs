//! JSONPaths (RFC 9535): parses them within bounds and checks the types of their functions.

use jsonpath_rust::parser::model::{
    Comparable, Comparison, Filter, FilterAtom, FnArg, Literal, Segment, Selector, Test,
    TestFunction,
};
use jsonpath_rust::parser::parse_json_path;

use super::bounds::{MAX_QUERY_BYTES, MAX_QUERY_DEPTH, MOST_PATTERNS};
use super::pattern::{Extent, Patterns, TooMany};

/// A JSONPath that can be evaluated.
#[derive(Debug)]
pub(crate) struct Query {
    /// The text, for messages.
    pub(super) text: String,
    /// The steps from the root.
    pub(super) segments: Vec<Segment>,
    /// The patterns in the JSONPath that match nothing, because they are not patterns or too large.
    pub(super) bad_patterns: Vec<String>,
}

impl Query {
    /// Parses a JSONPath, and adds its patterns to those of its overlay.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the text, and how to correct it.
    pub(super) fn parse(text: &str, patterns: &mut Patterns) -> Result<Self, Wrong> {
        if text.len() > MAX_QUERY_BYTES {
            return Err(Wrong::new(
                format!(
                    "the JSONPath has {} bytes, more than {MAX_QUERY_BYTES}",
                    text.len()
                ),
                "write several actions with shorter ones",
            ));
        }
        // Before it is parsed: the parser recurses as deep as the text nests.
        if depth(text) > MAX_QUERY_DEPTH {
            return Err(Wrong::new(
                format!("the JSONPath nests deeper than {MAX_QUERY_DEPTH} levels"),
                "write several actions with simpler ones",
            ));
        }
        let query = parse_json_path(text).map_err(|_| not_a_query(text))?;
        let mut check = Check {
            patterns,
            bad_patterns: Vec::new(),
        };
        check.segments(&query.segments)?;
        Ok(Self {
            text: text.to_owned(),
            segments: query.segments,
            bad_patterns: check.bad_patterns,
        })
    }
}

/// The reason why a text is no JSONPath, and how to correct it.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) help: String,
}

impl Wrong {
    fn new(message: String, help: &str) -> Self {
        Self {
            code: "overlay-target",
            message,
            help: help.to_owned(),
        }
    }
}

fn not_a_query(text: &str) -> Wrong {
    let help = if text.starts_with('$') {
        "a key with other characters than letters, digits and `_` is written in brackets and quotes, as in `$.paths['/pets'].get`"
    } else if text.starts_with(['#', '/']) {
        "this is a JSON Pointer; write `$.components.schemas.Pet` instead of `#/components/schemas/Pet`"
    } else {
        "a JSONPath starts with `$`, as in `$.paths['/pets'].get`"
    };
    Wrong::new(format!("`{text}` is not a JSONPath of RFC 9535"), help)
}

/// Returns how deep brackets and parentheses nest, apart from those in strings.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    let mut quote = None;
    let mut is_escaped = false;
    for character in text.chars() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if character == '\\' => is_escaped = true,
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None => match character {
                '\'' | '"' => quote = Some(character),
                '(' | '[' => {
                    depth += 1;
                    deepest = deepest.max(depth);
                }
                // A text that closes more than it opens does not parse, however it is counted.
                ')' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            },
        }
    }
    deepest
}

/// The check of functions (RFC 9535, section 2.4.3), which the grammar does not cover.
struct Check<'p> {
    patterns: &'p mut Patterns,
    bad_patterns: Vec<String>,
}

type Checked = Result<(), Wrong>;

impl Check<'_> {
    fn segments(&mut self, segments: &[Segment]) -> Checked {
        segments
            .iter()
            .try_for_each(|segment| self.segment(segment))
    }

    fn segment(&mut self, segment: &Segment) -> Checked {
        match segment {
            Segment::Descendant(inner) => self.segment(inner),
            Segment::Selector(selector) => self.selector(selector),
            Segment::Selectors(selectors) => selectors
                .iter()
                .try_for_each(|selector| self.selector(selector)),
        }
    }

    fn selector(&mut self, selector: &Selector) -> Checked {
        match selector {
            Selector::Filter(filter) => self.filter(filter),
            Selector::Name(_) | Selector::Wildcard | Selector::Index(_) | Selector::Slice(..) => {
                Ok(())
            }
        }
    }

    fn filter(&mut self, filter: &Filter) -> Checked {
        match filter {
            Filter::Or(parts) | Filter::And(parts) => {
                parts.iter().try_for_each(|part| self.filter(part))
            }
            Filter::Atom(FilterAtom::Filter { expr, .. }) => self.filter(expr),
            Filter::Atom(FilterAtom::Test { expr, .. }) => match &**expr {
                Test::RelQuery(segments) => self.segments(segments),
                Test::AbsQuery(query) => self.segments(&query.segments),
                Test::Function(function) => match &**function {
                    TestFunction::Match(..) | TestFunction::Search(..) => self.function(function),
                    _ => Err(wrong_function(
                        function,
                        "its value has to be compared with another",
                    )),
                },
            },
            Filter::Atom(FilterAtom::Comparison(comparison)) => self.comparison(comparison),
        }
    }

    fn comparison(&mut self, comparison: &Comparison) -> Checked {
        let (left, right) = comparison.vals();
        for side in [left, right] {
            if let Comparable::Function(function) = side {
                self.value_function(function)?;
            }
        }
        Ok(())
    }

    /// Checks a function whose result is a value.
    fn value_function(&mut self, function: &TestFunction) -> Checked {
        match function {
            TestFunction::Length(_) | TestFunction::Count(_) | TestFunction::Value(_) => {
                self.function(function)
            }
            TestFunction::Match(..) | TestFunction::Search(..) | TestFunction::Custom(..) => Err(
                wrong_function(function, "its result is no value that can be compared"),
            ),
        }
    }

    fn function(&mut self, function: &TestFunction) -> Checked {
        match function {
            TestFunction::Length(argument) => self.value(function, argument),
            TestFunction::Count(argument) | TestFunction::Value(argument) => match argument {
                FnArg::Test(test) => match &**test {
                    Test::RelQuery(segments) => self.segments(segments),
                    Test::AbsQuery(query) => self.segments(&query.segments),
                    Test::Function(_) => Err(wrong_function(function, NEEDS_QUERY)),
                },
                FnArg::Literal(_) | FnArg::Filter(_) => Err(wrong_function(function, NEEDS_QUERY)),
            },
            TestFunction::Match(text, pattern) => {
                self.pattern(pattern, Extent::Whole)?;
                self.value(function, text)?;
                self.value(function, pattern)
            }
            TestFunction::Search(text, pattern) => {
                self.pattern(pattern, Extent::Part)?;
                self.value(function, text)?;
                self.value(function, pattern)
            }
            TestFunction::Custom(..) => Err(wrong_function(
                function,
                "the RFC has `length`, `count`, `value`, `match` and `search` only",
            )),
        }
    }

    /// Checks an argument that must be a value: a literal, a query for one node, or a function with
    /// a value.
    fn value(&mut self, function: &TestFunction, argument: &FnArg) -> Checked {
        match argument {
            FnArg::Literal(_) => Ok(()),
            FnArg::Test(test) => match &**test {
                Test::RelQuery(segments) if is_singular(segments) => Ok(()),
                Test::AbsQuery(query) if is_singular(&query.segments) => Ok(()),
                Test::RelQuery(_) | Test::AbsQuery(_) => Err(wrong_function(function, NEEDS_VALUE)),
                Test::Function(inner) => self.value_function(inner),
            },
            FnArg::Filter(_) => Err(wrong_function(function, NEEDS_VALUE)),
        }
    }

    /// Compiles a pattern that the JSONPath itself contains.
    fn pattern(&mut self, argument: &FnArg, extent: Extent) -> Checked {
        let FnArg::Literal(Literal::String(pattern)) = argument else {
            return Ok(());
        };
        match self.patterns.add(pattern, extent) {
            Ok(true) => {}
            Ok(false) => self.bad_patterns.push(pattern.clone()),
            Err(TooMany) => {
                return Err(Wrong {
                    code: "overlay-too-large",
                    ..Wrong::new(
                        format!(
                            "the overlay has more than {MOST_PATTERNS} patterns up to this one"
                        ),
                        "write several overlays",
                    )
                });
            }
        }
        Ok(())
    }
}

const NEEDS_QUERY: &str = "its argument must be a query, as in `count(@.*)`";
const NEEDS_VALUE: &str = "its arguments must be values, or queries for one node, as in `@.name`";

fn wrong_function(function: &TestFunction, why: &str) -> Wrong {
    let name = match function {
        TestFunction::Custom(name, _) => name,
        TestFunction::Length(_) => "length",
        TestFunction::Value(_) => "value",
        TestFunction::Count(_) => "count",
        TestFunction::Search(..) => "search",
        TestFunction::Match(..) => "match",
    };
    Wrong::new(
        format!("the function `{name}` cannot be used here by RFC 9535"),
        why,
    )
}

/// Returns whether a query can select one node at most.
pub(super) fn is_singular(segments: &[Segment]) -> bool {
    // The parser makes `Selectors` only of several, so a single name in brackets counts too.
    segments.iter().all(|segment| {
        matches!(
            segment,
            Segment::Selector(Selector::Name(_) | Selector::Index(_))
        )
    })
}
