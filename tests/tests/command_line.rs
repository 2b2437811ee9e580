//! Generated command lines: that of a small contract with everything that a request can have, and
//! that of our own.

#[path = "command_line/auth.rs"]
mod auth;
#[path = "command_line/mcp.rs"]
mod mcp;
#[path = "command_line/ours.rs"]
mod ours;
#[path = "command_line/patience.rs"]
mod patience;
#[path = "command_line/support.rs"]
mod support;

use std::fs;
use std::path::Path;

use serde_json::json;
use support::{Program, serve};

/// Returns the files of the museum's crates, by path.
fn files() -> Vec<codegen::File> {
    files_of("museum", include_bytes!("command_line/museum.yaml"))
}

/// Returns the files of the crates of a contract, by path.
fn files_of(name: &str, yaml: &[u8]) -> Vec<codegen::File> {
    let loaded = contract::load_text("contract.yaml", yaml);
    let found = contract::render(&loaded.sources, &loaded.diagnostics);
    let contract = loaded.contract.unwrap_or_else(|| panic!("{found}"));
    let options = codegen::Options {
        cli: Some(name.to_owned()),
        runtime: codegen::Runtime::Path("../api-runtime".to_owned()),
        ..codegen::Options::new(name)
    };
    codegen::generate(&contract, &options).expect("it is generated")
}

/// Returns the program of a contract.
fn program_of(name: &'static str, yaml: &[u8]) -> Program {
    let files = files_of(name, yaml);
    let operations = text(&files, &format!("{name}-cli/src/operations.json"));
    let schemas = text(&files, &format!("{name}-types/src/schemas.json"));
    Program::new(name, &operations, &schemas)
}

fn text(files: &[codegen::File], path: &str) -> String {
    let file = files.iter().find(|file| file.path == path);
    file.expect("the file is generated").text.clone()
}

/// Returns the museum's program, with the credential of its usual scheme.
fn museum() -> Program {
    without_credential().with("MUSEUM_TOKEN", "s3cret")
}

/// Returns the museum's program.
fn without_credential() -> Program {
    program_of("museum", include_bytes!("command_line/museum.yaml"))
}

#[test]
fn the_crate_is_a_description_and_a_few_lines() {
    let files = files();
    let own = files
        .iter()
        .filter(|file| file.path.starts_with("museum-cli/"));
    let own: Vec<String> = own
        .map(|file| format!("==> {}\n{}", file.path, file.text))
        .collect();
    insta::assert_snapshot!("museum", own.join("\n"));
}

#[test]
fn no_command_line_is_generated_unless_it_is_asked_for() {
    let yaml = include_bytes!("command_line/museum.yaml");
    let contract = contract::load_text("museum.yaml", yaml)
        .contract
        .expect("it is right");
    let files = codegen::generate(&contract, &codegen::Options::new("museum"));
    let files = files.expect("it is generated");
    assert!(
        files
            .iter()
            .all(|file| !file.path.starts_with("museum-cli/"))
    );
}

#[test]
fn help_has_words_bounds_and_values() {
    let museum = museum();
    insta::assert_snapshot!("help", museum.run(&["--help"]).ok());
    insta::assert_snapshot!("help_put", museum.run(&["things", "put", "-h"]).ok());
    insta::assert_snapshot!("help_list", museum.run(&["things", "list", "--help"]).ok());
}

#[test]
fn parameters_are_sent_in_their_styles() {
    let (url, log) = serve();
    let museum = museum()
        .with("MUSEUM_URL", &url)
        .with("MUSEUM_HALL", "north");
    let arguments = [
        "rooms",
        "find",
        "a b,c",
        "--near",
        "1",
        "--near",
        "2",
        "--filter",
        r#"{"light":true}"#,
        "--shape",
        r#"{"a":[1]}"#,
        "--output-query",
        "x&y",
        "--query-header",
        "q",
        "--x-floors",
        "1",
        "--x-floors",
        "-2",
        "--lamp",
        "l;m",
        "--open",
    ];
    assert_eq!(museum.run(&arguments).ok(), "done\n");
    let got = log.last();
    assert_eq!(
        got.line,
        "GET /halls/north/rooms/;where=a%20b;where=c?near=1%7C2&filter%5Blight%5D=true&shape=%7B%22a%22%3A%5B1%5D%7D&output=x%26y&open=true"
    );
    assert_eq!(got.header("query"), Some("q"));
    assert_eq!(got.header("x-floors"), Some("1,-2"));
    assert_eq!(got.header("cookie"), Some("lamp=l%3Bm"));
    assert_eq!(got.header("authorization"), Some("Bearer s3cret"));
    assert_eq!(got.header("user-agent"), Some("museum/1.0.0"));
}

#[test]
fn bodies_are_made_of_flags_files_and_nulls() {
    let (url, log) = serve();
    let museum = museum()
        .with("MUSEUM_URL", &url)
        .with("MUSEUM_HALL", "north");
    let base = museum.file(
        "base.json",
        r#"{"kind": "stone", "weight": 1, "note": "old"}"#,
    );
    let base = format!("@{base}");
    let size = museum.file("size.json", r#"{"height": 3}"#);
    let size = format!("@{size}");
    let code = museum.file("code", "s3cret\n");
    let put = ["things", "put", "vase", "--kind", "vase", "--weight", "1.5"];
    let sent = |more: &[&str], input: &str| {
        museum.run_with(&[&put, more].concat(), input).ok();
        serde_json::from_str::<serde_json::Value>(&log.last().body).expect("it is JSON")
    };
    let own = sent(
        &[
            "--labels",
            "a",
            "--labels",
            "b",
            "--old=false",
            "--size",
            &size,
            "--code-file",
            &code,
        ],
        "",
    );
    assert_eq!(
        own,
        json!({"kind": "vase", "weight": 1.5, "labels": ["a", "b"], "old": false, "size": {"height": 3}, "code": "s3cret"})
    );
    assert_eq!(
        sent(&["--body", &base], ""),
        json!({"kind": "vase", "weight": 1.5, "note": "old"})
    );
    assert_eq!(
        sent(&["--body", "-", "--null", "note"], r#"{"old": true}"#),
        json!({"old": true, "kind": "vase", "weight": 1.5, "note": null})
    );
    assert_eq!(sent(&["--code-file", "-"], "s3cret")["code"], "s3cret");
    // A key makes the call safe to repeat.
    assert!(
        log.last()
            .header("idempotency-key")
            .is_some_and(|key| key.len() > 10)
    );
}

#[test]
fn other_bodies_are_forms_parts_and_files() {
    let (url, log) = serve();
    let museum = museum()
        .with("MUSEUM_URL", &url)
        .with("MUSEUM_LOGIN", "ada:s3cret")
        .with("MUSEUM_KEY", "k");
    museum
        .run(&["login", "--user", "a b", "--scopes", "x", "--scopes", "y"])
        .ok();
    let got = log.last();
    assert_eq!(got.body, "user=a%20b&scopes=x&scopes=y");
    assert_eq!(got.header("authorization"), Some("Basic YWRhOnMzY3JldA=="));

    let picture = museum.file("picture", [137, 80]);
    let at = format!("@{picture}");
    let saved = museum.folder().join("saved");
    museum
        .run(&[
            "put-picture",
            "--body",
            &at,
            "--save",
            &saved.display().to_string(),
        ])
        .ok();
    assert_eq!(fs::read(&saved).expect("it is written"), [0, 1, 65]);
    let got = log.last();
    assert_eq!(got.header("content-type"), Some("image/png"));
    assert_eq!(got.header("x-key"), Some("k"));
    let save = |path: &Path| {
        museum.run(&[
            "put-picture",
            "--body",
            &at,
            "--save",
            &path.display().to_string(),
        ])
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // What is there gets the rights of a secret too.
        fs::set_permissions(&saved, fs::Permissions::from_mode(0o644)).expect("they can be set");
        save(&saved).ok();
        let mode = fs::metadata(&saved)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(save(Path::new("/dev/null")).ok(), "");
    }
    // A path that cannot be written is found out before the request is sent.
    let sent = log.len();
    for path in [
        museum.folder().join("none/saved"),
        museum.folder().to_path_buf(),
    ] {
        let failed = save(&path);
        assert!(failed.err.contains("failed to write"), "{}", failed.err);
    }
    assert_eq!(log.len(), sent);
    let parts = fs::read_dir(museum.folder()).expect("it can be read");
    let parts = parts
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(".part"));
    assert_eq!(parts.count(), 0);
    assert_eq!(museum.run(&["put-picture", "--body", "x"]).ok(), "\0\u{1}A");

    museum
        .run(&["send-picture", "--name", "n", "--file", &at])
        .ok();
    let got = log.last();
    assert!(
        got.header("content-type")
            .is_some_and(|kind| kind.starts_with("multipart/form-data; boundary="))
    );
    assert!(
        got.body.contains("name=\"file\"; filename=\"picture\""),
        "{}",
        got.body
    );
    assert!(
        got.body.contains("name=\"name\"\r\n\r\nn\r\n"),
        "{}",
        got.body
    );
}

#[test]
fn what_does_not_fit_the_contract_is_named_by_flag_and_not_sent() {
    let (url, log) = serve();
    let museum = museum().with("MUSEUM_URL", &url);
    let arguments = [
        "things",
        "put",
        "v",
        "--hall",
        "North",
        "--weight",
        "0",
        "--note",
        "too long",
        "--labels",
        "",
        "--size",
        r#"{"height": "x"}"#,
    ];
    insta::assert_snapshot!("misfits", museum.run(&arguments).failed(2));
    let home = museum.folder().display().to_string();
    let missing = museum.run(&["things", "view", "vase"]).failed(2);
    insta::assert_snapshot!("missing_setting", missing.replace(&home, "~"));
    let failed = |arguments: &[&str]| museum.run(arguments).failed(2);
    assert!(
        failed(&["things", "put", "vase", "--hall", "a", "--kind", "cup"])
            .contains("[possible values: vase, stone]")
    );
    assert!(
        failed(&["things", "list", "--limit", "ten", "--hall", "a"])
            .contains("--limit must be an integer")
    );
    // A required value that is wrong is not missing as well.
    let heavy = [
        "things", "put", "vase", "--hall", "a", "--kind", "vase", "--weight", "heavy",
    ];
    assert_eq!(
        failed(&heavy),
        "error: the arguments do not fit the contract, and nothing was sent\n  --weight must be a number\n"
    );
    assert!(failed(&["things", "list", "--hall", "a", "--output", "pdf"]).contains("table"));
    assert!(
        failed(&["things", "list", "--hall", "a", "--query", "$["])
            .contains("--query is no JSONPath")
    );
    assert!(failed(&["things", "lst"]).contains("'list'"));
    assert!(
        failed(&["things", "list", "--hall", "a", "--all", "--after", "b"]).contains("contradict")
    );
    assert_eq!(log.len(), 0);
}

#[test]
fn exit_codes_tell_failures_apart() {
    let (url, _) = serve();
    let museum = museum().with("MUSEUM_RETRIES", "0");
    let fail = |status: &str| museum.run(&["fail", status, "--url", &url]);
    assert_eq!(
        fail("404").failed(4),
        "error: 404 Not Found: no \\u{1b}[31mway\n  details:\n    name: must be shorter\n  request: r-1\n"
    );
    fail("503").failed(5);
    fail("302").failed(1);
    let dead = museum
        .run(&["fail", "404", "--url", "http://127.0.0.1:9"])
        .failed(6);
    assert!(dead.contains("cannot connect"), "{dead}");
    let wrong = museum.run(&["fail", "404", "--url", "ftp://x"]).failed(2);
    assert!(wrong.contains("URL"), "{wrong}");
}

#[test]
fn lists_are_tables_and_are_followed_to_their_end() {
    let (url, log) = serve();
    let museum = museum()
        .with("MUSEUM_URL", &url)
        .with("MUSEUM_HALL", "north");
    let list = |more: &[&str]| museum.run(&[&["things", "list"], more].concat()).ok();
    assert_eq!(
        list(&["-o", "table"]),
        "NAME     STATE\namphora  shown\nbust     shown\n"
    );
    assert_eq!(log.len(), 1);
    assert_eq!(
        list(&["--all", "-o", "text", "--query", "$[*].name"]),
        "amphora\nbust\ncoin\n"
    );
    // The last page is empty, since a short one is not the end.
    assert_eq!(log.len(), 4);
    assert!(log.last().line.contains("after=coin"));
    let lines = list(&["--all", "-o", "jsonl"]);
    assert_eq!(lines.lines().count(), 3);
    assert!(
        !lines.contains("s3cret") && lines.contains("[secret]"),
        "{lines}"
    );
    assert!(list(&["--all", "--show-secrets"]).contains("s3cret"));
    insta::assert_snapshot!("yaml", list(&["-o", "yaml"]));
}

#[test]
fn a_stream_is_a_line_for_each_item() {
    let (url, _) = serve();
    let museum = museum().with("MUSEUM_URL", &url);
    assert_eq!(
        museum.run(&["watch"]).ok(),
        "{\"name\":\"Ada\"}\n{\"name\":\"Bob\"}\n"
    );
    assert_eq!(
        museum.run(&["watch", "--query", "$.name"]).ok(),
        "\"Ada\"\n\"Bob\"\n"
    );
}

#[test]
fn waiting_ends_with_a_value_that_the_contract_names() {
    let (url, log) = serve();
    let museum = museum()
        .with("MUSEUM_URL", &url)
        .with("MUSEUM_HALL", "north");
    let view = |name: &str, more: &[&str]| {
        museum.run(&[&["things", "view", name, "--wait"], more].concat())
    };
    assert_eq!(view("slow", &[]).json()["state"], "shown");
    assert_eq!(log.len(), 2);
    let gone = view("gone", &[]).failed(7);
    assert!(gone.contains("`state` is `lost`"), "{gone}");
}

#[test]
fn a_dry_run_prints_the_request_without_its_secrets() {
    let (url, log) = serve();
    let museum = museum()
        .with("MUSEUM_URL", &url)
        .with("MUSEUM_QUERY_KEY", "s3cret");
    let code = museum.file("code", "s3cret");
    let put = museum.run(&[
        "things",
        "put",
        "it's",
        "--hall",
        "a",
        "--kind",
        "vase",
        "--weight",
        "1",
        "--code-file",
        &code,
        "--idempotency-key",
        "k",
        "--dry-run",
    ]);
    let put = put.ok().replace(&url, "http://museum");
    insta::assert_snapshot!("dry_run", put);
    let picture = museum
        .run(&["put-picture", "--body", "x", "--dry-run"])
        .ok();
    assert!(
        picture.contains("\"$MUSEUM_QUERY_KEY\"") && !picture.contains("s3cret"),
        "{picture}"
    );
    assert_eq!(log.len(), 0);
}

#[test]
fn settings_come_from_flags_then_variables_then_the_profile() {
    let (url, log) = serve();
    let museum = museum();
    let token = museum.file("token", "from-file\n");
    fs::create_dir_all(museum.folder().join(".config/museum")).expect("the folder can be made");
    let config = format!(
        "url = \"{url}\"\nhall = \"north\"\n[profile.south]\nhall = \"south\"\ntoken-file = \"{token}\"\n"
    );
    museum.file(".config/museum/config.toml", config);
    let line = |arguments: &[&str]| {
        museum.run(&[&["things", "list"], arguments].concat()).ok();
        log.last()
    };
    let hall = |got: &support::Got| got.line.clone();
    let north = museum.run(&["things", "list"]);
    assert_eq!(north.code, 0, "{}", north.err);
    assert_eq!(hall(&log.last()), "GET /halls/north/things");
    let flag = line(&[
        "--hall",
        "west",
        "--token-file",
        &token,
        "-o",
        "json",
        "--query",
        "$",
    ]);
    assert_eq!(hall(&flag), "GET /halls/west/things");
    assert_eq!(flag.header("authorization"), Some("Bearer from-file"));
    let bad = museum
        .run(&["things", "list", "--profile", "east"])
        .failed(2);
    assert!(
        bad.contains("there is no profile `east`, but: south"),
        "{bad}"
    );

    let file = museum.file("wrong.toml", "token = \"s3cret\"\n");
    let bad = museum.run(&["things", "list", "--config", &file]).failed(2);
    assert!(
        bad.contains("no secret belongs into this file") && !bad.contains("s3cret"),
        "{bad}"
    );
    let file = museum.file("wrong.toml", "token-file = s3cret\n");
    let bad = museum.run(&["things", "list", "--config", &file]).failed(2);
    assert!(bad.contains("line 1") && !bad.contains("s3cret"), "{bad}");
    let file = museum.file("wrong.toml", "urll = 1\n");
    let bad = museum.run(&["things", "list", "--config", &file]).failed(2);
    assert!(bad.contains("`urll` is no setting"), "{bad}");
}

#[test]
fn a_call_without_its_credential_says_where_it_comes_from() {
    let files = files();
    let operations = text(&files, "museum-cli/src/operations.json");
    let museum = Program::new(
        "museum",
        &operations,
        &text(&files, "museum-types/src/schemas.json"),
    );
    let missing = museum.run(&["things", "list", "--hall", "a"]).failed(2);
    assert!(
        missing.contains("set MUSEUM_TOKEN, or give --token-file"),
        "{missing}"
    );
    let unread = museum
        .run(&["things", "list", "--hall", "a", "--token-file", "/nowhere"])
        .failed(2);
    assert!(unread.contains("cannot be read from /nowhere"), "{unread}");
}

#[test]
fn shells_complete_and_manuals_describe_every_command() {
    let museum = museum();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = museum.run(&["completions", shell]).ok();
        // PowerShell's script has no values.
        let value = if shell == "powershell" {
            "weight"
        } else {
            "vase"
        };
        for word in ["put-picture", "things", "weight", value] {
            assert!(script.contains(word), "{shell} lacks {word}");
        }
    }
    let pages = museum.folder().join("pages");
    museum.run(&["man", &pages.display().to_string()]).ok();
    let page = fs::read_to_string(pages.join("museum-things-put.1")).expect("it is written");
    assert!(page.contains("In kilograms"), "{page}");
}
