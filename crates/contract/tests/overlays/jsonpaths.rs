//! The filters and patterns of JSONPaths.

use contract::overlay::MOST_PATTERNS;
use serde_json::{Value, json};

use crate::{changed, codes, overlay, read, with_data};

#[test]
fn filters_select_as_the_rfc_says() {
    let data = json!([
        {"n": 1, "s": "ab", "l": []},
        {"n": 2.5, "s": "a\rb", "l": [1]},
        {"n": "2", "s": "ba", "l": {"k": 1}},
        {"s": "", "l": null},
        {"n": 9_007_199_254_740_993_i64, "l": [[1], {"x": 1}]},
    ]);
    for (filter, expected) in [
        ("@.n", &[0, 1, 2, 4][..]),
        ("!@.n", &[3]),
        ("@.s", &[0, 1, 2, 3]),
        ("@.l[0]", &[1, 4]),
        ("@.l == null", &[3]),
        ("@.n == @.none", &[3]),
        ("@.n < 2", &[0]),
        ("@.n >= 2.5", &[1, 4]),
        ("@.n == 9007199254740991", &[]),
        ("@.n == 1E0 || @.n == '2'", &[0, 2]),
        ("@.n && !(@.n == 1) && @.n != 2.5", &[2, 4]),
        ("length(@.l) == 1", &[1, 2]),
        ("length(@.s) < 1", &[3]),
        ("count(@.l.*) == 2", &[4]),
        ("count(@..*) > 5", &[4]),
        ("value(@.l.*) == 1", &[1, 2]),
        ("match(@.s, 'a.?b')", &[0]),
        ("match(@.s, 'a|ab')", &[0]),
        ("search(@.s, 'b')", &[0, 1, 2]),
        ("search(@.s, $['x-data'][2].s)", &[2]),
        ("match(@.s, '[ab]{2}')", &[0, 2]),
        ("@.l == $['x-data'][2].l", &[2]),
    ] {
        let mut expected: Vec<Value> = {
            let marked = |(index, item): (usize, &Value)| {
                let mut item = item.clone();
                if expected.contains(&index) {
                    item["x"] = json!(true);
                }
                item
            };
            data.as_array()
                .expect("an array")
                .iter()
                .enumerate()
                .map(marked)
                .collect()
        };
        let target = format!("$['x-data'][?{filter}]");
        let actions = json!([{"target": target, "update": {"x": true}}]);
        let changed = changed("1.1.0", &data, &actions).expect("the overlay fits");
        let found = changed.as_array().expect("an array");
        assert_eq!(*found, std::mem::take(&mut expected), "{filter}");
    }
}

#[test]
fn a_pattern_takes_linear_time() {
    let data = json!(["a".repeat(50_000)]);
    let actions = json!([{"target": "$['x-data'][?match(@, '(a*)*b')]", "remove": true}]);
    let start = std::time::Instant::now();
    assert_eq!(changed("1.1.0", &data, &actions), Ok(data));
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn the_patterns_of_an_overlay_have_a_common_bound() {
    let action = |index: usize| {
        let target = format!("$['x-data'][?match(@, 'a{index}')]");
        json!({"target": target, "update": "b"})
    };
    let data = json!(["a0"]);
    let most: Value = (0..MOST_PATTERNS).map(action).collect();
    assert_eq!(changed("1.1.0", &data, &most), Ok(json!(["b"])));
    // Equal patterns are one.
    let twice: Value = (0..=MOST_PATTERNS).map(|_| action(0)).collect();
    assert_eq!(changed("1.1.0", &data, &twice), Ok(json!(["b"])));
    let more: Value = (0..=MOST_PATTERNS).map(action).collect();
    let loaded = read(&with_data(&data), &[overlay("1.1.0", &more)]);
    assert_eq!(codes(&loaded), ["overlay-too-large"]);
}
