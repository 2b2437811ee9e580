//! Names of tools and of their inputs, as the clients of assistants take them.

use std::collections::HashSet;

/// The input that is the request body.
pub(super) const BODY: &str = "body";
/// The maximum number of characters of a name. The protocol allows 128 in the name of a tool, but
/// the APIs of language models 64, in which some clients put the name of the server too.
const MOST_CHARACTERS: usize = 48;

/// Returns a name of letters, digits, `_`, and `-` that is not taken yet.
pub(super) fn free(wanted: &str, taken: &mut HashSet<String>) -> String {
    let legal = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => character,
        _ => '_',
    };
    let base: String = wanted.chars().map(legal).take(MOST_CHARACTERS).collect();
    let base = if base.is_empty() {
        "_".to_owned()
    } else {
        base
    };
    let mut name = base.clone();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        let end = format!("_{number}");
        let kept = base.len().min(MOST_CHARACTERS - end.len());
        // The base is ASCII, so it can be cut anywhere.
        name = format!("{}{end}", &base[..kept]);
        number += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_legal_short_and_unique() {
        let mut taken = HashSet::new();
        let mut free = |wanted: &str| free(wanted, &mut taken);
        assert_eq!(free("vm_list"), "vm_list");
        assert_eq!(free("filter[a]"), "filter_a_");
        assert_eq!(free("filter(a)"), "filter_a__2");
        assert_eq!(free("é"), "_");
        assert_eq!(free(""), "__2");
        let long = "x".repeat(100);
        assert_eq!(free(&long).len(), MOST_CHARACTERS);
        let second = free(&long);
        assert!(second.ends_with("x_2") && second.len() == MOST_CHARACTERS);
    }
}
