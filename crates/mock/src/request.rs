//! Reads a request by the descriptions of its operation, in the order of generated servers.

use api_runtime::server::{
    Body, ByteStream, Bytes, Call, Inputs, ItemStream, Media, Multipart, PartStream, Rejected,
    Rejection, RejectionKind, RequestBody,
};
use codegen::ir::{self, Api, MediaKind, PartList};
use contract::model::Location;
use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::time::timeout;

use crate::bounds::STREAM_TIMEOUT;
use crate::describe;
use crate::parts::Checked;
use crate::types::{Decoded, Expected, Shape, Types};

/// How much of a request is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The whole request.
    Whole,
    /// The head of the request, and the media type of its body, which is not here yet.
    Head,
    /// The parameters of the request alone.
    Parameters,
}

/// What the requests of an operation hold.
pub(crate) struct Wanted {
    types: &'static Types,
    parameters: Vec<Shape>,
    body: Option<&'static [Part]>,
}

/// A media type of a request body.
pub(crate) struct Part {
    name: &'static str,
    kind: MediaKind,
    shape: Shape,
    parts: Option<&'static PartList>,
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
        let body = operation.body.as_ref();
        let body = body.map(|body| parts(types.api, &body.media, body.required));
        Self {
            types,
            parameters: parameters.collect(),
            body: body.flatten(),
        }
    }

    /// Returns what a response holds, whose headers and body are read like those of a request.
    pub(crate) fn of_response(
        types: &'static Types,
        headers: &[&'static ir::Parameter],
        media: &'static [ir::Media],
    ) -> Self {
        let headers = headers.iter();
        let parameters = headers.map(|header| Shape::of(&header.ty, !header.required));
        Self {
            types,
            parameters: parameters.collect(),
            body: parts(types.api, media, true),
        }
    }

    /// Returns whether a body with this content type is checked as a whole, and not passed on as a
    /// stream.
    pub(crate) fn checks_body(&self, content_type: Option<&str>) -> bool {
        let is_named = |part: &Part| content_type.is_some_and(|name| includes(part.name, name));
        match self.body {
            None => false,
            Some([only]) => only.is_checked(),
            Some(parts) => parts.iter().any(|part| part.is_checked() && is_named(part)),
        }
    }

    /// Reads the request, and returns its body if that is JSON.
    ///
    /// # Errors
    ///
    /// Returns the rejection of a request that does not fit the contract.
    pub(crate) async fn read(
        &self,
        call: &mut Call,
        reading: Reading,
    ) -> Result<Option<Value>, Rejected> {
        let operation = call.operation();
        let mut inputs = call.inputs();
        for (parameter, shape) in operation.parameters.iter().zip(&self.parameters) {
            self.expected(*shape)
                .sync_scope(|| inputs.take::<Decoded>(parameter));
        }
        let mut unread = None;
        if let (Some(body), Some(parts)) = (&operation.body, self.body)
            && reading != Reading::Parameters
        {
            if reading == Reading::Head && parts.iter().any(Part::is_checked) {
                // The body is not here yet, but its content type can be refused already.
                inputs.choose(body);
            } else {
                unread = self.body(&mut inputs, body, parts).await;
            }
        }
        inputs.finish(|| Some(()))?;
        match unread {
            Some(Unread::Json(value)) => Ok(Some(value)),
            Some(unread) if reading == Reading::Whole => {
                // Nothing else reads the body, and only reading finds out whether it keeps to its
                // limit.
                let drained = timeout(STREAM_TIMEOUT, unread.drain()).await;
                drained.map(|()| None).map_err(|_| {
                    let message = "the body did not arrive in time";
                    Box::new(Rejection::new(RejectionKind::RequestTimeout, message))
                })
            }
            Some(_) | None => Ok(None),
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
                let read = expected.scope(inputs.json::<Decoded>(body, schemas));
                return read.await.map(|decoded| Unread::Json(decoded.into_value()));
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
            (MediaKind::Parts, true) => {
                let reading = inputs.parts::<Checked>(body);
                Checked::scope(self.types, only.parts?, reading).await?;
            }
            (MediaKind::Parts, false) => {
                let reading = inputs.optional_parts::<Checked>(body);
                Checked::scope(self.types, only.parts?, reading).await?;
            }
            (MediaKind::PartStream, true) => {
                return inputs.part_stream(body).map(Unread::Parts);
            }
            (MediaKind::PartStream, false) => {
                return inputs.optional_part_stream(body)?.map(Unread::Parts);
            }
        }
        None
    }
}

impl Part {
    /// Returns whether generated servers check a body of the media type before they hand it over.
    fn is_checked(&self) -> bool {
        match self.kind {
            MediaKind::Json | MediaKind::Form | MediaKind::Text | MediaKind::Parts => true,
            MediaKind::Multipart
            | MediaKind::PartStream
            | MediaKind::Bytes
            | MediaKind::EventStream
            | MediaKind::Items
            | MediaKind::TypedEvents => false,
        }
    }
}

/// Returns whether a listed media type, which may be a range such as `image/*`, includes that of a
/// content type.
pub(crate) fn includes(listed: &str, content_type: &str) -> bool {
    let essence = |name: &str| {
        let name = name.split(';').next().unwrap_or_default();
        name.trim().to_ascii_lowercase()
    };
    let (listed, name) = (essence(listed), essence(content_type));
    let range = listed.strip_suffix('*');
    listed == name || listed == "*/*" || range.is_some_and(|range| name.starts_with(range))
}

/// Returns how a body of each media type is read, or `None` if there is no body.
fn parts(
    api: &'static Api<'static>,
    media: &'static [ir::Media],
    is_required: bool,
) -> Option<&'static [Part]> {
    // The `Option` of a body that may be left out is around the choice of the media type, unless
    // there is only one.
    let is_optional = media.len() == 1 && !is_required;
    let parts = media.iter().map(|media| {
        let shape = match (media.kind, describe::pointer(api, media)) {
            (MediaKind::Json, Some(pointer)) => Shape::Compiled(pointer, is_optional),
            _ => Shape::of(media.ty.as_ref().unwrap_or(&ir::TypeRef::Any), is_optional),
        };
        Part {
            name: &media.name,
            kind: media.kind,
            shape,
            parts: media.parts.as_ref(),
        }
    });
    (!media.is_empty()).then(|| &*Vec::leak(parts.collect()))
}

/// A body: what was read of it, or that generated servers hand it over unread.
pub(crate) enum Unread {
    /// The body was read, and is no JSON.
    Nothing,
    /// The body was read as JSON.
    Json(Value),
    Bytes(ByteStream),
    Multipart(Multipart),
    Items(ItemStream<Value>),
    Parts(PartStream<Bytes>),
}

impl Unread {
    /// Reads and drops the rest, as far as its limit allows, so that a body that is too large is
    /// rejected.
    async fn drain(self) {
        match self {
            Self::Nothing | Self::Json(_) => {}
            Self::Bytes(mut bytes) => while let Some(Ok(_)) = bytes.next().await {},
            Self::Multipart(mut parts) => {
                while let Ok(Some(mut field)) = parts.next_field().await {
                    while let Ok(Some(_)) = field.chunk().await {}
                }
            }
            Self::Items(mut items) => while items.next().await.is_some() {},
            Self::Parts(mut parts) => while parts.next().await.is_some() {},
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
                let read = expected.scope(reading).await;
                read.map(|decoded| Self::Json(decoded.into_value()))
            }
            MediaKind::Form => {
                expected.scope(inputs.form_as::<Decoded>(body, at)).await?;
                Some(Self::Nothing)
            }
            MediaKind::Text => {
                expected.scope(inputs.text_as::<Decoded>(body)).await?;
                Some(Self::Nothing)
            }
            MediaKind::Multipart => inputs.multipart_as().await.map(Self::Multipart),
            MediaKind::Bytes | MediaKind::EventStream => inputs.stream_as().map(Self::Bytes),
            MediaKind::Items | MediaKind::TypedEvents => inputs.items_as(body, at).map(Self::Items),
            MediaKind::Parts => {
                let reading = inputs.parts_as::<Checked>(body, at);
                Checked::scope(types, part.parts?, reading).await?;
                Some(Self::Nothing)
            }
            MediaKind::PartStream => inputs.part_stream_as(body, at).map(Self::Parts),
        }
    }
}
