//! A request, made of values and the description of its operation.

use std::borrow::Cow;

use reqwest::RequestBuilder;
use serde_json::Value;

use super::description::{Body, BodyKind, Input, Operation, Place};
use super::failure::Failure;
use super::input::{Arguments, Content};
use crate::client::{
    self, Argument, Call, Cookies, InvalidArgument, Multipart, Payload, Query, Style,
};

/// The header by which a server recognises a request that is sent again.
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
/// The maximum number of bytes of a file that is a part of a multipart body.
const MOST_BYTES: u64 = 256 << 20;

/// Returns the request of a call.
pub(super) fn request(
    call: Call<'_>,
    operation: &'static Operation,
    arguments: &Arguments,
) -> Result<RequestBuilder, Failure> {
    let wrong = |error: InvalidArgument| Failure::usage(error.to_string());
    let url = url(call, operation, arguments).map_err(wrong)?;
    let method = client::method(&operation.method);
    let mut request = call.http().request(method, url);
    if !operation.accept.is_empty() {
        request = request.header("accept", &operation.accept);
    }
    request = headers(call, operation, arguments, request).map_err(wrong)?;
    let (Some(body), Some(content)) = (&operation.body, &arguments.body) else {
        return Ok(request);
    };
    self::body(body, content, request)
}

/// Returns the URL with its query.
fn url(call: Call<'_>, operation: &Operation, arguments: &Arguments) -> Argument<String> {
    let mut template = String::new();
    let mut segments = Vec::new();
    for segment in segments_of(operation) {
        let mut text = String::new();
        for part in &segment {
            match part {
                Part::Literal(literal) => {
                    // `{}` stands for a segment in the template.
                    text.push_str(&literal.replace('{', "%7B").replace('}', "%7D"));
                }
                Part::Parameter(input) => text.push_str(&path_text(input, arguments)?),
            }
        }
        template.push('/');
        if segment
            .iter()
            .any(|part| matches!(part, Part::Parameter(_)))
        {
            template.push_str("{}");
            segments.push(text);
        } else {
            template.push_str(&text);
        }
    }
    let url = client::escaped_url(call, &template, segments)?;
    let mut query = Query::new();
    for (input, value) in located(arguments, Place::Query) {
        if input.json {
            let text = client::content(&input.name, value)?;
            if input.whole {
                query.add_whole(&text);
            } else {
                query.add_text(&input.name, &text);
            }
        } else if input.whole && input.style.as_deref() == Some("simple") {
            query.add_whole(&client::single(&input.name, value)?);
        } else {
            let (style, explode) = style(input, Style::Form, true);
            query.add(&input.name, value, (style, explode, input.reserved))?;
        }
    }
    let label = operation.label.iter();
    let label: Vec<(&str, &str)> = label.map(|(name, value)| (&**name, &**value)).collect();
    query.label(&label);
    Ok(query.on(url))
}

/// A part of a segment of a path.
enum Part<'o> {
    Literal(String),
    Parameter(&'o Input),
}

/// Returns the segments of an operation's path. The name of a parameter may have any character.
fn segments_of(operation: &Operation) -> Vec<Vec<Part<'_>>> {
    let mut segments = vec![Vec::new()];
    let mut rest = operation.path.trim_start_matches('/');
    let inputs = || {
        operation
            .parameters
            .iter()
            .filter(|input| input.place == Place::Path)
    };
    while let Some(first) = rest.chars().next() {
        // By the names of parameters, since the text of a path may have braces too.
        let used = inputs().find_map(|input| {
            let behind = rest.strip_prefix('{')?.strip_prefix(input.name.as_str())?;
            Some((input, behind.strip_prefix('}')?))
        });
        let last = segments.len() - 1;
        match used {
            Some((input, behind)) => {
                segments[last].push(Part::Parameter(input));
                rest = behind;
                continue;
            }
            None if first == '/' => segments.push(Vec::new()),
            None => match segments[last].last_mut() {
                Some(Part::Literal(text)) => text.push(first),
                _ => segments[last].push(Part::Literal(first.to_string())),
            },
        }
        rest = &rest[first.len_utf8()..];
    }
    segments
}

/// Returns the escaped text of a path parameter.
fn path_text(input: &Input, arguments: &Arguments) -> Argument<String> {
    let mut given = arguments.parameters.iter();
    // By address, since parameters of other places may have the same name.
    let value = given.find(|(other, _)| std::ptr::eq(*other, input));
    let value = value.map_or(&Value::Null, |(_, value)| value);
    if input.json {
        return client::path_content(&input.name, value);
    }
    let (style, explode) = style(input, Style::Simple, false);
    client::path_text(&input.name, value, style, explode)
}

/// Adds the headers and cookies.
fn headers(
    call: Call<'_>,
    operation: &Operation,
    arguments: &Arguments,
    mut request: RequestBuilder,
) -> Argument<RequestBuilder> {
    let is_key = |input: &Input| {
        input.place == Place::Header && input.name.eq_ignore_ascii_case(IDEMPOTENCY_KEY)
    };
    let is_given = located(arguments, Place::Header).any(|(input, _)| is_key(input));
    if !is_given && operation.parameters.iter().any(is_key) {
        request = call.idempotent(request, None::<&String>)?;
    }
    for (input, value) in located(arguments, Place::Header) {
        let add: fn(_, &str, Option<&Value>) -> _ = match (input.json, input.explode) {
            (true, _) => client::content_header,
            (false, true) => client::exploded_header,
            (false, false) => client::header,
        };
        request = add(request, &input.name, Some(value))?;
    }
    let mut cookies = Cookies::new();
    for (input, value) in located(arguments, Place::Cookie) {
        // Without a style, cookies have `form`, which explodes by default.
        let explode = input.style.is_none() || input.explode;
        if input.json {
            cookies.add_text(&input.name, &client::content(&input.name, value)?);
        } else if input.style.as_deref() == Some("cookie") {
            cookies.add_plain(&input.name, value, explode)?;
        } else {
            cookies.add(&input.name, value, explode)?;
        }
    }
    Ok(cookies.on(request))
}

fn located(arguments: &Arguments, place: Place) -> impl Iterator<Item = (&Input, &Value)> {
    let parameters = arguments.parameters.iter();
    parameters
        .filter(move |(input, _)| input.place == place)
        .map(|(input, value)| (*input, value))
}

/// Returns the style and `explode` of a parameter.
fn style(input: &Input, usual: Style, explodes: bool) -> (Style, bool) {
    match &input.style {
        Some(style) => (style_of(style), input.explode),
        None => (usual, explodes),
    }
}

fn style_of(word: &str) -> Style {
    match word {
        "matrix" => Style::Matrix,
        "label" => Style::Label,
        "simple" => Style::Simple,
        "spaceDelimited" => Style::SpaceDelimited,
        "pipeDelimited" => Style::PipeDelimited,
        "deepObject" => Style::DeepObject,
        "json" => Style::Json,
        _ => Style::Form,
    }
}

/// Adds the body.
fn body(
    body: &Body,
    content: &Content,
    request: RequestBuilder,
) -> Result<RequestBuilder, Failure> {
    let wrong = |error: InvalidArgument| Failure::usage(error.to_string());
    let payload = match (content, body.kind) {
        (Content::Bytes(bytes), _) => {
            // A range of media types is none that a request can have.
            let is_range = body.media.contains('*');
            let media = if is_range {
                Cow::Borrowed("application/octet-stream")
            } else {
                with_boundary(&body.media, bytes)?
            };
            let payload = Payload::<reqwest::Body>::bytes(&media, bytes.clone().into());
            return Ok(payload.map_err(wrong)?.on(request));
        }
        (Content::Value(value), BodyKind::Multipart) => {
            let payload = Payload::multipart(&body.media, parts(value)?);
            return Ok(payload.map_err(wrong)?.on(request));
        }
        (Content::Value(value), BodyKind::Form) => {
            let styles = body.styles.iter();
            let styles: Vec<(&str, Style, bool)> = styles
                .map(|(name, style, explode)| (name.as_str(), style_of(style), *explode))
                .collect();
            Payload::form(&body.media, value, &styles)
        }
        (Content::Value(value), BodyKind::Json | BodyKind::Bytes) => {
            Payload::json(&body.media, value)
        }
    };
    Ok(payload.map_err(wrong)?.on(request))
}

/// Returns a media type, if it is multipart with the boundary that the first line of the body has.
fn with_boundary<'b>(media: &'b str, body: &[u8]) -> Result<Cow<'b, str>, Failure> {
    let is_multipart = media.get(..10).unwrap_or_default();
    if !is_multipart.eq_ignore_ascii_case("multipart/") || media.contains("boundary=") {
        return Ok(Cow::Borrowed(media));
    }
    let line = body.split(|byte| *byte == b'\n').next().unwrap_or_default();
    // The characters that RFC 2046 allows, none of which ends a quoted string.
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(byte);
    let boundary = line
        .trim_ascii_end()
        .strip_prefix(b"--")
        .filter(|boundary| (1..=70).contains(&boundary.len()) && boundary.iter().all(is_allowed))
        .and_then(|boundary| str::from_utf8(boundary).ok());
    let boundary = boundary.ok_or_else(|| {
        Failure::usage(
            "--body must be a whole multipart body, whose first line is `--` and its boundary",
        )
    })?;
    Ok(Cow::Owned(format!("{media}; boundary=\"{boundary}\"")))
}

/// Returns the parts of a multipart body. A text that begins with `@` stands for the file of that
/// path.
fn parts(value: &Value) -> Result<Multipart, Failure> {
    let Value::Object(members) = value else {
        return Err(Failure::usage(
            "--body must be an object, with a property for each part",
        ));
    };
    let mut texts = members.clone();
    let mut files = Vec::new();
    for (name, value) in members {
        let values = value
            .as_array()
            .map_or(std::slice::from_ref(value), Vec::as_slice);
        let paths: Vec<&str> = values.iter().filter_map(file).collect();
        // Texts and files are different parts, so a list of both stays as it is, and the API judges
        // it.
        if !paths.is_empty() && paths.len() == values.len() {
            texts.remove(name);
            files.extend(paths.into_iter().map(|path| (name, path)));
        }
    }
    let parts = Multipart::of(&Value::Object(texts));
    let mut parts = parts.map_err(|error| Failure::usage(error.to_string()))?;
    for (name, path) in files {
        let bytes = super::secrets::bytes(path, MOST_BYTES).map_err(|error| {
            Failure::usage(format!("`{name}` cannot be read from {path}: {error}"))
        })?;
        let file = std::path::Path::new(path).file_name();
        let file = file.map_or_else(String::new, |file| file.to_string_lossy().into_owned());
        parts = parts.file(name, &file, "application/octet-stream", bytes);
    }
    Ok(parts)
}

/// Returns the path of a text that stands for a file.
pub(super) fn file(value: &Value) -> Option<&str> {
    value.as_str()?.strip_prefix('@')
}

#[cfg(test)]
mod tests {
    use super::with_boundary;

    #[test]
    fn the_boundary_of_a_body_is_that_of_its_first_line() {
        for (media, body, expected) in [
            ("image/png", "--b\r\n", Some("image/png")),
            (
                "multipart/mixed",
                "--b c\r\n\r\n",
                Some("multipart/mixed; boundary=\"b c\""),
            ),
            (
                "Multipart/Mixed",
                "--b",
                Some("Multipart/Mixed; boundary=\"b\""),
            ),
            (
                "multipart/mixed; boundary=a",
                "",
                Some("multipart/mixed; boundary=a"),
            ),
            ("multipart/mixed", "", None),
            ("multipart/mixed", "--\r\n", None),
            ("multipart/mixed", "b\r\n--b\r\n", None),
            ("multipart/mixed", "--b\"; x\r\n", None),
        ] {
            let found = with_boundary(media, body.as_bytes());
            assert_eq!(found.ok().as_deref(), expected, "{media} {body:?}");
        }
        let long = format!("--{}\r\n", "b".repeat(71));
        assert!(with_boundary("multipart/mixed", long.as_bytes()).is_err());
    }
}
