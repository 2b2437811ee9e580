//! Reads a request by the descriptions of its operation, in the order of generated servers.

use api_runtime::server::{
    Body, ByteStream, Call, Inputs, ItemStream, Media, Multipart, Rejected, Rejection,
    RejectionKind, RequestBody,
};
use codegen::ir::{self, Api, MediaKind};
use contract::model::Location;
use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::time::timeout;

use crate::bounds::STREAM_TIMEOUT;
use crate::describe;
use crate::types::{Decoded, Expected, Shape, Types};

/// What the requests of an operation hold.
pub(crate) struct Wanted {
    types: &'static Types,
    parameters: Vec<Shape>,
    body: Option<&'static [Part]>,
}

/// A media type of a request body.
pub(crate) struct Part {
    kind: MediaKind,
    shape: Shape,
}

tokio::task_local! {
    /// The media types of the body that is read.
    static PARTS: (&'static Types, &'static [Part]);
}

impl Wanted {
    /// Returns what the requests of an operation hold.
    pub(crate) fn of(types: &'static Types, operation: &'static ir::Operation) -> Self {
        let parameters = operation.parameters.iter().map(|parameter| {
            let is_optional = !parameter.required
                && parameter.location != Location::Path
                && parameter.default.is_none();
            Shape::of(&parameter.ty, is_optional)
        });
        let body = operation
            .body
            .as_ref()
            .filter(|body| !body.media.is_empty())
            .map(|body| &*Vec::leak(parts(types.api, body)));
        Self {
            types,
            parameters: parameters.collect(),
            body,
        }
    }

    /// Reads the whole request.
    ///
    /// # Errors
    ///
    /// Returns the rejection of a request that does not fit the contract.
    pub(crate) async fn read(&self, call: &mut Call) -> Result<(), Rejected> {
        let operation = call.operation();
        let mut inputs = call.inputs();
        for (parameter, shape) in operation.parameters.iter().zip(&self.parameters) {
            self.expected(*shape)
                .sync_scope(|| inputs.take::<Decoded>(parameter));
        }
        let mut unread = None;
        if let (Some(body), Some(parts)) = (&operation.body, self.body) {
            unread = self.body(&mut inputs, body, parts).await;
        }
        inputs.finish(|| Some(()))?;
        match unread {
            Some(unread) => timeout(STREAM_TIMEOUT, unread.drain()).await.map_err(|_| {
                let message = "the body did not arrive in time";
                Box::new(Rejection::new(RejectionKind::RequestTimeout, message))
            }),
            None => Ok(()),
        }
    }

    fn expected(&self, shape: Shape) -> Expected {
        Expected {
            types: self.types,
            shape,
        }
    }

    async fn body(
        &self,
        inputs: &mut Inputs<'_>,
        body: &'static Body,
        parts: &'static [Part],
    ) -> Option<Unread> {
        let [only] = parts else {
            let reading = async {
                if body.required {
                    inputs.one_of::<Unread>(body).await
                } else {
                    inputs.optional_one_of::<Unread>(body).await.flatten()
                }
            };
            return PARTS.scope((self.types, parts), reading).await;
        };
        let expected = self.expected(only.shape);
        let schemas = self.types.schemas;
        match (only.kind, body.required) {
            (MediaKind::Json, _) => {
                expected
                    .scope(inputs.json::<Decoded>(body, schemas))
                    .await?;
            }
            (MediaKind::Form, _) => {
                expected.scope(inputs.form::<Decoded>(body)).await?;
            }
            (MediaKind::Text, _) => {
                expected.scope(inputs.text::<Decoded>(body)).await?;
            }
            (MediaKind::Multipart, true) => {
                return inputs.multipart(body).await.map(Unread::Multipart);
            }
            (MediaKind::Multipart, false) => {
                let parts = inputs.optional_multipart(body).await?;
                return parts.map(Unread::Multipart);
            }
            (MediaKind::Bytes | MediaKind::EventStream, true) => {
                return inputs.stream(body).map(Unread::Bytes);
            }
            (MediaKind::Bytes | MediaKind::EventStream, false) => {
                return inputs.optional_stream(body)?.map(Unread::Bytes);
            }
            (MediaKind::Items | MediaKind::TypedEvents, true) => {
                return inputs.items(body).map(Unread::Items);
            }
            (MediaKind::Items | MediaKind::TypedEvents, false) => {
                return inputs.optional_items(body)?.map(Unread::Items);
            }
        }
        None
    }
}

/// Returns how a body of each media type is read.
fn parts(api: &'static Api<'static>, body: &'static ir::Body) -> Vec<Part> {
    // The `Option` of a body that may be left out is around the choice of the media type, unless
    // there is only one.
    let is_optional = body.media.len() == 1 && !body.required;
    let parts = body.media.iter().map(|media| {
        let shape = match (media.kind, describe::pointer(api, media)) {
            (MediaKind::Json, Some(pointer)) => Shape::Compiled(pointer, is_optional),
            _ => Shape::of(media.ty.as_ref().unwrap_or(&ir::TypeRef::Any), is_optional),
        };
        Part {
            kind: media.kind,
            shape,
        }
    });
    parts.collect()
}

/// A body that generated servers hand over unread.
pub(crate) enum Unread {
    /// It has been read after all.
    Nothing,
    Bytes(ByteStream),
    Multipart(Multipart),
    Items(ItemStream<Value>),
}

impl Unread {
    /// Reads and drops the rest, as far as its limit allows, so that a body that is too large is
    /// rejected.
    async fn drain(self) {
        match self {
            Self::Nothing => {}
            Self::Bytes(mut bytes) => while let Some(Ok(_)) = bytes.next().await {},
            Self::Multipart(mut parts) => {
                while let Ok(Some(mut field)) = parts.next_field().await {
                    while let Ok(Some(_)) = field.chunk().await {}
                }
            }
            Self::Items(mut items) => while items.next().await.is_some() {},
        }
    }
}

impl RequestBody for Unread {
    const MEDIA: &'static [Media] = &[];

    async fn read(inputs: &mut Inputs<'_>, body: &Body, at: usize) -> Option<Self> {
        let (types, parts) = PARTS.try_with(|parts| *parts).ok()?;
        let part = parts.get(at)?;
        let expected = Expected {
            types,
            shape: part.shape,
        };
        match part.kind {
            MediaKind::Json => {
                let reading = inputs.json_as::<Decoded>(body, at, types.schemas);
                expected.scope(reading).await?;
                Some(Self::Nothing)
            }
            MediaKind::Form => {
                expected.scope(inputs.form_as::<Decoded>(body)).await?;
                Some(Self::Nothing)
            }
            MediaKind::Text => {
                expected.scope(inputs.text_as::<Decoded>(body)).await?;
                Some(Self::Nothing)
            }
            MediaKind::Multipart => inputs.multipart_as().await.map(Self::Multipart),
            MediaKind::Bytes | MediaKind::EventStream => inputs.stream_as().map(Self::Bytes),
            MediaKind::Items | MediaKind::TypedEvents => inputs.items_as(body, at).map(Self::Items),
        }
    }
}
