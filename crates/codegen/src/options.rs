//! The options of the generator: the names of the generated crates, and where they find the run
//! time, which is `api-runtime` and `api-macros`.

/// The names of the generated crates, and where they find `api-runtime` and `api-macros`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The start of the names of the crates, such as `api`.
    pub prefix: String,
    /// Where the generated crates find `api-runtime` and `api-macros`.
    pub runtime: Runtime,
}

impl Options {
    /// Creates options for crates outside this workspace, with a copy of `api-runtime` and
    /// `api-macros` beside them.
    #[must_use]
    pub fn new(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            runtime: Runtime::Copy,
        }
    }
}

/// Where generated crates find `api-runtime` and `api-macros`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runtime {
    /// At this path, relative to the folder of a generated crate.
    Path(String),
    /// Beside the generated crates, where a copy is generated as well, with a workspace around all
    /// of them.
    Copy,
}
