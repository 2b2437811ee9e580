//! Answers editors about OpenAPI documents over the language server protocol, while they are typed.
//!
//! Start at [`serve()`]. `session` takes messages and keeps the texts that are open; it does no
//! other work, so that an edit is never late. Three threads do the rest, each for a moment of the
//! texts, and what they make for a moment that has passed is dropped: one answers requests, one
//! publishes diagnostics, and one compares with the base revision. What they know is in `world`.
//!
//! Diagnostics and contracts are those of `contract`, the Rust that is shown is `codegen`'s, and the
//! verdict that of `compatibility`. Deliberately not here: any rule about documents.

mod actions;
mod completion;
mod diagnostics;
mod hover;
mod index;
mod lens;
mod navigate;
mod parsed;
mod position;
mod reading;
mod rename;
mod results;
mod scalar;
mod session;
mod texts;
mod uri;
mod world;

use std::path::{Path, PathBuf};

use contract::{Contract, Sources};

pub use lsp_server::Connection;
pub use session::{Error, serve};

/// What a server works with.
#[derive(Default)]
pub struct Settings {
    /// How documents are read.
    pub options: contract::Options,
    /// What `contract.toml` says about documents; without it, each is read by `options`.
    pub listing: Option<Box<dyn Listing>>,
    /// A document that is checked even if it is not open.
    pub document: Option<PathBuf>,
    /// Returns the date by which `contract.toml` is applied; without one it is not.
    pub today: Option<fn() -> policy::Date>,
    /// The revision that documents are compared with; without one there are no verdicts.
    pub base: Option<Box<dyn Base>>,
}

impl Settings {
    /// Returns how a document is read.
    pub(crate) fn options_of(&self, document: &Path) -> contract::Options {
        let listed = self.listing.as_ref();
        let listed = listed.and_then(|listing| listing.options(document));
        listed.unwrap_or_else(|| self.options.clone())
    }
}

/// The contracts that `contract.toml` lists.
///
/// The file may change at any time, so each call reads it again.
pub trait Listing: Send + Sync {
    /// Returns the documents that the file of a folder lists.
    fn documents(&self, folder: &Path) -> Vec<PathBuf>;

    /// Returns how a document is read, or `None` if it is not listed.
    fn options(&self, document: &Path) -> Option<contract::Options>;
}

/// A revision of documents with which they are compared.
pub trait Base: Send + Sync {
    /// Returns what changes whenever the revision does, such as the id of a commit.
    ///
    /// # Errors
    ///
    /// Returns why there is none, such as that the document is in no repository.
    fn identity(&self, document: &Path) -> Result<String, String>;

    /// Returns the contract of the revision that starts with a document, with its files.
    ///
    /// # Errors
    ///
    /// Returns why it cannot be read.
    fn contract(&self, document: &Path) -> Result<(Contract, Sources), String>;
}

/// Serves an editor over standard input and output until it says that it is done.
///
/// # Errors
///
/// Returns an error if the editor breaks the protocol, or closes the connection without `shutdown`.
pub fn serve_stdio(settings: Settings) -> Result<(), Error> {
    let (connection, threads) = Connection::stdio();
    let served = serve(&connection, settings);
    // The thread that writes ends when nobody can send any longer.
    drop(connection);
    threads.join().map_err(Error::Transport)?;
    served
}
