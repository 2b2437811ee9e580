//! YAML whose brackets and quotes go on in lines that are indented too little.

use contract::load_text;
use serde_json::json;

use super::foreign;

#[test]
fn brackets_and_quotes_may_go_on_at_the_margin() {
    let text = "openapi: 3.1.0
info:
  title: Others
  version: '1'
  description: \"One – line,
and \\\" another.

  A third.\"
paths: {}
components:
  schemas:
    List:
      type: array
      example: [
        'two'
      ]
    Map:
      example: {
\"a\": [
1
],
'b': 'it''s
so'
}
      x-after: é
";
    let own = load_text("own.yaml", text.as_bytes());
    let printed = contract::render(&own.sources, &own.diagnostics);
    assert!(own.contract.is_none(), "{printed}");
    for place in ["own.yaml:6:1", "own.yaml:16:7", "own.yaml:19:1"] {
        assert!(printed.contains(place), "{printed}");
    }
    assert!(!printed.contains("left out"), "{printed}");
    let loaded = foreign(text);
    let printed = contract::render(&loaded.sources, &loaded.diagnostics);
    let found = loaded.repairs.iter();
    let found: Vec<_> = found
        .map(|repair| {
            let part = repair.part.as_deref();
            (repair.rule, repair.pointer.as_str(), part)
        })
        .collect();
    let rule = "yaml-indentation";
    let pointers = [
        "/components/schemas/List/example",
        "/components/schemas/Map/example",
        "/info/description",
    ];
    let lines = ["line 3", "line 2", "line 2"];
    let expected: Vec<_> = std::iter::zip(pointers, lines)
        .map(|(pointer, line)| (rule, pointer, Some(line)))
        .collect();
    assert_eq!(found, expected, "{printed}");
    let contract = loaded.contract.expect("a document of others is a contract");
    let at = |pointer: &str| contract.document.pointer(pointer).cloned();
    let description = json!("One – line, and \" another.\nA third.");
    assert_eq!(at("/info/description"), Some(description));
    assert_eq!(at(pointers[0]), Some(json!(["two"])));
    assert_eq!(at(pointers[1]), Some(json!({"a": [1], "b": "it's so"})));
    assert_eq!(at("/components/schemas/Map/x-after"), Some(json!("é")));
}

#[test]
fn what_comes_after_added_blanks_is_reported_at_its_place() {
    let text = "openapi: 3.1.0
info: { title: Others, version: '1' }
x-list: [
]
paths:
  /a:
    get: { responses: { '200': { description: Ok., contnt: {} } } }
";
    let loaded = foreign(text);
    let printed = contract::render(&loaded.sources, &loaded.diagnostics);
    assert!(printed.contains("others.yaml:7:52"), "{printed}");
}

#[test]
fn each_line_of_one_value_is_a_repair_of_its_own() {
    let start = "openapi: 3.1.0\ninfo: { title: Others, version: '1' }\npaths: {}\n";
    let list = "x-list:\n  - [\n  1,\n    2,\n  3,\n    4\n    ]\n";
    for before in ["", "# A line more.\n"] {
        let loaded = foreign(&format!("{start}{before}{list}"));
        let printed = contract::render(&loaded.sources, &loaded.diagnostics);
        let found = loaded.repairs.iter();
        let found: Vec<_> = found
            .map(|repair| (repair.pointer.as_str(), repair.part.as_deref()))
            .collect();
        let lines = ["line 2", "line 4"];
        let expected = lines.map(|line| ("/x-list/0", Some(line)));
        assert_eq!(found, expected, "{printed}");
    }
}

#[test]
fn lines_are_indented_within_a_bound() {
    let start = "openapi: 3.1.0\ninfo: { title: Others, version: '1' }\npaths: {}\n";
    let words = "# a line of a mebibyte of comments\n".repeat((1 << 20) / 34);
    for (brackets, is_read) in [(8, true), (64, false)] {
        let lists = (0..brackets).map(|at| format!("x-{at}:\n  list: [\n    'one'\n  ]\n"));
        let text = format!("{start}{words}{}", lists.collect::<String>());
        let loaded = foreign(&text);
        assert_eq!(loaded.contract.is_some(), is_read, "{brackets}");
        let rule = if is_read {
            "yaml-indentation"
        } else {
            "yaml-syntax"
        };
        assert!(loaded.diagnostics.iter().any(|found| found.code == rule));
    }
}

#[test]
fn brackets_that_are_not_closed_are_no_mistake_of_indentation() {
    for text in [
        "openapi: 3.1.0\ninfo: { title: Others, version: '1' }\nx-list: [1, 2\npaths: {}\nx-other: [3]\n",
        "openapi: 3.1.0\ninfo: { title: Others, version: '1' }\nx-list: [1, 2\n'paths': {}\n",
        // The next key would be an item.
        "openapi: 3.1.0\ninfo: { title: Others, version: '1' }\npaths: {}\ncomponents:\n  schemas:\n    A:\n      x-list: ['a', 'b',\n      type: string\n      ]\n",
        "openapi: 3.1.0\ninfo:\n  title: \"Others\n  version: '1'\npaths: {}\n",
    ] {
        let loaded = foreign(text);
        let printed = contract::render(&loaded.sources, &loaded.diagnostics);
        assert!(loaded.contract.is_none(), "{text}{printed}");
        assert!(printed.contains("[yaml-syntax]"), "{text}{printed}");
    }
}
