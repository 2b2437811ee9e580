//! Descriptions of operations: the constants that generated code enforces, and lists for whoever asks.

use http::{Method, StatusCode};

/// One operation of the contract.
#[derive(Debug)]
pub struct Operation {
    /// The id, as the contract spells it.
    pub id: &'static str,
    /// The method.
    pub method: Method,
    /// The path template: `/pets/{pet_id}`.
    pub path: &'static str,
    /// The tag.
    pub tag: Option<&'static str>,
    /// Path, query, header and cookie parameters.
    pub parameters: &'static [Parameter],
    /// The body, if it has one.
    pub body: Option<Body>,
    /// What it may answer.
    pub responses: &'static [ListedResponse],
    /// Alternatives, each a set of schemes that must all hold. Empty: open to everyone.
    pub security: &'static [&'static [Scheme]],
    /// `WWW-Authenticate` of its 401.
    pub challenge: &'static str,
}

impl Operation {
    /// Stands for the routes that the contract does not know, where credentials are checked for one.
    #[must_use]
    pub const fn unknown_route(
        security: &'static [&'static [Scheme]],
        challenge: &'static str,
    ) -> Self {
        Self {
            id: "unknown_route",
            method: Method::GET,
            path: "",
            tag: None,
            parameters: &[],
            body: None,
            responses: &[],
            security,
            challenge,
        }
    }
}

/// A security scheme and the scopes that an operation needs of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheme {
    /// The scheme's name in the contract.
    pub name: &'static str,
    /// Scopes, all of which are needed.
    pub scopes: &'static [&'static str],
}

/// Where a value stands in a request.
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
    /// The word that the contract has for it; `body` for the body.
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

/// How a parameter's value is written.
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
    /// A JSON text (`content: application/json`).
    Json,
}

/// A parameter of an operation, or a header of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// The name on the wire.
    pub name: &'static str,
    /// Where it stands.
    pub location: Location,
    /// Whether it must be there.
    pub required: bool,
    /// How its value is written.
    pub style: Style,
    /// Whether each item has a name of its own.
    pub explode: bool,
    /// What its absence means, as JSON.
    pub default: Option<&'static str>,
    /// The properties of an object, when they stand in the query side by side.
    pub properties: &'static [&'static str],
    /// Whether such an object takes every other name of the query too.
    pub open: bool,
}

impl Parameter {
    const fn new(name: &'static str, location: Location, style: Style) -> Self {
        Self {
            name,
            location,
            required: false,
            style,
            explode: matches!(style, Style::Form),
            default: None,
            properties: &[],
            open: false,
        }
    }

    /// A path parameter, written plainly.
    #[must_use]
    pub const fn path(name: &'static str) -> Self {
        Self::new(name, Location::Path, Style::Simple).required()
    }

    /// A query parameter, written as forms are.
    #[must_use]
    pub const fn query(name: &'static str) -> Self {
        Self::new(name, Location::Query, Style::Form)
    }

    /// A header, written plainly.
    #[must_use]
    pub const fn header(name: &'static str) -> Self {
        Self::new(name, Location::Header, Style::Simple)
    }

    /// A cookie, written as forms are.
    #[must_use]
    pub const fn cookie(name: &'static str) -> Self {
        Self::new(name, Location::Cookie, Style::Form)
    }

    /// Demands that it is there.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Says what its absence means, as JSON.
    #[must_use]
    pub const fn default(mut self, json: &'static str) -> Self {
        self.default = Some(json);
        self
    }

    /// Says how its value is written, where that is not usual for its place.
    #[must_use]
    pub const fn style(mut self, style: Style, explode: bool) -> Self {
        self.style = style;
        self.explode = explode;
        self
    }

    /// Its value is a JSON text.
    #[must_use]
    pub const fn json(mut self) -> Self {
        self.style = Style::Json;
        self.explode = false;
        self
    }

    /// Its value is an object whose properties may stand side by side.
    #[must_use]
    pub const fn object(mut self, properties: &'static [&'static str]) -> Self {
        self.properties = properties;
        self
    }

    /// The object takes names that it does not declare.
    #[must_use]
    pub const fn open(mut self) -> Self {
        self.open = true;
        self
    }
}

/// The body of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Body {
    /// Whether it must be there.
    pub required: bool,
    /// What it may be.
    pub media: &'static [Media],
}

impl Body {
    /// A body of any of these media types.
    #[must_use]
    pub const fn new(media: &'static [Media]) -> Self {
        Self {
            required: false,
            media,
        }
    }

    /// Demands that it is there.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

/// A media type that a body may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Media {
    /// The name, such as `application/json` or `image/*`.
    pub name: &'static str,
    /// Pointer to its schema in the types crate's bundle.
    pub schema: Option<&'static str>,
    /// Whether the sender may be newer than the contract: properties and values of enumerations that are not known
    /// yet are then no violations.
    pub is_lenient: bool,
}

impl Media {
    /// A media type.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            schema: None,
            is_lenient: false,
        }
    }

    /// Names its schema.
    #[must_use]
    pub const fn schema(mut self, pointer: &'static str) -> Self {
        self.schema = Some(pointer);
        self
    }

    /// Lets the sender be newer than the contract.
    #[must_use]
    pub const fn lenient(mut self) -> Self {
        self.is_lenient = true;
        self
    }
}

/// For which statuses an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// One.
    Code(u16),
    /// All that begin with this digit and are not listed themselves.
    Range(u8),
    /// All that nothing else lists.
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

/// An answer of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedResponse {
    /// For which statuses it is.
    pub key: Status,
    /// What its body may be; empty for no body.
    pub media: &'static [&'static str],
    /// The status that is sent.
    pub(crate) code: StatusCode,
}

impl ListedResponse {
    /// An answer with one status.
    ///
    /// # Panics
    ///
    /// If it is no status, so that a constant does not compile.
    #[must_use]
    pub const fn code(code: u16) -> Self {
        let Ok(status) = StatusCode::from_u16(code) else {
            panic!("a status has three digits");
        };
        Self {
            key: Status::Code(code),
            media: &[],
            code: status,
        }
    }

    /// An answer for every status that begins with this digit and is not listed itself.
    #[must_use]
    pub const fn range(digit: u8) -> Self {
        Self {
            key: Status::Range(digit),
            media: &[],
            code: StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// An answer for every status that nothing else lists.
    #[must_use]
    pub const fn default() -> Self {
        Self {
            key: Status::Default,
            media: &[],
            code: StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Says what its body may be.
    #[must_use]
    pub const fn media(mut self, media: &'static [&'static str]) -> Self {
        self.media = media;
        self
    }

    /// Chooses the status, for a range or the default.
    #[must_use]
    pub const fn at(mut self, code: StatusCode) -> Self {
        self.code = code;
        self
    }

    /// The status that is sent, as a number.
    #[must_use]
    pub const fn number(&self) -> u16 {
        self.code.as_u16()
    }

    /// The status that is sent.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.code
    }
}
