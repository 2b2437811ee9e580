//! Strings of patterns, of formats and of lengths.

use proptest::char;
use proptest::collection::vec;
use proptest::strategy::{BoxedStrategy, Just, Strategy as _};
use proptest::string::string_regex_parsed;
use regex_syntax::hir::{Hir, HirKind, Look, Repetition};
use serde_json::{Map, Value};

use super::automaton;
use super::formats::Format;

/// How many more characters than it needs a string may have.
const SLACK: usize = 24;
/// The maximum number of characters that stand before a match of a pattern, and after it.
const AROUND: usize = 6;

/// Returns a strategy for strings.
pub(super) fn text(keywords: &Map<String, Value>) -> BoxedStrategy<String> {
    let length = |name: &str| {
        let length = keywords.get(name).and_then(Value::as_u64)?;
        usize::try_from(length).ok()
    };
    let least = length("minLength").unwrap_or(0);
    let most = length("maxLength").unwrap_or(usize::MAX);
    if least > most {
        return Just(String::new()).boxed();
    }
    let format = keywords.get("format").and_then(Value::as_str);
    let format = format.and_then(Format::named);
    let patterns = patterns(keywords);
    let demands = patterns.len() + usize::from(format.is_some());
    if demands == 0 {
        return free(least, most);
    }
    // A single demand without bounds is left to proptest, which draws from more characters than the
    // automata know.
    if demands > 1 || least > 0 || most < usize::MAX {
        let ours = format.map(|format| vec![format.ours, format.any]);
        let ours = ours.map_or_else(|| vec![None], |ours| ours.into_iter().map(Some).collect());
        let mut joint = ours.into_iter().map(|format| {
            let format = format.map(|regex| format!("^(?:{regex})$"));
            let regexes: Vec<String> = format.into_iter().chain(patterns.clone()).collect();
            automaton::joint(&regexes, least..=most)
        });
        if let Some(strategy) = joint.find_map(|joint| joint) {
            return strategy;
        }
    }
    let format = format.and_then(|format| of_regex(format.ours, least));
    let pattern = patterns.first().and_then(|regex| of_match(regex, least));
    match format.or(pattern) {
        Some(strategy) => strategy
            .prop_filter("it has the length of its schema", move |text| {
                (least..=most).contains(&text.chars().count())
            })
            .boxed(),
        None => free(least, most),
    }
}

/// Returns the patterns of a schema in the syntax of the regex crate.
fn patterns(keywords: &Map<String, Value>) -> Vec<String> {
    let patterns = keywords.get("pattern").map(|pattern| match pattern {
        Value::Array(patterns) => &patterns[..],
        one => std::slice::from_ref(one),
    });
    let patterns = patterns.into_iter().flatten().filter_map(Value::as_str);
    patterns.filter_map(crate::translate_pattern).collect()
}

/// Returns a strategy for strings that match a pattern, with any text before and after what the
/// pattern is about. Returns `None` if the pattern looks around, of which random strings are tried.
pub(super) fn of_pattern(pattern: &str, least: usize) -> Option<BoxedStrategy<String>> {
    of_match(&crate::translate_pattern(pattern)?, least)
}

/// Returns a strategy for strings in which a regular expression has a match.
fn of_match(regex: &str, least: usize) -> Option<BoxedStrategy<String>> {
    let expression = regex_syntax::parse(regex).ok()?;
    let compiled = regex::Regex::new(regex).ok()?;
    let around = |is_end: bool| {
        if is_end {
            Just(String::new()).boxed()
        } else {
            free(0, AROUND)
        }
    };
    let properties = expression.properties();
    let before = around(properties.look_set_prefix().contains(Look::Start));
    let after = around(properties.look_set_suffix().contains(Look::End));
    let strategy = (before, of_regex(regex, least)?, after)
        .prop_map(|(before, inner, after)| before + &inner + &after)
        .prop_filter("it matches the pattern of its schema", move |text| {
            compiled.is_match(text)
        });
    Some(strategy.boxed())
}

fn of_regex(regex: &str, least: usize) -> Option<BoxedStrategy<String>> {
    let expression = regex_syntax::parse(regex).ok()?;
    let strategy = string_regex_parsed(&bounded(&expression, least)).ok()?;
    Some(strategy.boxed())
}

/// Returns an expression in which everything is repeated a bounded number of times, but often enough
/// for a length, and that does not look at what is around a position, which proptest cannot do.
fn bounded(expression: &Hir, least: usize) -> Hir {
    let inner = |part: &Hir| bounded(part, least);
    match expression.kind() {
        HirKind::Empty | HirKind::Look(_) => Hir::empty(),
        HirKind::Literal(_) | HirKind::Class(_) => expression.clone(),
        HirKind::Capture(capture) => inner(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(inner).collect()),
        HirKind::Alternation(branches) => Hir::alternation(branches.iter().map(inner).collect()),
        HirKind::Repetition(repetition) => {
            let slack = u32::try_from(least.saturating_add(SLACK)).unwrap_or(u32::MAX - 1);
            let most = repetition.min.saturating_add(slack).min(u32::MAX - 1);
            Hir::repetition(Repetition {
                max: Some(repetition.max.map_or(most, |max| max.min(most))),
                sub: Box::new(inner(&repetition.sub)),
                ..repetition.clone()
            })
        }
    }
}

/// Returns a strategy for strings of a length: mostly printable characters of ASCII, but any other
/// one too.
fn free(least: usize, most: usize) -> BoxedStrategy<String> {
    let character = proptest::prop_oneof![
        12 => char::range('a', 'z'),
        6 => char::range(' ', '~'),
        1 => char::any(),
    ];
    vec(character, least..=most.min(least.saturating_add(SLACK)))
        .prop_map(String::from_iter)
        .boxed()
}
