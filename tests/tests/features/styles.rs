//! Parameters in every location and style.

use features_client::prelude::*;
use features_server::styles::{
    StyleBodyBody, StyleBodyError, StyleBodyRequest, StyleBodyResponse, StyleEchoError,
    StyleEchoRequest, StyleEchoResponse, StyleFormError, StyleFormRequest, StyleFormResponse,
    StylesApi,
};
use features_types::{Span, StyleBag, StyleEchoSpread, StyleForm, Words};
use serde_json::{Value, json};

impl StylesApi for crate::Features {
    async fn style_echo(
        &self,
        request: StyleEchoRequest,
    ) -> Result<StyleEchoResponse, StyleEchoError> {
        let lists = [
            Some(request.label),
            Some(request.matrix),
            Some(request.list),
            request.spaced,
            request.piped,
            request.repeated,
            request.x_words,
        ];
        let mut said: Vec<String> = lists
            .into_iter()
            .map(|list| list.map_or("none".to_owned(), |list| list.join("|")))
            .collect();
        for span in [request.deep, request.json] {
            said.push(span.map_or("none".to_owned(), |span| {
                format!("{} to {:?}", span.from, span.to)
            }));
        }
        said.push(format!(
            "{:?}",
            request.spread.and_then(|spread| spread.red)
        ));
        said.push(request.flavour.unwrap_or_default());
        Ok(said.into())
    }

    async fn style_form(
        &self,
        request: StyleFormRequest,
    ) -> Result<StyleFormResponse, StyleFormError> {
        Ok(request.body.into())
    }

    async fn style_body(
        &self,
        request: StyleBodyRequest,
    ) -> Result<StyleBodyResponse, StyleBodyError> {
        Ok(match request.body {
            StyleBodyBody::Json(bag) | StyleBodyBody::Form(bag) => bag.into(),
        })
    }
}

fn words(texts: &[&str]) -> Words {
    texts
        .iter()
        .map(|text| (*text).to_owned())
        .collect::<Vec<_>>()
        .into()
}

pub async fn check(client: &Client, url: &str) {
    let call = client
        .style_echo()
        .label(words(&["a", "b/c"]))
        .matrix(words(&["d", "é"]))
        .list(words(&["e,f", "%"]));
    let response = call.clone().send().await.expect("a success").into_inner();
    assert_eq!(response[..4], ["a|b/c", "d|é", "e,f|%", "none"]);
    let call = call
        .spaced(words(&["g", "h"]))
        .piped(words(&["i", "j"]))
        .repeated(words(&["k&", "l=m", ""]));
    let call = call
        .deep(Span::new(1).with_to(2))
        .json(Span::new(3))
        .spread(StyleEchoSpread::new().with_red(4));
    let response = call
        .x_words(words(&["n", "o"]))
        .flavour("p")
        .send()
        .await
        .expect("a success")
        .into_inner();
    assert_eq!(
        response[3..],
        [
            "g|h",
            "i|j",
            "k&|l=m|",
            "n|o",
            "1 to Some(2)",
            "3 to None",
            "Some(4)",
            "p"
        ]
    );

    // A request as the standard describes it, as another client would send it.
    let query = "spaced=g%20h&piped=i%7Cj&repeated=k&repeated=l&deep%5Bfrom%5D=1&red=4&json=%7B%22from%22%3A3%7D";
    let request =
        reqwest::Client::new().get(format!("{url}/styles/.a,b/x;matrix=c;matrix=d/e,f?{query}"));
    let request = request
        .header("x-words", "n, o")
        .header("cookie", "other=1; flavour=p");
    let response: Vec<String> = request
        .send()
        .await
        .expect("a response")
        .json()
        .await
        .expect("the response is a list");
    let expected = [
        "a|b",
        "c|d",
        "e|f",
        "g|h",
        "i|j",
        "k|l",
        "n|o",
        "1 to None",
        "3 to None",
        "Some(4)",
        "p",
    ];
    assert_eq!(response, expected);
    // An escape would not help: URL parsers read it as a dot, and the request would be for another path.
    for item in [".", ".."] {
        let climbing = client.style_echo().label(words(&["a"])).matrix(words(&["b"]));
        let climbing = climbing.list(words(&[item])).send().await;
        let error = climbing.expect_err("it would climb");
        assert!(matches!(error, features_client::Error::InvalidRequest(_)), "{error:?}");
    }
    check_forms(client, url).await;
    check_long_lists(url).await;
}

/// Lists that take a piece for each character, and that no other separator ends.
async fn check_long_lists(url: &str) {
    let begun = std::time::Instant::now();
    for (name, separator) in [("spaced", "+"), ("piped", "|"), ("listed", ",")] {
        let pieces = 1_000_000;
        let form = format!("plain=a&{name}={}", separator.repeat(pieces));
        let (status, read) = sent(url, "style-forms", &form).await;
        assert_eq!(status, 200, "{name}");
        let read = read[name].as_array().map(Vec::len);
        assert_eq!(read, Some(pieces + 1), "{name}");
    }
    // In quadratic time, minutes.
    let took = begun.elapsed();
    assert!(took < std::time::Duration::from_secs(30), "{took:?}");
}

/// Sends a form as another client would, and returns the status and what was understood.
async fn sent(url: &str, path: &str, form: &str) -> (u16, Value) {
    let request = reqwest::Client::new().post(format!("{url}/{path}"));
    let request = request
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form.to_owned());
    let response = request.send().await.expect("a response");
    let status = response.status().as_u16();
    (status, response.json().await.expect("the response is JSON"))
}

/// The properties of forms, in the styles of their `encoding`.
async fn check_forms(client: &Client, url: &str) {
    let form = json!({
        "plain": ["a", "b,c"],
        "listed": ["d", "e,f"],
        "spaced": ["g", "h i"],
        "piped": ["j", "k|l"],
        "spread": {"from": 1, "to": 2},
        "named": {"from": 3, "to": 4},
        "text": "m,n",
        "spans": [{"from": 5}, {"from": 6, "to": 7}],
    });
    // As the standard writes it, in other orders and spellings than our client does.
    let written = "to=2&plain=a&listed=d,e%2Cf&plain=b%2Cc&spaced=g%20h+i&piped=j|k%7Cl&from=1\
                   &named=from,3,to,4&text=m,n&spans=%5B%7B%22from%22:5%7D,%7B%22from%22:6,%22to%22:7%7D%5D";
    let (status, read) = sent(url, "style-forms", written).await;
    assert_eq!(status, 200, "{read}");
    let mut expected = form.clone();
    // A blank or bar that separates has no escape that would tell it from one that does not.
    expected["spaced"] = json!(["g", "h", "i"]);
    expected["piped"] = json!(["j", "k", "l"]);
    assert_eq!(read, expected);

    let mut own: StyleForm = serde_json::from_value(form.clone()).expect("a form");
    own.spaced = Some(words(&["g", "h"]));
    own.piped = Some(words(&["j", "k"]));
    let back = client.style_form().body(own.clone()).send().await;
    assert_eq!(back.expect("a success").into_inner(), own);

    for (form, read) in [
        ("plain=a&listed=", json!({"plain": ["a"], "listed": []})),
        ("plain=a&listed=b", json!({"plain": ["a"], "listed": ["b"]})),
        ("plain=a&spans=[]", json!({"plain": ["a"], "spans": []})),
        ("plain=a", json!({"plain": ["a"]})),
    ] {
        assert_eq!(sent(url, "style-forms", form).await, (200, read), "{form}");
    }
    for (form, reason) in [
        ("plain=a&listed=b&listed=c", "listed must be given once"),
        ("plain=a&named=from", "named must be names and values in turn"),
        ("plain=a&named=from,x", "named/from must be an integer"),
        ("plain=a&from=x", "spread/from must be an integer"),
        ("plain=a&spans=b", "spans must be a JSON text"),
        ("plain=a&spans=[1]", "spans must be a JSON text"),
        ("listed=b", "missing required property `plain`"),
    ] {
        let (status, read) = sent(url, "style-forms", form).await;
        assert_eq!(status, 400, "{form}: {read}");
        assert!(read.to_string().contains(reason), "{form}: {read}");
    }

    // An empty body in chunks, without a media type, is none.
    let nothing = futures_util::stream::empty::<Result<String, std::io::Error>>();
    let request = reqwest::Client::new().post(format!("{url}/style-bodies"));
    let request = request.body(reqwest::Body::wrap_stream(nothing));
    let response = request.send().await.expect("a response");
    let status = response.status().as_u16();
    let read = response.text().await.expect("a text");
    assert!(status == 400 && read.contains("is required"), "{status} {read}");

    // An object that takes every other name, beside a body in JSON.
    let (status, read) = sent(url, "style-bodies", "x=1&name=n&y=2&words=a,b").await;
    let bag = json!({"name": "n", "words": ["a", "b"], "rest": {"x": 1, "y": 2}});
    assert_eq!((status, &read), (200, &bag));
    let bag: StyleBag = serde_json::from_value(bag).expect("a bag");
    let back = client.style_body().body_form(bag.clone()).send().await;
    assert_eq!(back.expect("a success").into_inner(), bag);
}
