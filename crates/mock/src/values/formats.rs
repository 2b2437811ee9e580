//! Strings of the formats that JSON Schema and OpenAPI name.

use rand::RngExt as _;
use rand::rngs::StdRng;

use super::texts::{word, words};

/// Makes a string of a format, as near to the lengths `least` and `most` in characters as the format
/// allows.
pub(super) type Maker = fn(least: usize, most: usize, random: &mut StdRng) -> String;

/// Returns what makes strings of a format, or `None` for a format that has no strings of its own.
///
/// Names and addresses are those that are reserved for documents (RFC 2606, RFC 5737, RFC 3849), so
/// that nobody is called by mistake.
pub(super) fn maker(format: &str) -> Option<Maker> {
    Some(match format {
        "date" => |_, _, random| date(random),
        "date-time" => |_, _, random| format!("{}T{}", date(random), time(random)),
        "time" => |_, _, random| time(random),
        "duration" => |_, _, random| format!("P{}D", random.random_range(1..30)),
        // The day of the week must be that of the date, so only the minute is random.
        "http-date" => |_, _, random| {
            let minute = random.random_range(0..60);
            format!("Fri, 31 Dec 1999 23:{minute:02}:59 GMT")
        },
        "email" | "idn-email" => email,
        "hostname" | "idn-hostname" => hostname,
        "ipv4" => |_, _, random| format!("192.0.2.{}", random.random_range(1..255)),
        "ipv6" => |_, _, random| format!("2001:db8::{:x}", random.random_range(1..0xffff)),
        "uri" | "iri" | "uri-reference" | "iri-reference" | "uri-template" => uri,
        "uuid" => |_, _, random| uuid(random),
        "json-pointer" => |_, _, random| format!("/{}", word(random)),
        "relative-json-pointer" => |_, _, random| format!("0/{}", word(random)),
        "regex" => |_, _, random| format!("^{}$", word(random)),
        "byte" => byte,
        _ => return None,
    })
}

fn email(least: usize, most: usize, random: &mut StdRng) -> String {
    const HOST: &str = "@example.com";
    let room = |length: usize| length.saturating_sub(HOST.len());
    format!("{}{HOST}", words(room(least), room(most), random))
}

fn hostname(_: usize, most: usize, random: &mut StdRng) -> String {
    let name = format!("{}.example.com", word(random));
    if name.len() > most {
        word(random).chars().take(most).collect()
    } else {
        name
    }
}

fn uri(least: usize, most: usize, random: &mut StdRng) -> String {
    let mut behind = |start: &str| {
        let room = |length: usize| length.saturating_sub(start.len());
        format!("{start}{}", words(room(least), room(most), random))
    };
    let whole = behind("https://example.com/");
    if whole.chars().count() <= most {
        whole
    } else {
        behind("a:")
    }
}

/// Returns a base64 text: four characters for every three bytes.
fn byte(least: usize, most: usize, random: &mut StdRng) -> String {
    let wanted = least.max(8).min(most);
    let groups = wanted.div_ceil(4).min(most / 4);
    (0..groups * 4)
        .map(|_| char::from(random.random_range(b'a'..=b'z')))
        .collect()
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
