//! Overlays on the command line: `--overlay`, and `overlay init`.

#[path = "support/program.rs"]
mod program;

use std::fs;
use std::path::Path;

use program::{documents, xtask};

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("the folder is writable");
}

/// Returns a folder with a document.
fn folder_with(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::copy(documents().join(name), folder.path().join(name)).expect("the document is there");
    folder
}

const TITLE: &str = "overlay: 1.1.0\ninfo: {title: Title, version: '1'}\nactions:\n  - target: $.info.title\n    update: Other pets\n";

#[test]
fn help_says_how_to_begin() {
    let (code, printed) = xtask(&documents(), &["overlay", "init", "--help"]);
    assert_eq!(code, 0);
    insta::assert_snapshot!("help_overlay_init", printed);
}

#[test]
fn what_is_generated_and_served_is_the_document_after_the_overlays() {
    let folder = folder_with("pets.yaml");
    let folder = folder.path();
    write(folder, "title.yaml", TITLE);
    let codegen = |more: &[&str]| {
        let arguments = ["codegen", "--contract", "pets.yaml", "--out", "out"];
        xtask(folder, &[&arguments, more].concat())
    };
    let with = &["--overlay", "title.yaml"][..];
    let (code, printed) = codegen(with);
    assert_eq!(code, 0, "{printed}");
    for file in ["openapi.json", "openapi.yaml"] {
        let path = folder.join("out/api-server/src").join(file);
        let text = fs::read_to_string(path).expect("the server has its document");
        assert!(text.contains("Other pets"), "{text}");
    }
    assert_eq!(codegen(&[with, &["--check"]].concat()).0, 0);
    // The command line is what counts: without the overlay, the document is another one.
    let (code, printed) = codegen(&["--check"]);
    assert_eq!(code, 4, "{printed}");
    write(folder, "title.yaml", &TITLE.replace("Other", "Third"));
    let (code, printed) = codegen(&[with, &["--check"]].concat());
    assert_eq!(code, 4, "{printed}");
    let command = "cargo xtask codegen --contract pets.yaml --out out --overlay title.yaml\n";
    assert!(printed.contains(command), "{printed}");
}

#[test]
fn lint_reports_what_is_wrong_with_an_overlay_at_its_place() {
    let folder = folder_with("pets.yaml");
    let folder = folder.path();
    let lint = |overlay: &str| {
        write(folder, "o.yaml", overlay);
        xtask(folder, &["lint", "--overlay", "o.yaml", "pets.yaml"])
    };
    let (code, printed) = lint(&TITLE.replace("$.info.title", "$.info.titel"));
    assert_eq!(code, 0, "{printed}");
    insta::assert_snapshot!("selects_nothing", printed);
    let (code, printed) = lint(&TITLE.replace("Other pets", "[1]"));
    assert_eq!(code, 1, "{printed}");
    insta::assert_snapshot!("mismatch", printed);
    let (code, printed) = xtask(folder, &["lint", "--overlay", "none.yaml", "pets.yaml"]);
    assert_eq!(code, 1, "{printed}");
    assert!(
        printed.contains("none.yaml") && printed.contains("cannot be read"),
        "{printed}"
    );
}

#[test]
fn overlays_come_before_repairs() {
    let folder = folder_with("others.yaml");
    let folder = folder.path();
    let version = TITLE
        .replace("$.info.title", "$.info.version")
        .replace("Other pets", "'1.0'");
    write(folder, "version.yaml", &version);
    let codegen = |more: &[&str]| {
        let arguments = [
            "codegen",
            "--foreign",
            "--contract",
            "others.yaml",
            "--out",
            "out",
        ];
        let (code, printed) = xtask(folder, &[&arguments, more].concat());
        assert_eq!(code, 0, "{printed}");
        fs::read_to_string(folder.join("out/api-types/repairs.txt")).expect("a list of repairs")
    };
    let default = "bad-default /paths/~1things/get/parameters/0/schema/default\n";
    assert_eq!(codegen(&[]), format!("{default}wrong-type /info/version\n"));
    assert_eq!(codegen(&["--overlay", "version.yaml"]), default);
}

/// Drafts an overlay for a document, and returns what `lint` says of both together.
fn mended(document: &str) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let folder = folder.path();
    write(folder, "api.yaml", document);
    let (_, before) = xtask(folder, &["lint", "api.yaml"]);
    assert!(
        before.contains("error") || before.contains("warning"),
        "{document}\n{before}"
    );
    let (code, printed) = xtask(
        folder,
        &["overlay", "init", "api.yaml", "--out", "mend.yaml"],
    );
    assert_eq!(code, 0, "{document}\n{printed}");
    let overlay = fs::read_to_string(folder.join("mend.yaml")).expect("the overlay is written");
    let (code, after) = xtask(folder, &["lint", "--overlay", "mend.yaml", "api.yaml"]);
    if code != 0 {
        return (overlay, format!("refused:\n{after}"));
    }
    (overlay, after)
}

#[test]
fn a_drafted_overlay_mends_what_lint_finds() {
    let schema = |version: &str, schema: &str| {
        format!(
            "openapi: {version}\ninfo: {{title: T, version: '1'}}\npaths:\n  /things:\n    get:\n      responses:\n        '200': {{description: T., content: {{application/json: {{schema: {schema}}}}}}}\n  /other:\n    get:\n      responses:\n        '200': {{description: T., content: {{application/json: {{schema: {{$ref: '#/components/schemas/Thing'}}}}}}}}\ncomponents:\n  schemas:\n    Thing: {{type: object}}\n"
        )
    };
    let path = |path: &str, item: &str| {
        format!("openapi: 3.1.0\ninfo: {{title: T, version: '1'}}\npaths:\n  {path}: {item}\n")
    };
    let ok = "responses: {'200': {description: T.}}";
    let mut left = Vec::new();
    for document in [
        schema("3.0.3", "{type: integer, default: many}"),
        schema("3.0.3", "{type: string, enum: [a], nullable: true}"),
        schema(
            "3.0.3",
            "{$ref: '#/components/schemas/Thing', nullable: true}",
        ),
        schema(
            "3.1.0",
            "{$ref: '#/components/schemas/Thing', nullable: true}",
        ),
        schema(
            "3.1.0",
            "{type: string, enum: [a], nullable: true, title: It}",
        ),
        schema(
            "3.1.0",
            "{type: array, items: {type: integer, nullable: true}}",
        ),
        schema(
            "3.1.0",
            "{type: integer, minimum: 1, exclusiveMinimum: true}",
        ),
        schema("3.0.3", "{type: integer, exclusiveMinimum: 1}"),
        schema("3.0.3", "{type: [string, integer]}"),
        schema("3.0.3", "{type: [string, 'null']}"),
        schema("3.0.3", "{type: any}"),
        schema("3.0.3", "{type: strin}"),
        schema("3.0.3", "{type: date}"),
        schema("3.0.3", "{type: string, description: null}"),
        schema("3.0.3", "{type: integer, minimum: '1'}"),
        schema("3.0.3", "{type: integer, const: 1}"),
        schema("3.1.0", "{type: array, min_items: 1}"),
        schema("3.1.0", "{type: array, unheard: 1}"),
        schema("3.1.0", "{type: integer, examples: [1, x]}"),
        schema("3.1.0", "{type: integer, example: x}"),
        schema("3.1.0", "{$ref: '#/components/schemas/Thign'}"),
        schema("3.1.0", "{$ref: '#/components/schemas/Unknown'}"),
        schema(
            "3.1.0",
            "{type: array, items: {$ref: 'gone.yaml#/Unknown'}}",
        ),
        path("/a/{id}", &format!("{{get: {{{ok}}}}}")),
        path(
            "/a",
            &format!(
                "{{get: {{parameters: [{{name: q, in: query, schema: {{}}}}, {{name: x, in: path, required: true, schema: {{}}}}, {{name: r, in: query, schema: {{}}}}, {{name: z, in: path, required: true, schema: {{}}}}], {ok}}}}}"
            ),
        ),
        path(
            "/a/{id}",
            &format!(
                "{{get: {{parameters: [{{name: id, in: path, schema: {{type: string}}}}], {ok}}}}}"
            ),
        ),
        path(
            "/a",
            &format!("{{get: {{operationId: x, {ok}}}, put: {{operationId: x, {ok}}}}}"),
        ),
        path(
            "/a",
            &format!("{{get: {{security: [{{gone: []}}], {ok}}}}}"),
        ),
        path(
            "/a",
            "{get: {responses: {'200': {description: T.}, 4xx: {description: T., content: {application/json: {schema: {type: string}}}}}}}",
        ),
        path(
            "/a",
            "{get: {responses: {'200': {description: T., content: {'*/*': {schema: {type: object}}}}}}}",
        ),
        path(
            "/a",
            "{get: {responses: {'200': {$ref: '#/components/responses/Gone'}}}}",
        ),
        path(
            "/a",
            &format!(
                "{{get: {{parameters: [{{$ref: '#/components/parameters/Gone'}}, {{$ref: '#/components/parameters/Lost'}}], {ok}}}}}"
            ),
        ),
        path("/a", "{get: {responses: {'200': {}}}}"),
        path("/a?b={c}", &format!("{{get: {{{ok}}}}}")),
        path("/a", "{get: {}}").replace("3.1.0", "3.0.3"),
        path(
            "/a",
            &format!(
                "{{get: {{parameters: [{{name: q, in: query, style: deepObject, schema: {{type: array, items: {{type: string}}}}}}], {ok}}}}}"
            ),
        ),
        path(
            "/a/{b}",
            &format!(
                "{{get: {{parameters: [{{name: b, in: path, required: true, schema: {{type: string}}}}], {ok}}}}}"
            ),
        ) + &format!(
            "  /a/{{c}}: {{parameters: [{{$ref: '#/components/parameters/C'}}, {{name: q, in: query, schema: {{type: string}}}}], put: {{{ok}}}}}\n  /z/{{c}}: {{get: {{parameters: [{{$ref: '#/components/parameters/C'}}], {ok}}}}}\ncomponents: {{parameters: {{C: {{name: c, in: path, required: true, schema: {{type: string}}}}}}}}\n"
        ),
        format!(
            "openapi: 3.1.0\ninfo: {{title: T, version: 1.0}}\npaths: {{\"/it's\\ta\\\\\": {{get: {{summary: 5, {ok}}}}}}}\n"
        ),
    ] {
        let (overlay, after) = mended(&document);
        if !after.contains("nothing to say") {
            left.push(format!("{document}\n{overlay}\n{after}"));
        }
    }
    assert!(left.is_empty(), "{}", left.join("\n"));
}

#[test]
fn a_drafted_overlay_keeps_what_references_lead_to() {
    let document = "openapi: 3.1.0\ninfo: {title: T, version: '1'}\ndefinitions:\n  Pet: {type: object}\npaths:\n  /a:\n    get:\n      responses:\n        '200': {description: T., content: {application/json: {schema: {$ref: '#/definitions/Pet'}}}}\n        '201': {description: T., content: {application/json: {schema: {$ref: '#/components/schemas/Gone'}}}}\n        '202': {description: T., content: {application/json: {schema: {$ref: '#/components/schemas/Gone'}}}}\n";
    let (overlay, after) = mended(document);
    assert!(!overlay.contains("remove: true"), "{overlay}");
    assert!(overlay.contains("Gone"), "{overlay}");
    assert!(after.contains("definitions"), "{after}");
    assert!(!after.contains("dangling"), "{after}");
}

#[test]
fn a_drafted_overlay_is_ready_to_edit() {
    let folder = folder_with("others.yaml");
    let folder = folder.path();
    fs::create_dir(folder.join("overlays")).expect("the folder is writable");
    let init = || {
        xtask(
            folder,
            &[
                "overlay",
                "init",
                "others.yaml",
                "--out",
                "overlays/mend.yaml",
            ],
        )
    };
    let (code, printed) = init();
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains(" actions: "), "{printed}");
    let overlay = fs::read_to_string(folder.join("overlays/mend.yaml")).expect("it is written");
    insta::assert_snapshot!("draft", overlay);
    let lint = ["lint", "--overlay", "overlays/mend.yaml", "others.yaml"];
    assert_eq!(xtask(folder, &lint).0, 0);
    // What has been edited is not written over.
    let (code, printed) = init();
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("exists"), "{printed}");

    let (code, printed) = xtask(folder, &["overlay", "init", "others.yaml"]);
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("extends: \"others.yaml\""), "{printed}");
    let (code, printed) = xtask(&documents(), &["overlay", "init", "pets.yaml"]);
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.contains("nothing that an overlay can mend"),
        "{printed}"
    );
    let (code, printed) = xtask(&documents(), &["overlay", "init", "syntax.yaml"]);
    assert_eq!(code, 1, "{printed}");
}

#[test]
fn each_file_of_a_contract_has_an_overlay_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let folder = folder.path();
    fs::create_dir(folder.join("parts")).expect("the folder is writable");
    write(
        folder,
        "api.yaml",
        "openapi: 3.1.0\ninfo: {title: T, version: 1.0}\npaths:\n  /a: {$ref: parts/a.yaml}\n",
    );
    write(
        folder,
        "parts/a.yaml",
        "get:\n  responses:\n    '200': {description: A., content: {application/json: {schema: {type: integer, default: x}}}}\n",
    );
    let (code, printed) = xtask(
        folder,
        &["overlay", "init", "api.yaml", "--out", "one.yaml"],
    );
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed
            .contains("1 to mend in parts/a.yaml: write another overlay with `--in parts/a.yaml`"),
        "{printed}"
    );
    let more = [
        "overlay",
        "init",
        "api.yaml",
        "--in",
        "parts/a.yaml",
        "--out",
        "two.yaml",
    ];
    let (code, printed) = xtask(folder, &more);
    assert_eq!(code, 0, "{printed}");
    let written = "wrote two.yaml with 1 action: 1 mended, 0 left";
    assert!(printed.contains(written), "{printed}");
    let lint = [
        "lint",
        "--overlay",
        "one.yaml",
        "--overlay",
        "two.yaml",
        "api.yaml",
    ];
    let (code, printed) = xtask(folder, &lint);
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("nothing to say"), "{printed}");
}

#[test]
fn a_draft_for_a_file_outside_the_contract_is_refused() {
    let folder = folder_with("others.yaml");
    let folder = folder.path();
    write(folder, "else.yaml", "a: 1\n");
    let init = ["overlay", "init", "others.yaml", "--in", "else.yaml"];
    let (code, printed) = xtask(folder, &init);
    assert_eq!(code, 1, "{printed}");
    assert!(
        printed.contains("`else.yaml` is no file that the contract has read"),
        "{printed}"
    );
}

#[test]
fn a_draft_leaves_to_foreign_what_it_reads() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let folder = folder.path();
    let parameter =
        |name: &str| format!("{{name: {name}, in: path, required: true, schema: {{}}}}");
    write(
        folder,
        "api.yaml",
        &format!(
            "openapi: 3.1.0\ninfo: {{title: T, version: 1.0}}\npaths:\n  /a:\n    get:\n      parameters: [{}, {{$ref: '#/components/parameters/Gone'}}]\n      responses: {{'200': {{$ref: '#/components/responses/Gone'}}}}\ncomponents: {{schemas: {{A: {{type: string, example: 1}}}}}}\n",
            parameter("unused")
        ),
    );
    let init = |more: &[&str]| {
        let arguments = ["overlay", "init", "api.yaml", "--out"];
        xtask(folder, &[&arguments, more].concat())
    };
    let (code, printed) = init(&["all.yaml"]);
    assert_eq!(code, 0, "{printed}");
    let (code, printed) = init(&["some.yaml", "--foreign"]);
    assert_eq!(code, 0, "{printed}");
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("the overlay is written");
    let (all, some) = (read("all.yaml"), read("some.yaml"));
    // The last one is a warning.
    for mended in ["wrong-type", "path-parameter-unused", "bad-example"] {
        assert!(all.contains(mended), "{all}");
        assert!(!some.contains(mended), "{some}");
    }
    assert!(some.contains("dangling-ref"), "{some}");
    let lint = ["lint", "--foreign", "--overlay", "some.yaml", "api.yaml"];
    let (code, printed) = xtask(folder, &lint);
    assert_eq!(code, 0, "{printed}");
}

#[test]
fn a_draft_does_without_what_is_on_another_host() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let folder = folder.path();
    write(
        folder,
        "api.yaml",
        "openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths:\n  /a:\n    get:\n      responses: {'200': {description: Ok., content: {application/json: {schema: {$ref: 'https://api.example/a.yaml#/A'}}}}}\n",
    );
    let init = [
        "overlay",
        "init",
        "api.yaml",
        "--foreign",
        "--out",
        "over.yaml",
    ];
    let (code, printed) = xtask(folder, &init);
    assert_eq!(code, 0, "{printed}");
    let lint = ["lint", "--foreign", "--overlay", "over.yaml", "api.yaml"];
    let (code, printed) = xtask(folder, &lint);
    assert_eq!(code, 0, "{printed}");
    assert!(!printed.contains("remote-ref"), "{printed}");
}

#[test]
fn references_in_a_draft_follow_what_it_moves() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let folder = folder.path();
    let response = |reference: &str| {
        format!(
            "{{description: A., content: {{application/json: {{schema: {{$ref: '{reference}'}}}}}}}}"
        )
    };
    let own = response("#/components/schemas/Pet/properties/name");
    write(
        folder,
        "api.yaml",
        &format!(
            "openapi: 3.1.0\ninfo: {{title: T, version: '1'}}\npaths:\n  /a: {{$ref: parts/a.yaml}}\n  /b: {{get: {{responses: {{'200': {own}}}}}}}\n\
             components:\n  schemas:\n    Base: {{type: object}}\n    Pet: {{allOf: [{{$ref: '#/components/schemas/Base'}}], properties: {{name: {{type: string}}}}, nullable: true}}\n"
        ),
    );
    fs::create_dir(folder.join("parts")).expect("the folder is writable");
    let other = response("../api.yaml#/components/schemas/Pet/properties/name");
    write(
        folder,
        "parts/a.yaml",
        &format!("get: {{responses: {{'200': {other}}}}}\n"),
    );
    let init = |more: &[&str]| xtask(folder, &[&["overlay", "init", "api.yaml"], more].concat());
    let (code, printed) = init(&["--out", "one.yaml"]);
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("1 to mend in parts/a.yaml"), "{printed}");
    let (code, printed) = init(&["--in", "parts/a.yaml", "--out", "two.yaml"]);
    assert_eq!(code, 0, "{printed}");
    let overlays = ["--overlay", "one.yaml", "--overlay", "two.yaml"];
    let (code, printed) = xtask(folder, &[&["lint"], &overlays[..], &["api.yaml"]].concat());
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("nothing to say"), "{printed}");
}

#[test]
fn many_components_are_declared_in_linear_time() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let folder = folder.path();
    let path = |index: usize| {
        format!(
            "  /p{index}: {{get: {{responses: {{'200': {{$ref: '#/components/responses/R{index}'}}}}}}}}\n"
        )
    };
    let paths: String = (0..3_000).map(path).collect();
    write(
        folder,
        "api.yaml",
        &format!("openapi: 3.1.0\ninfo: {{title: T, version: '1'}}\npaths:\n{paths}"),
    );
    let start = std::time::Instant::now();
    let (code, printed) = xtask(folder, &["overlay", "init", "api.yaml", "--out", "o.yaml"]);
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("3000 actions"), "{printed}");
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
