//! The bodies of refusals: the contract's own error where it declares one, else problem details.

use api_runtime::server::{Problem, Rejection, RenderRejection};
use codegen::ir::{Api, MediaKind, TypeRef};
use contract::model::{SchemaId, StatusKey};
use contract::pointer;
use serde_json::{Value, json};

use crate::router::State;
use crate::values::Values;

/// The maximum number of places of a body that are filled with what is known.
const MOST_PLACES: usize = 64;

/// Writes the bodies of refusals.
pub(crate) struct Refusals {
    api: &'static Api<'static>,
    values: Values,
}

impl Refusals {
    pub(crate) fn new(state: &State) -> Self {
        Self {
            api: state.api,
            values: state.values,
        }
    }

    /// Returns the body of a refusal and its media type.
    fn written(&self, rejection: &Rejection) -> (Value, &'static str) {
        let problem = serde_json::to_value(Problem.render(rejection)).unwrap_or_default();
        let Some((schema, media)) = self.declared(rejection) else {
            return (problem, Problem.content_type());
        };
        // Many contracts declare problem details, which need no guesses.
        if self.values.check(schema, &problem).is_ok() {
            return (problem, media);
        }
        match self.filled(schema, rejection) {
            Some(body) => (body, media),
            // The contract wants a body that nobody can make.
            None => (problem, Problem.content_type()),
        }
    }

    /// Returns the schema and the media type of the response that the contract declares for the
    /// status, or else those of the error that all of its operations have in common.
    fn declared(&self, rejection: &Rejection) -> Option<(SchemaId, &'static str)> {
        let id = rejection.operation.map(|operation| operation.id);
        let operations = self.api.operations.iter();
        let operation = id.and_then(|id| { operations }.find(|operation| operation.id == id));
        let code = rejection.status.as_u16();
        let response = operation.and_then(|operation| {
            let find = |key: StatusKey| operation.responses.iter().find(|it| it.status == key);
            find(StatusKey::Code(code))
                .or_else(|| find(StatusKey::Range(u8::try_from(code / 100).ok()?)))
                .or_else(|| find(StatusKey::Default))
        });
        let media = response.and_then(|response| {
            let mut media = response.media.iter();
            media.find(|media| media.kind == MediaKind::Json)
        });
        if let Some(media) = media
            && let Some(schema) = media.schema
        {
            return Some((schema, &media.name));
        }
        match self.api.error {
            Some(TypeRef::Named(id)) => Some((self.api.type_def(id).schema, "application/json")),
            _ => None,
        }
    }

    /// Returns a value of an error schema that says what the refusal does. What the schema holds
    /// beside that is made up.
    fn filled(&self, schema: SchemaId, rejection: &Rejection) -> Option<Value> {
        let mut body = self.values.value(schema, 0, false).ok()?;
        let mut places = Vec::new();
        gather(&body, "", &mut places);
        let mut is_said = false;
        for (pointer, name) in &places {
            for wanted in wanted(name, rejection) {
                let is_message = wanted.as_str() == Some(&*rejection.message);
                if self.replaced(schema, &mut body, pointer, wanted) {
                    is_said |= is_message;
                    break;
                }
            }
        }
        // A contract may call its message anything.
        for (pointer, _) in &places {
            if is_said {
                break;
            }
            let is_text = body.pointer(pointer).is_some_and(Value::is_string);
            let message = Value::from(rejection.message.as_ref());
            is_said = is_text && self.replaced(schema, &mut body, pointer, message);
        }
        Some(body)
    }

    /// Replaces a part of a body, unless the schema refuses it.
    fn replaced(&self, schema: SchemaId, body: &mut Value, pointer: &str, value: Value) -> bool {
        let Some(place) = body.pointer_mut(pointer) else {
            return false;
        };
        // Tried in its place, since the schema judges the body as a whole.
        let before = std::mem::replace(place, value);
        if self.values.check(schema, body).is_ok() {
            return true;
        }
        if let Some(place) = body.pointer_mut(pointer) {
            *place = before;
        }
        false
    }
}

/// Lists the pointers and names of all properties, those of outer objects first.
fn gather(value: &Value, pointer: &str, places: &mut Vec<(String, String)>) {
    for (name, inner) in value.as_object().into_iter().flatten() {
        if places.len() >= MOST_PLACES {
            return;
        }
        let own = pointer::join(pointer, name);
        places.push((own.clone(), name.clone()));
        gather(inner, &own, places);
    }
}

/// Returns what a property of an error could hold, by its name, the likeliest first.
fn wanted(name: &str, rejection: &Rejection) -> Vec<Value> {
    let message = Value::from(rejection.message.as_ref());
    let code = rejection.status.as_u16();
    let reason = rejection.status.canonical_reason().unwrap_or("Error");
    let kinds = || {
        let kind = format!("{:?}", rejection.kind);
        let pascal = reason.replace([' ', '-'], "");
        let snake = reason.to_lowercase().replace([' ', '-'], "_");
        [kind, pascal, snake].into_iter().map(Value::from)
    };
    let place_of = |violation: &api_runtime::server::Violation| match violation.place() {
        place if place.is_empty() => "body".to_owned(),
        place => place.trim_start_matches('/').to_owned(),
    };
    let plain = name.to_lowercase().replace(['_', '-'], "");
    match plain.as_str() {
        "message" | "detail" | "description" | "errordescription" | "reason" | "msg" => {
            vec![message]
        }
        "title" => vec![reason.into()],
        "status" | "statuscode" | "httpstatus" => vec![json!(code), json!(code.to_string())],
        "code" | "errorcode" => {
            let numbers = [json!(code), json!(code.to_string())];
            numbers.into_iter().chain(kinds()).collect()
        }
        "type" => [json!("about:blank")].into_iter().chain(kinds()).collect(),
        "error" => [message].into_iter().chain(kinds()).collect(),
        "details" | "errors" | "violations" => {
            let violations = &rejection.violations;
            let texts = violations
                .iter()
                .map(|violation| (place_of(violation), json!(violation.message)));
            let lists = violations
                .iter()
                .map(|violation| (place_of(violation), json!([violation.message])));
            let lines = violations
                .iter()
                .map(|violation| json!(format!("{} {}", place_of(violation), violation.message)));
            let nothing = violations.is_empty().then_some(Value::Null);
            nothing
                .into_iter()
                .chain([
                    Value::Object(texts.collect()),
                    Value::Object(lists.collect()),
                    Value::Array(lines.collect()),
                ])
                .collect()
        }
        _ => Vec::new(),
    }
}

impl RenderRejection for Refusals {
    type Body = Value;

    fn render(&self, rejection: &Rejection) -> Value {
        self.render_with_type(rejection).0
    }

    fn render_with_type(&self, rejection: &Rejection) -> (Value, &'static str) {
        self.written(rejection)
    }
}
