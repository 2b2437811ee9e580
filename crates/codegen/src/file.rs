//! The files that a pass returns. Only [`emit`](crate::emit) writes them to a disk.

/// A generated file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The path below the output folder, with forward slashes: `api-types/src/vm.rs`.
    pub path: String,
    /// The text, which ends in a newline.
    pub text: String,
}
