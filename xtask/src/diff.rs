//! `cargo xtask diff`: reports whom a change of the contract breaks, and refuses it if it does.

mod forms;
mod git;
mod terminal;

use std::io::Write;
use std::path::{Path, PathBuf};

use compatibility::{Finding, Kind, Report, compare};
use contract::source::{LineColumn, Sources, Span};
use contract::{Contract, diagnostic};

use crate::exit::Exit;
use crate::reading::Reading;
use crate::workspace;

/// Report whom a change of the contract breaks, each with a request or response that shows it
///
/// Compares by meaning: requests of old clients must still be accepted, and new responses must
/// still be understood by them. Judges what goes over the wire. Not judged yet: the Rust source of
/// callers and of implementers, links, and mappings of discriminators.
///
/// Exit codes: 0 the change is not refused, 1 a document or its git revision cannot be read, 2 the
/// arguments are wrong, 5 the change is refused.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
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
    /// The document in the working copy [default: openapi.yaml of the workspace]
    #[arg(long, value_name = "FILE")]
    contract: Option<PathBuf>,
    /// The form of the report
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// List all operations that each finding reaches
    #[arg(long)]
    all: bool,
    /// A kind of finding that does not refuse the change; may be repeated
    #[arg(long, value_name = "KIND", value_enum)]
    allow: Vec<Allowed>,
    #[command(flatten)]
    reading: Reading,
}

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Format {
    /// Text with excerpts of both documents
    #[default]
    Terminal,
    /// One JSON object
    Json,
    /// Annotations of GitHub Actions
    Github,
    /// SARIF 2.1.0
    Sarif,
    /// A changelog in Markdown
    Markdown,
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
            Allowed::MeaningChanged => Self::MeaningChanged,
        }
    }
}

/// A document that was read.
struct Document {
    sources: Sources,
    contract: Contract,
    /// The start of the names of its files that is shown as `shown`.
    folder: String,
    shown: String,
}

impl Document {
    /// Returns a text with the names of files as the reader knows them.
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
    allowed: Vec<Kind>,
}

impl Comparison {
    fn is_gating(&self, finding: &Finding) -> bool {
        finding.kind.is_gating() && !self.allowed.contains(&finding.kind)
    }

    fn is_refused(&self) -> bool {
        self.report
            .findings
            .iter()
            .any(|finding| self.is_gating(finding))
    }
}

pub(crate) fn run(
    arguments: &Arguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let path = match (&arguments.revision, &arguments.contract) {
        (Some(path), _) | (None, Some(path)) => path.clone(),
        (None, None) => workspace::in_root("openapi.yaml")?,
    };
    // The temporary folder is removed when the command ends.
    let checkout;
    let (base, folder, shown) = if let Some(file) = &arguments.base {
        (file.clone(), String::new(), String::new())
    } else {
        checkout = git::checkout(&path, &arguments.git)?;
        (
            checkout.document.clone(),
            format!("{}/", checkout.root().display()),
            format!("{}:", arguments.git),
        )
    };
    let options = arguments.reading.options();
    let Some(base) = read(&base, folder, shown, &options, err)? else {
        return Ok(Exit::Failed);
    };
    let Some(revision) = read(&path, String::new(), String::new(), &options, err)? else {
        return Ok(Exit::Failed);
    };
    let report = compare(&base.contract, &revision.contract);
    let comparison = Comparison {
        base,
        revision,
        report,
        allowed: arguments.allow.iter().copied().map(Kind::from).collect(),
    };
    let text = match arguments.format {
        Format::Terminal => terminal::render(&comparison, arguments.all),
        Format::Json => forms::json(&comparison),
        Format::Github => forms::github(&comparison),
        Format::Sarif => forms::sarif(&comparison),
        Format::Markdown => forms::markdown(&comparison),
    };
    write!(out, "{text}")?;
    Ok(if comparison.is_refused() {
        Exit::Refused
    } else {
        Exit::Fresh
    })
}

/// Reads a document. Prints what is wrong with it and returns `None` if it has errors.
fn read(
    path: &Path,
    folder: String,
    shown: String,
    options: &contract::Options,
    err: &mut dyn Write,
) -> anyhow::Result<Option<Document>> {
    let loaded = contract::load_with(path, options);
    let Some(contract) = loaded.contract else {
        let rendered = diagnostic::render(&loaded.sources, &loaded.diagnostics);
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
