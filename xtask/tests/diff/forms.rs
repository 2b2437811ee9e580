//! The forms of a report, and where its documents come from.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{DONE, diff, git, path};

/// Returns a small contract with one operation that gets and one that puts a pet, and a webhook.
fn small(pet: &str) -> String {
    format!(
        "openapi: 3.1.0
info: {{title: Pets, version: 1.2.0}}
servers: [{{url: https://pets.example}}]
paths:
  /pet/{{id}}:
    parameters:
      - {{name: id, in: path, required: true, schema: {{type: integer, minimum: 1}}}}
    get:
      operationId: pet_view
      responses:
        '200':
          description: The pet.
          content:
            application/json:
              schema: {{$ref: '#/components/schemas/Pet'}}
    put:
      operationId: pet_replace
      parameters:
        - {{name: weight, in: query, required: false, schema: {{type: integer}}}}
      requestBody:
        required: true
        content:
          application/json:
            schema: {{$ref: '#/components/schemas/Pet'}}
      responses:
        '204': {{description: Done.}}
webhooks:
  pet_changed:
    post:
      operationId: pet_changed
      requestBody:
        content:
          application/json:
            schema: {{$ref: '#/components/schemas/Pet'}}
      responses:
        '204': {{description: Seen.}}
components:
  schemas:
    Pet:
      type: object
      required: [name]
      properties:
{pet}"
    )
}

const PET: &str = "        name: {type: string, maxLength: 20}
        tag: {oneOf: [{type: string}, {type: 'null'}]}
        parent: {$ref: '#/components/schemas/Pet'}
";

/// Writes two small contracts, and returns the report on them in a form.
fn compare_small(folder: &Path, new: &str, more: &[&str]) -> (i32, String) {
    fs::write(folder.join("old.yaml"), small(PET)).expect("the document can be written");
    fs::write(folder.join("new.yaml"), new).expect("the document can be written");
    let (code, printed, wrong) = diff(folder, &[&["old.yaml", "new.yaml"], more].concat());
    (code, wrong + &printed)
}

#[test]
fn a_report_has_forms_for_people_and_for_programs() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let new = small(&PET.replace("maxLength: 20", "maxLength: 10"));
    for form in ["terminal", "markdown", "github", "sarif"] {
        let (code, printed) = compare_small(folder.path(), &new, &["--format", form]);
        assert_eq!(code, 5, "{printed}");
        insta::assert_snapshot!(format!("form_{form}"), printed);
    }
    let allowed = ["--allow", "breaking"];
    let (code, printed) = compare_small(folder.path(), &new, &allowed);
    assert_eq!(code, 0, "{printed}");
}

#[test]
fn each_cause_is_one_finding_with_the_operations_that_it_reaches() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let pet = PET
        .replace("maxLength: 20", "maxLength: 30")
        .replace("{type: 'null'}", "{type: 'null'}, {type: integer}");
    let (code, printed) = compare_small(folder.path(), &small(&pet), &["--format", "json"]);
    assert_eq!(code, 5, "{printed}");
    let report: Value = serde_json::from_str(&printed).expect("the report is JSON");
    let broken: Vec<&Value> = report["findings"]
        .as_array()
        .expect("findings are a list")
        .iter()
        .filter(|finding| finding["kind"] == "breaking")
        .collect();
    assert_eq!(broken.len(), 2, "{report:#}");
    for finding in broken {
        assert_eq!(finding["rule"], "response-widened");
        assert_eq!(
            finding["operations"],
            serde_json::json!([
                "pet_view (GET /pet/{id})",
                "webhook pet_changed (POST pet_changed)"
            ])
        );
    }
}

#[test]
fn small_changes_are_judged() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let same = small(PET);
    let rows: [(&str, String, &[&str]); 8] = [
        (
            "a text becomes a number",
            same.replace("{type: string, maxLength: 20}", "{type: integer}"),
            &["request-narrowed", "response-widened"],
        ),
        ("nothing", same.clone(), &[]),
        (
            "a number in a query becomes text",
            same.replace("required: false, schema: {type: integer}", "required: false, schema: {type: string}"),
            &["request-widened"],
        ),
        (
            "the sender of a webhook leaves out a property",
            same.replace("required: [name]", "required: []"),
            &["request-widened", "response-widened"],
        ),
        (
            "a webhook goes",
            same.split("webhooks:").next().unwrap_or_default().to_owned()
                + "components:"
                + same.split("components:").nth(1).unwrap_or_default(),
            &["operation-removed"],
        ),
        (
            "a reference is written out one level",
            small(&PET.replace(
                "parent: {$ref: '#/components/schemas/Pet'}",
                "parent: {type: object, required: [name], properties: {name: {type: string, maxLength: 20}, tag: {type: [string, 'null']}, parent: {$ref: '#/components/schemas/Pet'}}}",
            )),
            &[],
        ),
        (
            "a schema has another name",
            same.replace("schemas/Pet'", "schemas/Animal'").replace("    Pet:", "    Animal:"),
            &[],
        ),
        (
            "a path takes fewer numbers",
            same.replace("minimum: 1", "minimum: 1, maximum: 99"),
            &["request-narrowed"],
        ),
    ];
    for (name, new, expected) in rows {
        let (_, printed) = compare_small(folder.path(), &new, &["--format", "json"]);
        let report: Value =
            serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{name}: {printed}"));
        let findings = report["findings"].as_array().expect("findings are a list");
        let mut rules: Vec<&str> = findings
            .iter()
            .filter_map(|one| one["rule"].as_str())
            .collect();
        rules.sort_unstable();
        assert_eq!(rules, expected, "{name}: {report:#}");
        for finding in findings {
            let is_broken = finding["kind"] == "breaking";
            let kind = finding["witness"]["kind"].as_str();
            assert!(
                !is_broken || matches!(kind, Some("request" | "message")),
                "{name}: {report:#}"
            );
        }
    }
}

#[test]
fn information_that_disappears_is_said() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let size = |schema: &str| {
        let pet = format!("        name: {{type: string}}\n        size: {schema}\n");
        small(&pet) + "    Size: {type: integer}\n    Ten: {type: integer, default: 10}\n"
    };
    let judge = |old: &str, new: &str, more: &[&str]| {
        let write = |file: &str, text: &str| {
            fs::write(folder.path().join(file), text).expect("the document can be written");
        };
        write("old.yaml", old);
        write("new.yaml", new);
        let (code, printed, wrong) =
            diff(folder.path(), &[&["old.yaml", "new.yaml"], more].concat());
        (code, if printed.is_empty() { wrong } else { printed })
    };
    let with_default = "{$ref: '#/components/schemas/Size', default: 10}";
    let rows = [
        (
            "a text is no longer encoded",
            size("{type: string, contentEncoding: base64}"),
            size("{type: string}"),
            "content-changed",
        ),
        (
            "a text has another media type",
            size("{type: string, contentMediaType: text/plain}"),
            size("{type: string, contentMediaType: text/html}"),
            "content-changed",
        ),
        (
            "a text has another format that nothing checks",
            size("{type: string, format: color}"),
            size("{type: string, format: colour}"),
            "content-changed",
        ),
        (
            "responses no longer have a property",
            size("{type: string}"),
            size("{type: string, writeOnly: true}"),
            "response-property-removed",
        ),
        (
            "a default beside a reference changes",
            size(with_default),
            size("{type: integer, default: 20}"),
            "default-changed",
        ),
        (
            "a default behind a reference changes",
            size("{$ref: '#/components/schemas/Ten'}"),
            size("{type: integer, default: 20}"),
            "default-changed",
        ),
        (
            "a default in an only part changes",
            size("{allOf: [{$ref: '#/components/schemas/Ten'}]}"),
            size("{type: integer}"),
            "default-changed",
        ),
        (
            "the last property goes",
            size("{type: string}"),
            size("{type: string}").replace(
                "      required: [name]\n      properties:\n        name: {type: string}\n        size: {type: string}\n",
                "",
            ),
            "request-property-removed",
        ),
    ];
    for (name, old, new, rule) in rows {
        let (code, printed) = judge(&old, &new, &["--format", "json"]);
        assert_eq!(code, 5, "{name}: {printed}");
        let report: Value = serde_json::from_str(&printed).expect("the report is JSON");
        let findings = report["findings"].as_array().expect("findings are a list");
        let found = findings.iter().filter(|found| found["rule"] == rule);
        let most = if rule == "request-property-removed" {
            2
        } else {
            1
        };
        assert_eq!(found.count(), most, "{name}: {report:#}");
    }
    let part = size("{allOf: [{$ref: '#/components/schemas/Ten'}]}");
    let (code, printed) = judge(&part, &size("{type: integer, default: 10}"), &[]);
    assert_eq!(code, 0, "{printed}");
}

#[test]
fn a_document_of_several_files_is_read_from_a_git_revision() {
    if !git::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
        let done = Command::new("git")
            .current_dir(folder.path())
            .args(identity)
            .args(arguments)
            .output()
            .expect("git runs");
        assert!(done.status.success(), "{done:?}");
    };
    let document = small(PET).replace("$ref: '#/components/schemas/Pet'", "$ref: 'pet.yaml'");
    let document = document
        .split("components:")
        .next()
        .unwrap_or_default()
        .to_owned();
    let pet = "type: object\nproperties:\n  name: {type: string, maxLength: 20}\n";
    fs::create_dir(folder.path().join("api")).expect("a folder can be made");
    let write = |file: &str, text: &str| {
        fs::write(folder.path().join("api").join(file), text).expect("the document can be written");
    };
    write("pets.yaml", &document);
    write("pet.yaml", pet);
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "Add pets"]);
    let arguments = ["--base", "HEAD", "--contract", "api/pets.yaml"];
    let (code, printed, wrong) = diff(folder.path(), &arguments);
    assert_eq!(code, 0, "{wrong}{printed}");
    write("pet.yaml", &pet.replace("20", "10"));
    let (code, printed, wrong) = diff(folder.path(), &arguments);
    assert_eq!(code, 5, "{wrong}{printed}");
    assert!(
        printed.contains("before: HEAD:api/pet.yaml:3:"),
        "{printed}"
    );
    assert!(printed.contains("after: api/pet.yaml:3:"), "{printed}");
    let (code, _, wrong) = diff(
        folder.path(),
        &["--base", "v1", "--contract", "api/pets.yaml"],
    );
    assert_eq!(code, 1);
    assert!(wrong.contains("failed to find `v1` in git"), "{wrong}");
    assert!(
        wrong.contains("`git fetch`") && !wrong.contains("git failed"),
        "{wrong}"
    );
    let (code, _, wrong) = diff(folder.path(), &["missing.yaml", "api/pets.yaml"]);
    assert_eq!(code, 1);
    assert!(
        wrong.contains("missing.yaml") && wrong.contains("cannot be read"),
        "{wrong}"
    );
    let (code, _, _) = diff(folder.path(), &["a.yaml", "--base", "HEAD"]);
    assert_eq!(code, 2);
}

#[test]
fn a_changelog_shows_values_of_a_document_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let get = |pattern: &str| {
        let schema = format!("{{type: string, pattern: '{pattern}'}}");
        let fields = format!("parameters: [{{name: q, in: query, schema: {schema}}}], {DONE}");
        path("get", "/a", &fields)
    };
    let changelog = |old: &str, new: &str| {
        fs::write(folder.path().join("old.yaml"), get(old)).expect("the document can be written");
        fs::write(folder.path().join("new.yaml"), get(new)).expect("the document can be written");
        diff(
            folder.path(),
            &["old.yaml", "new.yaml", "--format", "markdown"],
        )
        .1
    };
    let printed = changelog("^<img src=x>_a_$", "^<b>$");
    assert!(
        printed.contains("`pattern` `^<img src=x>_a_$` → `^<b>$`"),
        "{printed}"
    );
    let printed = changelog("^`<img src=x>$", "^b$");
    assert!(
        printed.contains("`pattern` `^`\\<img src=x\\>\\$` → `^b\\$\\`"),
        "{printed}"
    );
}
