//! Plain YAML scalars: their values, and which of them YAML readers understand differently.

use serde_json::Number;

use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// The value of a plain scalar in the core schema of YAML 1.2.
pub(super) enum Plain {
    Null,
    Bool(bool),
    Number(Number),
    NotFinite,
    Text,
}

/// Returns the value of a plain scalar in the core schema of YAML 1.2.
pub(super) fn plain(text: &str) -> Plain {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Plain::Null,
        "true" | "True" | "TRUE" => return Plain::Bool(true),
        "false" | "False" | "FALSE" => return Plain::Bool(false),
        _ => {}
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    // The core schema has signed infinities, but no signed NaN.
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Plain::NotFinite;
    }
    if let Some(number) = integer(text) {
        return Plain::Number(number);
    }
    if is_float(unsigned) {
        return match text.parse::<f64>().ok().and_then(Number::from_f64) {
            Some(number) => Plain::Number(number),
            None => Plain::NotFinite,
        };
    }
    Plain::Text
}

fn integer(text: &str) -> Option<Number> {
    // Without removing a sign: the core schema has none before `0o` and `0x`.
    if let Some(octal) = text.strip_prefix("0o") {
        return u64::from_str_radix(octal, 8).ok().map(Number::from);
    }
    if let Some(hexadecimal) = text.strip_prefix("0x") {
        return u64::from_str_radix(hexadecimal, 16).ok().map(Number::from);
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    text.parse::<u64>()
        .map(Number::from)
        .or_else(|_| text.parse::<i64>().map(Number::from))
        .ok()
        // Beyond 64 bits an integer is still a number, as it is in JSON.
        .or_else(|| text.parse::<f64>().ok().and_then(Number::from_f64))
}

/// Returns whether a number without its sign matches `[0-9]*\.?[0-9]*([eE][-+]?[0-9]+)?` with at
/// least one digit before the exponent.
fn is_float(unsigned: &str) -> bool {
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        Some((whole, part)) => {
            digits(whole) && digits(part) && !(whole.is_empty() && part.is_empty())
        }
        None => digits(mantissa) && !mantissa.is_empty(),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        let bare = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        digits(bare) && !bare.is_empty()
    });
    mantissa_fits && exponent_fits
}

/// Returns a diagnostic if YAML 1.1 and 1.2 give a plain value different meanings.
pub(super) fn ambiguous(text: &str, span: Span) -> Option<Diagnostic> {
    let other = other_reading(text)?;
    let found = diagnostic(text, &other, span);
    // A number such as `010` may be meant as 10, as 8 or as a string.
    Some(match plain(text) {
        Plain::Text => found.edit(span, quoted(text)),
        Plain::Null | Plain::Bool(_) | Plain::Number(_) | Plain::NotFinite => found,
    })
}

/// Returns the YAML of a string in double quotes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns a diagnostic if YAML 1.1 reads a plain key as a boolean. Other keys are safe: tools for
/// OpenAPI read a status such as `200` as a string.
pub(super) fn ambiguous_key(text: &str, span: Span) -> Option<Diagnostic> {
    is_old_truth_value(text).then(|| diagnostic(text, "a boolean", span).edit(span, quoted(text)))
}

fn diagnostic(text: &str, other: &str, span: Span) -> Diagnostic {
    Diagnostic::warning(
        "ambiguous-scalar",
        span,
        format!("some YAML readers read `{text}` as {other}"),
    )
    .help(format!(
        "write `\"{text}\"` for a string, or the value in its usual form"
    ))
}

/// What readers of YAML 1.1 take a text such as `2024-01-31` for.
pub(super) const DATE: &str = "a date";

fn other_reading(text: &str) -> Option<String> {
    if is_old_truth_value(text) {
        return Some("a boolean".to_owned());
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if unsigned.len() > 1 && unsigned.starts_with('0') && digits(unsigned) {
        return Some("an octal number".to_owned());
    }
    if let Some(binary) = unsigned.strip_prefix("0b")
        && !binary.is_empty()
        && binary
            .bytes()
            .all(|byte| matches!(byte, b'0' | b'1' | b'_'))
    {
        return Some("a binary number".to_owned());
    }
    if unsigned.starts_with(|character: char| character.is_ascii_digit())
        && unsigned.contains('_')
        && unsigned
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_' || byte == b'.')
    {
        return Some(format!("the number {}", unsigned.replace('_', "")));
    }
    // Not a time such as `09:00`: the number may not begin with a zero.
    if let Some((first, rest)) = unsigned.split_once(':')
        && digits(first)
        && !first.starts_with('0')
        && rest.split(':').all(is_sixtieth)
    {
        return Some("a number in base 60".to_owned());
    }
    is_date(text).then(|| DATE.to_owned())
}

/// Returns whether a text is a digit of a number in base 60: a number below 60 in decimal digits.
fn is_sixtieth(text: &str) -> bool {
    matches!(text.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9'])
}

/// Returns whether YAML 1.1 has a boolean of this name, except for `y` and `n`: these are common names
/// of coordinates, and hardly any reader still takes them for booleans.
fn is_old_truth_value(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let usual_case = text == lower || text == text.to_ascii_uppercase() || {
        let mut characters = text.chars();
        characters
            .next()
            .is_some_and(|first| first.is_ascii_uppercase())
            && characters.as_str() == &lower[1..]
    };
    usual_case && matches!(lower.as_str(), "on" | "off" | "yes" | "no")
}

/// Returns whether a string has the shape of a date such as `2024-01-31`, alone or followed by a
/// time.
fn is_date(text: &str) -> bool {
    // By hand rather than with a library for RFC 3339: YAML 1.1 readers convert by the shape of the
    // text, also where the date does not exist, so a stricter check would miss some.
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let date = (0..4).all(digit)
        && bytes.get(4) == Some(&b'-')
        && digit(5)
        && digit(6)
        && bytes.get(7) == Some(&b'-')
        && digit(8)
        && digit(9);
    date && (bytes.len() == 10 || matches!(bytes.get(10), Some(b'T' | b't' | b' ')))
}
