//! `lsp`: answers an editor about documents while they are typed.

use std::path::{Path, PathBuf};

use contract::{Contract, Sources};
use language_server::{Base, Listing, Settings, serve_stdio};

use crate::contracts::{self, Chosen};
use crate::exit::Exit;
use crate::git;
use crate::policy;
use crate::reading::Reading;

/// Answer an editor about OpenAPI documents, over standard input and output
///
/// An editor starts this by itself: see docs/editor.md.
///
/// A document that contract.toml lists is read as its entry says, unless an argument says how
/// documents are read; then all are read in that way.
///
/// Exit codes: 0 the editor ended the session, 1 it broke the protocol or went away, 2 the arguments
/// are wrong.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A document that is checked even if it is not open [default: openapi.yaml in the editor's
    /// folder]
    #[arg(long, value_name = "FILE")]
    contract: Option<PathBuf>,
    /// The git revision that documents are compared with
    #[arg(long, value_name = "REVISION", default_value = "origin/main")]
    base: String,
    /// Compare with no revision, so that git is not started: the settings of a repository can name
    /// commands that git starts, so editors give this for folders that nobody has trusted
    #[arg(long)]
    no_git: bool,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(arguments: &Arguments) -> Exit {
    let options = arguments.reading.options();
    let is_listed = arguments.reading.is_default();
    let settings = Settings {
        listing: is_listed.then(|| Box::new(Listed) as Box<dyn Listing>),
        document: arguments.contract.clone(),
        today: Some(policy::now),
        base: (!arguments.no_git).then(|| {
            let base: Box<dyn Base> = Box::new(Revision {
                name: arguments.base.clone(),
                options: options.clone(),
                is_listed,
            });
            base
        }),
        options,
    };
    match serve_stdio(settings) {
        Ok(()) => Exit::Fresh,
        Err(error) => {
            eprintln!("error: {error}");
            Exit::Failed
        }
    }
}

/// The contracts of `contract.toml`.
struct Listed;

impl Listing for Listed {
    fn documents(&self, folder: &Path) -> Vec<PathBuf> {
        let listed = contracts::around(folder).into_iter();
        listed.map(|chosen| chosen.document).collect()
    }

    fn options(&self, document: &Path) -> Option<contract::Options> {
        let identity = contract::identity(document);
        let is_it = |chosen: &Chosen| contract::identity(&chosen.document) == identity;
        // Outside of a repository, the file of the current folder may list a document below it.
        let folders = [document.parent()?, Path::new("")];
        let mut listed = folders.into_iter().flat_map(contracts::around);
        Some(listed.find(is_it)?.reading.options())
    }
}

/// A revision of git.
struct Revision {
    name: String,
    options: contract::Options,
    /// Whether `contract.toml` says how documents are read.
    is_listed: bool,
}

impl Base for Revision {
    fn identity(&self, document: &Path) -> Result<String, String> {
        git::commit(document, &self.name).map_err(|error| format!("{error:#}"))
    }

    fn contract(&self, document: &Path) -> Result<(Contract, Sources), String> {
        let checkout = git::checkout(document, &self.name).map_err(|error| format!("{error:#}"))?;
        // By the entry and the overlays of today, as `diff` reads it.
        let listed = self.is_listed.then(|| Listed.options(document)).flatten();
        let options = contract::Options {
            revision: Some(checkout.revision.clone()),
            ..listed.unwrap_or_else(|| self.options.clone())
        };
        let loaded = contract::load_with(&checkout.document, &options);
        let contract = loaded.contract;
        contract
            .map(|contract| (contract, loaded.sources))
            .ok_or_else(|| format!("the document of `{}` has errors", self.name))
    }
}
