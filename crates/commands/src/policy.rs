//! The arguments that `lint` and `diff` share: the policy of a contract, and the date.

use std::io::Write;
use std::path::{Path, PathBuf};

use ::policy::{Date, NotFound, Policy};
use anyhow::bail;
use contract::diagnostic;

/// The arguments that decide what counts.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Choice {
    /// The policy [default: contract.toml beside the document, or in a folder above it up to the
    /// root of the git repository]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The date by which the dates of the policy and of the document are judged [default: today, in
    /// UTC]
    #[arg(long, value_name = "DATE", value_parser = date)]
    today: Option<Date>,
}

impl Choice {
    /// Reads the policy of a document. Prints what is wrong with it and returns `None` if it cannot
    /// be used.
    pub(crate) fn read(
        &self,
        document: &Path,
        err: &mut dyn Write,
    ) -> anyhow::Result<Option<Policy>> {
        let found = match &self.policy {
            Some(path) => Policy::load(path),
            None => Policy::find(document),
        };
        match found {
            Ok(policy) => Ok(Some(policy)),
            Err(NotFound::Wrong(wrong)) => {
                let rendered = diagnostic::render(&wrong.sources, &wrong.diagnostics);
                write!(err, "{rendered}")?;
                Ok(None)
            }
            Err(NotFound::Unreadable(path, error)) => {
                bail!("failed to read the policy {}: {error}", path.display())
            }
            Err(NotFound::TooLarge(path)) => {
                bail!("the policy {} has more than a MiB", path.display())
            }
        }
    }

    /// Returns the date by which dates are judged.
    pub(crate) fn today(&self) -> Date {
        self.today.unwrap_or_else(now)
    }
}

/// Returns the date of today, in UTC.
#[expect(
    clippy::disallowed_methods,
    reason = "time comes in here, and --today takes its place in tests"
)]
pub(crate) fn now() -> Date {
    let date = jiff::Timestamp::now()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .date();
    Date {
        year: date.year().unsigned_abs(),
        month: date.month().unsigned_abs(),
        day: date.day().unsigned_abs(),
    }
}

fn date(text: &str) -> Result<Date, String> {
    ::policy::date(text).ok_or_else(|| "write a date such as 2026-12-31".to_owned())
}
