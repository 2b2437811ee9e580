//! The Rust files of the workspace, with the modules that they are.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// A Rust file.
pub(super) struct Source {
    /// The path in the workspace, with slashes.
    pub(super) path: String,
    /// The folder of the package.
    pub(super) package: String,
    /// The names of the module and of those around it, outermost first. Empty for the root of a
    /// library or program.
    pub(super) module: Vec<String>,
    /// Whether all of the file is for tests.
    pub(super) is_test: bool,
    /// The lines, without those of a module of tests at the end.
    pub(super) lines: Vec<String>,
    /// The number of all lines.
    pub(super) whole: usize,
}

/// Reads the files of all packages that people write.
pub(super) fn by_hand(root: &Path) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    for package in entries(&root.join("crates"))? {
        let package = Path::new(&package);
        if !codegen::emit::is_generated(package) {
            sources.extend(of(root, package)?);
        }
    }
    for folder in ["xtask", "xtask/launch", "tests"] {
        sources.extend(of(root, &root.join(folder))?);
    }
    Ok(sources)
}

/// Reads the files of a package.
pub(super) fn of(root: &Path, package: &Path) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    for folder in ["src", "tests", "benches", "examples"] {
        let is_test = folder != "src" || package == root.join("tests");
        let mut module = Vec::new();
        read(
            root,
            package,
            &package.join(folder),
            &mut module,
            is_test,
            &mut sources,
        )?;
    }
    Ok(sources)
}

/// Reads the files of a folder and of those inside it. `module` is that of the folder.
fn read(
    root: &Path,
    package: &Path,
    folder: &Path,
    module: &mut Vec<String>,
    is_test: bool,
    sources: &mut Vec<Source>,
) -> anyhow::Result<()> {
    for path in entries(folder)? {
        let path = Path::new(&path);
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            module.push(name.into_owned());
            read(root, package, path, module, is_test, sources)?;
            module.pop();
            continue;
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = fs::read_to_string(path)
            .with_context(|| format!("failed to read {}", path.display()))?;
        let mut module = module.clone();
        if !module.is_empty() || (name != "lib" && name != "main") {
            module.push(name.into_owned());
        }
        sources.push(Source {
            path: shown(path, root),
            package: shown(package, root),
            module,
            is_test,
            lines: without_tests(&text),
            whole: text.lines().count(),
        });
    }
    Ok(())
}

/// Returns the paths in a folder, sorted. Returns none if there is no folder.
fn entries(folder: &Path) -> anyhow::Result<Vec<std::path::PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let failed = || format!("failed to read {}", folder.display());
    let mut paths = fs::read_dir(folder)
        .and_then(|entries| {
            entries
                .map(|entry| Ok(entry?.path()))
                .collect::<Result<Vec<_>, _>>()
        })
        .with_context(failed)?;
    paths.sort();
    Ok(paths)
}

fn shown(path: &Path, root: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.display().to_string().replace('\\', "/")
}

/// Returns the lines of a file before its module of tests, which is the last item if there is one.
fn without_tests(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let end = lines.windows(2).position(|pair| {
        pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
    });
    lines[..end.unwrap_or(lines.len())]
        .iter()
        .map(|line| (*line).to_owned())
        .collect()
}
