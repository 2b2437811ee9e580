//! Changes the contract of this workspace in typical ways, and compares what `cargo xtask diff`
//! says with what it must say.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use serde_json::Value;

/// What `diff` must say about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// Nothing at all: both documents mean the same.
    Equal,
    /// Only findings that harm nobody.
    Compatible,
    /// Findings that refuse the change, all of this rule.
    Refused(&'static str),
}

use Verdict::{Compatible, Equal, Refused};

/// A change: in the document, after the first `after`, the first `from` becomes `to`.
struct Edit {
    after: &'static str,
    from: &'static str,
    to: &'static str,
}

struct Row {
    verdict: Verdict,
    name: &'static str,
    edits: &'static [Edit],
}

const fn edit(after: &'static str, from: &'static str, to: &'static str) -> Edit {
    Edit { after, from, to }
}

const fn row(verdict: Verdict, name: &'static str, edits: &'static [Edit]) -> Row {
    Row {
        verdict,
        name,
        edits,
    }
}

const ROWS: &[Row] = &[
    row(
        Refused("request-narrowed"),
        "a bound of numbers in requests falls",
        &[edit("\n    Port:\n", "maximum: 65535", "maximum: 60000")],
    ),
    row(
        Refused("request-narrowed"),
        "a text in requests must be shorter",
        &[edit("\n    Reference:\n", "maxLength: 63", "maxLength: 40")],
    ),
    row(
        Refused("request-narrowed"),
        "a pattern in requests excludes a first digit",
        &[edit(
            "\n    Reference:\n",
            "pattern: '^[a-z0-9](?:",
            "pattern: '^[a-z](?:",
        )],
    ),
    row(
        Refused("request-narrowed"),
        "a property becomes required in requests",
        &[edit(
            "\n    PostgresCreate:\n",
            "        - storage_size\n",
            "        - storage_size\n        - version\n",
        )],
    ),
    row(
        Refused("request-narrowed"),
        "a closed request loses a property",
        &[edit(
            "\n    PrivateSubnetConnect:\n",
            "connected-subnet-id:",
            "subnet_id:",
        )],
    ),
    row(
        Refused("request-narrowed"),
        "an enumeration in requests loses a value",
        &[
            edit(
                "\n    LoadBalancerAlgorithm:\n",
                "enum: [round_robin, hash_based]",
                "enum: [round_robin]",
            ),
            edit(
                "\npaths:\n",
                "algorithm: hash_based",
                "algorithm: round_robin",
            ),
        ],
    ),
    row(
        Refused("request-narrowed"),
        "an array in requests must be shorter",
        &[edit(
            "\n    VmIdInputs:\n",
            "maxItems: 1000",
            "maxItems: 10",
        )],
    ),
    row(
        Refused("request-narrowed"),
        "null is no longer accepted",
        &[edit(
            "\n    LoadBalancerUpdate:\n",
            "type: [boolean, \"null\"]",
            "type: boolean",
        )],
    ),
    row(
        Refused("response-widened"),
        "a property of a response is no longer required",
        &[edit(
            "\n    LoadBalancerSummary:\n",
            "        - hostname\n",
            "",
        )],
    ),
    row(
        Refused("response-widened"),
        "a property of a response has another type",
        &[edit(
            "\n    LoadBalancerSummary:\n",
            "cert_enabled:\n          type: boolean",
            "cert_enabled:\n          type: [boolean, string]",
        )],
    ),
    row(
        Refused("response-widened"),
        "a number of a response may be null",
        &[edit(
            "\n    Count:\n",
            "type: integer",
            "type: [integer, \"null\"]",
        )],
    ),
    row(
        Refused("response-widened"),
        "a time of a response needs no format",
        &[edit("\n    Timestamp:\n", "      format: date-time\n", "")],
    ),
    row(
        Refused("response-widened"),
        "a text of a response may be longer",
        &[edit(
            "\n    Hostname:\n",
            "maxLength: 253",
            "maxLength: 300",
        )],
    ),
    row(
        Refused("operation-removed"),
        "an operation moves",
        &[edit(
            "\npaths:\n",
            "  /project/{project_id}/load-balancer:",
            "  /project/{project_id}/balancer:",
        )],
    ),
    row(
        Refused("parameter-required"),
        "a parameter becomes required",
        &[edit(
            "\n    IfMatch:\n      name",
            "required: false",
            "required: true",
        )],
    ),
    row(
        Refused("parameter-removed"),
        "a header has another name",
        &[edit(
            "\n    IdempotencyKey:\n",
            "name: Idempotency-Key",
            "name: Repeat-Key",
        )],
    ),
    row(
        Refused("success-status-changed"),
        "a success has another status",
        &[edit("operationId: postgres_create", "\"200\":", "\"201\":")],
    ),
    row(
        Refused("security-tightened"),
        "the credential is another one",
        &[edit(
            "securitySchemes:",
            "scheme: bearer\n      bearerFormat: pat\n",
            "scheme: basic\n",
        )],
    ),
    row(
        Refused("media-type-removed"),
        "a request has another media type",
        &[edit(
            "operationId: postgres_create",
            "application/json:",
            "application/vnd.stratus+json:",
        )],
    ),
    row(
        Refused("body-required"),
        "a body becomes required",
        &[edit(
            "operationId: private_subnet_create",
            "required: false",
            "required: true",
        )],
    ),
    row(
        Refused("default-changed"),
        "a default changes",
        &[edit(
            "\n    PageSize:\n      type",
            "default: 10",
            "default: 20",
        )],
    ),
    row(
        Refused("server-changed"),
        "the server moves",
        &[edit(
            "\nservers:\n",
            "default: https://api.stratus.example",
            "default: https://stratus.example",
        )],
    ),
    row(
        Refused("response-property-removed"),
        "a property of a response goes",
        &[edit(
            "\n    LoadBalancerSummary:\n",
            "        stack:\n",
            "        stack_of_protocols:\n",
        )],
    ),
    row(
        Refused("property-became-read-only"),
        "a property becomes read-only",
        &[edit(
            "\n    PostgresUpdate:\n",
            "$ref: \"#/components/schemas/PostgresHaType\"\n",
            "$ref: \"#/components/schemas/PostgresHaType\"\n          readOnly: true\n",
        )],
    ),
    row(
        Refused("header-removed"),
        "a header of a response goes",
        &[edit(
            "operationId: private_subnet_view",
            "            ETag:\n              $ref: \"#/components/headers/ETag\"\n",
            "",
        )],
    ),
    row(
        Equal,
        "a reference is written out",
        &[edit(
            "\n    PostgresStorageSizeInput:\n",
            "type: integer",
            "allOf: [{}]\n      type: integer",
        )],
    ),
    row(
        Equal,
        "a description changes",
        &[edit(
            "\n    Name:\n",
            "The name of a resource",
            "What a resource is called",
        )],
    ),
    row(
        Equal,
        "a bound is written as an exclusive one",
        &[edit(
            "\n    StorageSizeGib:\n",
            "minimum: 1\n",
            "exclusiveMinimum: 0\n",
        )],
    ),
    row(
        Equal,
        "two types become branches",
        &[edit(
            "\n    LoadBalancerUpdate:\n",
            "type: [boolean, \"null\"]",
            "anyOf: [{type: boolean}, {type: \"null\"}]",
        )],
    ),
    row(
        Equal,
        "a reference is wrapped",
        &[edit(
            "\n    PostgresCreate:\n",
            "$ref: \"#/components/schemas/PostgresSizeInput\"",
            "allOf: [{$ref: \"#/components/schemas/PostgresSizeInput\"}]",
        )],
    ),
    row(
        Equal,
        "a pattern is written otherwise",
        &[edit(
            "\n    Timestamp:\n",
            "'^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$'",
            "'^\\d{4}(?:-\\d\\d){2}T\\d\\d(?::\\d\\d){2}Z$'",
        )],
    ),
    row(
        Equal,
        "a path parameter is renamed",
        &[
            edit(
                "\n    LoadBalancerReference:\n",
                "name: load_balancer_reference",
                "name: reference",
            ),
            edit(
                "\npaths:\n",
                "/load-balancer/{load_balancer_reference}:",
                "/load-balancer/{reference}:",
            ),
            edit(
                "\npaths:\n",
                "/load-balancer/{load_balancer_reference}/detach-vm:",
                "/load-balancer/{reference}/detach-vm:",
            ),
        ],
    ),
    row(
        Compatible,
        "a request has a new property",
        &[edit(
            "\n    PostgresUpdate:\n",
            "      properties:\n",
            "      properties:\n        flavor:\n          $ref: \"#/components/schemas/PostgresFlavor\"\n",
        )],
    ),
    row(
        Compatible,
        "a response has a new property",
        &[edit(
            "\n    LoadBalancerSummary:\n",
            "      properties:\n",
            "      properties:\n        created_at:\n          $ref: \"#/components/schemas/Timestamp\"\n",
        )],
    ),
    row(
        Compatible,
        "an extensible enumeration of responses has a new value",
        &[edit(
            "\n    VmState:\n",
            "        - deleting\n",
            "        - deleting\n        - lost\n",
        )],
    ),
    row(
        Compatible,
        "a property of a response is always there",
        &[edit(
            "\n    LoadBalancerSummary:\n",
            "        - hostname\n",
            "        - hostname\n        - cert_enabled\n",
        )],
    ),
    row(
        Compatible,
        "a text in requests may be longer",
        &[edit(
            "\n    StartAfter:\n      type",
            "maxLength: 1024",
            "maxLength: 2048",
        )],
    ),
    row(
        Compatible,
        "an operation is deprecated",
        &[edit(
            "\npaths:\n",
            "operationId: postgres_view\n",
            "operationId: postgres_view\n      deprecated: true\n",
        )],
    ),
];

/// Runs `diff` on two files; returns its exit code, and what it has printed.
fn diff(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("diff")
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program runs");
    (
        status.code().expect("xtask ends without a signal"),
        String::from_utf8(stdout).expect("xtask prints text"),
        String::from_utf8(stderr).expect("xtask prints text"),
    )
}

fn contract() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openapi.yaml");
    fs::read_to_string(path).expect("the contract is there")
}

fn apply(text: &str, edits: &[Edit]) -> String {
    let mut text = text.to_owned();
    for edit in edits {
        let start = text.find(edit.after).expect(edit.after) + edit.after.len() - 1;
        let at = start + text[start..].find(edit.from).expect(edit.from);
        text.replace_range(at..at + edit.from.len(), edit.to);
    }
    text
}

/// Returns what is wrong with the report on a change, if anything is.
fn check(row: &Row, folder: &Path, text: &str) -> Option<String> {
    let file = format!("{}.yaml", row.name.replace(' ', "-"));
    fs::write(folder.join(&file), apply(text, row.edits)).expect("the document can be written");
    let (code, printed, wrong) = diff(folder, &["base.yaml", &file, "--format", "json"]);
    let Ok(report) = serde_json::from_str::<Value>(&printed) else {
        return Some(format!("{}: {wrong}", row.name));
    };
    let findings = report["findings"].as_array().expect("findings are a list");
    let mut rules: Vec<&str> = findings
        .iter()
        .filter(|finding| finding["kind"] != "compatible")
        .filter_map(|finding| finding["rule"].as_str())
        .collect();
    rules.sort_unstable();
    rules.dedup();
    let is_right = match row.verdict {
        Equal => code == 0 && findings.is_empty(),
        Compatible => code == 0 && rules.is_empty() && !findings.is_empty(),
        Refused(rule) => {
            let needs_witness = matches!(rule, "request-narrowed" | "response-widened");
            let has_witness = findings
                .iter()
                .filter(|finding| finding["rule"] == rule)
                .all(|finding| {
                    matches!(
                        finding["witness"]["kind"].as_str(),
                        Some("request" | "message")
                    )
                });
            code == 5 && rules == [rule] && (!needs_witness || has_witness)
        }
    };
    (!is_right).then(|| format!("{}: {code} {report:#}", row.name))
}

#[test]
fn typical_changes_of_the_contract_are_judged_by_whom_they_break() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let text = contract();
    fs::write(folder.path().join("base.yaml"), &text).expect("the document can be written");
    let halves = ROWS.split_at(ROWS.len() / 2);
    let wrong: Vec<String> = thread::scope(|scope| {
        let judge = |rows: &'static [Row]| {
            let (folder, text) = (folder.path(), &text);
            scope.spawn(move || {
                let wrong = rows.iter().filter_map(|row| check(row, folder, text));
                wrong.collect::<Vec<_>>()
            })
        };
        let halves = [judge(halves.0), judge(halves.1)];
        let judged = halves.into_iter();
        judged
            .flat_map(|half| half.join().expect("no check panics"))
            .collect()
    });
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

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
            &[],
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

/// Returns a document with this `paths` and `webhooks`, and what they use.
fn document(parts: &str) -> String {
    format!(
        "openapi: 3.1.0
info: {{title: Pets, version: 1.2.0}}
servers: [{{url: https://pets.example}}]
components:
  securitySchemes:
    token: {{type: http, scheme: bearer}}
    key: {{type: apiKey, in: header, name: X-`id`}}
{parts}
"
    )
}

/// Returns a document with one operation, which has these fields.
fn path(method: &str, path: &str, fields: &str) -> String {
    document(&format!(
        "paths: {{'{path}': {{{method}: {{operationId: a, {fields}}}}}}}"
    ))
}

const DONE: &str = "responses: {'204': {description: Done.}}";

/// Compares two documents, and returns the report.
fn report(folder: &Path, old: &str, new: &str) -> Value {
    fs::write(folder.join("old.yaml"), old).expect("the document can be written");
    fs::write(folder.join("new.yaml"), new).expect("the document can be written");
    let (_, printed, wrong) = diff(folder, &["old.yaml", "new.yaml", "--format", "json"]);
    serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{wrong}\n{old}\n{new}"))
}

/// Returns the words that a shell passes to curl.
#[cfg(unix)]
fn words(folder: &Path, command: &str) -> Vec<String> {
    let script = format!("curl() {{ printf '%s\\0' \"$@\"; }}\n{command}");
    let output = Command::new("sh")
        .args(["-c", &script])
        .env("TOKEN", "secret; \"$(id)")
        .current_dir(folder)
        .output()
        .expect("a shell runs");
    let printed = String::from_utf8(output.stdout).expect("words are text");
    printed.split_terminator('\0').map(str::to_owned).collect()
}

/// The parameters, body or credential of an operation at `/a` or `/a/{id}`, and the words that are
/// passed to curl after it is removed; without words, no whole request can be written.
#[cfg(unix)]
const REQUESTS: &[(&str, &str, &str, Option<&[&str]>)] = &[
    (
        "get",
        "/a",
        "parameters: [{name: X-H, in: header, required: true, schema: {const: '$TOKEN\"; touch pwned; echo \"$(id)'}}]",
        Some(&[
            "-X",
            "GET",
            "https://pets.example/a",
            "-H",
            "X-H: $TOKEN\"; touch pwned; echo \"$(id)",
        ]),
    ),
    (
        "get",
        "/a",
        "security: [{key: []}]",
        Some(&[
            "-X",
            "GET",
            "https://pets.example/a",
            "-H",
            "X-`id`: secret; \"$(id)",
        ]),
    ),
    (
        "get",
        "/a",
        "security: [{token: []}]",
        Some(&[
            "-X",
            "GET",
            "https://pets.example/a",
            "-H",
            "Authorization: Bearer secret; \"$(id)",
        ]),
    ),
    (
        "get",
        "/a",
        "parameters: [{name: X-H, in: header, required: true, schema: {const: \"a\\nX-Evil: 1\"}}]",
        None,
    ),
    (
        "get",
        "/a",
        "parameters: [{name: X-H, in: header, required: true, schema: {const: ''}}]",
        None,
    ),
    (
        "get",
        "/a/{id}",
        "parameters: [{name: id, in: path, required: true, schema: {const: ''}}]",
        None,
    ),
    (
        "get",
        "/a/{id}",
        "parameters: [{name: id, in: path, required: true, schema: {const: '..'}}]",
        None,
    ),
    (
        "get",
        "/a/{id}",
        "parameters: [{name: id, in: path, required: true, style: label, schema: {const: 'b c'}}]",
        Some(&["-X", "GET", "https://pets.example/a/.b%20c"]),
    ),
    (
        "get",
        "/a/{id}",
        "parameters: [{name: id, in: path, required: true, style: matrix, schema: {const: b}}]",
        Some(&["-X", "GET", "https://pets.example/a/;id=b"]),
    ),
    ("head", "/a", "", Some(&["-I", "https://pets.example/a"])),
    (
        "get",
        "/a",
        "parameters: [{name: q, in: query, required: true, schema: {const: [b, 'c d']}}]",
        Some(&["-X", "GET", "https://pets.example/a?q=b&q=c%20d"]),
    ),
    (
        "get",
        "/a",
        "parameters: [{name: q, in: query, required: true, explode: false, schema: {const: [b, c]}}]",
        Some(&["-X", "GET", "https://pets.example/a?q=b,c"]),
    ),
    (
        "get",
        "/a",
        "parameters: [{name: q, in: query, required: true, explode: false, schema: {const: ['b,c', d]}}]",
        None,
    ),
    (
        "get",
        "/a",
        "parameters: [{name: q, in: query, required: true, style: pipeDelimited, explode: false, schema: {const: [b, c]}}]",
        Some(&["-X", "GET", "https://pets.example/a?q=b%7Cc"]),
    ),
    (
        "get",
        "/a",
        "parameters: [{name: q, in: query, required: true, style: deepObject, schema: {const: {b: c}}}]",
        Some(&["-X", "GET", "https://pets.example/a?q%5Bb%5D=c"]),
    ),
    (
        "get",
        "/a",
        "parameters: [{name: q, in: query, required: true, content: {application/json: {schema: {const: b}}}}]",
        Some(&["-X", "GET", "https://pets.example/a?q=%22b%22"]),
    ),
    (
        "get",
        "/a",
        "parameters: [{name: q, in: query, required: true, schema: {const: {b: {c: d}}}}]",
        None,
    ),
    (
        "post",
        "/a",
        "requestBody: {required: true, content: {text/plain: {schema: {const: '@b c'}}}}",
        Some(&[
            "-X",
            "POST",
            "https://pets.example/a",
            "-H",
            "Content-Type: text/plain",
            "--data-raw",
            "@b c",
        ]),
    ),
    (
        "post",
        "/a",
        "requestBody: {required: true, content: {application/x-www-form-urlencoded: {schema: {const: {b: 'c&d', e: [1, 2]}}}}}",
        Some(&[
            "-X",
            "POST",
            "https://pets.example/a",
            "-H",
            "Content-Type: application/x-www-form-urlencoded",
            "--data",
            "b=c%26d&e=1&e=2",
        ]),
    ),
    (
        "post",
        "/a",
        "requestBody: {required: true, content: {application/json: {schema: {const: \"b'c\\u202e\"}}}}",
        Some(&[
            "-X",
            "POST",
            "https://pets.example/a",
            "-H",
            "Content-Type: application/json",
            "--data",
            "\"b'c\\u202e\"",
        ]),
    ),
    (
        "post",
        "/a",
        "requestBody: {required: true, content: {multipart/form-data: {schema: {const: {b: c}}}}}",
        None,
    ),
];

#[cfg(unix)]
#[test]
fn a_request_that_is_shown_can_be_pasted_and_carries_the_values() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let new = path("get", "/b", DONE);
    let mut wrong = Vec::new();
    for (method, template, fields, expected) in REQUESTS {
        let comma = if fields.is_empty() { "" } else { ", " };
        let old = path(method, template, &format!("{fields}{comma}{DONE}"));
        let report = report(folder.path(), &old, &new);
        let removed = report["findings"]
            .as_array()
            .expect("findings are a list")
            .iter()
            .find(|finding| finding["rule"] == "operation-removed")
            .unwrap_or_else(|| panic!("{fields}: {report:#}"));
        let command = removed["witness"]["text"].as_str();
        let shown = command.map(|command| words(folder.path(), command));
        let expected = expected.map(|words| words.iter().map(ToString::to_string).collect());
        if shown != expected {
            wrong.push(format!("{method} {fields}: {command:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!folder.path().join("pwned").exists());
}

#[test]
fn a_parameter_is_shown_in_a_request_with_the_body_that_it_needs() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let post = |most: u32| {
        let parameter = format!(
            "{{name: q, in: query, required: true, schema: {{type: integer, minimum: 1, maximum: {most}}}}}"
        );
        let body = "{required: true, content: {application/json: {schema: {const: b}}}}";
        let fields = format!("parameters: [{parameter}], requestBody: {body}, {DONE}");
        path("post", "/a", &fields)
    };
    let report = report(folder.path(), &post(9), &post(5));
    assert_eq!(
        report["findings"][0]["witness"]["text"],
        "curl -X POST 'https://pets.example/a?q=6' -H 'Content-Type: application/json' --data '\"b\"'",
        "{report:#}"
    );
}

/// Returns the findings on a change, each with its kind and rule, sorted.
fn findings(folder: &Path, old: &str, new: &str) -> Vec<String> {
    let report = report(folder, old, new);
    let mut found: Vec<String> = report["findings"]
        .as_array()
        .expect("findings are a list")
        .iter()
        .map(|one| {
            let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
            format!("{} {}", text("kind"), text("rule"))
        })
        .collect();
    found.sort_unstable();
    found
}

/// Two versions of the responses of an operation, and the findings about them.
const RESPONSES: &[(&str, &str, &[&str])] = &[
    (
        "{'200': {$ref: '#/x/ok'}, '404': {$ref: '#/x/code'}, default: {$ref: '#/x/error'}}",
        "{'200': {$ref: '#/x/ok'}, default: {$ref: '#/x/error'}}",
        &["breaking response-widened"],
    ),
    (
        "{'200': {$ref: '#/x/code'}, 2XX: {$ref: '#/x/error'}}",
        "{2XX: {$ref: '#/x/error'}}",
        &["breaking response-widened"],
    ),
    (
        "{'200': {$ref: '#/x/code'}, default: {$ref: '#/x/error'}}",
        "{default: {$ref: '#/x/error'}}",
        &["breaking response-widened"],
    ),
    (
        "{default: {$ref: '#/x/error'}}",
        "{'404': {$ref: '#/x/error'}, default: {$ref: '#/x/error'}}",
        &[],
    ),
    (
        "{2XX: {$ref: '#/x/ok'}}",
        "{'200': {$ref: '#/x/ok'}}",
        &["compatible status-removed"],
    ),
    (
        "{'302': {$ref: '#/x/ok'}, '404': {$ref: '#/x/ok'}}",
        "{'200': {$ref: '#/x/ok'}, '404': {$ref: '#/x/ok'}}",
        &["success_status_changed success-status-changed"],
    ),
    (
        "{'302': {$ref: '#/x/ok'}}",
        "{'307': {$ref: '#/x/ok'}}",
        &["success_status_changed success-status-changed"],
    ),
    (
        "{'200': {$ref: '#/x/ok'}, '202': {$ref: '#/x/ok'}}",
        "{'200': {$ref: '#/x/ok'}}",
        &["success_status_changed status-removed"],
    ),
    (
        "{'200': {description: d, headers: {X-A: {required: true, schema: {type: string}}}}}",
        "{'200': {description: d, headers: {X-A: {required: true, content: {application/json: {schema: {type: string}}}}}}}",
        &["breaking header-style"],
    ),
    (
        "{'200': {description: d, headers: {X-A: {schema: {type: object}}}}}",
        "{'200': {description: d, headers: {X-A: {explode: true, schema: {type: object}}}}}",
        &["breaking header-style"],
    ),
    (
        "{'200': {description: d, headers: {X-A: {schema: {type: array, items: {type: string}}}}}}",
        "{'200': {description: d, headers: {X-A: {explode: true, schema: {type: array, items: {type: string}}}}}}",
        &[],
    ),
    (
        "{'200': {description: d, content: {'*/*': {schema: {type: string}}}}}",
        "{'200': {description: d, content: {application/json: {schema: {type: string}}}}}",
        &[],
    ),
    (
        "{'200': {description: d, content: {application/json: {schema: {type: string}}}}}",
        "{'200': {description: d, content: {'application/*': {schema: {type: string}}}}}",
        &["breaking media-type-widened"],
    ),
];

/// Two versions of the responses of a webhook, and the findings about them.
const RESPONSES_OF_WEBHOOKS: &[(&str, &str, &[&str])] = &[
    (
        "{'200': {$ref: '#/x/ok'}, '204': {$ref: '#/x/ok'}, '410': {$ref: '#/x/ok'}}",
        "{'200': {$ref: '#/x/ok'}, '410': {$ref: '#/x/ok'}}",
        &["breaking status-removed"],
    ),
    (
        "{'200': {$ref: '#/x/ok'}, '410': {$ref: '#/x/ok'}}",
        "{'200': {$ref: '#/x/ok'}}",
        &["breaking status-removed"],
    ),
    (
        "{'200': {$ref: '#/x/ok'}}",
        "{'200': {$ref: '#/x/ok'}, '202': {$ref: '#/x/ok'}}",
        &["compatible status-added"],
    ),
    (
        "{'200': {description: d, headers: {X-A: {schema: {type: string}}}}}",
        "{'200': {description: d, headers: {X-A: {required: true, schema: {type: string}}, X-B: {required: true, schema: {type: string}}}}}",
        &["breaking header-required", "breaking header-required"],
    ),
    (
        "{'200': {$ref: '#/x/ok'}}",
        "{'200': {$ref: '#/x/code'}}",
        &["breaking response-body-required"],
    ),
];

#[test]
fn responses_are_judged_by_who_receives_them() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let of = |name: &str| {
        format!(
            "{{description: d, content: {{application/json: {{schema: {{type: object, properties: {{{name}: {{type: string}}}}, required: [{name}]}}}}}}}}"
        )
    };
    let whole = |responses: &str| {
        responses
            .replace("{$ref: '#/x/ok'}", "{description: d}")
            .replace("{$ref: '#/x/code'}", &of("code"))
            .replace("{$ref: '#/x/error'}", &of("error"))
    };
    let mut wrong = Vec::new();
    for (old, new, expected) in RESPONSES {
        let get = |responses: &str| path("get", "/a", &format!("responses: {}", whole(responses)));
        let found = findings(folder.path(), &get(old), &get(new));
        if found != *expected {
            wrong.push(format!("{old} → {new}: {found:?}"));
        }
    }
    for (old, new, expected) in RESPONSES_OF_WEBHOOKS {
        let hook = |responses: &str| {
            document(&format!(
                "webhooks: {{a: {{post: {{operationId: a, responses: {}}}}}}}",
                whole(responses)
            ))
        };
        let found = findings(folder.path(), &hook(old), &hook(new));
        if found != *expected {
            wrong.push(format!("webhook: {old} → {new}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Two versions of the fields of an operation, and the findings about them.
const REQUEST_PARTS: &[(&str, &str, &[&str])] = &[
    (
        "requestBody: {content: {application/json: {schema: {type: string}}}}",
        "requestBody: {content: {'*/*': {schema: {}}, application/json: {schema: {type: string, maxLength: 3}}}}",
        &["breaking request-narrowed", "compatible media-type-added"],
    ),
    (
        "requestBody: {content: {'*/*': {schema: {type: string}}}}",
        "requestBody: {content: {'*/*': {schema: {type: string}}, application/json: {schema: {type: string, maxLength: 3}}}}",
        &["breaking request-narrowed"],
    ),
    (
        "requestBody: {content: {application/json;v=1: {schema: {type: string}}, application/json;v=2: {schema: {type: string}}}}",
        "requestBody: {content: {application/json;v=1: {schema: {type: string}}}}",
        &["breaking media-type-removed"],
    ),
    (
        "requestBody: {content: {application/json: {schema: {type: string}}}}",
        "requestBody: {content: {application/json; charset=UTF-8: {schema: {type: string}}}}",
        &[],
    ),
    (
        "parameters: [{name: q, in: query, content: {application/json: {schema: {type: integer}}}}]",
        "parameters: [{name: q, in: query, content: {application/json: {schema: {type: string}}}}]",
        &["breaking request-narrowed"],
    ),
    (
        "parameters: [{name: q, in: query, schema: {type: integer, default: 10}}]",
        "parameters: [{name: q, in: query, schema: {type: string, default: '20'}}]",
        &["meaning_changed default-changed"],
    ),
    (
        "parameters: [{name: q, in: query, schema: {type: integer, default: 10}}]",
        "parameters: [{name: q, in: query, schema: {type: string, default: '10'}}]",
        &[],
    ),
];

#[test]
fn bodies_and_parameters_are_judged_by_how_they_are_written() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut wrong = Vec::new();
    for (old, new, expected) in REQUEST_PARTS {
        let post = |fields: &str| path("post", "/a", &format!("{fields}, {DONE}"));
        let found = findings(folder.path(), &post(old), &post(new));
        if found != *expected {
            wrong.push(format!("{old} → {new}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let hook = |content: &str| {
        document(&format!(
            "webhooks: {{a: {{post: {{operationId: a, requestBody: {{content: {{{content}}}}}, {DONE}}}}}}}"
        ))
    };
    let json = "application/json: {schema: {type: string}}";
    let more = format!("{json}, text/plain: {{schema: {{type: string}}}}");
    let found = findings(folder.path(), &hook(json), &hook(&more));
    assert_eq!(found, ["breaking media-type-widened"]);
    let found = findings(folder.path(), &hook(&more), &hook(json));
    assert_eq!(found, ["compatible media-type-removed"]);
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
