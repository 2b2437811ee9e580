//! Loads a contract: reads the document and the local files that it refers to, builds the model and
//! lints it.

mod causes;
mod choosing;
mod dialect;
mod drafting;
mod files;
mod overlays;
mod survey;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use jsonschema::Uri;

use crate::build::{Built, Role, ValueSite, build};
use crate::diagnostic::{Diagnostic, Severity};
use crate::documents::{Base, Document, Documents, METASCHEMA, Unavailable};
use crate::fix;
use crate::foreign::{Repair, Repaired, Repairs, inline_misplaced, is_accepted};
use crate::gather::gather;
use crate::lint::{self, LintSet};
use crate::mapping::Mapping;
use crate::model::{Contract, Dialect, Document as WholeDocument, Formats};
use crate::node::Node;
use crate::normalise::{
    correct_sections, drop_null_texts, drop_rejected_defaults, forget_rejected_defaults, normalise,
};
use crate::read::{is_about_date, read};
use crate::resolve::Resolver;
use crate::source::{FileId, SourceFile, Sources, Span};
use crate::syntax;
use crate::uri::{absolute, local_file};
use crate::validate::validate;

pub use drafting::{NotInContract, draft_overlay};
pub use files::{OpenFiles, identity};

use dialect::dialect;
pub(crate) use dialect::is_32;
use files::{clean, read_file, relative};
use overlays::Pending;
use survey::{Survey, Target};

/// The number of files that a contract may have. The largest public ones have about two thousand.
const MOST_FILES: usize = 10_000;

/// Options for reading a document.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Local copies of documents on other hosts.
    pub mapping: Mapping,
    /// The paths of the overlays that are applied to the document before it is checked, in this
    /// order. One that `extends` another file of the contract is applied to that file.
    pub overlays: Vec<PathBuf>,
    /// Whether `format` is checked or an annotation.
    pub formats: Formats,
    /// The sets of lints that run beside [`LintSet::Correct`].
    pub sets: BTreeSet<LintSet>,
    /// Whether the document is somebody else's, so that mistakes with one plausible meaning are
    /// read in that meaning and reported as warnings, see [`READINGS`](crate::READINGS).
    pub foreign: bool,
    /// The tags and the ids of the operations that the contract has; all operations if empty.
    pub only: Vec<String>,
    /// Texts that are read in place of files.
    pub open: OpenFiles,
    /// Whether the contract is only compared with another one. Then examples are taken as they are: of a
    /// large document, validating them is a third of the work, and a comparison shows no warnings. And
    /// what no server could hold is no error.
    pub is_only_compared: bool,
    /// The git revision that the document is of, whose references lead to files of it alone.
    pub revision: Option<Revision>,
}

/// A git revision whose files were copied to a folder.
#[derive(Debug, Clone)]
pub struct Revision {
    /// The name of the revision, for messages.
    pub name: String,
    /// The folder with the copy of its files.
    pub copy: PathBuf,
    /// The root of the working copy, to which absolute paths in documents may lead.
    pub original: PathBuf,
}

/// The result of loading a document.
#[derive(Debug)]
pub struct Loaded {
    /// The files, for quoting them.
    pub sources: Sources,
    /// Every diagnostic, sorted by file and position.
    pub diagnostics: Vec<Diagnostic>,
    /// The contract, or `None` if there was an error.
    pub contract: Option<Contract>,
    /// The repairs of a document of others, sorted. Each has a warning among the diagnostics.
    pub repairs: Vec<Repair>,
}

/// Reads a document from a file, with the local files that it refers to.
#[must_use]
pub fn load(path: &Path) -> Loaded {
    load_with(path, &Options::default())
}

/// Reads a document from a file, with options.
#[must_use]
pub fn load_with(path: &Path, options: &Options) -> Loaded {
    read_files(path, options).finish()
}

/// Reads a document and the local files that it refers to.
fn read_files(path: &Path, options: &Options) -> Loader {
    let mut loader = Loader {
        formats: options.formats,
        sets: options.sets.clone(),
        foreign: options.foreign,
        only: options.only.clone(),
        open: options.open.clone(),
        is_only_compared: options.is_only_compared,
        revision: options.revision.clone(),
        ..Loader::default()
    };
    let name = path.display().to_string();
    match read_file(path, &options.open) {
        Ok(bytes) => {
            let root = loader.read(&name, &bytes);
            // Also if the document is not JSON or YAML: one run reports everything.
            loader.read_overlays(&options.overlays, &options.mapping);
            if let Some(mut root) = root {
                loader.overlay_first(&mut root, path);
                let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
                // So that other files can refer back to it.
                loader.documents.paths.insert(identity(path), Ok(0));
                loader.push(root, "", Base::Folder(folder.clone()));
                loader.read_referenced(&folder, &options.mapping);
                loader.report_unapplied();
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
    loader
}

/// Reads a document from memory. A reference to another file is an error.
#[must_use]
pub fn load_text(name: &str, bytes: &[u8]) -> Loaded {
    load_text_with(name, bytes, &Options::default())
}

/// Reads a document from memory, with options. No other file is read: a reference to one is an
/// error, and local copies and overlays have no effect.
#[must_use]
pub fn load_text_with(name: &str, bytes: &[u8], options: &Options) -> Loaded {
    let mut loader = Loader {
        formats: options.formats,
        sets: options.sets.clone(),
        foreign: options.foreign,
        only: options.only.clone(),
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
    sets: BTreeSet<LintSet>,
    foreign: bool,
    only: Vec<String>,
    open: OpenFiles,
    is_only_compared: bool,
    revision: Option<Revision>,
    sources: Sources,
    diagnostics: Vec<Diagnostic>,
    /// What was corrected in the documents before they were checked, which no later check of them
    /// reports again.
    corrected: Vec<Diagnostic>,
    documents: Documents,
    overlays: Vec<Pending>,
    /// Whether an overlay has changed a document.
    is_overlaid: bool,
    /// Whether an overlay has an error, so that nothing is built.
    is_stopped: bool,
    /// Whether what misplaced references lead to has been put in their places.
    is_inlined: bool,
    /// Whether the files stay apart, so that an overlay of one of them can be drafted.
    is_drafting: bool,
    /// The references to other documents that were found, each with the index of the document that
    /// contains it.
    wanted: Vec<(usize, Target)>,
    wants_metaschema: bool,
    /// The spans of the texts that are null, which count as left out.
    null_texts: HashSet<Span>,
}

/// How far a contract was built.
enum Progress {
    /// What was found first is enough.
    Begun,
    /// It was built and linted, unless it has nothing to build from.
    Built(Option<Box<Linted>>),
}

/// A contract that was built and linted.
struct Linted {
    contract: Contract,
    /// The pointers of the defaults that their schemas reject, and that the contract is without.
    rejected: BTreeSet<String>,
}

impl Loader {
    fn read(&mut self, name: &str, bytes: &[u8]) -> Option<Node> {
        read(&mut self.sources, name, bytes, &mut self.diagnostics)
    }

    fn push(&mut self, root: Node, label: &str, base: Base) {
        let index = self.documents.list.len();
        let own_address = own_address(&root, base.address());
        let base = match base {
            Base::Folder(folder) => match own_path(&root, &folder) {
                Some(path) => {
                    // References to this path mean the document, even if a file is there.
                    let known = self.documents.paths.entry(identity(&path));
                    known.or_insert(Ok(index));
                    Base::Folder(path.parent().unwrap_or(Path::new("")).to_path_buf())
                }
                None => Base::Folder(folder),
            },
            address @ Base::Address(_) => address,
        };
        if let Some(own) = &own_address {
            // The first document with an address is the one that references to it mean.
            let known = self.documents.addresses.entry(own.as_str().to_owned());
            known.or_insert(Ok(index));
        }
        let survey = Survey::of(&root, own_address.as_ref().or(base.address()));
        self.wants_metaschema |= survey.wants_metaschema;
        self.wanted
            .extend(survey.targets.into_iter().map(|target| (index, target)));
        self.documents.list.push(Document {
            root,
            label: label.to_owned(),
            base,
            own_address,
            has_resources: survey.has_resources,
            files: HashMap::new(),
        });
    }

    /// Reads the documents that references name, each file once, until no new one is found.
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
                    let place = match &self.revision {
                        Some(revision) => revision.place(path),
                        None => Ok(path),
                    };
                    let found = place.map_err(Unavailable::Unreadable).and_then(|path| {
                        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
                        self.fetch(&path, Base::Folder(folder), home)
                    });
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
        // Two spellings of a path, or a symbolic link, must not make two documents of one file:
        // their schemas would become two types.
        let key = identity(path);
        if let Some(known) = self.documents.paths.get(&key) {
            return known.clone();
        }
        let found = self.fetch_new(path, &key, base, home);
        self.documents.paths.insert(key, found.clone());
        found
    }

    fn fetch_new(
        &mut self,
        path: &Path,
        identity: &Path,
        base: Base,
        home: &Path,
    ) -> Result<usize, Unavailable> {
        if self.documents.list.len() >= MOST_FILES {
            return Err(Unavailable::Unreadable(format!(
                "is one too many: a contract has at most {MOST_FILES} files"
            )));
        }
        let open = std::mem::take(&mut self.open);
        let bytes = read_file(path, &open).map_err(Unavailable::Unreadable);
        let root = bytes.and_then(|bytes| {
            self.read(&path.display().to_string(), &bytes)
                .ok_or(Unavailable::Broken)
        });
        self.open = open;
        let mut root = root?;
        self.overlay(&mut root, Some(identity));
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
        let (contract, repairs) = if self.is_stopped {
            (None, Vec::new())
        } else {
            self.build_repaired()
        };
        let contract = match contract.filter(|_| !self.is_wrong(&self.diagnostics)) {
            Some(whole) if !self.only.is_empty() => self.choose(&whole),
            contract => contract,
        };
        causes::keep_causes(&self.sources, &mut self.diagnostics);
        self.diagnostics.sort_by(|a, b| {
            (a.span, a.severity, a.code, &a.message).cmp(&(b.span, b.severity, b.code, &b.message))
        });
        // A callback that several operations use is linted for each of them, with equal
        // diagnostics.
        self.diagnostics.dedup();
        for diagnostic in &mut self.diagnostics {
            fix::keep_quotes(&self.sources, &mut diagnostic.edits);
        }
        let wrong = self.is_wrong(&self.diagnostics);
        let contract = contract.filter(|_| !wrong).map(|contract| {
            let first = self.documents.list.into_iter().next();
            let mut first = first.expect("a contract was built from a document");
            drop_null_texts(&mut first.root, &self.null_texts);
            Contract {
                document: WholeDocument::of(first.root),
                ..contract
            }
        });
        Loaded {
            sources: self.sources,
            diagnostics: self.diagnostics,
            contract,
            repairs,
        }
    }

    /// Builds the contract. Of a document of others, builds it again after repairs until nothing is
    /// left to repair.
    fn build_repaired(&mut self) -> (Option<Contract>, Vec<Repair>) {
        if !self.foreign {
            return (self.build(), Vec::new());
        }
        let read = std::mem::take(&mut self.diagnostics);
        let mut repairs = Repairs::default();
        let mut is_repaired = false;
        // Most mistakes are of the syntax or of operations. To look at values takes far longer.
        let mut stops_early = true;
        let contract = loop {
            self.diagnostics.clone_from(&read);
            let built = self.build_unless(&|found| {
                stops_early && found.iter().any(|one| repairs.is_repairable(one))
            });
            let repaired = repairs.repair(&mut self.documents, &self.sources, &self.diagnostics);
            is_repaired |= repaired != Repaired::Nothing;
            match (repaired, built) {
                (Repaired::Nothing, Progress::Begun) => stops_early = false,
                (Repaired::Nothing, Progress::Built(built)) => break built.map(|it| it.contract),
                // What would be built from the document now is built already.
                (Repaired::RejectedDefaults(dropped), Progress::Built(Some(built)))
                    if dropped.pointers == built.rejected =>
                {
                    self.diagnostics.retain(|one| !dropped.answers(one));
                    let mut contract = built.contract;
                    forget_rejected_defaults(&mut contract);
                    break Some(contract);
                }
                (Repaired::Document | Repaired::RejectedDefaults(_), _) => {}
            }
        };
        let repairs = repairs.finish(&self.documents, &self.sources, &mut self.diagnostics);
        let is_authors = !is_repaired && self.corrected.is_empty();
        let contract = contract.map(|contract| Contract {
            // After a repair, the author's own text says something else.
            yaml: contract.yaml.filter(|_| is_authors),
            ..contract
        });
        (contract, repairs)
    }

    /// Combines several files into one document, unless they contain errors.
    ///
    /// The syntax is checked once before, because combining relies on valid references. Its
    /// diagnostics are dropped: the documents stay as they are after an error, and the check that
    /// follows reports the same again.
    fn gather(&mut self, dialect: Dialect) {
        if self.documents.files() < 2 || self.is_drafting || self.is_wrong(&self.diagnostics) {
            return;
        }
        let resolver = Resolver::new(&self.documents);
        let mut found = Vec::new();
        let syntax = syntax::check(&resolver, dialect, &mut found);
        if self.is_wrong(&found) {
            return;
        }
        let root = match gather(&resolver, &syntax) {
            Ok(Some(root)) => root,
            Ok(None) => return,
            Err(diagnostic) => return self.diagnostics.push(*diagnostic),
        };
        // From here on there is one document without files, so what follows cannot depend on them.
        self.documents = Documents::default();
        self.push(root, "", Base::Folder(PathBuf::new()));
        if self.wants_metaschema {
            self.add_metaschema();
        }
    }

    /// Builds the contract, and lints it.
    fn build(&mut self) -> Option<Contract> {
        match self.build_unless(&|_| false) {
            Progress::Built(built) => built.map(|it| it.contract),
            Progress::Begun => None,
        }
    }

    /// Builds the contract, and lints it. Stops if `is_enough` holds for what the check of the syntax
    /// or the lints of operations have found.
    fn build_unless(&mut self, is_enough: &dyn Fn(&[Diagnostic]) -> bool) -> Progress {
        let Some(first) = self.documents.list.first_mut() else {
            return Progress::Built(None);
        };
        let root = &mut first.root;
        let Some(dialect) = dialect(root, &mut self.diagnostics) else {
            return Progress::Built(None);
        };
        // A draft says what has to change, so nothing may change without it.
        if !self.is_drafting {
            correct_sections(root, dialect, &mut self.corrected);
        }
        // Once, below sections that have their right names.
        if self.foreign && !std::mem::replace(&mut self.is_inlined, true) {
            inline_misplaced(&mut self.documents, &mut self.corrected);
        }
        self.diagnostics.extend_from_slice(&self.corrected);
        // Asked before the files are combined, after which there is one document in any case.
        let is_alone = self.documents.files() == 1;
        self.gather(dialect);
        let resolver = Resolver::new(&self.documents);
        let syntax = syntax::check(&resolver, dialect, &mut self.diagnostics);
        if is_enough(&self.diagnostics) {
            return Progress::Begun;
        }
        let Built {
            mut contract,
            origins,
        } = build(&resolver, dialect, self.formats, &mut self.diagnostics);
        self.null_texts.clone_from(&syntax.null_texts);
        let changes = normalise(&mut contract, &syntax);
        let is_wrong = self.is_wrong(&self.diagnostics);
        let values = self.judged(&origins.values);
        let context = lint::Context {
            contract: &contract,
            changes: &changes,
            origins: &origins,
            syntax: &syntax,
            resolver: &resolver,
            sources: &self.sources,
            is_wrong,
            is_only_compared: self.is_only_compared,
        };
        let mut found = lint::check_operations(&context);
        if is_enough(&found) {
            self.diagnostics.append(&mut found);
            return Progress::Begun;
        }
        // At the same time, since compiling the schemas takes about as long as all other lints.
        let validation = thread::scope(|scope| {
            let validation = scope.spawn(|| validate(&contract, &values));
            found.append(&mut lint::check(&context));
            // A panic is a fault that the caller must see.
            validation
                .join()
                .unwrap_or_else(|panic| resume_unwind(panic))
        });
        let rejected = drop_rejected_defaults(&mut contract, &validation);
        let context = lint::Context {
            contract: &contract,
            changes: &changes,
            origins: &origins,
            syntax: &syntax,
            resolver: &resolver,
            sources: &self.sources,
            is_wrong,
            is_only_compared: self.is_only_compared,
        };
        // Read by the schema, a date in quotes or not is the same text.
        let dates = lint::right_dates(&context, &validation, &self.diagnostics);
        self.diagnostics
            .retain(|diagnostic| !(is_about_date(diagnostic) && dates.contains(&diagnostic.span)));
        lint::check_values(&context, &validation, &self.sets, &mut found);
        self.diagnostics.append(&mut found);
        contract.yaml = Some(&self.sources.file(FileId::default()).text)
            // With an overlay, the author's own text says something else.
            .filter(|_| !self.is_overlaid)
            .filter(|text| is_alone && !text.trim_start().starts_with(['{', '[']))
            .cloned();
        Progress::Built(Some(Box::new(Linted { contract, rejected })))
    }

    /// Returns the values that are validated.
    fn judged<'v, 'a>(&self, values: &'v [ValueSite<'a>]) -> Cow<'v, [ValueSite<'a>]> {
        if !self.is_only_compared {
            return Cow::Borrowed(values);
        }
        let is_part = |site: &&ValueSite<'_>| site.role != Role::Example;
        Cow::Owned(values.iter().filter(is_part).copied().collect())
    }

    /// Returns whether there is an error that makes the document unusable. In a document of others,
    /// some errors do not.
    fn is_wrong(&self, diagnostics: &[Diagnostic]) -> bool {
        diagnostics.iter().any(|diagnostic| {
            diagnostic.severity == Severity::Error && !(self.foreign && is_accepted(diagnostic))
        })
    }
}

/// Returns the address that a document of 3.2 gives itself (`$self`), without a fragment, or `None`
/// if it has none or a relative one without a base.
fn own_address(root: &Node, base: Option<&Uri<String>>) -> Option<Uri<String>> {
    let own = root.get("$self")?.as_str()?;
    is_32(root).then(|| absolute(base, own)).flatten()
}

/// Returns the path that a relative `$self` gives a document of 3.2, from the folder of its file, or
/// `None` if it has none.
fn own_path(root: &Node, folder: &Path) -> Option<PathBuf> {
    let own = local_file(root.get("$self")?.as_str()?)?;
    (is_32(root) && !own.starts_with('/')).then(|| clean(&folder.join(own)))
}
