//! `overlay`: writes an overlay that mends somebody else's document, ready to edit.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};
use contract::overlay::MOST_ACTIONS;
use contract::{Severity, diagnostic};

use crate::exit::Exit;
use crate::reading::Reading;

/// Work with OpenAPI overlays, which change a document without editing it
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Init(Init),
}

/// Write an overlay that mends what `lint` finds in a document, ready to edit
///
/// Exit codes: 0 the overlay is written, or there is nothing to mend, 1 the document cannot be read
/// or has errors of which none can be mended (or the overlay cannot be written), 2 the arguments
/// are wrong.
#[derive(Debug, clap::Args)]
struct Init {
    /// The OpenAPI 3.0, 3.1 or 3.2 document
    document: PathBuf,
    /// The file to write, which must not exist [default: the output of the command]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Another file of the contract that the overlay is for [default: the document itself]
    #[arg(long = "in", value_name = "FILE")]
    of: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(
    arguments: &Arguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    match &arguments.command {
        Command::Init(arguments) => init(arguments, out, err),
    }
}

fn init(arguments: &Init, out: &mut dyn Write, err: &mut dyn Write) -> anyhow::Result<Exit> {
    let options = arguments.reading.options();
    let draft = contract::draft_overlay(&arguments.document, &options, arguments.of.as_deref())?;
    let has_errors = draft
        .left
        .iter()
        .any(|found| found.severity == Severity::Error);
    write!(err, "{}", diagnostic::render(&draft.sources, &draft.left))?;
    for (file, mended) in &draft.elsewhere {
        writeln!(
            err,
            "{mended} to mend in {file}: write another overlay with `--in {file}`"
        )?;
    }
    if draft.actions.is_empty() {
        writeln!(err, "nothing that an overlay can mend")?;
        return Ok(if has_errors {
            Exit::Failed
        } else {
            Exit::Fresh
        });
    }
    if draft.actions.len() > MOST_ACTIONS {
        bail!(
            "the overlay would have {} actions, more than {MOST_ACTIONS}: mend by hand what is alike",
            draft.actions.len()
        );
    }
    let document = arguments.of.as_ref().unwrap_or(&arguments.document);
    let Some(path) = &arguments.out else {
        write!(out, "{}", draft.text(&from_folder(document, Path::new(""))))?;
        return Ok(Exit::Fresh);
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    write_new(path, &draft.text(&from_folder(document, folder)))?;
    let actions = draft.actions.len();
    let plural = if actions == 1 { "" } else { "s" };
    writeln!(
        out,
        "wrote {} with {actions} action{plural}: {} mended, {} left",
        path.display(),
        draft.mended,
        draft.left.len()
    )?;
    Ok(Exit::Fresh)
}

/// Writes a file that does not exist, since an overlay that exists has probably been edited.
fn write_new(path: &Path, text: &str) -> anyhow::Result<()> {
    let opened = OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = match opened {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!(
                "{} exists; write another file, or remove it",
                path.display()
            )
        }
        opened => opened.with_context(|| format!("failed to create {}", path.display()))?,
    };
    file.write_all(text.as_bytes())
        .with_context(|| format!("failed to write {}", path.display()))
}

/// Returns the path of a document as seen from a folder.
fn from_folder(document: &Path, folder: &Path) -> String {
    let absolute = |path: &Path| {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        path.canonicalize().unwrap_or_else(|_| path.to_owned())
    };
    let (document, folder) = (absolute(document), absolute(folder));
    let same = document
        .components()
        .zip(folder.components())
        .take_while(|(one, other)| one == other)
        .count();
    let ups = folder.components().skip(same).map(|_| "..".to_owned());
    let downs = document.components().skip(same).map(|part| match part {
        Component::RootDir => String::new(),
        part => part.as_os_str().to_string_lossy().into_owned(),
    });
    ups.chain(downs).collect::<Vec<_>>().join("/")
}
