//! Calls a mock of a small contract over HTTP.

#[path = "support/served.rs"]
mod support;

use std::time::{Duration, Instant};

use mock::Settings;
use serde_json::{Value, json};
use support::{call, served};

const PETS: &str = r"
openapi: 3.1.0
info: { title: Pets, version: 1.0.0 }
paths:
  /pets:
    get:
      operationId: pet_list
      parameters:
        - { name: limit, in: query, schema: { type: integer, minimum: 1, maximum: 9 } }
        - { name: kind, in: query, schema: { type: string, enum: [cat, dog] } }
      responses:
        '200':
          description: Pets.
          headers:
            X-Total: { required: true, schema: { type: integer, minimum: 5, maximum: 7 } }
          content:
            text/plain: { schema: { type: string, const: plain } }
            application/json:
              schema: { type: array, maxItems: 3, items: { $ref: '#/components/schemas/Pet' } }
        '404':
          description: None.
          content:
            application/json:
              schema: { $ref: '#/components/schemas/Lost' }
    post:
      operationId: pet_create
      security: [{ bearer: [] }]
      requestBody:
        required: true
        content: { application/json: { schema: { $ref: '#/components/schemas/Pet' } } }
      responses:
        '201':
          description: Created.
          content:
            application/json:
              schema: { $ref: '#/components/schemas/Pet' }
              examples:
                tom: { value: { id: tom-1, name: Tom } }
                wrong: { value: { id: 7 } }
        '400':
          description: Wrong.
          content:
            application/json:
              schema: { $ref: '#/components/schemas/Mistake' }
  /pets/{id}:
    get:
      operationId: pet_view
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
      responses:
        '200':
          description: A pet.
          content: { application/json: { schema: { $ref: '#/components/schemas/Pet' } } }
    delete:
      operationId: pet_delete
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
      responses: { '204': { description: Gone. } }
  /watch:
    get:
      operationId: pet_watch
      responses:
        '200':
          description: Pets.
          content:
            application/jsonl: { x-item-schema: { $ref: '#/components/schemas/Pet' } }
  /feed:
    get:
      operationId: pet_feed
      responses:
        '200':
          description: Events of two kinds.
          content:
            text/event-stream:
              x-item-schema:
                type: object
                required: [event, data]
                properties: { event: { type: string }, data: { type: string } }
                oneOf:
                  - { properties: { event: { const: said } } }
                  - properties:
                      event: { const: added }
                      data: { contentSchema: { $ref: '#/components/schemas/Pet' } }
  /never:
    get:
      operationId: never
      responses:
        '200':
          description: Nothing fits.
          content:
            application/json:
              schema: { type: object, required: [a], properties: { a: false } }
  /tune:
    get:
      operationId: tune
      responses: { '200': { description: A tune., content: { audio/*: {} } } }
  /photo:
    put:
      operationId: photo_put
      requestBody: { content: { image/png: {} } }
      responses: { '204': { description: Kept. } }
components:
  securitySchemes: { bearer: { type: http, scheme: bearer } }
  schemas:
    Pet:
      type: object
      required: [id, name]
      additionalProperties: false
      properties:
        id: { type: string, pattern: '^[a-z]{3}-[0-9]{1,4}$' }
        name: { type: string, minLength: 2, maxLength: 20 }
        secret: { type: string, writeOnly: true }
        parent: { $ref: '#/components/schemas/Pet' }
    Mistake:
      type: object
      required: [code, message]
      properties: { code: { type: integer }, message: { type: string } }
    Lost:
      type: object
      required: [code, message]
      properties: { code: { type: integer }, message: { type: string }, hint: { type: string } }
";

#[tokio::test]
async fn the_same_seed_has_the_same_responses_and_another_seed_has_others() {
    let one = served(PETS, Settings::default()).await;
    let same = served(PETS, Settings::default()).await;
    let other = Settings {
        seed: 7,
        ..Settings::default()
    };
    let other = served(PETS, other).await;
    let first = call(one, "GET /pets/1", &[], "").await;
    assert_eq!(first.status, 200, "{}", first.body);
    assert_eq!(first.body, call(one, "GET /pets/1", &[], "").await.body);
    assert_eq!(first.body, call(same, "GET /pets/1", &[], "").await.body);
    assert_ne!(first.body, call(one, "GET /pets/2", &[], "").await.body);
    assert_ne!(first.body, call(other, "GET /pets/1", &[], "").await.body);
    assert!(first.json().get("secret").is_none(), "{}", first.body);
}

#[tokio::test]
async fn bytes_without_an_example_are_refused_by_their_place() {
    let mock = served(PETS, Settings::default()).await;
    let tune = call(mock, "GET /tune", &[], "").await;
    assert_eq!(tune.status, 500);
    let place = "/paths/~1tune/get/responses/200/content/audio~1*";
    let detail =
        format!("`audio/*` can only be sent as an example: {place} says nothing about its bytes");
    assert_eq!(tune.json()["detail"], detail);
}

#[tokio::test]
async fn a_caller_chooses_status_example_and_chance() {
    let mock = served(PETS, Settings::default()).await;
    let chosen = call(mock, "GET /pets", &["prefer: code=404"], "").await;
    assert_eq!(chosen.status, 404);
    assert!(chosen.json()["code"].is_i64(), "{}", chosen.body);
    assert_eq!(chosen.header("preference-applied"), Some("code=404"));
    let unlisted = call(mock, "GET /pets", &["prefer: code=418"], "").await;
    assert_eq!(unlisted.status, 404);
    let detail = unlisted.json()["detail"].clone();
    assert_eq!(
        detail,
        "`pet_list` lists no response 418: prefer one of 200, 404"
    );

    let create = |prefer: &'static str| {
        let body = r#"{"id": "abc-1", "name": "Mio"}"#;
        let headers = [
            "authorization: Bearer x",
            "content-type: application/json",
            prefer,
        ];
        async move { call(mock, "POST /pets", &headers, body).await }
    };
    let tom = json!({"id": "tom-1", "name": "Tom"});
    assert_eq!(create("accept: */*").await.json(), tom);
    let named = create("prefer: foo; bar, example=\"tom\"\r\nprefer: code=201").await;
    assert_eq!((named.status, named.json()), (201, tom.clone()));
    assert_eq!(
        named.header("preference-applied"),
        Some("code=201, example=tom")
    );
    let wrong = create("prefer: example=wrong").await;
    assert_eq!(wrong.status, 500);
    assert!(
        wrong.body.contains("/components/schemas/Pet"),
        "{}",
        wrong.body
    );
    let unknown = create("prefer: example=none").await;
    assert_eq!(unknown.status, 404);
    assert!(unknown.body.contains("tom, wrong"), "{}", unknown.body);
    let (one, other) = (
        create("prefer: dynamic=true").await,
        create("prefer: dynamic=true").await,
    );
    assert_ne!(one.json(), tom);
    assert_ne!(one.json(), other.json());
}

#[tokio::test]
async fn requests_are_refused_as_the_generated_server_refuses_them() {
    let mock = served(PETS, Settings::default()).await;
    let limit = call(mock, "GET /pets?limit=10&kind=cow", &[], "").await;
    assert_eq!(limit.status, 400);
    assert_eq!(
        limit.json(),
        json!({
            "type": "about:blank",
            "title": "Bad Request",
            "status": 400,
            "detail": "the request does not match the contract: limit must be at most 9; kind must be one of `cat`, `dog`",
            "errors": [
                {"in": "query", "name": "limit", "pointer": "", "detail": "must be at most 9"},
                {"in": "query", "name": "kind", "pointer": "", "detail": "must be one of `cat`, `dog`"},
            ],
        })
    );
    let json = "content-type: application/json";
    let missing = call(mock, "POST /pets", &[json], "{}").await;
    assert_eq!(missing.status, 401);
    assert_eq!(missing.header("www-authenticate"), Some("Bearer"));
    let token = "authorization: Bearer anything";
    let body = call(
        mock,
        "POST /pets",
        &[json, token],
        r#"{"id": "abc-1", "x": 1}"#,
    )
    .await;
    assert_eq!(body.status, 400);
    // The contract declares a 400 of its own.
    let said = body.json();
    assert_eq!(said["code"], 400);
    assert_eq!(
        said["message"],
        "the request does not match the contract: /name is required; /x is not a known property"
    );
    let text = call(
        mock,
        "POST /pets",
        &["content-type: text/plain", token],
        "x",
    )
    .await;
    assert_eq!(text.status, 415);
    let method = call(mock, "PATCH /pets", &[], "").await;
    assert_eq!(
        (method.status, method.header("allow")),
        (405, Some("GET, HEAD, POST"))
    );
    assert_eq!(call(mock, "GET /nothing", &[], "").await.status, 404);
    let head = call(mock, "HEAD /pets", &[], "").await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(call(mock, "DELETE /pets/1", &[], "").await.status, 204);
}

#[tokio::test]
async fn headers_and_media_types_are_those_of_the_contract() {
    let mock = served(PETS, Settings::default()).await;
    let json = call(
        mock,
        "GET /pets",
        &["accept: application/*, text/plain;q=0.5"],
        "",
    )
    .await;
    assert_eq!(json.header("content-type"), Some("application/json"));
    let total: u8 = json
        .header("x-total")
        .expect("it is required")
        .parse()
        .expect("a number");
    assert!((5..=7).contains(&total), "{total}");
    let text = call(mock, "GET /pets", &["accept: text/plain"], "").await;
    assert_eq!((text.status, text.body.as_str()), (200, "plain"));
    let none = call(mock, "GET /pets", &["accept: image/png"], "").await;
    assert_eq!(none.status, 406);
    let items = call(mock, "GET /watch", &[], "").await;
    assert_eq!(items.header("content-type"), Some("application/jsonl"));
    let items: Vec<Value> = items
        .body
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect();
    assert_eq!(items.len(), 3);
    assert!(items.iter().all(|item| item["id"].is_string()));
    let page = call(mock, "GET /pets", &["origin: https://page.example"], "").await;
    assert_eq!(page.header("access-control-allow-origin"), Some("*"));
}

#[tokio::test]
async fn the_data_of_one_of_several_events_is_json_of_its_schema() {
    let mock = served(PETS, Settings::default()).await;
    let mut added = 0;
    for _ in 0..20 {
        let events = call(mock, "GET /feed", &["prefer: dynamic=true"], "").await;
        assert_eq!(events.status, 200, "{}", events.body);
        for event in events.body.split_terminator("\n\n") {
            let lines: Vec<&str> = event.lines().collect();
            let ["event: added", data] = lines[..] else {
                assert!(event.starts_with("event: said\ndata: "), "{event}");
                continue;
            };
            let data = data.strip_prefix("data: ").expect("it has data");
            let pet: Value = serde_json::from_str(data).expect("the data is JSON");
            assert!(pet["id"].is_string() && pet["name"].is_string(), "{pet}");
            added += 1;
        }
    }
    assert!((1..60).contains(&added), "{added}");
}

#[tokio::test]
async fn a_schema_without_a_value_is_named() {
    let mock = served(PETS, Settings::default()).await;
    let never = call(mock, "GET /never", &[], "").await;
    assert_eq!(never.status, 500);
    let pointer = "/paths/~1never/get/responses/200/content/application~1json/schema";
    assert!(never.body.contains(pointer), "{}", never.body);
}

#[tokio::test]
async fn delays_and_failures_come_as_they_are_asked_for() {
    let slow = Settings {
        delay: Duration::from_millis(300),
        ..Settings::default()
    };
    let slow = served(PETS, slow).await;
    let start = Instant::now();
    assert_eq!(call(slow, "GET /pets", &[], "").await.status, 200);
    assert!(start.elapsed() >= Duration::from_millis(300));

    let failing = |text: &str| Settings {
        failures: Some(text.parse().expect("a rate")),
        ..Settings::default()
    };
    let always = served(PETS, failing("1:404")).await;
    let failed = call(always, "GET /pets", &[], "").await;
    assert_eq!(failed.status, 404);
    assert!(failed.json()["message"].is_string(), "{}", failed.body);
    let never = served(PETS, failing("0")).await;
    assert_eq!(call(never, "GET /pets", &[], "").await.status, 200);
    let mut runs = Vec::new();
    for _ in 0..2 {
        let some = served(PETS, failing("50%:503")).await;
        let mut statuses = Vec::new();
        for _ in 0..40 {
            statuses.push(call(some, "GET /pets", &[], "").await.status);
        }
        runs.push(statuses);
    }
    assert_eq!(runs[0], runs[1]);
    let failed = runs[0].iter().filter(|status| **status == 503).count();
    assert!((8..=32).contains(&failed), "{failed}");
    for wrong in ["2", "-1", "x", "0.1:200", "0.1:700", "101%"] {
        assert!(wrong.parse::<mock::Failures>().is_err(), "{wrong}");
    }
}

/// Multipart bodies whose parts have positions, and media types that differ in parameters only.
const PARTS: &str = r##"
openapi: 3.2.0
info: { title: Parts, version: "1" }
paths:
  /letters:
    post:
      requestBody: { required: true, content: { multipart/mixed: { $ref: "#/components/mediaTypes/Letter" } } }
      responses: { "200": { description: One., content: { multipart/mixed: { $ref: "#/components/mediaTypes/Letter" } } } }
  /ranges:
    get:
      responses:
        "206":
          description: Some.
          content:
            multipart/byteranges:
              itemSchema: { type: string }
              itemEncoding: { headers: { Content-Range: { required: true, schema: { type: string, const: bytes 0-1 } } } }
  /versions:
    get:
      responses:
        "200":
          description: One.
          content:
            application/json; version=1: { schema: { const: 1 } }
            application/json; version=2: { schema: { const: 2 } }
components:
  mediaTypes:
    Letter:
      schema:
        type: array
        minItems: 2
        prefixItems:
          - { type: object, required: [to], properties: { to: { type: string, minLength: 1 } } }
          - { type: array, minItems: 1, items: { type: integer } }
        items: false
      prefixEncoding:
        - headers: { X-Place: { required: true, schema: { type: string, enum: [a, b] } } }
        - { contentType: multipart/mixed, itemEncoding: {} }
"##;

#[tokio::test]
async fn parts_with_positions_are_read_and_made() {
    let mock = served(PARTS, Settings::default()).await;
    let inner = "--i\r\n\r\n7\r\n--i--";
    let body = |to: &str, inner: &str| {
        format!(
            "--b\r\nX-Place: a\r\nContent-Type: application/json\r\n\r\n{{\"to\":\"{to}\"}}\r\n--b\r\nContent-Type: multipart/mixed; boundary=i\r\n\r\n{inner}\r\n--b--"
        )
    };
    let named = ["content-type: multipart/mixed; boundary=b"];
    let right = call(mock, "POST /letters", &named, &body("Ann", inner)).await;
    assert_eq!(right.status, 200, "{}", right.body);
    let made = right.header("content-type").expect("it has one");
    let boundary = made
        .strip_prefix("multipart/mixed; boundary=")
        .expect("it is multipart");
    let parts: Vec<&str> = right.body.split(&format!("--{boundary}")).collect();
    assert_eq!(parts.len(), 4, "{parts:?}");
    assert!(parts[1].contains("\r\nx-place: "), "{parts:?}");
    assert!(parts[1].contains("\r\ncontent-type: application/json\r\n"));
    assert!(parts[2].contains("\r\ncontent-type: multipart/mixed; boundary="));
    assert!(parts[2].contains("\r\ncontent-type: text/plain\r\n"));
    for (wrong, why) in [
        (body("", inner), "/0 must be at least 1 character long"),
        (body("Ann", "--i\r\n\r\nx\r\n--i--"), "/1/0"),
        (body("Ann", "--i--"), "must have at least 1 part\""),
        (
            body("Ann", inner).replace("X-Place", "X-Other"),
            "is required",
        ),
    ] {
        let refused = call(mock, "POST /letters", &named, &wrong).await;
        assert_eq!(refused.status, 400, "{wrong}");
        assert!(refused.body.contains(why), "{}", refused.body);
    }
    let ranges = call(mock, "GET /ranges", &[], "").await;
    assert_eq!(ranges.status, 206);
    assert_eq!(
        ranges.body.matches("content-range: bytes 0-1\r\n").count(),
        3
    );
    for (accept, body) in [
        ("accept: application/json", "1"),
        ("accept: application/json; version=2", "2"),
        (
            "accept: application/json;q=0.1, application/json; VERSION=\"2\"",
            "2",
        ),
        ("accept: application/json; charset=utf-8", "1"),
    ] {
        let found = call(mock, "GET /versions", &[accept], "").await;
        assert_eq!((found.status, found.body.as_str()), (200, body), "{accept}");
    }
    let none = call(
        mock,
        "GET /versions",
        &["accept: application/json; version=3"],
        "",
    )
    .await;
    assert_eq!(none.status, 406);
}

#[tokio::test]
async fn an_open_object_leaves_what_is_in_brackets_to_its_property() {
    let mock = served(
        r"
openapi: 3.1.0
info: { title: Brackets, version: 1.0.0 }
paths:
  /form:
    post:
      operationId: form
      requestBody:
        required: true
        content:
          application/x-www-form-urlencoded:
            schema:
              type: object
              required: [b, rest]
              properties:
                b: { type: object, required: [x], properties: { x: { type: integer } } }
                rest: { type: object, additionalProperties: { type: boolean } }
            encoding: { rest: { explode: true } }
      responses: { '204': { description: Read. } }
  /query:
    get:
      operationId: query
      parameters:
        - { name: b, in: query, style: deepObject, required: true, schema: { type: object, properties: { x: { type: integer } } } }
        - { name: rest, in: query, schema: { type: object, additionalProperties: { type: boolean } } }
      responses: { '204': { description: Read. } }
",
        Settings::default(),
    )
    .await;
    let header = ["content-type: application/x-www-form-urlencoded"];
    for (body, status) in [("b%5Bx%5D=1&y=true", 204), ("b[x]=1&c[x]=1", 400)] {
        let read = call(mock, "POST /form", &header, body).await;
        assert_eq!(read.status, status, "{body}: {}", read.body);
    }
    for (query, status) in [("b[x]=1&y=true", 204), ("b[x]=1&c[x]=1", 400)] {
        let read = call(mock, &format!("GET /query?{query}"), &[], "").await;
        assert_eq!(read.status, status, "{query}: {}", read.body);
    }
}

#[tokio::test]
async fn an_example_is_sent_as_its_text() {
    let example = |media: &str, text: &str| {
        let example = format!("examples: {{ e: {{ serializedValue: {text} }} }}");
        format!(
            "{{ '200': {{ content: {{ {media}: {{ schema: {{ type: object }}, {example} }} }} }} }}"
        )
    };
    let xml = example("application/xml", "<a>q</a>").replace("e: {", "e: { dataValue: { a: q },");
    let json = example("application/json", "'{ \"a\":  1 }'").replace(
        "examples: {",
        "examples: { none: { serializedValue: 'x' }, list: { serializedValue: '[]' },",
    );
    let text = format!(
        "openapi: 3.2.0\ninfo: {{ title: Texts, version: '1' }}\npaths:\n  /xml: {{ get: {{ responses: {xml} }} }}\n  /json: {{ get: {{ responses: {json} }} }}\n  /csv: {{ get: {{ responses: {} }} }}\n  /lines: {{ get: {{ responses: {} }} }}\n",
        example("text/csv", "'a,b'").replace("type: object", "type: string"),
        example("application/jsonl", r#""{\"n\": 7}\n""#).replace("schema: {", "itemSchema: {"),
    );
    let mock = served(&text, Settings::default()).await;
    for (path, media, body) in [
        ("/xml", "application/xml", "<a>q</a>"),
        ("/csv", "text/csv", "a,b"),
        ("/lines", "application/jsonl", "{\"n\": 7}\n"),
        // The first is no JSON, and the second does not fit the schema.
        ("/json", "application/json", "{ \"a\":  1 }"),
    ] {
        let sent = call(mock, &format!("GET {path}"), &[], "").await;
        assert_eq!((sent.status, &*sent.body), (200, body), "{path}");
        let named = sent.header("content-type").unwrap_or_default();
        assert!(named.starts_with(media), "{named}");
    }
    for (name, why) in [
        ("none", "it is no JSON"),
        ("list", "does not fit the schema"),
    ] {
        let refused = call(mock, "GET /json", &[&format!("prefer: example={name}")], "").await;
        assert_eq!(refused.status, 500, "{}", refused.body);
        assert!(refused.body.contains(why), "{}", refused.body);
    }
}
