//! Multipart bodies whose parts have a position and no name.

use http::header;

use super::{Chosen, Inputs};
use crate::parts::{self, Content, Encodings, NO_BOUNDARY, PartError, Sequence, boundary_of};
use crate::server::operation::Body;
use crate::server::rejection::Violation;
use crate::server::streams::PartStream;

impl Inputs<'_> {
    /// Decodes the parts of an operation that takes only such a body. Returns `None` after recording
    /// the error.
    pub async fn parts<T: Sequence>(&mut self, body: &Body) -> Option<T> {
        match self.choose(body) {
            Chosen::Media(at) => self.parts_as(body, at).await,
            Chosen::Absent => self.missing(),
            Chosen::Unsupported => None,
        }
    }

    /// Decodes optional parts: `Some(None)` if the body is absent. Returns `None` after recording
    /// the error.
    pub async fn optional_parts<T: Sequence>(&mut self, body: &Body) -> Option<Option<T>> {
        match self.choose(body) {
            Chosen::Media(at) => self.parts_as(body, at).await.map(Some),
            Chosen::Absent => Some(None),
            Chosen::Unsupported => None,
        }
    }

    /// Decodes the body as parts. `at` is the index of its media type in `body`. Returns `None`
    /// after recording the error.
    pub async fn parts_as<T: Sequence>(&mut self, body: &Body, at: usize) -> Option<T> {
        let media = body.media.get(at)?;
        let encodings = media.encodings?;
        let boundary = self.boundary();
        let bytes = self.read().await?;
        let parsed = parts::parse(&bytes, boundary.as_deref(), encodings, media.is_lenient);
        let read = parsed.and_then(T::read);
        read.map_err(|error| self.note(error)).ok()
    }

    /// Returns the parts of an operation that takes only such a body, one by one. Returns `None`
    /// after recording the error.
    pub fn part_stream<T: Content>(&mut self, body: &Body) -> Option<PartStream<T>> {
        match self.choose(body) {
            Chosen::Media(at) => self.part_stream_as(body, at),
            Chosen::Absent => self.missing(),
            Chosen::Unsupported => None,
        }
    }

    /// Returns optional parts one by one: `Some(None)` if the body is absent. Returns `None` after
    /// recording the error.
    pub fn optional_part_stream<T: Content>(
        &mut self,
        body: &Body,
    ) -> Option<Option<PartStream<T>>> {
        match self.choose(body) {
            Chosen::Media(at) => self.part_stream_as(body, at).map(Some),
            Chosen::Absent => Some(None),
            Chosen::Unsupported => None,
        }
    }

    /// Returns the parts of the body one by one. `at` is the index of its media type in `body`.
    /// Returns `None` after recording the error.
    pub fn part_stream_as<T: Content>(&mut self, body: &Body, at: usize) -> Option<PartStream<T>> {
        let media = body.media.get(at)?;
        let encodings: &'static Encodings = media.encodings?;
        let Some(boundary) = self.boundary() else {
            self.note(PartError::new(NO_BOUNDARY));
            return None;
        };
        let bytes = self.stream_as()?;
        Some(PartStream::new(
            Some(&boundary),
            bytes,
            encodings,
            media.is_lenient,
        ))
    }

    fn boundary(&self) -> Option<String> {
        let headers = &self.call.parts.headers;
        headers.get(header::CONTENT_TYPE).and_then(boundary_of)
    }

    fn note(&mut self, error: PartError) {
        self.violations
            .push(Violation::of_body(error.pointer, error.message));
    }
}
