//! Checks of the formats that JSON Schema 2020-12 names, and of OpenAPI's `byte`.
//!
//! The name of a function is that of the format, with `_` for `-`: the `Scalar` derive calls it by
//! that name.

mod moment;

pub use moment::{date, date_time, duration, time};

use std::net::Ipv6Addr;

/// Returns whether a string is an IPv4 address: a dotted quad (RFC 2673, section 3.2).
#[must_use]
pub fn ipv4(text: &str) -> bool {
    // Not the parser of the standard library, whose many steps show in long lists.
    let mut parts = text.as_bytes().split(|byte| *byte == b'.');
    parts.by_ref().take(4).filter(|part| is_octet(part)).count() == 4 && parts.next().is_none()
}

/// Returns whether a text is a number from 0 to 255 without leading zeros.
fn is_octet(text: &[u8]) -> bool {
    matches!(
        text,
        [b'0'..=b'9']
            | [b'1'..=b'9', b'0'..=b'9']
            | [b'1', b'0'..=b'9', b'0'..=b'9']
            | [b'2', b'0'..=b'4', b'0'..=b'9']
            | [b'2', b'5', b'0'..=b'5']
    )
}

/// Returns whether a string is an IPv6 address (RFC 4291, section 2.2).
#[must_use]
pub fn ipv6(text: &str) -> bool {
    groups(text).unwrap_or_else(|| text.parse::<Ipv6Addr>().is_ok())
}

/// Returns whether a string is an IPv6 address. Returns `None` if it has characters other than
/// hexadecimal digits and colons, such as those of an embedded IPv4 address.
///
/// The parser of the standard library takes three times as long, which shows in long lists.
fn groups(text: &str) -> Option<bool> {
    // The groups so far, the digits of the last one, and whether `::` stands for groups of zeros.
    let (mut groups, mut digits, mut is_short) = (0, 0, false);
    let mut previous = None;
    for byte in text.bytes() {
        match byte {
            b':' => {
                if previous == Some(b':') {
                    if is_short {
                        return Some(false);
                    }
                    is_short = true;
                }
                digits = 0;
            }
            _ if byte.is_ascii_hexdigit() => {
                digits += 1;
                groups += usize::from(digits == 1);
                if digits > 4 {
                    return Some(false);
                }
            }
            _ => return None,
        }
        previous = Some(byte);
    }
    let begins = !text.starts_with(':') || text.starts_with("::");
    let ends = !text.ends_with(':') || text.ends_with("::");
    // `::` stands for at least one group.
    let is_whole = if is_short { groups <= 7 } else { groups == 8 };
    Some(begins && ends && is_whole)
}

/// Returns whether a string is a UUID: 8-4-4-4-12 hexadecimal digits (RFC 4122).
#[must_use]
pub fn uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Returns whether a string is base64 with padding (RFC 4648, section 4).
#[must_use]
pub fn byte(text: &str) -> bool {
    // Not `base64`, which types would then depend on without a feature, and which decodes into
    // memory: that the characters are right says all that the format does.
    let data = text.trim_end_matches('=');
    let padding = text.len() - data.len();
    text.len().is_multiple_of(4)
        && padding <= 2
        && data
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

// The validator checks these formats anyway, where it validates whole bodies. Calling it here keeps
// both ways in agreement.
macro_rules! by_the_validator {
    ($($check:ident, $format:literal, $docs:literal;)*) => {
        $(
            #[cfg(feature = "jsonschema")]
            #[doc = $docs]
            #[must_use]
            pub fn $check(text: &str) -> bool {
                static VALIDATOR: std::sync::LazyLock<Option<jsonschema::Validator>> = std::sync::LazyLock::new(|| {
                    jsonschema::draft202012::options()
                        .should_validate_formats(true)
                        .build(&serde_json::json!({"format": $format}))
                        .ok()
                });
                VALIDATOR
                    .as_ref()
                    .is_some_and(|validator| validator.is_valid(&serde_json::Value::String(text.to_owned())))
            }
        )*
    };
}

by_the_validator! {
    email, "email", "Returns whether a text is an e-mail address (RFC 5321, section 4.1.2).";
    idn_email, "idn-email", "Returns whether a text is an internationalised e-mail address (RFC 6531).";
    hostname, "hostname", "Returns whether a text is a host name (RFC 1123, section 2.1).";
    idn_hostname, "idn-hostname", "Returns whether a text is an internationalised host name (RFC 5890).";
    uri, "uri", "Returns whether a text is a URI (RFC 3986).";
    uri_reference, "uri-reference", "Returns whether a text is a URI or relative reference (RFC 3986).";
    iri, "iri", "Returns whether a text is an IRI (RFC 3987).";
    iri_reference, "iri-reference", "Returns whether a text is an IRI or relative reference (RFC 3987).";
    uri_template, "uri-template", "Returns whether a text is a URI template (RFC 6570).";
    regex, "regex", "Returns whether a text is a regular expression (ECMA 262).";
    json_pointer, "json-pointer", "Returns whether a text is a JSON pointer (RFC 6901).";
    relative_json_pointer, "relative-json-pointer", "Returns whether a text is a relative JSON pointer.";
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// Compares the check with the parser of the standard library.
    #[test]
    fn ipv4_addresses_are_those_of_the_standard_library() {
        let numbers = (0..=1000).map(|number| number.to_string());
        let others = [
            "", "00", "01", "010", "0255", " 1", "1 ", "+1", "-1", "a", "١",
        ];
        for part in numbers.chain(others.map(str::to_owned)) {
            for text in [
                part.clone(),
                format!("{part}.0.0.0"),
                format!("10.{part}.2.3"),
                format!("10.1.2.{part}"),
                format!("1.2.{part}"),
                format!("1.2.3.4.{part}"),
                format!("1.2.3.{part}."),
                format!(".{part}.2.3.4"),
            ] {
                assert_eq!(ipv4(&text), text.parse::<Ipv4Addr>().is_ok(), "{text}");
            }
        }
    }

    /// Compares the check with the parser of the standard library, on all strings of some letters.
    #[test]
    fn ipv6_addresses_are_those_of_the_standard_library() {
        for (letters, longest) in [(":1", 16), (":1.", 8), (":12345678", 5)] {
            let mut texts = vec![String::new()];
            for _ in 0..=longest {
                for text in &texts {
                    assert_eq!(ipv6(text), text.parse::<Ipv6Addr>().is_ok(), "{text}");
                }
                let longer = texts
                    .iter()
                    .flat_map(|text| letters.chars().map(move |letter| format!("{text}{letter}")));
                texts = longer.collect();
            }
        }
        for text in [
            "fe80::12AB",
            "fe80::12345",
            "1:2:3:4:5:6:7::",
            "::ffff:10.0.0.1",
            "fe80::1%1",
            "1:2:3:4:5:6:7:8:",
            "::g",
        ] {
            assert_eq!(ipv6(text), text.parse::<Ipv6Addr>().is_ok(), "{text}");
        }
    }
}
