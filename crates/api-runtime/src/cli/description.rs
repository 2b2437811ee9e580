//! The description of the operations, which the generator writes. An absent entry is null, false or
//! empty.

use serde::Deserialize;
use serde_json::Value;

use super::failure::Failure;

/// An API.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Description {
    pub(super) title: String,
    pub(super) about: String,
    /// The URLs of the servers.
    pub(super) servers: Vec<String>,
    pub(super) schemes: Vec<Scheme>,
    pub(super) groups: Vec<Group>,
    pub(super) operations: Vec<Operation>,
}

/// A security scheme.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Scheme {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) kind: SchemeKind,
    /// The name of the header, query parameter or cookie, or of the scheme of `Authorization`.
    pub(super) key: String,
}

/// Where a request has a credential.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SchemeKind {
    #[default]
    Bearer,
    Basic,
    Authorization,
    Header,
    Query,
    Cookie,
    Certificate,
}

/// A command with commands: the operations of a tag.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) about: String,
}

/// An operation, which is a command.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Operation {
    pub(super) id: String,
    /// The name of the group; empty for a command of the program itself.
    pub(super) group: Option<String>,
    pub(super) name: String,
    pub(super) about: String,
    pub(super) deprecated: bool,
    pub(super) method: String,
    pub(super) path: String,
    /// The names and values of the query that each request has.
    pub(super) label: Vec<(String, String)>,
    /// The security requirements: alternatives, each the indices of the schemes that it needs.
    pub(super) security: Vec<Vec<usize>>,
    pub(super) parameters: Vec<Input>,
    pub(super) body: Option<Body>,
    /// The header `Accept`.
    pub(super) accept: String,
    pub(super) paging: Option<Paging>,
    pub(super) wait: Option<Wait>,
    /// The columns of a table of the response.
    pub(super) columns: Vec<String>,
    /// The names of the secret properties of the responses.
    pub(super) secrets: Vec<String>,
    /// The statuses of the responses whose body is a secret: `200`, `4XX`, `default`.
    pub(super) secret_bodies: Vec<String>,
}

/// A request body.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Body {
    pub(super) media: String,
    pub(super) kind: BodyKind,
    pub(super) required: bool,
    pub(super) about: String,
    /// The JSON pointer to the schema in the bundle of schemas.
    pub(super) schema: Option<String>,
    /// The name, style and `explode` of properties of a form.
    pub(super) styles: Vec<(String, String, bool)>,
    /// The properties.
    pub(super) fields: Vec<Input>,
    /// The names of the secret properties, those of properties too.
    pub(super) secrets: Vec<String>,
    /// Whether the body is a secret as a whole.
    pub(super) secret: bool,
    /// The path of a secret that every body has.
    pub(super) needed_secret: Option<String>,
}

/// How a body is written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum BodyKind {
    #[default]
    Json,
    Form,
    Multipart,
    Bytes,
}

/// A parameter, or a property of a body.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Input {
    /// The name in the request.
    pub(super) name: String,
    pub(super) flag: String,
    #[serde(rename = "in")]
    pub(super) place: Place,
    pub(super) about: String,
    /// The rules of the value, in words.
    pub(super) rule: String,
    pub(super) required: bool,
    pub(super) deprecated: bool,
    /// Whether the value may be null.
    pub(super) nullable: bool,
    /// Whether the value is a setting, which may come from the environment or the profile.
    pub(super) context: bool,
    /// Whether the flag is repeated for each item.
    pub(super) list: bool,
    pub(super) kind: Kind,
    /// The values of an enumeration.
    pub(super) values: Vec<String>,
    pub(super) secret: bool,
    pub(super) default: Option<Value>,
    /// The JSON pointer to the schema of a parameter in the bundle of schemas.
    pub(super) schema: Option<String>,
    /// The style of a parameter, unless it is OpenAPI's default.
    pub(super) style: Option<String>,
    pub(super) explode: bool,
    pub(super) reserved: bool,
    /// Whether a parameter is written as JSON.
    pub(super) json: bool,
    /// Whether a parameter is the whole query.
    pub(super) whole: bool,
}

/// The part of the request that has a value.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Place {
    Path,
    Query,
    Header,
    Cookie,
    #[default]
    Body,
}

/// How a value is typed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    #[default]
    Text,
    Integer,
    Number,
    Boolean,
    /// JSON, or a text if it is none.
    Any,
    Json,
}

/// How the pages of a list are requested one after the other.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Paging {
    /// The parameter that takes the key of the last item.
    pub(super) cursor: String,
    /// The parameter that chooses the property by which the list is sorted, which is then the key.
    pub(super) order: Option<String>,
    /// The property of a page that has the items.
    pub(super) items: String,
    /// The property of a page that has the size of the list.
    pub(super) count: Option<String>,
    /// The property of an item that is the key, unless `order` chooses another one.
    pub(super) key: String,
}

/// What `--wait` waits for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Wait {
    /// The property of the response.
    pub(super) property: String,
    /// The values that end the waiting.
    pub(super) until: Vec<String>,
    /// The values after which the property never gets one of `until`.
    pub(super) failed: Vec<String>,
}

impl Place {
    /// Returns the word for the part of the request.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
            Self::Body => "body",
        }
    }
}

impl Description {
    /// Reads the description. It lives until the process ends, as names of clap's commands and of
    /// the client's operations do.
    pub(super) fn read(text: &str) -> Result<&'static Self, Failure> {
        match serde_json::from_str::<Self>(text) {
            Ok(description) => Ok(Box::leak(Box::new(description))),
            Err(error) => Err(Failure::other(format!(
                "the description of the operations is not what the run time reads ({error}): generate the crate again"
            ))),
        }
    }
}

impl Operation {
    /// Returns whether these are the names of its command.
    pub(super) fn is_called(&self, names: &[&str]) -> bool {
        match (names, &self.group) {
            ([group, name], Some(own)) => own == group && self.name == *name,
            ([name], None) => self.name == *name,
            _ => false,
        }
    }

    /// Returns the properties of the body.
    pub(super) fn fields(&self) -> &[Input] {
        self.body.as_ref().map_or(&[], |body| &body.fields)
    }
}
