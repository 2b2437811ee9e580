//! The file `contract.toml` as it is written. Its JSON Schema is derived from these types.

use std::collections::BTreeMap;

use contract::LintSet;
use schemars::{JsonSchema, Schema, schema_for};
use serde::Deserialize;
use toml::Spanned;
use toml::value::Date;

/// Contracts with their crates, which findings about them count, and which are accepted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct File {
    /// The contracts, each with the crates that are generated from it.
    pub(crate) contract: Vec<Contract>,
    /// What `lint` reports.
    pub(crate) lint: Lint,
    /// What `diff` refuses.
    pub(crate) diff: Diff,
}

/// A contract, with the crates that are generated from it. Paths begin in the folder of this file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Contract {
    /// The OpenAPI document.
    pub(crate) document: String,
    /// The start of the names of the crates, such as `museum`.
    #[schemars(with = "String", regex(pattern = "^[a-z][a-z0-9]*(-[a-z0-9]+)*$"))]
    pub(crate) name: Spanned<String>,
    /// The folder that the crates are written to; by default `crates`.
    pub(crate) out: Option<String>,
    /// Where the crates find the run time: `copy` (by default), `copy=PREFIX`, `version`,
    /// `version=1.2.3`, `git=ADDRESS#REVISION` or `path=FOLDER`.
    pub(crate) runtime: Option<String>,
    /// The name of a program that calls the operations from the command line, such as `museum`; by
    /// default none is generated.
    #[schemars(
        with = "Option<String>",
        regex(pattern = "^[a-z][a-z0-9]*(-[a-z0-9]+)*$")
    )]
    pub(crate) cli: Option<String>,
    /// Whether a mock is generated, for tests of callers in Rust; by default none is.
    #[serde(default)]
    pub(crate) mock: bool,
    /// The tags and operation ids to generate, with the types that they reach; by default all.
    #[serde(default)]
    pub(crate) only: Vec<String>,
    /// The OpenAPI overlays that are applied to the document, in this order.
    #[serde(default)]
    pub(crate) overlays: Vec<String>,
    /// The local copies of documents on other hosts, by address; an address that ends in `/` stands
    /// for all documents below it.
    #[serde(default)]
    pub(crate) map: BTreeMap<String, String>,
    /// Whether `format` rejects values or only describes them.
    #[serde(default)]
    pub(crate) formats: Formats,
    /// Whether the document is somebody else's, whose mistakes with one plausible meaning are read
    /// in that meaning.
    #[serde(default)]
    pub(crate) foreign: bool,
    /// The versions of crates that have another one than `info.version`, by the end of their names.
    /// `codegen --base` writes them.
    #[serde(default)]
    pub(crate) versions: Versions,
}

/// The versions of the crates of a contract. The command line has that of the client, and the mock
/// that of the server.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Versions {
    /// The version of the types.
    #[schemars(with = "Option<String>")]
    pub(crate) types: Option<Spanned<String>>,
    /// The version of the client.
    #[schemars(with = "Option<String>")]
    pub(crate) client: Option<Spanned<String>>,
    /// The version of the server.
    #[schemars(with = "Option<String>")]
    pub(crate) server: Option<Spanned<String>>,
    /// The version of what sends webhooks and callbacks.
    #[schemars(with = "Option<String>")]
    pub(crate) webhook_sender: Option<Spanned<String>>,
    /// The version of what receives webhooks and callbacks.
    #[schemars(with = "Option<String>")]
    pub(crate) webhook_receiver: Option<Spanned<String>>,
}

impl Versions {
    /// Returns the versions that are written, each with the end of the name of its crate.
    pub(crate) fn written(self) -> impl Iterator<Item = (&'static str, Spanned<String>)> {
        let all = [
            ("types", self.types),
            ("client", self.client),
            ("server", self.server),
            ("webhook-sender", self.webhook_sender),
            ("webhook-receiver", self.webhook_receiver),
        ];
        all.into_iter()
            .filter_map(|(part, version)| Some((part, version?)))
    }
}

/// The meaning of the keyword `format`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Formats {
    /// A value that does not match its format is rejected.
    #[default]
    Assertion,
    /// A format rejects nothing.
    Annotation,
}

/// What `lint` reports.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Lint {
    /// The sets of rules that run beside `correct`, which always runs.
    pub(crate) sets: Vec<Set>,
    /// The severities that fail the command beside errors.
    pub(crate) deny: Vec<Denied>,
    /// The level of each rule that has another one than by default. A rule with a level runs, even
    /// if its set does not.
    #[schemars(with = "BTreeMap<String, Level>")]
    pub(crate) rules: BTreeMap<Spanned<String>, Level>,
    /// Levels in parts of the contract. Where several apply, the last counts.
    #[serde(rename = "in")]
    pub(crate) parts: Vec<Part>,
    /// Warnings that are accepted for a time.
    pub(crate) ignore: Vec<Ignore>,
    /// Rules of your own.
    pub(crate) own: Vec<Own>,
}

/// A set of rules.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Set {
    /// What the standard forbids, and what probably does not say what its author means.
    Correct,
    /// What is right, but which tools read differently.
    Interoperable,
    /// What is right, but serves callers or servers badly.
    Style,
}

impl From<Set> for LintSet {
    fn from(set: Set) -> Self {
        match set {
            Set::Correct => Self::Correct,
            Set::Interoperable => Self::Interoperable,
            Set::Style => Self::Style,
        }
    }
}

/// A severity that fails the command beside errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Denied {
    /// Warnings fail the command.
    Warnings,
}

/// The level of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Level {
    /// What the rule reports fails the command.
    Error,
    /// What the rule reports is shown.
    Warning,
    /// The rule does not run. What is an error without a policy stays one.
    Off,
}

/// Levels in a part of the contract, which exactly one of `tag`, `path` and `pointer` names.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Part {
    /// The operations with a tag.
    #[schemars(with = "Option<String>")]
    pub(crate) tag: Option<Spanned<String>>,
    /// The paths that match, where `*` stands for any part of a segment and `**` for any segments.
    #[schemars(with = "Option<String>")]
    pub(crate) path: Option<Spanned<String>>,
    /// What a JSON Pointer leads to.
    #[schemars(with = "Option<String>")]
    pub(crate) pointer: Option<Spanned<String>>,
    /// The level of each rule in that part.
    #[schemars(with = "BTreeMap<String, Level>")]
    pub(crate) rules: BTreeMap<Spanned<String>, Level>,
}

/// Warnings of a rule in a part of the contract that are accepted for a time. One that matches
/// nothing, or has ended, is an error.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Ignore {
    /// The rule.
    #[schemars(with = "String")]
    pub(crate) rule: Spanned<String>,
    /// The JSON Pointer of the part, in whichever file of the contract has it.
    #[schemars(with = "String")]
    pub(crate) pointer: Spanned<String>,
    /// The reason why that is right here.
    #[schemars(with = "String", length(min = 1))]
    pub(crate) reason: Spanned<String>,
    /// The last day on which it is accepted, as a TOML date.
    #[schemars(with = "String", extend("format" = "date"))]
    pub(crate) until: Spanned<Date>,
}

/// A rule of your own: what is selected must be as the assertions say, all of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Own {
    /// The name of the rule, in kebab-case.
    #[schemars(with = "String", regex(pattern = "^[a-z][a-z0-9]*(-[a-z0-9]+)*$"))]
    pub(crate) rule: Spanned<String>,
    /// The JSONPath (RFC 9535) of what is judged, in each file of the contract.
    #[schemars(with = "String")]
    pub(crate) select: Spanned<String>,
    /// The field of what is selected that is judged in its place.
    pub(crate) field: Option<String>,
    /// What of it is judged.
    #[serde(default)]
    pub(crate) of: Subject,
    /// Whether the field must be there.
    pub(crate) exists: Option<bool>,
    /// A regular expression, in the syntax of Rust's `regex`, that must match a part of the text.
    #[schemars(with = "Option<String>")]
    pub(crate) pattern: Option<Spanned<String>>,
    /// The casing that the text must have.
    pub(crate) casing: Option<Casing>,
    /// The texts of which it must be one.
    pub(crate) one_of: Option<Vec<String>>,
    /// The least number of characters, items or fields.
    pub(crate) min_length: Option<u32>,
    /// The largest number of characters, items or fields.
    pub(crate) max_length: Option<u32>,
    /// The level.
    #[serde(default)]
    pub(crate) level: OwnLevel,
    /// What is said in place of the assertion.
    pub(crate) message: Option<String>,
    /// The way to correct it.
    pub(crate) help: Option<String>,
}

/// What an own rule judges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Subject {
    /// The value.
    #[default]
    Value,
    /// The key that has the value.
    Key,
}

/// The level of an own rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OwnLevel {
    /// What the rule reports fails the command.
    Error,
    /// What the rule reports is shown.
    #[default]
    Warning,
}

/// How words are joined in a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Casing {
    /// `camelCase`
    Camel,
    /// `PascalCase`
    Pascal,
    /// `snake_case`
    Snake,
    /// `kebab-case`
    Kebab,
    /// `SCREAMING_SNAKE_CASE`
    ScreamingSnake,
}

/// What `diff` refuses.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Diff {
    /// The kinds of findings that refuse a change, such as `breaking`, and `callers` or `implementers`
    /// for what breaks their Rust source; by default all that docs/diff.md says refuse one.
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) gate: Option<Vec<Spanned<String>>>,
    /// The stability levels (`x-stability`) of operations whose changes refuse nothing; by default
    /// `draft`.
    pub(crate) ungated: Option<Vec<Stability>>,
    /// Whether what is `deprecated` may be removed once the date of its `x-sunset` has come; by
    /// default it may.
    pub(crate) sunset: Option<bool>,
    /// Changes that are accepted although they are of a kind that refuses.
    pub(crate) approve: Vec<Approve>,
}

/// The stability of an operation, its `x-stability`. An operation without one is stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stability {
    /// It may change at any time.
    Draft,
    /// It may change with a notice.
    Beta,
    /// It does not change for its callers.
    Stable,
}

impl From<Stability> for contract::Stability {
    fn from(stability: Stability) -> Self {
        match stability {
            Stability::Draft => Self::Draft,
            Stability::Beta => Self::Beta,
            Stability::Stable => Self::Stable,
        }
    }
}

/// A change that is accepted. One that matches nothing, or has ended, is an error.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Approve {
    /// The fingerprint that `diff` prints with the finding.
    #[schemars(with = "String")]
    pub(crate) finding: Spanned<String>,
    /// The reason why the change is right.
    #[schemars(with = "String", length(min = 1))]
    pub(crate) reason: Spanned<String>,
    /// Who has approved it.
    #[schemars(with = "String", length(min = 1))]
    pub(crate) by: Spanned<String>,
    /// The last day on which it is accepted, as a TOML date.
    #[schemars(with = "String", extend("format" = "date"))]
    pub(crate) until: Spanned<Date>,
}

/// Returns the JSON Schema of the file, as editors use it to complete and check one.
#[must_use]
pub fn schema() -> String {
    let schema: Schema = schema_for!(File);
    let mut value = schema.to_value();
    value["title"] = "contract.toml".into();
    format!("{value:#}\n")
}
