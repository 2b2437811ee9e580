//! Checks of the formats that JSON Schema 2020-12 names, and of OpenAPI's `byte`.
//!
//! The name of a function is that of the format, with `_` for `-`: the `Scalar` derive calls it by
//! that name.

mod moment;

pub use moment::{date, date_time, duration, time};

use std::net::{Ipv4Addr, Ipv6Addr};

/// Returns whether a string is an IPv4 address: a dotted quad (RFC 2673, section 3.2).
#[must_use]
pub fn ipv4(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok()
}

/// Returns whether a string is an IPv6 address (RFC 4291, section 2.2).
#[must_use]
pub fn ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
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
