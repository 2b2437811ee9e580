//! The strings that match some patterns and do not match others, as a product of automata.

mod alphabet;
mod sets;

use std::collections::HashMap;
use std::rc::Rc;

use regex_automata::Input;
use regex_automata::dfa::{Automaton, dense};
use regex_automata::util::primitives::StateID;

use super::pattern::{Pattern, Patterns};
use alphabet::{Letter, alphabet};
pub(crate) use sets::Sets;

/// The maximum number of states of a product of automata.
const MOST_STATES: usize = 4096;
/// The maximum number of states and transitions that are looked at to find the lengths of the
/// strings.
const MOST_STEPS: usize = 4_000_000;
/// The number of characters that are kept of those with the same transition.
const CHARACTERS: usize = 8;

/// The strings that match some patterns and do not match others.
#[derive(Debug)]
pub(crate) struct Language {
    edges: Vec<Vec<Edge>>,
    accepting: Vec<bool>,
    /// Whether an edge has more characters than it lists, so that some strings are left out.
    is_abridged: bool,
}

#[derive(Debug)]
struct Edge {
    to: usize,
    characters: Vec<char>,
    /// Whether the edge stands for more characters than those that are listed.
    is_abridged: bool,
}

/// Strings of a language.
pub(crate) struct Words {
    /// The strings, the shortest first.
    pub(crate) list: Vec<String>,
    /// Whether there are no others.
    pub(crate) is_complete: bool,
}

/// The state of one automaton after a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Position {
    /// The pattern matches, with anything after it.
    Matched,
    At(StateID),
}

struct Part {
    pattern: Rc<Pattern>,
    is_wanted: bool,
}

impl Part {
    fn automaton(&self) -> &dense::DFA<Vec<u32>> {
        self.pattern
            .automaton()
            .expect("a part without an automaton is refused before")
    }

    /// Returns the position after a byte, or `None` if the automaton gives up.
    fn next(&self, at: Position, byte: u8) -> Option<Position> {
        let Position::At(state) = at else {
            return Some(at);
        };
        let next = self.automaton().next_state(state, byte);
        if self.automaton().is_quit_state(next) {
            return None;
        }
        Some(if self.automaton().is_match_state(next) {
            Position::Matched
        } else {
            Position::At(next)
        })
    }

    fn matches_at_end(&self, at: Position) -> bool {
        match at {
            Position::Matched => true,
            Position::At(state) => {
                // An automaton reports a match one byte late, so the end counts as a byte too.
                let end = self.automaton().next_eoi_state(state);
                self.automaton().is_match_state(end)
            }
        }
    }
}

impl Language {
    /// Returns the language, or `None` if a pattern has no automaton or the product is too large.
    pub(crate) fn new(patterns: &Patterns, wanted: &[String], unwanted: &[String]) -> Option<Self> {
        let parts = [(wanted, true), (unwanted, false)];
        let parts: Vec<Part> = parts
            .into_iter()
            .flat_map(|(list, is_wanted)| {
                list.iter().map(move |pattern| Part {
                    pattern: patterns.get(pattern),
                    is_wanted,
                })
            })
            .collect();
        if parts.iter().any(|part| part.pattern.automaton().is_none()) {
            return None;
        }
        explore(&parts)
    }

    /// Returns the number of transitions between states, which the memory follows.
    pub(crate) fn transitions(&self) -> usize {
        self.edges.iter().map(Vec::len).sum()
    }

    /// Drops the transitions from which no string of the language can follow.
    fn prune(&mut self) {
        let mut is_live = self.accepting.clone();
        loop {
            let mut has_grown = false;
            // States are numbered as they are found, so most edges lead to later ones: backwards,
            // few rounds are needed.
            for (state, edges) in self.edges.iter().enumerate().rev() {
                if !is_live[state] && edges.iter().any(|edge| is_live[edge.to]) {
                    is_live[state] = true;
                    has_grown = true;
                }
            }
            if !has_grown {
                break;
            }
        }
        // The start stays the first state. If it is dead, every state is.
        is_live[0] = true;
        let mut numbers = vec![0; is_live.len()];
        let mut count = 0;
        for (number, is_live) in numbers.iter_mut().zip(&is_live) {
            *number = count;
            count += usize::from(*is_live);
        }
        for edges in &mut self.edges {
            edges.retain(|edge| is_live[edge.to]);
        }
        let mut state = 0..;
        self.edges
            .retain(|_| state.next().is_some_and(|state| is_live[state]));
        let mut state = 0..;
        self.accepting
            .retain(|_| state.next().is_some_and(|state| is_live[state]));
        for edge in self.edges.iter_mut().flatten() {
            edge.to = numbers[edge.to];
            self.is_abridged |= edge.is_abridged;
        }
    }

    /// Returns at most `most` strings with at least `min` and at most `max` characters.
    pub(crate) fn words(&self, min: u64, max: Option<u64>, most: usize) -> Words {
        let unknown = Words {
            list: Vec::new(),
            is_complete: false,
        };
        let Ok(min) = usize::try_from(min) else {
            return unknown;
        };
        // A string that is longer than this passes a state twice, and stays in the language
        // without the part in between.
        let states = self.edges.len();
        let reach = min
            .saturating_add(states.saturating_mul(2))
            .saturating_add(most);
        let max = max.map_or(usize::MAX, |max| usize::try_from(max).unwrap_or(usize::MAX));
        let last = reach.min(max);
        if min > max {
            return Words {
                list: Vec::new(),
                is_complete: true,
            };
        }
        let transitions = states + self.transitions();
        // A language with strings of any length has one that passes a state twice and no state
        // three times.
        let mut is_finite = true;
        // For each number of characters, the states from which so many lead to the end.
        let mut ends: Vec<Vec<bool>> = vec![self.accepting.clone()];
        let mut list = Vec::new();
        let mut steps: usize = 0;
        for length in 0..=last {
            if length > 0 {
                steps += transitions;
                if steps > MOST_STEPS {
                    return Words {
                        list,
                        is_complete: false,
                    };
                }
                let before = &ends[length - 1];
                let now = self
                    .edges
                    .iter()
                    .map(|edges| edges.iter().any(|edge| before[edge.to]))
                    .collect();
                ends.push(now);
            }
            is_finite &= length < states || !ends[length][0];
            if length >= min && ends[length][0] {
                self.spell(0, length, &ends, &mut String::new(), &mut list, most);
                if list.len() >= most {
                    return Words {
                        list,
                        is_complete: false,
                    };
                }
            }
        }
        Words {
            is_complete: list.is_empty() || ((last == max || is_finite) && !self.is_abridged),
            list,
        }
    }

    /// Appends the strings of a length to `list`, without recursion, since strings can be long.
    fn spell(
        &self,
        start: usize,
        length: usize,
        ends: &[Vec<bool>],
        text: &mut String,
        list: &mut Vec<String>,
        most: usize,
    ) {
        // The state, the edge and the character to try next, for each character of the string.
        let mut stack = vec![(start, 0, 0)];
        loop {
            let depth = stack.len().wrapping_sub(1);
            let Some((state, edge, character)) = stack.last_mut() else {
                return;
            };
            if depth == length {
                list.push(text.clone());
                if list.len() >= most {
                    return;
                }
                stack.pop();
                text.pop();
                continue;
            }
            let Some(next) = self.edges[*state].get(*edge) else {
                stack.pop();
                text.pop();
                continue;
            };
            let left = length - depth - 1;
            let Some(found) = next
                .characters
                .get(*character)
                // Only where the end can be reached with what is left: no start is spelled in vain.
                .filter(|_| ends[left][next.to])
            else {
                *edge += 1;
                *character = 0;
                continue;
            };
            *character += 1;
            text.push(*found);
            stack.push((next.to, 0, 0));
        }
    }
}

fn explore(parts: &[Part]) -> Option<Language> {
    let start: Vec<Position> = parts
        .iter()
        .map(|part| {
            let start = part.automaton().start_state_forward(&Input::new("")).ok()?;
            Some(Position::At(start))
        })
        .collect::<Option<_>>()?;
    let alphabet = alphabet(parts)?;
    let mut states = vec![start.clone()];
    let mut known = HashMap::from([(start, 0)]);
    let mut language = Language {
        edges: Vec::new(),
        accepting: Vec::new(),
        is_abridged: false,
    };
    let mut at = 0;
    while at < states.len() {
        let state = states[at].clone();
        at += 1;
        let accepts = parts
            .iter()
            .zip(&state)
            .all(|(part, at)| part.matches_at_end(*at) == part.is_wanted);
        language.accepting.push(accepts);
        let mut edges: Vec<Edge> = Vec::new();
        let mut targets: Vec<Option<Option<usize>>> = vec![None; alphabet.classes];
        for letter in &alphabet.letters {
            // All letters of a class lead to the same state.
            let target = if let Some(target) = targets[letter.class] {
                target
            } else {
                let found = match step(parts, &state, letter.character) {
                    Step::To(next) => {
                        let new = states.len();
                        let to = *known.entry(next.clone()).or_insert(new);
                        if to == new {
                            if new >= MOST_STATES {
                                return None;
                            }
                            states.push(next);
                        }
                        Some(to)
                    }
                    Step::Refused => None,
                    Step::GivenUp => return None,
                };
                targets[letter.class] = Some(found);
                found
            };
            let Some(to) = target else { continue };
            let Letter {
                character,
                is_alone,
                ..
            } = letter;
            // All characters with the same target share an edge, since the search need not tell
            // them apart.
            match edges.iter_mut().find(|edge| edge.to == to) {
                Some(edge) => {
                    let has_room = edge.characters.len() < CHARACTERS;
                    edge.is_abridged |= !has_room || !is_alone;
                    if has_room {
                        edge.characters.push(*character);
                    }
                }
                None => edges.push(Edge {
                    to,
                    characters: vec![*character],
                    is_abridged: !is_alone,
                }),
            }
        }
        language.edges.push(edges);
    }
    language.prune();
    Some(language)
}

/// Where a character leads.
enum Step {
    To(Vec<Position>),
    /// An unwanted pattern matches, or a wanted one no longer can.
    Refused,
    /// An automaton gives up.
    GivenUp,
}

fn step(parts: &[Part], state: &[Position], character: char) -> Step {
    let mut buffer = [0; 4];
    let bytes = character.encode_utf8(&mut buffer).as_bytes();
    let mut next = Vec::with_capacity(state.len());
    for (part, at) in parts.iter().zip(state) {
        let mut at = *at;
        for byte in bytes {
            match part.next(at, *byte) {
                Some(next) => at = next,
                None => return Step::GivenUp,
            }
        }
        // A match stays a match with any text after it, and where a pattern cannot match any more, it
        // never will: no longer string can be in the language.
        let is_lost = match at {
            Position::Matched => !part.is_wanted,
            Position::At(state) => part.is_wanted && part.automaton().is_dead_state(state),
        };
        if is_lost {
            return Step::Refused;
        }
        next.push(at);
    }
    Step::To(next)
}
