//! What the escapes of a pattern say: every reader of a contract reads them as ECMA 262 with its Annex B
//! does. docs/foreign.md lists where patterns still differ from it.

use compatibility::{Containment, Reading, contain};
use contract::Contract;
use mock::{Mock, Settings};
use serde_json::json;

/// Patterns with texts that match and texts that do not, from ECMA 262: patterns with the flag `u`,
/// which JSON Schema recommends, and the escapes of punctuation that Annex B allows without it.
const TABLE: [(&str, &[&str], &[&str]); 44] = [
    // `IdentityEscape`: punctuation stands for itself.
    (r"^\<a\>$", &["<a>"], &["a", "<a", r"\<a\>"]),
    (r"\<", &["<", "a<b"], &["a", "", "a b"]),
    (r"\>", &[">", "a>b"], &["a", "", "a b"]),
    (r"^[\<\>]$", &["<", ">"], &["a", r"\"]),
    (r"^[^\<\>]+$", &["ab"], &["<", "a>"]),
    (r"^\(?\<$", &["<", "(<"], &["(", ""]),
    (
        r#"^\-\_\@\"\ \#\%\&\'\,\;\:\=\!\~\`\/$"#,
        &[r#"-_@" #%&',;:=!~`/"#],
        &["", "-_@"],
    ),
    (
        r#"^[\-\_\@\"\ \#\&\~]$"#,
        &["-", "_", "@", "\"", " "],
        &["a", r"\"],
    ),
    (r"^\§\€$", &["§€"], &["§", r"\§\€"]),
    (r"^[\§-\¶]$", &["§", "¨", "¶"], &["a", "·"]),
    // `ClassEscape`: in a class, this is a backspace.
    (r"^[\b]$", &["\u{8}"], &["b", r"\", ""]),
    // `CharacterEscape`: controls, and the character zero.
    (r"^\0$", &["\0"], &["0", ""]),
    (r"^[\0]$", &["\0"], &["0", ""]),
    (r"^\cJ\cj$", &["\n\n"], &["JJ", "cJcj"]),
    (r"^\x3C\u003e$", &["<>"], &["x3C"]),
    // `RegExpUnicodeEscapeSequence`: the halves of one character.
    (r"^\uD83D\uDE00$", &["😀"], &["", "😁"]),
    (
        r"^[\uD83D\uDE00-\uD83D\uDE02]$",
        &["😀", "😁", "😂"],
        &["😃"],
    ),
    (r"^\u{1F600}$", &["😀"], &["u"]),
    // `CharacterClass`: an empty one, and the one of every character.
    (r"^a[^]b$", &["a\nb", "axb"], &["ab"]),
    (r"^a$|^b[]$", &["a"], &["b", "b]"]),
    // `CharacterClassEscape`: digits and words are those of ASCII.
    (r"^\d\D$", &["1a", "1٣"], &["٣a", "11"]),
    (r"^\w\W$", &["_-", "aé"], &["éa", "aa"]),
    (
        r"^\s\S$",
        &["\u{feff}a", "\u{3000}b", "\u{b}\u{85}"],
        &["aa", "\u{85}a"],
    ),
    (r"^[\d.]+$", &["1.2"], &["1,2", "٣"]),
    (r"^[^\s]$", &["a", "\u{85}"], &["\u{feff}", "\t"]),
    // `NonemptyClassRanges` of Annex B: with a set at either end, the hyphen is a character.
    (r"^[\w-.]+$", &["a-b.c"], &["a+b", "a/b"]),
    (r"^[.-\d]+$", &["1-2.3"], &["1/2", "a"]),
    (r"^[\w-a-z]$", &["-", "z", "b"], &["{", ","]),
    (r"^[\d--/]$", &["1", "-", "/"], &[".", "a"]),
    (r"^[\s-]$", &["-", " "], &["a"]),
    (r"^[a-c-e]$", &["b", "-", "e"], &["d"]),
    // `ExtendedPatternCharacter`: braces that are no quantifier are characters.
    (r"^{a}$", &["{a}"], &["a"]),
    (r"^a{,2}$", &["a{,2}"], &["a", "aa"]),
    (r"^a{1$", &["a{1"], &["a"]),
    (r"^\$\{[a-z]+}$", &["${ab}"], &["${ab"]),
    (r"^a{2}b{1,}c{0,1}$", &["aab", "aabbc"], &["ab"]),
    (r"^x}{2}$", &["x}}"], &["x}{2}"]),
    // `LegacyOctalEscapeSequence`: where there is no such group.
    (r"^\101$", &["A"], &["101"]),
    (r"^[\101-\103]$", &["A", "B"], &["D", "1"]),
    (r"^\012\0$", &["\n\0"], &["012"]),
    (r"^\477$", &["'7"], &["477"]),
    (r"^\8\18$", &["8\u{1}8"], &["818"]),
    (r"^(a|b)\1\2$", &["aa\u{2}", "bb\u{2}"], &["ab\u{2}"]),
    // Nothing but the escape of a backslash.
    (r"^\\<$", &[r"\<"], &["<"]),
];

/// Returns a contract whose schemas are a text with the pattern, an object whose keys with the
/// pattern are numbers, and a text with another pattern.
fn contract(pattern: &str, other: &str) -> Contract {
    let document = json!({
        "openapi": "3.1.0",
        "info": { "title": "Small", "version": "0.1.0" },
        "paths": {},
        "components": { "schemas": {
            "Spelt": { "type": "string", "pattern": pattern },
            "Keys": { "type": "object", "patternProperties": { pattern: { "type": "integer" } } },
            "Other": { "type": "string", "pattern": other },
        }},
    });
    let loaded = contract::load_text("small.json", document.to_string().as_bytes());
    let found: Vec<_> = loaded.diagnostics.iter().collect();
    assert!(
        found.iter().all(|found| found.code != "bad-pattern"),
        "{pattern}: {found:#?}"
    );
    loaded.contract.expect("the document has no errors")
}

/// Returns the pattern, and one with the same matches that looks ahead: another engine runs it.
fn forms(pattern: &str) -> [String; 2] {
    [pattern.to_owned(), format!("(?=x?)(?:{pattern})")]
}

/// Returns the pattern that the generated types check.
fn generated(contract: &Contract) -> String {
    let files = codegen::generate(contract, &codegen::Options::new("small")).expect("it generates");
    let file = files
        .iter()
        .find(|file| file.text.contains("pub struct Spelt"))
        .expect("there is a type");
    let file = syn::parse_file(&file.text).expect("the file is Rust");
    let attributes = file.items.iter().find_map(|item| match item {
        syn::Item::Struct(item) if item.ident == "Spelt" => Some(&item.attrs),
        _ => None,
    });
    let mut pattern = None;
    for attribute in attributes.expect("there is a type") {
        if attribute.path().is_ident("scalar") {
            let _ = attribute.parse_nested_meta(|meta| {
                let value = meta.value()?.parse::<syn::Lit>()?;
                if let (true, syn::Lit::Str(text)) = (meta.path.is_ident("pattern"), value) {
                    pattern = Some(text.value());
                }
                Ok(())
            });
        }
    }
    pattern.expect("the type has a pattern")
}

#[test]
fn every_reader_of_an_escape_reads_what_ecma_262_says() {
    for (written, matching, others) in TABLE {
        for pattern in forms(written) {
            let mock = Mock::new(contract(&pattern, "^other$"), Settings::default());
            let contract = mock.contract();
            let (text, keys) = (contract.components["Spelt"], contract.components["Keys"]);
            let mut bundle = contract::bundle::schema_bundle(contract);
            bundle["$ref"] = contract::bundle::schema_reference(contract, keys).into();
            let keys = jsonschema::draft202012::new(&bundle).expect("the schemas compile");
            let checked = api_runtime::Pattern::new(generated(contract).leak());
            let texts = matching.iter().map(|text| (text, true));
            for (text_of, fits) in texts.chain(others.iter().map(|text| (text, false))) {
                let about = format!("{pattern} {text_of:?}");
                assert_eq!(checked.matches(text_of), fits, "generated code: {about}");
                let value = json!(text_of);
                let is_right = mock.values().check(text, &value).is_ok();
                assert_eq!(is_right, fits, "validator: {about}");
                let value = json!({ *text_of: "no number" });
                assert_eq!(keys.is_valid(&value), !fits, "keys: {about}");
            }
        }
        let mock = Mock::new(contract(written, "^other$"), Settings::default());
        let text = mock.contract().components["Spelt"];
        let made = mock.values().value(text, 1, false);
        // The search for values knows no repeated groups, and says so.
        if written.contains("(a|b)") {
            assert!(made.is_err(), "{written}: {made:?}");
            continue;
        }
        let made = made.unwrap_or_else(|error| panic!("{written}: {error}"));
        assert!(made.is_string(), "{written}: {made}");
        assert!(mock.values().check(text, &made).is_ok(), "{written}");
    }
}

#[test]
fn two_spellings_of_a_pattern_are_the_same() {
    for (one, other) in [
        (r"^\<a\>$", "^<a>$"),
        (r"^[\b]$", r"^\x08$"),
        (r"^\0$", r"^\u0000$"),
        (r"^[^]$", r"^[\s\S]$"),
        (r"^\uD83D\uDE00$", "^😀$"),
    ] {
        let contract = contract(one, other);
        let (text, same) = (contract.components["Spelt"], contract.components["Other"]);
        for (first, second) in [(text, same), (same, text)] {
            let decided = contain((&contract, first), (&contract, second), Reading::Exact);
            assert!(
                matches!(decided, Containment::Contained),
                "{one} {other}: {decided:?}"
            );
        }
    }
}

/// Loads a contract with the schema `Keys`, which has these `patternProperties`.
fn with_keys(patterns: &str) -> contract::Contract {
    let schema = format!(r#"{{ "type": "object", "patternProperties": {{ {patterns} }} }}"#);
    let document = format!(
        r#"{{ "openapi": "3.1.0", "info": {{ "title": "Small", "version": "0.1.0" }}, "paths": {{}},
            "components": {{ "schemas": {{ "Keys": {schema} }} }} }}"#
    );
    let loaded = contract::load_text("small.json", document.as_bytes());
    loaded.contract.expect("the document has no errors")
}

#[test]
fn all_spellings_of_a_pattern_of_keys_count_in_any_order() {
    // Which of nine characters are escaped are the bits of a number.
    let spelling = |number: u32| -> String {
        let escaped = |at: u32| if number >> at & 1 == 1 { r"\\<" } else { "<" };
        format!("^{}$", (0..9).map(escaped).collect::<String>())
    };
    let entries =
        || (0..512).map(|number| format!(r#""{}": {{ "minimum": {number} }}"#, spelling(number)));
    let forwards: Vec<String> = entries().collect();
    let backwards: Vec<String> = entries().rev().collect();
    let [one, other] = [forwards, backwards].map(|entries| with_keys(&entries.join(", ")));
    let mut bundle = contract::bundle::schema_bundle(&one);
    let keys = one.components["Keys"];
    bundle["$ref"] = contract::bundle::schema_reference(&one, keys).into();
    let schema = jsonschema::draft202012::new(&bundle).expect("the schemas compile");
    for (value, fits) in [(json!(511), true), (json!(510), false), (json!(-1), false)] {
        assert_eq!(
            schema.is_valid(&json!({ "<<<<<<<<<": value })),
            fits,
            "{value}"
        );
    }
    // What is put before one pattern may be the start of another.
    let five = [r"<<", r"<\\<", r"\\<<", r"(?:)<<", r"(?:)<\\<"];
    let five = five.map(|pattern| format!(r#""{pattern}": {{}}"#));
    let five = with_keys(&five.join(", "));
    let bundle_of_five = contract::bundle::schema_bundle(&five).to_string();
    assert_eq!(
        bundle_of_five.matches("<<\":").count(),
        5,
        "{bundle_of_five}"
    );
    // The order of the keys in the document changes nothing.
    let again = contract::bundle::schema_bundle(&other);
    assert_eq!(contract::bundle::schema_bundle(&one), again);
}

#[test]
fn a_long_pattern_is_read_in_time_and_a_longer_one_is_refused() {
    let load = |pattern: &str| {
        let document = json!({
            "openapi": "3.1.0",
            "info": { "title": "Small", "version": "0.1.0" },
            "paths": {},
            "components": { "schemas": { "Long": { "type": "string", "pattern": pattern } } },
        });
        contract::load_text("small.json", document.to_string().as_bytes())
    };
    let started = std::time::Instant::now();
    for set in [r"\d", r"\w", r"\S"] {
        let loaded = load(&set.repeat(2000));
        assert!(loaded.contract.is_some(), "{set}");
    }
    // One took 16 seconds when each of the 2,000 was translated by itself.
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
    // Braces without an end, and far beyond the bound: each was compared with all that follow it.
    let braces = load(&"{".repeat(4 << 20));
    assert!(braces.contract.is_none() || !braces.diagnostics.is_empty());
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
    let longest = "a".repeat(16 << 10);
    assert!(load(&longest).contract.is_some());
    let loaded = load(&format!("{longest}a"));
    let found = contract::render(&loaded.sources, &loaded.diagnostics);
    assert!(found.contains("bad-pattern"), "{found:.300}");
    assert!(
        found.contains("it has 16385 bytes, and at most 16384 are read"),
        "{found:.300}"
    );
}
