//! The list of repairs: each repair is in it, so that none comes unseen.

use super::{foreign, with_path};

/// Returns the repairs of a document, each in one line.
fn list(text: &str) -> Vec<String> {
    let loaded = foreign(text);
    let printed = contract::render(&loaded.sources, &loaded.diagnostics);
    assert!(loaded.contract.is_some(), "{printed}");
    let repairs = loaded.repairs.into_iter();
    let lines = repairs.map(|repair| {
        let part = repair
            .part
            .map_or_else(String::new, |part| format!(" {part}"));
        format!("{} {}{part}", repair.rule, repair.pointer)
    });
    lines.collect()
}

const OK: &str = "{ responses: { '204': { description: Done. } } }";

#[test]
fn each_parameter_that_is_not_declared_is_in_the_list() {
    let y = "{ name: y, in: path, required: true, schema: { type: integer } }";
    let item = |parameters: &str| {
        with_path(
            "/a/{x}/{y}",
            &format!("{{ parameters: [{parameters}], get: {OK} }}"),
        )
    };
    let at = "path-parameter-undeclared /paths/~1a~1{x}~1{y}";
    assert_eq!(list(&item(y)), [format!("{at} x")]);
    assert_eq!(list(&item("")), [format!("{at} x"), format!("{at} y")]);
}

#[test]
fn each_operation_that_no_server_has_is_in_the_list() {
    let item = |name: &str, operations: &str| {
        format!(
            "{{ parameters: [{{ name: {name}, in: path, required: true, schema: {{ type: string }} }}], {operations} }}"
        )
    };
    let with = |second: &str| {
        let first = item("x", &format!("get: {OK}, post: {OK}"));
        let second = item("y", &format!("{second}, put: {OK}"));
        list(&(with_path("/a/{x}", &first) + &format!("  /a/{{y}}: {second}\n")))
    };
    let at = "duplicate-path /paths/~1a~1{y}";
    let delete = format!("delete: {OK}");
    assert_eq!(with(&delete), [at.to_owned()]);
    let get = format!("{delete}, get: {OK}");
    assert_eq!(with(&get), [at.to_owned(), format!("{at} GET")]);
    let both = format!("{get}, post: {OK}");
    assert_eq!(
        with(&both),
        [at.to_owned(), format!("{at} GET"), format!("{at} POST")]
    );
}
