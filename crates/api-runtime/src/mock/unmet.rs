//! What is not as expected, for people.

use std::fmt;

/// The number of requests that are written out.
const MOST_SHOWN: usize = 10;

/// What is not as expected: expectations that have had another number of requests, and requests
/// that have met no expectation.
#[derive(Debug, Clone)]
pub struct Unmet {
    expectations: Vec<String>,
    requests: Vec<String>,
    /// The number of requests beside `requests`.
    others: usize,
}

impl Unmet {
    pub(super) fn new(
        expectations: Vec<String>,
        mut requests: Vec<String>,
        forgotten: usize,
    ) -> Self {
        let others = requests.len().saturating_sub(MOST_SHOWN) + forgotten;
        requests.truncate(MOST_SHOWN);
        Self {
            expectations,
            requests,
            others,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.expectations.is_empty() && self.requests.is_empty() && self.others == 0
    }
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the mock was not called as expected")?;
        for line in &self.expectations {
            write!(f, "\n  {line}")?;
        }
        if self.requests.is_empty() && self.others == 0 {
            return Ok(());
        }
        f.write_str("\nrequests without an expectation:")?;
        for line in &self.requests {
            write!(f, "\n  {line}")?;
        }
        match self.others {
            0 => Ok(()),
            others => write!(f, "\n  and {others} more"),
        }
    }
}

impl std::error::Error for Unmet {}
