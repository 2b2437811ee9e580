//! What a pass yields: files, as paths and texts. Only [`emit`](crate::emit) touches a disk.

/// A file of a generated crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Path below the output folder, with forward slashes: `api-types/src/vm.rs`.
    pub path: String,
    /// The text, ending in a newline.
    pub text: String,
}
