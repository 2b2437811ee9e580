//! Writes requests as `curl` commands, and responses as JSON.

use contract::model::{Location, Operation, Parameter, PathPart};
use serde_json::{Value, json};

use super::bodies::best;
use super::forms::is_multipart;
use super::multipart::{BodyWords, Shown, printed};
use super::walk::Place;
use super::{Comparison, Flow, OperationPair, encoding};
use crate::containment::Reading;
use crate::finding::Witness;
use crate::pair::Side;

/// The maximum number of bytes of a command. A longer one is of no use in a terminal.
const MOST_BYTES: usize = 20_000;

/// What a request must have. The rest is made up.
#[derive(Clone, Copy)]
pub(super) enum Given<'g> {
    Nothing,
    /// The value of the parameter with an index.
    Parameter(usize, &'g Value),
    Body(&'g Value),
    /// A multipart body, and what it shows of a part.
    Parts(&'g Value, &'g Shown),
}

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
            Place::RequestBody(media) => self.request(pair.base, Some(media), Given::Body(value)),
            Place::Parameter(index) if !pair.is_reversed => {
                self.with_body(pair.base, Given::Parameter(*index, value))
            }
            Place::PartHeader(header) if !pair.is_reversed => {
                self.part_header_request(pair, header, encoding::of_header(&header.header, value)?)
            }
            Place::Parameter(_) | Place::PartHeader(_) => None,
            Place::ResponseBody(status, media) => Some(Witness::Message(
                json!({ "status": status, "media_type": media, "body": value }).to_string(),
            )),
            Place::Header(status, name) => Some(Witness::Message(
                json!({ "status": status, "headers": { name: value } }).to_string(),
            )),
        }
    }

    /// Returns a request that the contract before the change accepts, or what is certain of it where no
    /// command can be written.
    pub(super) fn asked(&self, operation: &Operation) -> Witness {
        let command = self.example_request(operation);
        command.unwrap_or_else(|| outline(operation))
    }

    /// Returns a request that the contract before the change accepts.
    pub(super) fn example_request(&self, operation: &Operation) -> Option<Witness> {
        self.with_body(operation, Given::Nothing)
    }

    /// Returns a request with the body that it must have, in the first media type in which it can
    /// be written.
    pub(super) fn with_body(&self, operation: &Operation, given: Given<'_>) -> Option<Witness> {
        match operation.request_body.as_ref().filter(|body| body.required) {
            Some(body) => body
                .content
                .iter()
                .find_map(|media| self.request(operation, Some(&media.name), given)),
            None => self.request(operation, None, given),
        }
    }

    /// Returns a request of the contract before the change, with a body of a media type if one is
    /// named.
    pub(super) fn request(
        &self,
        operation: &Operation,
        media: Option<&str>,
        given: Given<'_>,
    ) -> Option<Witness> {
        let value_of = |index: usize, parameter: &Parameter| match given {
            Given::Parameter(at, value) if at == index => Some(value.clone()),
            _ => self
                .context
                .example(Side::Base, parameter.schema, Reading::Request),
        };
        let mut words = vec!["curl".to_owned()];
        match operation.method.as_str() {
            // After `-X HEAD`, curl waits for a body.
            "HEAD" if media.is_none() => words.push("-I".to_owned()),
            "HEAD" => return None,
            method => words.extend(["-X".to_owned(), quoted(method)]),
        }
        let (mut query, mut headers, mut cookies) = (Vec::new(), Vec::new(), Vec::new());
        for (index, parameter) in operation.parameters.iter().enumerate() {
            let is_given = matches!(given, Given::Parameter(at, _) if at == index);
            if parameter.location == Location::Path || !(parameter.required || is_given) {
                continue;
            }
            let value = value_of(index, parameter)?;
            match parameter.location {
                Location::Path => {}
                Location::Query => query.extend(encoding::in_query(parameter, &value)?),
                Location::Header => headers.push(encoding::in_header(parameter, &value)?),
                Location::Cookie => cookies.push(encoding::in_cookie(parameter, &value)?),
            }
        }
        for (name, value) in &operation.query {
            query.push(format!(
                "{}={}",
                encoding::encoded(name),
                encoding::encoded(value)
            ));
        }
        let query = if query.is_empty() {
            String::new()
        } else {
            format!("?{}", query.join("&"))
        };
        let path = path(operation, value_of)?;
        let url = format!("{}{path}{query}", self.server(operation));
        // curl takes a hyphen for an option, and brackets for a range of URLs.
        let is_plain =
            |character: char| character.is_ascii_graphic() && !"[]{}".contains(character);
        if url.starts_with('-') || !url.chars().all(is_plain) {
            return None;
        }
        let credentials = self.credentials(operation);
        words.push(credentials.url(&url));
        let headers = headers.iter().map(|line| quoted(line));
        let headers = headers.chain(credentials.cookies(&cookies));
        for line in headers.chain(credentials.headers()) {
            words.extend(["-H".to_owned(), line]);
        }
        let mut input = String::new();
        if let Some(name) = media {
            let body = self.body_words(operation, name, given)?;
            words.extend(body.words);
            if let Some(command) = body.input {
                input = format!("{command} | ");
            }
        }
        let command = input + &words.join(" ");
        (command.len() <= MOST_BYTES).then_some(Witness::Request(command))
    }

    /// Returns the words that send a body of a media type: the given one, or an example.
    fn body_words(&self, operation: &Operation, name: &str, given: Given<'_>) -> Option<BodyWords> {
        let content = &operation.request_body.as_ref()?.content;
        let media = best(content, name)?;
        let is_multipart = is_multipart(name);
        let example = |id| self.context.example(Side::Base, id, Reading::Request);
        let value = match given {
            Given::Parts(value, shown) => return self.multipart(media, name, value, Some(shown)),
            Given::Body(value) => value.clone(),
            Given::Nothing | Given::Parameter(..) if is_multipart => {
                // curl cannot send the smallest one, which often has no part.
                let values = match media.schema {
                    Some(_) => self.several(Side::Base, media.schema, Flow::to_api()),
                    None => vec![json!({ "a": "a" })],
                };
                let mut words = values
                    .iter()
                    .map(|value| self.multipart(media, name, value, None));
                return words.find_map(|words| words);
            }
            Given::Nothing | Given::Parameter(..) => example(media.schema?)?,
        };
        if is_multipart {
            return self.multipart(media, name, &value, None);
        }
        let (option, text) = encoding::body(media, name, &value)?;
        let line = encoding::header("Content-Type", name)?;
        let (option, word, input) = if encoding::is_shown(&text) {
            (option, quoted(&text), None)
        } else {
            // curl takes the bytes as they are with this option alone.
            ("--data-binary", "@-".to_owned(), Some(printed(&text)))
        };
        let words = ["-H".to_owned(), quoted(&line), option.to_owned(), word];
        Some(BodyWords {
            words: words.into(),
            input,
        })
    }

    /// Returns a request that the contract before the change accepts, to the server with a URL.
    pub(super) fn request_to(&self, operation: &Operation, url: &str) -> Option<Witness> {
        let usual = self.server(operation);
        let Witness::Request(command) = self.example_request(operation)? else {
            return None;
        };
        let is_plain = |text: &str| quoted(text) == text;
        let url = url.trim_end_matches('/');
        // Both are in the command as they are, so that one can take the place of the other.
        let is_certain = !usual.is_empty() && is_plain(&usual) && is_plain(url);
        is_certain.then(|| Witness::Request(command.replacen(&usual, url, 1)))
    }

    fn server(&self, operation: &Operation) -> String {
        let server = operation.servers.first().or(self.base().servers.first());
        let Some(server) = server else {
            return String::new();
        };
        server.default_url().trim_end_matches('/').to_owned()
    }
}

/// Returns the method and path of a request, without what only some requests have.
pub(super) fn outline(operation: &Operation) -> Witness {
    let request = format!("{} {}", operation.method.as_str(), operation.path);
    Witness::Message(json!({ "request": request }).to_string())
}

/// Returns a request of a webhook with these parts.
pub(super) fn webhook(pair: &OperationPair<'_>, parts: &Value) -> Witness {
    let mut message = json!({ "webhook": pair.name });
    if let (Some(message), Some(parts)) = (message.as_object_mut(), parts.as_object()) {
        message.extend(parts.clone());
    }
    Witness::Message(message.to_string())
}

/// Returns the path of a request, with the value of each parameter.
fn path(
    operation: &Operation,
    value_of: impl Fn(usize, &Parameter) -> Option<Value>,
) -> Option<String> {
    let mut path = String::new();
    for part in &operation.segments {
        match part {
            PathPart::Literal(text) => path.push_str(&encoding::literal(text)),
            PathPart::Parameter(name) => {
                let mut parameters = operation.parameters.iter().enumerate();
                let (index, parameter) = parameters.find(|(_, parameter)| {
                    parameter.location == Location::Path && parameter.name == *name
                })?;
                path.push_str(&encoding::in_path(parameter, &value_of(index, parameter)?)?);
            }
        }
    }
    Some(path)
}

/// Returns a word for a shell.
pub(super) fn quoted(text: &str) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "-_./:".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    // Single quotes have no escapes inside: they end for one, and begin again.
    format!("'{}'", text.replace('\'', r"'\''"))
}
