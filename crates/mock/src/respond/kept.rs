//! The responses of a stateful mock: what callers have created.

use api_runtime::server::{Rejected, Rejection, RejectionKind, RequestHead, Response, StatusCode};
use contract::model::StatusKey;
use serde_json::Value;

use super::{Chosen, Task, by_code, first, hash, problem};
use crate::bounds::{MOST_KEPT, MOST_KEPT_BYTES, MOST_RESPONSE_BYTES};
use crate::collections::{Action, List};
use crate::kept::{Asked, Done};
use crate::prefer::Preferences;
use crate::router::{Served, State};
use crate::values::{NoValue, Values};

/// The bytes of a response that are left for what is around the items of a list.
const AROUND: usize = 64 << 10;
/// The names that properties with the number of items have.
const COUNTS: [&str; 4] = ["count", "size", "total", "totalcount"];

/// Responds to a request for a collection that is kept. Returns `None` if the operation is of none.
///
/// # Errors
///
/// If the item is not there.
pub(super) fn respond(
    state: &State,
    served: &Served,
    head: &RequestHead,
    body: Option<&Value>,
) -> Option<Result<Response, Rejected>> {
    let kept = state.kept.as_ref()?;
    let role = kept.collections.role(&served.operation.id)?;
    let path = head.uri().path();
    let asked = Asked {
        role,
        path,
        template: &served.operation.path,
        body,
        settable: settable(state, served),
        seed: hash(hash(state.settings.seed, head.method().as_str()), path),
    };
    let item = kept.collections.all[role.collection].item;
    let done = kept.run(&state.values, &asked);
    let (code, given) = match (done, role.action) {
        (Done::Created(value), _) => (Some(201), Some((item, value))),
        (Done::Existing(value), Action::Put) => (Some(200), Some((item, value))),
        (Done::Existing(value), _) => (None, Some((item, value))),
        (Done::Listed(items), Action::List(list)) => {
            match page(&state.values, list, &items, asked.seed) {
                Ok(page) => (None, Some((list.schema, page))),
                Err(error) => return Some(Ok(impossible(&error))),
            }
        }
        (Done::Impossible(error), _) => return Some(Ok(impossible(&error))),
        (Done::Taken, _) => {
            let is_listed = by_code(served, 409).is_some();
            if !is_listed {
                let message = "there is one of this name already";
                return Some(Ok(problem(StatusCode::CONFLICT, message)));
            }
            (Some(409), None)
        }
        (Done::Full, _) => {
            let message = format!(
                "a mock keeps at most {MOST_KEPT} items and {MOST_KEPT_BYTES} bytes: delete some, or start it again"
            );
            return Some(Ok(problem(StatusCode::INSUFFICIENT_STORAGE, &message)));
        }
        (Done::Missing | Done::Listed(_), _) => {
            let message = "nothing of this name is kept: create it first";
            let rejection = Rejection::new(RejectionKind::UnknownRoute, message);
            return Some(Err(Box::new(rejection)));
        }
    };
    let is_listed = |code: &u16| {
        let mut responses = served.responses.iter();
        // A 409 was looked up above, where a range or the default counts too.
        *code == 409 || responses.any(|it| it.response.status == StatusKey::Code(*code))
    };
    let wanted = code.filter(is_listed);
    let chosen = match wanted {
        Some(code) => by_code(served, code),
        None => first(served),
    };
    let chosen = chosen.map(|(listed, status)| Chosen { listed, status });
    let task = Task::new(state, served, chosen?, Preferences::default(), asked.seed);
    Some(Ok(task.with(given).response(head)))
}

/// Returns the properties that the JSON body of a request may have.
fn settable(state: &State, served: &Served) -> Vec<&'static str> {
    let media = served.operation.body.iter().flat_map(|body| &body.media);
    let schemas = media.filter_map(|media| media.schema);
    let names = schemas.flat_map(|schema| state.values.properties(schema).into_keys());
    names.collect()
}

/// Returns a list with the items that are kept, as many as it may have.
fn page(values: &Values, list: List, items: &[Value], seed: u64) -> Result<Value, NoValue> {
    let most = list.most.and_then(|most| usize::try_from(most).ok());
    let mut left = MOST_RESPONSE_BYTES - AROUND;
    let mut listed = Vec::new();
    for item in items.iter().take(most.unwrap_or(usize::MAX)) {
        let item = summary(values, list, item, seed)?;
        let Some(less) = left.checked_sub(item.to_string().len() + 1) else {
            break;
        };
        left = less;
        listed.push(item);
    }
    let count = listed.len();
    let Some(property) = list.items else {
        let page = Value::Array(listed);
        values.check(list.schema, &page)?;
        return Ok(page);
    };
    let mut page = values.value(list.schema, seed, false)?;
    page[property] = Value::Array(listed);
    let others: Vec<&str> = values.properties(list.schema).into_keys().collect();
    for name in others.into_iter().filter(|name| *name != property) {
        let before = page.clone();
        let plain = name.to_lowercase().replace(['_', '-'], "");
        if COUNTS.contains(&plain.as_str()) {
            page[name] = Value::from(count);
        } else if let Some(entries) = page.as_object_mut() {
            // Such as the place of a next page, which would lead nowhere.
            entries.shift_remove(name);
        }
        if values.check(list.schema, &page).is_err() {
            page = before;
        }
    }
    values.check(list.schema, &page)?;
    Ok(page)
}

/// Returns an item as a list has it.
fn summary(values: &Values, list: List, item: &Value, seed: u64) -> Result<Value, NoValue> {
    if values.check(list.item, item).is_ok() && list.is_whole {
        return Ok(item.clone());
    }
    let own = values.properties(list.item);
    let mut summary = item.clone();
    if let Some(entries) = summary.as_object_mut() {
        entries.retain(|name, _| own.contains_key(name.as_str()));
    }
    if values.check(list.item, &summary).is_ok() {
        return Ok(summary);
    }
    // What the item lacks is made up.
    let mut made = values.value(list.item, seed, false)?;
    for name in own.into_keys() {
        let Some(value) = item.get(name) else {
            continue;
        };
        let before = made.clone();
        made[name] = value.clone();
        if values.check(list.item, &made).is_err() {
            made = before;
        }
    }
    Ok(made)
}

fn impossible(error: &NoValue) -> Response {
    problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string())
}
