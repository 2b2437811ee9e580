//! The keywords about numbers and strings.

use contract::model::Keywords;

use super::super::decimal::{Bound, Decimal};
use super::super::evaluate::integer_range;
use super::super::facts::Fact;

/// Returns what the bounds of a schema say about numbers, or `None` if they have too many digits.
pub(crate) fn number_facts(keywords: &Keywords) -> Option<Vec<Fact>> {
    let mut facts = Vec::new();
    let bound = |number: &serde_json::Number, is_exclusive: bool| {
        Some(Bound {
            at: Decimal::parse(number)?,
            is_exclusive,
        })
    };
    if let Some(number) = &keywords.minimum {
        facts.push(Fact::Low(bound(number, false)?));
    }
    if let Some(number) = &keywords.exclusive_minimum {
        facts.push(Fact::Low(bound(number, true)?));
    }
    if let Some(number) = &keywords.maximum {
        facts.push(Fact::High(bound(number, false)?));
    }
    if let Some(number) = &keywords.exclusive_maximum {
        facts.push(Fact::High(bound(number, true)?));
    }
    if let Some(number) = &keywords.multiple_of {
        facts.push(Fact::Multiple(Decimal::parse(number)?));
    }
    if let Some((low, high)) = integer_range(keywords) {
        let inclusive = |at| Bound {
            at,
            is_exclusive: false,
        };
        facts.push(Fact::Low(inclusive(low)));
        facts.push(Fact::High(inclusive(high)));
    }
    Some(facts)
}

/// Returns the opposite of a fact about numbers.
pub(super) fn opposite(fact: Fact) -> Fact {
    let flipped = |bound: Bound| Bound {
        at: bound.at,
        is_exclusive: !bound.is_exclusive,
    };
    match fact {
        Fact::Low(bound) => Fact::High(flipped(bound)),
        Fact::High(bound) => Fact::Low(flipped(bound)),
        Fact::Multiple(step) => Fact::NotMultiple(step),
        other => other,
    }
}

/// Returns the opposite of a fact about strings, or `None` if every string fulfils the fact.
pub(super) fn text_opposite(fact: Fact) -> Option<Fact> {
    Some(match fact {
        Fact::MinLength(0) => return None,
        Fact::MinLength(min) => Fact::MaxLength(min - 1),
        Fact::MaxLength(max) => Fact::MinLength(max.saturating_add(1)),
        Fact::Pattern(pattern) => Fact::NotPattern(pattern),
        Fact::Format(format) => Fact::NotFormat(format),
        other => other,
    })
}
