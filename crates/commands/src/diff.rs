//! `diff`: reports whom a change of the contract breaks, and refuses it if it does.

mod changelog;
mod forms;
mod gate;
mod rust;
mod terminal;

use std::io::Write;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use ::policy::Judged;
use anyhow::{Context as _, bail};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use compatibility::{Finding, Kind, Report, RustFinding, compare};
use contract::source::{LineColumn, Sources, Span};
use contract::{Contract, diagnostic};

use crate::contracts::Chosen;
use crate::exit::Exit;
use crate::forms::Form;
use crate::policy::Choice;
use crate::reading::Reading;
use crate::versions::{Both, CrateVersion, Declared};
use crate::{contracts, git};

/// Report whom a change of the contract breaks, each with a request or response that shows it
///
/// Compares by meaning: requests of old clients must still be accepted, and new responses must
/// still be understood by them. Also says whose Rust source breaks: that of callers, who use the
/// generated types and client, and that of implementers, who use the types and the server.
///
/// Exit codes: 0 the change is not refused, 1 a document or its git revision cannot be read, 2 the
/// arguments are wrong, 5 the change is refused.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// The document before the change, as a file [default: the contract at the git revision of
    /// --base]
    #[arg(conflicts_with = "revision_of_base")]
    base: Option<PathBuf>,
    /// The document after the change [default: the contract in the working copy]
    #[arg(conflicts_with = "contract")]
    revision: Option<PathBuf>,
    /// The git revision with the document before the change
    #[arg(
        long = "base",
        id = "revision_of_base",
        value_name = "REVISION",
        default_value = "origin/main",
        conflicts_with = "base"
    )]
    git: String,
    /// The document in the working copy [default: those of contract.toml, or openapi.yaml of the
    /// workspace]
    #[arg(long, value_name = "FILE")]
    contract: Option<PathBuf>,
    /// The form of the report
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Also put the section of a changelog at the start of this file, in place of that of the same
    /// version
    #[arg(long, value_name = "FILE")]
    prepend: Option<PathBuf>,
    /// List all operations that each finding reaches
    #[arg(long)]
    all: bool,
    /// A kind of finding that does not refuse the change; may be repeated
    #[arg(long, value_name = "KIND", value_enum)]
    allow: Vec<Allowed>,
    /// Whose Rust source also refuses the change if it breaks; may be repeated
    #[arg(long, value_name = "WHO", value_enum)]
    gate: Vec<rust::Side>,
    /// The start of the names of the generated crates, for messages
    #[arg(long, value_name = "PREFIX", default_value = "api", value_parser = rust::prefix)]
    name: String,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    choice: Choice,
    /// The versions of the crates that `contract.toml` lists.
    #[arg(skip)]
    declared: Box<Both>,
}

/// The form of a report on a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Form(Form),
    /// A section of a changelog.
    Markdown,
}

impl Default for Format {
    fn default() -> Self {
        Self::Form(Form::default())
    }
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Form(Form::Terminal),
            Self::Form(Form::Json),
            Self::Form(Form::Github),
            Self::Form(Form::Sarif),
            Self::Markdown,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Form(form) => form.to_possible_value(),
            Self::Markdown => Some(
                PossibleValue::new("markdown").help("A section of a changelog in Markdown, by tag"),
            ),
        }
    }
}

/// A kind of finding that can be allowed.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Allowed {
    /// A client of before no longer works
    Breaking,
    /// A response or request no longer has or does what it had or did
    InformationRemoved,
    /// A successful response has another status
    SuccessStatusChanged,
    /// A property that requests could set can no longer be set
    PropertyBecameReadOnly,
    /// What is deprecated ends earlier than was announced
    SunsetPulledForward,
    /// An operation promises less of its next changes
    StabilityLowered,
    /// The same request means something else
    MeaningChanged,
}

impl From<Allowed> for Kind {
    fn from(allowed: Allowed) -> Self {
        match allowed {
            Allowed::Breaking => Self::Breaking,
            Allowed::InformationRemoved => Self::InformationRemoved,
            Allowed::SuccessStatusChanged => Self::SuccessStatusChanged,
            Allowed::PropertyBecameReadOnly => Self::PropertyBecameReadOnly,
            Allowed::SunsetPulledForward => Self::SunsetPulledForward,
            Allowed::StabilityLowered => Self::StabilityLowered,
            Allowed::MeaningChanged => Self::MeaningChanged,
        }
    }
}

/// The stack size in bytes of a thread that reads a document, which may nest deeply.
const STACK_BYTES: usize = 64 << 20;

/// A document that was read.
struct Document {
    sources: Sources,
    contract: Contract,
    /// The start of the names of its files that is shown as `shown`.
    folder: String,
    shown: String,
}

impl Document {
    /// Replaces the temporary folder of a git revision in a text by the name of the revision.
    fn rename(&self, text: &str) -> String {
        if self.folder.is_empty() {
            return text.to_owned();
        }
        text.replace(&self.folder, &self.shown)
    }

    /// Returns the file and position of a span.
    fn place(&self, span: Span) -> (String, LineColumn) {
        let file = self.rename(&self.sources.file(span.file).name);
        (file, self.sources.line_column(span))
    }
}

/// Two documents and what was found.
struct Comparison {
    base: Document,
    revision: Document,
    report: Report,
    rust: rust::Verdicts,
    gate: gate::Gate,
}

impl Comparison {
    /// Returns the findings on the wire, each with why it refuses the change or does not.
    fn findings(&self) -> impl Iterator<Item = (&Finding, &Judged)> {
        self.report.findings.iter().zip(&self.gate.wire)
    }

    /// Returns the findings about Rust source in the same way.
    fn rust_findings(&self) -> impl Iterator<Item = (&RustFinding, &Judged)> {
        self.rust.report.findings.iter().zip(&self.gate.rust)
    }
}

pub(crate) fn run(
    arguments: &Arguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    if arguments.revision.is_some() || arguments.contract.is_some() {
        return diff(arguments, out, err);
    }
    let Some(documents) = contracts::documents(&arguments.reading, err)? else {
        return Ok(Exit::Failed);
    };
    // Two reports would be no JSON, and a section of a changelog is of one version.
    let is_whole = arguments.base.is_some()
        || arguments.prepend.is_some()
        || matches!(arguments.format, Format::Form(Form::Json | Form::Sarif));
    if documents.len() > 1 && is_whole {
        bail!(
            "this is about one document, and contract.toml lists {}: name one with --contract",
            documents.len()
        );
    }
    let mut exit = Exit::Fresh;
    for document in documents {
        // A contract that is added breaks nobody, and the others are compared all the same.
        if let Some(name) = &document.name
            && arguments.base.is_none()
            && git::is_new(&document.path, name, &arguments.git)?
        {
            let revision = &arguments.git;
            writeln!(
                err,
                "`{revision}` has no contract `{name}`: it is new, and breaks nobody"
            )?;
            continue;
        }
        // The versions of a file that is compared with are not known.
        let before = match &document.name {
            Some(name) if arguments.base.is_none() => {
                git::versions(&document.path, name, &arguments.git)?
            }
            _ => Declared::default(),
        };
        let arguments = Arguments {
            contract: Some(document.path),
            reading: document.reading,
            name: document.name.unwrap_or_else(|| arguments.name.clone()),
            declared: Box::new(Both {
                before,
                after: document.versions,
            }),
            ..arguments.clone()
        };
        exit = exit.and(diff(&arguments, out, err)?);
    }
    Ok(exit)
}

/// Compares a document with the one at a git revision, and returns the report as `--format json`
/// prints it, for `preview`.
#[cfg(feature = "mock")]
pub(crate) fn judge(
    document: &Path,
    base: &str,
    reading: &Reading,
    choice: &Choice,
) -> anyhow::Result<serde_json::Value> {
    let arguments = Arguments {
        choice: choice.clone(),
        ..Arguments::of(document, base, reading)
    };
    let mut wrong = Vec::new();
    let Some(comparison) = compared(&arguments, &mut wrong)? else {
        bail!("{}", String::from_utf8_lossy(&wrong));
    };
    Ok(forms::value(&comparison))
}

/// The versions that a change asks for.
pub(crate) struct Needed {
    /// `info.version`.
    pub(crate) info: compatibility::Version,
    pub(crate) crates: Vec<CrateVersion>,
}

/// Returns the versions that the change of a contract since a git revision asks for. Prints what is
/// wrong and returns `None` if one of the documents cannot be used.
pub(crate) fn needed(
    chosen: &Chosen,
    revision: &str,
    err: &mut dyn Write,
) -> anyhow::Result<Option<Needed>> {
    let before = match &chosen.listed_in {
        Some(_) => git::versions(&chosen.document, &chosen.name, revision)?,
        None => Declared::default(),
    };
    let arguments = Arguments {
        name: chosen.name.clone(),
        declared: Box::new(Both {
            before,
            after: chosen.versions.clone(),
        }),
        ..Arguments::of(&chosen.document, revision, &chosen.reading)
    };
    let Some((base, revision)) = documents(&arguments, err)? else {
        return Ok(None);
    };
    let (report, surfaces) = measured(&arguments, &base, &revision)?;
    let rust = compatibility::compare_rust(&surfaces.old, &surfaces.new);
    Ok(Some(Needed {
        crates: rust::versions(&arguments, &surfaces, &report, &rust),
        info: report.version,
    }))
}

impl Arguments {
    /// Returns the arguments that compare a document with the one at a git revision.
    fn of(document: &Path, base: &str, reading: &Reading) -> Self {
        Self {
            base: None,
            revision: None,
            git: base.to_owned(),
            contract: Some(document.to_owned()),
            format: Format::default(),
            prepend: None,
            all: true,
            allow: Vec::new(),
            gate: Vec::new(),
            name: "api".to_owned(),
            reading: reading.clone(),
            choice: Choice::default(),
            declared: Box::default(),
        }
    }
}

/// Reports whom the change of one document breaks.
fn diff(arguments: &Arguments, out: &mut dyn Write, err: &mut dyn Write) -> anyhow::Result<Exit> {
    let Some(comparison) = compared(arguments, err)? else {
        return Ok(Exit::Failed);
    };
    let text = match arguments.format {
        Format::Form(Form::Terminal) => terminal::render(&comparison, arguments.all),
        Format::Form(Form::Json) => forms::json(&comparison),
        Format::Form(Form::Github) => forms::github(&comparison),
        Format::Form(Form::Sarif) => forms::sarif(&comparison),
        Format::Markdown => changelog::section(&comparison),
    };
    write!(out, "{text}")?;
    if let Some(path) = &arguments.prepend {
        let version = &comparison.report.version.revision;
        changelog::prepend(path, version, &changelog::section(&comparison))?;
    }
    Ok(if comparison.gate.refuses() {
        Exit::Refused
    } else {
        Exit::Fresh
    })
}

/// Compares one document with that before the change. Prints what is wrong and returns `None` if one
/// of them, or the policy, cannot be used.
fn compared(arguments: &Arguments, err: &mut dyn Write) -> anyhow::Result<Option<Comparison>> {
    let named = arguments.revision.as_ref().or(arguments.contract.as_ref());
    let path = contracts::document(named)?;
    let Some(policy) = arguments.choice.read(&path, err)? else {
        return Ok(None);
    };
    let Some((base, revision)) = documents(arguments, err)? else {
        return Ok(None);
    };
    let (report, surfaces) = measured(arguments, &base, &revision)?;
    let rust = rust::judge(arguments, &policy, &surfaces, &report);
    let allowed: Vec<Kind> = arguments.allow.iter().copied().map(Kind::from).collect();
    let rules = gate::Rules {
        policy: &policy,
        allowed: &allowed,
        today: arguments.choice.today(),
    };
    let gate = gate::Gate::of(&rules, &report, &rust, (&base, &revision));
    if is_wrong(&rules, &gate, err)? {
        return Ok(None);
    }
    Ok(Some(Comparison {
        base,
        revision,
        report,
        rust,
        gate,
    }))
}

/// Reads a document and that before the change. Prints what is wrong and returns `None` if one of them
/// cannot be used.
fn documents(
    arguments: &Arguments,
    err: &mut dyn Write,
) -> anyhow::Result<Option<(Document, Document)>> {
    let named = arguments.revision.as_ref().or(arguments.contract.as_ref());
    let path = contracts::document(named)?;
    // The temporary folder is removed when the documents are read.
    let checkout;
    let mut pointers: &[String] = &[];
    let mut checked_out = None;
    let (base, folder, shown) = if let Some(file) = &arguments.base {
        (file.clone(), String::new(), String::new())
    } else {
        checkout = git::checkout(&path, &arguments.git)?;
        pointers = &checkout.pointers;
        checked_out = Some(checkout.revision.clone());
        (
            checkout.document.clone(),
            format!("{}/", checkout.root().display()),
            format!("{}:", arguments.git),
        )
    };
    let options = contract::Options {
        // Examples are no part of what is compared, and warnings are not shown.
        is_only_compared: true,
        ..arguments.reading.options()
    };
    let of_base = contract::Options {
        revision: checked_out,
        ..options.clone()
    };
    let (before, after) = join(
        || contract::load_with(&base, &of_base),
        || contract::load_with(&path, &options),
    )?;
    let Some(base) = accept(before, folder, shown, err)? else {
        // A pointer is no document, and may be why another one cannot be read.
        for pointer in pointers {
            writeln!(err, "note: {pointer}")?;
        }
        return Ok(None);
    };
    let revision = accept(after, String::new(), String::new(), err)?;
    Ok(revision.map(|revision| (base, revision)))
}

/// Compares two documents on the wire, and returns what their crates expose.
fn measured(
    arguments: &Arguments,
    base: &Document,
    revision: &Document,
) -> anyhow::Result<(Report, rust::Surfaces)> {
    let (old, new) = (&base.contract, &revision.contract);
    let ((report, old), new) = join(
        || (compare(old, new), rust::exposed(old, &arguments.name)),
        || rust::exposed(new, &arguments.name),
    )?;
    Ok((report, rust::Surfaces { old, new }))
}

/// Calls two functions at the same time, the first on a thread of its own, because a large document
/// takes seconds.
fn join<A: Send, B: Send>(
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B + Send,
) -> anyhow::Result<(A, B)> {
    thread::scope(|scope| {
        let beside = thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, one)
            .context("failed to start a thread")?;
        let other = other();
        let one = beside.join().unwrap_or_else(|panic| resume_unwind(panic));
        Ok((one, other))
    })
}

/// Returns whether the part of the policy about changes is wrong, and prints how.
fn is_wrong(
    rules: &gate::Rules<'_>,
    gate: &gate::Gate,
    err: &mut dyn Write,
) -> anyhow::Result<bool> {
    let mut sources = Sources::default();
    let kinds = Kind::ALL.into_iter().map(Kind::name);
    let sides = rust::Side::ALL
        .into_iter()
        .map(|side| side.name().to_owned());
    let kinds: Vec<String> = kinds.chain(sides).collect();
    let prints = gate.fingerprints();
    let wrong = rules
        .policy
        .check_changes(&mut sources, &kinds, &prints, rules.today);
    write!(err, "{}", diagnostic::render(&sources, &wrong))?;
    Ok(!wrong.is_empty())
}

/// Returns a document that was loaded. Prints what is wrong with it and returns `None` if it has
/// errors.
fn accept(
    loaded: contract::Loaded,
    folder: String,
    shown: String,
    err: &mut dyn Write,
) -> anyhow::Result<Option<Document>> {
    let Some(contract) = loaded.contract else {
        let rendered = diagnostic::render(&loaded.sources, &loaded.diagnostics);
        // The folder of a git revision is temporary, and says nothing to a reader.
        let rendered = if folder.is_empty() {
            rendered
        } else {
            rendered.replace(&folder, &shown)
        };
        write!(err, "{rendered}")?;
        return Ok(None);
    };
    Ok(Some(Document {
        sources: loaded.sources,
        contract,
        folder,
        shown,
    }))
}
