//! A document of others: what is repaired in it works over HTTP.

use axum::extract::{RawQuery, State};
use axum::response::IntoResponse as _;
use features_client::Error;
use features_client::prelude::*;
use features_server::apart::{
    ApartApi, ForeignEarlyError,
    ForeignEarlyRequest, ForeignEarlyResponse,
};
use features_server::foreign::{
    ForeignApi, ForeignBetaError, ForeignBetaRequest, ForeignBetaResponse, ForeignCountError,
    ForeignCountRequest, ForeignCountResponse, ForeignFileError, ForeignFileRequest,
    ForeignFileResponse, ForeignLabelledError, ForeignLabelledRequest, ForeignLabelledResponse,
    ForeignLatestError, ForeignLatestRequest, ForeignLatestResponse, ForeignListError, ForeignListRequest,
    ForeignListResponse, ForeignNoteDeleteForeignNotesNameError,
    ForeignNoteDeleteForeignNotesNameRequest, ForeignNoteDeleteForeignNotesNameResponse,
    ForeignNoteError, ForeignNoteRequest, ForeignNoteResponse, ForeignOrderError,
    ForeignOrderRequest, ForeignOrderResponse, ForeignRangeError, ForeignRangeRequest, ForeignRangeResponse,
    ForeignUnsaidError, ForeignUnsaidRequest, ForeignUnsaidResponse,
};
use features_server::server::{ByteStream, default_status};
use features_types::{
    ForeignItem, ForeignListCreated, ForeignNote, ForeignOrder, ForeignRangeOkBody,
};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

impl ApartApi for crate::Features {
    async fn foreign_early(
        &self,
        _: ForeignEarlyRequest,
    ) -> Result<ForeignEarlyResponse, ForeignEarlyError> {
        Ok(ForeignEarlyResponse::NoContent)
    }

}

impl ForeignApi for crate::Features {
    async fn foreign_file(
        &self,
        request: ForeignFileRequest,
    ) -> Result<ForeignFileResponse, ForeignFileError> {
        Ok(format!("file {}", request.id).into())
    }

    async fn foreign_beta(
        &self,
        request: ForeignBetaRequest,
    ) -> Result<ForeignBetaResponse, ForeignBetaError> {
        Ok(format!("beta {} {:?} {:?}", request.id, request.page, request.beta).into())
    }

    async fn foreign_count(
        &self,
        _: ForeignCountRequest,
    ) -> Result<ForeignCountResponse, ForeignCountError> {
        Ok(7.into())
    }

    async fn foreign_range(
        &self,
        _: ForeignRangeRequest,
    ) -> Result<ForeignRangeResponse, ForeignRangeError> {
        let body = serde_json::from_value(json!({"day": "2024-02-29"}));
        let body: ForeignRangeOkBody = body.expect("this is a day");
        Ok(body.into())
    }

    async fn foreign_labelled(
        &self,
        request: ForeignLabelledRequest,
    ) -> Result<ForeignLabelledResponse, ForeignLabelledError> {
        Ok(format!("of {:?}", request.of).into())
    }

    async fn foreign_unsaid(
        &self,
        _: ForeignUnsaidRequest,
    ) -> Result<ForeignUnsaidResponse, ForeignUnsaidError> {
        Ok(ForeignUnsaidResponse::Default {
            status: default_status!(ForeignUnsaidResponse, 203),
            body: ByteStream::new("said"),
        })
    }

    async fn foreign_latest(
        &self,
        _: ForeignLatestRequest,
    ) -> Result<ForeignLatestResponse, ForeignLatestError> {
        Ok("latest".to_owned().into())
    }

    async fn foreign_note(
        &self,
        request: ForeignNoteRequest,
    ) -> Result<ForeignNoteResponse, ForeignNoteError> {
        Ok(ForeignNote::new(request.note, None, None).into())
    }

    async fn foreign_note_delete_foreign_notes_name(
        &self,
        _: ForeignNoteDeleteForeignNotesNameRequest,
    ) -> Result<ForeignNoteDeleteForeignNotesNameResponse, ForeignNoteDeleteForeignNotesNameError>
    {
        Ok(ForeignNoteDeleteForeignNotesNameResponse::NoContent)
    }

    async fn foreign_list(
        &self,
        request: ForeignListRequest,
    ) -> Result<ForeignListResponse, ForeignListError> {
        let lists = [request.expand, request.sort];
        let mut words = lists
            .map(|list| list.unwrap_or_default().join("|"))
            .to_vec();
        words.push(serde_json::to_string(&request.items).expect("items are JSON"));
        words.push(serde_json::to_string(&request.created).expect("a time is JSON"));
        Ok(words.into())
    }

    async fn foreign_order(
        &self,
        request: ForeignOrderRequest,
    ) -> Result<ForeignOrderResponse, ForeignOrderError> {
        Ok(request.body.into())
    }
}

pub async fn check(client: &Client, url: &str) {
    // Labels of one URL: a query chooses, and of the others the first serves.
    let file = client.foreign_file().id("1").send().await;
    assert_eq!(file.expect("a success").into_inner(), "file 1");
    let link = client.foreign_link().id("1").send().await;
    assert_eq!(link.expect("a success").into_inner(), "file 1");
    let beta = client.foreign_beta().id("1").page(2).send().await;
    let beta = beta.expect("a success").into_inner();
    assert_eq!(beta, "beta 1 Some(2) Some(true)");
    // An argument of the label's name is sent in its place.
    let other = client.foreign_beta().id("1").beta(false).send().await;
    assert_eq!(other.expect("a success").into_inner(), "file 1");
    let same = client.foreign_beta().id("1").beta(true).send().await;
    let same = same.expect("a success").into_inner();
    assert_eq!(same, "beta 1 None Some(true)");
    // A literal path wins, and then the query decides.
    let latest = client.foreign_latest().send().await;
    assert_eq!(latest.expect("a success").into_inner(), "latest");
    let get = async |path: &str| {
        let response = reqwest::get(format!("{url}/foreign/{path}")).await;
        let text = response.expect("a response").text().await;
        text.expect("the response is text")
    };
    assert_eq!(get("files/1?beta=false").await, r#""file 1""#);
    let beta = r#""beta 1 Some(2) Some(true)""#;
    assert_eq!(get("files/1?page=2&beta=true").await, beta);
    assert_eq!(get("files/latest").await, r#""file latest""#);

    // Paths that differ in a parameter's name only: the methods are merged.
    let note = client.foreign_note().note("a").send().await;
    let note = note.expect("a success").into_inner();
    assert_eq!((note.text.as_str(), &note.mood), ("a", &None));
    assert!(note.author.is_none());
    let gone = client.foreign_note_delete_foreign_notes_name().name("a");
    gone.send().await.expect("a success");

    // Of two tags that share a URL, the first operation of the document serves it.
    let apart = client.foreign_apart().id("1").send().await;
    assert_eq!(apart.expect("a success").into_inner(), "file 1");
    lists(client, url).await;
    orders(client, url).await;
    what_is_sent().await;
    idle_keywords();
    let count = client.foreign_count().send().await;
    assert_eq!(count.expect("a success").into_inner(), 7);
    anything().await;

    let range = client.foreign_range().send().await;
    let range = range.expect("a success").into_inner();
    let day = serde_json::to_value(&range.day).expect("a day is JSON");
    assert_eq!(day, "2024-02-29");
    let impossible = json!({"day": "2023-02-29"});
    assert!(serde_json::from_value::<ForeignRangeOkBody>(impossible).is_err());
    // What stands in braces in the query of the path is the argument.
    let labelled = client.foreign_labelled().of("a b").send().await;
    assert_eq!(
        labelled.expect("a success").into_inner(),
        r#"of Some("a b")"#
    );
    // Nothing is said about the response, and it is there.
    let unsaid = client.foreign_unsaid().send().await.expect("a success");
    assert_eq!(unsaid.status(), 203);
    let said = unsaid.into_inner().bytes().await;
    assert_eq!(said.expect("the response is whole"), "said");
}

/// Arrays in the style `deepObject`, in a query.
async fn lists(client: &Client, url: &str) {
    let list = client.foreign_list();
    let list = list.expand(vec!["a".to_owned(), "b".to_owned()]);
    let list = list.sort(vec!["c".to_owned(), "d".to_owned()]);
    let list = list.items(vec![item("x").with_count(2), item("y")]);
    let list = list.created(ForeignListCreated::from(7)).send().await;
    let expected = [
        "a|b",
        "c,d".replace(',', "|").as_str(),
        r#"[{"price":"x","count":2},{"price":"y"}]"#,
        "7",
    ]
    .map(str::to_owned);
    assert_eq!(list.expect("a success").into_inner(), expected);
    let get = async |query: &str| {
        let response = reqwest::get(format!("{url}/foreign/lists?{query}")).await;
        let response = response.expect("a response");
        (
            response.status().as_u16(),
            response.text().await.expect("the response is text"),
        )
    };
    for (query, expected) in [
        (
            "expand[]=a&expand[]=b&sort=c,d",
            json!(["a|b", "c|d", "null", "null"]),
        ),
        (
            "expand[1]=b&expand[0]=a",
            json!(["a|b", "", "null", "null"]),
        ),
        ("expand=a&expand=b", json!(["a|b", "", "null", "null"])),
        ("created[gt]=5", json!(["", "", "null", r#"{"gt":5}"#])),
        (
            "items[10][price]=y&items[9][tags][]=t&items[9][price]=x",
            json!([
                "",
                "",
                r#"[{"price":"x","tags":["t"]},{"price":"y"}]"#,
                "null"
            ]),
        ),
    ] {
        let (status, text) = get(query).await;
        let found: Value = serde_json::from_str(&text).expect("the response is JSON");
        assert_eq!((status, found), (200, expected), "{query}");
    }
    // What has no one meaning is refused, and says what is missing.
    for (query, reason) in [
        (
            "items[][price]=x&items[][count]=1",
            "must have an index before the properties",
        ),
        ("items[0][price]=x&items[0][price]=y", "must be given once"),
        ("items[a][price]=x", "must be a list"),
        ("items[-1][price]=x", "must be a list"),
        ("items[99999999999999999999][price]=x", "must be a list"),
        (
            &format!("items[0][price]{}=x", "[a]".repeat(200)),
            "must not nest deeper",
        ),
    ] {
        let (status, text) = get(query).await;
        assert_eq!(status, 400, "{query}");
        assert!(text.contains(reason), "{query}: {text}");
    }
}

/// Arrays in the style `deepObject`, in a form.
async fn orders(client: &Client, url: &str) {
    let http = reqwest::Client::new();
    for (form, order) in [
        (
            "expand[]=a&expand[]=b&items[0][price]=x&items[0][tags][]=t&items[1][price]=y&address[lines][]=1",
            json!({
                "expand": ["a", "b"],
                "items": [{"price": "x", "tags": ["t"]}, {"price": "y"}],
                "address": {"lines": ["1"]},
            }),
        ),
        (
            "expand%5B0%5D=a&address=&tags[0]=7",
            json!({"expand": ["a"], "address": "", "tags": ["7"]}),
        ),
        ("tags=", json!({"tags": ""})),
    ] {
        let request = http
            .post(format!("{url}/foreign/lists"))
            .body(form.to_owned());
        let media = "application/x-www-form-urlencoded";
        let response = request.header("content-type", media).send().await;
        let text = response
            .expect("a response")
            .text()
            .await
            .expect("the response is text");
        let found: Value = serde_json::from_str(&text).expect("the response is JSON");
        assert_eq!(found, order, "{form}");
        let order: ForeignOrder = serde_json::from_value(order).expect("an order");
        let back = client.foreign_order().body(order.clone()).send().await;
        assert_eq!(back.expect("a success").into_inner(), order);
    }
}

/// The bytes that APIs with this style read.
async fn what_is_sent() {
    let (sender, mut received) = unbounded_channel();
    let keep = async |State(to): State<UnboundedSender<String>>,
                      RawQuery(query): RawQuery,
                      body: String| {
        let text = query
            .unwrap_or(body)
            .replace("%5B", "[")
            .replace("%5D", "]");
        to.send(text).expect("the test waits");
        ([("content-type", "application/json")], "{}")
    };
    let router = axum::Router::new().fallback(keep).with_state(sender);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port is free");
    let address = listener.local_addr().expect("the listener has an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    let client = Client::new(format!("http://{address}")).expect("the URL is valid");
    let order = json!({
        "expand": ["a", "b c"],
        "items": [{"price": "x", "count": 2, "tags": ["t", "u"]}, {"price": "y"}],
        "address": {"lines": ["1", "2"]},
    });
    let order: ForeignOrder = serde_json::from_value(order).expect("an order");
    client
        .foreign_order()
        .body(order)
        .send()
        .await
        .expect("a success");
    assert_eq!(
        received.recv().await.as_deref(),
        Some(
            "expand[]=a&expand[]=b%20c\
             &items[0][price]=x&items[0][count]=2&items[0][tags][]=t&items[0][tags][]=u&items[1][price]=y\
             &address[lines][]=1&address[lines][]=2"
        )
    );
    let list = client
        .foreign_list()
        .expand(vec!["a".to_owned()])
        .items(vec![item("x")]);
    let answer = list.send().await;
    assert!(
        matches!(answer, Err(Error::InvalidResponse(_))),
        "{answer:?}"
    );
    assert_eq!(
        received.recv().await.as_deref(),
        Some("expand[]=a&items[0][price]=x")
    );
}

/// Keywords of another type than that of the value say nothing about it.
fn idle_keywords() {
    for (property, value, fits) in [
        ("limit", json!("5"), true),
        ("limit", json!("0"), false),
        ("size", json!(12345), true),
        ("size", json!(1), false),
    ] {
        let item = json!({"price": "x", property: value});
        let read = serde_json::from_value::<ForeignItem>(item.clone());
        assert_eq!(read.is_ok(), fits, "{item}");
    }
}

fn item(price: &str) -> ForeignItem {
    ForeignItem::new(price)
}

/// A response that may have any media type is JSON if the server says so.
async fn anything() {
    for (media, reason) in [
        (Some("application/json"), None),
        (Some("application/vnd.count+json; charset=utf-8"), None),
        (Some("text/html"), Some("is `text/html`, and must be JSON")),
        (
            Some("application/json-seq"),
            Some("is `application/json-seq`, and must be JSON"),
        ),
        (None, Some("has no media type, and must be JSON")),
    ] {
        let respond = async move || {
            let media = media.map(|media| [("content-type", media)]);
            match media {
                Some(media) => (media, "7").into_response(),
                None => axum::body::Body::from("7").into_response(),
            }
        };
        let router = axum::Router::new().fallback(respond);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port is free");
        let address = listener.local_addr().expect("the listener has an address");
        tokio::spawn(async move { axum::serve(listener, router).await });
        let client = Client::new(format!("http://{address}")).expect("the URL is valid");
        match (client.foreign_count().send().await, reason) {
            (Ok(count), None) => assert_eq!(count.into_inner(), 7),
            (Err(error), Some(reason)) => {
                assert!(error.to_string().ends_with(reason), "{error}");
                assert_eq!(error.received().map(|body| &body[..]), Some(&b"7"[..]));
                let count = client.foreign_count().send().lenient().await;
                let count = count.expect("a success");
                let misfit = count.get().expect_err("it may be no JSON").to_string();
                assert!(misfit.ends_with(reason), "{misfit}");
                assert_eq!(count.raw(), Some(&json!(7)));
            }
            (found, _) => panic!("{media:?}: {found:?}"),
        }
    }
}
