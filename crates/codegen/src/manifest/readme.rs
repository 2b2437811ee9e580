//! The README of a generated crate: a paragraph, an example that is compiled, and the features.

use std::fmt::Write as _;

use super::part::Part;
use super::text::{mark, one_line, plain, shortened};
use super::{example, licence};
use crate::ir::{Api, Tag, TypeDef, TypeKind};
use crate::options::Options;
use crate::types::ARGUMENTS;
use crate::{names, server};

/// Generates the README of a crate.
pub(super) fn readme(api: &Api<'_>, part: Part, options: &Options) -> String {
    let info = &api.contract.info;
    let mut out = format!("<!-- {} -->\n\n", mark("").trim_start());
    let mut paragraph = |text: &str| {
        writeln!(out, "{text}\n").expect("writing to a string never fails");
    };
    paragraph(&format!("# {}", api.names.package(part.name())));
    paragraph(&lead(api, part));
    if let Some(summary) = info.description.as_deref().and_then(first_paragraph) {
        paragraph(&summary);
    }
    if let Some(example) = example::example(api, part) {
        paragraph(&example);
    }
    if let Some(words) = construction(api, part) {
        paragraph(&words);
    }
    if let (Part::Cli, Some(program)) = (part, &options.cli) {
        paragraph(&commands(program, &example::base_url(api)));
    }
    let dependencies = super::libraries(part);
    if !dependencies.is_empty() {
        let name = api.names.package(part.name());
        paragraph(&format!(
            "A program beside this crate needs these lines in its `Cargo.toml`:\n\n\
             ```toml\n[dependencies]\n{name} = {{ path = \"../{name}\" }}\n{dependencies}```"
        ));
    }
    if part == Part::Client {
        paragraph(
            "A response that does not fit the contract is an error as a whole.\n\
             `send().lenient()` returns it as it was received, beside what fits, and `stream().lenient()` does so for each item of a list.",
        );
        if let Some(example) = example::lenient(api) {
            paragraph(&format!("```rust,no_run\n{example}```"));
        }
    }
    if part == Part::Client && super::has_recipe(api, options) {
        paragraph("## Test a caller");
        paragraph(&recipe(api));
    }
    if part == Part::Mock {
        paragraph(EXPECTATIONS);
    }
    paragraph("## Features");
    paragraph(&features(api, part));
    if let Some(expression) = licence::expression(info) {
        paragraph("## Licence");
        paragraph(&format!("{}.", plain(&expression)));
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Returns how a value of a type is made, in the README of the types.
fn construction(api: &Api<'_>, part: Part) -> Option<String> {
    if part != Part::Types {
        return None;
    }
    let required = |def: &TypeDef| match &def.kind {
        TypeKind::Object(object) => {
            let fields = object.fields.iter();
            fields
                .filter(|field| field.required && field.default.is_none())
                .count()
        }
        _ => 0,
    };
    let large = api.types.iter().find(|def| required(def) > ARGUMENTS);
    let large = large.map_or_else(String::new, |def| {
        let fields = match &def.kind {
            TypeKind::Object(object) => object.fields_name.clone(),
            _ => None,
        };
        let name = &def.name;
        let fields = fields.unwrap_or_else(|| format!("{name}Fields"));
        format!("\nA `{name}` has more, so it is made of a struct with a field for each: `{name}::from({fields} {{ … }})`.")
    });
    Some(format!(
        "A value is made of its required properties, by `new` if these are at most {ARGUMENTS}, and then `with_…` sets an optional one.{large}"
    ))
}

/// Returns what to type first, in the README of the command line.
fn commands(program: &str, url: &str) -> String {
    let variable = program.to_uppercase().replace('-', "_");
    format!(
        "```sh\n\
         cargo install --path . # the program `{program}`\n\
         {program} --help # the commands, and the settings of all of them\n\
         {program} completions bash # or zsh, fish, powershell: completes commands and flags\n\
         {program} man DIR # writes a man page for each command\n\
         ```\n\n\
         A setting is a flag, such as `--url`, or else a variable, such as `{variable}_URL`, or else a line of the configuration file, such as `url = \"{url}\"`.\n\
         Exit codes: 0 success, 1 any other failure, 2 the arguments are wrong and nothing was sent, 4 a 4XX response, 5 a 5XX response, 6 no response, 7 `--wait` ended without the value that it waits for."
    )
}

/// How expectations are stated, in the README of the mock.
const EXPECTATIONS: &str = "A method of `Mock` begins an expectation of its operation.\n\
    `when(|request| …)` checks requests, `times(2)`, `at_least(1)` and `never()` say how many are expected, and `in_sequence(&sequence)` puts expectations of any operations in order; without these, an expectation accepts any number of requests at any time.\n\
    `respond(…)` and `fail(…)` complete it by a response or an error of the contract, `respond_with(|request| …)` by what a function returns, and `respond_async` by what it returns later, such as after reading a body that is a stream.\n\
    Of several that accept a request, the first responds that has not had its number of requests.\n\n\
    `mock.serve()` is a server on a free port of 127.0.0.1 until the mock is dropped, and `mock.router()` a service without a socket.\n\
    Requests are routed, checked and read as the generated server does, so a request that the contract does not allow is rejected before an expectation sees it.\n\
    Any credential is accepted that has the form of its scheme, unless `mock.check_credentials(…)` says otherwise.\n\n\
    A request without an expectation has the response 501.\n\
    `mock.verify()`, and dropping the mock, panic if an expectation has not had its number of requests, if there was a request without one, or if a request was rejected; the message lists all of them.\n\
    `mock.check()` returns the same as an error, and after `mock.allow_unexpected()` only expectations count.";

/// Returns the recipe of a test with the mock, in the README of the client.
fn recipe(api: &Api<'_>) -> String {
    let mock = api.names.package("mock");
    let example = super::example::test(api).unwrap_or_default();
    format!(
        "The traits of the client cannot be implemented elsewhere, since they grow with the contract.\n\
         A test calls `{mock}` instead, which is the generated server with a response for each operation that the test expects:\n\n\
         ```rust,no_run\n{example}```\n\n\
         ```toml\n[dev-dependencies]\n{mock} = {{ path = \"../{mock}\" }}\n{types} = {{ path = \"../{types}\", features = [\"{fake}\"] }}\n```\n\n\
         By the feature `{fake}`, each type has a valid value, `example()`, and implements `Arbitrary` of [proptest](https://docs.rs/proptest), whose `any::<T>()` draws valid values.",
        types = api.names.package("types"),
        fake = names::FAKE,
    )
}

/// Returns the first paragraph, which says what the crate is.
fn lead(api: &Api<'_>, part: Part) -> String {
    let info = &api.contract.info;
    // Bounded, because authors write whole paragraphs into titles and versions.
    let title = plain(&shortened(&info.title, 100));
    let version = plain(&shortened(&info.version, 40));
    let what = match part {
        Part::Client if api.names.is_reversed => {
            "Calls the webhooks and callbacks of the API's clients: it has a builder for each call, to the URL that a \
             subscriber has given.\n\
             Check that URL before you call it: the sender calls any, but it follows no redirect."
        }
        Part::Server if api.names.is_reversed => {
            "Receives the webhooks and callbacks of the API.\n\
             Implement a trait for each tag, serve the router at a URL of yours, and subscribe with that URL and the \
             path of the operation."
        }
        Part::Types => {
            "It has the types of the requests and responses, each of which accepts exactly what its schema accepts."
        }
        Part::Client => {
            "It has a builder for each operation, typed responses and errors, streams over lists, and retries for \
             requests that are safe to repeat."
        }
        Part::Server => {
            "Implement a trait for each tag.\n\
             The router checks credentials, parameters and bodies before it calls a handler, and a handler can only \
             return the responses that the contract lists."
        }
        Part::Mock => {
            "It stands in for the server in tests of callers: it has an expectation for each operation, with typed \
             requests and responses, and 501 for what a test does not expect."
        }
        Part::Cli => {
            "It has a command for each operation, with a flag for each parameter and property, and checks what you \
             type against the contract before it sends anything."
        }
    };
    let side = match part {
        Part::Client if api.names.is_reversed => "sender",
        Part::Server if api.names.is_reversed => "receiver",
        Part::Cli => "command line",
        part => part.name(),
    };
    format!("The {side} crate for {title}, version {version}.\n{what}")
}

/// Returns the first paragraph of a description as one line of at most 400 characters, escaped for
/// Markdown. Returns `None` if it does not start with a letter or digit, as a heading or a list.
fn first_paragraph(description: &str) -> Option<String> {
    let paragraph = description.trim().split("\n\n").next()?;
    let is_prose = paragraph.starts_with(|first: char| first.is_alphanumeric());
    is_prose.then(|| plain(&shortened(&one_line(paragraph), 400)))
}

/// The row of the feature by which a server names all that is wrong with a JSON body.
const VIOLATIONS: (&str, &str) = (
    names::VIOLATIONS,
    "a rejection of a JSON body names all that is wrong with it, and not only the first thing; off by default: it takes a JSON Schema validator, which is a third of what a small server compiles",
);

/// The row of the feature that serves the reference page.
const DOCS: (&str, &str) = (
    names::DOCS,
    "a reference page at `/docs/`, which `server::Config::docs` switches on; off by default",
);

/// The row of the feature that keeps responses by idempotency key.
const IDEMPOTENCY: (&str, &str) = (
    names::IDEMPOTENCY,
    "a request that is sent again with the same `Idempotency-Key` gets the response to the first one, which `server::Config::idempotency` switches on; off by default",
);

/// The row of the feature that derives the document.
const DOCUMENT: (&str, &str) = (
    names::UTOIPA,
    "the OpenAPI document, derived from the code that serves it; off by default",
);

/// Generates the table of features: a row for each tag, then those of the kind of crate.
fn features(api: &Api<'_>, part: Part) -> String {
    // The command line has all operations.
    let tags: &[Tag] = if part == Part::Cli { &[] } else { &api.tags };
    let mut rows: Vec<(String, String)> = tags
        .iter()
        .map(|tag| (tag.feature.clone(), purpose(api, tag)))
        .collect();
    let fixed: Vec<(&str, &str)> = match part {
        Part::Types => vec![
            (
                names::SCHEMAS,
                "the contract's schemas, for validating JSON values; off by default",
            ),
            (
                names::SCHEMARS,
                "implements `schemars::JsonSchema` for every type; off by default",
            ),
            (
                names::UTOIPA,
                "implements `utoipa::ToSchema` for every type; off by default",
            ),
            (
                names::FAKE,
                "values for tests: implements `proptest::arbitrary::Arbitrary` for every type, and adds `example()`; off by default",
            ),
        ],
        Part::Client => vec![(
            names::RUSTLS,
            "https through rustls, with the certificates that the platform trusts; if you build a `reqwest::Client` yourself, choose a rustls provider for it",
        )],
        Part::Cli => vec![
            (
                names::RUSTLS,
                "https through rustls, with the certificates that the platform trusts",
            ),
            (
                names::KEYRING,
                "keeps credentials in the keyring of the system; off by default: in a file",
            ),
            (
                names::MCP,
                "the command `mcp`, by which assistants call the operations with the Model Context Protocol; off by default: its library brings some twenty packages",
            ),
        ],
        Part::Server => {
            let violations = server::has_violations_feature(api).then_some(VIOLATIONS);
            let keys = server::has_idempotency_keys(api).then_some(IDEMPOTENCY);
            let others = [violations, Some(DOCS), keys, Some(DOCUMENT)];
            others.into_iter().flatten().collect()
        }
        Part::Mock => Vec::new(),
    };
    rows.extend(
        fixed
            .into_iter()
            .map(|(name, purpose)| (name.to_owned(), purpose.to_owned())),
    );
    let rows: Vec<String> = rows
        .iter()
        .map(|(name, purpose)| format!("| `{name}` | {purpose} |"))
        .collect();
    format!(
        "| feature | what it enables |\n|---|---|\n{}",
        rows.join("\n")
    )
}

/// Returns what the feature of a tag is for: the number of operations, and the tag's description.
fn purpose(api: &Api<'_>, tag: &Tag) -> String {
    let at = api
        .tags
        .iter()
        .position(|other| other.module == tag.module)
        .expect("a tag of this API is among its tags");
    let count = api.operations_of(at).count();
    let operations = if count == 1 {
        "1 operation".to_owned()
    } else {
        format!("{count} operations")
    };
    match tag.description.as_deref().and_then(first_paragraph) {
        Some(words) => format!("{operations}: {}", shortened(&words, 200)),
        None => operations,
    }
}
