//! [`Parsing`]: what a request holds until its change begins.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use api_server::server::RequestHead;

/// What a request holds while its body is parsed and checked. A layer around the router puts it into
/// the extensions of the request, and what it holds is dropped when the change of the request
/// begins, or with the request: a change may wait for the database, and must not keep others from
/// what it held.
#[derive(Clone, Default)]
pub struct Parsing(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl Parsing {
    /// Holds a value until the change begins.
    pub fn hold(&self, value: impl Any + Send) {
        self.set(Some(Box::new(value)));
    }

    /// Drops what the current request holds.
    pub(super) fn end() {
        let head = RequestHead::current();
        if let Some(parsing) = head
            .as_ref()
            .and_then(|head| head.extensions().get::<Self>())
        {
            parsing.set(None);
        }
    }

    fn set(&self, value: Option<Box<dyn Any + Send>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = value;
    }
}

impl fmt::Debug for Parsing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parsing").finish_non_exhaustive()
    }
}
