//! `codegen`: writes the crates of contracts, or checks that they are up to date.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use codegen::emit::{self, Stale, StaleKind};
use codegen::{File, Runtime};
use contract::{Contract, diagnostic};

use crate::contracts::{self, Chosen};
use crate::exit::Exit;
use crate::progress::Progress;
use crate::reading::Reading;
use crate::repairs;
use crate::versions::{self, Declared};
use crate::workspace;

/// The folder that is written to by default, in the workspace's root.
const OUT: &str = "crates";
/// The default prefix of the crates' names.
const NAME: &str = "api";

/// Write the types, client and server crates of contracts, or check that they are up to date
///
/// The contracts are those of contract.toml, in this folder or above it. With an argument that
/// describes a contract, such as --contract, there is one, which the arguments describe alone.
///
/// The crates become members of the workspace around them, or of a new one.
///
/// Exit codes: 0 the crates are up to date, 1 a document is wrong (or something could not be read
/// or written), 2 the arguments are wrong, 4 crates are stale (with --check).
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The contracts of contract.toml, by the names of their crates [default: all of them]
    #[arg(value_name = "NAME", conflicts_with_all = ["contract", "only", "out", "name", "runtime", "cli", "mock", "map", "overlay", "foreign"])]
    names: Vec<String>,
    /// The OpenAPI 3.0, 3.1 or 3.2 document [default: openapi.yaml of the workspace]
    #[arg(long, value_name = "FILE")]
    contract: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// A tag or an operation id to generate, with the types that it reaches; may be repeated
    /// [default: all operations]
    #[arg(long, value_name = "TAG|OPERATION")]
    only: Vec<String>,
    /// The folder to write the crates to [default: crates of the workspace, or outside of one
    /// `crates` here]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The prefix of the crates' names [default: api]
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    name: Option<String>,
    /// Where the crates find the run time: copy (beside them, the default), copy=PREFIX (one copy
    /// for several contracts), version or version=1.2.3 (on crates.io), git=ADDRESS#REVISION, or
    /// path=FOLDER
    #[arg(long, value_name = "SOURCE")]
    runtime: Option<Runtime>,
    /// Write a crate with a program of this name as well, which calls the operations from the
    /// command line
    #[arg(long, value_name = "PROGRAM", value_parser = program)]
    cli: Option<String>,
    /// Write a crate with a mock as well, for tests of callers in Rust
    #[arg(long)]
    mock: bool,
    /// Raise `info.version` and the versions of the crates as far as the change of the contract since
    /// this git revision asks; with --check, say what is too low
    #[arg(long, value_name = "REVISION")]
    base: Option<String>,
    /// Write nothing; list every file that is stale, missing or orphaned, and the command to update
    /// them
    #[arg(long)]
    check: bool,
    /// Accept repairs that the stored list does not have (of a document that is read with --foreign)
    #[arg(long, conflicts_with = "check")]
    accept: bool,
}

fn prefix(text: &str) -> Result<String, codegen::Error> {
    codegen::check_prefix(text).map(|()| text.to_owned())
}

fn program(text: &str) -> Result<String, codegen::Error> {
    codegen::check_program(text).map(|()| text.to_owned())
}

pub(crate) fn run(
    arguments: &Arguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    if arguments.describe_a_contract() {
        let mut chosen = arguments.chosen()?;
        let command = arguments.words(&chosen);
        return raise_and_generate(&mut chosen, &command, arguments, out, err);
    }
    let Some(mut listed) = contracts::listed(&arguments.names, err)? else {
        return Ok(Exit::Failed);
    };
    if listed.is_empty() {
        let mut chosen = arguments.chosen()?;
        return raise_and_generate(&mut chosen, &[], arguments, out, err);
    }
    // The command that is shown needs no name where there is only one contract.
    let is_one = listed.len() == 1 && arguments.names.is_empty();
    let mut exit = Exit::Fresh;
    for chosen in &mut listed {
        let command = if is_one {
            Vec::new()
        } else {
            vec![chosen.name.clone()]
        };
        // A document with errors does not end the loop, so that one run reports those of all
        // documents.
        exit = exit.and(raise_and_generate(chosen, &command, arguments, out, err)?);
    }
    Ok(exit)
}

impl Arguments {
    /// Returns whether the arguments describe a contract, so that `contract.toml` is not read.
    fn describe_a_contract(&self) -> bool {
        self.contract.is_some()
            || self.out.is_some()
            || self.name.is_some()
            || self.runtime.is_some()
            || self.cli.is_some()
            || self.mock
            || !self.only.is_empty()
            || !self.reading.is_default()
    }

    /// Returns the contract that the arguments describe.
    fn chosen(&self) -> anyhow::Result<Chosen> {
        let document = contracts::document(self.contract.as_ref())?;
        let out = match &self.out {
            Some(out) => out.clone(),
            None => self.usual_out(&document)?,
        };
        let runtime = self.runtime.clone().unwrap_or(Runtime::Copy);
        Ok(Chosen {
            document,
            reading: self.reading.clone(),
            only: self.only.clone(),
            runtime: contracts::runtime(runtime, Path::new(""), &out)?,
            name: self.name.clone().unwrap_or_else(|| NAME.to_owned()),
            cli: self.cli.clone(),
            mock: self.mock,
            versions: Declared::default(),
            listed_in: None,
            out,
        })
    }

    /// Returns the folder to write to if the arguments name none.
    fn usual_out(&self, document: &Path) -> anyhow::Result<PathBuf> {
        if workspace::lookup_root()?.is_some() {
            return workspace::in_root(OUT);
        }
        // A document that nobody has named can be in a folder above, and its crates are beside it.
        let folder = document.parent().filter(|_| self.contract.is_none());
        Ok(folder.map_or_else(|| PathBuf::from(OUT), |folder| folder.join(OUT)))
    }

    /// Returns the arguments that describe the contract.
    fn words(&self, chosen: &Chosen) -> Vec<String> {
        let mut words = Vec::new();
        for (flag, path) in [("--contract", &self.contract), ("--out", &self.out)] {
            if let Some(path) = path {
                words.extend([flag.to_owned(), path.display().to_string()]);
            }
        }
        words.extend(self.reading.words());
        for name in &self.only {
            words.extend(["--only".to_owned(), name.clone()]);
        }
        if chosen.name != NAME {
            words.extend(["--name".to_owned(), chosen.name.clone()]);
        }
        if let Some(runtime) = &self.runtime {
            words.extend(["--runtime".to_owned(), runtime.to_string()]);
        }
        if let Some(program) = &self.cli {
            words.extend(["--cli".to_owned(), program.clone()]);
        }
        if self.mock {
            words.push("--mock".to_owned());
        }
        words
    }
}

/// Raises the versions of one contract if the arguments ask for it, and writes or compares its crates.
/// `words` are the arguments that choose it.
fn raise_and_generate(
    chosen: &mut Chosen,
    words: &[String],
    arguments: &Arguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(base) = &arguments.base else {
        return generate(chosen, words, arguments, out, err);
    };
    let before = versions::Before::of(chosen);
    let ended = raise_since(base, chosen, words, arguments, out, err);
    // Versions that nothing was generated with would be too high the next time.
    if !arguments.check && !matches!(ended, Ok(Exit::Fresh)) {
        let put_back = before.put_back(err);
        // The first failure says more.
        return ended.and_then(|exit| put_back.map(|()| exit));
    }
    ended
}

/// Raises the versions of one contract as far as its change since a git revision asks, and writes or
/// compares its crates.
fn raise_since(
    base: &str,
    chosen: &mut Chosen,
    words: &[String],
    arguments: &Arguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(is_low) = versions::raise(chosen, base, arguments.check, out, err)? else {
        return Ok(Exit::Failed);
    };
    if is_low && arguments.check {
        let flag = ["--base".to_owned(), base.to_owned()];
        let words: Vec<String> = words.iter().cloned().chain(flag).collect();
        let command = command(&words, false)?;
        writeln!(out, "this raises versions:\n\n    {command}\n")?;
        return Ok(Exit::Stale.and(generate(chosen, &words, arguments, out, err)?));
    }
    generate(chosen, words, arguments, out, err)
}

/// Writes or compares the crates of one contract. `words` are the arguments that choose it.
fn generate(
    chosen: &Chosen,
    words: &[String],
    arguments: &Arguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let folder = chosen.out.as_path();
    let options = contract::Options {
        only: chosen.only.clone(),
        ..chosen.reading.options()
    };
    let progress = Progress::start(format!("reading {}", chosen.document.display()));
    let loaded = contract::load_with(&chosen.document, &options);
    progress.end();
    write!(
        err,
        "{}",
        diagnostic::render(&loaded.sources, &loaded.diagnostics)
    )?;
    let Some(contract) = loaded.contract else {
        return Ok(Exit::Failed);
    };
    let progress = Progress::start(format!(
        "generating {} operations",
        contract.operations.len()
    ));
    let options = codegen::Options {
        prefix: chosen.name.clone(),
        runtime: chosen.runtime.clone(),
        cli: chosen.cli.clone(),
        mock: chosen.mock,
        versions: chosen.versions.clone(),
    };
    let mut files = codegen::generate(&contract, &options)?;
    progress.end();
    // Among the files, so that `--check` compares the list of repairs too.
    files.extend(repairs::file(&chosen.name, &loaded.repairs));
    let new = repairs::new(folder, &chosen.name, &loaded.repairs)?;
    // Before anything is written, so that no crate changes by a repair that nobody has read.
    if !arguments.check && !arguments.accept && !new.is_empty() {
        report_new(err, &new)?;
        return Ok(Exit::Failed);
    }
    if arguments.check {
        let progress = Progress::start(format!("comparing {} files", files.len()));
        let stale = emit::check(folder, &files)?;
        progress.end();
        report_stale(out, &stale, &command(words, !new.is_empty())?)?;
        report(
            out,
            &Summary {
                repairs: loaded.repairs.len(),
                ..Summary::new("compared", folder, &files, &contract, start)
            },
        )?;
        return Ok(if stale.is_empty() {
            Exit::Fresh
        } else {
            Exit::Stale
        });
    }
    let progress = Progress::start(format!("writing {} files", files.len()));
    let written = emit::write(folder, &files)?;
    progress.end();
    for path in &written.removed {
        writeln!(out, "removed {}", folder.join(path).display())?;
    }
    if let Some(manifest) = &written.edited {
        let manifest = workspace::path_from(manifest, Path::new("."))?;
        writeln!(out, "edited the members of {manifest}")?;
    }
    let summary = Summary::new("wrote", folder, &files, &contract, start);
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

/// Returns the command that writes the crates with the same arguments, ready to paste, and accepts
/// new repairs if `accept` is true.
fn command(arguments: &[String], accept: bool) -> anyhow::Result<String> {
    let mut words: Vec<String> = workspace::called().split(' ').map(str::to_owned).collect();
    words.push("codegen".to_owned());
    words.extend(arguments.iter().cloned());
    words.extend(accept.then(|| "--accept".to_owned()));
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
