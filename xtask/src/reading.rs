//! How a document is read: what `codegen` and `lint` are told alike.

use contract::LocalCopy;
use contract::model;

#[derive(Debug, clap::Args)]
pub(crate) struct Reading {
    /// Local copy of a document on another host, or of all below an address that ends in `/`; may be repeated
    #[arg(long, value_name = "ADDRESS=PATH")]
    map: Vec<LocalCopy>,
    /// What `format` means: an assertion refuses what is not of it, an annotation describes
    #[arg(long, value_name = "MEANING", value_enum, default_value_t)]
    formats: Formats,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Formats {
    #[default]
    Assertion,
    Annotation,
}

impl Reading {
    /// The same as the reader is told.
    pub(crate) fn options(&self) -> contract::Options {
        let formats = match self.formats {
            Formats::Assertion => model::Formats::Assertion,
            Formats::Annotation => model::Formats::Annotation,
        };
        contract::Options {
            mapping: self.map.iter().cloned().collect(),
            formats,
        }
    }

    /// The same as it was written, defaults aside.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = self
            .map
            .iter()
            .flat_map(|copy| ["--map".to_owned(), copy.to_string()])
            .collect();
        if self.formats == Formats::Annotation {
            words.extend(["--formats".to_owned(), "annotation".to_owned()]);
        }
        words
    }
}
