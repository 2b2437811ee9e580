//! Alternatives without a tag, selected by what they require and by their types; enumerations of
//! values of any type.

use features_client::prelude::*;
use features_server::unions::{
    KeyViewError, KeyViewRequest, KeyViewResponse, PetEchoError, PetEchoRequest, PetEchoResponse,
    PointEchoError, PointEchoRequest, PointEchoResponse, RuleEchoError, RuleEchoRequest, RuleEchoResponse, ShapeEchoError, ShapeEchoRequest,
    ShapeEchoResponse, StateEchoError, StateEchoRequest, StateEchoResponse, UnionsApi,
    UserEchoError, UserEchoRequest, UserEchoResponse,
};
use features_types::{
    Cat, Circle, Dog, Key, KeyViewOkBody as AnyKey, Mark, NamedKey, NamedPoint, Pet, Point, Shapes,
    ShapesItem, Square, SquareVote,
};

impl UnionsApi for crate::Features {
    async fn shape_echo(
        &self,
        request: ShapeEchoRequest,
    ) -> Result<ShapeEchoResponse, ShapeEchoError> {
        Ok(request.body.into())
    }

    async fn state_echo(
        &self,
        request: StateEchoRequest,
    ) -> Result<StateEchoResponse, StateEchoError> {
        Ok(request.body.into())
    }

    async fn user_echo(&self, request: UserEchoRequest) -> Result<UserEchoResponse, UserEchoError> {
        Ok(request.body.into())
    }

    async fn pet_echo(&self, request: PetEchoRequest) -> Result<PetEchoResponse, PetEchoError> {
        Ok(request.body.into())
    }

    async fn key_view(&self, request: KeyViewRequest) -> Result<KeyViewResponse, KeyViewError> {
        let id = "1".to_owned();
        Ok(KeyViewResponse::Ok(match request.kind.as_str() {
            "named" => NamedKey::new(id).with_name("one".to_owned()).into(),
            _ => Key::new(id).into(),
        }))
    }

    async fn rule_echo(&self, request: RuleEchoRequest) -> Result<RuleEchoResponse, RuleEchoError> {
        Ok(request.body.into())
    }

    async fn point_echo(
        &self,
        request: PointEchoRequest,
    ) -> Result<PointEchoResponse, PointEchoError> {
        Ok(request.body.into())
    }
}

pub async fn check(client: &Client, url: &str) {
    let votes = [
        SquareVote::Plus1,
        SquareVote::Minus1,
        SquareVote::Empty,
        SquareVote::Add,
        SquareVote::Add2,
    ];
    let squares = votes.map(|vote| Some(ShapesItem::Square(Square::new(2.0).with_vote(vote))));
    let mut shapes = vec![
        Some(Circle::new(1.5).into()),
        Some("free".to_owned().into()),
        None,
    ];
    shapes.extend(squares);
    let shapes = Shapes::from(shapes);
    let response = client
        .shape_echo()
        .body(shapes.clone())
        .send()
        .await
        .expect("a success")
        .into_inner();
    assert_eq!(response, shapes);
    let post = |body: &'static str| {
        let request = reqwest::Client::new()
            .post(format!("{url}/shapes"))
            .header("content-type", "application/json");
        async move { request.body(body).send().await.expect("a response") }
    };
    let right =
        post(r#"[{"radius": 1.0}, {"side": 2, "vote": "+1"}, {"side": 2, "vote": 3}, null]"#).await;
    assert_eq!(right.status(), 200);
    let key = async |kind: &str| {
        client
            .key_view()
            .kind(kind)
            .send()
            .await
            .expect("a success")
            .into_inner()
    };
    assert_eq!(key("plain").await, AnyKey::Key(Key::new("1".to_owned())));
    assert_eq!(
        key("named").await,
        AnyKey::NamedKey(NamedKey::new("1".to_owned()).with_name("one".to_owned()))
    );
    for point in [
        Mark::from(Point::new().with_at(1.0)),
        Mark::from(NamedPoint::new().with_at(1.0).with_name("a".to_owned())),
    ] {
        let response = client
            .point_echo()
            .body(point.clone())
            .send()
            .await
            .expect("a success")
            .into_inner();
        assert_eq!(response, point);
    }
    // The discriminator names a property that no branch has, and that each refuses.
    for pet in [Pet::from(Cat::new(9)), Pet::from(Dog::new(true))] {
        let response = client.pet_echo().body(pet.clone()).send().await;
        assert_eq!(response.expect("a success").into_inner(), pet);
    }
    for wrong in [
        r#"[{"radius": 1, "side": 2}]"#,
        "[{}]",
        r#"[{"side": 2, "vote": "ADD"}]"#,
        "[1]",
        "{}",
    ] {
        assert_eq!(post(wrong).await.status(), 400, "{wrong}");
    }
    // Each level has two alternatives, so 60 levels would take 2^60 attempts.
    let begun = std::time::Instant::now();
    for (levels, leaf, status) in [
        (0, "leaf", 200),
        (6, "leaf", 200),
        (6, "other", 400),
        (60, "leaf", 400),
        (60, "other", 400),
    ] {
        let rule = (0..levels).fold(format!("\"{leaf}\""), |rule, _| format!("{{\"of\":{rule}}}"));
        let request = reqwest::Client::new()
            .post(format!("{url}/rules"))
            .header("content-type", "application/json");
        let response = request.body(rule).send().await.expect("a response");
        assert_eq!(response.status(), status, "{levels} levels, {leaf}");
        let said = response.text().await.expect("a text");
        let is_said = said.contains("must be simpler");
        assert_eq!(is_said, levels == 60, "{levels} levels, {leaf}: {said}");
    }
    let took = begun.elapsed();
    assert!(took < std::time::Duration::from_secs(30), "{took:?}");
    // Without the property of the discriminator, each branch is tried.
    for (user, status) in [
        (r#"{"login":"ada"}"#, 200),
        (r#"{"login":"ada","email":"a@b.c"}"#, 200),
        (r#"{"view":"public","login":"ada"}"#, 200),
        (r#"{"view":"private","login":"ada","email":"a@b.c"}"#, 200),
        (r#"{"view":"private","login":"ada"}"#, 400),
        (r#"{"view":"other","login":"ada"}"#, 400),
        (r#"{"view":1,"login":"ada"}"#, 400),
        (r#"{"email":"a@b.c"}"#, 400),
    ] {
        let request = reqwest::Client::new()
            .post(format!("{url}/users"))
            .header("content-type", "application/json")
            .body(user);
        let response = request.send().await.expect("a response");
        assert_eq!(response.status(), status, "{user}");
        if status == 200 {
            let body: serde_json::Value = response.json().await.expect("a body of JSON");
            assert_eq!(body.to_string(), user);
        }
    }
    for (state, status) in [
        (r#"{"type":"active"}"#, 200),
        (r#"{"type":"locked","reason":"late"}"#, 200),
        (r#"{"type":"ActiveState"}"#, 400),
        (r#"{"type":"locked","reason":1}"#, 400),
    ] {
        let request = reqwest::Client::new()
            .post(format!("{url}/states"))
            .header("content-type", "application/json")
            .body(state);
        let response = request.send().await.expect("a response");
        assert_eq!(response.status(), status, "{state}");
    }
}
