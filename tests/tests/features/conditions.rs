//! Conditional requests: a `GET` of what the caller has, and changes that depend on entity tags.

use std::sync::Mutex;

use features_client::prelude::*;
use features_server::conditions::{
    ConditionsApi, NoteSetError, NoteSetNoContent, NoteSetRequest, NoteSetResponse, NoteViewError,
    NoteViewOk, NoteViewRequest, NoteViewResponse,
};
use features_server::server::{Config, Problem};

/// The note with its number, which is in its entity tag.
static NOTE: Mutex<Option<(u32, String)>> = Mutex::new(None);

fn tag(number: u32) -> String {
    format!("\"{number},a\"")
}

impl ConditionsApi for crate::Features {
    async fn note_view(&self, request: NoteViewRequest) -> Result<NoteViewResponse, NoteViewError> {
        assert_eq!(request.name, "a");
        let note = NOTE.lock().expect("no handler panics").clone();
        let (number, text) = note.ok_or(NoteViewError::NotFound)?;
        let length = i32::try_from(text.len()).expect("notes are short");
        Ok(NoteViewOk::new(text, tag(number)).with_x_length(length).into())
    }

    async fn note_set(&self, request: NoteSetRequest) -> Result<NoteSetResponse, NoteSetError> {
        let mut note = NOTE.lock().expect("no handler panics");
        let current = note.as_ref().map(|(number, _)| tag(*number));
        let refuse = || NoteSetError::PreconditionFailed("it is another one".to_owned());
        request.if_match().ensure(current.as_deref(), refuse)?;
        request.if_none_match().ensure(current.as_deref(), refuse)?;
        let number = note.as_ref().map_or(1, |(number, _)| number + 1);
        *note = Some((number, request.body));
        Ok(NoteSetNoContent::new(tag(number)).into())
    }
}

pub async fn check(client: &Client, plain: &str) {
    let router = features_server::router(
        crate::Features,
        crate::Credentials,
        Problem,
        Config::default().conditional_gets(),
    );
    let url = crate::served(router).await;
    let call = async |method: &str, url: &str, headers: &[(&str, &str)], body: &str| {
        let method = method.parse().expect("a method");
        let call = reqwest::Client::new().request(method, format!("{url}/memos/a"));
        let mut call = call.header("content-type", "text/plain");
        for (name, value) in headers {
            call = call.header(*name, *value);
        }
        call.body(body.to_owned()).send().await.expect("a response")
    };
    // In turn: the note is the first, then the second, then the third.
    for (name, value, status) in [
        ("if-match", "*", 412),
        ("if-match", "\"1,a\"", 412),
        ("if-none-match", "*", 204),
        ("if-none-match", "*", 412),
        ("if-none-match", "\"0\", W/\"1,a\"", 412),
        ("if-match", "W/\"1,a\"", 412),
        ("if-match", "\"1\", \"a\"", 412),
        ("if-match", "1,a", 412),
        ("if-match", "\"0\" ,\t\"1,a\"", 204),
        ("if-match", "\"1,a\"", 412),
        ("if-none-match", "\"1,a\"", 204),
        ("if-match", "*", 204),
    ] {
        let response = call("PUT", &url, &[(name, value)], "text").await;
        assert_eq!(response.status(), status, "{name}: {value}");
        assert_eq!(response.headers().contains_key("etag"), status == 204);
    }
    // Both, of which the first fails; and lines that mean the same as one list.
    let both = [("if-match", "\"4,a\""), ("if-none-match", "\"4,a\"")];
    assert_eq!(call("PUT", &url, &both, "text").await.status(), 412);
    let lines = [("if-none-match", "\"x\""), ("if-none-match", "\"4,a\"")];
    assert_eq!(call("PUT", &url, &lines, "text").await.status(), 412);
    assert_eq!(call("PUT", &url, &[], "fifth").await.status(), 204);

    for (method, value, status) in [
        ("GET", "\"5,a\"", 304),
        ("HEAD", "\"5,a\"", 304),
        ("GET", "\"4\", W/\"5,a\"", 304),
        ("GET", "*", 304),
        ("GET", "\"4,a\"", 200),
        ("GET", "5,a", 200),
        ("HEAD", "\"4,a\"", 200),
    ] {
        let condition = [("if-none-match", value)];
        let response = call(method, &url, &condition, "").await;
        assert_eq!(response.status(), status, "{method} {value}");
        let headers = response.headers().clone();
        assert_eq!(headers["etag"], "\"5,a\"", "{method} {value}");
        assert_eq!(headers["x-length"], "5");
        assert!(headers.contains_key("x-request-id"));
        let is_known = status == 304;
        assert_eq!(headers.contains_key("content-type"), !is_known, "{method} {value}");
        assert_eq!(headers.contains_key("content-length"), !is_known, "{method} {value}");
        let text = response.text().await.expect("a text");
        assert_eq!(text, if status == 200 && method == "GET" { "fifth" } else { "" });
        // Without the switch, the header is for the handler alone.
        assert_eq!(call(method, plain, &condition, "").await.status(), 200);
    }

    let seen = client.note_view().name("a").send().await.expect("a success");
    let known = seen.headers()["etag"].to_str().expect("a text").to_owned();
    let set = client.note_set().name("a").body("sixth".to_owned());
    let set = set.if_match(known.as_str()).send().await.expect("a success");
    assert_eq!(set.headers()["etag"], "\"6,a\"");
    let set = client.note_set().name("a").body("seventh".to_owned());
    let error = set.if_match(known.as_str()).send().await.expect_err("the tag is stale");
    assert_eq!(error.status().map(|status| status.as_u16()), Some(412));
}
