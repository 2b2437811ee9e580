//! The contracts that `contract.toml` lists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use semver::Version;
use toml::Spanned;

use crate::file::{Contract, Formats};
use crate::read::{Policy, Reading};

/// A contract of `contract.toml`. Its paths begin in the folder of that file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The OpenAPI document.
    pub document: String,
    /// The start of the names of the crates.
    pub name: String,
    /// The folder that the crates are written to.
    pub out: String,
    /// Where the crates find the run time, as the generator's option has it.
    pub runtime: String,
    /// The name of the program that calls the operations from the command line, if there is one.
    pub cli: Option<String>,
    /// Whether a mock is generated, for tests of callers.
    pub mock: bool,
    /// The tags and operation ids to generate; all if there are none.
    pub only: Vec<String>,
    /// The OpenAPI overlays that are applied to the document, in this order.
    pub overlays: Vec<String>,
    /// The local copies of documents on other hosts, by address.
    pub map: BTreeMap<String, String>,
    /// The meaning of the keyword `format`.
    pub formats: Formats,
    /// Whether the document is somebody else's.
    pub foreign: bool,
    /// The versions of crates that have another one than the document, by the end of their names, such
    /// as `types`.
    pub versions: BTreeMap<&'static str, Version>,
}

impl Policy {
    /// Returns the contracts that the file lists, in its order.
    #[must_use]
    pub fn contracts(&self) -> &[Listed] {
        &self.contracts
    }

    /// Returns whether the file lists several contracts. An entry of its policy that matches nothing
    /// in one of them may be about another one.
    pub(crate) fn has_several_contracts(&self) -> bool {
        self.contracts.len() > 1
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn file(&self) -> &Path {
        Path::new(&self.name)
    }

    /// Returns the folder of the file, in which its paths begin.
    #[must_use]
    pub fn folder(&self) -> &Path {
        Path::new(&self.name).parent().unwrap_or(Path::new(""))
    }
}

impl Reading {
    /// Returns the contracts of the file, and reports two with one name.
    pub(crate) fn contracts(&mut self, contracts: Vec<Contract>) -> Vec<Listed> {
        let mut names = BTreeSet::new();
        let listed = contracts.into_iter().map(|contract| {
            self.filled(&contract.name);
            if !names.insert(contract.name.get_ref().clone()) {
                let name = contract.name.get_ref();
                let message = format!("two contracts have the name `{name}`");
                let help = "their crates would have the same names; give one another name";
                self.error(&contract.name.span(), message, help);
            }
            let versions = contract.versions.written();
            let versions = versions.filter_map(|(part, written)| {
                let version = Version::parse(written.get_ref());
                if let Err(error) = &version {
                    let message = format!("this is no semantic version: {error}");
                    self.error(&written.span(), message, "write one such as 1.2.3");
                }
                Some((part, version.ok()?))
            });
            let versions = versions.collect();
            Listed {
                document: contract.document,
                name: Spanned::into_inner(contract.name),
                out: contract.out.unwrap_or_else(|| "crates".to_owned()),
                runtime: contract.runtime.unwrap_or_else(|| "copy".to_owned()),
                cli: contract.cli,
                mock: contract.mock,
                only: contract.only,
                overlays: contract.overlays,
                map: contract.map,
                formats: contract.formats,
                foreign: contract.foreign,
                versions,
            }
        });
        listed.collect()
    }
}
