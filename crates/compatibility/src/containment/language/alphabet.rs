//! The characters with which the strings of automata are searched for.

use std::collections::HashSet;

use super::sets::Sets;
use super::{CHARACTERS, Part};

/// The maximum number of classes of characters.
const MOST_CLASSES: usize = 1500;

/// Characters beyond ASCII that read well.
const READABLE: [char; 9] = ['é', 'ä', 'ß', 'ñ', 'α', 'я', '中', 'あ', '½'];

/// The characters to search with: a few of each class of characters that no pattern distinguishes.
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
    let mut sets = Sets::default();
    for part in parts {
        sets = sets.with(part.pattern.sets()?);
    }
    let classes = sets.classes()?;
    if classes.sizes.len() > MOST_CLASSES {
        return None;
    }
    // The first of each range, and so some of each class.
    let firsts = classes.ranges.iter().flat_map(|(first, end, _)| {
        let few = u32::try_from(CHARACTERS).unwrap_or(u32::MAX);
        (*first..(*end).min(first.saturating_add(few))).filter_map(char::from_u32)
    });
    let mut taken = vec![0; classes.sizes.len()];
    let mut seen = HashSet::new();
    let mut letters = Vec::new();
    for character in ascii().map(char::from).chain(READABLE).chain(firsts) {
        let class = classes.of(character);
        if taken[class] == CHARACTERS || !seen.insert(character) {
            continue;
        }
        taken[class] += 1;
        letters.push(Letter {
            character,
            is_alone: classes.sizes[class] as usize <= CHARACTERS,
            class,
        });
    }
    Some(Alphabet {
        letters,
        classes: taken.len(),
    })
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
