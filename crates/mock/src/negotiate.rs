//! The choice of a media type by the header `Accept` (RFC 9110, section 12.5.1).

use http::{HeaderMap, header};

use crate::prefer::pieces;

/// A range of media types, and how much it is wanted.
struct Range {
    kind: String,
    subtype: String,
    /// The parameters of the media type, with their names in lower case.
    parameters: Vec<(String, String)>,
    weight: f32,
}

/// Returns the index of the media type that the caller wants most, the first of several. Returns
/// `None` if the caller accepts none of them. Without the header, everything is accepted.
pub(crate) fn choose(headers: &HeaderMap, names: &[&str]) -> Option<usize> {
    let lines = headers.get_all(header::ACCEPT).iter();
    let lines = lines.filter_map(|line| line.to_str().ok());
    let ranges: Vec<Range> = lines
        .flat_map(|line| pieces(line, ','))
        .filter_map(range)
        .collect();
    if ranges.is_empty() {
        return (!names.is_empty()).then_some(0);
    }
    let mut best: Option<(f32, usize)> = None;
    for (at, name) in names.iter().enumerate() {
        let weight = weight(&ranges, name);
        if weight > 0.0 && best.is_none_or(|(most, _)| weight > most) {
            best = Some((weight, at));
        }
    }
    best.map(|(_, at)| at)
}

fn range(piece: &str) -> Option<Range> {
    let mut parts = pieces(piece, ';');
    let (kind, subtype) = parts.next()?.split_once('/')?;
    let mut parameters = Vec::new();
    let mut weight = 1.0;
    for (name, value) in parts.filter_map(parameter) {
        if name == "q" {
            weight = value.parse().ok()?;
            break;
        }
        parameters.push((name, value));
    }
    Some(Range {
        kind: kind.trim().to_ascii_lowercase(),
        subtype: subtype.trim().to_ascii_lowercase(),
        parameters,
        weight,
    })
}

/// Returns the name of a parameter in lower case, and its value without quotes.
fn parameter(piece: &str) -> Option<(String, String)> {
    let (name, value) = piece.split_once('=')?;
    let value = value.trim();
    let quoted = value
        .strip_prefix('"')
        .and_then(|value| value.strip_suffix('"'));
    let value = quoted.unwrap_or(value).replace('\\', "");
    Some((name.trim().to_ascii_lowercase(), value))
}

/// Returns the weight of the most specific range that includes a media type. The media type may be
/// a range itself, as contracts list them.
fn weight(ranges: &[Range], name: &str) -> f32 {
    let essence = name.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    let (kind, subtype) = essence.split_once('/').unwrap_or((&essence, ""));
    let own: Vec<_> = pieces(name, ';').skip(1).filter_map(parameter).collect();
    let closeness = |range: &Range| -> Option<usize> {
        let same = |one: &str, other: &str| one == other || other == "*";
        match (range.kind.as_str(), range.subtype.as_str()) {
            ("*", "*") => Some(0),
            (wanted, "*") if same(wanted, kind) => Some(1),
            (wanted, sub) if same(wanted, kind) && same(sub, subtype) => {
                // A parameter that the contract does not mention, such as a charset, rules out
                // nothing.
                let mut shared = 2;
                for (name, value) in &range.parameters {
                    match own.iter().find(|(other, _)| other == name) {
                        Some((_, other)) if other == value => shared += 1,
                        Some(_) => return None,
                        None => {}
                    }
                }
                Some(shared)
            }
            _ => None,
        }
    };
    let mut best: Option<(usize, f32)> = None;
    for range in ranges {
        // The closest range decides even with a lower weight: `text/*, text/html;q=0` refuses HTML.
        if let Some(close) = closeness(range)
            && best.is_none_or(|(most, _)| close > most)
        {
            best = Some((close, range.weight));
        }
    }
    best.map_or(0.0, |(_, weight)| weight)
}
