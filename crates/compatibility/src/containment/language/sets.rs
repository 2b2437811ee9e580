//! The sets of characters that patterns name, by which characters are told apart.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// The maximum number of ranges of characters in the patterns of a language.
const MOST_RANGES: usize = 20_000;
/// The number of characters of Unicode, with those that only UTF-16 has.
const ALL: u32 = 0x11_0000;
/// The characters that only UTF-16 has, of which no string consists.
const SURROGATES: std::ops::Range<u32> = 0xd800..0xe000;

/// Sets of characters, each as its ranges. Both ends of a range are in it.
#[derive(Debug, Default)]
pub(crate) struct Sets(BTreeSet<Vec<(u32, u32)>>);

impl Sets {
    /// Returns the sets that a pattern names, or `None` if they have too many ranges.
    pub(crate) fn of(pattern: &Hir) -> Option<Self> {
        let mut sets = Self::default();
        let mut count = 0;
        let mut pending = vec![pattern];
        while let Some(part) = pending.pop() {
            let mut add = |ranges: Vec<(u32, u32)>| {
                count += ranges.len();
                sets.0.insert(ranges);
            };
            match part.kind() {
                HirKind::Empty | HirKind::Look(Look::Start | Look::End) => {}
                HirKind::Literal(literal) => {
                    // Valid, since the pattern is for texts.
                    for character in String::from_utf8_lossy(&literal.0).chars() {
                        add(vec![(character.into(), character.into())]);
                    }
                }
                HirKind::Class(Class::Unicode(class)) => {
                    let ranges = class.iter();
                    add(ranges
                        .map(|range| (range.start().into(), range.end().into()))
                        .collect());
                }
                HirKind::Class(Class::Bytes(class)) => {
                    let ranges = class.iter();
                    add(ranges
                        .map(|range| (range.start().into(), range.end().into()))
                        .collect());
                }
                // What is before and after a word of Unicode.
                HirKind::Look(
                    Look::WordUnicode
                    | Look::WordUnicodeNegate
                    | Look::WordStartUnicode
                    | Look::WordEndUnicode
                    | Look::WordStartHalfUnicode
                    | Look::WordEndHalfUnicode,
                ) => {
                    let word = regex_syntax::parse(r"\w").ok()?;
                    let HirKind::Class(Class::Unicode(class)) = word.kind() else {
                        return None;
                    };
                    let ranges = class.iter();
                    add(ranges
                        .map(|range| (range.start().into(), range.end().into()))
                        .collect());
                }
                // What is before and after a line or a word, by ASCII.
                HirKind::Look(_) => {
                    add(vec![(0x0a, 0x0a)]);
                    add(vec![(0x0d, 0x0d)]);
                    add(vec![(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)]);
                }
                HirKind::Repetition(repetition) => pending.push(&repetition.sub),
                HirKind::Capture(capture) => pending.push(&capture.sub),
                HirKind::Concat(parts) | HirKind::Alternation(parts) => pending.extend(parts),
            }
            if count > MOST_RANGES {
                return None;
            }
        }
        Some(sets)
    }

    /// Returns all sets of these and others.
    pub(super) fn with(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// Returns the ranges of characters that are in the same sets, or `None` if they are too many.
    /// No pattern that names the sets distinguishes characters of one class.
    pub(super) fn classes(&self) -> Option<Classes> {
        // At each character, the sets that begin or end.
        let mut turns: BTreeMap<u32, Vec<usize>> = BTreeMap::from([(0, Vec::new())]);
        for edge in [SURROGATES.start, SURROGATES.end] {
            turns.entry(edge).or_default();
        }
        let mut count = 0;
        for (number, set) in self.0.iter().enumerate() {
            count += set.len();
            if count > MOST_RANGES {
                return None;
            }
            for (first, last) in set {
                turns.entry(*first).or_default().push(number);
                turns.entry(last + 1).or_default().push(number);
            }
        }
        let ends = turns.keys().skip(1).copied().chain([ALL]);
        let mut known: HashMap<Vec<usize>, usize> = HashMap::new();
        let mut inside: BTreeSet<usize> = BTreeSet::new();
        let mut classes = Classes::default();
        for ((first, turning), end) in turns.iter().zip(ends.collect::<Vec<_>>()) {
            for set in turning {
                if !inside.remove(set) {
                    inside.insert(*set);
                }
            }
            if *first >= end || SURROGATES.contains(first) {
                continue;
            }
            let next = known.len();
            let class = *known
                .entry(inside.iter().copied().collect())
                .or_insert(next);
            if class == next {
                classes.sizes.push(0);
            }
            classes.sizes[class] += end - first;
            classes.ranges.push((*first, end, class));
        }
        Some(classes)
    }
}

/// Classes of characters that no pattern distinguishes.
#[derive(Debug, Default)]
pub(super) struct Classes {
    /// The first character of each range, the one after it, and the number of its class; in order.
    pub(super) ranges: Vec<(u32, u32, usize)>,
    /// The number of characters of each class.
    pub(super) sizes: Vec<u32>,
}

impl Classes {
    /// Returns the class of a character.
    pub(super) fn of(&self, character: char) -> usize {
        let after = self
            .ranges
            .partition_point(|(first, ..)| *first <= u32::from(character));
        self.ranges[after - 1].2
    }
}
