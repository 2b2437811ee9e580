//! Multipart bodies whose parts have positions and no names: whole and streamed, nested, as forms, in
//! requests and responses.

use axum::http::{HeaderName, HeaderValue};
use features_client::parts::{
    LetterCopyResponse as Copied, PartNoteResponse as Noted, RangeReadResponse as RangeRead,
};
use features_client::prelude::*;
use features_server::parts::{
    AlbumAddError, AlbumAddRequest, AlbumAddResponse, FormSendError, FormSendRequest,
    FormSendResponse, LetterCopyError, LetterCopyRequest, LetterCopyResponse, PartNoteBody,
    PartNoteError, PartNoteOk, PartNoteOkBody, PartNoteRequest, PartNoteResponse, PartsApi,
    PictureCopyError, PictureCopyRequest, PictureCopyResponse, RangeReadError,
    RangeReadPartialContent, RangeReadPartialContentBody, RangeReadRequest, RangeReadResponse,
};
use features_server::server::{Bytes, Json, Part, PartBody, Parts, StreamedPart, Text};
use features_types::{AlbumInfo, PartNotePart};
use futures_util::StreamExt as _;

fn header(name: &'static str, value: &'static str) -> (HeaderName, HeaderValue) {
    (
        HeaderName::from_static(name),
        HeaderValue::from_static(value),
    )
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl PartsApi for crate::Features {
    async fn album_add(&self, request: AlbumAddRequest) -> Result<AlbumAddResponse, AlbumAddError> {
        let Parts {
            prefix: (info, picture),
            items,
        } = request.body;
        let notes: Vec<String> = items.iter().map(|note| note.value.0.to_string()).collect();
        let said = format!(
            "{} {} {} {} {}",
            info.value.0.author.as_str(),
            picture.content_type().unwrap_or_default(),
            picture.headers()["content-location"]
                .to_str()
                .expect("it is ASCII"),
            text(&picture.value),
            notes.join("|")
        );
        Ok(said.into())
    }

    async fn letter_copy(
        &self,
        request: LetterCopyRequest,
    ) -> Result<LetterCopyResponse, LetterCopyError> {
        Ok(request
            .body
            .map_or(LetterCopyResponse::NoContent, LetterCopyResponse::Ok))
    }

    async fn picture_copy(
        &self,
        request: PictureCopyRequest,
    ) -> Result<PictureCopyResponse, PictureCopyError> {
        // What does not fit is said in a picture.
        let said = request.body.max_part_bytes(9).map(|picture| match picture {
            Ok(picture) => Ok(Part::new(picture.value)),
            Err(StreamedPart::TooLarge(limit)) => {
                Ok(Part::new(format!("more than {limit} bytes").into()))
            }
            Err(StreamedPart::Invalid(error)) => Ok(Part::new(error.to_string().into())),
            Err(error) => Err(error),
        });
        Ok(PartBody::new(said).into())
    }

    async fn range_read(&self, _: RangeReadRequest) -> Result<RangeReadResponse, RangeReadError> {
        let piece = |bytes: &'static [u8], range: &'static str| {
            let (name, value) = header("content-range", range);
            Part::new(Bytes::from_static(bytes)).with_header(name, value)
        };
        let pieces = vec![piece(b"\r\n--", "bytes 0-3/9"), piece(b"", "bytes 4-4/9")];
        let body = RangeReadPartialContentBody::Parts(PartBody::from(pieces));
        Ok(RangeReadPartialContent::new(body).into())
    }

    async fn form_send(&self, request: FormSendRequest) -> Result<FormSendResponse, FormSendError> {
        let (number, info) = request.body.prefix;
        Ok(format!("{} {}", number.value.0, info.value.0.author.as_str()).into())
    }

    async fn part_note(&self, request: PartNoteRequest) -> Result<PartNoteResponse, PartNoteError> {
        let body = match request.body {
            PartNoteBody::Json(said) => PartNoteOkBody::Json(said),
            PartNoteBody::Parts(parts) => {
                let numbers = parts
                    .items
                    .iter()
                    .map(|part| Part::new(Text(part.value.0.n)));
                PartNoteOkBody::Parts(Parts::new(()).with_items(numbers))
            }
        };
        Ok(PartNoteOk::new(body).into())
    }
}

fn info(author: &str) -> AlbumInfo {
    AlbumInfo::new(author.parse().expect("the author is long enough"))
}

fn picture() -> Part<Bytes> {
    let (name, value) = header("content-location", "https://a.example/1");
    Part::new(Bytes::from_static(b"\x89PNG\r\n--"))
        .with_content_type(HeaderValue::from_static("image/png"))
        .with_header(name, value)
}

pub async fn check(client: &Client, url: &str) {
    whole(client).await;
    by_hand(url).await;
    nested(client).await;
    streamed(client, url).await;
    forms_and_choices(client, url).await;
}

async fn whole(client: &Client) {
    let album = Parts::new((info("Ann").into(), picture()));
    let notes = ["one", "two"].map(|note| Text(note.parse().expect("the note is short")));
    let sent = client
        .album_add()
        .body(album.clone().with_items(notes.clone()))
        .send()
        .await;
    assert_eq!(
        sent.expect("a success").into_inner(),
        "Ann image/png https://a.example/1 \u{fffd}PNG\r\n-- one|two"
    );
    // What does not fit is refused before it is sent.
    let (place, other) = header("content-location", "http://a.example/1");
    let (id, one) = header("content-id", "1");
    let third = notes[0].clone();
    for (body, why) in [
        (
            Parts::new((info("Ann").into(), Part::new(Bytes::new()))),
            "`body`: /1 needs a content type of image/*",
        ),
        (
            Parts::new((
                info("Ann").into(),
                picture().with_content_type(HeaderValue::from_static("text/css")),
            )),
            "`body`: /1 must have the content type image/*",
        ),
        (
            Parts::new((
                info("Ann").into(),
                Part::new(Bytes::new()).with_content_type(HeaderValue::from_static("image/gif")),
            )),
            "`body`: /1 has a header `Content-Location` that is required",
        ),
        (
            Parts::new((info("Ann").into(), picture().with_header(place, other))),
            "`body`: /1 has a header `Content-Location` that does not fit its schema",
        ),
        (
            Parts::new((info("Ann").into(), picture().with_header(id, one))),
            "`body`: /1 has a header `Content-ID` that is not allowed",
        ),
        (
            album.with_items([notes[0].clone(), notes[1].clone(), third]),
            "`body`: the body must have at most 4 parts",
        ),
    ] {
        let error = client.album_add().body(body).send().await;
        let error = error.expect_err("the body does not fit").to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// Sends a body that is written by hand, and returns the status and the text of the response.
async fn send(url: &str, path: &str, content_type: &str, body: String) -> (u16, String) {
    let response = reqwest::Client::new()
        .post(format!("{url}/parts/{path}"))
        .header("content-type", content_type)
        .body(body)
        .send()
        .await
        .expect("a response");
    let status = response.status().as_u16();
    (status, response.text().await.expect("a text"))
}

/// Returns a body with parts of these headers and contents.
fn written(parts: &[(&str, &str)]) -> String {
    let part = |(headers, content): &(&str, &str)| format!("--b\r\n{headers}\r\n{content}\r\n");
    parts.iter().map(part).collect::<String>() + "--b--"
}

async fn by_hand(url: &str) {
    const JSON: (&str, &str) = ("Content-Type: application/json\r\n", r#"{"author":"Ann"}"#);
    const PICTURE: (&str, &str) = (
        "content-location:https://b\r\nCONTENT-TYPE: image/gif\r\n",
        "GIF",
    );
    let mixed = "multipart/mixed; boundary=b";
    for (content_type, parts, status, said) in [
        (
            mixed,
            vec![JSON, PICTURE],
            200,
            "Ann image/gif https://b GIF ",
        ),
        (
            "Multipart/Mixed; charset=utf-8; BOUNDARY=\"b\"",
            vec![JSON, PICTURE, ("", "note")],
            200,
            "GIF note",
        ),
        (
            mixed,
            vec![PICTURE, JSON],
            400,
            "/0 must have the content type application/json",
        ),
        (mixed, vec![JSON], 400, "must have at least 2 parts"),
        (
            mixed,
            vec![JSON, PICTURE, ("", "1"), ("", "2"), ("", "3")],
            400,
            "at most 4 parts",
        ),
        (
            mixed,
            vec![("", r#"{"author":""}"#), PICTURE],
            400,
            "/0/author",
        ),
        (mixed, vec![("", r#"{}"#), PICTURE], 400, "is required"),
        (mixed, vec![JSON, PICTURE, ("", "0123456789")], 400, "/2"),
        (
            mixed,
            vec![JSON, ("Content-Location: ftp://a\r\n", "")],
            400,
            "does not fit its schema",
        ),
        (
            mixed,
            vec![JSON, ("Content-Type: image/gif\r\n", "")],
            400,
            "that is required",
        ),
        (
            mixed,
            vec![JSON, ("no header\r\n", "")],
            400,
            "that is no header",
        ),
        (
            mixed,
            vec![
                JSON,
                ("Content-Type: image/a\r\nContent-Type: image/b\r\n", ""),
            ],
            400,
            "/1 has more than one content type",
        ),
        (
            mixed,
            vec![
                JSON,
                (
                    "Content-Location: https://a\r\nContent-Location: ftp://b\r\n",
                    "",
                ),
            ],
            400,
            "must be there once",
        ),
        // A server accepts no value that a newer contract may list.
        (
            mixed,
            vec![
                JSON,
                ("Content-Location: https://a\r\nX-Side: left\r\n", ""),
            ],
            400,
            "`X-Side` that does not fit its schema",
        ),
        ("multipart/mixed", vec![JSON, PICTURE], 400, "boundary"),
        (
            "multipart/mixed; boundary=c",
            vec![JSON, PICTURE],
            400,
            "no part with the boundary",
        ),
        (
            "multipart/related; boundary=b",
            vec![JSON, PICTURE],
            415,
            "multipart/mixed",
        ),
    ] {
        let (found, text) = send(url, "albums", content_type, written(&parts)).await;
        assert_eq!(found, status, "{parts:?}: {text}");
        assert!(text.contains(said), "{parts:?}: {text}");
    }
    let cut = written(&[JSON, PICTURE]).replace("--b--", "");
    let (status, text) = send(url, "albums", mixed, cut).await;
    assert_eq!(status, 400);
    assert!(text.contains("ends before its last part does"), "{text}");
    let large = written(&[JSON, ("Content-Type: image/gif\r\n", &"x".repeat(2 << 20))]);
    assert_eq!(send(url, "albums", mixed, large).await.0, 413);
    let many = "--b\r\n\r\n\r\n".repeat(1001) + "--b--";
    let (status, text) = send(url, "notes", "multipart/related; boundary=b", many).await;
    assert_eq!(status, 400);
    assert!(text.contains("at most 1000 parts"), "{text}");
}

async fn nested(client: &Client) {
    let inner = Parts::new((
        Some(Part::new(Bytes::from_static(b"<a/>"))),
        Some(Text("plain\r\n--text".to_owned()).into()),
        Some(Part::new(Bytes::from_static(b"PNG"))),
    ));
    let letter = Parts::new((Some(Json(vec![1, 2]).into()), Some(Part::new(inner))));
    let copied = client.letter_copy().body(letter).send().await;
    let Copied::Ok(copied) = copied.expect("a success").into_inner() else {
        panic!("the letter is copied");
    };
    let (numbers, inner) = copied.prefix;
    assert_eq!(numbers.expect("the first part").value.0, [1, 2]);
    let inner = inner.expect("the second part");
    let kind = inner.content_type().expect("a content type").to_owned();
    assert!(kind.starts_with("multipart/mixed; boundary="), "{kind}");
    let (xml, plain, png) = inner.value.prefix;
    let xml = xml.expect("a part");
    assert_eq!(xml.content_type(), Some("application/xml"));
    assert_eq!(text(&xml.value), "<a/>");
    assert_eq!(plain.expect("a part").value.0, "plain\r\n--text");
    assert_eq!(text(&png.expect("a part").value), "PNG");
    // A body may end before a position that is not required, and be left out as a whole.
    let short = Parts::new((Some(Json(vec![3]).into()), None));
    let copied = client.letter_copy().body(short).send().await;
    let copied = copied.expect("a success").into_inner();
    assert!(
        matches!(&copied, Copied::Ok(letter) if letter.prefix.1.is_none()),
        "{copied:?}"
    );
    let none = client.letter_copy().send().await.expect("a success");
    assert!(matches!(none.into_inner(), Copied::NoContent));
    let gap = Parts::new((None, Some(Part::new(Parts::new((None, None, None))))));
    let error = client.letter_copy().body(gap).send().await;
    let error = error.expect_err("a part is missing").to_string();
    assert!(
        error.contains("/0 is missing, and a part after it is there"),
        "{error}"
    );
}

async fn streamed(client: &Client, url: &str) {
    let pictures = vec![
        Part::new(Bytes::from_static(b"one")),
        Part::new(Bytes::from_static(b"0123456789")),
        Part::new(Bytes::new()),
    ];
    let copied = client.picture_copy().body(pictures).send().await;
    let mut copied = copied.expect("a success").into_inner();
    let mut found = Vec::new();
    while let Some(picture) = copied.next().await {
        let picture = picture.expect("a picture");
        assert_eq!(picture.content_type(), Some("image/jpeg"));
        found.push(text(&picture.value));
    }
    assert_eq!(found, ["one", "more than 9 bytes", ""]);
    let wrong = written(&[("Content-Type: image/png\r\n", "1"), ("", "2")]);
    let (status, said) = send(url, "pictures", "multipart/mixed; boundary=b", wrong).await;
    assert_eq!(status, 200);
    assert!(
        said.contains("\r\n/0 must have the content type image/jpeg\r\n"),
        "{said}"
    );
    assert!(said.contains("\r\n2\r\n"), "{said}");
    let (status, said) = send(url, "pictures", "multipart/mixed", String::from("x")).await;
    assert_eq!(status, 400, "{said}");

    let ranges = client.range_read().send().await.expect("a success");
    assert!(
        ranges.headers()["content-type"]
            .as_bytes()
            .starts_with(b"multipart/byteranges; boundary=")
    );
    let RangeRead::PartialContentParts(mut ranges) = ranges.into_inner() else {
        panic!("the server sends parts");
    };
    let first = ranges.next().await.expect("a part").expect("it fits");
    assert_eq!(first.headers()["content-range"], "bytes 0-3/9");
    assert_eq!(text(&first.value), "\r\n--");
    assert_eq!(
        ranges.next().await.expect("a part").expect("it fits").value,
        Bytes::new()
    );
    assert!(ranges.next().await.is_none());
}

async fn forms_and_choices(client: &Client, url: &str) {
    let form = Parts::new((Text(7).into(), Json(info("Ann")).into()));
    let said = client.form_send().body(form).send().await;
    assert_eq!(said.expect("a success").into_inner(), "7 Ann");
    let by_curl = written(&[
        ("Content-Disposition: form-data; name=\"number\"\r\n", "8"),
        (
            "Content-Disposition: form-data; name=\"info\"\r\nContent-Type: application/json\r\n",
            r#"{"author":"B"}"#,
        ),
    ]);
    let said = send(url, "forms", "multipart/form-data; boundary=b", by_curl).await;
    assert_eq!(said, (200, "\"8 B\"".to_owned()));
    let unnamed = written(&[
        ("Content-Disposition: form-data; name=\"other\"\r\n", "8"),
        ("", r#"{"author":"B"}"#),
    ]);
    let (status, said) = send(url, "forms", "multipart/form-data; boundary=b", unnamed).await;
    assert_eq!(status, 400);
    assert!(said.contains("Content-Disposition"), "{said}");

    let noted = client.part_note().body("a").send().await;
    assert!(matches!(noted.expect("a success").into_inner(), Noted::OkJson(said) if said == "a"));
    let parts =
        Parts::new((Some(Text("<p>".to_owned()).into()),)).with_items([Json(PartNotePart::new(5))]);
    let noted = client.part_note().body_related(parts).send().await;
    let noted = noted.expect("a success").into_inner();
    assert!(
        matches!(&noted, Noted::OkParts(numbers) if numbers.items[0].value.0 == 5),
        "{noted:?}"
    );
}
