//! Multipart bodies, which a feature enables: few contracts have one.

use axum::extract::{DefaultBodyLimit, FromRequest, Multipart};
use axum::http::Request;
use http::header;

use super::{Chosen, Inputs};
use crate::server::operation::Body;
use crate::server::rejection::Violation;

impl Inputs<'_> {
    /// Returns the body of an operation that requires a multipart body. Returns `None` after
    /// recording the error.
    pub async fn multipart(&mut self, body: &Body) -> Option<Multipart> {
        match self.choose(body) {
            Chosen::Media(_) => self.multipart_as().await,
            Chosen::Absent => self.missing(),
            Chosen::Unsupported => None,
        }
    }

    /// Returns an optional multipart body: `Some(None)` if it is absent. Returns `None` after
    /// recording the error.
    pub async fn optional_multipart(&mut self, body: &Body) -> Option<Option<Multipart>> {
        match self.choose(body) {
            Chosen::Media(_) => self.multipart_as().await.map(Some),
            Chosen::Absent => Some(None),
            Chosen::Unsupported => None,
        }
    }

    /// Returns the body as a multipart body. Returns `None` after recording that it is too large,
    /// or that its `Content-Type` has no `boundary`.
    pub async fn multipart_as(&mut self) -> Option<Multipart> {
        let stream = self.stream_as()?;
        let mut request = Request::new(stream.into_body());
        if let Some(name) = self.call.parts.headers.get(header::CONTENT_TYPE) {
            request
                .headers_mut()
                .insert(header::CONTENT_TYPE, name.clone());
        }
        // The limit of this call applies to the body already.
        DefaultBodyLimit::disable().apply(&mut request);
        let multipart = Multipart::from_request(request, &()).await;
        if multipart.is_err() {
            let message = "must be multipart with a `boundary` in its content type".to_owned();
            self.violations
                .push(Violation::of_body(String::new(), message));
        }
        multipart.ok()
    }
}
