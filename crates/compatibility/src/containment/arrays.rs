//! The search for an array.

use std::ops::Range;

use serde_json::Value;

use super::facts::{Arrays, Facts};
use super::literal::Literal;
use super::outcome::{HEAVY, MOST_WEIGHT, Outcome, weigh};
use super::tableau::{Extra, Tableau};
use super::value::is_equal;

/// The maximum number of items of an array that is searched for.
const MOST_ITEMS: usize = 2000;
/// The maximum number of items that must differ from each other.
const MOST_UNIQUE: usize = 300;
/// The last place at which two equal neighbours are tried.
const MOST_TWINS: usize = 16;
/// The maximum number of ways of placing the items that some keyword asks for.
const MOST_PLACINGS: usize = 64;

/// What certain items of an array fulfil.
#[derive(Debug, Clone, Default)]
struct Placing {
    at: Vec<(usize, Literal)>,
    /// For each literal that all items but some fulfil, the places of these.
    except: Vec<(Literal, Vec<usize>)>,
}

impl Tableau<'_, '_> {
    /// Searches for an array that fulfils the facts.
    pub(crate) fn array(&self, facts: &Facts) -> Outcome {
        let arrays = &facts.arrays;
        let mut unknown = None;
        let (placings, is_whole) = placings(arrays);
        if !is_whole {
            unknown = Some("arrays in which many items are asked for");
        }
        for placing in placings {
            // Two equal items are searched among all neighbours up to the tail, and up to those
            // that are placed. From there on, one place is like the other.
            let tail = tail(arrays);
            let last = tail.max(end(&placing));
            let twins: Vec<Option<usize>> = if arrays.is_repeated {
                (0..=last.min(MOST_TWINS)).map(Some).collect()
            } else {
                vec![None]
            };
            // Where items have different schemas, two that are not neighbours may be the equal
            // ones.
            let is_partial =
                last > MOST_TWINS || tail > 1 || placing.at.len() > 1 || !placing.except.is_empty();
            for twin in twins {
                match self.fill(facts, &placing, twin) {
                    Outcome::Value(value) => return Outcome::Value(value),
                    Outcome::Nothing if twin.is_some() && is_partial => {
                        unknown = Some("equal items of arrays with different items");
                    }
                    Outcome::Nothing => {}
                    Outcome::Unknown(why) => unknown = Some(why),
                }
            }
        }
        unknown.map_or(Outcome::Nothing, Outcome::Unknown)
    }

    /// Searches for the items of an array. `twin` is the first of two equal neighbours.
    fn fill(&self, facts: &Facts, placing: &Placing, twin: Option<usize>) -> Outcome {
        let arrays = &facts.arrays;
        let placed = end(placing);
        let twins = twin.map_or(0, |first| first + 2);
        let least = usize::try_from(arrays.min).unwrap_or(usize::MAX);
        let mut count = least.max(placed).max(twins);
        let is_excluded = |items: &[Value]| {
            let value = Value::Array(items.to_vec());
            facts.excluded.iter().any(|other| is_equal(&value, other))
        };
        if count > MOST_ITEMS || (arrays.is_unique && count > MOST_UNIQUE) {
            return Outcome::Unknown("long arrays");
        }
        let mut items: Vec<Value> = Vec::new();
        let mut weight = 1;
        // Whether an array is excluded in whose place there might be another one.
        let mut is_passed = false;
        loop {
            if arrays.max.is_some_and(|max| count as u64 > max) {
                return nothing(is_passed);
            }
            while items.len() < count {
                let index = items.len();
                if weight > MOST_WEIGHT {
                    return Outcome::Unknown(HEAVY);
                }
                if index > 0 && twin == Some(index - 1) {
                    weight += weigh(&items[index - 1]);
                    items.push(items[index - 1].clone());
                    continue;
                }
                // The first of the twins has to fit both places, since the second is a copy of it.
                let mut literals = at(arrays, placing, index);
                if twin == Some(index) {
                    literals.extend(at(arrays, placing, index + 1));
                }
                let extra = Extra {
                    excluded: if arrays.is_unique {
                        items.clone()
                    } else {
                        Vec::new()
                    },
                    facts: Vec::new(),
                    ..Extra::default()
                };
                match self.solve(literals, &extra) {
                    Outcome::Value(value) => {
                        weight += weigh(&value);
                        items.push(value);
                    }
                    // Other items before this one might leave a value for it.
                    Outcome::Nothing
                        if arrays.is_unique
                            && index > 0
                            && (tail(arrays) > 0 || !placing.is_empty()) =>
                    {
                        return Outcome::Unknown("items that must differ");
                    }
                    Outcome::Nothing => return nothing(is_passed),
                    Outcome::Unknown(why) => return Outcome::Unknown(why),
                }
            }
            if !is_excluded(&items) {
                return Outcome::Value(Value::Array(items));
            }
            if count > least + facts.excluded.len() + placed + twins {
                return Outcome::Unknown("arrays that must differ");
            }
            // There is only one empty array, so no other one is missed in its place.
            is_passed |= !items.is_empty();
            count += 1;
        }
    }
}

/// Returns the result of a search that finds nothing, after it has passed over arrays or not.
fn nothing(is_passed: bool) -> Outcome {
    if is_passed {
        Outcome::Unknown("arrays that must differ")
    } else {
        Outcome::Nothing
    }
}

impl Placing {
    fn is_empty(&self) -> bool {
        self.at.is_empty() && self.except.is_empty()
    }
}

/// Returns the index after the last item that is placed.
fn end(placing: &Placing) -> usize {
    let ends = placing.at.iter().map(|(index, _)| index + 1);
    ends.max().unwrap_or(0)
}

/// Returns the index after the last item that some literal leaves out.
fn end_of_exceptions(placing: &Placing) -> usize {
    let places = placing.except.iter().flat_map(|(_, places)| places);
    places.map(|index| index + 1).max().unwrap_or(0)
}

/// Returns the index from which all items have the same schemas.
fn tail(arrays: &Arrays) -> usize {
    let prefixes = arrays.groups.iter().map(|group| group.prefix.len());
    prefixes.max().unwrap_or(0)
}

/// Returns the literals of the item at an index.
fn at(arrays: &Arrays, placing: &Placing, index: usize) -> Vec<Literal> {
    let placed = placing.at.iter().filter(|(at, _)| *at == index);
    let mostly = placing.except.iter();
    let mostly = mostly.filter(|(_, places)| !places.contains(&index));
    arrays
        .groups
        .iter()
        .filter_map(|group| group.prefix.get(index).copied().or(group.rest))
        .chain(arrays.each.iter().copied())
        .chain(placed.map(|(_, literal)| *literal))
        .chain(mostly.map(|(literal, _)| *literal))
        .collect()
}

/// Returns the ways in which the items that keywords ask for can be placed, and whether these are
/// all that matter.
fn placings(arrays: &Arrays) -> (Vec<Placing>, bool) {
    let tail = tail(arrays);
    let mut ways = vec![Placing {
        at: arrays.at.clone(),
        except: Vec::new(),
    }];
    // Every item has a place of its own up to the tail, where one is like the other.
    let mut last = tail;
    let some = arrays.some.iter().map(|(from, one)| (*from, 1, *one));
    let many = arrays.many.iter().map(|(count, one)| (0, *count, *one));
    for (from, count, literal) in some.chain(many) {
        last = last.max(from);
        let places = from..last + count;
        let is_whole = vary(
            &mut ways,
            tail,
            &|_| places.clone(),
            count,
            &|way, places| {
                way.at.extend(places.iter().map(|index| (*index, literal)));
            },
        );
        if !is_whole {
            return (ways, false);
        }
        last += count;
    }
    for (but, literal) in &arrays.most {
        // Two literals may leave out different items, each where the other one holds.
        let places = |way: &Placing| 0..tail.max(end(way)).max(end_of_exceptions(way)) + but;
        let is_whole = vary(&mut ways, tail, &places, *but, &|way, places| {
            way.except.push((*literal, places.to_vec()));
        });
        if !is_whole {
            return (ways, false);
        }
    }
    (ways, true)
}

/// Extends each way by each choice of `count` of its places that matters. Returns false if they are too
/// many.
fn vary(
    ways: &mut Vec<Placing>,
    tail: usize,
    places: &dyn Fn(&Placing) -> Range<usize>,
    count: usize,
    extend: &dyn Fn(&mut Placing, &[usize]),
) -> bool {
    let mut next = Vec::new();
    for way in &*ways {
        for chosen in choices(&alike(way, tail, places(way)), count) {
            let mut way = way.clone();
            extend(&mut way, &chosen);
            next.push(way);
            if next.len() > MOST_PLACINGS {
                *ways = next;
                return false;
            }
        }
    }
    *ways = next;
    true
}

/// Returns the places in groups of those that are alike so far.
fn alike(way: &Placing, tail: usize, places: Range<usize>) -> Vec<Vec<usize>> {
    let about = |place: usize| {
        let at = way.at.iter().filter(|(index, _)| *index == place);
        let mut at: Vec<Literal> = at.map(|(_, literal)| *literal).collect();
        at.sort_unstable();
        let except = way.except.iter();
        let except: Vec<bool> = except.map(|(_, places)| places.contains(&place)).collect();
        (place.min(tail), at, except)
    };
    let mut groups: Vec<(_, Vec<usize>)> = Vec::new();
    for place in places {
        let about = about(place);
        match groups.iter_mut().find(|(known, _)| *known == about) {
            Some((_, group)) => group.push(place),
            None => groups.push((about, vec![place])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Returns the choices of so many places, of which those of a group are chosen from its start. They are
/// one more than the maximum at most.
fn choices(groups: &[Vec<usize>], count: usize) -> Vec<Vec<usize>> {
    let Some((group, rest)) = groups.split_first() else {
        return if count == 0 {
            vec![Vec::new()]
        } else {
            Vec::new()
        };
    };
    let left: usize = rest.iter().map(Vec::len).sum();
    let mut out = Vec::new();
    for own in (count.saturating_sub(left)..=count.min(group.len())).rev() {
        for more in choices(rest, count - own) {
            out.push([&group[..own], &more].concat());
            if out.len() > MOST_PLACINGS {
                return out;
            }
        }
    }
    out
}
