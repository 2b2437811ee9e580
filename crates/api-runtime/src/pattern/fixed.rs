//! Patterns that match only strings of one length, such as ids and timestamps, as a set of bytes
//! for each position.
//!
//! The positions do not depend on each other, so a processor checks several at once. In an
//! automaton each step has to wait for the state before.

use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// The largest length of the strings that a pattern in this form matches, in bytes.
const LONGEST: usize = 256;

/// The set of bytes that is allowed at each position.
#[derive(Debug)]
pub(super) struct Fixed(Vec<Bytes>);

/// A set of bytes, as a bit for each.
#[derive(Debug, Clone, Copy, Default)]
struct Bytes([u64; 4]);

impl Bytes {
    fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    fn contains(self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }
}

impl Fixed {
    /// Compiles a pattern to this form. Returns `None` if the pattern is not anchored at both ends,
    /// has no fixed length, has alternatives, or has characters beyond ASCII.
    pub(super) fn of(pattern: &str) -> Option<Self> {
        let parsed = regex_syntax::parse(pattern).ok()?;
        let HirKind::Concat(parts) = parsed.kind() else {
            return None;
        };
        let [start, middle @ .., end] = parts.as_slice() else {
            return None;
        };
        // Without both anchors, a pattern also matches inside of longer texts.
        if *start.kind() != HirKind::Look(Look::Start) || *end.kind() != HirKind::Look(Look::End) {
            return None;
        }
        let mut positions = Vec::new();
        middle
            .iter()
            .all(|part| add(part, &mut positions))
            .then_some(Self(positions))
    }

    /// Returns whether a string matches.
    ///
    /// The loop does not end at the first wrong byte, which would keep the compiler from
    /// vectorising it.
    pub(super) fn matches(&self, text: &str) -> bool {
        text.len() == self.0.len()
            && text
                .bytes()
                .zip(&self.0)
                .fold(true, |matches, (byte, allowed)| {
                    matches & allowed.contains(byte)
                })
    }
}

/// Adds the positions of a part of the pattern. Returns false if the part cannot be in this form:
/// it has no fixed length, has alternatives, or has characters beyond ASCII.
fn add(part: &Hir, positions: &mut Vec<Bytes>) -> bool {
    // Before each part, so that nested repetitions end soon.
    if positions.len() > LONGEST {
        return false;
    }
    match part.kind() {
        HirKind::Empty => true,
        HirKind::Literal(literal) => {
            positions.extend(literal.0.iter().map(|byte| {
                let mut set = Bytes::default();
                set.insert(*byte);
                set
            }));
            literal.0.is_ascii()
        }
        HirKind::Class(class) => {
            positions.push(Bytes::default());
            positions.last_mut().is_some_and(|set| fill(set, class))
        }
        HirKind::Repetition(repetition) => {
            repetition.max == Some(repetition.min)
                && (0..repetition.min).all(|_| add(&repetition.sub, positions))
        }
        HirKind::Capture(capture) => add(&capture.sub, positions),
        HirKind::Concat(parts) => parts.iter().all(|part| add(part, positions)),
        // Alternatives connect the positions: `ab|cd` is not `[ac][bd]`. The parser has turned
        // those of single characters into a class.
        HirKind::Look(_) | HirKind::Alternation(_) => false,
    }
}

/// Adds the bytes of a character class to a set. Returns false if the class has characters beyond
/// ASCII.
fn fill(set: &mut Bytes, class: &Class) -> bool {
    let ascii = match class {
        Class::Unicode(class) => class.to_byte_class(),
        Class::Bytes(class) => Some(class.clone()),
    };
    let Some(ascii) = ascii.filter(regex_syntax::hir::ClassBytes::is_ascii) else {
        return false;
    };
    for range in ascii.ranges() {
        (range.start()..=range.end()).for_each(|byte| set.insert(byte));
    }
    true
}
