//! The versions of a contract and of its crates: what a change asks for, and where they are written.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use ::policy::Listed;
use anyhow::{Context as _, bail};
use codegen::surface::Crate;
use contract::diagnostic::Edit;
use contract::source::{FileId, Sources};
use contract::{fix, read};
use semver::Version;
use toml_edit::{DocumentMut, Item, value};

use crate::contracts::Chosen;
use crate::diff;
use crate::git;
use crate::replace::replace;

/// The versions of crates that `contract.toml` lists. The others have that of the contract.
pub(crate) type Declared = BTreeMap<Crate, Version>;

/// What `contract.toml` says before a change and after it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Both {
    pub(crate) before: Declared,
    pub(crate) after: Declared,
}

/// A crate, its version after a change, and the least that the change asks for.
#[derive(Debug, Clone)]
pub(crate) struct CrateVersion {
    pub(crate) krate: Crate,
    pub(crate) name: String,
    pub(crate) now: Version,
    pub(crate) needed: Version,
}

impl CrateVersion {
    /// Returns whether the version is at least the needed one.
    pub(crate) fn is_enough(&self) -> bool {
        self.now >= self.needed
    }
}

/// Returns the versions that `contract.toml` lists for a contract.
pub(crate) fn declared(listed: &Listed) -> Declared {
    let crates = Crate::ALL.into_iter();
    crates
        .filter_map(|krate| Some((krate, listed.versions.get(krate.part())?.clone())))
        .collect()
}

/// Returns the version of a crate, as `codegen` writes it.
pub(crate) fn of_crate(declared: &Declared, krate: Crate, contract: &str) -> Version {
    let own = declared.get(&krate).cloned();
    own.or_else(|| Version::parse(contract.trim()).ok())
        .unwrap_or(codegen::DEFAULT_VERSION)
}

/// A version that is too low, and where it is written.
struct Low {
    file: String,
    /// What has the version, such as `info.version`.
    owner: String,
    now: String,
    needed: Version,
}

/// What is too low.
struct Lows {
    info: Option<Low>,
    /// The versions of crates that `contract.toml` has or gets.
    crates: Vec<(Crate, Low)>,
}

/// The files with the versions of a contract, before these are raised.
pub(crate) struct Before(Vec<(PathBuf, String)>);

impl Before {
    /// Reads the files of a contract. One that cannot be read is not written either.
    pub(crate) fn of(chosen: &Chosen) -> Self {
        let files = [Some(&chosen.document), chosen.listed_in.as_ref()];
        let read = |file: &PathBuf| Some((file.clone(), fs::read_to_string(file).ok()?));
        Self(files.into_iter().flatten().filter_map(read).collect())
    }

    /// Writes back what has changed since, and says so.
    pub(crate) fn put_back(&self, err: &mut dyn Write) -> anyhow::Result<()> {
        for (file, before) in &self.0 {
            if fs::read_to_string(file).ok().as_ref() == Some(before) {
                continue;
            }
            let file_name = file.display();
            let failed = || format!("failed to put the versions in {file_name} back");
            replace(file, before).with_context(failed)?;
            writeln!(err, "{file_name} has the versions of before again")?;
        }
        Ok(())
    }
}

/// Raises the versions of a contract and of its crates as far as its change since a git revision asks,
/// and says what it has raised. With `is_check`, only says what is too low. Returns whether anything was,
/// or `None` if the change cannot be judged.
pub(crate) fn raise(
    chosen: &mut Chosen,
    revision: &str,
    is_check: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Option<bool>> {
    if chosen.listed_in.is_some() && git::is_new(&chosen.document, &chosen.name, revision)? {
        return Ok(Some(false));
    }
    let Some(needed) = diff::needed(chosen, revision, err)? else {
        return Ok(None);
    };
    let lows = lows(chosen, &needed)?;
    let verb = if is_check { "is" } else { "was" };
    for low in lows
        .info
        .iter()
        .chain(lows.crates.iter().map(|(_, low)| low))
    {
        writeln!(
            out,
            "{}: {} {verb} {}, and the change since `{revision}` asks for {}",
            low.file, low.owner, low.now, low.needed
        )?;
    }
    if !is_check {
        // The document first: what cannot be raised there leaves all files as they are.
        if let Some(low) = &lows.info {
            write_info(&chosen.document, &low.now, &low.needed)?;
        }
        write_crates(chosen, &lows.crates)?;
    }
    Ok(Some(lows.info.is_some() || !lows.crates.is_empty()))
}

/// Returns the versions that are too low.
fn lows(chosen: &Chosen, needed: &diff::Needed) -> anyhow::Result<Lows> {
    let now = &needed.info.revision;
    let mut info = match &needed.info.needed {
        Some(least) if !needed.info.is_enough => Some(Version::parse(least)?),
        _ => None,
    };
    // Where `contract.toml` has no versions of crates, they are that of the document.
    if chosen.listed_in.is_none() && Version::parse(now).is_ok() {
        let highest = needed.crates.iter().filter(|one| !one.is_enough());
        info = info.max(highest.map(|one| one.needed.clone()).max());
    }
    let crates = needed.crates.iter().filter_map(|one| {
        let file = chosen.listed_in.as_ref()?;
        let own = chosen.versions.get(&one.krate);
        // Without a version of its own, a crate rises with the document.
        let now = match (own, &info) {
            (None, Some(info)) => info.clone(),
            _ => one.now.clone(),
        };
        let low = Low {
            file: file.display().to_string(),
            owner: format!("the version of `{}`", one.name),
            now: one.now.to_string(),
            needed: one.needed.clone(),
        };
        (now < one.needed).then_some((one.krate, low))
    });
    Ok(Lows {
        crates: crates.collect(),
        info: info.map(|needed| Low {
            file: chosen.document.display().to_string(),
            owner: "`info.version`".to_owned(),
            now: now.clone(),
            needed,
        }),
    })
}

/// Writes a version into a document. Every other byte stays as it is.
fn write_info(document: &Path, now: &str, needed: &Version) -> anyhow::Result<()> {
    let name = document.display().to_string();
    let by_hand = || format!("failed to raise `info.version`: write {needed} into {name}");
    let bytes = fs::read(document).with_context(by_hand)?;
    let mut sources = Sources::default();
    let root = read::read(&mut sources, &name, &bytes, &mut Vec::new());
    let version = root
        .as_ref()
        .and_then(|root| root.get("info")?.get("version"));
    let Some(version) = version.filter(|node| node.as_str() == Some(now)) else {
        bail!("{}: an overlay or another file says {now}", by_hand());
    };
    let text = sources.text(version.span).trim_end();
    // The reader's span of a scalar in quotes can hold a comment after it. An anchor or a tag says how
    // the value is read elsewhere.
    let quoted = ["\"", "'"].map(|quote| format!("{quote}{now}{quote}"));
    let written = match quoted
        .iter()
        .find(|quoted| text.starts_with(quoted.as_str()))
    {
        Some(quoted) => quoted,
        None if text == now => text,
        None => bail!("{}: it is written as {text}", by_hand()),
    };
    let mut edit = Edit {
        span: version.span,
        replacement: written.replace(now, &needed.to_string()),
    };
    edit.span.end = edit.span.start + u32::try_from(written.len()).with_context(by_hand)?;
    let before = &sources.file(FileId::default()).text;
    let after = fix::apply(before, &[&edit]);
    // The reader leaves the byte order mark out of its text.
    let mark = if bytes.starts_with("\u{feff}".as_bytes()) {
        "\u{feff}"
    } else {
        ""
    };
    replace(document, &format!("{mark}{after}")).with_context(by_hand)
}

/// Writes versions of crates into `contract.toml`, whose comments and order stay.
fn write_crates(chosen: &mut Chosen, lows: &[(Crate, Low)]) -> anyhow::Result<()> {
    let Some(file) = chosen.listed_in.as_ref().filter(|_| !lows.is_empty()) else {
        return Ok(());
    };
    let failed = || format!("failed to write versions into {}", file.display());
    let mut text: DocumentMut = fs::read_to_string(file)
        .with_context(failed)?
        .parse()
        .with_context(failed)?;
    let contracts = text
        .get_mut("contract")
        .and_then(Item::as_array_of_tables_mut);
    let contract = contracts.and_then(|all| {
        all.iter_mut()
            .find(|one| one.get("name").and_then(Item::as_str) == Some(chosen.name.as_str()))
    });
    let Some(contract) = contract else {
        bail!(
            "{}: write each contract as a table `[[contract]]`",
            failed()
        );
    };
    let versions = contract
        .entry("versions")
        .or_insert_with(|| value(toml_edit::InlineTable::new()));
    let versions = versions.as_table_like_mut().with_context(failed)?;
    for (krate, low) in lows {
        versions.insert(krate.part(), value(low.needed.to_string()));
        chosen.versions.insert(*krate, low.needed.clone());
    }
    replace(file, &text.to_string()).with_context(failed)
}
