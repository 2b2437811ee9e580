//! Strings that match several regular expressions and have a length: walks through the automata of all
//! expressions at the same time, which never lead to where no match is possible.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::rc::Rc;

use proptest::arbitrary::any;
use proptest::collection::vec;
use proptest::strategy::{BoxedStrategy, Strategy as _};
use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::util::primitives::StateID;
use regex_automata::{Anchored, Input, MatchKind};

/// The largest table of an expression, and the maximum memory that makes it, in bytes.
const LARGEST_TABLE: usize = 1 << 20;
/// The maximum number of states of all expressions together.
const MOST_STATES: usize = 2_000;
/// The longest string that is made for a bound.
const LONGEST: usize = 4_096;
/// How many more characters than it needs a string may have.
const SLACK: usize = 24;
/// The characters beyond ASCII that strings have, one for each number of bytes.
const BEYOND: [char; 3] = ['é', '猫', '😀'];

/// Returns a strategy for strings in which each regular expression has a match, and that have so many
/// characters. Returns `None` if there are none of the characters that are tried, or if the
/// expressions look around or are too large.
pub(super) fn joint(
    regexes: &[String],
    lengths: RangeInclusive<usize>,
) -> Option<BoxedStrategy<String>> {
    let (least, most) = lengths.into_inner();
    if least > LONGEST {
        return None;
    }
    let graph = Graph::of(regexes)?;
    let longest = most.min(least.max(graph.shortest()?) + SLACK);
    let ends = graph.ends(longest);
    let possible: Vec<usize> = (least..=longest)
        .filter(|length| ends[*length][0])
        .collect();
    if possible.is_empty() {
        return None;
    }
    // A string shrinks to the shortest one, and in it to the first characters.
    let drawn = (0..possible.len(), vec(any::<u16>(), longest));
    let walk = Rc::new((graph, ends));
    let strategy = drawn.prop_map(move |(length, choices)| {
        let (graph, ends) = &*walk;
        graph.walk(ends, &choices[..possible[length]])
    });
    Some(strategy.boxed())
}

/// The states of all expressions together, from the first one.
#[derive(Debug)]
struct Graph {
    states: Vec<State>,
}

/// A state of each expression.
#[derive(Debug, Default)]
struct State {
    /// Whether a string that ends here matches.
    is_end: bool,
    /// The characters that lead to each other state.
    next: BTreeMap<usize, Vec<char>>,
}

/// For each number of characters and each state, whether so many lead from it to a match.
type Ends = Vec<Vec<bool>>;

impl Graph {
    fn of(regexes: &[String]) -> Option<Self> {
        let automata: Option<Vec<_>> = regexes.iter().map(|regex| automaton(regex)).collect();
        let automata = automata?;
        let start = Input::new("").anchored(Anchored::Yes);
        let start: Result<Vec<StateID>, _> = automata
            .iter()
            .map(|automaton| automaton.start_state_forward(&start))
            .collect();
        let mut known: HashMap<Vec<StateID>, usize> = HashMap::new();
        let mut found = vec![start.ok()?];
        known.insert(found[0].clone(), 0);
        let mut states = Vec::new();
        while let Some(own) = found.get(states.len()).cloned() {
            let each = || automata.iter().zip(&own);
            let mut state = State {
                is_end: each()
                    .all(|(automaton, at)| automaton.is_match_state(automaton.next_eoi_state(*at))),
                next: BTreeMap::new(),
            };
            for character in characters() {
                let mut bytes = [0; 4];
                let bytes = character.encode_utf8(&mut bytes).as_bytes();
                let to = each().map(|(automaton, at)| {
                    let step = |at: StateID, byte: &u8| automaton.next_state(at, *byte);
                    let to = bytes.iter().fold(*at, step);
                    let is_lost = automaton.is_dead_state(to) || automaton.is_quit_state(to);
                    (!is_lost).then_some(to)
                });
                let Some(to) = to.collect::<Option<Vec<StateID>>>() else {
                    continue;
                };
                let next = found.len();
                let next = *known.entry(to.clone()).or_insert(next);
                if next == found.len() {
                    found.push(to);
                }
                state.next.entry(next).or_default().push(character);
            }
            states.push(state);
            if found.len() > MOST_STATES {
                return None;
            }
        }
        Some(Self { states })
    }

    /// Returns the number of characters of the shortest string that matches.
    fn shortest(&self) -> Option<usize> {
        let mut reached = vec![false; self.states.len()];
        let mut now = vec![0];
        for length in 0..=LONGEST {
            if now.iter().any(|at: &usize| self.states[*at].is_end) {
                return Some(length);
            }
            let next = now.iter().flat_map(|at| self.states[*at].next.keys());
            let next: Vec<usize> = next
                .copied()
                .filter(|at| !std::mem::replace(&mut reached[*at], true))
                .collect();
            now = next;
        }
        None
    }

    fn ends(&self, longest: usize) -> Ends {
        let mut ends = vec![self.states.iter().map(|state| state.is_end).collect()];
        for length in 0..longest {
            let before: &Vec<bool> = &ends[length];
            let leads = |state: &State| state.next.keys().any(|next| before[*next]);
            ends.push(self.states.iter().map(leads).collect());
        }
        ends
    }

    /// Returns the string to which choices lead, one for each character.
    fn walk(&self, ends: &Ends, choices: &[u16]) -> String {
        let (mut text, mut at) = (String::new(), 0);
        for (made, choice) in choices.iter().enumerate() {
            let left = choices.len() - made - 1;
            let leads = self.states[at]
                .next
                .iter()
                .filter(|(to, _)| ends[left][**to]);
            let mut leads: Vec<(char, usize)> = leads
                .flat_map(|(to, characters)| characters.iter().map(|one| (*one, *to)))
                .collect();
            // A small choice is a simple character.
            leads.sort_by_key(|(character, _)| rank(*character));
            let Some((character, next)) = leads.get(usize::from(*choice) % leads.len().max(1))
            else {
                break;
            };
            text.push(*character);
            at = *next;
        }
        text
    }
}

/// Returns the automaton of the strings in which a regular expression has a match.
fn automaton(regex: &str) -> Option<dense::DFA<Vec<u32>>> {
    let config = dense::Config::new()
        .dfa_size_limit(Some(LARGEST_TABLE))
        .determinize_size_limit(Some(LARGEST_TABLE))
        .match_kind(MatchKind::All)
        .start_kind(StartKind::Anchored);
    // A match may stand anywhere in a string, but a walk begins at its first character and must
    // know the rest of the way.
    let whole = format!("\\A(?s:.)*(?:{regex})(?s:.)*\\z");
    dense::Builder::new().configure(config).build(&whole).ok()
}

/// Returns the characters of strings.
fn characters() -> impl Iterator<Item = char> {
    (' '..='~').chain(BEYOND)
}

/// Returns how simple a character is.
fn rank(character: char) -> (u8, char) {
    let kind = match character {
        'a'..='z' => 0,
        '0'..='9' => 1,
        'A'..='Z' => 2,
        ' '..='~' => 3,
        _ => 4,
    };
    (kind, character)
}
