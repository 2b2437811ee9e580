//! A naive implementation of Overlay 1.1 over JSON values, and random overlays.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{DATA, changed};

#[derive(Debug, Clone)]
enum Step {
    Key(&'static str),
    Index(usize),
    All,
}

#[derive(Debug, Clone)]
enum Change {
    Update(Value),
    Copy(Vec<Step>),
    Remove,
}

fn path_of(steps: &[Step]) -> String {
    let step = |step: &Step| match step {
        Step::Key(key) => format!("['{key}']"),
        Step::Index(index) => format!("[{index}]"),
        Step::All => "[*]".to_owned(),
    };
    format!("{DATA}{}", steps.iter().map(step).collect::<String>())
}

/// Returns the JSON Pointers of what a path selects.
fn pointers(value: &Value, steps: &[Step], at: &str) -> Vec<String> {
    let Some((step, rest)) = steps.split_first() else {
        return vec![at.to_owned()];
    };
    let below = |key: String, value: &Value| pointers(value, rest, &format!("{at}/{key}"));
    match (step, value) {
        (Step::Key(key), Value::Object(map)) => map
            .get(*key)
            .map_or(Vec::new(), |value| below((*key).to_owned(), value)),
        (Step::Index(index), Value::Array(items)) => items
            .get(*index)
            .map_or(Vec::new(), |value| below(index.to_string(), value)),
        (Step::All, Value::Object(map)) => map
            .iter()
            .flat_map(|(key, value)| below(key.clone(), value))
            .collect(),
        (Step::All, Value::Array(items)) => {
            let items = items.iter().enumerate();
            items
                .flat_map(|(index, value)| below(index.to_string(), value))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn naive_merge(target: &mut Value, update: &Value, is_top: bool) -> bool {
    match (target, update) {
        (Value::Object(map), Value::Object(updates)) => {
            updates.iter().all(|(key, update)| match map.get_mut(key) {
                Some(value) => naive_merge(value, update, false),
                None => map.insert(key.clone(), update.clone()).is_none(),
            })
        }
        (Value::Array(items), Value::Array(more)) => {
            items.extend(more.iter().cloned());
            true
        }
        (Value::Array(items), update) if is_top => {
            items.push(update.clone());
            true
        }
        (target, update)
            if !target.is_object()
                && !target.is_array()
                && !update.is_object()
                && !update.is_array() =>
        {
            *target = update.clone();
            true
        }
        _ => false,
    }
}

/// Applies an action; returns `None` if it is an error.
fn naive(mut data: Value, target: &[Step], change: &Change) -> Option<Value> {
    let mut found = pointers(&data, target, "");
    let copied = match change {
        Change::Copy(from) => {
            let from = pointers(&data, from, "");
            match from.as_slice() {
                _ if found.is_empty() => Value::Null,
                [one] => data.pointer(one)?.clone(),
                _ => return None,
            }
        }
        _ => Value::Null,
    };
    if let Change::Remove = change {
        found.sort_by_key(|pointer| {
            pointer
                .rsplit('/')
                .next()
                .and_then(|last| last.parse::<usize>().ok())
        });
        for pointer in found.iter().rev() {
            let (parent, last) = pointer.rsplit_once('/')?;
            match data.pointer_mut(parent)? {
                Value::Object(map) => drop(map.shift_remove(last)),
                Value::Array(items) => drop(items.remove(last.parse().ok()?)),
                _ => return None,
            }
        }
        return Some(data);
    }
    let kind = |pointer: &String| {
        let value = data.pointer(pointer).cloned().unwrap_or_default();
        (value.is_object(), value.is_array())
    };
    let kinds: std::collections::BTreeSet<_> = found.iter().map(kind).collect();
    if kinds.len() > 1 {
        return None;
    }
    let update = match change {
        Change::Update(update) => update,
        _ => &copied,
    };
    for pointer in &found {
        if !naive_merge(data.pointer_mut(pointer)?, update, true) {
            return None;
        }
    }
    Some(data)
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3_u8).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(&["a", "b", "c"][..]), inner, 0..4)
                .prop_map(|map| map
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect()),
        ]
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => prop::sample::select(&["a", "b", "c"][..]).prop_map(Step::Key),
        2 => (0..3_usize).prop_map(Step::Index),
        2 => Just(Step::All),
    ];
    prop::collection::vec(step, 0..4)
}

fn changes() -> impl Strategy<Value = (Vec<Step>, Change)> {
    let change = prop_oneof![
        4 => values().prop_map(Change::Update),
        2 => steps().prop_map(Change::Copy),
        1 => Just(Change::Remove),
    ];
    (steps(), change)
}

/// Changes of which none is an error, one behind the other.
fn fitting(data: &Value, changes: Vec<(Vec<Step>, Change)>) -> (Value, Vec<(Vec<Step>, Change)>) {
    let mut data = data.clone();
    let mut kept = Vec::new();
    for (target, change) in changes {
        if let Some(next) = naive(data.clone(), &target, &change) {
            data = next;
            kept.push((target, change));
        }
    }
    (data, kept)
}

fn to_actions(changes: &[(Vec<Step>, Change)]) -> Value {
    let action = |(target, change): &(Vec<Step>, Change)| match change {
        Change::Update(update) => json!({"target": path_of(target), "update": update}),
        Change::Copy(from) => json!({"target": path_of(target), "copy": path_of(from)}),
        Change::Remove => json!({"target": path_of(target), "remove": true}),
    };
    changes.iter().map(action).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn an_overlay_changes_what_a_naive_implementation_changes(
        inner in values(),
        changes in prop::collection::vec(changes(), 1..8),
        wrong in changes(),
    ) {
        // One level below, so that everything can be removed.
        let data = json!({"a": inner, "b": [1, {"c": 2}]});
        // A removal of all data would leave nothing to compare.
        let changes = changes.into_iter().filter(|(target, change)| !(target.is_empty() && matches!(change, Change::Remove)));
        let (expected, kept) = fitting(&data, changes.collect());
        prop_assume!(!kept.is_empty());
        let actions = to_actions(&kept);
        prop_assert_eq!(changed("1.1.0", &data, &actions), Ok(expected.clone()), "{}", actions);
        prop_assume!(!(wrong.0.is_empty() && matches!(wrong.1, Change::Remove)));
        let naive = naive(expected.clone(), &wrong.0, &wrong.1);
        let actions = to_actions(std::slice::from_ref(&wrong));
        prop_assert_eq!(changed("1.1.0", &expected, &actions).ok(), naive, "{} {}", expected, actions);
    }
}
