//! The keywords about arrays.

use super::super::facts::{Fact, ItemGroup};
use super::{Alternatives, Atom, Expansion, Schema};

/// The maximum number of items of an array that one `contains` counts.
const MOST_CONTAINED: usize = 8;

impl Schema<'_, '_, '_> {
    pub(super) fn array_facts(&self, out: &mut Expansion) {
        let keywords = self.keywords;
        let mut facts: Vec<Fact> = Vec::new();
        facts.extend(keywords.min_items.map(Fact::MinItems));
        facts.extend(keywords.max_items.map(Fact::MaxItems));
        if keywords.unique_items {
            facts.push(Fact::Unique);
        }
        if !keywords.prefix_items.is_empty() || keywords.items.is_some() {
            facts.push(Fact::Items(ItemGroup {
                prefix: keywords
                    .prefix_items
                    .iter()
                    .map(|id| self.literal(*id, true))
                    .collect(),
                rest: keywords.items.map(|id| self.literal(id, true)),
            }));
        }
        if let Some(id) = keywords.contains {
            // `unevaluatedItems`, and more items than are counted, are left to the validation at the end.
            facts.push(match counted(keywords.min_contains.unwrap_or(1)) {
                Some(0) => Fact::MinItems(0),
                Some(1) => Fact::SomeItem(0, self.literal(id, true)),
                Some(least) => Fact::ManyItems(least, self.literal(id, true)),
                None => Fact::ManyItems(MOST_CONTAINED, self.literal(id, true)),
            });
            let most = keywords.max_contains.and_then(counted);
            facts.extend(most.map(|most| Fact::MostItems(most, self.literal(id, false))));
        }
        out.atoms.extend(facts.into_iter().map(Atom::Fact));
    }

    pub(super) fn array_ways(&self, ways: &mut Alternatives) {
        let keywords = self.keywords;
        let mut way = |fact: Fact| ways.push(vec![Atom::Fact(fact)]);
        // No list breaks `minItems: 0`.
        if let Some(min) = keywords.min_items.filter(|min| *min > 0) {
            way(Fact::MaxItems(min - 1));
        }
        if let Some(max) = keywords.max_items {
            way(Fact::MinItems(max.saturating_add(1)));
        }
        if keywords.unique_items {
            way(Fact::Repeated);
        }
        for (index, id) in keywords.prefix_items.iter().enumerate() {
            way(Fact::Item(index, self.literal(*id, false)));
        }
        if let Some(id) = keywords.items {
            way(Fact::SomeItem(
                keywords.prefix_items.len(),
                self.literal(id, false),
            ));
        }
        if let Some(id) = keywords.contains {
            match keywords.min_contains.unwrap_or(1) {
                // No array can fail this.
                0 => {}
                1 => way(Fact::EachItem(self.literal(id, false))),
                least => way(match counted(least - 1) {
                    Some(but) => Fact::MostItems(but, self.literal(id, false)),
                    None => Fact::Unclear("a large `minContains`"),
                }),
            }
            if let Some(most) = keywords.max_contains {
                way(match counted(most.saturating_add(1)) {
                    Some(count) => Fact::ManyItems(count, self.literal(id, true)),
                    None => Fact::Unclear("a large `maxContains`"),
                });
            }
        }
        if keywords.unevaluated_items.is_some() {
            way(Fact::Unclear("`unevaluatedItems`"));
        }
    }
}

/// Returns a number of items that `contains` counts, or `None` if they are too many.
fn counted(count: u64) -> Option<usize> {
    let count = usize::try_from(count).ok();
    count.filter(|count| *count <= MOST_CONTAINED)
}
