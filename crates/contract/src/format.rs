//! The known values of the keyword `format`, in one table for linting and for generating.
//!
//! `api_runtime::format` has a function for each format with [`Check::Function`]. The functions are
//! there because generated crates depend on `api-runtime`, which does not depend on this crate.

use serde_json::Number;

/// A known format.
#[derive(Debug)]
pub struct Format {
    /// The value of `format`.
    pub name: &'static str,
    /// The types that the format applies to; empty if no standard says.
    pub types: &'static [&'static str],
    /// The way in which generated types check the format.
    pub check: Check,
}

/// The way in which generated types check a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// A function of `api_runtime::format` checks the format.
    Function,
    /// The `jsonschema` crate checks the format, so generated types depend on it.
    Validator,
    /// No code checks the format. Integer formats choose the Rust type, and need no check.
    Nothing,
}

/// Returns the format with a name, if it is known.
#[must_use]
pub fn lookup(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Returns the least and the greatest integer of a format such as `int32`, or `None` for a format
/// without a range.
#[must_use]
pub fn integer_range(name: &str) -> Option<(Number, Number)> {
    Some(match name {
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "int64" => (i64::MIN.into(), i64::MAX.into()),
        "uint8" => (u8::MIN.into(), u8::MAX.into()),
        "uint16" => (u16::MIN.into(), u16::MAX.into()),
        "uint32" => (u32::MIN.into(), u32::MAX.into()),
        "uint64" => (u64::MIN.into(), u64::MAX.into()),
        _ => return None,
    })
}

/// The formats of JSON Schema, of OpenAPI and its registry, and others in common use.
pub static FORMATS: &[Format] = &[
    checked("date-time"),
    checked("date"),
    checked("time"),
    checked("duration"),
    validated("email"),
    validated("idn-email"),
    validated("hostname"),
    validated("idn-hostname"),
    checked("ipv4"),
    checked("ipv6"),
    validated("uri"),
    validated("uri-reference"),
    validated("uri-template"),
    validated("iri"),
    validated("iri-reference"),
    checked("uuid"),
    validated("json-pointer"),
    validated("relative-json-pointer"),
    validated("regex"),
    number("int8"),
    number("int16"),
    number("int32"),
    number("int64"),
    known("int128"),
    known("uint"),
    number("uint8"),
    number("uint16"),
    number("uint32"),
    number("uint64"),
    known("uint128"),
    known("int"),
    number("float"),
    known("float32"),
    known("float64"),
    number("double"),
    known("double-int"),
    known("decimal"),
    known("decimal128"),
    checked("byte"),
    text("binary"),
    known("base64"),
    known("base64url"),
    text("password"),
    known("char"),
    known("commonmark"),
    known("html"),
    known("http-date"),
    known("media-range"),
    known("date-time-local"),
    known("time-local"),
    known("sf-binary"),
    known("sf-boolean"),
    known("sf-decimal"),
    known("sf-integer"),
    known("sf-string"),
    known("sf-token"),
    known("ip"),
    known("ipv4-network"),
    known("ipv6-network"),
    known("cidr"),
    known("mac"),
    known("unix"),
    known("unix-seconds"),
    known("unix-nano"),
    known("unix-micro"),
    known("unix-milli"),
    known("unixtime"),
    known("timestamp"),
    known("phone"),
    known("currency"),
    known("ulid"),
    known("string"),
    known("integer"),
    known("number"),
    known("date-time-rfc1123"),
    known("version"),
    known("semver"),
];

const fn checked(name: &'static str) -> Format {
    Format {
        name,
        types: &["string"],
        check: Check::Function,
    }
}

const fn validated(name: &'static str) -> Format {
    Format {
        check: Check::Validator,
        ..checked(name)
    }
}

const fn text(name: &'static str) -> Format {
    Format {
        check: Check::Nothing,
        ..checked(name)
    }
}

const fn number(name: &'static str) -> Format {
    Format {
        name,
        types: &["integer", "number"],
        check: Check::Nothing,
    }
}

const fn known(name: &'static str) -> Format {
    Format {
        name,
        types: &[],
        check: Check::Nothing,
    }
}
