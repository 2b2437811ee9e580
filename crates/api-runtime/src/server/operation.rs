//! Descriptions of operations: the values that the router serves by and that the document is
//! re-derived from.

use http::StatusCode;

use crate::parts::Encodings;

#[cfg(feature = "utoipa")]
use super::schema_source::SchemaSource;

/// The description of one operation of the contract.
#[derive(Debug)]
pub struct Operation {
    /// The id, as the contract spells it.
    pub id: &'static str,
    /// The HTTP method.
    pub method: Method,
    /// The path template, such as `/pets/{pet_id}`.
    pub path: &'static str,
    /// The tag.
    pub tag: Option<&'static str>,
    /// The path, query, header and cookie parameters.
    pub parameters: &'static [Parameter],
    /// The request body, if there is one.
    pub body: Option<Body>,
    /// The responses that a handler may return as `Ok`.
    pub responses: &'static [ListedResponse],
    /// The responses that a handler may return as `Err`.
    pub errors: &'static [ListedResponse],
    /// The statuses of the responses that the router makes by itself, and no handler returns.
    pub rejections: &'static [u16],
    /// The value of `Deprecation` in each response (RFC 9745), such as `@1767225600`, if the operation
    /// is deprecated and the contract says since when.
    pub deprecation: Option<&'static str>,
    /// The value of `Sunset` in each response (RFC 8594), if the contract says when the operation
    /// ends.
    pub sunset: Option<&'static str>,
    /// The security requirements.
    pub security: SecurityRequirements,
}

/// The method of an operation, as requests spell it.
///
/// `http::Method` has no constants for methods that the contract alone knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Method(&'static str);

#[expect(missing_docs, reason = "the constants are HTTP's methods")]
impl Method {
    pub const GET: Self = Self("GET");
    pub const PUT: Self = Self("PUT");
    pub const POST: Self = Self("POST");
    pub const DELETE: Self = Self("DELETE");
    pub const OPTIONS: Self = Self("OPTIONS");
    pub const HEAD: Self = Self("HEAD");
    pub const PATCH: Self = Self("PATCH");
    pub const TRACE: Self = Self("TRACE");
    pub const QUERY: Self = Self("QUERY");

    /// Creates a method with this name, which must be a token (RFC 9110, section 9.1).
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Returns the method as requests spell it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// Returns whether OpenAPI has a field of its own for the method.
    #[cfg(feature = "utoipa")]
    pub(super) fn is_fixed(self) -> bool {
        [
            Self::GET,
            Self::PUT,
            Self::POST,
            Self::DELETE,
            Self::OPTIONS,
            Self::HEAD,
            Self::PATCH,
            Self::TRACE,
            Self::QUERY,
        ]
        .contains(&self)
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl From<Method> for http::Method {
    fn from(method: Method) -> Self {
        Self::from_bytes(method.0.as_bytes()).expect("the methods of a contract are tokens")
    }
}

impl Operation {
    /// Creates the description of all routes that are not in the contract, by which the credentials
    /// of requests for them are checked.
    #[must_use]
    pub const fn unknown_route(security: SecurityRequirements) -> Self {
        Self {
            id: "unknown_route",
            method: Method::GET,
            path: "",
            tag: None,
            parameters: &[],
            body: None,
            responses: &[],
            errors: &[],
            rejections: &[],
            deprecation: None,
            sunset: None,
            security,
        }
    }
}

/// The security requirements of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecurityRequirements {
    /// The alternatives, each with the schemes that must all be satisfied. Without alternatives, no
    /// credential is needed.
    pub alternatives: &'static [&'static [Scheme]],
    /// The value of `WWW-Authenticate` in a 401.
    pub challenge: &'static str,
}

impl SecurityRequirements {
    /// No requirement: the operation needs no credential.
    pub const NONE: Self = Self {
        alternatives: &[],
        challenge: "",
    };
}

/// A security scheme and the scopes that an operation needs of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheme {
    /// The scheme's name in the contract.
    pub name: &'static str,
    /// The scopes, all of which are needed.
    pub scopes: &'static [&'static str],
}

impl Scheme {
    /// Creates a requirement of a scheme with these scopes.
    #[must_use]
    pub const fn new(name: &'static str, scopes: &'static [&'static str]) -> Self {
        Self { name, scopes }
    }
}

/// The part of a request that a value is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Location {
    /// The path.
    Path,
    /// The query.
    Query,
    /// A header.
    Header,
    /// A cookie.
    Cookie,
    /// The body.
    Body,
}

impl Location {
    /// Returns OpenAPI's word for the location; `body` for the body.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
            Self::Body => "body",
        }
    }
}

/// The style in which a parameter's value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Style {
    /// `a,b`
    Simple,
    /// `.a.b`
    Label,
    /// `;name=a;name=b`
    Matrix,
    /// `name=a&name=b`
    Form,
    /// `name=a%20b`
    SpaceDelimited,
    /// `name=a|b`
    PipeDelimited,
    /// `name[key]=a`
    DeepObject,
    /// `name=a; name=b`, without any encoding
    Cookie,
    /// A JSON text (`content: application/json`).
    Json,
}

/// The description of a parameter of an operation, or of a header of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// The name in requests or responses.
    pub name: &'static str,
    /// The part of the request that the parameter is in.
    pub location: Location,
    /// Whether the parameter is required.
    pub required: bool,
    /// The style in which the value is written.
    pub style: Style,
    /// OpenAPI's `explode`: whether each item of a list, or each property of an object, is written
    /// by itself.
    pub explode: bool,
    /// The value of an absent parameter, as JSON.
    pub default: Option<&'static str>,
    /// The names of the properties, if the value is an object. In the style `form` with `explode`,
    /// each is a name in the query or cookies.
    pub properties: &'static [&'static str],
    /// Whether the object also takes all pairs of the query or cookies whose names no parameter
    /// declares.
    pub open: bool,
    /// Whether the parameter is the whole query (`in: querystring`), so that its name is in no
    /// request: a form in the style `form`, JSON, or a text in the style `simple`.
    pub whole_query: bool,
    /// The schema of the field that holds the value.
    #[cfg(feature = "utoipa")]
    pub(super) schema: SchemaSource,
}

impl Parameter {
    const fn new(name: &'static str, location: Location, style: Style) -> Self {
        Self {
            name,
            location,
            required: false,
            style,
            // By OpenAPI, `explode` is true for `form` and false for the other styles, unless it is
            // written.
            explode: matches!(style, Style::Form),
            default: None,
            properties: &[],
            open: false,
            whole_query: false,
            #[cfg(feature = "utoipa")]
            schema: SchemaSource::UNKNOWN,
        }
    }

    /// Creates a required path parameter in the style `simple`.
    #[must_use]
    pub const fn path(name: &'static str) -> Self {
        Self::new(name, Location::Path, Style::Simple).required()
    }

    /// Creates an optional query parameter in the style `form`.
    #[must_use]
    pub const fn query(name: &'static str) -> Self {
        Self::new(name, Location::Query, Style::Form)
    }

    /// Creates an optional header in the style `simple`.
    #[must_use]
    pub const fn header(name: &'static str) -> Self {
        Self::new(name, Location::Header, Style::Simple)
    }

    /// Creates an optional cookie in the style `form`.
    #[must_use]
    pub const fn cookie(name: &'static str) -> Self {
        Self::new(name, Location::Cookie, Style::Form)
    }

    /// Makes the parameter required.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Sets the value of an absent parameter, as JSON.
    #[must_use]
    pub const fn default(mut self, json: &'static str) -> Self {
        self.default = Some(json);
        self
    }

    /// Sets another style than the usual one of the location.
    #[must_use]
    pub const fn style(mut self, style: Style, explode: bool) -> Self {
        self.style = style;
        self.explode = explode;
        self
    }

    /// Makes the value a JSON text (`content: application/json`).
    #[must_use]
    pub const fn json(mut self) -> Self {
        self.style = Style::Json;
        self.explode = false;
        self
    }

    /// Makes the value an object with these properties. In the style `form` with `explode`, each is
    /// a name in the query or cookies.
    #[must_use]
    pub const fn object(mut self, properties: &'static [&'static str]) -> Self {
        self.properties = properties;
        self
    }

    /// Makes the parameter the whole query.
    #[must_use]
    pub const fn whole_query(mut self) -> Self {
        self.whole_query = true;
        self
    }

    /// Makes the object also have every name that no other parameter declares.
    #[must_use]
    pub const fn open(mut self) -> Self {
        self.open = true;
        self
    }
}

/// The description of a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Body {
    /// Whether the body is required.
    pub required: bool,
    /// The media types that the operation takes.
    pub media: &'static [Media],
}

impl Body {
    /// Creates an optional body of any of these media types.
    #[must_use]
    pub const fn new(media: &'static [Media]) -> Self {
        Self {
            required: false,
            media,
        }
    }

    /// Makes the body required.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

/// The description of a media type of a request body or a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Media {
    /// The name, such as `application/json` or `image/*`.
    pub name: &'static str,
    /// The pointer to the schema in the `Schemas` of the types crate, which reports the violations
    /// of a body that does not decode.
    pub schema: Option<&'static str>,
    /// Whether the sender may be newer than the contract, so that unknown properties and unknown
    /// values of extensible enumerations are no violations.
    pub is_lenient: bool,
    /// The properties of a form that are written in another way than the usual one, each as a parameter
    /// of a query. If one of them takes all names that no other has, then all properties of the form.
    pub fields: &'static [Parameter],
    /// How the parts of a multipart body are encoded, if they have positions and no names.
    pub encodings: Option<&'static Encodings>,
    /// The schema of the type that holds the body. It accepts everything for bytes.
    #[cfg(feature = "utoipa")]
    pub(super) described: SchemaSource,
}

impl Media {
    /// Creates a media type.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            schema: None,
            is_lenient: false,
            fields: &[],
            encodings: None,
            #[cfg(feature = "utoipa")]
            described: SchemaSource::UNKNOWN,
        }
    }

    /// Sets the pointer to the schema.
    #[must_use]
    pub const fn schema(mut self, pointer: &'static str) -> Self {
        self.schema = Some(pointer);
        self
    }

    /// Sets the properties of a form that are written in another way than the usual one.
    #[must_use]
    pub const fn fields(mut self, fields: &'static [Parameter]) -> Self {
        self.fields = fields;
        self
    }

    /// Sets how the parts of a multipart body without names are encoded.
    #[must_use]
    pub const fn encodings(mut self, encodings: &'static Encodings) -> Self {
        self.encodings = Some(encodings);
        self
    }

    /// Makes decoding lenient, for a sender that may be newer than the contract.
    #[must_use]
    pub const fn lenient(mut self) -> Self {
        self.is_lenient = true;
        self
    }
}

/// The statuses that a response is listed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// A single status.
    Code(u16),
    /// All statuses that begin with this digit and are not listed themselves.
    Range(u8),
    /// All statuses that nothing else lists.
    Default,
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "{code}"),
            Self::Range(digit) => write!(f, "{digit}XX"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// The description of a response that the contract lists for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedResponse {
    /// The statuses that the response is listed for.
    pub key: Status,
    /// The media types of the body; empty for no body.
    pub media: &'static [Media],
    /// The headers.
    pub headers: &'static [Parameter],
    /// The status that is sent.
    pub(crate) code: StatusCode,
}

impl ListedResponse {
    /// Creates a response with one status.
    ///
    /// # Panics
    ///
    /// If the number is not a status, which is a compile error in a constant.
    #[must_use]
    pub const fn code(code: u16) -> Self {
        let Ok(status) = StatusCode::from_u16(code) else {
            panic!("a status has three digits");
        };
        Self::new(Status::Code(code), status)
    }

    /// Creates a response for every status that begins with this digit and is not listed itself.
    #[must_use]
    pub const fn range(digit: u8) -> Self {
        // Replaced by `at`, without which no response of a range is sent.
        Self::new(Status::Range(digit), StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Creates a response for every status that nothing else lists.
    #[must_use]
    pub const fn default() -> Self {
        Self::new(Status::Default, StatusCode::INTERNAL_SERVER_ERROR)
    }

    const fn new(key: Status, code: StatusCode) -> Self {
        Self {
            key,
            media: &[],
            headers: &[],
            code,
        }
    }

    /// Sets the media types of the body.
    #[must_use]
    pub const fn media(mut self, media: &'static [Media]) -> Self {
        self.media = media;
        self
    }

    /// Sets the status that is sent, for a range or the default.
    #[must_use]
    pub const fn at(mut self, code: StatusCode) -> Self {
        self.code = code;
        self
    }

    /// Returns the status that is sent.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.code
    }
}
