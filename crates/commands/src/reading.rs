//! The arguments that `codegen` and `lint` share: how a document is read.

use std::path::PathBuf;

use contract::LocalCopy;
use contract::model;

/// The arguments that decide how a document is read.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Reading {
    /// A local copy of a document on another host, or of all documents below an address that ends
    /// in `/`; may be repeated
    #[arg(long, value_name = "ADDRESS=PATH")]
    pub(crate) map: Vec<LocalCopy>,
    /// An OpenAPI overlay (1.0 or 1.1) that is applied to the document before it is read; may be
    /// repeated, and the order counts
    #[arg(long, value_name = "FILE")]
    pub(crate) overlay: Vec<PathBuf>,
    /// Whether `format` rejects values (assertion) or only describes them (annotation)
    #[arg(long, value_name = "MEANING", value_enum, default_value_t)]
    pub(crate) formats: Formats,
    /// Read the document as somebody else's: a mistake with one plausible meaning is read in that
    /// meaning and reported as a warning
    #[arg(long)]
    pub(crate) foreign: bool,
}

/// The meaning of the keyword `format`, as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Formats {
    #[default]
    Assertion,
    Annotation,
}

impl Reading {
    /// Returns the options that `contract` reads a document with.
    pub(crate) fn options(&self) -> contract::Options {
        let formats = match self.formats {
            Formats::Assertion => model::Formats::Assertion,
            Formats::Annotation => model::Formats::Annotation,
        };
        contract::Options {
            mapping: self.map.iter().cloned().collect(),
            overlays: self.overlay.clone(),
            formats,
            foreign: self.foreign,
            ..contract::Options::default()
        }
    }

    /// Returns whether no argument says how a document is read.
    pub(crate) fn is_default(&self) -> bool {
        self.words().is_empty()
    }

    /// Returns the arguments of the command line that set these values. Defaults are left out.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = self
            .map
            .iter()
            .flat_map(|copy| ["--map".to_owned(), copy.to_string()])
            .collect();
        for overlay in &self.overlay {
            words.extend(["--overlay".to_owned(), overlay.display().to_string()]);
        }
        if self.formats == Formats::Annotation {
            words.extend(["--formats".to_owned(), "annotation".to_owned()]);
        }
        if self.foreign {
            words.push("--foreign".to_owned());
        }
        words
    }
}
