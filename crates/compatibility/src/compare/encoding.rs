//! Writes values as text in paths, queries, headers and bodies, by the encodings that a contract
//! names. A value that would not arrive as it is, or that has no simple form, is not written.

use contract::diagnostic::harmless;
use contract::model::{MediaType, Parameter, ParameterEncoding, PropertyEncoding, Style};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// The characters of values that are percent-encoded in paths, queries and forms.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The characters of the literal text of paths that are percent-encoded.
const ENCODED_LITERALLY: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'[')
    .add(b']')
    .add(b'`')
    .add(b'{')
    .add(b'}');

/// Returns literal text of a path as a URL has it.
pub(super) fn literal(text: &str) -> String {
    utf8_percent_encode(text, ENCODED_LITERALLY).to_string()
}

/// Returns text as a URL has it within a segment, a name or a value.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// Returns the text of a parameter in a path.
pub(super) fn in_path(parameter: &Parameter, value: &Value) -> Option<String> {
    let text = match &parameter.encoding {
        ParameterEncoding::Content(media) => encoded(&content(media, value)?),
        ParameterEncoding::Style { style, explode, .. } => match style {
            Style::Simple => list(value, *explode, encoded)?,
            Style::Label => format!(".{}", encoded(&scalar(value)?)),
            Style::Matrix => {
                let name = encoded(&parameter.name);
                format!(";{name}={}", encoded(&scalar(value)?))
            }
            Style::Form
            | Style::SpaceDelimited
            | Style::PipeDelimited
            | Style::DeepObject
            | Style::Cookie => return None,
        },
    };
    // Clients and servers resolve segments of dots, and many drop empty ones.
    let is_lost = text.chars().all(|character| character == '.');
    (!is_lost).then_some(text)
}

/// Returns the pairs, such as `name=value`, of a parameter in a query.
pub(super) fn in_query(parameter: &Parameter, value: &Value) -> Option<Vec<String>> {
    let name = encoded(&parameter.name);
    let (style, explode, allow_reserved) = match &parameter.encoding {
        // The name of a whole query is in no request.
        ParameterEncoding::Content(media) if parameter.is_whole_query => {
            return whole_query(media, value);
        }
        ParameterEncoding::Content(media) => {
            return Some(vec![format!("{name}={}", encoded(&content(media, value)?))]);
        }
        ParameterEncoding::Style {
            style,
            explode,
            allow_reserved,
        } => (*style, *explode, *allow_reserved),
    };
    let pairs = styled(&name, value, style, explode)?;
    if !allow_reserved {
        return Some(pairs);
    }
    Some(pairs.iter().map(|pair| with_reserved(pair)).collect())
}

/// Returns the parts of a query that is one value: the fields of a form, of which there may be none,
/// or JSON.
fn whole_query(media: &str, value: &Value) -> Option<Vec<String>> {
    if is_json(&essence(media)) {
        return Some(vec![encoded(&json(value))]);
    }
    if essence(media) != "application/x-www-form-urlencoded" {
        return None;
    }
    let mut out = Vec::new();
    for (name, value) in value.as_object()? {
        out.extend(in_form(None, name, value)?);
    }
    Some(out)
}

/// Returns the pairs of a value in a query or form, by a style.
fn styled(name: &str, value: &Value, style: Style, explode: bool) -> Option<Vec<String>> {
    match style {
        Style::Form => pairs(name, value, explode, ','),
        Style::SpaceDelimited => pairs(name, value, explode, ' '),
        Style::PipeDelimited => pairs(name, value, explode, '|'),
        Style::DeepObject => {
            let written = |key: &str| format!("{name}%5B{}%5D", encoded(key));
            properties(value, written)
        }
        Style::Simple | Style::Label | Style::Matrix | Style::Cookie => None,
    }
}

/// Returns a pair of a name and a value. Reserved characters of the value are written as they are,
/// except those that would end the pair or the query.
fn with_reserved(pair: &str) -> String {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    let reserved = [("%2F", "/"), ("%3A", ":"), ("%3F", "?"), ("%40", "@")];
    let value = reserved
        .iter()
        .fold(value.to_owned(), |value, (code, character)| {
            value.replace(code, character)
        });
    format!("{name}={value}")
}

/// Returns a header line.
pub(super) fn in_header(parameter: &Parameter, value: &Value) -> Option<String> {
    header(&parameter.name, &of_header(parameter, value)?)
}

/// Returns the text of a header.
pub(super) fn of_header(parameter: &Parameter, value: &Value) -> Option<String> {
    match &parameter.encoding {
        ParameterEncoding::Content(media) => content(media, value),
        ParameterEncoding::Style { explode, .. } => list(value, *explode, str::to_owned),
    }
}

/// Returns a header line, or `None` if curl would leave it out or send another one.
pub(super) fn header(name: &str, text: &str) -> Option<String> {
    let is_visible = text.chars().all(|character| matches!(character, ' '..='~'));
    let is_sent = is_token(name) && is_visible && !text.is_empty() && text.trim() == text;
    is_sent.then(|| format!("{name}: {text}"))
}

/// Returns a cookie, such as `name=value`.
pub(super) fn in_cookie(parameter: &Parameter, value: &Value) -> Option<String> {
    let ParameterEncoding::Style { style, .. } = &parameter.encoding else {
        return None;
    };
    let text = scalar(value)?;
    let text = if *style == Style::Cookie {
        text
    } else {
        encoded(&text)
    };
    let is_octet = |character: char| character.is_ascii_graphic() && !"\",;\\".contains(character);
    let is_sent = is_token(&parameter.name) && !text.is_empty() && text.chars().all(is_octet);
    is_sent.then(|| format!("{}={text}", parameter.name))
}

/// Returns whether a name can be that of a header: a token of RFC 9110, section 5.6.2.
pub(super) fn is_token(name: &str) -> bool {
    let is_allowed = |character: char| {
        character.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(character)
    };
    !name.is_empty() && name.chars().all(is_allowed)
}

/// Returns the option of curl that sends a body with a media type, and the body, which a terminal may
/// not show. `media` may be a range that includes the media type.
pub(super) fn body(media: &MediaType, name: &str, value: &Value) -> Option<(&'static str, String)> {
    match essence(name).as_str() {
        essence if essence.contains('*') => None,
        "application/x-www-form-urlencoded" => Some(("--data", form(media, value)?)),
        "text/plain" => {
            let text = scalar(value)?;
            // After `--data`, `@` would name a file.
            Some(("--data-raw", text))
        }
        essence if is_json(essence) => Some(("--data", json(value))),
        _ => None,
    }
}

/// Returns the text of a part of a multipart body, and whether the part is a file.
pub(super) fn part(essence: &str, value: &Value) -> Option<(String, bool)> {
    let essence = essence.to_ascii_lowercase();
    if is_json(&essence) {
        return Some((json(value), false));
    }
    let is_file = !essence.starts_with("text/");
    match value {
        // The bytes of a file are a text of the schema.
        Value::String(text) => Some((text.clone(), is_file)),
        _ if is_file => None,
        value => Some((scalar(value)?, false)),
    }
}

fn form(media: &MediaType, value: &Value) -> Option<String> {
    let mut out = Vec::new();
    for (name, value) in value.as_object()? {
        out.extend(in_form(media.encoding.get(name), name, value)?);
    }
    (!out.is_empty()).then(|| out.join("&"))
}

/// Returns the pairs of a field of a form.
pub(super) fn in_form(
    encoding: Option<&PropertyEncoding>,
    name: &str,
    value: &Value,
) -> Option<Vec<String>> {
    let name = encoded(name);
    let style = encoding.and_then(|encoding| encoding.style);
    let explode = encoding.and_then(|encoding| encoding.explode);
    if style.is_some() || explode.is_some() {
        let style = style.unwrap_or(Style::Form);
        return styled(&name, value, style, explode.unwrap_or(style == Style::Form));
    }
    let types = encoding.and_then(|encoding| encoding.content_type.as_deref());
    match types {
        // Whether the items are fields of their own is read in both ways.
        Some(_) if value.is_array() => None,
        Some(types) => {
            let media = types.split(',').next().unwrap_or_default();
            Some(vec![format!("{name}={}", encoded(&content(media, value)?))])
        }
        // Some tools write an object as JSON, and others its properties as fields.
        None if value.is_object() => None,
        None => pairs(&name, value, true, ','),
    }
}

/// Returns pairs of a query or form. Without `explode`, the parts of an array or object are one
/// value, with `between` between them.
fn pairs(name: &str, value: &Value, explode: bool, between: char) -> Option<Vec<String>> {
    let parts: Vec<String> = match value {
        Value::Array(items) => items.iter().map(scalar).collect::<Option<_>>()?,
        Value::Object(_) if explode => return properties(value, encoded),
        Value::Object(fields) => {
            let mut parts = Vec::new();
            for (key, value) in fields {
                parts.extend([key.clone(), scalar(value)?]);
            }
            parts
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return Some(vec![format!("{name}={}", encoded(&scalar(value)?))]);
        }
    };
    if parts.is_empty() {
        return None;
    }
    if explode {
        let pair = |part: &String| format!("{name}={}", encoded(part));
        return Some(parts.iter().map(pair).collect());
    }
    // Some servers decode before they split.
    if parts
        .iter()
        .any(|part| part.is_empty() || part.contains(between))
    {
        return None;
    }
    let between = match between {
        // A comma may stand in a query as it is. As `%2C`, some servers would not split at it.
        ',' => ",".to_owned(),
        other => encoded(&other.to_string()),
    };
    let parts: Vec<String> = parts.iter().map(|part| encoded(part)).collect();
    Some(vec![format!("{name}={}", parts.join(&between))])
}

/// Returns a pair for each property of an object, or `None` if there is none.
fn properties(value: &Value, name: impl Fn(&str) -> String) -> Option<Vec<String>> {
    let fields = value.as_object()?;
    let pair = |(key, value): (&String, &Value)| {
        Some(format!("{}={}", name(key), encoded(&scalar(value)?)))
    };
    let pairs: Vec<String> = fields.iter().map(pair).collect::<Option<_>>()?;
    (!pairs.is_empty()).then_some(pairs)
}

/// Returns a scalar, or the parts of an array or object with commas (the style `simple`).
fn list(value: &Value, explode: bool, write: impl Fn(&str) -> String) -> Option<String> {
    let part = |text: String| {
        // The style has no escapes for what separates its parts.
        let is_whole = !text.is_empty() && text.trim() == text && !text.contains([',', '=']);
        is_whole.then(|| write(&text))
    };
    let parts: Vec<String> = match value {
        Value::Array(items) => items
            .iter()
            .map(|item| part(scalar(item)?))
            .collect::<Option<_>>()?,
        Value::Object(fields) => {
            let between = if explode { '=' } else { ',' };
            fields
                .iter()
                .map(|(key, value)| {
                    let (key, value) = (part(key.clone())?, part(scalar(value)?)?);
                    Some(format!("{key}{between}{value}"))
                })
                .collect::<Option<_>>()?
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return Some(write(&scalar(value)?));
        }
    };
    (!parts.is_empty()).then(|| parts.join(","))
}

/// Returns the text of a string, number or Boolean.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the text of a parameter that has a media type.
fn content(media: &str, value: &Value) -> Option<String> {
    match essence(media).as_str() {
        "text/plain" => scalar(value),
        essence if is_json(essence) => Some(json(value)),
        _ => None,
    }
}

fn is_json(essence: &str) -> bool {
    essence == "application/json" || essence.ends_with("+json")
}

/// Returns a media type without its parameters, in lower case.
fn essence(media: &str) -> String {
    let essence = media.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// Returns whether a terminal shows a text as it is, so that it can be read and copied. It shows no
/// joiners, and all blanks alike.
pub(super) fn is_shown(text: &str) -> bool {
    let is_hidden = |character: char| {
        matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
            || character != ' ' && character.is_whitespace()
    };
    harmless(text) == text && !text.contains(is_hidden)
}

fn json(value: &Value) -> String {
    shown(&value.to_string())
}

/// Returns a JSON text that a terminal shows as it is.
pub(super) fn shown(text: &str) -> String {
    if is_shown(text) {
        return text.to_owned();
    }
    let mut out = String::new();
    for character in text.chars() {
        if matches!(character, ' '..='~') {
            out.push(character);
        } else {
            // Only strings have such characters.
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}
