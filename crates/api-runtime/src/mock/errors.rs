//! Renders the bodies of rejections, and remembers each rejection for the verification of the mock.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::received::Received;
use super::state::Shared;
use crate::server::{Rejection, RejectionKind, RenderRejection};

/// A renderer of rejections, which remembers each of them for the verification.
pub struct Errors<B> {
    shared: Arc<Shared>,
    render: Arc<dyn Fn(&Rejection) -> (B, &'static str) + Send + Sync>,
}

impl<B> Errors<B> {
    pub(super) fn new(shared: &Arc<Shared>, errors: impl RenderRejection<Body = B>) -> Self {
        Self {
            shared: Arc::clone(shared),
            render: Arc::new(move |rejection| errors.render_with_type(rejection)),
        }
    }

    /// Remembers a rejection, unless the expectations have remembered the request already, or the
    /// test wants it.
    fn remember(&self, rejection: &Rejection) {
        let is_remembered = match rejection.kind {
            RejectionKind::NotImplemented => true,
            RejectionKind::MissingCredentials
            | RejectionKind::InvalidCredentials
            | RejectionKind::Forbidden
            | RejectionKind::TooManyRequests
            | RejectionKind::Unavailable => self.shared.credentials().is_some(),
            _ => false,
        };
        if !is_remembered {
            self.shared.remember(Received::rejected(rejection));
        }
    }
}

impl<B: Serialize + 'static> RenderRejection for Errors<B> {
    type Body = B;

    fn render(&self, rejection: &Rejection) -> B {
        self.render_with_type(rejection).0
    }

    fn render_with_type(&self, rejection: &Rejection) -> (B, &'static str) {
        let rejection = explained(rejection);
        self.remember(&rejection);
        (self.render)(&rejection)
    }
}

/// Returns a rejection in words for somebody who tests a caller.
fn explained(rejection: &Rejection) -> Cow<'_, Rejection> {
    let message = match rejection.kind {
        RejectionKind::NotImplemented => "the mock has no expectation that accepts this request",
        RejectionKind::Internal => {
            "a function of the test panicked, or its response cannot be written"
        }
        _ => return Cow::Borrowed(rejection),
    };
    let mut rejection = rejection.clone();
    rejection.message = message.into();
    Cow::Owned(rejection)
}

impl<B> Clone for Errors<B> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            render: Arc::clone(&self.render),
        }
    }
}

impl<B> fmt::Debug for Errors<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Errors")
    }
}
