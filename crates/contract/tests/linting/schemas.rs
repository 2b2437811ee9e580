//! Schemas whose keywords contradict each other, and patterns and formats.

use contract::load_text;

use contract::Severity;

use crate::{SCHEMA_31, diagnostics, error, help, place, schema_30, warning};

#[test]
fn types_that_exclude_each_other() {
    for (wrong, right) in [
        (
            "{ ⟦allOf: [{ type: integer }, { type: string }] }",
            "{ allOf: [{ type: integer }, { type: number }] }",
        ),
        (
            "{ type: object, ⟦anyOf: [{ type: string }, { type: array }] }",
            "{ type: object, anyOf: [{ type: string }, {}] }",
        ),
        (
            "{ type: object, ⟦allOf: [{ type: [string, array] }] }",
            "{ type: object, allOf: [{ type: [string, object] }] }",
        ),
    ] {
        warning("impossible-schema", SCHEMA_31, wrong, right);
    }
    let alike = "{ properties: { a: { allOf: [{ type: integer }, { enum: [a] }] } } }";
    assert_eq!(diagnostics(&SCHEMA_31.replace("@@", alike)).len(), 1);
}

#[test]
fn patterns_are_regular_expressions() {
    error(
        "bad-pattern",
        SCHEMA_31,
        "{ pattern: ⟦\"[a-\" }",
        "{ pattern: \"^[a-z]+$\" }",
    );
    error(
        "bad-pattern",
        SCHEMA_31,
        "{ patternProperties: { ⟦\"(\": {} } }",
        "{ patternProperties: { \"^(?!x)\": {} } }",
    );
    warning(
        "bad-pattern",
        SCHEMA_31,
        "{ pattern: ⟦\"(?x)a\" }",
        "{ pattern: \"(a)\\\\1\" }",
    );
}

#[test]
fn a_bad_pattern_is_explained() {
    for (pattern, why) in [
        ("[a-", "unclosed character class at character 1"),
        ("é(", "unclosed group at character 2"),
        ("a{2,1}", "at character 2"),
        ("(?=a)(", "position"),
        ("b\\\\Aa", "`\\A` at character 2"),
        ("(?P<name>a)", "`(?P<` at character 1"),
    ] {
        let text = SCHEMA_31.replace("@@", &format!("{{ pattern: \"{pattern}\" }}"));
        let loaded = load_text("pets.yaml", text.as_bytes());
        let messages: Vec<&str> = loaded
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic.message.as_str())
            .collect();
        assert!(
            messages.len() == 1 && messages[0].contains(why),
            "{pattern}: {messages:?}"
        );
    }
}

#[test]
fn formats_that_look_like_known_ones() {
    for (wrong, meant) in [
        ("datetime", "date-time"),
        ("date_time", "date-time"),
        ("int-32", "int32"),
        ("ip4", "ipv4"),
        ("e-mail", "email"),
        ("UUID", "uuid"),
        ("guid", "uuid"),
    ] {
        warning(
            "misspelt-format",
            SCHEMA_31,
            &format!("{{ format: ⟦{wrong} }}"),
            &format!("{{ format: {meant} }}"),
        );
        let text = SCHEMA_31.replace("@@", &format!("{{ format: {wrong} }}"));
        assert_eq!(help(&text), format!("did you mean `{meant}`?"));
    }
    assert_eq!(
        diagnostics(&SCHEMA_31.replace("@@", "{ format: shoe-size }")),
        vec![]
    );
}

#[test]
fn bounds_leave_room() {
    for (wrong, right) in [
        ("{ minimum: ⟦5, maximum: 4 }", "{ minimum: 4, maximum: 4 }"),
        (
            "{ minLength: ⟦5, maxLength: 4 }",
            "{ minLength: 4, maxLength: 4 }",
        ),
        (
            "{ minItems: ⟦5, maxItems: 4 }",
            "{ minItems: 4, maxItems: 4 }",
        ),
        (
            "{ exclusiveMinimum: ⟦4, maximum: 4 }",
            "{ exclusiveMinimum: 3, maximum: 4 }",
        ),
        (
            "{ minimum: ⟦9007199254740993, maximum: 9007199254740992 }",
            "{ minimum: 9007199254740992, maximum: 9007199254740993 }",
        ),
        ("{ multipleOf: ⟦0 }", "{ multipleOf: 0.5 }"),
    ] {
        error("impossible-bounds", SCHEMA_31, wrong, right);
    }
    for (text, said) in [
        (
            SCHEMA_31.replace("@@", "{ exclusiveMinimum: 4, maximum: 4 }"),
            "more than 4 (`exclusiveMinimum`) and at most 4 (`maximum`)",
        ),
        (
            schema_30().replace("@@", "{ minimum: 4, maximum: 4, exclusiveMaximum: true }"),
            "at least 4 (`minimum`) and less than 4 (`maximum`, `exclusiveMaximum`)",
        ),
    ] {
        let loaded = load_text("bounds.yaml", text.as_bytes());
        let message = &loaded.diagnostics[0].message;
        assert_eq!(*message, format!("no value is {said}"));
    }
    warning(
        "duplicate-enum",
        SCHEMA_31,
        "{ enum: [1, ⟦1.0] }",
        "{ enum: [1, \"1\"] }",
    );
    warning("empty-enum", SCHEMA_31, "{ enum: ⟦[] }", "{ enum: [1] }");
    warning(
        "nullable-enum",
        &schema_30(),
        "{ type: string, enum: [a], ⟦nullable: true }",
        "{ type: string, enum: [a, null], nullable: true }",
    );
    warning(
        "impossible-bounds",
        &schema_30(),
        "{ ⟦exclusiveMinimum: true }",
        "{ minimum: 1, exclusiveMinimum: true }",
    );
}

#[test]
fn required_properties_are_allowed() {
    warning(
        "impossible-required",
        SCHEMA_31,
        "{ properties: { name: {} }, required: [⟦b], additionalProperties: false }",
        "{ properties: { name: {} }, required: [name], additionalProperties: false }",
    );
    warning(
        "undeclared-required",
        SCHEMA_31,
        "{ properties: { name: {} }, required: [⟦nmae] }",
        "{ properties: { name: {} }, required: [name] }",
    );
    warning(
        "undeclared-required",
        SCHEMA_31,
        "{ allOf: [{ properties: { id: {} } }, { properties: { name: {} }, required: [id, ⟦size] }] }",
        "{ allOf: [{ properties: { id: {} } }, { properties: { name: {} }, required: [id, name] }] }",
    );
    // What is beside it may declare more.
    for more in [
        "additionalProperties: true",
        "patternProperties: { a: {} }",
        "anyOf: [{ properties: { size: {} } }]",
        "discriminator: { propertyName: name }",
    ] {
        let open =
            format!("{{ allOf: [{{ properties: {{ name: {{}} }}, required: [size] }}], {more} }}");
        let found = diagnostics(&SCHEMA_31.replace("@@", &open));
        let is_required = found.iter().any(|(code, ..)| code == "undeclared-required");
        assert!(!is_required, "{open}: {found:?}");
    }
    warning(
        "duplicate-required",
        SCHEMA_31,
        "{ properties: { name: {} }, required: [name, ⟦name] }",
        "{ required: [anything] }",
    );
}

#[test]
fn many_required_names_are_judged_in_time() {
    let list = |name: &str, end: &str| {
        (0..3000)
            .map(|at| format!("{name}{at}{end}, "))
            .collect::<String>()
    };
    let schema = format!(
        "{{ required: [{}], properties: {{ {} }} }}",
        list("some_needed_name_", ""),
        list("a_declared_property_", ": {}")
    );
    let start = std::time::Instant::now();
    assert_eq!(diagnostics(&SCHEMA_31.replace("@@", &schema)), vec![]);
    // Each name compared with each takes minutes.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

/// Returns a document in which a schema leads to the next of `levels` in four ways.
fn ladder(levels: usize) -> String {
    let schemas = (0..=levels).map(|at| {
        let next = format!("#/components/schemas/L{}", at + 1);
        // Each part is another one, so that none is there twice.
        let ways: Vec<String> = (0..4)
            .map(|way| format!("{{ title: \"{way}\", $ref: \"{next}\" }}"))
            .collect();
        match at {
            _ if at == levels => {
                format!("    L{at}: {{ type: object, properties: {{ x: {{}} }} }}\n")
            }
            0 => format!(
                "    L0:\n      anyOf: [{}]\n      ⟦unevaluatedProperties: false\n",
                ways.join(", ")
            ),
            _ => format!("    L{at}: {{ anyOf: [{}] }}\n", ways.join(", ")),
        }
    });
    let used = SCHEMA_31.replace("@@", r##"{ $ref: "#/components/schemas/L0" }"##);
    format!(
        "{used}components:\n  schemas:\n{}",
        schemas.collect::<String>()
    )
}

#[test]
fn a_chain_of_all_of_that_is_too_long_for_types_is_reported_once() {
    let chain = |links: usize| {
        let used = SCHEMA_31.replace(
            "@@",
            &format!(r##"{{ $ref: "#/components/schemas/S{links}" }}"##),
        );
        let schemas = (1..=links).map(|at| {
            let before = at - 1;
            let mark = if at == 33 { "⟦" } else { "" };
            format!(
                "    S{at}: {{ {mark}allOf: [{{ $ref: \"#/components/schemas/S{before}\" }}, {{ properties: {{ p{at}: {{}} }} }}] }}\n"
            )
        });
        let schemas: String = schemas.collect();
        format!("{used}components:\n  schemas:\n    S0: {{ type: object }}\n{schemas}")
    };
    assert_eq!(diagnostics(&chain(32)), vec![]);
    for links in [33, 60] {
        let text = chain(links);
        let (line, column) = place(&text, "⟦");
        let expected = ("too-many-links".to_owned(), Severity::Warning, line, column);
        assert_eq!(diagnostics(&text.replace('⟦', "")), [expected]);
    }
}

#[test]
fn schemas_that_no_validator_can_hold_are_refused_before_one_is_made() {
    // Twelve levels have 44 million ways, which would take 16 GiB. Eight have 175,000.
    let text = ladder(12);
    let (line, column) = place(&text, "⟦");
    let found = diagnostics(&text.replace('⟦', ""));
    let expected = ("too-many-ways".to_owned(), Severity::Error, line, column);
    assert!(found.contains(&expected), "{found:#?}");
    let few = diagnostics(&ladder(8).replace('⟦', ""));
    assert!(
        !few.iter().any(|(code, ..)| code == "too-many-ways"),
        "{few:#?}"
    );
}
