//! `lsp`: answers an editor about documents while they are typed.

use std::path::{Path, PathBuf};

use contract::{Contract, Sources};
use language_server::{Base, Settings, serve_stdio};

use crate::exit::Exit;
use crate::git;
use crate::policy;
use crate::reading::Reading;

/// Answer an editor about OpenAPI documents, over standard input and output
///
/// An editor starts this by itself: see docs/editor.md.
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
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(arguments: &Arguments) -> Exit {
    let options = arguments.reading.options();
    let settings = Settings {
        document: arguments.contract.clone(),
        today: Some(policy::now),
        base: Some(Box::new(Revision {
            revision: arguments.base.clone(),
            options: options.clone(),
        })),
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

/// A revision of git.
struct Revision {
    revision: String,
    options: contract::Options,
}

impl Base for Revision {
    fn identity(&self, document: &Path) -> Result<String, String> {
        git::commit(document, &self.revision).map_err(|error| format!("{error:#}"))
    }

    fn contract(&self, document: &Path) -> Result<(Contract, Sources), String> {
        let checkout =
            git::checkout(document, &self.revision).map_err(|error| format!("{error:#}"))?;
        let loaded = contract::load_with(&checkout.document, &self.options);
        let contract = loaded.contract;
        contract
            .map(|contract| (contract, loaded.sources))
            .ok_or_else(|| format!("the document of `{}` has errors", self.revision))
    }
}
