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
    /// Some strings of the format, the shortest first; empty for formats that JSON Schema does not
    /// define.
    pub samples: &'static [&'static str],
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
    checked(
        "date-time",
        &[
            "2000-01-01T00:00:00Z",
            "2026-03-02T17:42:10Z",
            "2000-01-01T00:00:00.5+01:00",
        ],
    ),
    checked("date", &["2000-01-01", "2026-03-02"]),
    checked("time", &["00:00:00Z", "17:42:10.5+01:00"]),
    checked("duration", &["P1D", "PT1S", "P1Y2M3DT4H5M6S"]),
    validated("email", &["a@b.c", "first.last@example.com"]),
    validated("idn-email", &["a@b.c", "é@b.c"]),
    validated("hostname", &["a", "a.b", "www.example.com"]),
    validated("idn-hostname", &["a", "é.b"]),
    checked("ipv4", &["0.0.0.0", "203.0.113.21"]),
    checked("ipv6", &["::", "2001:db8::2", "::ffff:192.0.2.1"]),
    validated("uri", &["a:b", "https://example.com/a?b#c"]),
    validated(
        "uri-reference",
        &["", "a", "/a", "https://example.com/a?b#c"],
    ),
    validated("uri-template", &["", "a", "/a/{b}"]),
    validated("iri", &["a:b", "https://example.com/é"]),
    validated("iri-reference", &["", "a", "/é"]),
    checked(
        "uuid",
        &[
            "00000000-0000-0000-0000-000000000000",
            "2eb8aa08-aa98-11ea-b4aa-73b441d16380",
        ],
    ),
    validated("json-pointer", &["", "/a", "/a/0"]),
    validated("relative-json-pointer", &["0", "1/a"]),
    validated("regex", &["", "a", "^[a-z]+$"]),
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
    checked("byte", &[]),
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

const fn checked(name: &'static str, samples: &'static [&'static str]) -> Format {
    Format {
        name,
        types: &["string"],
        check: Check::Function,
        samples,
    }
}

const fn validated(name: &'static str, samples: &'static [&'static str]) -> Format {
    Format {
        check: Check::Validator,
        ..checked(name, samples)
    }
}

const fn text(name: &'static str) -> Format {
    Format {
        check: Check::Nothing,
        ..checked(name, &[])
    }
}

const fn number(name: &'static str) -> Format {
    Format {
        name,
        types: &["integer", "number"],
        check: Check::Nothing,
        samples: &[],
    }
}

const fn known(name: &'static str) -> Format {
    Format {
        name,
        types: &[],
        check: Check::Nothing,
        samples: &[],
    }
}
