//! Compares when something ends that is deprecated.

use contract::Moment;
use contract::model::{Contract, SchemaId, SchemaKind};
use indexmap::IndexMap;
use serde_json::Value;

use crate::finding::Kind;

/// What is said about another end of something that was deprecated before.
pub(super) struct Sunset {
    pub(super) kind: Kind,
    pub(super) rule: &'static str,
    pub(super) message: String,
}

/// Returns what is said about the end of what is called `name`, if it is not the same as before.
pub(super) fn changed(name: &str, old: Option<Moment>, new: Option<Moment>) -> Option<Sunset> {
    let (kind, rule, what) = match (old, new) {
        (None, None) => return None,
        (Some(old), Some(new)) if old == new => return None,
        (Some(old), Some(new)) if new < old => {
            let what = format!("ends on {new} instead of {old}");
            (Kind::SunsetPulledForward, "sunset-pulled-forward", what)
        }
        (Some(old), Some(new)) => {
            let what = format!("ends on {new} instead of {old}");
            (Kind::Compatible, "sunset-postponed", what)
        }
        (Some(old), None) => {
            let what = format!("no longer ends on {old}");
            (Kind::Compatible, "sunset-postponed", what)
        }
        (None, Some(new)) => {
            let what = format!("ends on {new}");
            (Kind::Compatible, "sunset-announced", what)
        }
    };
    Some(Sunset {
        kind,
        rule,
        message: format!("{name} {what}"),
    })
}

/// Returns the words for something that has become deprecated.
pub(super) fn deprecated(name: &str, sunset: Option<Moment>) -> String {
    match sunset {
        Some(sunset) => format!("{name} is deprecated, and ends on {sunset}"),
        None => format!("{name} is deprecated"),
    }
}

/// Returns when something ends, by its extensions.
pub(super) fn of(deprecated: bool, extensions: &IndexMap<String, Value>) -> Option<Moment> {
    let text = extensions.get("x-sunset")?.as_str()?;
    Moment::parse(text).filter(|_| deprecated)
}

/// Returns when the first of these schemas ends, or of those that they refer to.
pub(super) fn of_schemas(contract: &Contract, ids: &[SchemaId]) -> Option<Moment> {
    let ends = ids.iter().flat_map(|id| [*id, contract.resolve(*id)]);
    ends.filter_map(|id| match &contract.schema(id).kind {
        SchemaKind::Object(keywords) => of(keywords.deprecated, &keywords.extensions),
        SchemaKind::Bool(_) => None,
    })
    .min()
}
