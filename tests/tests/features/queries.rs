//! A query that is one parameter, cookies that are sent as they are, and a union with a default.

use std::collections::BTreeMap;

use features_client::prelude::*;
use features_server::queries::{
    QueriesApi, QueryEchoError, QueryEchoRequest, QueryEchoResponse, QueryEmptyError,
    QueryEmptyRequest, QueryEmptyResponse, QueryJsonError, QueryJsonRequest, QueryJsonResponse,
    QueryPetError, QueryPetRequest, QueryPetResponse, QueryTextError, QueryTextRequest,
    QueryTextResponse,
};
use features_server::server::serde_json::{self, json};
use features_types::{QueryAny, QueryEmptyLists, QueryFind, QueryPet};

impl QueriesApi for crate::Features {
    async fn query_echo(
        &self,
        request: QueryEchoRequest,
    ) -> Result<QueryEchoResponse, QueryEchoError> {
        let find = request.find;
        let mut words = vec![find.text, format!("{:?}", find.limit)];
        words.extend(find.tag.unwrap_or_default());
        words.extend(request.session);
        words.extend(request.colours.unwrap_or_default());
        Ok(words.into())
    }

    async fn query_empty(
        &self,
        request: QueryEmptyRequest,
    ) -> Result<QueryEmptyResponse, QueryEmptyError> {
        let pair = |(name, value): (&String, &String)| format!("{name}={value}");
        let mut words: Vec<String> = request.find.iter().map(pair).collect();
        words.extend(request.plain.unwrap_or_default());
        words.extend(request.marks.unwrap_or_default().iter().map(pair));
        Ok(words.into())
    }

    async fn query_json(
        &self,
        request: QueryJsonRequest,
    ) -> Result<QueryJsonResponse, QueryJsonError> {
        let find = serde_json::to_string(&request.find).expect("a query is JSON");
        Ok(find.into())
    }

    async fn query_text(
        &self,
        request: QueryTextRequest,
    ) -> Result<QueryTextResponse, QueryTextError> {
        Ok(request.path.into())
    }

    async fn query_pet(&self, request: QueryPetRequest) -> Result<QueryPetResponse, QueryPetError> {
        Ok(match request.body {
            QueryPet::QueryCat(cat) => format!("a cat with {} lives", cat.lives),
            QueryPet::QueryOther(other) => format!("{:?} with {:?} legs", other.kind, other.legs),
        }
        .into())
    }
}

pub async fn check(client: &Client, url: &str) {
    let find = json!({"text": "a&b =c", "tag": ["x", "y z"], "limit": 3});
    let find: QueryFind = serde_json::from_value(find).expect("a query");
    let call = client.query_echo().find(find.clone()).session("a%20b");
    let colours = vec!["red".to_owned(), "blue".to_owned()];
    let echo = call.colours(colours).send().await.expect("a success");
    assert_eq!(
        echo.into_inner(),
        ["a&b =c", "Some(3)", "x", "y z", "a%20b", "red", "blue"]
    );
    // The contract's author decides how a cookie is escaped, so nothing is escaped for the caller.
    let refused = client.query_echo().find(find).session("a;b").send().await;
    let refused = refused.expect_err("no cookie has a semicolon").to_string();
    assert!(refused.contains("no cookie can have"), "{refused}");
    by_hand(url).await;
    queries_that_are_no_forms(client, url).await;
    an_empty_query(client).await;
    odd_cookies(client).await;
    for (pet, variant) in [
        (json!({"kind": "cat", "lives": 9}), "a cat with 9 lives"),
        (json!({"legs": 4}), "None with Some(4) legs"),
        (json!({"kind": "cow"}), "Some(\"cow\") with None legs"),
    ] {
        let pet: QueryPet = serde_json::from_value(pet).expect("a pet");
        let told = client.query_pet().body(pet).send().await;
        assert_eq!(told.expect("a success").into_inner(), variant);
    }
    // The property selects one variant, and its errors are those of that variant.
    let cat: Result<QueryPet, _> = serde_json::from_value(json!({"kind": "cat", "legs": 4}));
    let error = cat.expect_err("a cat has lives").to_string();
    assert!(error.contains("lives"), "{error}");
}

/// A required object that is the whole query may have no properties.
async fn an_empty_query(client: &Client) {
    for find in [json!({}), json!({"a": "1"})] {
        let find: QueryAny = serde_json::from_value(find).expect("a query");
        let expected: Vec<&str> = find.iter().map(|_| "a=1").collect();
        let echo = client.query_empty().find(find).send().await;
        assert_eq!(echo.expect("a success").into_inner(), expected);
    }
}

/// Values that would be other cookies than the caller means are not sent.
async fn odd_cookies(client: &Client) {
    let call = || client.query_empty().find(QueryAny::default());
    let marks = |key: &str| BTreeMap::from([(key.to_owned(), "1".to_owned())]);
    let call_with = call().marks(marks("b")).plain(vec!["x".to_owned(), "y".to_owned()]);
    let echo = call_with.send().await.expect("a success");
    assert_eq!(echo.into_inner()[..2], ["x", "y"]);
    let lists = QueryEmptyLists::new().with_tags(vec!["a".to_owned()]);
    for (call, reason) in [
        (call().plain(vec!["x,y".to_owned()]), "a character"),
        (call().plain(vec!["\"".to_owned()]), "a character"),
        (call().marks(marks("a=1; b")), "a name"),
        (call().marks(marks("")), "a name"),
        (call().marks(marks("%61")), "a name"),
        (call().lists(lists), "an array or object"),
    ] {
        let refused = call.send().await.expect_err(reason).to_string();
        assert!(refused.contains(reason), "{refused}");
    }
}

/// The queries of another client.
async fn by_hand(url: &str) {
    let http = reqwest::Client::new();
    let get = |query: &str| {
        let request = http.get(format!("{url}/queries{query}"));
        request
            .header("cookie", "session=x%3D1; colours=a; colours=b")
            .send()
    };
    let echo = get("?limit=1&text=a+b%26&tag=c").await.expect("a response");
    let echo: Vec<String> = echo.json().await.expect("a list");
    assert_eq!(echo, ["a b&", "Some(1)", "c", "x%3D1", "a", "b"]);
    for wrong in [
        "",
        "?limit=1",
        "?text=a&limit=x",
        "?text=a&text=b",
        "?find=a",
    ] {
        let refused = get(wrong).await.expect("a response");
        assert_eq!(refused.status(), 400, "{wrong}");
    }
}

/// The whole query is JSON, or a text.
async fn queries_that_are_no_forms(client: &Client, url: &str) {
    let text = r#"{"text":"a+b &=é","tag":["x"]}"#;
    let find: QueryFind = serde_json::from_str(text).expect("a query");
    let found = client.query_json().find(find).send().await;
    assert_eq!(found.expect("a success").into_inner(), text);
    let none = client.query_json().send().await;
    assert_eq!(none.expect("a success").into_inner(), "null");
    let path = "$.a[?@.b == 'c+d']&x=1%";
    let told = client.query_text().path(path).send().await;
    assert_eq!(told.expect("a success").into_inner(), path);
    let nothing = client.query_text().path("").send().await;
    assert_eq!(nothing.expect("a success").into_inner(), "");
    let get = async |path: &str| {
        let response = reqwest::get(format!("{url}/queries/{path}")).await;
        let response = response.expect("a response");
        let status = response.status().as_u16();
        (status, response.text().await.expect("the response is text"))
    };
    // As the standard's own example is written.
    let (status, body) = get("json?%7B%22text%22%3A%22a+b%22%7D").await;
    assert_eq!((status, body.as_str()), (200, r#""{\"text\":\"a+b\"}""#));
    assert_eq!(get("text?$.a%20b").await, (200, r#""$.a b""#.to_owned()));
    for wrong in ["json?find=%7B%22text%22%3A%22a%22%7D", "json?%7B%7D", "json?%7B", "text?%FF"] {
        assert_eq!(get(wrong).await.0, 400, "{wrong}");
    }
}
