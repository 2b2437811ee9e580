//! Renames components, operations and tags together with everything that names them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::pointer;
use contract::source::Span;
use gen_lsp_types::{PrepareRenamePlaceholder, PrepareRenameResult, TextEdit, WorkspaceEdit};

use crate::index::{Index, IndexedFile, NameKind, ReferenceForm, Symbol, Target};
use crate::navigate;
use crate::parsed::Parsed;
use crate::scalar;
use crate::world::Request;

/// Returns the name at a position, if it can be renamed.
///
/// # Errors
///
/// Returns why it cannot.
pub(crate) fn prepare(request: &Request<'_>) -> Result<Option<PrepareRenameResult>, String> {
    let Some((symbol, span)) = navigate::symbol(request) else {
        return Ok(None);
    };
    let name = name(&request.index, &symbol)?;
    let parsed = request.parsed();
    let at = parsed.offsets(span).and_then(|offsets| {
        let inner = part(&parsed.text[offsets.clone()], &name)?;
        Some(offsets.start + inner.start..offsets.start + inner.end)
    });
    let Some(at) = at else {
        return Err(format!(
            "put the cursor on `{name}` where it is written out"
        ));
    };
    let range = parsed.lines.range(&parsed.text, request.world.encoding, at);
    Ok(Some(
        PrepareRenamePlaceholder {
            range,
            placeholder: name,
        }
        .into(),
    ))
}

/// Returns the edits that rename what is at a position. Each changes the bytes of a name alone.
///
/// # Errors
///
/// Returns why it cannot be renamed.
pub(crate) fn rename(request: &Request<'_>, new: &str) -> Result<WorkspaceEdit, String> {
    let Some((symbol, _)) = navigate::symbol(request) else {
        return Err("nothing here has a name that can be changed".to_owned());
    };
    let old = name(&request.index, &symbol)?;
    if old == new {
        return Ok(WorkspaceEdit::default());
    }
    let mut edits: BTreeMap<PathBuf, (Arc<Parsed>, BTreeSet<Edit>)> = BTreeMap::new();
    for (index, symbol) in everywhere(request, &symbol) {
        for file in &index.files {
            if !file.parsed.is_whole {
                return Err(format!(
                    "{} has a syntax error, so its names cannot be found: mend it first",
                    file.path.display()
                ));
            }
        }
        check(&index, &symbol, new)?;
        for (file, span, form) in places(&index, &symbol) {
            let IndexedFile { path, parsed } = &index.files[file];
            let edit = parsed.offsets(span).and_then(|offsets| {
                let source = parsed.text.get(offsets.clone())?;
                Edit::new(&offsets, source, &form, new)
            });
            let Some(edit) = edit else {
                let start = parsed.offsets(span).map_or(0, |offsets| offsets.start);
                return Err(format!(
                    "{}:{} names `{old}` with escapes: write it without them first",
                    path.display(),
                    parsed.lines.line_of(start) + 1
                ));
            };
            let of_file = edits.entry(path.clone());
            let (_, of_file) = of_file.or_insert_with(|| (Arc::clone(parsed), BTreeSet::new()));
            // A set, since two contracts can have the same place in a shared file.
            of_file.insert(edit);
        }
    }
    let encoding = request.world.encoding;
    let changes: HashMap<_, _> = edits
        .into_iter()
        .map(|(path, (parsed, edits))| {
            let edits = edits.into_iter().map(|edit| {
                let range = edit.start..edit.end;
                TextEdit {
                    range: parsed.lines.range(&parsed.text, encoding, range),
                    new_text: edit.text,
                }
            });
            (request.texts.uri(&path), edits.collect())
        })
        .collect();
    Ok(WorkspaceEdit {
        changes: Some(changes),
        ..WorkspaceEdit::default()
    })
}

/// Returns a symbol in its contract, and in each other contract that has one of the files that name
/// it.
fn everywhere(request: &Request<'_>, symbol: &Symbol) -> Vec<(Arc<Index>, Symbol)> {
    let own = &request.index;
    let path = |file: usize| own.files[file].path.as_path();
    let files: BTreeSet<&Path> = match symbol {
        Symbol::Node(target) => [path(target.file)].into(),
        Symbol::Name(..) => places(own, symbol)
            .into_iter()
            .map(|(file, ..)| path(file))
            .collect(),
    };
    let roots = request.world.roots(request.texts).into_iter();
    let others = roots.filter(|root| *root != request.root);
    let others = others.filter_map(|root| request.world.index(request.texts, &root));
    let shared = others.filter_map(|index| {
        let shared = files.iter().find_map(|path| index.file(path))?;
        let symbol = match symbol {
            Symbol::Node(target) => Symbol::Node(Target {
                file: shared,
                pointer: target.pointer.clone(),
            }),
            Symbol::Name(..) => symbol.clone(),
        };
        Some((index, symbol))
    });
    let shared: Vec<_> = shared.collect();
    let first = (Arc::clone(own), symbol.clone());
    std::iter::once(first).chain(shared).collect()
}

/// Returns the name of a symbol, if it is one of those that can be renamed.
fn name(index: &Index, symbol: &Symbol) -> Result<String, String> {
    match symbol {
        Symbol::Name(_, text) => Ok(text.clone()),
        Symbol::Node(target) => {
            let tokens: Vec<String> = pointer::tokens(&target.pointer)
                .map(std::borrow::Cow::into_owned)
                .collect();
            let is_component = matches!(tokens.as_slice(), [first, _, _] if first == "components")
                || matches!(tokens.as_slice(), [.., defs, _] if defs == "$defs")
                // A file without `openapi` is a map of components, or one of them.
                || target.file != 0
                    && tokens.len() == 1
                    && index.references_to(target).next().is_some();
            match tokens.last() {
                Some(name) if is_component && index.node(target).is_some() => Ok(name.clone()),
                Some(_) if is_component => Err("there is no such component".to_owned()),
                _ => Err(
                    "only components, operation ids and tags can be renamed: other names are part of what is sent"
                        .to_owned(),
                ),
            }
        }
    }
}

/// Checks a new name.
fn check(index: &Index, symbol: &Symbol, new: &str) -> Result<(), String> {
    match symbol {
        Symbol::Node(target) => {
            if let Some(file) = index.with_id {
                return Err(format!(
                    "{} has a schema with `$id`, through which others may refer to this one: rename it by hand",
                    index.files[file].path.display()
                ));
            }
            let is_plain =
                |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '-' | '_');
            if new.is_empty() || !new.chars().all(is_plain) {
                return Err(format!(
                    "`{new}` cannot name a component: use letters, digits, `.`, `-` and `_`"
                ));
            }
            let sibling = sibling(target, new);
            if index.node(&sibling).is_some() {
                return Err(format!("there is a component `{new}` already"));
            }
            let implied = index.references.iter().find(|reference| {
                reference.form == ReferenceForm::Implied && reference.target == *target
            });
            if implied.is_some() {
                return Err(
                    "a discriminator takes its value from this name, so requests and responses would change: write a `mapping` first"
                        .to_owned(),
                );
            }
        }
        Symbol::Name(kind, _) => {
            let word = match kind {
                NameKind::Tag => "tag",
                NameKind::Operation => "operation",
            };
            if new.trim().is_empty() || new.chars().any(char::is_control) {
                return Err(format!("the {word} needs a name of one line"));
            }
            let is_taken = index
                .names
                .iter()
                .any(|name| name.kind == *kind && name.text == new);
            if is_taken {
                return Err(format!("another {word} is called `{new}` already"));
            }
        }
    }
    Ok(())
}

/// Returns the target beside another one.
fn sibling(target: &Target, name: &str) -> Target {
    let (holder, _) = target.pointer.rsplit_once('/').unwrap_or_default();
    Target {
        file: target.file,
        pointer: pointer::join(holder, name),
    }
}

/// How a place writes a name.
enum Form {
    /// The name is a whole key or value.
    Whole,
    /// The name is the token with this index of a pointer.
    Token(usize),
}

/// Returns every place that names a symbol, with its declarations.
fn places(index: &Index, symbol: &Symbol) -> Vec<(usize, Span, Form)> {
    let declarations = index.declarations(symbol).into_iter();
    let mut places: Vec<_> = declarations
        .map(|(file, span)| (file, span, Form::Whole))
        .collect();
    match symbol {
        Symbol::Node(target) => {
            // There is a slash: `name` refuses a whole file, which has no name.
            let depth = target.pointer.matches('/').count() - 1;
            for reference in index.references_to(target) {
                let form = match reference.form {
                    ReferenceForm::Uri => Form::Token(depth),
                    ReferenceForm::Name => Form::Whole,
                    // Refused by `check` before.
                    ReferenceForm::Implied => continue,
                };
                // A reference by an anchor does not write the name.
                let text = index.files[reference.file].parsed.source(reference.span);
                if matches!(form, Form::Token(_)) && !text.is_some_and(|text| text.contains("#/")) {
                    continue;
                }
                places.push((reference.file, reference.span, form));
            }
        }
        Symbol::Name(kind, text) => {
            let uses = index
                .names
                .iter()
                .filter(|name| name.kind == *kind && name.text == *text && !name.is_declaration);
            places.extend(uses.map(|name| (name.file, name.span, Form::Whole)));
        }
    }
    places
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edit {
    start: usize,
    end: usize,
    text: String,
}

impl Edit {
    /// Returns the edit of a place that is written as `source`, or `None` if the name is written in
    /// a way in which its bytes cannot be located.
    fn new(offsets: &Range<usize>, source: &str, form: &Form, new: &str) -> Option<Self> {
        let inner = scalar::content(source);
        let text = &source[inner.clone()];
        let (inner, text) = match form {
            Form::Whole => (inner.clone(), scalar::written(source, new)),
            Form::Token(depth) => {
                if text.contains('\\') {
                    return None;
                }
                let fragment = inner.start + text.find("#/")? + 2;
                let mut start = fragment;
                let mut tokens = source[fragment..inner.end].split('/');
                for token in tokens.by_ref().take(*depth) {
                    start += token.len() + 1;
                }
                let token = tokens.next()?;
                (start..start + token.len(), new.to_owned())
            }
        };
        Some(Self {
            start: offsets.start + inner.start,
            end: offsets.start + inner.end,
            text,
        })
    }
}

/// Returns where a name is in the text of a place.
fn part(source: &str, name: &str) -> Option<Range<usize>> {
    // The last one: what a reference has before the name can contain it too.
    let start = source.rfind(name)?;
    Some(start..start + name.len())
}
