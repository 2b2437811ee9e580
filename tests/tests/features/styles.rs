//! Parameters in every location and style.

use features_client::prelude::*;
use features_server::styles::{StyleEchoError, StyleEchoRequest, StyleEchoResponse, StylesApi};
use features_types::{Span, StyleEchoSpread, Words};

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
}
