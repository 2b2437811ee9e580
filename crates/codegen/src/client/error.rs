//! The errors of the client pass.

/// The reasons why a client cannot be generated. Each is a fault of the generator, never of the
/// contract.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// progenitor has rejected the document that was made for it.
    #[error("progenitor rejects the document that codegen made for it: {0}")]
    Rejected(#[from] progenitor_impl::Error),
    /// The output of progenitor is not Rust.
    #[error("progenitor's output is not valid Rust: {0}")]
    Unreadable(#[from] syn::Error),
    /// The output of progenitor has another form than that of the version that this crate was
    /// written for.
    #[error("progenitor's output has a new form: expected {0}")]
    Progenitor(&'static str),
}
