//! The options of the generator: the names of the generated crates, and where they find the run
//! time, which is `stratus-runtime` and its derives, `stratus-runtime-macros`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use semver::Version;

use crate::generate::check_prefix;
use crate::manifest::runtime_version;
use crate::surface::Crate;

/// The names of the generated crates, and where they find the run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The start of the names of the generated crates: `api` for `api-types`, `api-server` and so on.
    pub prefix: String,
    /// Where the generated crates find the run time.
    pub runtime: Runtime,
    /// The name of the program that calls the operations from the command line, or `None` if none
    /// is generated.
    pub cli: Option<String>,
    /// Whether a mock is generated, for tests of callers.
    pub mock: bool,
    /// The versions of crates that have another one than the contract. The command line has that of the
    /// client, and the mock that of the server.
    pub versions: BTreeMap<Crate, Version>,
}

impl Options {
    /// Creates options for crates with a copy of the run time beside them.
    #[must_use]
    pub fn new(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            runtime: Runtime::Copy,
            cli: None,
            mock: false,
            versions: BTreeMap::new(),
        }
    }
}

/// Where generated crates find the run time: `stratus-runtime` with `stratus-runtime-macros`.
///
/// The version found there must be at least that of the generator, and compatible with it in the
/// sense of semantic versioning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runtime {
    /// In copies beside the generated crates, whose names begin like theirs.
    Copy,
    /// In copies beside the generated crates, whose names begin with this prefix, so that the
    /// crates of several contracts can share them.
    SharedCopy(String),
    /// On crates.io, in this version or a later compatible one.
    Version(Version),
    /// In a git repository.
    Git {
        /// The address of the repository.
        url: String,
        /// The commit, or the name of one.
        revision: String,
    },
    /// In this folder, by its path from the folder of a generated crate.
    Path(String),
}

impl Runtime {
    /// Returns the prefix of the names of the copies of the run time, beside crates whose names
    /// begin with `prefix`. Returns `None` if the run time is not copied.
    pub(crate) fn copied<'a>(&'a self, prefix: &'a str) -> Option<&'a str> {
        match self {
            Self::Copy => Some(prefix),
            Self::SharedCopy(prefix) => Some(prefix),
            Self::Version(_) | Self::Git { .. } | Self::Path(_) => None,
        }
    }

    /// Returns the run time of a version on crates.io.
    ///
    /// # Errors
    ///
    /// Returns an error if crates that this generator writes cannot use that version.
    pub fn version(text: &str) -> Result<Self, RuntimeError> {
        let version = Version::parse(text).map_err(|_| RuntimeError::Version(text.to_owned()))?;
        let own = runtime_version();
        let wanted = semver::VersionReq::parse(&format!("^{own}"));
        if wanted.is_ok_and(|wanted| wanted.matches(&version)) {
            Ok(Self::Version(version))
        } else {
            Err(RuntimeError::Unfit {
                version,
                own: own.to_string(),
            })
        }
    }
}

impl FromStr for Runtime {
    type Err = RuntimeError;

    /// Parses `copy`, `copy=PREFIX`, `version`, `version=1.2.3`, `git=ADDRESS#REVISION` or
    /// `path=FOLDER`.
    fn from_str(text: &str) -> Result<Self, RuntimeError> {
        let (kind, value) = match text.split_once('=') {
            Some((kind, value)) => (kind, Some(value)),
            None => (text, None),
        };
        match (kind, value) {
            ("copy", None) => Ok(Self::Copy),
            ("copy", Some(prefix)) => {
                check_prefix(prefix).map_err(|_| RuntimeError::Prefix(prefix.to_owned()))?;
                Ok(Self::SharedCopy(prefix.to_owned()))
            }
            ("version", version) => Self::version(version.unwrap_or(runtime_version())),
            ("git", Some(value)) => match value.rsplit_once('#') {
                Some((url, revision)) if !url.is_empty() && !revision.is_empty() => Ok(Self::Git {
                    url: url.to_owned(),
                    revision: revision.to_owned(),
                }),
                _ => Err(RuntimeError::Git(value.to_owned())),
            },
            ("path", Some(folder)) if !folder.is_empty() => Ok(Self::Path(folder.to_owned())),
            _ => Err(RuntimeError::Form(text.to_owned())),
        }
    }
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Copy => f.write_str("copy"),
            Self::SharedCopy(prefix) => write!(f, "copy={prefix}"),
            Self::Version(version) => write!(f, "version={version}"),
            Self::Git { url, revision } => write!(f, "git={url}#{revision}"),
            Self::Path(path) => write!(f, "path={path}"),
        }
    }
}

/// The reasons why a run time cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The text has no form that a run time has.
    #[error(
        "`{0}` is no run time: write copy, copy=PREFIX, version, version=1.2.3, \
         git=ADDRESS#REVISION or path=FOLDER"
    )]
    Form(String),
    /// A version is not one of semantic versioning.
    #[error("`{0}` is not a version: write one such as 1.2.3")]
    Version(String),
    /// The version lacks what the generated crates call.
    #[error(
        "generated crates need the run time {own}, or a later version compatible with it; {version} is not"
    )]
    Unfit {
        /// The version that was asked for.
        version: Version,
        /// The version that the generator writes crates for.
        own: String,
    },
    /// A git source has no revision.
    #[error(
        "`{0}` names no commit: write ADDRESS#REVISION, so that each build finds the same run time"
    )]
    Git(String),
    /// A prefix cannot begin the name of a crate.
    #[error(
        "`{0}` cannot begin a crate's name: write lower-case letters, digits and single hyphens, a letter first"
    )]
    Prefix(String),
}
