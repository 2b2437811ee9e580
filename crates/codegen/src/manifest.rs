//! The pass that makes crates of the generated sources: it generates manifests, READMEs and
//! licences, and a copy of the run time (`stratus-runtime` and `stratus-runtime-macros`) where crates
//! have one of their own.

mod embedded;
mod example;
mod inherit;
mod licence;
mod part;
mod readme;
mod runtime;
mod text;

use std::fmt::Write as _;

use semver::Version;

pub(crate) use self::example::error_statements;
use self::part::Part;
use self::text::{feature_key, mark, one_line, quoted, shortened};
use crate::file::File;
use crate::ir::{Api, Tag};
use crate::options::Options;
use crate::{names, server, types};

/// The version of crates whose contract has none that is semantic.
pub const DEFAULT_VERSION: Version = Version::new(0, 1, 0);

/// Generates the manifest, the README and the licence files of every crate. If the run time is
/// copied, generates its crates as well.
pub(crate) fn files(api: &Api<'_>, events: Option<&Api<'_>>, options: &Options) -> Vec<File> {
    let runtime = &options.runtime;
    let source = runtime::source(runtime, &api.names.prefix);
    let mut files = Vec::new();
    for (of, part) in crates(api, events, options) {
        let folder = of.names.package(part.name());
        let mut put = |name: &str, text: String| {
            files.push(File {
                path: format!("{folder}/{name}"),
                text,
            });
        };
        put("Cargo.toml", manifest(of, part, &source, options));
        put("README.md", readme::readme(of, part, options));
        for (name, text) in licence::texts(&api.contract.info) {
            put(name, text);
        }
    }
    if let Some(prefix) = runtime.copied(&api.names.prefix) {
        files.extend(runtime::files(prefix));
    }
    files
}

/// Returns the version of the run time that generated crates are written for, which is also the
/// generator's.
pub(crate) fn runtime_version() -> &'static str {
    inherit::package("version")
}

/// Returns every crate: the types, then the client and the server of each direction, and the command
/// line and the mock of the API if they are asked for.
fn crates<'a>(
    api: &'a Api<'a>,
    events: Option<&'a Api<'a>>,
    options: &Options,
) -> Vec<(&'a Api<'a>, Part)> {
    let sides = [Some(api), events].into_iter().flatten();
    let sides = sides.flat_map(|of| [(of, Part::Client), (of, Part::Server)]);
    let cli = options.cli.is_some().then_some((api, Part::Cli));
    let mock = options.mock.then_some((api, Part::Mock));
    let types = std::iter::once((api, Part::Types));
    types.chain(sides).chain(cli).chain(mock).collect()
}

/// Generates a crate's `Cargo.toml`.
///
/// It is written line by line and not built as a `toml_edit` document, since the comments and the
/// order of the lines are easier to see so. `toml_edit` quotes the strings that come from the
/// contract.
fn manifest(api: &Api<'_>, part: Part, runtime: &str, options: &Options) -> String {
    let mut out = mark("#");
    out.push_str("\n\n[package]\n");
    let mut line = |key: &str, value: &str| {
        writeln!(out, "{key} = {}", quoted(value)).expect("writing to a string never fails");
    };
    line("name", &api.names.package(part.name()));
    line("description", &description(api, part));
    line("version", &version(api, part, options).to_string());
    line("edition", inherit::package("edition"));
    line("rust-version", inherit::package("rust-version"));
    if let Some(licence) = licence::expression(&api.contract.info) {
        line("license", &licence);
    }
    line("readme", "README.md");
    for comment in comments(api) {
        out.push_str(&format!("# {comment}\n"));
    }
    if let (Part::Cli, Some(program)) = (part, &options.cli) {
        let name = quoted(program);
        out.push_str(&format!(
            "\n[[bin]]\nname = {name}\npath = \"src/main.rs\"\n"
        ));
    }
    out.push_str("\n[package.metadata.docs.rs]\nall-features = true\n\n[features]\n");
    out.push_str(&features(api, part));
    out.push_str("\n[dependencies]\n");
    out.push_str(&dependencies(api, part, runtime, options));
    let dev = dev_dependencies(api, part, options);
    if !dev.is_empty() {
        out.push_str("\n# For the example in the README.\n[dev-dependencies]\n");
        out.push_str(&dev);
    }
    out
}

/// Returns the description in a crate's manifest, cut after 200 characters.
fn description(api: &Api<'_>, part: Part) -> String {
    let title = one_line(&api.contract.info.title);
    let text = match part {
        Part::Client if api.names.is_reversed => {
            format!(
                "Webhook sender for {title}: a builder for each call, typed responses and errors"
            )
        }
        Part::Server if api.names.is_reversed => {
            format!("Webhook receiver for {title}: a trait for each tag and an axum router")
        }
        Part::Types => format!("Types for the requests and responses of {title}"),
        Part::Client => {
            format!("Client for {title}: a builder for each operation, typed responses and errors")
        }
        Part::Server => format!("Server for {title}: a trait for each tag and an axum router"),
        Part::Cli => format!("Command line for {title}: a command for each operation"),
        Part::Mock => format!("Mock of {title} for tests: an expectation for each operation"),
    };
    shortened(&text, 200)
}

/// Returns the version of a crate: its own, or the contract's, if that is a semantic version, else
/// 0.1.0.
fn version(api: &Api<'_>, part: Part, options: &Options) -> Version {
    let own = options.versions.get(&part.krate(api.names.is_reversed));
    own.cloned()
        .or_else(|| contract_version(api))
        .unwrap_or(DEFAULT_VERSION)
}

/// Returns the contract's version, if it is a semantic version.
fn contract_version(api: &Api<'_>) -> Option<Version> {
    Version::parse(api.contract.info.version.trim()).ok()
}

/// Returns a comment for the manifest on each of these that a manifest cannot have: a version that
/// is not a semantic version, and a licence that is not an SPDX expression.
fn comments(api: &Api<'_>) -> Vec<String> {
    let info = &api.contract.info;
    let mut comments = Vec::new();
    if contract_version(api).is_none() {
        let written = shortened(&one_line(&info.version), 60);
        comments.push(format!(
            "The contract's version, {}, is not a semantic version.",
            quoted(&written)
        ));
    }
    if let (Some(written), None) = (&info.license, licence::expression(info)) {
        let written = shortened(&one_line(written), 60);
        comments.push(format!(
            "The contract's licence, {}, is not an SPDX expression.",
            quoted(&written)
        ));
    }
    comments
}

/// Generates the entries of `[features]`: one for each tag, which are on by default, and those of
/// the kind of crate, such as `schemas`.
fn features(api: &Api<'_>, part: Part) -> String {
    let types = api.names.package("types");
    // The command line has all operations.
    let tags: &[Tag] = if part == Part::Cli { &[] } else { &api.tags };
    let mut default: Vec<&str> = tags.iter().map(|tag| tag.feature.as_str()).collect();
    let mut lines = Vec::new();
    let mut feature = |comment: &str, name: &str, enables: &[String]| {
        let enables: Vec<String> = enables.iter().map(|other| quoted(other)).collect();
        let comment = if comment.is_empty() {
            String::new()
        } else {
            format!("# {comment}\n")
        };
        lines.push(format!(
            "{comment}{} = [{}]\n",
            feature_key(name),
            enables.join(", ")
        ));
    };
    for tag in tags {
        feature("", &tag.feature, &features_of_others(api, part, tag));
    }
    match part {
        Part::Types => {
            let compiled = (!types::needs_validator(api)).then_some("api-runtime/jsonschema");
            feature(
                "The contract's schemas, for validating JSON values.",
                names::SCHEMAS,
                compiled.map(str::to_owned).as_slice(),
            );
            feature(
                "Implements `schemars::JsonSchema` for every type.",
                names::SCHEMARS,
                &["api-runtime/schemars".to_owned()],
            );
            feature(
                "Implements `utoipa::ToSchema` for every type.",
                names::UTOIPA,
                &["api-runtime/utoipa".to_owned()],
            );
            feature(
                "Implements `proptest::arbitrary::Arbitrary` for every type, which has an example then.",
                names::FAKE,
                // The schemas have what types leave to them.
                &["api-runtime/fake".to_owned(), names::SCHEMAS.to_owned()],
            );
        }
        Part::Client | Part::Cli => {
            default.push(names::RUSTLS);
            feature(
                "Enables https through rustls, with the certificates that the platform trusts.",
                names::RUSTLS,
                &["api-runtime/rustls".to_owned()],
            );
            if part == Part::Cli {
                feature(
                    "Keeps credentials in the keyring of the system; without it, in a file.",
                    names::KEYRING,
                    &["api-runtime/keyring".to_owned()],
                );
                feature(
                    "The command `mcp`, by which assistants call the operations.",
                    names::MCP,
                    &["api-runtime/mcp".to_owned()],
                );
            }
        }
        Part::Server => {
            if server::has_violations_feature(api) {
                feature(
                    "Names all that is wrong with a JSON body, by `jsonschema`; without it, the first thing.",
                    names::VIOLATIONS,
                    &[format!("{types}/schemas")],
                );
            }
            feature(
                "The reference page, which `server::Config::docs` switches on.",
                names::DOCS,
                &["api-runtime/docs".to_owned()],
            );
            if server::has_idempotency_keys(api) {
                feature(
                    "Responses by idempotency key, which `server::Config::idempotency` switches on.",
                    names::IDEMPOTENCY,
                    &["api-runtime/idempotency".to_owned()],
                );
            }
            feature(
                "The OpenAPI document, derived from the code that serves it.",
                names::UTOIPA,
                // The document is derived from the schemas.
                &[
                    "api-runtime/utoipa".to_owned(),
                    format!("{types}/schemas"),
                    format!("{types}/utoipa"),
                ],
            );
        }
        Part::Mock => {}
    }
    let default: Vec<String> = default.into_iter().map(quoted).collect();
    format!("default = [{}]\n{}", default.join(", "), lines.concat())
}

/// Returns the features of other crates of the contract that the feature of a tag enables.
fn features_of_others(api: &Api<'_>, part: Part, tag: &Tag) -> Vec<String> {
    let of = |other| vec![format!("{}/{}", api.names.package(other), tag.feature)];
    match part {
        Part::Types | Part::Cli => Vec::new(),
        // The types of webhooks and callbacks are compiled without any feature.
        Part::Client | Part::Server if api.names.is_reversed => Vec::new(),
        Part::Client | Part::Server => of("types"),
        Part::Mock => of("server"),
    }
}

/// Generates the entries of `[dependencies]`. `runtime` is where the run time is.
fn dependencies(api: &Api<'_>, part: Part, runtime: &str, options: &Options) -> String {
    let uses = match part {
        Part::Types if types::needs_validator(api) => "\"jsonschema\"",
        Part::Types => "",
        Part::Client => "\"client\"",
        Part::Server if server::reads_multipart(api) => "\"multipart\", \"server\"",
        Part::Server => "\"server\"",
        Part::Cli => "\"cli\"",
        Part::Mock => "\"mock\"",
    };
    let uses = if uses.is_empty() {
        String::new()
    } else {
        format!(", features = [{uses}]")
    };
    let mut lines = vec![format!("api-runtime = {{ {runtime}{uses} }}\n")];
    if part != Part::Types {
        // A server checks JSON bodies by the schemas, to report all that is wrong with one, unless
        // a feature decides that.
        let needs_schemas = server::reads_json(api) && !server::has_violations_feature(api);
        let needs_schemas = match part {
            Part::Server => needs_schemas,
            Part::Cli => true,
            Part::Types | Part::Client | Part::Mock => false,
        };
        let schemas = if needs_schemas {
            ", features = [\"schemas\"]"
        } else {
            ""
        };
        lines.push(beside(api, Part::Types, options, schemas));
    }
    if part == Part::Mock {
        lines.push(beside(api, Part::Server, options, ""));
    }
    if part == Part::Types {
        // Values of any shape are `serde_json::Value`s, and the README's example reads JSON.
        lines.push(format!(
            "serde_json = {}\n",
            quoted(&inherit::dependency_version("serde_json"))
        ));
    }
    lines.sort();
    lines.concat()
}

/// Generates the dependency on another generated crate. It is without default features, since the
/// feature of a tag here enables the same tag there.
fn beside(api: &Api<'_>, part: Part, options: &Options, features: &str) -> String {
    let package = api.names.package(part.name());
    let mut requirement = version(api, part, options);
    // A version requirement cannot have build metadata.
    requirement.build = semver::BuildMetadata::EMPTY;
    format!(
        "{package} = {{ path = {}, version = {}, default-features = false{features} }}\n",
        quoted(&format!("../{package}")),
        quoted(&requirement.to_string())
    )
}

/// Generates the entries of `[dev-dependencies]`, which the examples of a README need.
fn dev_dependencies(api: &Api<'_>, part: Part, options: &Options) -> String {
    let mut lines = String::new();
    if part == Part::Client && has_recipe(api, options) {
        let mock = api.names.package("mock");
        // Without a version, so that the client can be published before the mock.
        lines = format!("{mock} = {{ path = {} }}\n", quoted(&format!("../{mock}")));
    }
    lines + &libraries(part)
}

/// Returns whether the README of the client has the recipe of a test with the mock.
fn has_recipe(api: &Api<'_>, options: &Options) -> bool {
    options.mock && !api.names.is_reversed && example::test(api).is_some()
}

/// Generates the libraries that a program needs beside a client or a server.
fn libraries(part: Part) -> String {
    let needs: &[(&str, &[&str])] = match part {
        Part::Types | Part::Cli | Part::Mock => &[],
        Part::Client => &[("tokio", &["macros", "rt-multi-thread"])],
        Part::Server => &[
            ("axum", &["http1", "tokio"]),
            ("tokio", &["macros", "net", "rt-multi-thread"]),
        ],
    };
    needs
        .iter()
        .map(|(name, features)| {
            let version = quoted(&inherit::dependency_version(name));
            let features: Vec<String> = features.iter().map(|feature| quoted(feature)).collect();
            if features.is_empty() {
                format!("{name} = {version}\n")
            } else {
                let features = features.join(", ");
                format!("{name} = {{ version = {version}, default-features = false, features = [{features}] }}\n")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
