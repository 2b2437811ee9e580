//! Patterns of texts of one length, such as ids and timestamps: each byte is looked at by itself, which a processor
//! does several at a time, where a table has to wait for the state before.

use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// The longest text that is compared this way.
const LONGEST: usize = 256;

/// Which bytes may stand at each place.
#[derive(Debug)]
pub(super) struct Fixed(Vec<Bytes>);

/// A set of bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Bytes([u64; 4]);

impl Bytes {
    fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    fn holds(self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }
}

impl Fixed {
    /// The same pattern in this form, if it has one: the whole text, of ASCII alone, without a choice of lengths.
    pub(super) fn of(pattern: &str) -> Option<Self> {
        let parsed = regex_syntax::parse(pattern).ok()?;
        let HirKind::Concat(parts) = parsed.kind() else {
            return None;
        };
        let [start, middle @ .., end] = parts.as_slice() else {
            return None;
        };
        if *start.kind() != HirKind::Look(Look::Start) || *end.kind() != HirKind::Look(Look::End) {
            return None;
        }
        let mut places = Vec::new();
        middle
            .iter()
            .all(|part| add(part, &mut places))
            .then_some(Self(places))
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        text.len() == self.0.len()
            && text
                .bytes()
                .zip(&self.0)
                .fold(true, |right, (byte, place)| right & place.holds(byte))
    }
}

/// Adds the places of a part; false if it has another form.
fn add(part: &Hir, places: &mut Vec<Bytes>) -> bool {
    if places.len() > LONGEST {
        return false;
    }
    match part.kind() {
        HirKind::Empty => true,
        HirKind::Literal(literal) => {
            places.extend(literal.0.iter().map(|byte| {
                let mut place = Bytes::default();
                place.insert(*byte);
                place
            }));
            literal.0.is_ascii()
        }
        HirKind::Class(class) => {
            places.push(Bytes::default());
            places.last_mut().is_some_and(|place| fill(place, class))
        }
        HirKind::Repetition(repetition) => {
            repetition.max == Some(repetition.min)
                && (0..repetition.min).all(|_| add(&repetition.sub, places))
        }
        HirKind::Capture(capture) => add(&capture.sub, places),
        HirKind::Concat(parts) => parts.iter().all(|part| add(part, places)),
        HirKind::Look(_) | HirKind::Alternation(_) => false,
    }
}

fn fill(place: &mut Bytes, class: &Class) -> bool {
    let ascii = match class {
        Class::Unicode(class) => class.to_byte_class(),
        Class::Bytes(class) => Some(class.clone()),
    };
    let Some(ascii) = ascii.filter(regex_syntax::hir::ClassBytes::is_ascii) else {
        return false;
    };
    for range in ascii.ranges() {
        (range.start()..=range.end()).for_each(|byte| place.insert(byte));
    }
    true
}
