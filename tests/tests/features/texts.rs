//! Strings with constraints where they are used, whose types are aliases of one type of the run time:
//! each is checked by its own rules and is a type of its own, also beside a schema named `Text`.

use std::any::TypeId;
use std::collections::{BTreeSet, HashSet};
use std::fmt::Display;

use features_client::prelude::*;
use features_server::texts::{TextsApi, TextsEchoError, TextsEchoRequest, TextsEchoResponse};
use features_types::{
    Text, TextLine, Texts, TextsBoth, TextsCity, TextsDay, TextsNote, TextsNoteString2, TextsStreet,
};
use serde_json::json;

impl TextsApi for crate::Features {
    async fn texts_echo(
        &self,
        request: TextsEchoRequest,
    ) -> Result<TextsEchoResponse, TextsEchoError> {
        assert_eq!(request.code, "abcd");
        Ok(request.body.into())
    }
}

pub async fn check(client: &Client, url: &str) {
    let city: TextsCity = "Paris".parse().expect("five characters");
    let street = TextsStreet::try_from("Mühle".to_owned()).expect("five characters, six bytes");
    let note: TextsNoteString2 = "note: long".parse().expect("its pattern");
    let texts = Texts::new(city.clone(), street, Text::new())
        .with_day(TextsDay::try_from("2026-02-28").expect("a date"))
        .with_both("a-z".parse::<TextsBoth>().expect("both rules"))
        .with_note(TextsNote::from(note));
    let call = client
        .texts_echo()
        .code("abcd")
        .mark("me")
        .body(texts.clone());
    assert_eq!(call.send().await.expect("a success").into_inner(), texts);

    has_the_traits_of_a_string(&city);
    rejects();
    for (path, body) in [
        ("ABCD", json!({"city": "a", "street": "b", "text": {}})),
        ("abcde", json!({"city": "a", "street": "b", "text": {}})),
        (
            "abcd?mark=m",
            json!({"city": "a", "street": "b", "text": {}}),
        ),
        ("abcd", json!({"city": "London", "street": "b", "text": {}})),
        (
            "abcd",
            json!({"city": "a", "street": "b", "day": "2026-02-29", "text": {}}),
        ),
        (
            "abcd",
            json!({"city": "a", "street": "b", "both": "bad", "text": {}}),
        ),
        (
            "abcd",
            json!({"city": "a", "street": "b", "text": {"line": ""}}),
        ),
    ] {
        let request = reqwest::Client::new().post(format!("{url}/texts/{path}"));
        let response = request.json(&body).send().await.expect("a response");
        assert_eq!(response.status().as_u16(), 400, "{path} {body}");
    }
    assert!(TextsCity::example().as_str().chars().count() <= 5);
}

fn has_the_traits_of_a_string(city: &TextsCity) {
    assert_eq!(format!("{city} {city:?}"), "Paris TextsCity(\"Paris\")");
    assert_eq!(*city, "Paris");
    assert_eq!(city.as_ref(), city.as_str());
    assert_eq!(HashSet::from([city.clone(), city.clone()]).len(), 1);
    let other: TextsCity = "Oslo".parse().expect("four characters");
    let sorted: Vec<String> = BTreeSet::from([city.clone(), other])
        .into_iter()
        .map(TextsCity::into_string)
        .collect();
    assert_eq!(sorted, ["Oslo", "Paris"]);
    assert_eq!(serde_json::to_value(city).expect("JSON"), json!("Paris"));
    assert_ne!(TypeId::of::<TextsCity>(), TypeId::of::<TextsStreet>());
    let line = Text::new().line.expect("its default").to_string();
    assert_eq!(
        TextLine::try_from(line.as_str()).expect("not empty"),
        "first"
    );
}

fn rejects() {
    let words = "must be at most 5 characters long";
    assert_eq!(message("London".parse::<TextsCity>()), words);
    assert_eq!(message(TextsCity::try_from("London")), words);
    assert_eq!(message(TextsCity::try_from("London".to_owned())), words);
    serde_json::from_str::<TextsCity>("\"London\"").expect_err("too long");
    serde_json::from_str::<TextsCity>("5").expect_err("not a string");
    for both in ["bad", "too long!"] {
        both.parse::<TextsBoth>().expect_err("one rule at most");
    }
}

fn message<E: Display>(result: Result<TextsCity, E>) -> String {
    match result {
        Ok(_) => panic!("the text is too long"),
        Err(error) => error.to_string(),
    }
}
