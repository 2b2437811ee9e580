//! Strings of a regular expression.

use rand::RngExt as _;
use rand::rngs::StdRng;
use regex_syntax::hir::{Class, Hir, HirKind};

/// How often what may be repeated without end is repeated beyond the least, by the attempt.
const SLACK: [u32; 4] = [4, 0, 1, 12];
/// The maximum number of characters of a string.
const MOST: usize = 20_000;

/// A regular expression of which strings are made.
pub(super) struct Sampler(Hir);

impl Sampler {
    /// Parses a pattern of a contract. Returns `None` for one with look-around or back-references,
    /// which describes no regular language.
    pub(super) fn new(source: &str) -> Option<Self> {
        let translated = api_runtime::translate_pattern(source)?;
        regex_syntax::parse(&translated).ok().map(Self)
    }

    /// Returns a string that the expression matches, unless it demands something of what is around
    /// a position, which the caller checks. `least` is the length that is aimed at.
    pub(super) fn text(&self, attempt: usize, least: usize, random: &mut StdRng) -> Option<String> {
        let slack = SLACK[attempt % SLACK.len()];
        let least = u32::try_from(least).unwrap_or(u32::MAX);
        // Every other round is long enough by one repetition alone.
        let slack = if (attempt / SLACK.len()) % 2 == 1 {
            slack.saturating_add(least)
        } else {
            slack
        };
        let mut text = String::new();
        write(&self.0, slack, random, &mut text).then_some(text)
    }
}

/// Appends a match. Returns whether there is one.
fn write(hir: &Hir, slack: u32, random: &mut StdRng, text: &mut String) -> bool {
    if text.len() > MOST {
        return false;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
            Ok(literal) => {
                text.push_str(literal);
                true
            }
            Err(_) => false,
        },
        HirKind::Class(class) => match character(class, random) {
            Some(character) => {
                text.push(character);
                true
            }
            None => false,
        },
        // However often, it is still nothing.
        HirKind::Repetition(repetition) if repetition.sub.properties().maximum_len() == Some(0) => {
            true
        }
        HirKind::Repetition(repetition) => {
            let room = repetition
                .max
                .map_or(slack, |max| slack.min(max.saturating_sub(repetition.min)));
            let count = repetition.min.saturating_add(random.random_range(0..=room));
            (0..count).all(|_| write(&repetition.sub, slack, random, text))
        }
        HirKind::Capture(capture) => write(&capture.sub, slack, random, text),
        HirKind::Concat(parts) => parts.iter().all(|part| write(part, slack, random, text)),
        HirKind::Alternation(branches) => {
            let at = random.random_range(0..branches.len());
            write(&branches[at], slack, random, text)
        }
    }
}

/// Returns a character of a class: a letter or digit if there is one, else one that can be printed.
fn character(class: &Class, random: &mut StdRng) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class
            .iter()
            .map(|range| (range.start(), range.end()))
            .collect(),
        Class::Bytes(class) => class
            .iter()
            .filter(|range| range.end() < 0x80)
            .map(|range| (char::from(range.start()), char::from(range.end())))
            .collect(),
    };
    let holds = |wanted: char| {
        ranges
            .iter()
            .any(|(low, high)| (*low..=*high).contains(&wanted))
    };
    let plain = ('a'..='z').chain('0'..='9').chain('A'..='Z');
    let liked: Vec<char> = plain.filter(|wanted| holds(*wanted)).collect();
    if !liked.is_empty() {
        return Some(liked[random.random_range(0..liked.len())]);
    }
    let printed: Vec<char> = (' '..='~').filter(|wanted| holds(*wanted)).collect();
    if !printed.is_empty() {
        return Some(printed[random.random_range(0..printed.len())]);
    }
    let (low, _) = *ranges.get(random.random_range(0..ranges.len().max(1)))?;
    Some(low)
}
