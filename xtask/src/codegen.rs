//! `cargo xtask codegen`: writes the crates of a contract, or checks that they are up to date.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use codegen::emit::{self, Stale, StaleKind};
use codegen::{File, Runtime};
use contract::{Contract, diagnostic};

use crate::exit::Exit;
use crate::reading::Reading;
use crate::repairs;
use crate::workspace;

/// The document that is read by default, in the workspace's root.
const CONTRACT: &str = "openapi.yaml";
/// The folder that is written to by default, in the workspace's root.
const OUT: &str = "crates";
/// The default prefix of the crates' names.
const NAME: &str = "api";

/// Write the types, client and server crates of a contract, or check that they are up to date
///
/// Exit codes: 0 the crates are up to date, 1 the document is wrong (or something could not be read
/// or written), 2 the arguments are wrong, 4 the crates are stale (with --check).
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The OpenAPI 3.0, 3.1 or 3.2 document [default: openapi.yaml of the workspace]
    #[arg(long, value_name = "FILE")]
    contract: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// A tag or an operation id to generate, with the types that it reaches; may be repeated
    /// [default: all operations]
    #[arg(long, value_name = "TAG|OPERATION")]
    only: Vec<String>,
    /// The folder to write the crates to [default: crates of the workspace]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The prefix of the crates' names
    #[arg(long, value_name = "PREFIX", default_value = NAME, value_parser = prefix)]
    name: String,
    /// Write nothing; list every file that is stale, missing or orphaned, and the command to update
    /// them
    #[arg(long)]
    check: bool,
    /// Accept repairs that the stored list does not have (with --foreign)
    #[arg(long, requires = "foreign", conflicts_with = "check")]
    accept: bool,
}

fn prefix(text: &str) -> Result<String, codegen::Error> {
    codegen::check_prefix(text).map(|()| text.to_owned())
}

pub(crate) fn run(
    arguments: &Arguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let path = arguments
        .contract
        .clone()
        .map_or_else(|| workspace::in_root(CONTRACT), Ok)?;
    let folder = arguments
        .out
        .clone()
        .map_or_else(|| workspace::in_root(OUT), Ok)?;
    let options = contract::Options {
        only: arguments.only.clone(),
        ..arguments.reading.options()
    };
    let loaded = contract::load_with(&path, &options);
    write!(
        err,
        "{}",
        diagnostic::render(&loaded.sources, &loaded.diagnostics)
    )?;
    let Some(contract) = loaded.contract else {
        return Ok(Exit::Failed);
    };
    let mut files = codegen::generate(&contract, &output(arguments, &folder)?)?;
    files.extend(repairs::file(&arguments.name, &loaded.repairs));
    let new = repairs::new(&folder, &arguments.name, &loaded.repairs)?;
    if !arguments.check && !arguments.accept && !new.is_empty() {
        report_new(err, &new)?;
        return Ok(Exit::Failed);
    }
    if arguments.check {
        let stale = emit::check(&folder, &files)?;
        report_stale(out, &stale, &command(arguments, !new.is_empty())?)?;
        report(
            out,
            &Summary {
                repairs: loaded.repairs.len(),
                ..Summary::new("compared", &folder, &files, &contract, start)
            },
        )?;
        return Ok(if stale.is_empty() {
            Exit::Fresh
        } else {
            Exit::Stale
        });
    }
    let written = emit::write(&folder, &files)?;
    for path in &written.removed {
        writeln!(out, "removed {}", folder.join(path).display())?;
    }
    let summary = Summary::new("wrote", &folder, &files, &contract, start);
    report(
        out,
        &Summary {
            changed: Some(written.files.len()),
            repairs: loaded.repairs.len(),
            ..summary
        },
    )?;
    Ok(Exit::Fresh)
}

/// Returns the options of the generator. Crates of this workspace depend on its `api-runtime`;
/// crates anywhere else get a copy of it.
fn output(arguments: &Arguments, folder: &Path) -> anyhow::Result<codegen::Options> {
    let is_home =
        workspace::lookup_root()?.is_some_and(|root| workspace::is_same(&root.join(OUT), folder));
    let runtime = if is_home || arguments.out.is_none() {
        Runtime::Path("../api-runtime".to_owned())
    } else {
        Runtime::Copy
    };
    Ok(codegen::Options {
        prefix: arguments.name.clone(),
        runtime,
    })
}

/// Returns the command that writes the crates with the same arguments, ready to paste, and accepts
/// new repairs if `accept` is true.
fn command(arguments: &Arguments, accept: bool) -> anyhow::Result<String> {
    let mut words = vec!["cargo".to_owned(), "xtask".to_owned(), "codegen".to_owned()];
    for (flag, path) in [
        ("--contract", &arguments.contract),
        ("--out", &arguments.out),
    ] {
        if let Some(path) = path {
            words.extend([flag.to_owned(), path.display().to_string()]);
        }
    }
    words.extend(arguments.reading.words());
    for name in &arguments.only {
        words.extend(["--only".to_owned(), name.clone()]);
    }
    words.extend(accept.then(|| "--accept".to_owned()));
    if arguments.name != NAME {
        words.extend(["--name".to_owned(), arguments.name.clone()]);
    }
    Ok(shlex::try_join(words.iter().map(String::as_str))?)
}

fn report_new(err: &mut dyn Write, new: &[String]) -> anyhow::Result<()> {
    writeln!(err, "repairs that the stored list does not have:")?;
    for line in new {
        writeln!(err, "    {line}")?;
    }
    writeln!(err, "nothing is written; `--accept` accepts them")?;
    Ok(())
}

fn report_stale(out: &mut dyn Write, stale: &[Stale], command: &str) -> anyhow::Result<()> {
    for file in stale {
        let kind = match file.kind {
            StaleKind::Stale => "stale",
            StaleKind::Missing => "missing",
            StaleKind::Orphaned => "orphaned",
        };
        writeln!(out, "{kind}: {}\n{}", file.path, file.diff)?;
    }
    if !stale.is_empty() {
        let (count, verb) = (
            stale.len(),
            if stale.len() == 1 {
                "file is"
            } else {
                "files are"
            },
        );
        writeln!(
            out,
            "{count} {verb} not what the contract says; this mends it:\n\n    {command}\n"
        )?;
    }
    Ok(())
}

/// The figures of the last line that a run prints.
struct Summary<'a> {
    verb: &'static str,
    folder: &'a Path,
    /// The number of files that are generated from the contract.
    files: usize,
    /// The number of files that were written, or `None` if the run only compares.
    changed: Option<usize>,
    operations: usize,
    /// The number of webhooks and callbacks, which the API calls and its clients implement.
    events: usize,
    /// The number of repairs of a document of others.
    repairs: usize,
    time: Duration,
}

impl<'a> Summary<'a> {
    fn new(
        verb: &'static str,
        folder: &'a Path,
        files: &[File],
        contract: &Contract,
        start: Instant,
    ) -> Self {
        Self {
            verb,
            folder,
            files: files.len(),
            changed: None,
            operations: contract.operations.len(),
            events: contract::reversed_count(contract),
            repairs: 0,
            time: start.elapsed(),
        }
    }
}

fn report(out: &mut dyn Write, summary: &Summary<'_>) -> anyhow::Result<()> {
    let Summary {
        verb,
        folder,
        files,
        changed,
        operations,
        events,
        repairs,
        time,
    } = summary;
    let changed = changed
        .map(|changed| format!("{changed} of "))
        .unwrap_or_default();
    let (folder, time) = (folder.display(), time.as_secs_f64());
    let plural = if *operations == 1 { "" } else { "s" };
    let events = if *events == 0 {
        String::new()
    } else {
        format!(" and {events} to subscribers")
    };
    let repairs = match repairs {
        0 => String::new(),
        1 => ", 1 repair".to_owned(),
        repairs => format!(", {repairs} repairs"),
    };
    writeln!(
        out,
        "{verb} {changed}{files} files in {folder}: {operations} operation{plural}{events}{repairs}, {time:.2} s"
    )?;
    Ok(())
}
