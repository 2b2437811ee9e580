//! Checks of the formats that JSON Schema 2020-12 names, and of OpenAPI's `byte`.

mod moment;

pub use moment::{date, date_time, duration, time};

use std::net::{Ipv4Addr, Ipv6Addr};

/// A dotted quad (RFC 2673, section 3.2).
#[must_use]
pub fn ipv4(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok()
}

/// An IPv6 address (RFC 4291, section 2.2).
#[must_use]
pub fn ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// 8-4-4-4-12 hexadecimal digits (RFC 4122).
#[must_use]
pub fn uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Base 64 with padding (RFC 4648, section 4).
#[must_use]
pub fn byte(text: &str) -> bool {
    let data = text.trim_end_matches('=');
    let padding = text.len() - data.len();
    text.len().is_multiple_of(4)
        && padding <= 2
        && data
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

macro_rules! by_the_validator {
    ($($check:ident, $format:literal, $words:literal;)*) => {
        $(
            #[cfg(feature = "jsonschema")]
            #[doc = $words]
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
    email, "email", "An e-mail address (RFC 5321, section 4.1.2).";
    idn_email, "idn-email", "An internationalised e-mail address (RFC 6531).";
    hostname, "hostname", "A host name (RFC 1123, section 2.1).";
    idn_hostname, "idn-hostname", "An internationalised host name (RFC 5890).";
    uri, "uri", "A URI (RFC 3986).";
    uri_reference, "uri-reference", "A URI or relative reference (RFC 3986).";
    iri, "iri", "An IRI (RFC 3987).";
    iri_reference, "iri-reference", "An IRI or relative reference (RFC 3987).";
    uri_template, "uri-template", "A URI template (RFC 6570).";
    regex, "regex", "A regular expression (ECMA 262).";
    json_pointer, "json-pointer", "A JSON Pointer (RFC 6901).";
    relative_json_pointer, "relative-json-pointer", "A relative JSON Pointer.";
}
