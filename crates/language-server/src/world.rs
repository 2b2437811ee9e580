//! What is known about the contracts that are edited: their files, indices and diagnostics, each
//! made once for a revision of the texts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use codegen::Preview;
use contract::source::{FileId, Sources, Span};
use contract::{Contract, Diagnostic, read};
use gen_lsp_types::{Location, Position};

use crate::Settings;
use crate::index::{Index, Target};
use crate::lens::Verdict;
use crate::parsed::Parsed;
use crate::position::{Encoding, Lines};
use crate::reading;
use crate::texts::Texts;

/// The maximum number of documents that are checked at once. Each is the start of a contract.
const MOST_ROOTS: usize = 16;

/// The maximum number of bytes of a file in which its `openapi` is searched for.
const HEAD_BYTES: usize = 65_536;

/// The size in bytes from which completions and diagnostics use the last index of a text or contract,
/// since reading a large one again at every keystroke is slow.
const LARGE_BYTES: usize = 1 << 20;

/// What is known.
pub(crate) struct World {
    pub(crate) encoding: Encoding,
    pub(crate) settings: Settings,
    /// The folders that the editor has open.
    pub(crate) folders: Vec<PathBuf>,
    files: Mutex<HashMap<PathBuf, Cached>>,
    indices: Mutex<BTreeMap<PathBuf, (u64, Arc<Index>)>>,
    /// The last analysis of each contract, and the last one that had no error.
    analyses: Mutex<HashMap<PathBuf, Analysed>>,
    /// Held by the thread that analyses, so that the others take its result and do not do the same.
    analysing: Mutex<()>,
    pub(crate) verdicts: Mutex<HashMap<PathBuf, Arc<Verdict>>>,
}

/// A file as it was read.
struct Cached {
    parsed: Arc<Parsed>,
    /// The size and the time of the file, if it was read from the disk.
    stamp: Option<(u64, Option<SystemTime>)>,
}

struct Analysed {
    last: Arc<Analysis>,
    good: Option<Arc<Analysis>>,
}

/// What the reader of contracts says about a contract.
pub(crate) struct Analysis {
    pub(crate) revision: u64,
    pub(crate) sources: Sources,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) contract: Option<Arc<Contract>>,
    /// The index of the same texts.
    pub(crate) index: Arc<Index>,
    /// The Rust that the contract becomes, made when somebody first asks.
    preview: OnceLock<Mutex<Preview>>,
}

impl World {
    pub(crate) fn new(encoding: Encoding, settings: Settings, folders: Vec<PathBuf>) -> Self {
        Self {
            encoding,
            settings,
            folders,
            files: Mutex::default(),
            indices: Mutex::default(),
            analyses: Mutex::default(),
            analysing: Mutex::default(),
            verdicts: Mutex::default(),
        }
    }

    /// Returns the documents that contracts start with: the one that the command names, those that
    /// `contract.toml` lists, those in the editor's folders, and every open text with `openapi`.
    pub(crate) fn roots(&self, texts: &Texts) -> Vec<PathBuf> {
        let mut roots = BTreeSet::new();
        if let Some(document) = &self.settings.document {
            roots.insert(contract::identity(document));
        }
        for folder in &self.folders {
            if let Some(listing) = &self.settings.listing {
                let listed = listing.documents(folder);
                roots.extend(listed.iter().map(|document| contract::identity(document)));
            }
            for name in ["openapi.yaml", "openapi.yml", "openapi.json"] {
                let path = folder.join(name);
                if path.is_file() {
                    roots.insert(contract::identity(&path));
                }
            }
        }
        let open = texts.buffers.iter();
        let open = open.filter(|(_, buffer)| is_document(&buffer.text));
        roots.extend(open.map(|(path, _)| path.clone()));
        roots.into_iter().take(MOST_ROOTS).collect()
    }

    /// Returns a file as text and tree, or `None` if it cannot be read.
    pub(crate) fn parse(&self, texts: &Texts, path: &Path) -> Option<Arc<Parsed>> {
        // Locked until the end, so that two threads do not parse the same text.
        let mut files = held(&self.files);
        let known = files.get(path);
        let (text, stamp) = if let Some(buffer) = texts.buffers.get(path) {
            if let Some(known) = known
                && *known.parsed.text == *buffer.text
            {
                return Some(Arc::clone(&known.parsed));
            }
            (Arc::clone(&buffer.text), None)
        } else {
            let about = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
            let stamp = Some((about.len(), about.modified().ok()));
            if let Some(known) = known
                && known.stamp == stamp
            {
                return Some(Arc::clone(&known.parsed));
            }
            if about.len() > read::MAX_BYTES as u64 {
                return None;
            }
            (fs::read_to_string(path).ok()?.into(), stamp)
        };
        let name = path.to_string_lossy();
        let before = known.map(|known| &*known.parsed);
        let parsed = Arc::new(Parsed::new(&name, text, before));
        let cached = Cached {
            parsed: Arc::clone(&parsed),
            stamp,
        };
        files.insert(path.to_owned(), cached);
        Some(parsed)
    }

    /// Returns the index of the contract that starts with a document.
    pub(crate) fn index(&self, texts: &Texts, root: &Path) -> Option<Arc<Index>> {
        if let Some((revision, index)) = held(&self.indices).get(root)
            && *revision == texts.revision
        {
            return Some(Arc::clone(index));
        }
        let index = Index::of(root, &|path| self.parse(texts, path))?;
        let index = Arc::new(index);
        let mut indices = held(&self.indices);
        // Another thread may have made that of a later revision by now.
        let newer = indices
            .get(root)
            .is_some_and(|(revision, _)| *revision > texts.revision);
        if !newer {
            indices.insert(root.to_owned(), (texts.revision, Arc::clone(&index)));
        }
        Some(index)
    }

    /// Returns the index with a file, the start of its contract, and the file's number: of the
    /// contract that starts with the file, or else of the first one that refers to it.
    pub(crate) fn index_with(
        &self,
        texts: &Texts,
        path: &Path,
    ) -> Option<(PathBuf, Arc<Index>, usize)> {
        let roots = self.roots(texts);
        if !roots.iter().any(|root| root == path) {
            for root in &roots {
                if let Some(index) = self.index(texts, root)
                    && let Some(file) = index.file(path)
                {
                    return Some((root.clone(), index, file));
                }
            }
        }
        Some((path.to_owned(), self.index(texts, path)?, 0))
    }

    /// As [`index_with`](Self::index_with), for a text that is being typed: of a large one, returns
    /// the last index that was made.
    fn recent_index_with(
        &self,
        texts: &Texts,
        path: &Path,
    ) -> Option<(PathBuf, Arc<Index>, usize)> {
        if texts.buffers.get(path)?.text.len() >= LARGE_BYTES {
            let indices = held(&self.indices);
            let found = indices.iter().find_map(|(root, (_, index))| {
                Some((root.clone(), Arc::clone(index), index.file(path)?))
            });
            if found.is_some() {
                return found;
            }
        }
        self.index_with(texts, path)
    }

    /// Returns the result of reading a contract, with its diagnostics. Reads it if the result is
    /// not known for these texts.
    pub(crate) fn analyse(&self, texts: &Texts, root: &Path) -> Option<Arc<Analysis>> {
        if let Some(known) = self.analysed(texts, root) {
            return Some(known);
        }
        let _turn = held(&self.analysing);
        // The thread that this one has waited for may have made it.
        if let Some(known) = self.analysed(texts, root) {
            return Some(known);
        }
        let loaded = reading::load(&self.settings, texts, root);
        let analysis = Arc::new(Analysis {
            revision: texts.revision,
            sources: loaded.sources,
            diagnostics: loaded.diagnostics,
            contract: loaded.contract.map(Arc::new),
            index: self.index(texts, root)?,
            preview: OnceLock::new(),
        });
        let mut analyses = held(&self.analyses);
        let before = analyses.remove(root);
        let good = if analysis.contract.is_some() {
            Some(Arc::clone(&analysis))
        } else {
            before.and_then(|before| before.good)
        };
        let last = Arc::clone(&analysis);
        analyses.insert(root.to_owned(), Analysed { last, good });
        Some(analysis)
    }

    /// Returns the analysis of these texts, if it has been made.
    fn analysed(&self, texts: &Texts, root: &Path) -> Option<Arc<Analysis>> {
        let analyses = held(&self.analyses);
        let last = &analyses.get(root)?.last;
        (last.revision == texts.revision).then(|| Arc::clone(last))
    }

    /// As [`analyse`](Self::analyse), but of a large contract, returns the last analysis that was made.
    pub(crate) fn recent(&self, request: &Request<'_>) -> Option<Arc<Analysis>> {
        let files = request.index.files.iter();
        let bytes: usize = files.map(|file| file.parsed.text.len()).sum();
        if bytes >= LARGE_BYTES
            && let Some(known) = held(&self.analyses).get(&request.root)
        {
            return Some(Arc::clone(&known.last));
        }
        self.analyse(request.texts, &request.root)
    }

    /// Returns the last analysis of a contract that had no error.
    pub(crate) fn good(&self, root: &Path) -> Option<Arc<Analysis>> {
        held(&self.analyses).get(root)?.good.clone()
    }

    /// Forgets what belongs to no contract any longer.
    pub(crate) fn forget(&self, texts: &Texts) {
        let roots = self.roots(texts);
        held(&self.analyses).retain(|root, _| roots.contains(root));
        held(&self.verdicts).retain(|root, _| roots.contains(root));
        let mut indices = held(&self.indices);
        // An open file that no contract refers to has an index of its own.
        indices.retain(|root, _| roots.contains(root) || texts.buffers.contains_key(root));
        let used: BTreeSet<&Path> = indices
            .values()
            .flat_map(|(_, index)| index.files.iter().map(|file| file.path.as_path()))
            .collect();
        held(&self.files)
            .retain(|path, _| used.contains(path.as_path()) || texts.buffers.contains_key(path));
    }
}

impl Analysis {
    /// Returns the id of the file with a path, among the files that the reader of contracts has
    /// read.
    pub(crate) fn file_id(&self, path: &Path) -> Option<FileId> {
        self.sources
            .ids()
            .find(|id| contract::identity(Path::new(&self.sources.file(*id).name)) == path)
    }

    /// Returns the span that the reader gives a node of the index.
    pub(crate) fn span(&self, target: &Target) -> Option<(Option<Span>, Span)> {
        let file = self.file_id(&self.index.files[target.file].path)?;
        let found = self.index.node(target)?;
        let moved = |span: Span| Span { file, ..span };
        Some((found.key.map(moved), moved(found.node.span)))
    }

    /// Calls a function with the Rust that the contract becomes, if there is a contract.
    pub(crate) fn with_preview<T>(&self, ask: impl FnOnce(&mut Preview) -> T) -> Option<T> {
        let contract = self.contract.as_ref()?;
        let preview = self
            .preview
            .get_or_init(|| Mutex::new(Preview::new(Arc::clone(contract))));
        Some(ask(&mut held(preview)))
    }
}

/// A question about a position of a document.
pub(crate) struct Request<'w> {
    pub(crate) world: &'w World,
    pub(crate) texts: &'w Texts,
    pub(crate) root: PathBuf,
    pub(crate) index: Arc<Index>,
    /// The file in the index.
    pub(crate) file: usize,
    /// The text as it is, and its lines.
    pub(crate) text: Arc<str>,
    pub(crate) lines: Lines,
    /// The offset in the text.
    pub(crate) offset: usize,
}

impl<'w> Request<'w> {
    /// Returns the question about a position of an open document, or `None` if it is not open.
    pub(crate) fn new(
        world: &'w World,
        texts: &'w Texts,
        path: &Path,
        position: Position,
    ) -> Option<Self> {
        let found = world.index_with(texts, path)?;
        Self::of(world, texts, path, position, found)
    }

    /// As [`new`](Self::new), for what is being typed: the index of a large text can be older.
    pub(crate) fn typing(
        world: &'w World,
        texts: &'w Texts,
        path: &Path,
        position: Position,
    ) -> Option<Self> {
        let found = world.recent_index_with(texts, path)?;
        Self::of(world, texts, path, position, found)
    }

    fn of(
        world: &'w World,
        texts: &'w Texts,
        path: &Path,
        position: Position,
        (root, index, file): (PathBuf, Arc<Index>, usize),
    ) -> Option<Self> {
        let text = Arc::clone(&texts.buffers.get(path)?.text);
        let lines = Lines::of(&text);
        let offset = lines.offset(&text, world.encoding, position);
        Some(Self {
            world,
            texts,
            root,
            index,
            file,
            text,
            lines,
            offset,
        })
    }

    pub(crate) fn parsed(&self) -> &Parsed {
        &self.index.files[self.file].parsed
    }

    /// Returns the place of a span of a file's tree, unless an edit has changed it.
    pub(crate) fn location(&self, index: &Index, file: usize, span: Span) -> Option<Location> {
        let file = &index.files[file];
        Some(Location {
            uri: self.texts.uri(&file.path),
            range: file.parsed.range(self.world.encoding, span)?,
        })
    }
}

/// Returns whether a text is a document that a contract starts with: one with `openapi` at its top
/// level, as far as that is visible while the rest is being typed.
fn is_document(text: &str) -> bool {
    let mut end = text.len().min(HEAD_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = text[..end].trim_start_matches('\u{feff}');
    if head.trim_start().starts_with('{') {
        // JSON can be one long line, in any order.
        return head.split("\"openapi\"").skip(1).any(|rest| {
            let value = rest.trim_start().strip_prefix(':').map(str::trim_start);
            value.is_some_and(|value| value.starts_with("\"3."))
        });
    }
    head.lines().any(|line| {
        let key = line.split_once(':').map(|(key, _)| key.trim_end());
        matches!(key, Some("openapi" | "\"openapi\"" | "'openapi'"))
    })
}

/// Locks a mutex. A panic while it was locked has left nothing half done: all that mutexes here
/// hold is replaced as a whole.
pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
