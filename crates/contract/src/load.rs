//! The way in: reads a document with the local files it refers to, builds the model, lints it.

mod survey;

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use crate::build;
use crate::diagnostic::{Diagnostic, Severity};
use crate::documents::{Base, Document, Documents, METASCHEMA, Unavailable};
use crate::gather::gather;
use crate::lint;
use crate::mapping::Mapping;
use crate::model::{Contract, Dialect, Formats};
use crate::node::{Node, NodeValue};
use crate::read::{MAX_BYTES, read};
use crate::resolve::Resolver;
use crate::source::{FileId, SourceFile, Sources, Span};

pub(crate) use survey::{has_scheme, local_file};

use survey::{Survey, Target};

/// A document with more files than this is refused.
const MOST_FILES: usize = 1000;

/// How a document is read, where there is a choice.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Local copies of documents on other hosts.
    pub mapping: Mapping,
    /// What `format` means.
    pub formats: Formats,
}

/// What came of a document.
#[derive(Debug)]
pub struct Loaded {
    /// The files, for quoting.
    pub sources: Sources,
    /// Every finding, by file and position.
    pub diagnostics: Vec<Diagnostic>,
    /// The contract; none when a finding is an error.
    pub contract: Option<Contract>,
}

/// Reads a document from a file, and the local files that it refers to.
#[must_use]
pub fn load(path: &Path) -> Loaded {
    load_with(path, &Options::default())
}

/// The same, read otherwise than by default.
#[must_use]
pub fn load_with(path: &Path, options: &Options) -> Loaded {
    let mut loader = Loader {
        formats: options.formats,
        ..Loader::default()
    };
    let name = path.display().to_string();
    match read_file(path) {
        Ok(bytes) => {
            if let Some(root) = loader.read(&name, &bytes) {
                let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
                loader.documents.paths.insert(identity(path), Ok(0));
                loader.push(root, "", Base::Folder(folder.clone()));
                loader.read_referenced(&folder, &options.mapping);
            }
        }
        Err(why) => {
            let file = loader.sources.add(SourceFile {
                name,
                text: String::new(),
            });
            let span = Span {
                file,
                ..Span::default()
            };
            loader.diagnostics.push(
                Diagnostic::error("unreadable-file", span, format!("the file {why}"))
                    .help("check the path"),
            );
        }
    }
    loader.finish()
}

/// Reads a document from memory; a reference to another file is then a finding.
#[must_use]
pub fn load_text(name: &str, bytes: &[u8]) -> Loaded {
    load_text_with(name, bytes, Formats::default())
}

/// The same, with a word on what `format` means.
#[must_use]
pub fn load_text_with(name: &str, bytes: &[u8], formats: Formats) -> Loaded {
    let mut loader = Loader {
        formats,
        ..Loader::default()
    };
    loader.documents.is_text = true;
    if let Some(root) = loader.read(name, bytes) {
        loader.push(root, "", Base::Folder(PathBuf::new()));
    }
    loader.finish()
}

#[derive(Default)]
struct Loader {
    formats: Formats,
    sources: Sources,
    diagnostics: Vec<Diagnostic>,
    documents: Documents,
    /// References to other documents that were met, and the document that refers.
    wanted: Vec<(usize, Target)>,
    wants_metaschema: bool,
}

impl Loader {
    fn read(&mut self, name: &str, bytes: &[u8]) -> Option<Node> {
        read(&mut self.sources, name, bytes, &mut self.diagnostics)
    }

    fn push(&mut self, root: Node, label: &str, base: Base) {
        let index = self.documents.list.len();
        let survey = Survey::of(&root, base.address());
        self.wants_metaschema |= survey.wants_metaschema;
        self.wanted
            .extend(survey.targets.into_iter().map(|target| (index, target)));
        self.documents.list.push(Document {
            root,
            label: label.to_owned(),
            base,
            has_resources: survey.has_resources,
            files: HashMap::new(),
        });
    }

    /// Reads what the documents refer to, each file once, until nothing new comes up.
    fn read_referenced(&mut self, home: &Path, mapping: &Mapping) {
        let mut next = 0;
        while let Some((from, target)) = self.wanted.get(next).cloned() {
            next += 1;
            match target {
                Target::File(written) => {
                    let Base::Folder(folder) = &self.documents.list[from].base else {
                        continue;
                    };
                    let path = clean(&folder.join(&written));
                    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
                    let found = self.fetch(&path, Base::Folder(folder), home);
                    self.documents.list[from].files.insert(written, found);
                }
                Target::Address(address) => {
                    let key = address.as_str().to_owned();
                    if let Some(path) = mapping.locate(&key)
                        && !self.documents.addresses.contains_key(&key)
                    {
                        let found = self.fetch(&clean(&path), Base::Address(address), home);
                        self.documents.addresses.insert(key, found);
                    }
                }
            }
        }
    }

    fn fetch(&mut self, path: &Path, base: Base, home: &Path) -> Result<usize, Unavailable> {
        let key = identity(path);
        if let Some(known) = self.documents.paths.get(&key) {
            return known.clone();
        }
        let found = self.fetch_new(path, base, home);
        self.documents.paths.insert(key, found.clone());
        found
    }

    fn fetch_new(&mut self, path: &Path, base: Base, home: &Path) -> Result<usize, Unavailable> {
        if self.documents.list.len() >= MOST_FILES {
            return Err(Unavailable::Unreadable(format!(
                "is one too many: a contract has at most {MOST_FILES} files"
            )));
        }
        let bytes = read_file(path).map_err(Unavailable::Unreadable)?;
        let root = self
            .read(&path.display().to_string(), &bytes)
            .ok_or(Unavailable::Broken)?;
        self.push(root, &relative(path, home), base);
        Ok(self.documents.list.len() - 1)
    }

    fn add_metaschema(&mut self) {
        let text = include_bytes!("metaschema.json");
        if let Some(root) = self.read(METASCHEMA, text) {
            self.documents.metaschema = Some(self.documents.list.len());
            self.push(root, METASCHEMA, Base::Folder(PathBuf::new()));
        }
    }

    fn finish(mut self) -> Loaded {
        if self.wants_metaschema {
            self.add_metaschema();
        }
        let contract = self.build();
        self.diagnostics.sort_by(|a, b| {
            (a.span, a.severity, a.code, &a.message).cmp(&(b.span, b.severity, b.code, &b.message))
        });
        self.diagnostics.dedup();
        let wrong = is_wrong(&self.diagnostics);
        Loaded {
            sources: self.sources,
            diagnostics: self.diagnostics,
            contract: contract.filter(|_| !wrong),
        }
    }

    /// Makes one document of several files, unless something is wrong with them, which is then found again in place.
    fn gather(&mut self, dialect: Dialect) {
        if self.documents.files() < 2 || is_wrong(&self.diagnostics) {
            return;
        }
        let resolver = Resolver::new(&self.documents);
        let mut found = Vec::new();
        let findings = lint::document(&resolver, dialect, &mut found);
        if is_wrong(&found) {
            return;
        }
        let root = match gather(&resolver, &findings) {
            Ok(Some(root)) => root,
            Ok(None) => return,
            Err(finding) => return self.diagnostics.push(*finding),
        };
        self.documents = Documents::default();
        self.push(root, "", Base::Folder(PathBuf::new()));
        if self.wants_metaschema {
            self.add_metaschema();
        }
    }

    fn build(&mut self) -> Option<Contract> {
        let root = &mut self.documents.list.first_mut()?.root;
        let dialect = dialect(root, &mut self.diagnostics)?;
        lint::correct_sections(root, dialect, &mut self.diagnostics);
        let is_alone = self.documents.files() == 1;
        self.gather(dialect);
        let resolver = Resolver::new(&self.documents);
        let findings = lint::document(&resolver, dialect, &mut self.diagnostics);
        let mut built = build::build(&resolver, dialect, self.formats, &mut self.diagnostics);
        lint::contract(
            &resolver,
            &self.sources,
            &mut built,
            &findings,
            &mut self.diagnostics,
        );
        let mut contract = built.contract;
        contract.yaml = Some(&self.sources.file(FileId::default()).text)
            .filter(|text| is_alone && !text.trim_start().starts_with(['{', '[']))
            .cloned();
        Some(contract)
    }
}

fn is_wrong(findings: &[Diagnostic]) -> bool {
    findings
        .iter()
        .any(|finding| finding.severity == Severity::Error)
}

/// Which dialect the document says it is written in; a finding when that is not one we read.
fn dialect(root: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Dialect> {
    if !matches!(root.value, NodeValue::Object(_)) {
        diagnostics.push(
            Diagnostic::error(
                "wrong-type",
                root.span,
                format!("the document must be an object, not {}", root.kind()),
            )
            .help("an OpenAPI document starts with `openapi: 3.1.0`"),
        );
        return None;
    }
    if let Some(swagger) = root.entry("swagger") {
        diagnostics.push(
            Diagnostic::error(
                "swagger-2",
                swagger.key_span,
                "this is a Swagger 2.0 document, and only OpenAPI 3.0 and 3.1 are read",
            )
            .help("convert it to OpenAPI 3, for example at https://converter.swagger.io"),
        );
        return None;
    }
    let Some(version) = root.get("openapi") else {
        diagnostics.push(
            Diagnostic::error(
                "missing-version",
                root.span,
                "the document does not say which version of OpenAPI it is written in",
            )
            .help("add `openapi: 3.1.0` at the top level"),
        );
        return None;
    };
    let finding = match (&version.value, version.as_str()) {
        (_, Some(text)) if is_version(text, "3.0") => return Some(Dialect::V30),
        (_, Some(text)) if is_version(text, "3.1") => return Some(Dialect::V31),
        (_, Some(text)) => Diagnostic::error(
            "unsupported-version",
            version.span,
            format!("OpenAPI `{text}` is not read, only 3.0 and 3.1 are"),
        )
        .help("write `3.1.0`, and only what that version knows"),
        (NodeValue::Number(number), _) => Diagnostic::error(
            "unsupported-version",
            version.span,
            format!("`openapi` must be a string, and {number} is a number"),
        )
        .help("write all three parts, such as `3.1.0`, or quote it"),
        _ => Diagnostic::error(
            "unsupported-version",
            version.span,
            format!("`openapi` must be a string, not {}", version.kind()),
        )
        .help("write `3.1.0`"),
    };
    diagnostics.push(finding);
    None
}

fn is_version(text: &str, minor: &str) -> bool {
    text.strip_prefix(minor)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let about = std::fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?;
    if !about.is_file() {
        return Err("cannot be read: it is not a file".to_owned());
    }
    if about.len() > MAX_BYTES as u64 {
        return Err(format!("is larger than {MAX_BYTES} bytes"));
    }
    std::fs::read(path).map_err(|error| format!("cannot be read: {error}"))
}

/// What tells two paths to one file apart from paths to two files.
fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| clean(path))
}

/// A path without `.` and, as far as that goes, without `..`.
fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(out.components().next_back(), Some(Component::Normal(_))) =>
            {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// The path as seen from the first document's folder, with forward slashes on every machine.
fn relative(path: &Path, base: &Path) -> String {
    let base = clean(base);
    let mut rest = path;
    let mut ups = String::new();
    let mut from = base.as_path();
    loop {
        if let Ok(inside) = path.strip_prefix(from) {
            rest = inside;
            break;
        }
        let Some(parent) = from.parent() else { break };
        from = parent;
        ups.push_str("../");
    }
    let parts: Vec<_> = rest
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    ups + &parts.join("/")
}
