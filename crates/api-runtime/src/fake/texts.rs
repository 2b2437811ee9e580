//! Strings of patterns, of formats and of lengths.

use proptest::char;
use proptest::collection::vec;
use proptest::strategy::{BoxedStrategy, Just, Strategy as _};
use proptest::string::string_regex_parsed;
use regex_syntax::hir::{Hir, HirKind, Look, Repetition};
use serde_json::{Map, Value};

/// How many more characters than it needs a string may have.
const SLACK: usize = 24;
/// The most characters on either side of what a pattern is about.
const AROUND: usize = 6;

/// Regular expressions of formats. Names and addresses are those that are reserved for documents
/// (RFC 2606, RFC 5737, RFC 3849), so that nobody is called by mistake.
const FORMATS: [(&str, &str); 20] = [
    ("byte", "([a-zA-Z0-9]{4}){0,6}"),
    ("date", "20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"),
    (
        "date-time",
        "20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?Z",
    ),
    ("duration", "P([1-9][0-9]{0,2}D|T[1-9][0-9]{0,2}[HMS])"),
    ("email", "[a-z]{1,12}@example\\.com"),
    ("hostname", "[a-z][a-z0-9]{0,12}\\.example\\.com"),
    ("http-date", "Fri, 31 Dec 1999 23:[0-5][0-9]:[0-5][0-9] GMT"),
    ("idn-email", "[a-z]{1,12}@example\\.com"),
    ("idn-hostname", "[a-z][a-z0-9]{0,12}\\.example\\.com"),
    (
        "ipv4",
        "192\\.0\\.2\\.(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])",
    ),
    ("ipv6", "2001:db8(:[1-9a-f][0-9a-f]{0,3}){6}"),
    ("iri", "https://example\\.com/[a-z0-9]{0,24}"),
    ("iri-reference", "(https://example\\.com)?/[a-z0-9]{0,24}"),
    ("json-pointer", "(/[a-z]{1,8}){0,3}"),
    ("regex", "\\^[a-z]{1,12}\\$"),
    ("relative-json-pointer", "[0-9](/[a-z]{1,8}){0,3}"),
    ("time", "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z"),
    ("uri", "https://example\\.com/[a-z0-9]{0,24}"),
    ("uri-reference", "(https://example\\.com)?/[a-z0-9]{0,24}"),
    (
        "uuid",
        "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    ),
];

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
    let word = |name: &str| keywords.get(name).and_then(Value::as_str);
    let format = word("format").and_then(|format| {
        let known = FORMATS.iter().find(|(name, _)| *name == format)?;
        of_regex(known.1, least)
    });
    let pattern = word("pattern").and_then(|pattern| of_pattern(pattern, least));
    match format.or(pattern) {
        Some(strategy) => strategy
            .prop_filter("it has the length of its schema", move |text| {
                (least..=most).contains(&text.chars().count())
            })
            .boxed(),
        None => free(least, most),
    }
}

/// Returns a strategy for strings that match a pattern, with any text before and after what the
/// pattern is about. Returns `None` if the pattern looks around, of which random strings are tried.
pub(super) fn of_pattern(pattern: &str, least: usize) -> Option<BoxedStrategy<String>> {
    let regex = jsonschema_regex::to_rust_regex(pattern).ok()?;
    let expression = regex_syntax::parse(&regex).ok()?;
    let compiled = regex::Regex::new(&regex).ok()?;
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
    let strategy = (before, of_regex(&regex, least)?, after)
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
