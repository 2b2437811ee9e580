//! What generated requests and responses implement; the derives of the same names write the
//! implementations.

use axum::response::{IntoResponse, Response};

use super::call::Call;
use super::inputs::Inputs;
use super::operation::{Body, ListedResponse, Media, Operation, Parameter, SecurityRequirements};
use super::rejection::Rejected;

/// A type that holds the parameters and the body of an operation's request.
///
/// The derive takes `#[parameter(path)]`, `#[parameter(query, default = 10)]`,
/// `#[body(json, required)]` and `#[upgrade]` on fields.
pub trait Request: Sized {
    /// The parameters, in the order of the fields.
    const PARAMETERS: &'static [Parameter];
    /// The body, if there is one.
    const BODY: Option<Body>;

    /// Reads the request. A rejection names the violations of parameters and body together, or else
    /// says why the body cannot be read.
    fn read(call: &mut Call) -> impl Future<Output = Result<Self, Rejected>> + Send;
}

impl Operation {
    /// Returns the description of an operation that takes a request of type `R`, and has nothing
    /// else: generated crates set the other fields.
    #[must_use]
    pub const fn of<R: Request>() -> Self {
        Self {
            parameters: R::PARAMETERS,
            body: R::BODY,
            ..Self::unknown_route(SecurityRequirements::NONE)
        }
    }
}

/// A type that holds a request body of one of several media types: an enum with a variant for each.
///
/// The derive takes `#[body(json)]` or another media type on each variant.
pub trait RequestBody: Sized {
    /// The media types, in the order of the variants.
    const MEDIA: &'static [Media];

    /// Decodes a body whose media type is at index `at` of `MEDIA`. Returns `None` after recording
    /// the error in `inputs`.
    fn read(
        inputs: &mut Inputs<'_>,
        body: &Body,
        at: usize,
    ) -> impl Future<Output = Option<Self>> + Send;
}

/// A type that holds one of the responses that a handler may return: an enum with a variant for
/// each.
///
/// The derive takes a status such as `#[response(404)]` on each variant, and implements
/// [`IntoResponse`] and the conversions from what the variants hold.
pub trait Responses: IntoResponse {
    /// The descriptions of the responses, in the order of the variants.
    const LISTED: &'static [ListedResponse];
}

/// A type that holds what a response has besides its status: a body and headers, or a body of one
/// of several media types.
///
/// The derive takes `#[body(json)]` and `#[header(name = "ETag", required)]` on the fields of a
/// struct, and `#[body(json)]` on the variants of an enum.
pub trait ResponseParts: Sized {
    /// The media types of the body; empty for no body.
    const MEDIA: &'static [Media];
    /// The descriptions of the headers.
    const HEADERS: &'static [Parameter];

    /// Converts the value into the response that `listed` describes.
    fn respond(self, listed: ListedResponse) -> Response;
}

impl ListedResponse {
    /// Sets the media types and headers to those of `T`.
    #[must_use]
    pub const fn parts<T: ResponseParts>(mut self) -> Self {
        self.media = T::MEDIA;
        self.headers = T::HEADERS;
        self
    }
}
