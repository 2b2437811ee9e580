//! Merges two values of one keyword into a value that accepts only what both accept.

use std::cmp::Ordering;

use contract::model::Types;
use contract::number::compare;
use serde_json::Number;

/// Returns the types that both sets accept. An integer is a number.
pub(super) fn intersect(one: Types, other: Types) -> Types {
    let mut both = Types(one.0 & other.0);
    for (a, b) in [(one, other), (other, one)] {
        if a.contains(Types::INTEGER) && b.contains(Types::NUMBER) {
            both = both.with(Types::INTEGER);
        }
    }
    both
}

/// Keeps the tighter of two bounds, which is the one that compares as `tighter` with the other.
pub(super) fn tighten(kept: &mut Option<Number>, new: Option<&Number>, tighter: Ordering) {
    let Some(new) = new else { return };
    if kept
        .as_ref()
        .is_none_or(|old| compare(new, old) == Some(tighter))
    {
        *kept = Some(new.clone());
    }
}

/// Keeps the first of two values that cannot be merged, and returns whether the second one differs.
pub(super) fn keep_first<T: PartialEq + Clone>(kept: &mut Option<T>, new: Option<&T>) -> bool {
    match (kept.as_ref(), new) {
        (None, Some(new)) => {
            *kept = Some(new.clone());
            false
        }
        (Some(old), Some(new)) => old != new,
        (_, None) => false,
    }
}

/// Returns the smaller of two upper bounds, of which each may be absent.
pub(super) fn smaller(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use serde_json::Number;

    use super::tighten;

    #[test]
    fn the_tighter_bound_is_found_where_floats_are_too_coarse() {
        let mut kept = None;
        // From here on not every integer is a float.
        let least = 1_u64 << 53;
        for (bound, tightest) in [(least, least), (least + 1, least + 1), (least, least + 1)] {
            tighten(&mut kept, Some(&Number::from(bound)), Ordering::Greater);
            assert_eq!(kept, Some(Number::from(tightest)));
        }
    }
}
