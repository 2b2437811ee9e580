//! The list of public documents of others: where each is from, and the stored results.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

/// What a line is.
const FORM: &str = "write `SOURCE NAME VERSION PATH | RESULT | RESULT`, and perhaps ` | EXAMPLES`";

/// The list, as `tests/foreign.txt` stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct List {
    /// The comment at the top, which says what the list is.
    head: String,
    /// A line for each document.
    pub(super) lines: Vec<Line>,
}

/// A document and its results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) source: Source,
    /// The path of the document in its repository or package.
    pub(super) path: String,
    pub(super) results: Results,
}

/// Where a document is from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// A repository on GitHub, and the commit.
    GitHub { repository: String, commit: String },
    /// A package of npm, and the version.
    Npm { package: String, version: String },
}

/// The results for a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Results {
    /// The result of reading it as a document of our own.
    pub(super) own: Outcome,
    /// The result of reading it with `--foreign`, and of generating its crates.
    pub(super) foreign: Outcome,
    /// The examples of its responses that a lenient client reads, or `None` if nobody has tried.
    pub(super) examples: Option<Examples>,
}

/// The examples of a document's responses, as the lenient client reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Examples {
    /// Every example is read.
    Read {
        /// The number of examples.
        all: usize,
        /// The number of those that do not fit their schemas.
        misfits: usize,
        /// The number of those that were read as the generated types too, or `None` if these were not
        /// compiled. Each that fits its schema is a value of its type.
        typed: Option<usize>,
    },
    /// An example is not read.
    Broken,
}

/// The result of reading a document, and perhaps of generating its crates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The document has errors of these rules.
    Refused(BTreeSet<String>),
    /// The document is read.
    Read,
    /// The crates have all operations, of which there are so many.
    Generated {
        operations: usize,
        /// How the crates compile, with or without warnings, or `None` if the compiler was not run.
        check: Option<Check>,
    },
    /// The crates could not be generated, lack operations, or do not compile.
    Broken,
}

/// The result of compiling generated crates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Check {
    /// The crates compile with warnings.
    Warns,
    /// The crates compile without warnings.
    Compiles,
}

impl List {
    /// Parses a list.
    ///
    /// # Errors
    ///
    /// Returns an error if a line is not as [`text`](Self::text) writes it.
    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        let head: String = text
            .lines()
            .take_while(|line| line.starts_with('#'))
            .map(|line| format!("{line}\n"))
            .collect();
        let skipped = head.lines().count();
        let lines = text.lines().enumerate().skip(skipped);
        let lines = lines.map(|(at, line)| {
            Line::read(line).with_context(|| format!("line {} of the list", at + 1))
        });
        let lines = lines.collect::<anyhow::Result<_>>()?;
        Ok(Self { head, lines })
    }

    /// Returns the text of the file that stores the list.
    pub(super) fn text(&self) -> String {
        let lines = self
            .lines
            .iter()
            .map(|line| format!("{} | {}\n", line.name(), line.results));
        self.head.clone() + &lines.collect::<String>()
    }
}

impl Line {
    fn read(line: &str) -> anyhow::Result<Self> {
        let columns: Vec<&str> = line.split(" | ").collect();
        let (name, own, foreign, examples) = match columns[..] {
            [name, own, foreign] => (name, own, foreign, None),
            [name, own, foreign, examples] => (name, own, foreign, Some(examples)),
            _ => bail!("{FORM}"),
        };
        let mut words = name.splitn(4, ' ').map(str::to_owned);
        let (Some(kind), Some(name), Some(version), Some(path)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            bail!("{FORM}");
        };
        let source = match kind.as_str() {
            "github" => Source::GitHub {
                repository: name,
                commit: version,
            },
            "npm" => Source::Npm {
                package: name,
                version,
            },
            other => bail!("there is no source `{other}`: write `github` or `npm`"),
        };
        Ok(Self {
            source,
            path,
            results: Results {
                own: Outcome::read(own)?,
                foreign: Outcome::read(foreign)?,
                examples: examples.map(Examples::read).transpose()?,
            },
        })
    }

    /// Returns what the list calls the document: its source and its path there.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.source, self.path)
    }

    /// Returns the path of the document in the folder of all documents.
    pub(super) fn file(&self) -> PathBuf {
        self.source.folder().join(&self.path)
    }
}

impl Source {
    /// Returns the folder of the repository or package in the folder of all documents.
    pub(super) fn folder(&self) -> PathBuf {
        match self {
            Self::GitHub { repository, .. } => PathBuf::from("github").join(repository),
            Self::Npm { package, version } => PathBuf::from("npm").join(package).join(version),
        }
    }

    /// Returns whether the folder of the repository is at the commit of the list, or `None` if it
    /// is no clone. The folder of a package has its version in its path.
    pub(super) fn is_at_version(&self, folder: &Path) -> anyhow::Result<Option<bool>> {
        let Self::GitHub { commit, .. } = self else {
            return Ok(Some(true));
        };
        // Named, since git would also find the repository that holds the folder of all documents.
        let git = folder.join(self.folder()).join(".git");
        if !git.exists() {
            return Ok(None);
        }
        let head = Command::new("git")
            .arg("--git-dir")
            .arg(&git)
            .args(["rev-parse", "HEAD"])
            .output()
            .context("failed to start git")?;
        let head = String::from_utf8_lossy(&head.stdout);
        Ok(Some(head.trim() == commit))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GitHub { repository, commit } => write!(f, "github {repository} {commit}"),
            Self::Npm { package, version } => write!(f, "npm {package} {version}"),
        }
    }
}

impl Results {
    /// Returns whether a new result is worse than the stored one.
    pub(super) fn is_worse_than(&self, stored: &Self) -> bool {
        let are_worse =
            |examples: Examples| stored.examples.is_some_and(|e| examples.is_worse_than(e));
        self.own.is_worse_than(&stored.own)
            || self.foreign.is_worse_than(&stored.foreign)
            || self.examples.is_some_and(are_worse)
    }

    /// Returns the new results, with what the stored ones know beyond them: whether the same crates
    /// compile, and whether their examples are read.
    pub(super) fn or(mut self, stored: &Self) -> Self {
        if let (
            Outcome::Generated {
                operations,
                check: check @ None,
            },
            Outcome::Generated {
                operations: before,
                check: known,
            },
        ) = (&mut self.foreign, &stored.foreign)
            && operations == before
        {
            *check = *known;
        }
        if matches!(self.foreign, Outcome::Generated { .. }) {
            self.examples = match (self.examples, stored.examples) {
                (Some(examples), Some(stored)) => Some(examples.or(stored)),
                (examples, stored) => examples.or(stored),
            };
        }
        self
    }
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} | {}", self.own, self.foreign)?;
        match self.examples {
            Some(examples) => write!(f, " | {examples}"),
            None => Ok(()),
        }
    }
}

impl Examples {
    /// Parses what [`Display`](fmt::Display) writes.
    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        if text == "an example is not read" {
            return Ok(Self::Broken);
        }
        let numbers = || {
            let (all, rest) = text.split_once(" examples, of which ")?;
            let (misfits, typed) = rest.split_once(" do not fit")?;
            let typed = match typed {
                "" => None,
                typed => Some(typed.strip_prefix(", ")?.strip_suffix(" by their types")?),
            };
            Some(Self::Read {
                all: all.parse().ok()?,
                misfits: misfits.parse().ok()?,
                typed: typed.map(str::parse).transpose().ok()?,
            })
        };
        numbers().with_context(|| format!("there is no result `{text}`"))
    }

    /// Returns whether fewer examples are read, or more of them do not fit.
    fn is_worse_than(self, stored: Self) -> bool {
        match (self, stored) {
            (_, Self::Broken) => false,
            (Self::Broken, Self::Read { .. }) => true,
            (
                Self::Read {
                    all,
                    misfits,
                    typed,
                },
                Self::Read {
                    all: before,
                    misfits: known,
                    typed: typed_before,
                },
            ) => all < before || misfits > known || typed.is_some() && typed < typed_before,
        }
    }

    /// Returns the new result, with what the stored one knows beyond it of the same examples.
    fn or(self, stored: Self) -> Self {
        match (self, stored) {
            (
                Self::Read {
                    all,
                    misfits,
                    typed: None,
                },
                Self::Read {
                    all: before, typed, ..
                },
            ) if all == before => Self::Read {
                all,
                misfits,
                typed,
            },
            (new, _) => new,
        }
    }
}

impl fmt::Display for Examples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read {
                all,
                misfits,
                typed,
            } => {
                write!(f, "{all} examples, of which {misfits} do not fit")?;
                match typed {
                    Some(typed) => write!(f, ", {typed} by their types"),
                    None => Ok(()),
                }
            }
            Self::Broken => f.write_str("an example is not read"),
        }
    }
}

impl Outcome {
    fn read(text: &str) -> anyhow::Result<Self> {
        if let Some(rules) = text.strip_prefix("refused: ") {
            return Ok(Self::Refused(
                rules.split(", ").map(str::to_owned).collect(),
            ));
        }
        match text {
            "read" => return Ok(Self::Read),
            "broken" => return Ok(Self::Broken),
            _ => {}
        }
        let (operations, check) = match text.split_once(", ") {
            None => (text, None),
            Some((operations, "compiles")) => (operations, Some(Check::Compiles)),
            Some((operations, "warns")) => (operations, Some(Check::Warns)),
            Some((_, other)) => bail!("there is no result `{other}`"),
        };
        let operations = operations
            .strip_suffix(" operations")
            .and_then(|number| number.parse().ok())
            .with_context(|| format!("there is no result `{text}`"))?;
        Ok(Self::Generated { operations, check })
    }

    fn is_worse_than(&self, stored: &Self) -> bool {
        match (self, stored) {
            (
                Self::Generated { operations, check },
                Self::Generated {
                    operations: before,
                    check: known,
                },
            ) => operations < before || check.is_some() && check < known,
            _ => self.rank() < stored.rank(),
        }
    }

    /// Returns how good an outcome is, from 0 for the worst.
    fn rank(&self) -> usize {
        match self {
            Self::Broken => 0,
            // Of a document that is refused, the generator has said what is wrong.
            Self::Refused(_) => 1,
            Self::Read => 2,
            Self::Generated { .. } => 3,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(rules) => {
                let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
                write!(f, "refused: {}", rules.join(", "))
            }
            Self::Read => f.write_str("read"),
            Self::Generated { operations, check } => {
                write!(f, "{operations} operations")?;
                match check {
                    None => Ok(()),
                    Some(Check::Compiles) => f.write_str(", compiles"),
                    Some(Check::Warns) => f.write_str(", warns"),
                }
            }
            Self::Broken => f.write_str("broken"),
        }
    }
}
