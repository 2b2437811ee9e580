//! A mock that keeps what was created.

#[path = "support/served.rs"]
mod support;

use std::net::SocketAddr;

use mock::bounds::{MOST_KEPT, MOST_KEPT_BYTES};
use mock::{Mock, Settings};
use serde_json::{Value, json};
use support::{Response, call, contract, served};

const WIDGETS: &str = r"
openapi: 3.1.0
info: { title: Widgets, version: 1.0.0 }
paths:
  /shops/{shop}/widgets:
    parameters: [{ name: shop, in: path, required: true, schema: { type: string } }]
    get: { operationId: widget_list, responses: { '200': { description: All., content: { application/json: { schema: { $ref: '#/components/schemas/WidgetPage' } } } } } }
    post: { operationId: widget_create, requestBody: { $ref: '#/components/requestBodies/Widget' }, responses: { '201': { $ref: '#/components/responses/Widget' } } }
  /shops/{shop}/widgets/{widget_id}:
    parameters: [{ name: shop, in: path, required: true, schema: { type: string } }, { name: widget_id, in: path, required: true, schema: { type: string } }]
    get: { operationId: widget_view, responses: { '200': { $ref: '#/components/responses/Widget' }, '404': { $ref: '#/components/responses/Missing' } } }
    put: { operationId: widget_put, requestBody: { $ref: '#/components/requestBodies/Widget' }, responses: { '200': { $ref: '#/components/responses/Widget' }, '201': { $ref: '#/components/responses/Widget' } } }
    patch: { operationId: widget_update, requestBody: { $ref: '#/components/requestBodies/Widget' }, responses: { '200': { $ref: '#/components/responses/Widget' } } }
    delete: { operationId: widget_delete, responses: { '204': { description: Gone. }, '404': { $ref: '#/components/responses/Missing' } } }
  /shops/{shop}/widgets/{widget_id}/polish:
    parameters: [{ name: shop, in: path, required: true, schema: { type: string } }, { name: widget_id, in: path, required: true, schema: { type: string } }]
    post: { operationId: widget_polish, responses: { '200': { $ref: '#/components/responses/Widget' } } }
components:
  requestBodies:
    Widget: { required: true, content: { application/json: { schema: { $ref: '#/components/schemas/WidgetInput' } } } }
  responses:
    Widget: { description: One., content: { application/json: { schema: { $ref: '#/components/schemas/Widget' } } } }
    Missing: { description: None., content: { application/json: { schema: { type: object, required: [message, code], properties: { message: { type: string }, code: { type: integer } } } } } }
  schemas:
    WidgetInput: { type: object, properties: { size: { type: integer, maximum: 9 }, label: { type: [string, 'null'] }, text: { type: string }, password: { type: string }, spec: { type: object, additionalProperties: { type: integer } } } }
    Widget:
      type: object
      required: [id, size, label]
      properties:
        id: { type: string, example: w-1 }
        size: { type: integer, maximum: 9 }
        label: { type: [string, 'null'] }
        text: { type: string }
        spec: { type: object, additionalProperties: { type: integer } }
        password: { type: string, writeOnly: true }
    WidgetSummary: { type: object, required: [id, size], additionalProperties: false, properties: { id: { type: string }, size: { type: integer } } }
    WidgetPage:
      type: object
      required: [count, items]
      properties:
        count: { type: integer }
        items: { type: array, maxItems: 3, items: { $ref: '#/components/schemas/WidgetSummary' } }
        next: { type: string }
";

async fn stateful(text: &str) -> SocketAddr {
    let settings = Settings {
        is_stateful: true,
        ..Settings::default()
    };
    served(text, settings).await
}

async fn send(mock: SocketAddr, line: &str, body: &Value) -> Response {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    call(mock, line, &["content-type: application/json"], &body).await
}

async fn get(mock: SocketAddr, path: &str) -> Response {
    call(mock, &format!("GET {path}"), &[], "").await
}

#[tokio::test]
async fn what_is_created_is_listed_viewed_updated_and_deleted() {
    let mock = stateful(WIDGETS).await;
    let shop = "/shops/a/widgets";
    assert_eq!(
        get(mock, shop).await.json(),
        json!({"count": 0, "items": []})
    );
    let missing = get(mock, "/shops/a/widgets/w-1").await;
    assert_eq!(missing.status, 404);
    let message = "nothing of this name is kept: create it first";
    assert_eq!(missing.json(), json!({"message": message, "code": 404}));
    let body = json!({"size": 3, "label": null, "spec": {"a": 1, "b": 2}, "password": "secret"});
    let first = send(mock, "POST /shops/a/widgets", &body).await;
    assert_eq!(first.status, 201, "{}", first.body);
    let mut first = first.json();
    let expected = json!({"id": "w-1", "size": 3, "label": null, "spec": {"a": 1, "b": 2}});
    assert_eq!(first, expected);
    let second = send(mock, "POST /shops/a/widgets", &json!({"size": 4}))
        .await
        .json();
    assert_ne!(second["id"], first["id"]);
    let listed = get(mock, shop).await.json();
    let short = |it: &Value| json!({"id": it["id"], "size": it["size"]});
    assert_eq!(
        listed,
        json!({"count": 2, "items": [short(&first), short(&second)]})
    );
    assert_eq!(get(mock, "/shops/b/widgets").await.json()["count"], 0);
    assert_eq!(get(mock, "/shops/a/widgets/w-1").await.json(), first);
    assert_eq!(get(mock, "/shops/b/widgets/w-1").await.status, 404);
    let change = json!({"size": 5, "label": "new", "spec": {"a": null, "c": 3}});
    // The request does not allow null inside `spec`, so it is refused and changes nothing.
    let refused = send(mock, "PATCH /shops/a/widgets/w-1", &change).await;
    assert_eq!(refused.status, 400);
    assert_eq!(get(mock, "/shops/a/widgets/w-1").await.json(), first);
    let change = json!({"size": 5, "label": "new", "spec": {"c": 3}});
    let changed = send(mock, "PATCH /shops/a/widgets/w-1", &change).await;
    first["size"] = json!(5);
    first["label"] = json!("new");
    first["spec"]["c"] = json!(3);
    assert_eq!((changed.status, changed.json()), (200, first.clone()));
    let cleared = send(mock, "PATCH /shops/a/widgets/w-1", &json!({"label": null})).await;
    assert_eq!(cleared.json()["label"], Value::Null);
    let put = send(mock, "PUT /shops/a/widgets/w-1", &json!({"size": 6})).await;
    assert_eq!(put.status, 200);
    assert_eq!(
        (&put.json()["id"], &put.json()["size"]),
        (&json!("w-1"), &json!(6))
    );
    let put = send(mock, "PUT /shops/a/widgets/my%20own", &json!({"size": 7})).await;
    assert_eq!((put.status, &put.json()["id"]), (201, &json!("my own")));
    assert_eq!(
        get(mock, "/shops/a/widgets/my%20own").await.json(),
        put.json()
    );
    let gone = send(mock, "DELETE /shops/a/widgets/w-1", &Value::Null).await;
    assert_eq!((gone.status, gone.body.as_str()), (204, ""));
    assert_eq!(get(mock, "/shops/a/widgets/w-1").await.status, 404);
    let again = send(mock, "DELETE /shops/a/widgets/w-1", &Value::Null).await;
    assert_eq!(again.status, 404);
    assert_eq!(get(mock, shop).await.json()["count"], 2);
    // What is no part of a collection, and what the caller prefers, is made up as before.
    let polished = send(mock, "POST /shops/a/widgets/w-9/polish", &Value::Null).await;
    assert_eq!(polished.status, 200, "{}", polished.body);
    let preferred = call(mock, "GET /shops/a/widgets/w-9", &["prefer: code=200"], "").await;
    assert_eq!(preferred.status, 200);
}

#[tokio::test]
async fn without_the_setting_nothing_is_kept() {
    let mock = served(WIDGETS, Settings::default()).await;
    assert_eq!(get(mock, "/shops/a/widgets/none").await.status, 200);
    assert!(
        Mock::new(contract(WIDGETS), Settings::default())
            .collections()
            .is_empty()
    );
}

#[test]
fn a_collection_is_recognised_by_its_paths_and_schemas() {
    let lines = |text: &str| {
        let settings = Settings {
            is_stateful: true,
            ..Settings::default()
        };
        Mock::new(contract(text), settings).collections()
    };
    assert_eq!(
        lines(WIDGETS),
        [
            "/shops/{shop}/widgets/{widget_id} is kept: widget_create, widget_delete, widget_list, widget_put, widget_update, widget_view"
        ]
    );
    let other = "'201': { description: Another., content: { application/json: { schema: { $ref: '#/components/schemas/WidgetSummary' } } } } }";
    let created = "'201': { $ref: '#/components/responses/Widget' } }";
    // A POST with another schema creates something else, and PUT still creates widgets.
    let text = WIDGETS.replacen(created, other, 1);
    assert_eq!(
        lines(&text),
        [
            "/shops/{shop}/widgets/{widget_id} is kept: widget_delete, widget_list, widget_put, widget_update, widget_view"
        ]
    );
    let put = "put: { operationId: widget_put,";
    let at = text.find(put).expect("there is a PUT");
    let end = at + text[at..].find('\n').expect("a line");
    assert!(lines(&format!("{}{}", &text[..at], text[end..].trim_start())).is_empty());
}

#[tokio::test]
async fn lists_have_as_many_items_as_they_may() {
    let mock = stateful(WIDGETS).await;
    for _ in 0..5 {
        send(mock, "POST /shops/a/widgets", &json!({"size": 1})).await;
    }
    let listed = get(mock, "/shops/a/widgets").await.json();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn no_more_is_kept_than_the_bounds_allow() {
    let mock = stateful(WIDGETS).await;
    for at in 0..MOST_KEPT {
        let line = format!("PUT /shops/{}/widgets/{at}", at % 7);
        assert_eq!(
            send(mock, &line, &json!({"size": 1})).await.status,
            201,
            "{at}"
        );
    }
    let full = send(mock, "PUT /shops/a/widgets/x", &json!({"size": 1})).await;
    assert_eq!(full.status, 507, "{}", full.body);
    assert_eq!(
        send(mock, "DELETE /shops/0/widgets/0", &Value::Null)
            .await
            .status,
        204
    );
    assert_eq!(
        send(mock, "PUT /shops/a/widgets/x", &json!({"size": 1}))
            .await
            .status,
        201
    );

    let mock = stateful(WIDGETS).await;
    let large = json!({"text": "a".repeat(1_000_000)});
    let fitting = MOST_KEPT_BYTES / 1_000_100;
    for at in 0..fitting {
        let line = format!("PUT /shops/a/widgets/{at}");
        assert_eq!(send(mock, &line, &large).await.status, 201, "{at}");
    }
    assert_eq!(
        send(mock, "PUT /shops/a/widgets/x", &large).await.status,
        507
    );
    let other = json!({"text": "short"});
    assert_eq!(
        send(mock, "PUT /shops/a/widgets/0", &other).await.status,
        200
    );
    assert_eq!(
        send(mock, "PUT /shops/a/widgets/x", &large).await.status,
        201
    );
    let larger = send(mock, "PATCH /shops/a/widgets/0", &large).await;
    assert_eq!(larger.status, 507);
    assert_eq!(
        get(mock, "/shops/a/widgets/0").await.json()["text"],
        "short"
    );
}
