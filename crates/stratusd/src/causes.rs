//! Errors with their causes, for the log.

use std::error::Error;
use std::fmt;

/// Prints an error and its chain of causes in one line, separated by colons.
#[derive(Debug, Clone, Copy)]
pub struct Causes<'e>(pub &'e (dyn Error + 'static));

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}
