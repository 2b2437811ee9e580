//! Changes the contract of this workspace in typical ways, and compares what `cargo xtask diff`
//! says with what it must say.

use std::fs;
use std::path::Path;
use std::thread;

use serde_json::Value;

use crate::diff;

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
                "/load-balancer/{load_balancer_reference}/attach-vm:",
                "/load-balancer/{reference}/attach-vm:",
            ),
            edit(
                "\npaths:\n",
                "/load-balancer/{load_balancer_reference}/detach-vm:",
                "/load-balancer/{reference}/detach-vm:",
            ),
            edit(
                "\npaths:\n",
                "load_balancer_reference: $response.body#/id",
                "reference: $response.body#/id",
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
