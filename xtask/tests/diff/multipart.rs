//! Multipart witnesses: a shell runs each, and what arrives is what it says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;

use crate::{DONE, document, report};

/// The headers of a part, in lower case and sorted, and its body.
type Part = (String, String);

/// Returns whether this machine has curl.
fn has_curl() -> bool {
    let version = Command::new("curl")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    let is_there = version.is_ok_and(|status| status.success());
    if !is_there {
        assert!(std::env::var_os("CI").is_none(), "CI must have curl");
        eprintln!("skipped: curl is not installed");
    }
    is_there
}

/// Returns a document with a server, whose operation receives a body.
fn receives(server: &str, body: &str) -> String {
    let text = document(&format!(
        "paths: {{/a: {{post: {{operationId: a, requestBody: {{required: true, content: {{{body}}}}}, {DONE}}}}}}}"
    ));
    text.replace("openapi: 3.1.0", "openapi: 3.2.0")
        .replace("https://pets.example", server)
}

/// Runs a command in a shell, and returns the header `Content-Type` and the body that arrive.
fn run(listener: &TcpListener, command: &str) -> (String, Vec<u8>) {
    thread::scope(|scope| {
        let received = scope.spawn(|| {
            let (stream, _) = listener.accept().expect("the command connects");
            let mut reader = BufReader::new(stream);
            let (mut kind, mut length, mut line) = (String::new(), 0, String::new());
            while reader.read_line(&mut line).expect("the head is text") > 2 {
                let (name, value) = line.split_once(": ").unwrap_or_default();
                match name.to_ascii_lowercase().as_str() {
                    "content-type" => value.trim().clone_into(&mut kind),
                    "content-length" => length = value.trim().parse().expect("it is a number"),
                    _ => {}
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("the body arrives");
            let done = "HTTP/1.1 204 Done\r\nConnection: close\r\n\r\n";
            let mut stream = reader.into_inner();
            stream.write_all(done.as_bytes()).expect("curl reads");
            (kind, body)
        });
        let status = Command::new("sh")
            .args(["-c", &format!("set -e; {command} --max-time 20")])
            .env("NO_PROXY", "*")
            .stdin(Stdio::null())
            .status();
        assert!(status.is_ok_and(|status| status.success()), "{command}");
        received.join().expect("the request arrives")
    })
}

/// Returns the parts of a multipart body, with those of a part that is multipart itself after it.
fn parts(kind: &str, body: &[u8]) -> Vec<Part> {
    let (_, boundary) = kind.split_once("boundary=").expect("it has a boundary");
    let text: String = body.iter().copied().map(char::from).collect();
    let mut parts = text.split(&format!("--{boundary}")).collect::<Vec<_>>();
    assert_eq!(parts.pop(), Some("--\r\n"), "{text}");
    let mut out = Vec::new();
    for part in &parts[1..] {
        let part = part.strip_suffix("\r\n").expect("a part ends its line");
        let (head, body) = part.split_once("\r\n\r\n").expect("a part has a head");
        let mut lines: Vec<String> = head.trim().lines().map(str::to_owned).collect();
        lines.sort();
        let nested = lines
            .iter()
            .find(|line| line.contains("boundary="))
            .cloned();
        let Some(nested) = nested else {
            out.push((lines.join("\n"), body.to_owned()));
            continue;
        };
        lines.retain(|line| *line != nested);
        lines.push(nested.split(';').next().unwrap_or_default().to_owned());
        out.push((lines.join("\n"), String::new()));
        let bytes: Vec<u8> = body.chars().map(|byte| byte as u8).collect();
        out.extend(self::parts(&nested, &bytes));
    }
    out
}

/// What arrives: the start of `Content-Type`, and the head and the body of each part.
type Arrives<'a> = (&'a str, &'a [(&'a str, &'a str)]);

fn check(old: &str, new: &str, rule: &str, (kind, expected): Arrives<'_>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    let server = format!("http://{address}");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let found = report(
        folder.path(),
        &receives(&server, old),
        &receives(&server, new),
    );
    let findings = found["findings"].as_array().expect("findings are a list");
    let finding = findings
        .iter()
        .find(|one| one["rule"] == rule && one["kind"] == "breaking")
        .unwrap_or_else(|| panic!("{rule}: {found:#}"));
    let command = finding["witness"]["text"].as_str().expect("it has one");
    assert!(command.contains("curl -X POST"), "{old}\n{new}\n{command}");
    let (arrived, body) = run(&listener, command);
    assert!(arrived.starts_with(kind), "{command}: {arrived}");
    let parts = parts(&arrived, &body);
    let parts: Vec<(&str, &str)> = parts
        .iter()
        .map(|(head, body)| (head.as_str(), body.as_str()))
        .collect();
    assert_eq!(parts, expected, "{command}");
}

const FORM: &str = "multipart/form-data";

/// Returns the head of a part with a name.
fn named(name: &str) -> String {
    format!("Content-Disposition: form-data; name=\"{name}\"")
}

#[test]
fn a_shell_sends_the_values_of_parts_as_they_are() {
    if !has_curl() {
        return;
    }
    let text = |schema: &str| {
        format!("{FORM}: {{schema: {{type: object, required: [a], properties: {{a: {schema}}}}}}}")
    };
    let only = |value: &str| format!("{{type: string, const: {value}}}");
    let none = text("{type: string, maxLength: 0}");
    // What curl, the shell or a form might read in another way.
    let rows = [
        (r#""@file""#, "@file"),
        (r#""<file""#, "<file"),
        (r#""=)""#, "=)"),
        (r#"" a ""#, " a "),
        (r#""a;type=b""#, "a;type=b"),
        (r#""\"a\" \\ b""#, r#""a" \ b"#),
        (r#""'$(id)' `id` $HOME %41""#, "'$(id)' `id` $HOME %41"),
        // Escapes of a terminal and bytes that no shell passes on come from another command.
        (r#""\e[31m%s\0\\a""#, "\u{1b}[31m%s\0\\a"),
        (r#""\n""#, "\n"),
        (r#""-é""#, "-\u{c3}\u{a9}"),
    ];
    for (value, sent) in rows {
        let head = named("a");
        let expected = [(head.as_str(), sent)];
        let old = text(&only(value));
        check(&old, &none, "request-narrowed", (FORM, &expected));
    }
}

#[test]
fn a_shell_sends_parts_in_their_media_types() {
    if !has_curl() {
        return;
    }
    let object = "{type: object, required: [b], properties: {b: {type: integer, minimum: 1}}}";
    let schema = format!(
        "schema: {{type: object, required: [a, f], properties: {{a: {object}, f: {{}}, c: {{type: array, minItems: 2, items: {{type: string}}}}}}}}"
    );
    let form = |encoding: &str| format!("{FORM}: {{{schema}, encoding: {{{encoding}}}}}");
    let json = format!("{}\nContent-Type: application/json", named("a"));
    let file = |media: &str| {
        let disposition = "Content-Disposition: form-data; name=\"f\"; filename=\"f\"";
        format!("{disposition}\nContent-Type: {media}")
    };
    let bytes = file("application/octet-stream");
    let png = file("image/png");
    let b = r#"{"b":1}"#;
    let c = named("c");
    let required = "headers: {X-A: {required: true, schema: {type: integer, minimum: 1}}}";
    let header = "headers: {X-A: {schema: {type: integer, minimum: 1}}}";
    let with = |line: &str| format!("{json}\n{line}");
    let with = with("X-A: 1");

    // A part becomes required, a media type goes, a header becomes required, and one gets a bound.
    let more = form("").replace("required: [a, f]", "required: [a, f, c]");
    check(
        &form(""),
        &more,
        "request-narrowed",
        (FORM, &[(&json, b), (&bytes, "a")]),
    );
    check(
        &more,
        &more.replace("minItems: 2", "minItems: 3"),
        "request-narrowed",
        (FORM, &[(&json, b), (&c, "a"), (&c, "a"), (&bytes, "a")]),
    );
    check(
        &form("f: {contentType: 'image/png, image/gif'}"),
        &form("f: {contentType: image/gif}"),
        "encoding-changed",
        (FORM, &[(&json, b), (&png, "a")]),
    );
    check(
        &form(&format!("a: {{{header}}}")),
        &form(&format!("a: {{{required}}}")),
        "part-header-required",
        (FORM, &[(&json, b), (&bytes, "a")]),
    );
    check(
        &form(&format!("a: {{{required}}}")),
        &form(&format!("a: {{{required}}}").replace("minimum: 1", "minimum: 2")),
        "request-narrowed",
        (FORM, &[(&with, b), (&bytes, "a")]),
    );
}

#[test]
fn a_shell_sends_parts_without_names_and_parts_of_parts() {
    if !has_curl() {
        return;
    }
    let list = |item: &str| {
        format!(
            "multipart/mixed: {{schema: {{type: array, minItems: 2, items: {{type: string}}}}, itemEncoding: {{contentType: {item}}}}}"
        )
    };
    let (csv, png) = ("Content-Type: text/csv", "Content-Type: image/png");
    let mixed = "multipart/mixed;";
    check(
        &list("text/csv"),
        &list("text/html"),
        "encoding-changed",
        (mixed, &[(csv, ""), (csv, "")]),
    );
    let inner = "{type: object, required: [b], properties: {b: {type: string}}}";
    let within = |media: &str| {
        format!(
            "{FORM}: {{schema: {{type: object, properties: {{a: {inner}}}}}, encoding: {{a: {{contentType: multipart/mixed, encoding: {{b: {{contentType: {media}}}}}}}}}}}"
        )
    };
    let outer = format!("{}\nContent-Type: multipart/mixed", named("a"));
    let file = format!("Content-Disposition: attachment; name=\"b\"; filename=\"b\"\n{png}");
    check(
        &within("image/png"),
        &within("image/gif"),
        "encoding-changed",
        (FORM, &[(&outer, ""), (&file, "")]),
    );
}

#[test]
fn a_shell_sends_what_a_terminal_does_not_show() {
    if !has_curl() {
        return;
    }
    let hidden = [
        "\u{200b}",
        "\u{2028}",
        "\u{2029}",
        "\u{feff}",
        "\u{61c}",
        "\u{202e}",
        "\u{2066}",
        "\u{ad}",
        "\u{2060}",
        "\u{200d}",
        "\u{a0}",
        "\u{e0041}",
        "\n",
        "\u{1b}[31m",
    ];
    for text in hidden {
        let value = format!("a{text}b");
        let json = serde_json::to_string(&value).expect("a text is JSON");
        let schema = format!("{{schema: {{type: string, const: {json}}}}}");
        let none = "{schema: {type: string, maxLength: 0}}";
        for media in ["text/plain", "application/json"] {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
            let address = listener.local_addr().expect("it has an address");
            let server = format!("http://{address}");
            let folder = tempfile::tempdir().expect("a folder can be made");
            let [old, new] = [schema.as_str(), none]
                .map(|schema| receives(&server, &format!("{media}: {schema}")));
            let found = report(folder.path(), &old, &new);
            let command = found["findings"][0]["witness"]["text"].as_str();
            let command = command.expect("it has a witness");
            assert!(command.contains("curl -X POST"), "{command}");
            let is_plain = |character| matches!(character, ' '..='~');
            assert!(command.chars().all(is_plain), "{command:?}");
            let (kind, body) = run(&listener, command);
            assert_eq!(kind, media, "{command}");
            let body = String::from_utf8(body).expect("the body is text");
            if media == "text/plain" {
                assert_eq!(body, value, "{command}");
            } else {
                let read: String = serde_json::from_str(&body).expect("the body is JSON");
                assert_eq!(read, value, "{command}");
            }
        }
        // A response is JSON, which has escapes.
        let folder = tempfile::tempdir().expect("a folder can be made");
        let sends = |schema: &str| {
            document(&format!(
                "paths: {{/a: {{get: {{operationId: a, responses: {{'200': {{description: Done., content: {{application/json: {schema}}}}}}}}}}}}}"
            ))
        };
        let found = report(folder.path(), &sends(none), &sends(&schema));
        let message = found["findings"][0]["witness"]["text"].as_str();
        let message = message.expect("it has a witness");
        let is_plain = |character| matches!(character, ' '..='~');
        assert!(message.chars().all(is_plain), "{message:?}");
        assert!(
            message.contains("\\u") || message.contains("\\n"),
            "{message}"
        );
    }
}
