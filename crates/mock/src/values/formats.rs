//! Strings of the formats that JSON Schema and OpenAPI name.

use rand::RngExt as _;
use rand::rngs::StdRng;

use super::texts::{word, words};

/// Returns whether strings of a format are made.
pub(super) fn is_known(format: &str) -> bool {
    KNOWN.contains(&format)
}

const KNOWN: [&str; 21] = [
    "byte",
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "http-date",
    "idn-email",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "time",
    "uri",
    "uri-reference",
    "uri-template",
    "uuid",
];

/// Returns a string of a format, as near to the lengths as the format allows.
///
/// Names and addresses are those that are reserved for documents (RFC 2606, RFC 5737, RFC 3849), so
/// that nobody is called by mistake.
pub(super) fn text(format: &str, least: usize, most: usize, random: &mut StdRng) -> Option<String> {
    Some(match format {
        "date" => date(random),
        "date-time" => format!("{}T{}", date(random), time(random)),
        "time" => time(random),
        "duration" => format!("P{}D", random.random_range(1..30)),
        // The day of the week must be that of the date, so only the minute is random.
        "http-date" => format!(
            "Fri, 31 Dec 1999 23:{:02}:59 GMT",
            random.random_range(0..60)
        ),
        "email" | "idn-email" => {
            let room = most.saturating_sub("@example.com".len());
            let name = words(least.saturating_sub("@example.com".len()), room, random);
            format!("{name}@example.com")
        }
        "hostname" | "idn-hostname" => {
            let name = format!("{}.example.com", word(random));
            if name.len() > most {
                word(random).chars().take(most).collect()
            } else {
                name
            }
        }
        "ipv4" => format!("192.0.2.{}", random.random_range(1..255)),
        "ipv6" => format!("2001:db8::{:x}", random.random_range(1..0xffff)),
        "uri" | "iri" | "uri-reference" | "iri-reference" | "uri-template" => {
            let start = "https://example.com/";
            let room = most.saturating_sub(start.len());
            let path = words(least.saturating_sub(start.len()), room, random);
            let whole = format!("{start}{path}");
            if whole.chars().count() <= most {
                whole
            } else {
                format!(
                    "a:{}",
                    words(least.saturating_sub(2), most.saturating_sub(2), random)
                )
            }
        }
        "uuid" => uuid(random),
        "json-pointer" => format!("/{}", word(random)),
        "relative-json-pointer" => format!("0/{}", word(random)),
        "regex" => format!("^{}$", word(random)),
        "byte" => {
            // Four characters for every three bytes.
            let wanted = least.max(8).min(most);
            let groups = wanted.div_ceil(4).min(most / 4);
            (0..groups * 4)
                .map(|_| char::from(random.random_range(b'a'..=b'z')))
                .collect()
        }
        _ => return None,
    })
}

fn date(random: &mut StdRng) -> String {
    let (year, month, day) = (
        random.random_range(2020..2030),
        random.random_range(1..=12),
        // Every month has so many days.
        random.random_range(1..=28),
    );
    format!("{year}-{month:02}-{day:02}")
}

fn time(random: &mut StdRng) -> String {
    let (hour, minute, second) = (
        random.random_range(0..24),
        random.random_range(0..60),
        random.random_range(0..60),
    );
    format!("{hour:02}:{minute:02}:{second:02}Z")
}

/// Returns a UUID of version 4 (RFC 9562).
fn uuid(random: &mut StdRng) -> String {
    let bits: u128 = random.random();
    let bits = (bits & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-")
}
