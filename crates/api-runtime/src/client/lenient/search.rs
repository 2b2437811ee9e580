//! The search for every part of a body that does not fit its type.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::misfit::violation;
use super::Body;
use crate::Violation;
use crate::pointer::unescape;

/// The maximum number of parts that are listed.
const MOST_VIOLATIONS: usize = 100;
/// The maximum number of bytes that are decoded to find them.
const MOST_DECODED: usize = 16 << 20;
/// The maximum number of bytes of a body that is searched. Its JSON is in memory twice, which takes
/// many times its bytes.
const MOST_SEARCHED: usize = 4 << 20;

/// What a search has found.
pub(super) struct Found {
    /// The parts that do not fit, with their pointers in the body.
    pub(super) violations: Vec<Violation>,
    /// The rest of the body, which fits, if every part could be found and left out.
    pub(super) rest: Option<Rest>,
}

/// A body without some of its parts.
pub(super) struct Rest {
    pub(super) json: Value,
    pub(super) left_out: LeftOut,
}

/// The parts that are left out, by their pointers in the whole body.
#[derive(Default)]
pub(super) struct LeftOut {
    properties: BTreeSet<String>,
    /// The indices of the items that are left out of each array, ascending.
    items: BTreeMap<String, BTreeSet<usize>>,
}

/// Returns whether a body is small enough to be searched.
pub(super) fn is_small(body: &Body) -> bool {
    body.bytes.len() <= MOST_SEARCHED
}

/// Finds the parts of a body that do not fit: decodes it, leaves out the part that fails, and
/// decodes the rest again. `json` is the body as JSON, if it is JSON.
///
/// A required property that does not fit is missing once it is left out. Then the whole object is
/// left out, but not listed, because nothing else may be wrong with it.
pub(super) fn search(body: &Body, json: Option<&Value>) -> Found {
    let mut violations: Vec<Violation> = Vec::new();
    let mut failed = violation(&body.bytes, body.check);
    let Some(json) = json else {
        violations.extend(failed);
        return Found {
            violations,
            rest: None,
        };
    };
    let mut rest = Rest {
        json: json.clone(),
        left_out: LeftOut::default(),
    };
    let mut decoded = body.bytes.len();
    while let Some(mut violation) = failed {
        let local = std::mem::take(&mut violation.pointer);
        violation.pointer = rest.left_out.original(&local, json);
        // A required property is missing here because it was left out itself, which was listed
        // before.
        let is_consequence = rest.left_out.properties.contains(&violation.pointer);
        if !is_consequence {
            if violations.len() == MOST_VIOLATIONS {
                violations.push(Violation::more());
                return Found {
                    violations,
                    rest: None,
                };
            }
            violations.push(violation);
        }
        if !rest.leave_out(&local, json) {
            return Found {
                violations,
                rest: None,
            };
        }
        let text = rest.json.to_string();
        decoded = decoded.saturating_add(text.len());
        if decoded > MOST_DECODED {
            violations.push(Violation::more());
            return Found {
                violations,
                rest: None,
            };
        }
        failed = super::super::misfit::violation(text.as_bytes(), body.check);
    }
    Found {
        violations,
        rest: Some(rest),
    }
}

impl Rest {
    /// Leaves out the part at a pointer, or the innermost part around it that is there. Returns
    /// `false` if that is the whole body.
    fn leave_out(&mut self, pointer: &str, whole: &Value) -> bool {
        let mut pointer = pointer;
        // Ends at the pointer of the whole body, which is always there.
        while self.json.pointer(pointer).is_none() {
            pointer = pointer.rsplit_once('/').map_or("", |(around, _)| around);
        }
        let Some((around, last)) = pointer.rsplit_once('/') else {
            return false;
        };
        let (around_original, original) = (
            self.left_out.original(around, whole),
            self.left_out.original(pointer, whole),
        );
        match self.json.pointer_mut(around) {
            Some(Value::Array(items)) => {
                let (Ok(at), Some(Ok(at_original))) = (
                    last.parse::<usize>(),
                    original.rsplit('/').next().map(str::parse),
                ) else {
                    return false;
                };
                items.remove(at);
                let left_out = self.left_out.items.entry(around_original).or_default();
                left_out.insert(at_original);
                true
            }
            Some(Value::Object(properties)) => {
                let name = unescape(last);
                // Not `remove`, which can move the last property into the gap: violations are in
                // the order of the body.
                properties.retain(|other, _| *other != name);
                self.left_out.properties.insert(original);
                true
            }
            _ => false,
        }
    }
}

impl LeftOut {
    /// Converts a pointer into the rest of the body to the pointer of the same part in the whole body.
    pub(super) fn original(&self, pointer: &str, whole: &Value) -> String {
        let mut original = String::new();
        let mut value = Some(whole);
        for token in pointer.split('/').skip(1) {
            let at = value.and_then(Value::as_array).and(token.parse().ok());
            let token = match at {
                Some(at) => self.index(&original, at).to_string(),
                None => token.to_owned(),
            };
            original.push('/');
            original.push_str(&token);
            value = whole.pointer(&original);
        }
        original
    }

    /// Returns the index in the whole body of the item at an index of the rest.
    pub(super) fn index(&self, array: &str, mut at: usize) -> usize {
        // Ascending, so that each index is compared after all the shifts by lower ones.
        for left_out in self.items.get(array).into_iter().flatten() {
            if *left_out <= at {
                at += 1;
            }
        }
        at
    }
}
