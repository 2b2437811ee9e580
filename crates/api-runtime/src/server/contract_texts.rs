//! The contract as the router serves it, `/openapi.json` and `/openapi.yaml`, and other files that
//! never change.

use std::hash::{DefaultHasher, Hasher};
use std::io::{Read, Write};
use std::sync::OnceLock;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::conditional;

/// The paths of the texts.
pub(super) const PATHS: [&str; 2] = ["/openapi.json", "/openapi.yaml"];

/// The texts of the contract that are served.
#[derive(Debug, Clone, Copy)]
pub struct ContractTexts {
    /// The text of `/openapi.json`.
    pub json: &'static str,
    /// The text of `/openapi.yaml`.
    pub yaml: &'static str,
}

/// The texts of the contract, ready to be sent.
#[derive(Debug)]
pub(super) struct ServedTexts {
    json: ServedText,
    yaml: ServedText,
}

/// A text with its encodings.
#[derive(Debug)]
pub(super) struct ServedText {
    content_type: HeaderValue,
    /// One encoding is what the program has, the other is made at the first request for it: most
    /// servers start more often than they send their contract.
    plain: OnceLock<Encoded>,
    gzip: OnceLock<Encoded>,
}

/// The bytes of a text in one encoding, with their entity tag.
#[derive(Debug)]
struct Encoded {
    bytes: Bytes,
    tag: HeaderValue,
}

impl ServedTexts {
    /// Takes the texts, which are compressed at most once in the life of the router.
    pub(super) fn new(texts: ContractTexts) -> Self {
        Self {
            json: served("application/json", texts.json),
            yaml: served("application/yaml", texts.yaml),
        }
    }

    /// Returns the response to a `GET` of a path, or `None` if it is not the path of a text.
    pub(super) fn get(&self, path: &str, headers: &HeaderMap) -> Option<Response> {
        match path {
            "/openapi.json" => Some(self.json.get(headers)),
            "/openapi.yaml" => Some(self.yaml.get(headers)),
            _ => None,
        }
    }
}

fn served(content_type: &'static str, text: &'static str) -> ServedText {
    ServedText::new(
        HeaderValue::from_static(content_type),
        Bytes::from_static(text.as_bytes()),
    )
}

impl ServedText {
    /// Takes a text that is not compressed.
    pub(super) fn new(content_type: HeaderValue, text: Bytes) -> Self {
        Self {
            content_type,
            plain: OnceLock::from(Encoded::plain(text)),
            gzip: OnceLock::new(),
        }
    }

    /// Takes a text that is compressed already.
    #[cfg(feature = "docs")]
    pub(super) fn compressed(content_type: HeaderValue, gzip: Bytes) -> Self {
        Self {
            content_type,
            plain: OnceLock::new(),
            gzip: OnceLock::from(Encoded::gzip(gzip)),
        }
    }

    /// Returns the response to a `GET` with these headers.
    pub(super) fn get(&self, headers: &HeaderMap) -> Response {
        let is_gzip = accepts_gzip(headers);
        let sent = if is_gzip { self.gzip() } else { self.plain() };
        let mut response = Response::default();
        let out = response.headers_mut();
        out.insert(header::ETAG, sent.tag.clone());
        out.insert(
            header::VARY,
            HeaderValue::from_name(header::ACCEPT_ENCODING),
        );
        // A cache may keep the text, but asks on each use whether it is still the current one.
        out.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        let tag = sent.tag.to_str().expect("hexadecimal digits are a text");
        if conditional::is_known(headers, tag) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }
        out.insert(header::CONTENT_TYPE, self.content_type.clone());
        if is_gzip {
            out.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        *response.body_mut() = Body::from(sent.bytes.clone());
        response
    }

    fn plain(&self) -> &Encoded {
        self.plain.get_or_init(|| {
            let gzip = self
                .gzip
                .get()
                .expect("a text has one encoding from the start");
            Encoded::plain(decompress(&gzip.bytes))
        })
    }

    fn gzip(&self) -> &Encoded {
        self.gzip.get_or_init(|| {
            let plain = self
                .plain
                .get()
                .expect("a text has one encoding from the start");
            Encoded::gzip(compress(&plain.bytes))
        })
    }
}

impl Encoded {
    fn plain(bytes: Bytes) -> Self {
        Self::new(bytes, "")
    }

    fn gzip(bytes: Bytes) -> Self {
        Self::new(bytes, "-gzip")
    }

    /// An entity tag names bytes, so each encoding has its own (RFC 9110, section 8.8.3.3).
    fn new(bytes: Bytes, encoding: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(&bytes);
        let tag = format!("\"{:016x}{encoding}\"", hasher.finish());
        let tag = HeaderValue::from_str(&tag).expect("hexadecimal digits are a header value");
        Self { bytes, tag }
    }
}

fn decompress(gzip: &[u8]) -> Bytes {
    let mut text = Vec::new();
    GzDecoder::new(gzip)
        .read_to_end(&mut text)
        .expect("the program's own files are whole");
    text.into()
}

fn compress(text: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder
        .write_all(text)
        .and_then(|()| encoder.finish())
        .expect("writing to memory never fails")
        .into()
}

/// Returns whether a caller accepts gzip (RFC 9110, section 12.5.3).
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let mut any = false;
    for coding in items(headers, &header::ACCEPT_ENCODING) {
        let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = parameters.trim().strip_prefix("q=");
        let is_accepted = weight.is_none_or(|q| q.trim().parse::<f32>().is_ok_and(|q| q > 0.0));
        match name.trim().to_ascii_lowercase().as_str() {
            // Its own weight decides, since `*` is about the codings that are not named.
            "gzip" | "x-gzip" => return is_accepted,
            "*" => any = is_accepted,
            _ => {}
        }
    }
    any
}

/// Returns the items of a header that is a list.
fn items<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> impl Iterator<Item = &'h str> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}
