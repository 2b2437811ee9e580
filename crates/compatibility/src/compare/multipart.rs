//! Writes multipart bodies as options of `curl`.

use contract::model::{MediaType, PropertyEncoding, SchemaId, SchemaKind};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::bodies::unread;
use super::forms::{Encodings, Key};
use super::message::quoted;
use super::{Comparison, encoding};
use crate::containment::Reading;
use crate::pair::Side;

/// The deepest nesting of multipart bodies that is written.
const MOST_DEPTH: usize = 16;

/// What a witness shows about one part of a multipart body.
pub(super) struct Shown {
    /// The names or positions that lead to the part, from the outermost one.
    pub(super) way: Vec<Key>,
    /// The media type of the part.
    pub(super) media: Option<String>,
    /// A header of the part, with its text.
    pub(super) header: Option<(String, String)>,
}

/// The words of a command that send a body, and the command whose output it reads.
#[derive(Default)]
pub(super) struct BodyWords {
    pub(super) words: Vec<String>,
    pub(super) input: Option<String>,
}

/// The text of a part.
struct Text {
    text: String,
    /// Whether the part is a file: servers tell files from fields by their names.
    is_file: bool,
}

impl Comparison<'_> {
    /// Returns the words that send a body of parts, or `None` if curl cannot send it, as one without
    /// any part.
    pub(super) fn multipart(
        &self,
        media: &MediaType,
        name: &str,
        body: &Value,
        shown: Option<&Shown>,
    ) -> Option<BodyWords> {
        let mut out = BodyWords::default();
        // curl adds the boundary.
        let is_usual = name.eq_ignore_ascii_case("multipart/form-data");
        if !is_usual {
            let is_plain = !name.contains([';', '*']);
            let line = encoding::header("Content-Type", name).filter(|_| is_plain)?;
            out.words.extend(["-H".to_owned(), quoted(&line)]);
        }
        let before = out.words.len();
        let way = Vec::new();
        self.parts(Encodings::of(media), body, (&way, shown), &mut out)?;
        (out.words.len() > before).then_some(out)
    }

    fn parts(
        &self,
        level: Encodings<'_>,
        body: &Value,
        (way, shown): (&Vec<Key>, Option<&Shown>),
        out: &mut BodyWords,
    ) -> Option<()> {
        if way.len() > MOST_DEPTH {
            return None;
        }
        let parts: Vec<(Key, &Value)> = match body {
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| (Key::Name(name.clone()), value))
                .collect(),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(at, value)| (Key::At(at), value))
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
        for (key, value) in parts {
            let mut way = way.clone();
            way.push(key.clone());
            let encoding = level.get(&key);
            let schema = self.part_schema(Side::Base, &level, &key);
            let name = match &key {
                // A part without a name is not one of the name that is empty.
                Key::Name(name) if name.is_empty() => return None,
                Key::Name(name) => name.as_str(),
                Key::At(_) | Key::Rest(_) => "",
            };
            let has_style =
                encoding.is_some_and(|one| one.style.is_some() || one.explode.is_some());
            if has_style && (value.is_array() || value.is_object()) {
                for pair in encoding::in_form(encoding, name, value)? {
                    let decoded = |text| percent_decode_str(text).decode_utf8().ok();
                    let (name, text) = pair.split_once('=')?;
                    let text = Text {
                        text: decoded(text)?.into_owned(),
                        is_file: false,
                    };
                    option(&decoded(name)?, &text, "", out)?;
                }
                continue;
            }
            match value {
                // An empty array has no parts, as if it were not there.
                Value::Array(items) if !name.is_empty() && !items.is_empty() => {
                    let item = schema.and_then(|id| self.items(id)).or(schema);
                    for value in items {
                        self.part((name, encoding, item), value, (&way, shown), out)?;
                    }
                }
                Value::Array(_) if !name.is_empty() => return None,
                value => self.part((name, encoding, schema), value, (&way, shown), out)?,
            }
        }
        Some(())
    }

    /// Writes one part, which may be a multipart body itself.
    fn part(
        &self,
        (name, encoding, schema): (&str, Option<&PropertyEncoding>, Option<SchemaId>),
        value: &Value,
        (way, shown): (&Vec<Key>, Option<&Shown>),
        out: &mut BodyWords,
    ) -> Option<()> {
        let own = shown.filter(|shown| shown.way == *way);
        let listed = encoding.and_then(|one| one.content_type.as_deref());
        let named = own.and_then(|own| own.media.as_deref()).or(listed);
        // Of several media types the part may have any.
        let media = match named {
            Some(named) => {
                let mut names = named.split(',').map(str::trim);
                Some(names.find_map(|name| unread(name, |_| false))?)
            }
            None => self.default_type(schema, value),
        };
        let mut rest = String::new();
        if let Some(media) = &media {
            rest.push_str(&format!(";type={}", type_word(media)?));
        }
        let headers = encoding.map_or(&[][..], |encoding| &encoding.headers);
        for header in headers {
            let text = match own.and_then(|own| own.header.as_ref()) {
                Some((name, text)) if name.eq_ignore_ascii_case(&header.name) => text.clone(),
                _ if header.required => {
                    let base = Side::Base;
                    let value = self
                        .context
                        .example(base, header.schema, Reading::Request)?;
                    encoding::of_header(header, &value)?
                }
                _ => continue,
            };
            let line = encoding::header(&header.name, &text)?;
            rest.push_str(&format!(";headers={}", string(&line)));
        }
        let essence = media.as_deref().unwrap_or("text/plain");
        let essence = essence.split(';').next().unwrap_or_default();
        if essence.to_ascii_lowercase().starts_with("multipart/") {
            out.words.push("-F".to_owned());
            out.words.push(quoted(&format!("{}=({rest}", field(name)?)));
            let level = Encodings::within(encoding, schema);
            self.parts(level, value, (way, shown), out)?;
            out.words.extend(["-F".to_owned(), quoted("=)")]);
            return Some(());
        }
        option(name, &encoding::part(essence, value)?.into(), &rest, out)
    }

    /// Returns the media type of a part that names none, or `None` for that of plain text.
    fn default_type(&self, schema: Option<SchemaId>, value: &Value) -> Option<String> {
        if value.is_object() || value.is_array() {
            return Some("application/json".to_owned());
        }
        let contract = self.base();
        let keywords = schema.map(|id| &contract.schema(contract.resolve(id)).kind);
        let is_bytes = value.is_string()
            && match keywords {
                Some(SchemaKind::Object(keywords)) => {
                    keywords.types.is_none()
                        && keywords.enumeration.is_none()
                        && keywords.constant.is_none()
                        || keywords.content_encoding.is_some()
                        || keywords.format.as_deref() == Some("binary")
                }
                Some(SchemaKind::Bool(_)) | None => false,
            };
        is_bytes.then(|| "application/octet-stream".to_owned())
    }

    /// Returns the schema of the items of an array.
    fn items(&self, id: SchemaId) -> Option<SchemaId> {
        let contract = self.base();
        match &contract.schema(contract.resolve(id)).kind {
            SchemaKind::Object(keywords) => keywords.items,
            SchemaKind::Bool(_) => None,
        }
    }
}

impl From<(String, bool)> for Text {
    fn from((text, is_file): (String, bool)) -> Self {
        Self { text, is_file }
    }
}

/// Adds the option that sends a part. `rest` is what follows its text.
fn option(name: &str, part: &Text, rest: &str, out: &mut BodyWords) -> Option<()> {
    let name = field(name)?;
    let file = if part.is_file {
        let file = if name.is_empty() { "part" } else { name };
        let is_plain =
            |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
        format!(
            ";filename={}",
            file.replace(|character| !is_plain(character), "_")
        )
    } else {
        String::new()
    };
    let text = if encoding::is_shown(&part.text) {
        content(&part.text)
    } else if out.input.is_none() {
        // Only one part can come from another command. curl makes a file of what `@` names.
        out.input = Some(printed(&part.text));
        if part.is_file { "@-" } else { "<-" }.to_owned()
    } else {
        return None;
    };
    out.words.push("-F".to_owned());
    out.words
        .push(quoted(&format!("{name}={text}{file}{rest}")));
    Some(())
}

/// Returns the name of a part, unless curl would change it.
fn field(name: &str) -> Option<&str> {
    let is_kept = encoding::is_shown(name) && !name.contains(['=', '"', '\\']);
    is_kept.then_some(name)
}

/// Returns the text of a part for `-F`, in quotes if curl would read it otherwise.
fn content(text: &str) -> String {
    let is_start = |character: char| character.is_alphanumeric() || "{[-_.+/".contains(character);
    let is_plain = text.starts_with(is_start)
        && !text.contains([';', '\n', '\r'])
        && !text.ends_with(char::is_whitespace);
    if is_plain {
        text.to_owned()
    } else {
        string(text)
    }
}

fn string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns a media type, unless curl would change it, or read a parameter of it as one of its own.
fn type_word(media: &str) -> Option<&str> {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "/!#$&^_.+-=; ".contains(character);
    let mut parts = media.split(';');
    let essence = parts.next()?;
    let is_own = |parameter: &str| {
        let name = parameter.split('=').next().unwrap_or_default().trim();
        ["type", "filename", "headers", "encoder"]
            .iter()
            .any(|own| own.eq_ignore_ascii_case(name))
    };
    let is_kept = essence.contains('/') && !essence.contains(' ') && !parts.any(is_own);
    (is_kept && media.chars().all(is_plain)).then_some(media)
}

/// Returns the command that prints a text, in the words that a terminal shows.
pub(super) fn printed(text: &str) -> String {
    format!("printf {}", quoted(&octal(text)))
}

/// Returns the format by which `printf` prints a text.
fn octal(text: &str) -> String {
    let write = |byte: u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b' ' | b'.' | b'_' => {
            char::from(byte).to_string()
        }
        _ => format!("\\{byte:03o}"),
    };
    text.bytes().map(write).collect()
}
