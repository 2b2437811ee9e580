//! Spells out what a crate's manifest inherits from this workspace, so that a copy of the crate
//! compiles outside it.

use std::sync::LazyLock;

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

/// This workspace's manifest, as it was when the generator was built.
static WORKSPACE: LazyLock<DocumentMut> = LazyLock::new(|| {
    include_str!("../../embedded/workspace.toml")
        .parse()
        .expect("the manifest that cargo read is TOML")
});

/// The tables of a manifest that list dependencies.
const DEPENDENCIES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// Returns the value of a key of `[workspace.package]`.
pub(super) fn package(key: &str) -> &'static str {
    WORKSPACE["workspace"]["package"][key]
        .as_str()
        .expect("the workspace has this key for all its crates")
}

/// Returns the version of a dependency in `[workspace.dependencies]`.
pub(super) fn dependency_version(name: &str) -> String {
    let (base, _) = shared(name, "");
    let version = base.get("version").and_then(Value::as_str);
    version
        .expect("every crate that generated code needs has a version")
        .to_owned()
}

/// Returns the manifest of `api-runtime` or `api-macros` with the workspace's values in place of
/// what it inherits, for a copy of the crate in a folder that has its new name.
///
/// A dependency on the other of the two crates leads to its copy beside this one. The lints are
/// removed, since they are for this workspace alone, and so are the tests of examples.
pub(super) fn spelled_out(manifest: &str, prefix: &str) -> String {
    let mut document: DocumentMut = manifest
        .parse()
        .expect("the manifest that cargo read is TOML");
    document.remove("lints");
    if let Some(about) = document.get_mut("package").and_then(Item::as_table_mut) {
        spell_out_package(about);
        let name = about.get("name").and_then(Item::as_str).unwrap_or_default();
        let name = copied_name(name, prefix);
        about["name"] = toml_edit::value(name);
    }
    if let Some(library) = document.get_mut("lib").and_then(Item::as_table_mut) {
        // Two copies in one workspace must not write the same files.
        library.remove("name");
        // The examples call the crate by the name that it has here.
        library["doctest"] = toml_edit::value(false);
    }
    for name in DEPENDENCIES {
        if let Some(table) = document.get_mut(name).and_then(Item::as_table_mut) {
            spell_out_dependencies(table, prefix);
        }
    }
    document.to_string()
}

/// Returns the name of the copy of a crate: `museum-runtime` for `stratus-runtime`.
pub(super) fn copied_name(package: &str, prefix: &str) -> String {
    let part = package.rsplit('-').next().unwrap_or(package);
    format!("{prefix}-{part}")
}

/// Replaces the inherited values of a `[package]` table by those of the workspace.
fn spell_out_package(about: &mut Table) {
    for (key, item) in about.iter_mut() {
        if inherits(item) {
            *item = toml_edit::value(package(key.get()));
        }
    }
}

/// Replaces the inherited entries of a table of dependencies by those of the workspace, and removes
/// dependencies on crates that are not copied.
fn spell_out_dependencies(table: &mut Table, prefix: &str) {
    for (key, item) in table.iter_mut() {
        if inherits(item) {
            let own = item
                .as_table_like()
                .expect("an entry with `workspace = true` is a table");
            *item = toml_edit::value(merged(key.get(), own, prefix));
        }
    }
    // Other packages of this workspace are for its tests.
    let copies = ["macros", "runtime"].map(|part| format!("../{prefix}-{part}"));
    let is_copied = |path: &Item| {
        path.as_str()
            .is_some_and(|path| copies.iter().any(|copy| copy == path))
    };
    let foreign: Vec<String> = table
        .iter()
        .filter(|(_, item)| item.get("path").is_some_and(|path| !is_copied(path)))
        .map(|(name, _)| name.to_owned())
        .collect();
    for name in foreign {
        table.remove(&name);
    }
}

/// Returns whether a key inherits its value from the workspace.
fn inherits(item: &Item) -> bool {
    item.as_table_like()
        .and_then(|table| table.get("workspace"))
        .and_then(Item::as_bool)
        .unwrap_or(false)
}

/// Returns the entry of a dependency that combines the keys of the workspace with `own`, those of
/// the crate.
fn merged(name: &str, own: &dyn TableLike, prefix: &str) -> Value {
    let (mut table, mut features) = shared(name, prefix);
    for feature in own
        .get("features")
        .and_then(Item::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if !features.iter().any(|known| known.as_str() == Some(feature)) {
            features.push(feature);
        }
    }
    // A crate can have default features that the workspace switches off, but not the reverse.
    if own.get("default-features").and_then(Item::as_bool) == Some(true) {
        table.remove("default-features");
    }
    if !features.is_empty() {
        table.insert("features", Value::Array(features));
    }
    if own.get("optional").and_then(Item::as_bool) == Some(true) {
        table.insert("optional", true.into());
    }
    match table.get("version") {
        Some(version) if table.len() == 1 => version.clone(),
        _ => Value::InlineTable(table),
    }
}

/// Returns what `[workspace.dependencies]` says about a dependency: everything but its features, and
/// its features. A package of this workspace becomes its copy beside the crate.
fn shared(name: &str, prefix: &str) -> (InlineTable, Array) {
    let mut table = InlineTable::new();
    let mut features = Array::new();
    let item = &WORKSPACE["workspace"]["dependencies"][name];
    if let Some(version) = item.as_str() {
        table.insert("version", version.into());
    }
    for (key, value) in item.as_inline_table().into_iter().flatten() {
        match key {
            "features" => {
                features = value.as_array().cloned().unwrap_or_default();
                features.decor_mut().clear();
            }
            "path" => {}
            "package" => {
                let copy = copied_name(value.as_str().unwrap_or_default(), prefix);
                table.insert("path", format!("../{copy}").into());
                table.insert("package", copy.into());
            }
            key => {
                // Without the white space around it in the other manifest.
                let mut value = value.clone();
                value.decor_mut().clear();
                table.insert(key, value);
            }
        }
    }
    (table, features)
}
