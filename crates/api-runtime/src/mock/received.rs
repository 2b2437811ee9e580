//! What a mock remembers of the requests that it has received.

use std::fmt::{self, Write as _};

use crate::server::{Operation, Rejection};

/// The longest text that is kept of a request, in bytes.
const LONGEST: usize = 2 << 10;

/// A request that a mock has received.
#[derive(Debug, Clone)]
pub struct Received {
    operation: Option<&'static Operation>,
    request: String,
    /// Why the request has met no expectation.
    unmet: Option<String>,
}

impl Received {
    /// Describes a request, of which no more than the first 2 KiB are kept. The types of the
    /// contract print no secret properties.
    pub(super) fn new(operation: &'static Operation, request: &impl fmt::Debug) -> Self {
        Self {
            operation: Some(operation),
            request: bounded(format_args!("{request:?}")),
            unmet: None,
        }
    }

    /// Describes a request that was rejected before it was read.
    pub(super) fn rejected(rejection: &Rejection) -> Self {
        let (status, message) = (rejection.status.as_u16(), &rejection.message);
        Self {
            operation: rejection.operation,
            request: String::new(),
            unmet: Some(bounded(format_args!("rejected with {status}: {message}"))),
        }
    }

    /// Says why the request has met no expectation.
    pub(super) fn without_expectation(mut self, why: &str) -> Self {
        self.unmet = Some(why.to_owned());
        self
    }

    /// Returns the operation, or `None` if the contract has no operation for the request.
    #[must_use]
    pub fn operation(&self) -> Option<&'static Operation> {
        self.operation
    }

    /// Returns the request as its type prints it, at most the first 2 KiB. Empty for a request that
    /// was rejected before it was read.
    #[must_use]
    pub fn request(&self) -> &str {
        &self.request
    }

    /// Returns why the request has met no expectation, or `None` if it has met one.
    #[must_use]
    pub fn unmet(&self) -> Option<&str> {
        self.unmet.as_deref()
    }
}

impl fmt::Display for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.operation.map_or("no operation", |it| it.id);
        f.write_str(name)?;
        if let Some(why) = &self.unmet {
            write!(f, ": {why}")?;
        }
        if !self.request.is_empty() {
            write!(f, ": {}", self.request)?;
        }
        Ok(())
    }
}

/// Returns the start of a text, with an ellipsis if there is more.
fn bounded(arguments: fmt::Arguments<'_>) -> String {
    let mut text = Bounded(String::new());
    if text.write_fmt(arguments).is_err() {
        text.0.push('…');
    }
    text.0
}

/// A text that takes [`LONGEST`] bytes and refuses more, so that a large request is not written out
/// to its end.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = LONGEST - self.0.len();
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        let end = (0..=room).rev().find(|at| text.is_char_boundary(*at));
        self.0.push_str(&text[..end.unwrap_or_default()]);
        Err(fmt::Error)
    }
}
