//! The contracts that a command is about: those of `contract.toml`, or the one of its arguments.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};

use ::policy::{Listed, NotFound, Policy};
use anyhow::{Context as _, bail};
use codegen::Runtime;
use contract::{LocalCopy, diagnostic};

use crate::reading::{Formats, Reading};
use crate::versions::{self, Declared};
use crate::workspace;

/// The document of a workspace or repository without `contract.toml`.
const DOCUMENT: &str = "openapi.yaml";

/// A contract, how its document is read, and the crates that are generated from it.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    pub(crate) document: PathBuf,
    pub(crate) reading: Reading,
    pub(crate) only: Vec<String>,
    pub(crate) out: PathBuf,
    /// The start of the names of the crates.
    pub(crate) name: String,
    pub(crate) runtime: Runtime,
    /// The name of the program that calls the operations from the command line, if there is one.
    pub(crate) cli: Option<String>,
    /// Whether there is a mock, for tests of callers.
    pub(crate) mock: bool,
    /// The versions of crates that have another one than the document.
    pub(crate) versions: Declared,
    /// The file that lists the contract, if there is one.
    pub(crate) listed_in: Option<PathBuf>,
}

/// Returns the contracts of `contract.toml`, in the current folder or above it, that have one of
/// these names, or all of them without names. Prints what is wrong with the file and returns `None`
/// if it cannot be used.
pub(crate) fn listed(names: &[String], err: &mut dyn Write) -> anyhow::Result<Option<Vec<Chosen>>> {
    let policy = match Policy::around(Path::new("")) {
        Ok(policy) => policy.unwrap_or_default(),
        Err(NotFound::Wrong(wrong)) => {
            let rendered = diagnostic::render(&wrong.sources, &wrong.diagnostics);
            write!(err, "{rendered}")?;
            return Ok(None);
        }
        Err(NotFound::Unreadable(path, error)) => {
            bail!("failed to read {}: {error}", path.display())
        }
        Err(NotFound::TooLarge(path)) => bail!("{} has more than a MiB", path.display()),
    };
    let all = policy.contracts();
    for name in names {
        if !all.iter().any(|listed| listed.name == *name) {
            let known: Vec<&str> = all.iter().map(|listed| listed.name.as_str()).collect();
            match contract::nearest(name, known.iter().copied()) {
                Some(meant) => bail!("contract.toml lists no `{name}`: did you mean `{meant}`?"),
                None if known.is_empty() => bail!("no contract.toml here lists contracts"),
                None => bail!("contract.toml lists no `{name}`, but {}", known.join(", ")),
            }
        }
    }
    let is_chosen = |listed: &&Listed| names.is_empty() || names.contains(&listed.name);
    let chosen = all.iter().filter(is_chosen).map(|listed| {
        chosen(listed, &policy).with_context(|| {
            format!(
                "failed to use the contract `{}` of contract.toml",
                listed.name
            )
        })
    });
    Ok(Some(chosen.collect::<anyhow::Result<_>>()?))
}

/// Returns the contracts of the `contract.toml` of a folder, in it or above it. Those that cannot be
/// used are left out, and so are all if the file is wrong: the language server reports that itself.
pub(crate) fn around(folder: &Path) -> Vec<Chosen> {
    let Ok(Some(policy)) = Policy::around(folder) else {
        return Vec::new();
    };
    let listed = policy.contracts().iter();
    listed
        .filter_map(|listed| chosen(listed, &policy).ok())
        .collect()
}

/// Returns the documents that a command reads that was given none: those of `contract.toml`, each
/// with how it is read, or else that of the workspace. Returns `None` if `contract.toml` is wrong.
pub(crate) fn documents(
    reading: &Reading,
    err: &mut dyn Write,
) -> anyhow::Result<Option<Vec<Document>>> {
    let plain = |path: PathBuf| Document {
        path,
        reading: reading.clone(),
        name: None,
        versions: Declared::default(),
    };
    // Arguments about reading are about a document that the file does not describe.
    if reading.is_default() {
        let Some(listed) = listed(&[], err)? else {
            return Ok(None);
        };
        if !listed.is_empty() {
            let documents = listed.into_iter().map(|chosen| Document {
                path: chosen.document,
                reading: chosen.reading,
                name: Some(chosen.name),
                versions: chosen.versions,
            });
            return Ok(Some(documents.collect()));
        }
    }
    Ok(Some(vec![plain(usual()?)]))
}

/// A document that a command reads.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) path: PathBuf,
    pub(crate) reading: Reading,
    /// The start of the names of its crates, if `contract.toml` lists it.
    pub(crate) name: Option<String>,
    /// The versions of crates that have another one than the document.
    pub(crate) versions: Declared,
}

/// Returns the document of the workspace, or the one that was named.
pub(crate) fn document(named: Option<&PathBuf>) -> anyhow::Result<PathBuf> {
    named.cloned().map_or_else(usual, Ok)
}

/// Returns the document of a command that was given none: that of the workspace, or outside of one
/// the nearest from the current folder upwards, in the same git repository.
fn usual() -> anyhow::Result<PathBuf> {
    if workspace::lookup_root()?.is_some() {
        return workspace::in_root(DOCUMENT);
    }
    if Path::new(DOCUMENT).is_file() {
        return Ok(PathBuf::from(DOCUMENT));
    }
    let current = env::current_dir().context("failed to tell the current folder")?;
    for folder in current.ancestors() {
        let document = folder.join(DOCUMENT);
        if document.is_file() {
            return Ok(document);
        }
        // A document above the repository belongs to something else.
        if folder.join(".git").exists() {
            break;
        }
    }
    bail!(
        "no {DOCUMENT} is here or above, nor a workspace or a contract.toml that names one: give the document as an argument"
    )
}

fn chosen(listed: &Listed, policy: &Policy) -> anyhow::Result<Chosen> {
    let folder = policy.folder();
    codegen::check_prefix(&listed.name)?;
    listed
        .cli
        .as_deref()
        .map_or(Ok(()), codegen::check_program)?;
    let copies = listed.map.iter().map(|(address, path)| {
        let copy = format!("{address}={}", folder.join(path).display());
        copy.parse::<LocalCopy>()
            .with_context(|| format!("failed to map `{address}`"))
    });
    let out = folder.join(&listed.out);
    Ok(Chosen {
        document: folder.join(&listed.document),
        reading: Reading {
            map: copies.collect::<anyhow::Result<_>>()?,
            overlay: listed
                .overlays
                .iter()
                .map(|path| folder.join(path))
                .collect(),
            formats: match listed.formats {
                ::policy::Formats::Assertion => Formats::Assertion,
                ::policy::Formats::Annotation => Formats::Annotation,
            },
            foreign: listed.foreign,
        },
        only: listed.only.clone(),
        runtime: runtime(listed.runtime.parse()?, folder, &out)?,
        name: listed.name.clone(),
        cli: listed.cli.clone(),
        mock: listed.mock,
        versions: versions::declared(listed),
        listed_in: Some(policy.file().to_owned()),
        out,
    })
}

/// Returns the run time as the generator takes it: a path begins in the folder of a generated crate,
/// and not in `folder`.
pub(crate) fn runtime(runtime: Runtime, folder: &Path, out: &Path) -> anyhow::Result<Runtime> {
    let Runtime::Path(path) = runtime else {
        return Ok(runtime);
    };
    let path = folder.join(path);
    if !path.join("Cargo.toml").is_file() {
        bail!(
            "{} is no crate: name the folder of the run time, `api-runtime` of Stratus",
            path.display()
        );
    }
    // Each generated crate has a folder below `out`.
    Ok(Runtime::Path(workspace::path_from(
        &path,
        &out.join("crate"),
    )?))
}
