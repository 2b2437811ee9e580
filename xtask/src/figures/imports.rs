//! Cycles of imports: files of a package that need one another.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::source::Source;

/// The package and the names of a module.
type Name<'s> = (&'s str, Vec<String>);

/// A file as imports see it.
#[derive(Default)]
struct Module {
    /// The modules inside it that are files.
    parts: BTreeSet<String>,
    /// Every path that the file names.
    paths: Vec<Path>,
}

/// A path such as `super::name::Name`.
struct Path {
    names: Vec<String>,
    /// The name by which a `pub use` passes it on.
    exported: Option<String>,
}

/// Returns the cycles, the largest first: sets of files in which each leads to all the others, by
/// paths that it names.
///
/// A path leads to the file that has the item, also where a module between the two passes the item
/// on by `pub use`. A file that names the modules inside it does not count, because those may name
/// what they share with it.
pub(super) fn circles<'s>(sources: &[&'s Source]) -> anyhow::Result<Vec<Vec<&'s str>>> {
    let mut modules = BTreeMap::new();
    for source in sources {
        let module = read(&source.lines.join("\n"))
            .with_context(|| format!("failed to read {}", source.path))?;
        modules.insert((&*source.package, source.module.clone()), module);
    }
    let names: Vec<&Name> = modules.keys().collect();
    let arrows: Vec<BTreeSet<usize>> = names
        .iter()
        .map(|name| {
            let used = modules[*name].paths.iter();
            let used = used.filter_map(|path| owner(&modules, name, &path.names, 0));
            used.filter(|(_, module)| !module.starts_with(&name.1))
                .filter_map(|used| names.binary_search(&&used).ok())
                .collect()
        })
        .collect();
    let reached: Vec<BTreeSet<usize>> = (0..names.len())
        .map(|start| reach(&arrows, start))
        .collect();
    // A set, since each file of a cycle finds it again.
    let mut circles = BTreeSet::new();
    for (start, others) in reached.iter().enumerate() {
        let circle: Vec<usize> = others
            .iter()
            .copied()
            .filter(|other| reached[*other].contains(&start))
            .collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    let path = |index: usize| {
        let is =
            |source: &&&Source| source.package == names[index].0 && source.module == names[index].1;
        sources.iter().find(is).map(|source| &*source.path)
    };
    let mut circles: Vec<Vec<&str>> = circles
        .into_iter()
        .map(|circle| circle.into_iter().filter_map(path).collect())
        .collect();
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    Ok(circles)
}

/// Returns the files that a file leads to, also through others.
fn reach(arrows: &[BTreeSet<usize>], start: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut next = vec![start];
    while let Some(file) = next.pop() {
        next.extend(arrows[file].iter().filter(|file| reached.insert(**file)));
    }
    reached
}

/// Returns the module that has what a path in the module `from` names. Returns `None` for a path out
/// of the package.
fn owner<'s>(
    modules: &BTreeMap<Name<'s>, Module>,
    from: &Name<'s>,
    path: &[String],
    depth: usize,
) -> Option<Name<'s>> {
    let (package, module) = from;
    let full: Vec<String> = match &*path[0] {
        "crate" => path[1..].to_vec(),
        "self" => [module, &path[1..]].concat(),
        "super" => {
            let up = path.iter().take_while(|name| *name == "super").count();
            let around = module.len().checked_sub(up)?;
            [&module[..around], &path[up..]].concat()
        }
        part if modules[from].parts.contains(part) => [module, path].concat(),
        _ => return None,
    };
    let found = (0..=full.len())
        // The innermost module first: the rest of the path is the item in it.
        .rev()
        .map(|length| (*package, full[..length].to_vec()))
        .find(|name| modules.contains_key(name))?;
    let rest = &full[found.1.len()..];
    let passed_on = rest.first().and_then(|item| {
        let mut paths = modules[&found].paths.iter();
        paths.find(|path| path.exported.as_ref() == Some(item))
    });
    match passed_on {
        // A `pub use` of itself, as `use super::name` in `name` is, would be followed forever.
        Some(path) if depth < 8 => owner(modules, &found, &path.names, depth + 1).or(Some(found)),
        _ => Some(found),
    }
}

/// Reads the paths and parts of a file.
fn read(text: &str) -> anyhow::Result<Module> {
    let tokens: TokenStream = text
        .parse()
        .map_err(|error| anyhow::anyhow!("not the tokens of Rust: {error}"))?;
    let mut module = Module::default();
    gather(tokens, &[], false, &mut module);
    Ok(module)
}

/// Adds the paths in tokens to a module. Inside the braces of a `use`, `prefix` is the path before
/// them, and `exports` whether it is a `pub use`.
fn gather(tokens: TokenStream, prefix: &[String], exports: bool, module: &mut Module) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut exports = exports;
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(word) if word == "use" => {
                exports = at > 0 && is_public(&tokens[..at]);
                at += 1;
            }
            TokenTree::Ident(word) if word == "mod" && is(&tokens, at + 2, ';') => {
                module.parts.insert(tokens[at + 1].to_string());
                at += 3;
            }
            TokenTree::Ident(_) => at = path(&tokens, at, prefix, exports, module),
            TokenTree::Punct(sign) if sign.as_char() == ';' => {
                exports = false;
                at += 1;
            }
            TokenTree::Group(group) => {
                gather(group.stream(), &[], false, module);
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// Adds the path that begins at a token. Returns the index after it.
fn path(
    tokens: &[TokenTree],
    start: usize,
    prefix: &[String],
    exports: bool,
    module: &mut Module,
) -> usize {
    let mut names = prefix.to_vec();
    let mut at = start;
    while let Some(TokenTree::Ident(name)) = tokens.get(at) {
        names.push(name.to_string());
        at += 1;
        if !(is(tokens, at, ':') && is(tokens, at + 1, ':')) {
            break;
        }
        at += 2;
        if let Some(TokenTree::Group(group)) = tokens.get(at)
            && group.delimiter() == Delimiter::Brace
        {
            gather(group.stream(), &names, exports, module);
            return at + 1;
        }
    }
    let exported = match (tokens.get(at), tokens.get(at + 1)) {
        (Some(TokenTree::Ident(word)), Some(name)) if word == "as" => {
            at += 2;
            Some(name.to_string())
        }
        _ => names.last().cloned(),
    };
    // A single name outside of braces is a variable, or an item of another crate.
    if names.len() > 1 {
        let exported = exported.filter(|_| exports);
        module.paths.push(Path { names, exported });
    }
    at
}

/// Returns whether tokens end in `pub`, or in `pub` with the modules that may see an item.
fn is_public(tokens: &[TokenTree]) -> bool {
    let is_pub = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "pub");
    match tokens {
        [.., token] if is_pub(token) => true,
        [.., token, TokenTree::Group(_)] => is_pub(token),
        _ => false,
    }
}

fn is(tokens: &[TokenTree], at: usize, sign: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}
