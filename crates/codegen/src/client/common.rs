//! The error responses that every operation of a contract has in common. They are documented once,
//! on the page of the client crate.

use super::responses;
use super::text;
use crate::ir::Api;

/// The heading of the table, and the fragment that links to it.
const HEADING: &str = "Responses of every operation";
const FRAGMENT: &str = "responses-of-every-operation";

/// The fewest operations, and the fewest responses, for which a table of their own is worth a link.
const FEWEST: usize = 3;

/// The rows of the table of responses that every operation has, with the same words.
pub(super) struct CommonResponses {
    rows: Vec<String>,
}

impl CommonResponses {
    /// Finds the error responses that every operation lists with the same body and description.
    pub(super) fn new(api: &Api<'_>) -> Self {
        let mut operations = api
            .operations
            .iter()
            .map(|operation| text::rows(api, &responses::errors(api, operation)));
        let mut rows = operations.next().unwrap_or_default();
        for others in operations {
            rows.retain(|row| others.contains(row));
        }
        if api.operations.len() < FEWEST || rows.len() < FEWEST {
            rows.clear();
        }
        Self { rows }
    }

    /// Returns whether the table has this row.
    pub(super) fn contains(&self, row: &str) -> bool {
        self.rows.iter().any(|common| common == row)
    }

    /// Returns the link to the table for the docs of an operation, or `None` without a table.
    pub(super) fn link(&self) -> Option<String> {
        let words = HEADING.to_lowercase();
        (!self.rows.is_empty()).then(|| format!("Also the [{words}](crate#{FRAGMENT})."))
    }

    /// Returns the table for the docs of the crate, or `None` if operations have too little in
    /// common.
    pub(super) fn table(&self) -> Option<String> {
        (!self.rows.is_empty()).then(|| {
            format!(
                "# {HEADING}\n\n{}\n{}",
                text::TABLE_HEAD,
                self.rows.join("\n")
            )
        })
    }
}
