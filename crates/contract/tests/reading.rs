//! JSON and YAML texts are read as the values that they mean, or reported at the right span.

use contract::{Severity, load_text};
use serde_json::{Value, json};

/// Returns the value of `x-value` in a YAML document.
fn yaml(value: &str) -> Value {
    let text =
        format!("openapi: 3.1.0\ninfo: {{title: T, version: '1'}}\npaths: {{}}\nx-value:{value}\n");
    let loaded = load_text("t.yaml", text.as_bytes());
    let contract = loaded
        .contract
        .unwrap_or_else(|| panic!("{text}\n{:#?}", loaded.diagnostics));
    contract.document["x-value"].clone()
}

/// Returns the code, line and column of each error of a document.
fn diagnostics(name: &str, text: &[u8]) -> Vec<(String, usize, usize)> {
    let loaded = load_text(name, text);
    let place = |span| loaded.sources.line_column(span);
    let errors = loaded
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error);
    errors
        .map(|diagnostic| {
            (
                diagnostic.code.to_owned(),
                place(diagnostic.span).line,
                place(diagnostic.span).column,
            )
        })
        .collect()
}

#[test]
fn yaml_scalars_mean_what_the_core_schema_says() {
    // YAML 1.2, section 10.3.2.
    for (text, value) in [
        (" null", Value::Null),
        (" ~", Value::Null),
        ("", Value::Null),
        (" Null", Value::Null),
        (" true", json!(true)),
        (" FALSE", json!(false)),
        (" yes", json!("yes")),
        (" off", json!("off")),
        (" 12", json!(12)),
        (" -12", json!(-12)),
        (" +12", json!(12)),
        (" 0o17", json!(15)),
        (" 0x1F", json!(31)),
        (" 1.5", json!(1.5)),
        (" .5", json!(0.5)),
        (" 1e3", json!(1000.0)),
        (" 12e-1", json!(1.2)),
        (" 1_000", json!("1_000")),
        (" 2026-03-02", json!("2026-03-02")),
        (" 12:30", json!("12:30")),
        (" 3.1.0", json!("3.1.0")),
        (" 18446744073709551615", json!(u64::MAX)),
        (" -9223372036854775808", json!(i64::MIN)),
        (" '12'", json!("12")),
        (" \"true\"", json!("true")),
        (" ''", json!("")),
        (" 'it''s'", json!("it's")),
        (r#" "a\tb\u00e9\x41\n\"""#, json!("a\tbéA\n\"")),
        (" a # a comment", json!("a")),
        (" a#b", json!("a#b")),
    ] {
        assert_eq!(yaml(text), value, "{text}");
    }
}

#[test]
fn yaml_collections_and_blocks_are_read() {
    for (text, value) in [
        (
            "\n  - 1\n  - [2, 3]\n  - {a: 4, 'b c': 5}",
            json!([1, [2, 3], {"a": 4, "b c": 5}]),
        ),
        ("\n- 1\n- 2", json!([1, 2])),
        (
            "\n  a:\n    - b: 1\n      c: 2\n    - d",
            json!({"a": [{"b": 1, "c": 2}, "d"]}),
        ),
        (
            " |\n  one\n   two\n\n  three",
            json!("one\n two\n\nthree\n"),
        ),
        (" |-\n  one\n  two", json!("one\ntwo")),
        (" >\n  one\n  two\n\n  three", json!("one two\nthree\n")),
        (" >-\n  one\n    two\n  three", json!("one\n  two\nthree")),
        (" one\n  two", json!("one two")),
        (" \"one\n  two\"", json!("one two")),
        ("\n  1: a\n  true: b", json!({"1": "a", "true": "b"})),
        (
            "\n  a: &x {b: 1}\n  c: *x",
            json!({"a": {"b": 1}, "c": {"b": 1}}),
        ),
        (" !!str 12", json!("12")),
        (" {}", json!({})),
        (" []", json!([])),
    ] {
        assert_eq!(yaml(text), value, "{text}");
    }
}

#[test]
fn json_is_read_as_serde_json_reads_it() {
    for value in [
        r#"{"a": [1, -2, 3.25, 1e3, 0, -0.5], "b": {"": null, "x": true}}"#,
        r#"["é", "𝒳", "\ud835\udcb3", "\u0000\/\b\f\n\r\t\\\"", ""]"#,
        "[18446744073709551615, -9223372036854775808, 1E-7]",
        "[ ]",
    ] {
        let text = format!(
            r#"{{"openapi": "3.1.0", "info": {{"title": "T", "version": "1"}}, "paths": {{}}, "x-value": {value}}}"#
        );
        let expected: Value =
            serde_json::from_str(&text).expect("the document of the test is JSON");
        let loaded = load_text("t.json", text.as_bytes());
        assert_eq!(
            loaded
                .contract
                .expect("the document is a contract")
                .document
                .to_json(),
            expected,
            "{value}"
        );
    }
}

#[test]
fn an_error_of_syntax_is_reported_where_it_is() {
    for (name, text, code, line, column) in [
        ("t.json", "{\"a\": 1,}", "json-syntax", 1, 9),
        ("t.json", "{\"a\": 01}", "json-syntax", 1, 7),
        ("t.json", "{\"a\": 1", "json-syntax", 1, 8),
        ("t.json", "{\"a\": \"\\x\"}", "json-syntax", 1, 8),
        ("t.json", "{\"a\": 1,\n \"a\": 2}", "duplicate-key", 2, 2),
        ("t.yaml", "a: 1\na: 2\n", "duplicate-key", 2, 1),
        ("t.yaml", "a: [1\n", "yaml-syntax", 2, 1),
        ("t.yaml", "a: *x\n", "yaml-syntax", 1, 4),
        ("t.yaml", "a: .inf\n", "not-finite", 1, 4),
    ] {
        let found = diagnostics(name, text.as_bytes());
        assert!(
            found.contains(&(code.to_owned(), line, column)),
            "{text:?}: {found:?}"
        );
    }
    assert!(!diagnostics("t.yaml", b"a: \xff").is_empty());
    assert!(!diagnostics("t.json", b"").is_empty());
}

#[test]
fn depth_is_bounded() {
    for (name, open) in [
        ("t.json", "["),
        ("t.yaml", "["),
        ("t.yaml", "- "),
        ("t.json", "{\"a\":"),
    ] {
        let found = diagnostics(name, open.repeat(100_000).as_bytes());
        assert!(!found.is_empty(), "{name} {open}");
    }
    // The root object of the document is one level more.
    for (levels, codes) in [
        (119, vec![]),
        (120, vec!["too-deep"]),
        (121, vec!["too-deep"]),
    ] {
        let nested = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(codes_with(&nested, "t.json"), codes, "{levels}");
        assert_eq!(codes_with(&nested, "t.yaml"), codes, "{levels}");
    }
}

#[test]
fn aliases_count_with_the_levels_that_they_stand_for() {
    let nested =
        |levels: usize, inner: &str| format!("{}{inner}{}", "[".repeat(levels), "]".repeat(levels));
    for (levels, codes) in [(59, vec![]), (60, vec!["too-deep"])] {
        let value = format!(
            "{{ a: &a {}, b: {} }}",
            nested(59, "1"),
            nested(levels, "*a")
        );
        assert_eq!(codes_with(&value, "t.yaml"), codes, "{levels}");
    }
    let mut chain = format!("{{ a0: &a0 {}", nested(100, "1"));
    for level in 1..90 {
        chain.push_str(&format!(
            ", a{level}: &a{level} {}",
            nested(100, &format!("*a{}", level - 1))
        ));
    }
    assert_eq!(codes_with(&format!("{chain} }}"), "t.yaml"), ["too-deep"]);
}

#[test]
fn aliases_are_bounded() {
    // Each anchor is a list of nine aliases of the one before, which would expand to hundreds of
    // millions of items.
    let bomb = |levels: usize| {
        let mut bomb = String::from("{ a0: &a0 [x]");
        for level in 1..levels {
            let items = vec![format!("*a{}", level - 1); 9].join(", ");
            bomb.push_str(&format!(", a{level}: &a{level} [{items}]"));
        }
        bomb + " }"
    };
    assert_eq!(codes_with(&bomb(4), "t.yaml"), [""; 0]);
    assert_eq!(codes_with(&bomb(10), "t.yaml"), ["too-many-aliases"]);
}

#[test]
fn anchors_are_bounded_without_aliases() {
    // Each anchor keeps a copy of all that it holds.
    let nested = |levels: usize| {
        let anchors: String = (0..levels).map(|level| format!("&a{level} [")).collect();
        format!("{anchors}{}{}", "1, ".repeat(20_000), "]".repeat(levels))
    };
    assert_eq!(codes_with(&nested(40), "t.yaml"), [""; 0]);
    assert_eq!(codes_with(&nested(60), "t.yaml"), ["too-many-aliases"]);
}

#[test]
fn aliases_count_with_the_text_that_they_copy() {
    let text = "a".repeat(1 << 20);
    let copies = |count: usize, value: &str| {
        let aliases = vec!["*a"; count].join(", ");
        format!("{{ a: &a {value}, b: [{aliases}] }}")
    };
    for value in [text.clone(), format!("{{ \"{text}\": 1 }}")] {
        assert_eq!(codes_with(&copies(50, &value), "t.yaml"), [""; 0]);
        assert_eq!(
            codes_with(&copies(70, &value), "t.yaml"),
            ["too-many-aliases"]
        );
    }
}

/// Returns the codes of the errors of a document that is valid except for its `x-value`.
fn codes_with(value: &str, name: &str) -> Vec<String> {
    let text = format!(
        r#"{{"openapi": "3.1.0", "info": {{"title": "T", "version": "1"}}, "paths": {{}}, "x-value": {value}}}"#
    );
    diagnostics(name, text.as_bytes())
        .into_iter()
        .map(|(code, ..)| code)
        .collect()
}

#[test]
fn a_text_that_is_null_is_not_published() {
    let text = "openapi: 3.1.0\ninfo: {title: T, version: '1', description: null}\nservers: [{url: /, description: null, x-note: null}]\npaths: {}\n";
    let loaded = load_text("t.yaml", text.as_bytes());
    let warned = loaded.diagnostics.iter().map(|found| found.code);
    assert_eq!(warned.collect::<Vec<_>>(), ["wrong-type", "wrong-type"]);
    let contract = loaded.contract.expect("a warning refuses nothing");
    assert_eq!(
        contract.document["info"],
        json!({"title": "T", "version": "1"})
    );
    assert_eq!(
        contract.document["servers"],
        json!([{"url": "/", "x-note": null}])
    );
}

#[test]
fn no_other_number_is_suggested_than_the_one_that_is_written() {
    let text = "openapi: 3.1.0\ninfo: {title: T, version: 1.10}\npaths: {}\n";
    let loaded = load_text("t.yaml", text.as_bytes());
    let rendered = contract::render(&loaded.sources, &loaded.diagnostics);
    assert!(
        rendered.contains("put it in quotes, as it is written"),
        "{rendered}"
    );
    assert!(!rendered.contains("\"1.1\""), "{rendered}");
}
