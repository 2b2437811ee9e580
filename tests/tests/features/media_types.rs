//! One body in several media types, told apart by `Content-Type`; answers in several, each its own variant.

use features_client::media_types::NoteAddAnswer as Answered;
use features_client::prelude::*;
use features_server::media_types::{
    MediaTypes, NoteAddAnswer, NoteAddBody, NoteAddError, NoteAddOk, NoteAddOkBody, NoteAddRequest,
};
use features_types::{NoteAddBody as Note, NoteAddBody2 as Words, NoteAddBody2By as By};

impl MediaTypes for crate::Features {
    async fn note_add(&self, request: NoteAddRequest) -> Result<NoteAddAnswer, NoteAddError> {
        let body = match request.body {
            NoteAddBody::Json(note) => NoteAddOkBody::Json(format!("json {}", note.text.as_str())),
            NoteAddBody::Form(form) => {
                let by = form.by.and_then(|by| by.name).unwrap_or_default();
                NoteAddOkBody::Text(format!("form {} by {by}", form.words.join("|")))
            }
            NoteAddBody::Text(text) => NoteAddOkBody::Text(format!("text {text}")),
            NoteAddBody::Bytes(bytes) => {
                let kind = bytes.content_type().and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_owned();
                let bytes = bytes.collect().await.expect("the body arrives");
                NoteAddOkBody::Text(format!("{kind} {bytes:?}"))
            }
        };
        Ok(NoteAddOk::new(body).into())
    }
}

pub async fn check(client: &Client, url: &str) {
    let note = Note::new("a".parse().expect("it is long enough"));
    let answer = client.note_add().body(note).send().await.expect("a success");
    assert!(matches!(answer.into_inner(), Answered::OkJson(text) if text == "json a"));
    let words = Words::new(vec!["a b".to_owned(), "c&d".to_owned()]).with_by(By::new().with_name("é".to_owned()));
    for (call, expected) in [
        (client.note_add().body_form(words), "form a b|c&d by é"),
        (client.note_add().body_plain("free\nform"), "text free\nform"),
        (client.note_add().body_bytes("image/png", &b"\x89PNG"[..]), "image/png b\"\\x89PNG\""),
    ] {
        let answer = call.send().await.expect("a success").into_inner();
        assert!(matches!(&answer, Answered::OkText(text) if text == expected), "{answer:?}");
    }
    let other = reqwest::Client::new().post(format!("{url}/notes")).header("content-type", "video/mp4").body("x");
    assert_eq!(other.send().await.expect("an answer").status(), 415);
}
