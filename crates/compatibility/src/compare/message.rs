//! Writes requests as `curl` commands, and responses as JSON.

use contract::model::{Location, Operation, Parameter, PathPart, SecurityKind};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::Comparison;
use super::walk::Place;
use crate::containment::Reading;
use crate::finding::Witness;
use crate::pair::Side;

/// The characters that are percent-encoded in paths and queries.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The most bytes of a command. A longer one is of no use in a terminal.
const MOST_BYTES: usize = 20_000;

impl Comparison<'_> {
    /// Returns the message in which a value is at a place, or `None` if the rest of it cannot be
    /// made up.
    pub(super) fn message(
        &self,
        operation: usize,
        place: &Place,
        value: &Value,
    ) -> Option<Witness> {
        let pair = &self.pairs[operation];
        match place {
            Place::RequestBody(media) if pair.is_reversed => Some(Witness::Message(
                json!({ "webhook": pair.name, "media_type": media, "body": value }).to_string(),
            )),
            Place::RequestBody(media) => self.request(pair.base, Some(media), Some((None, value))),
            Place::Parameter(index) if !pair.is_reversed => {
                self.request(pair.base, None, Some((Some(*index), value)))
            }
            Place::Parameter(_) => None,
            Place::ResponseBody(status, media) => Some(Witness::Message(
                json!({ "status": status, "media_type": media, "body": value }).to_string(),
            )),
            Place::Header(status, name) => Some(Witness::Message(
                json!({ "status": status, "headers": { name: value } }).to_string(),
            )),
        }
    }

    /// Returns a request that the contract before the change accepts.
    pub(super) fn example_request(&self, operation: &Operation) -> Option<Witness> {
        let media = operation
            .request_body
            .as_ref()
            .filter(|body| body.required)
            .and_then(|body| body.content.first());
        self.request(operation, media.map(|media| media.name.as_str()), None)
    }

    /// Returns a request of the contract before the change, with a body of a media type if one is
    /// named. A `given` value is that of the parameter with the index, or else the body.
    pub(super) fn request(
        &self,
        operation: &Operation,
        media: Option<&str>,
        given: Option<(Option<usize>, &Value)>,
    ) -> Option<Witness> {
        let value_of = |index: usize, parameter: &Parameter| match given {
            Some((Some(at), value)) if at == index => Some(value.clone()),
            _ => self
                .context
                .example(Side::Base, parameter.schema, Reading::Request),
        };
        let mut query: Vec<String> = Vec::new();
        let mut words = vec!["curl".to_owned()];
        let method = operation.method.as_str();
        if method != "GET" {
            words.extend(["-X".to_owned(), quoted(method)]);
        }
        let mut path = String::new();
        for part in &operation.segments {
            match part {
                PathPart::Literal(text) => path.push_str(text),
                PathPart::Parameter(name) => {
                    let mut parameters = operation.parameters.iter().enumerate();
                    let (index, parameter) = parameters.find(|(_, parameter)| {
                        parameter.location == Location::Path && parameter.name == *name
                    })?;
                    path.push_str(&encoded(&text(&value_of(index, parameter)?)));
                }
            }
        }
        let mut headers = Vec::new();
        for (index, parameter) in operation.parameters.iter().enumerate() {
            let is_given = matches!(given, Some((Some(at), _)) if at == index);
            if parameter.location == Location::Path || !(parameter.required || is_given) {
                continue;
            }
            let value = text(&value_of(index, parameter)?);
            match parameter.location {
                Location::Path => {}
                Location::Query => {
                    query.push(format!("{}={}", encoded(&parameter.name), encoded(&value)));
                }
                Location::Header => headers.push(format!("{}: {value}", parameter.name)),
                Location::Cookie => headers.push(format!("Cookie: {}={value}", parameter.name)),
            }
        }
        for (name, value) in &operation.query {
            query.push(format!("{}={}", encoded(name), encoded(value)));
        }
        headers.extend(self.credential(operation));
        let query = if query.is_empty() {
            String::new()
        } else {
            format!("?{}", query.join("&"))
        };
        let server = self.server(operation);
        words.push(quoted(&format!("{server}{path}{query}")));
        if let Some(media) = media {
            headers.push(format!("Content-Type: {media}"));
        }
        for header in headers {
            // The shell fills in the credential.
            let header = if header.contains("$TOKEN") {
                format!("\"{header}\"")
            } else {
                quoted(&header)
            };
            words.extend(["-H".to_owned(), header]);
        }
        if let Some(media) = media {
            let body = match given {
                Some((None, value)) => value.clone(),
                _ => self.example_body(operation, media)?,
            };
            words.extend(["--data".to_owned(), quoted(&body.to_string())]);
        }
        let command = words.join(" ");
        (command.len() <= MOST_BYTES).then_some(Witness::Request(command))
    }

    fn example_body(&self, operation: &Operation, media: &str) -> Option<Value> {
        let content = &operation.request_body.as_ref()?.content;
        let media = content.iter().find(|one| one.name == media)?;
        self.context
            .example(Side::Base, media.schema?, Reading::Request)
    }

    fn credential(&self, operation: &Operation) -> Option<String> {
        let (name, _) = operation.security.first()?.schemes.first()?;
        Some(match &self.base().security_schemes.get(name)?.kind {
            SecurityKind::ApiKey {
                name,
                location: Location::Header,
            } => format!("{name}: $TOKEN"),
            SecurityKind::HttpBearer | SecurityKind::OAuth2 | SecurityKind::OpenIdConnect(_) => {
                "Authorization: Bearer $TOKEN".to_owned()
            }
            SecurityKind::HttpBasic => "Authorization: Basic $TOKEN".to_owned(),
            SecurityKind::ApiKey { .. } | SecurityKind::Http(_) | SecurityKind::MutualTls => {
                return None;
            }
        })
    }

    fn server(&self, operation: &Operation) -> String {
        let server = operation.servers.first().or(self.base().servers.first());
        let Some(server) = server else {
            return String::new();
        };
        let mut url = server.url.clone();
        for (name, variable) in &server.variables {
            url = url.replace(&format!("{{{name}}}"), &variable.default);
        }
        url.trim_end_matches('/').to_owned()
    }
}

/// Returns a value as parameters have it: a string as it is, an array with commas.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// Returns a word for a shell.
fn quoted(text: &str) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "-_./:".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
