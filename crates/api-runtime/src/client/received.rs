//! The response to a call before its body is read.

use std::fmt;
use std::ops::Deref;

use reqwest::Response;

/// The response to a call, whose body is still to be read.
///
/// It derefs to reqwest's response. What reading the body needs to know of the call is beside it and
/// not in its extensions, which would allocate for every call.
pub struct Received {
    response: Response,
    origin: Origin,
}

impl Received {
    pub(super) fn new(response: Response, origin: Origin) -> Self {
        Self { response, origin }
    }

    pub(super) fn into_parts(self) -> (Response, Origin) {
        (self.response, self.origin)
    }
}

impl Deref for Received {
    type Target = Response;

    fn deref(&self) -> &Response {
        &self.response
    }
}

/// Prints no headers, which may have secrets.
impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Received")
            .field("operation", &self.origin.operation)
            .field("status", &self.response.status())
            .finish_non_exhaustive()
    }
}

/// What reading a response needs to know of its call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    /// The id of the operation.
    pub(super) operation: &'static str,
    /// The maximum number of bytes that a body which is read into memory may have.
    pub(super) limit: usize,
}
