//! One body in several media types, selected by `Content-Type`; responses in several, each a
//! variant of its own.

use features_client::media_types::{
    NoteAddResponse as Received, NoteReadResponse as ReadReceived, VersionAddResponse as Version,
};
use features_client::prelude::*;
use features_server::media_types::{
    BlobAddBody, BlobAddError, BlobAddRequest, BlobAddResponse, MediaTypesApi, NoteAddBody,
    NoteAddError, NoteAddOk, NoteAddOkBody, NoteAddRequest, NoteAddResponse, NoteReadError,
    NoteReadOk, NoteReadOkBody, NoteReadRequest, NoteReadResponse, VersionAddBody, VersionAddError,
    VersionAddOk, VersionAddOkBody, VersionAddRequest, VersionAddResponse, WordsAddError,
    WordsAddRequest, WordsAddResponse,
};
use features_server::server::StatusCode;
use features_types::{
    NoteAddBody as Note, NoteAddBody2 as Words, NoteAddBody2By as By, NoteReadOkBody as Problem,
    NoteReadOkBody2 as ReadNote, VersionAddBody as One, VersionAddBody2 as Two,
    VersionAddBody3 as None, VersionAddOkBody as OneBack, VersionAddOkBody2 as TwoBack,
};

impl MediaTypesApi for crate::Features {
    async fn note_add(&self, request: NoteAddRequest) -> Result<NoteAddResponse, NoteAddError> {
        let body = match request.body {
            NoteAddBody::Json(note) => NoteAddOkBody::Json(format!("json {}", note.text.as_str())),
            NoteAddBody::Form(form) => {
                let by = form.by.and_then(|by| by.name).unwrap_or_default();
                NoteAddOkBody::Text(format!("form {} by {by}", form.words.join("|")))
            }
            NoteAddBody::Text(text) => NoteAddOkBody::Text(format!("text {text}")),
            NoteAddBody::Bytes(bytes) => {
                let kind = bytes
                    .content_type()
                    .and_then(|kind| kind.to_str().ok())
                    .unwrap_or_default()
                    .to_owned();
                let bytes = bytes.collect().await.expect("the body arrives");
                NoteAddOkBody::Text(format!("{kind} {bytes:?}"))
            }
        };
        Ok(NoteAddOk::new(body).into())
    }

    async fn note_read(&self, request: NoteReadRequest) -> Result<NoteReadResponse, NoteReadError> {
        let kind = request.kind;
        let body = match kind.as_str() {
            "note" => NoteReadOkBody::Json(ReadNote::new(kind)),
            "problem" => NoteReadOkBody::ApplicationProblemJson(Problem::new(kind)),
            _ => NoteReadOkBody::Text(kind),
        };
        Ok(NoteReadOk::new(body).into())
    }

    async fn blob_add(&self, request: BlobAddRequest) -> Result<BlobAddResponse, BlobAddError> {
        Ok(match request.body {
            BlobAddBody::Image(_) => "image".to_owned().into(),
            BlobAddBody::Any(_) => "any".to_owned().into(),
        })
    }

    async fn version_add(
        &self,
        request: VersionAddRequest,
    ) -> Result<VersionAddResponse, VersionAddError> {
        let body = match request.body {
            VersionAddBody::ApplicationJsonVersion1(body) => {
                VersionAddOkBody::ApplicationJsonVersion1(OneBack::new(body.one))
            }
            VersionAddBody::ApplicationJsonVersion2(body) => {
                VersionAddOkBody::ApplicationJsonVersion2(TwoBack::new(body.two))
            }
            VersionAddBody::Json(body) => {
                VersionAddOkBody::ApplicationJsonVersion1(OneBack::new(format!("no {}", body.none)))
            }
        };
        Ok(VersionAddOk::new(body).into())
    }

    async fn words_add(&self, request: WordsAddRequest) -> Result<WordsAddResponse, WordsAddError> {
        let status = StatusCode::CREATED.try_into().expect("201 is a success");
        Ok(WordsAddResponse::Default {
            status,
            body: request.body,
        })
    }
}

pub async fn check(client: &Client, url: &str) {
    let note = Note::new("a".parse().expect("the text is long enough for the schema"));
    let response = client
        .note_add()
        .body(note)
        .send()
        .await
        .expect("a success");
    assert!(matches!(response.into_inner(), Received::OkJson(text) if text == "json a"));
    let words =
        Words::new(vec!["a b".to_owned(), "c&d".to_owned()]).with_by(By::new().with_name("é"));
    for (call, expected) in [
        (client.note_add().body_form(words), "form a b|c&d by é"),
        (
            client.note_add().body_plain("free\nform"),
            "text free\nform",
        ),
        (
            client.note_add().body_bytes("image/png", &b"\x89PNG"[..]),
            "image/png b\"\\x89PNG\"",
        ),
    ] {
        let response = call.send().await.expect("a success").into_inner();
        assert!(
            matches!(&response, Received::OkText(text) if text == expected),
            "{response:?}"
        );
    }
    let read = async |kind: &str| {
        client
            .note_read()
            .kind(kind)
            .send()
            .await
            .expect("a success")
            .into_inner()
    };
    assert!(matches!(read("note").await, ReadReceived::OkJson(note) if note.text == "note"));
    assert!(
        matches!(read("problem").await, ReadReceived::OkApplicationProblemJson(problem) if problem.title == "problem")
    );
    assert!(matches!(read("text").await, ReadReceived::OkText(text) if text == "text"));
    for (call, expected) in [
        (client.blob_add().body("image/png", "x"), "image"),
        (client.blob_add().body_any("video/mp4", "x"), "any"),
    ] {
        assert_eq!(call.send().await.expect("a success").into_inner(), expected);
    }
    let words = client
        .words_add()
        .body("text/markdown", "*a*")
        .send()
        .await
        .expect("a success");
    assert_eq!(
        (words.status().as_u16(), words.into_inner().as_str()),
        (201, "*a*")
    );
    let error = client
        .words_add()
        .body("application/json", "a")
        .send()
        .await
        .expect_err("the JSON body is rejected as a text");
    assert_eq!(error.status().map(|status| status.as_u16()), Some(415));
    versions(client, url).await;
    let other = reqwest::Client::new()
        .post(format!("{url}/notes"))
        .header("content-type", "video/mp4")
        .body("x");
    assert_eq!(other.send().await.expect("a response").status(), 415);
}

/// Media types that differ in their parameters only.
async fn versions(client: &Client, url: &str) {
    let one = client
        .version_add()
        .body(One::new("a".to_owned()))
        .send()
        .await;
    let one = one.expect("a success").into_inner();
    assert!(
        matches!(&one, Version::OkApplicationJsonVersion1(it) if it.one == "a"),
        "{one:?}"
    );
    let two = client
        .version_add()
        .body_json(Two::new("b".to_owned()))
        .send()
        .await;
    let two = two.expect("a success").into_inner();
    assert!(
        matches!(&two, Version::OkApplicationJsonVersion2(it) if it.two == "b"),
        "{two:?}"
    );
    let none = client
        .version_add()
        .body_json2(None::new("c".to_owned()))
        .send()
        .await;
    let none = none.expect("a success").into_inner();
    assert!(
        matches!(&none, Version::OkApplicationJsonVersion1(it) if it.one == "no c"),
        "{none:?}"
    );
    for (content_type, body, expected) in [
        (
            "application/json;VERSION=\"2\"",
            r#"{"two":"d"}"#,
            r#"{"two":"d"}"#,
        ),
        (
            "application/json; charset=utf-8; version=2",
            r#"{"two":"e"}"#,
            r#"{"two":"e"}"#,
        ),
        (
            "Application/JSON; version=3",
            r#"{"none":"f"}"#,
            r#"{"one":"no f"}"#,
        ),
    ] {
        let response = reqwest::Client::new()
            .post(format!("{url}/versions"))
            .header("content-type", content_type)
            .body(body)
            .send();
        let response = response.await.expect("a response");
        assert_eq!(
            response.text().await.expect("a text"),
            expected,
            "{content_type}"
        );
    }
}
