//! Makes generated crates members of the workspace around them.
//!
//! Only entries of the member list are added or removed. Everything else in the manifest, comments
//! included, stays as its author wrote it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};
use toml_edit::{Array, DocumentMut, Item, Table, Value};

use super::{EmitError, absolute, scan};

/// The name of a manifest.
const MANIFEST: &str = "Cargo.toml";
/// The file by which tools mark a folder as a cache, such as cargo's `target`
/// (<https://bford.info/cachedir/>). What is in it belongs to no workspace outside of it.
const CACHE: &str = "CACHEDIR.TAG";

/// The edit of a workspace's manifest.
pub(super) struct Edit {
    /// The manifest.
    pub(super) path: PathBuf,
    /// The path of the manifest from the output folder, for messages.
    pub(super) label: String,
    /// The text of the manifest, or `None` if there is no such file.
    pub(super) found: Option<String>,
    /// The text that it should have.
    pub(super) wanted: String,
}

/// Returns the edit that makes the crates of the output folder members of the workspace around it,
/// and removes crates that are `gone`. Returns `None` if nothing has to change.
///
/// The workspace is the nearest one, in the output folder or above it. If there is none, the
/// edit makes one in the output folder.
pub(super) fn edit(
    out: &Path,
    crates: &BTreeSet<&str>,
    gone: &[String],
) -> Result<Option<Edit>, EmitError> {
    let out = absolute(out).map_err(|error| EmitError::io("find", out, error))?;
    let found = lookup_workspace(&out)?;
    let path = match &found {
        Some(manifest) => manifest.path.clone(),
        None => out.join(MANIFEST),
    };
    // A manifest in the output folder without a workspace is that of a package, which gets one.
    let found = match found {
        Some(manifest) => Some(manifest),
        None => Manifest::read(&path)?,
    };
    let root = path.parent().unwrap_or(&out).to_owned();
    let place = out.strip_prefix(&root).unwrap_or(Path::new(""));
    let member = |krate: &str| with_slashes(&place.join(krate));
    let added: Vec<String> = crates.iter().map(|krate| member(krate)).collect();
    let removed: Vec<String> = gone.iter().map(|krate| member(krate)).collect();

    let (text, mut document) = match found {
        Some(manifest) => (Some(manifest.text), manifest.document),
        None => (None, DocumentMut::new()),
    };
    let wrong = |message: &str| EmitError::Manifest {
        path: path.clone(),
        message: message.to_owned(),
    };
    let is_new = !document.contains_key("workspace");
    let workspace = document
        .entry("workspace")
        .or_insert_with(|| Item::Table(Table::new()))
        .as_table_like_mut()
        .ok_or_else(|| wrong("`workspace` is not a table"))?;
    if is_new {
        // A workspace without a package of its own has no edition that would choose the resolver.
        workspace.insert("resolver", toml_edit::value("3"));
    }
    let members = workspace
        .entry("members")
        .or_insert_with(|| toml_edit::value(Array::new()))
        .as_array_mut()
        .ok_or_else(|| wrong("`workspace.members` is not a list"))?;
    let is_removed = |value: &Value| {
        value
            .as_str()
            .is_some_and(|text| removed.iter().any(|one| one == plain(text)))
    };
    let removes = members.iter().any(is_removed);
    if removes {
        members.retain(|value| !is_removed(value));
    }
    let known: Vec<String> = members
        .iter()
        .filter_map(|value| value.as_str().map(|text| plain(text).to_owned()))
        .collect();
    let is_known = |krate: &String| known.iter().any(|entry| matches(entry, krate));
    let is_new_list = members.is_empty();
    let new: Vec<&String> = added.iter().filter(|krate| !is_known(krate)).collect();
    if !(is_new || removes) && new.is_empty() {
        return Ok(None);
    }
    for krate in new {
        push(members, krate, is_new_list);
    }
    let wanted = written(&document, text.as_deref());
    let ups = place.components().map(|_| "../").collect::<String>();
    Ok(Some(Edit {
        label: format!("{ups}{MANIFEST}"),
        path,
        found: text,
        wanted,
    }))
}

/// Returns the text of a manifest with the line ends that it had, which are others where `toml_edit` has
/// written it.
fn written(document: &DocumentMut, before: Option<&str>) -> String {
    let written = document.to_string();
    if before.is_some_and(|before| before.contains("\r\n")) {
        written.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        written
    }
}

/// A manifest that was read.
struct Manifest {
    path: PathBuf,
    text: String,
    document: DocumentMut,
}

impl Manifest {
    /// Reads a manifest. Returns `None` if there is none.
    fn read(path: &Path) -> Result<Option<Self>, EmitError> {
        // Writing would replace the link, and leave the manifest that it leads to without the
        // members.
        if fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink()) {
            return Err(EmitError::Link(path.to_owned()));
        }
        let read = scan::read(path).map_err(|error| EmitError::io("read", path, error))?;
        let Some(bytes) = read else {
            return Ok(None);
        };
        let wrong = |message: String| EmitError::Manifest {
            path: path.to_owned(),
            message,
        };
        let text = String::from_utf8(bytes).map_err(|error| wrong(error.to_string()))?;
        let document = text
            .parse()
            .map_err(|error: toml_edit::TomlError| wrong(error.message().to_owned()))?;
        Ok(Some(Self {
            path: path.to_owned(),
            text,
            document,
        }))
    }

    /// Returns whether the workspace excludes a folder.
    fn excludes(&self, folder: &Path) -> bool {
        let root = self.path.parent().unwrap_or(Path::new(""));
        let list = self
            .document
            .get("workspace")
            .and_then(|table| table.get("exclude"));
        let list = list.and_then(Item::as_array).into_iter().flatten();
        list.filter_map(Value::as_str)
            .any(|entry| folder.starts_with(root.join(plain(entry))))
    }
}

/// Returns the manifest of the workspace in which cargo would look for a package in a folder.
fn lookup_workspace(folder: &Path) -> Result<Option<Manifest>, EmitError> {
    for above in folder.ancestors() {
        if let Some(manifest) = Manifest::read(&above.join(MANIFEST))?
            && manifest.document.contains_key("workspace")
        {
            let is_cached = folder.starts_with(above.join("target"));
            let is_outside = is_cached || manifest.excludes(folder);
            return Ok((!is_outside).then_some(manifest));
        }
        if above.join(CACHE).exists() {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Returns whether an entry of a member list, which may have wildcards as paths of a shell do, names
/// a member.
fn matches(entry: &str, member: &str) -> bool {
    let options = MatchOptions {
        // As for cargo, `crates/*` does not name `crates/a/b`.
        require_literal_separator: true,
        ..MatchOptions::new()
    };
    entry == member
        || Pattern::new(entry).is_ok_and(|pattern| pattern.matches_with(member, options))
}

/// Adds an entry to a list. A list of several lines gets another line, and a comment after its last
/// entry stays where it is.
fn push(members: &mut Array, entry: &str, is_new_list: bool) {
    let text_of = |raw: Option<&toml_edit::RawString>| {
        raw.and_then(toml_edit::RawString::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let first = members.get(0).map(|value| text_of(value.decor().prefix()));
    let indentation = match &first {
        Some(prefix) => prefix
            .rsplit_once('\n')
            .map(|(_, indentation)| indentation.to_owned()),
        None if is_new_list => Some("    ".to_owned()),
        None => None,
    };
    let Some(indentation) = indentation else {
        members.push(entry);
        return;
    };
    // What follows the last entry, such as a comment on it, stands before the end of the list or,
    // without a comma there, after the entry itself.
    let mut before = text_of(Some(members.trailing()));
    if let Some(last) = members
        .len()
        .checked_sub(1)
        .and_then(|at| members.get_mut(at))
    {
        let suffix = text_of(last.decor().suffix());
        last.decor_mut().set_suffix("");
        before.insert_str(0, &suffix);
    }
    let before = before.trim_end();
    let mut value = Value::from(entry);
    value
        .decor_mut()
        .set_prefix(format!("{before}\n{indentation}"));
    members.push_formatted(value);
    members.set_trailing("\n");
    members.set_trailing_comma(true);
}

/// Returns an entry without what does not change where it leads to.
fn plain(entry: &str) -> &str {
    let entry = entry.strip_prefix("./").unwrap_or(entry);
    entry.strip_suffix('/').unwrap_or(entry)
}

/// Returns a relative path as manifests write it on every machine.
fn with_slashes(path: &Path) -> String {
    let parts = path.components();
    let parts: Vec<_> = parts
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::edit;

    /// Returns the manifest of a workspace after crates in its folder `crates` were added to it.
    fn edited(manifest: &str, crates: &[&str], gone: &[&str]) -> Option<String> {
        let root = tempfile::tempdir().expect("a folder can be made");
        fs::write(root.path().join("Cargo.toml"), manifest).expect("a file can be written");
        let crates: BTreeSet<&str> = crates.iter().copied().collect();
        let gone: Vec<String> = gone.iter().map(|krate| (*krate).to_owned()).collect();
        let edit = edit(&root.path().join("crates"), &crates, &gone).expect("it is a workspace");
        edit.map(|edit| edit.wanted)
    }

    #[test]
    fn a_comment_on_the_last_member_stays_with_it() {
        let manifest = "# Ours.\n[workspace]\nmembers = [\n    \"app\", # the program\n    \"xtask\", # commands\n]\n\n[profile.dev]\ndebug = 1 # short\n";
        insta::assert_snapshot!(edited(manifest, &["a-client", "a-types"], &[]).expect("it is changed"), @r#"
        # Ours.
        [workspace]
        members = [
            "app", # the program
            "xtask", # commands
            "crates/a-client",
            "crates/a-types",
        ]

        [profile.dev]
        debug = 1 # short
        "#);
    }

    #[test]
    fn a_list_without_a_last_comma_gets_one() {
        let manifest = "[workspace]\nmembers = [\n  \"app\",\n  \"xtask\" # commands\n]\n";
        insta::assert_snapshot!(edited(manifest, &["a-types"], &[]).expect("it is changed"), @r#"
        [workspace]
        members = [
          "app",
          "xtask", # commands
          "crates/a-types",
        ]
        "#);
    }

    #[test]
    fn a_list_of_one_line_stays_one() {
        let manifest = "[workspace]\nmembers = [\"app\", \"crates/a-server\"]\n";
        insta::assert_snapshot!(edited(manifest, &["a-types"], &["a-server"]).expect("it is changed"), @r#"
        [workspace]
        members = ["app", "crates/a-types"]
        "#);
    }

    #[test]
    fn members_that_a_wildcard_names_are_not_added() {
        for list in ["\"crates/*\"", "\"./crates/a-*\"", "\"crates/a-types/\""] {
            let manifest = format!("[workspace]\nmembers = [{list}]\n");
            assert_eq!(edited(&manifest, &["a-types"], &[]), None, "{list}");
        }
        let manifest = "[workspace]\nmembers = [\"*\"]\n";
        assert!(edited(manifest, &["a-types"], &[]).is_some());
    }

    #[test]
    fn a_package_and_a_folder_without_manifest_get_a_workspace() {
        let root = tempfile::tempdir().expect("a folder can be made");
        let crates = BTreeSet::from(["a-client", "a-types"]);
        let made = edit(root.path(), &crates, &[]).expect("a workspace can be made");
        insta::assert_snapshot!(made.expect("there is none").wanted, @r#"
        [workspace]
        resolver = "3"
        members = [
            "a-client",
            "a-types",
        ]
        "#);
        let package = "[package]\nname = \"app\"\n";
        fs::write(root.path().join("Cargo.toml"), package).expect("a file can be written");
        let made = edit(root.path(), &crates, &[]).expect("a workspace can be made");
        let made = made.expect("there is none").wanted;
        assert!(made.starts_with(package), "{made}");
    }

    #[test]
    fn a_workspace_that_excludes_the_folder_or_holds_it_in_a_cache_is_not_edited() {
        let root = tempfile::tempdir().expect("a folder can be made");
        let manifest = "[workspace]\nmembers = []\nexclude = [\"other\"]\n";
        fs::write(root.path().join("Cargo.toml"), manifest).expect("a file can be written");
        fs::create_dir_all(root.path().join("target/x")).expect("a folder can be made");
        fs::write(root.path().join("target/CACHEDIR.TAG"), "").expect("a file can be written");
        for folder in ["other/deep", "target/x"] {
            let out = root.path().join(folder);
            let made = edit(&out, &BTreeSet::from(["a-types"]), &[]).expect("it can be read");
            assert_eq!(made.expect("there is none").path, out.join("Cargo.toml"));
        }
    }

    #[test]
    fn a_manifest_that_cannot_be_edited_is_an_error() {
        let root = tempfile::tempdir().expect("a folder can be made");
        for manifest in [
            "[workspace",
            "[workspace]\nmembers = 1\n",
            "workspace = 1\n",
        ] {
            fs::write(root.path().join("Cargo.toml"), manifest).expect("a file can be written");
            let made = edit(root.path(), &BTreeSet::from(["a-types"]), &[]);
            assert!(made.is_err(), "{manifest}");
        }
    }
}
