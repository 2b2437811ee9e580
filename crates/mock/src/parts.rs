//! Multipart bodies whose parts have positions and no names: read by the types of the IR, and made
//! up from schemas.

use api_runtime::parts::{
    Content, Encoding, Encodings, Json, Part, PartError, PartHeader, Reader, Sequence, Text,
    Writer, read_nested, write_nested,
};
use api_runtime::server::Bytes;
use codegen::ir::{self, PartContent, PartList};
use http::{HeaderName, HeaderValue};
use serde_json::Value;

use crate::types::{Decoded, Expected, Shape, Types};

/// Returns the description of parts by which the run time reads and writes them. It lives until the
/// process ends.
pub(crate) fn encodings(parts: &'static PartList) -> Encodings {
    let prefix: Vec<Encoding> = parts.prefix.iter().map(encoding).collect();
    let mut made = Encodings::new(Vec::leak(prefix), encoding(&parts.item)).at_least(parts.least);
    if let Some(most) = parts.most {
        made = made.at_most(most);
    }
    if parts.is_form { made.form() } else { made }
}

fn encoding(part: &'static ir::Part) -> Encoding {
    let names: Vec<&'static str> = part.media_types.iter().map(String::as_str).collect();
    let headers = part.headers.iter().map(|header| {
        let mut made = PartHeader::new(&header.name);
        if header.is_required {
            made = made.required();
        }
        if header.is_forbidden {
            made = made.forbidden();
        }
        match &header.value {
            Some(value) => made.value(value),
            None => made,
        }
    });
    let headers: Vec<PartHeader> = headers.collect();
    let made = Encoding::new(Vec::leak(names)).headers(Vec::leak(headers));
    match &part.content {
        PartContent::Parts(parts) => made.parts(Box::leak(Box::new(encodings(parts)))),
        PartContent::Json(_) | PartContent::Text(_) | PartContent::Bytes | PartContent::Nothing => {
            made
        }
    }
}

/// Returns the part of a list with this index.
fn part(list: &'static PartList, at: usize) -> &'static ir::Part {
    list.prefix.get(at).unwrap_or(&list.item)
}

tokio::task_local! {
    /// The parts that a [`Checked`] body must have.
    static WANTED: (&'static Types, &'static PartList);
}

/// A body whose parts fit the contract.
pub(crate) struct Checked;

impl Checked {
    /// Runs a future in which a body must have these parts.
    pub(crate) async fn scope<F: Future>(
        types: &'static Types,
        list: &'static PartList,
        run: F,
    ) -> F::Output {
        WANTED.scope((types, list), run).await
    }
}

impl Sequence for Checked {
    fn read(mut parts: Reader) -> Result<Self, PartError> {
        let (types, list) = WANTED
            .try_with(|wanted| *wanted)
            .map_err(|_| PartError::new("has no expected form"))?;
        let mut at = 0;
        loop {
            let part = part(list, at);
            let expected = |ty| Expected {
                types,
                shape: Shape::of(ty, false),
            };
            let is_there = match &part.content {
                PartContent::Json(ty) => expected(ty)
                    .sync_scope(|| parts.take::<Json<Decoded>>())?
                    .is_some(),
                PartContent::Text(ty) => expected(ty)
                    .sync_scope(|| parts.take::<Text<Decoded>>())?
                    .is_some(),
                PartContent::Parts(nested) => WANTED
                    .sync_scope((types, nested), || parts.take::<CheckedPart>())?
                    .is_some(),
                PartContent::Bytes => parts.take::<Bytes>()?.is_some(),
                PartContent::Nothing => parts.take::<api_runtime::parts::NoPart>()?.is_some(),
            };
            if !is_there {
                return Ok(Self);
            }
            at += 1;
        }
    }

    fn write(self, _: &mut Writer) -> Result<(), PartError> {
        Err(PartError::new("is only read"))
    }
}

/// A part whose own parts fit the contract.
struct CheckedPart;

impl Content for CheckedPart {
    fn read(
        bytes: Bytes,
        encoding: &Encoding,
        boundary: Option<&str>,
        is_lenient: bool,
    ) -> Result<Self, PartError> {
        read_nested::<Checked>(&bytes, encoding, boundary, is_lenient).map(|_| Self)
    }

    fn write(self, _: &Encoding) -> Result<(Bytes, Option<String>), PartError> {
        Err(PartError::new("is only read"))
    }
}

/// A body that is made up: the values of its parts.
pub(crate) struct Made<H> {
    pub(crate) values: Vec<Value>,
    pub(crate) list: &'static PartList,
    /// Makes up the value of a header.
    pub(crate) header: H,
}

/// The value of a part that is made up.
pub(crate) struct MadePart<H> {
    value: Value,
    content: &'static PartContent,
    header: H,
}

impl<H: Fn(&ir::PartHeader) -> Option<String> + Clone + Send + 'static> Made<H> {
    /// Returns the parts.
    pub(crate) fn parts(self) -> Vec<Part<MadePart<H>>> {
        let Self {
            values,
            list,
            header,
        } = self;
        let made = values.into_iter().enumerate();
        made.map(|(at, value)| {
            let described = part(list, at);
            let mut made = Part::new(MadePart {
                value,
                content: &described.content,
                header: header.clone(),
            });
            // Of a range the caller must choose one.
            let is_range = |name: &String| name.contains('*');
            if let Some(range) = described.media_types.first()
                && described.media_types.iter().all(is_range)
            {
                made = made.with_content_type(HeaderValue::from_static(within(range)));
            }
            for wanted in &described.headers {
                let is_made = wanted.is_required && !wanted.is_forbidden && wanted.value.is_none();
                if let Some(value) = is_made.then(|| header(wanted)).flatten()
                    && let Ok(name) = HeaderName::from_bytes(wanted.name.as_bytes())
                    && let Ok(value) = HeaderValue::from_str(&value)
                {
                    made = made.with_header(name, value);
                }
            }
            made
        })
        .collect()
    }
}

/// Returns a media type within a range.
fn within(range: &str) -> &'static str {
    match range.split('/').next().unwrap_or_default() {
        "image" => "image/png",
        "audio" => "audio/mpeg",
        "video" => "video/mp4",
        "text" => "text/plain",
        "font" => "font/woff2",
        "multipart" => "multipart/mixed",
        "application" | "*" => "application/octet-stream",
        _ => "application/x-mock",
    }
}

impl<H: Fn(&ir::PartHeader) -> Option<String> + Clone + Send + 'static> Sequence for Made<H> {
    fn read(_: Reader) -> Result<Self, PartError> {
        Err(PartError::new("is only written"))
    }

    fn write(self, writer: &mut Writer) -> Result<(), PartError> {
        self.parts()
            .into_iter()
            .try_for_each(|part| writer.add(part))
    }
}

impl<H: Fn(&ir::PartHeader) -> Option<String> + Clone + Send + 'static> Content for MadePart<H> {
    fn read(_: Bytes, _: &Encoding, _: Option<&str>, _: bool) -> Result<Self, PartError> {
        Err(PartError::new("is only written"))
    }

    fn write(self, encoding: &Encoding) -> Result<(Bytes, Option<String>), PartError> {
        match (self.content, self.value) {
            (PartContent::Json(_), value) => Json(value).write(encoding),
            (PartContent::Parts(list), Value::Array(values)) => {
                let header = self.header;
                write_nested(
                    Made {
                        values,
                        list,
                        header,
                    },
                    encoding,
                )
            }
            (PartContent::Bytes | PartContent::Text(_), Value::String(text)) => {
                Ok((Bytes::from(text), None))
            }
            (_, value) => Ok((Bytes::from(value.to_string()), None)),
        }
    }
}
