//! What does not fit the contract: counted, as lines for the terminal, and as a header.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use api_runtime::server::Rejection;
use codegen::ir;
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::VIOLATIONS;
use crate::bounds::{MOST_HEADER, MOST_LINES, MOST_SHOWN};

/// The maximum number of characters of a path that a line repeats.
const MOST_PATH: usize = 200;

/// Something of a request or response that does not fit the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) side: Side,
    /// The part, such as `status` or `body /items/0`; empty for the whole.
    pub(super) place: String,
    /// What is wrong, without the value, which may be a secret.
    pub(super) message: String,
}

/// The message that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Request,
    Response,
}

impl Side {
    fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }
}

impl Finding {
    /// Returns what a rejection says.
    pub(super) fn of(side: Side, rejection: &Rejection) -> Vec<Self> {
        if rejection.violations.is_empty() {
            let message = rejection.message.to_string();
            let place = String::new();
            return vec![Self {
                side,
                place,
                message,
            }];
        }
        let violations = rejection.violations.iter();
        let findings = violations.map(|violation| Self {
            side,
            place: format!("{} {}", violation.location.as_str(), violation.place())
                .trim_end()
                .to_owned(),
            message: violation.message.clone(),
        });
        findings.collect()
    }

    fn words(&self) -> String {
        let Self { place, message, .. } = self;
        if place.is_empty() {
            message.clone()
        } else {
            format!("{place} {message}")
        }
    }
}

/// Where findings were made: the operation, or else the request without its query, which may have
/// secrets.
pub(super) struct Place(String);

impl Place {
    pub(super) fn new(parts: &Parts, operation: Option<&ir::Operation>) -> Self {
        let Some(operation) = operation else {
            let path: String = parts.uri.path().chars().take(MOST_PATH).collect();
            return Self(format!("{} {path}", parts.method));
        };
        let (id, path) = (&operation.id, &operation.path);
        Self(format!("{id} ({} {path})", operation.method.as_str()))
    }
}

/// How much a proxy has forwarded and found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// The requests.
    pub requests: u64,
    /// What of requests does not fit the contract.
    pub of_requests: u64,
    /// What of responses does not fit the contract.
    pub of_responses: u64,
    /// The bodies that were passed on without a judgement though the contract describes them,
    /// because they were too large, too slow, or in an unknown coding.
    pub not_judged: u64,
    /// The lines that nobody read in time.
    pub lost: u64,
}

#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    of_requests: AtomicU64,
    of_responses: AtomicU64,
    not_judged: AtomicU64,
    lost: AtomicU64,
}

/// What a proxy finds, as lines for the terminal.
pub struct Findings {
    lines: mpsc::Receiver<String>,
    counts: Arc<Counts>,
}

impl Findings {
    /// Waits for the next line. Returns `None` once the proxy has ended.
    pub async fn next(&mut self) -> Option<String> {
        self.lines.recv().await
    }

    /// Returns a line that is here already.
    pub fn waiting(&mut self) -> Option<String> {
        self.lines.try_recv().ok()
    }

    /// Returns how much was found so far.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Totals {
            requests: read(&self.counts.requests),
            of_requests: read(&self.counts.of_requests),
            of_responses: read(&self.counts.of_responses),
            not_judged: read(&self.counts.not_judged),
            lost: read(&self.counts.lost),
        }
    }
}

/// Takes what is found. It never waits for the reader of the lines.
pub(super) struct Notes {
    lines: mpsc::Sender<String>,
    counts: Arc<Counts>,
}

/// Returns both ends of what is found.
pub(super) fn channel() -> (Notes, Findings) {
    let (sender, receiver) = mpsc::channel(MOST_LINES);
    let counts = Arc::<Counts>::default();
    let findings = Findings {
        lines: receiver,
        counts: Arc::clone(&counts),
    };
    let lines = sender;
    (Notes { lines, counts }, findings)
}

impl Notes {
    /// Counts a request.
    pub(super) fn begin(&self) {
        self.counts.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts findings, and writes a line for each of the first ones.
    pub(super) fn add(&self, place: &Place, findings: &[Finding]) {
        for finding in findings {
            let count = match finding.side {
                Side::Request => &self.counts.of_requests,
                Side::Response => &self.counts.of_responses,
            };
            count.fetch_add(1, Ordering::Relaxed);
        }
        for finding in findings.iter().take(MOST_SHOWN) {
            let side = finding.side.as_str();
            self.line(&format!("{}: {side}: {}", place.0, finding.words()));
        }
        if let Some(more) = findings.len().checked_sub(MOST_SHOWN).filter(|it| *it > 0) {
            self.line(&format!("{}: and {more} more", place.0));
        }
    }

    /// Notes that a body was passed on without a judgement.
    pub(super) fn not_judged(&self, place: &Place, side: &str) {
        self.counts.not_judged.fetch_add(1, Ordering::Relaxed);
        self.line(&format!(
            "{}: the body of the {side} was not judged: it is too large, too slow, or in an unknown coding",
            place.0
        ));
    }

    fn line(&self, line: &str) {
        // Paths and names of properties are the caller's, and must not steer a terminal.
        let shown = |it: char| if it.is_control() { '\u{fffd}' } else { it };
        if self
            .lines
            .try_send(line.chars().map(shown).collect())
            .is_err()
        {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Returns what a response that is replaced has done wrong.
pub(super) fn summary(findings: &[Finding]) -> String {
    let words: Vec<String> = findings
        .iter()
        .take(MOST_SHOWN)
        .map(Finding::words)
        .collect();
    format!(
        "the server's response does not match the contract: {}",
        words.join("; ")
    )
}

/// Adds findings to the headers of a response, the first ones, as an array in JSON.
pub(super) fn write(headers: &mut HeaderMap, findings: &[&[Finding]]) {
    // The server may be such a proxy itself, whose header is about another contract.
    let mut entries: Vec<Value> = Vec::new();
    let mut size = 2;
    for finding in findings.iter().copied().flatten().take(MOST_SHOWN) {
        let entry = json!({
            "in": finding.side.as_str(),
            "place": finding.place,
            "message": finding.message,
        });
        size += ascii(&entry).len() + 1;
        if size > MOST_HEADER {
            break;
        }
        entries.push(entry);
    }
    let is_empty = findings.iter().all(|findings| findings.is_empty());
    if !is_empty && let Ok(value) = HeaderValue::from_str(&ascii(&Value::Array(entries))) {
        headers.insert(VIOLATIONS, value);
    }
}

/// Writes JSON in the characters that a header may have.
fn ascii(value: &Value) -> String {
    let mut text = String::new();
    let mut units = [0; 2];
    for character in value.to_string().chars() {
        if character.is_ascii() && !character.is_ascii_control() {
            text.push(character);
        } else {
            for unit in character.encode_utf16(&mut units) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    text
}
