//! The README of a generated crate: what it is, an example that compiles, its features.

use std::fmt::Write as _;

use super::text::{one_line, plain, shortened};
use super::{Part, example, licence, mark};
use crate::ir::{Api, Tag};
use crate::names;

/// The README of one crate.
pub(super) fn readme(api: &Api<'_>, part: Part) -> String {
    let info = &api.contract.info;
    let mut out = format!("<!-- {} -->\n\n", mark("").trim_start());
    let mut paragraph = |text: &str| {
        writeln!(out, "{text}\n").expect("a text takes all that is written to it");
    };
    paragraph(&format!("# {}", api.names.package(part.name())));
    paragraph(&lead(api, part));
    if let Some(summary) = info.description.as_deref().and_then(first_paragraph) {
        paragraph(&summary);
    }
    if let Some(example) = example::example(api, part) {
        paragraph(&example);
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

fn lead(api: &Api<'_>, part: Part) -> String {
    let info = &api.contract.info;
    let title = plain(&shortened(&info.title, 100));
    let version = plain(&shortened(&info.version, 40));
    let what = match part {
        Part::Client if api.names.is_reversed => {
            "For whoever serves the API: a builder per call, to the URL that a subscriber has given. \
             Whether that may be called is yours to check first; redirects are not followed."
        }
        Part::Server if api.names.is_reversed => {
            "For whoever calls the API and is called back: implement a trait per tag, put the router behind a URL of \
             yours, and subscribe with that URL and the path of the operation."
        }
        Part::Types => {
            "Its requests and responses as types, each of which accepts exactly what its schema accepts."
        }
        Part::Client => {
            "A builder per operation, typed responses and errors, streams over lists, \
             and retries for what is safe to repeat."
        }
        Part::Server => {
            "Implement a trait per tag; the router checks credentials, parameters and bodies \
             before it calls, and an operation can only return what the contract lists."
        }
    };
    let side = match part {
        Part::Client if api.names.is_reversed => "sender",
        Part::Server if api.names.is_reversed => "receiver",
        part => part.name(),
    };
    format!("The {side} of {title}, version {version}.\n{what}")
}

/// The description's first paragraph, unless it is a heading, a list or a block of something.
fn first_paragraph(description: &str) -> Option<String> {
    let paragraph = description.trim().split("\n\n").next()?;
    let is_prose = paragraph.starts_with(|first: char| first.is_alphanumeric());
    is_prose.then(|| plain(&shortened(&one_line(paragraph), 400)))
}

/// The features as a table: a row per tag, then those of every such crate.
fn features(api: &Api<'_>, part: Part) -> String {
    let mut rows: Vec<(String, String)> = api
        .tags
        .iter()
        .map(|tag| (tag.feature.clone(), purpose(api, tag)))
        .collect();
    let fixed: &[(&str, &str)] = match part {
        Part::Types => &[
            (
                names::SCHEMAS,
                "the contract's schemas, to be validated against as a whole; off unless asked for",
            ),
            (
                names::SCHEMARS,
                "`schemars::JsonSchema` for every type; off unless asked for",
            ),
            (
                names::UTOIPA,
                "`utoipa::ToSchema` for every type; off unless asked for",
            ),
        ],
        Part::Client => &[(
            names::RUSTLS,
            "https with rustls and the certificates that the platform trusts; a `reqwest::Client` of your own beside it has to choose rustls's provider itself",
        )],
        Part::Server => &[(
            names::UTOIPA,
            "the document, derived again from the code that serves it; off unless asked for",
        )],
    };
    rows.extend(
        fixed
            .iter()
            .map(|(name, purpose)| ((*name).to_owned(), (*purpose).to_owned())),
    );
    let rows: Vec<String> = rows
        .iter()
        .map(|(name, purpose)| format!("| `{name}` | {purpose} |"))
        .collect();
    format!(
        "| feature | what it brings |\n|---|---|\n{}",
        rows.join("\n")
    )
}

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
