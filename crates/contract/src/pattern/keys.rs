//! Patterns that are keys, such as those of `patternProperties`.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use super::canonical;

/// Returns schemas by pattern, with each pattern in the spelling of [`canonical`].
///
/// Spellings of one pattern stay entries of their own, since all of their schemas apply: all but one
/// begin with groups of nothing. These follow from the spellings and not from the order of keys, which
/// means nothing.
pub(crate) fn canonical_keys<T>(entries: IndexMap<String, T>) -> IndexMap<String, T> {
    let spelt: Vec<String> = entries
        .keys()
        .map(|pattern| canonical(pattern).into_owned())
        .collect();
    let mut sorted: Vec<(&String, &String)> = spelt.iter().zip(entries.keys()).collect();
    sorted.sort_unstable();
    let mut taken: HashSet<String> = spelt.iter().cloned().collect();
    let mut names: HashMap<String, String> = HashMap::new();
    let mut last: Option<(&String, usize)> = None;
    for (spelt, pattern) in sorted {
        let number = match last {
            Some((before, number)) if before == spelt => number + 1,
            _ => 0,
        };
        last = Some((spelt, number));
        let name = numbered(spelt, number, &taken);
        taken.insert(name.clone());
        names.insert(pattern.clone(), name);
    }
    entries
        .into_iter()
        .filter_map(|(pattern, value)| Some((names.remove(&pattern)?, value)))
        .collect()
}

/// Returns a pattern with groups of nothing before it that stand for a number, or the pattern itself
/// for 0.
fn numbered(pattern: &str, number: usize, taken: &HashSet<String>) -> String {
    if number == 0 {
        return pattern.to_owned();
    }
    // The digits of the number, of which there are few.
    let digits = format!("{number:b}");
    let groups = digits
        .chars()
        .map(|digit| if digit == '1' { "(?:|)" } else { "(?:)" });
    let mut name = groups.collect::<String>() + pattern;
    // A document may have such a pattern itself, and another of its patterns the same name.
    while taken.contains(&name) {
        name.insert_str(0, "(?:||)");
    }
    name
}
