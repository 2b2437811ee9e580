//! The characters with which the strings of automata are searched for.

use std::collections::HashMap;

use super::{CHARACTERS, Part};

/// The maximum number of characters beyond ASCII that stand for all others.
const MOST_WIDE_CHARACTERS: usize = 1500;

/// The characters to search with: a few of each class of characters that no automaton distinguishes.
pub(super) struct Alphabet {
    pub(super) letters: Vec<Letter>,
    /// The number of classes.
    pub(super) classes: usize,
}

/// A character to search with.
pub(super) struct Letter {
    pub(super) character: char,
    /// Whether the alphabet has all characters of its class.
    pub(super) is_alone: bool,
    /// The number of its class.
    pub(super) class: usize,
}

/// Returns characters to search with, or `None` if there are too many classes.
pub(super) fn alphabet(parts: &[Part]) -> Option<Alphabet> {
    let class = |byte: u8| -> Vec<u8> {
        let classes = parts
            .iter()
            .map(|part| part.automaton().byte_classes().get(byte));
        classes.collect()
    };
    let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
    for byte in 0..0x80 {
        *counts.entry(class(byte)).or_default() += 1;
    }
    // For each class, its number and how many of its characters have been taken.
    let mut taken: HashMap<Vec<u8>, (usize, usize)> = HashMap::new();
    let mut letters = Vec::new();
    for byte in ascii() {
        let class = class(byte);
        let is_alone = counts[&class] <= CHARACTERS;
        let next = taken.len();
        let (class, count) = taken.entry(class).or_insert((next, 0));
        *count += 1;
        if *count <= CHARACTERS {
            letters.push(Letter {
                character: char::from(byte),
                is_alone,
                class: *class,
            });
        }
    }
    let mut classes = taken.len();
    // Beyond ASCII, one character for each sequence of classes of bytes.
    let firsts = |range: std::ops::RangeInclusive<u8>| {
        let mut seen = Vec::new();
        let firsts = range.filter(|byte| {
            let class = class(*byte);
            let is_new = !seen.contains(&class);
            if is_new {
                seen.push(class);
            }
            is_new
        });
        firsts.collect::<Vec<u8>>()
    };
    // After some first bytes, UTF-8 allows only a part of these as the second. With a byte of each
    // part, every first byte gets a valid one.
    let ranges = [0x80..=0x8f, 0x90..=0x9f, 0xa0..=0xbf];
    let rest: Vec<u8> = ranges.into_iter().flat_map(&firsts).collect();
    let starts = [
        (0xc2..=0xdf, 2),
        (0xe0..=0xe0, 3),
        (0xe1..=0xec, 3),
        (0xed..=0xed, 3),
        (0xee..=0xef, 3),
        (0xf0..=0xf0, 4),
        (0xf1..=0xf3, 4),
        (0xf4..=0xf4, 4),
    ];
    let mut wide: usize = 0;
    for (range, length) in starts {
        for first in firsts(range) {
            let mut sequences = vec![vec![first]];
            for _ in 1..length {
                let longer = sequences.iter().flat_map(|sequence| {
                    rest.iter().map(|byte| [&sequence[..], &[*byte]].concat())
                });
                sequences = longer.collect();
                if wide + sequences.len() > MOST_WIDE_CHARACTERS {
                    return None;
                }
            }
            wide += sequences.len();
            let texts = sequences
                .iter()
                .filter_map(|bytes| std::str::from_utf8(bytes).ok());
            for character in texts.flat_map(str::chars) {
                letters.push(Letter {
                    character,
                    is_alone: false,
                    class: classes,
                });
                classes += 1;
            }
        }
    }
    Some(Alphabet { letters, classes })
}

/// Returns the bytes of ASCII, those that read best first.
fn ascii() -> impl Iterator<Item = u8> {
    (b'a'..=b'z')
        .chain(b'0'..=b'9')
        .chain(b'A'..=b'Z')
        .chain(*b"-_.,/:@")
        .chain(
            (b' '..=b'~')
                .filter(|byte| !byte.is_ascii_alphanumeric() && !b"-_.,/:@".contains(byte)),
        )
        .chain(0..b' ')
        .chain([0x7f])
}
