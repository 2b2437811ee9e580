//! A proxy in front of servers that keep and break a small contract.

#[path = "support/served.rs"]
mod support;
#[path = "support/upstream.rs"]
mod upstream;

use std::time::Duration;

use mock::{Times, Totals};
use support::call;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use upstream::{FINE, PETS, found, lines, proxied, triple, upstream};

#[tokio::test]
async fn what_fits_passes_unchanged_but_for_headers_of_the_connection() {
    let (server, received) = upstream(|_| FINE.into()).await;
    let (proxy, mut findings) = proxied(
        PETS,
        &format!("http://{server}/base/"),
        false,
        Times::default(),
    )
    .await;
    let headers = [
        "connection: x-private, close",
        "x-private: 1",
        "proxy-authorization: Basic abc",
        "te: trailers",
        "x-kept: yes",
    ];
    let response = call(proxy, "GET /pets/7%2f?limit=3&key=k%20", &headers, "").await;
    // The segment is no integer, so it is judged, and forwarded as it was written.
    assert_eq!(
        found(&response),
        [triple("request", "path id", "must be an integer")]
    );
    let response = call(proxy, "GET /pets/7?limit=3&key=k%20", &headers, "").await;
    assert_eq!((response.status, found(&response)), (200, Vec::new()));
    assert_eq!(response.body, "{ \"name\": \"Tom\" }");
    assert!(
        response.head.starts_with("HTTP/1.0 200 Fine indeed\r\n"),
        "{}",
        response.head
    );
    assert_eq!(response.header("x-own"), Some("as it is"));
    assert_eq!(response.header("x-hop"), None);
    assert_eq!(response.header("keep-alive"), None);
    let received = received.lock().expect("nothing panics").clone();
    assert!(received[0].starts_with("GET /base/pets/7%2f?limit=3&key=k%20 HTTP/1.1\r\n"));
    let sent = received[1].to_lowercase();
    assert!(sent.contains(&format!("\r\nhost: {server}\r\n")), "{sent}");
    assert!(sent.contains("\r\nx-kept: yes\r\n") && sent.contains("\r\nvia: 1.1 stratus-mock-"));
    for gone in ["x-private", "proxy-authorization", "\r\nte:", "connection"] {
        assert!(!sent.contains(gone), "{gone}: {sent}");
    }
    let said = lines(&mut findings);
    assert_eq!(
        said,
        ["pet_view (GET /pets/{id}): request: path id must be an integer"]
    );
    assert_eq!(
        findings.totals(),
        Totals {
            requests: 2,
            of_requests: 1,
            ..Totals::default()
        }
    );
}

#[tokio::test]
async fn each_way_to_break_the_contract_is_named_with_its_place() {
    let json = "Content-Type: application/json\r\nX-Total: 7";
    let cases: &[(&str, &str, &str, &[(&str, &str)])] = &[
        (
            "418 Teapot",
            json,
            "{}",
            &[("status", "418 is not listed, but 200, 404")],
        ),
        (
            "200 OK",
            "Content-Type: text/plain\r\nX-Total: 7",
            "Tom",
            &[(
                "header content-type",
                "is `text/plain`, but the contract lists application/json",
            )],
        ),
        (
            "200 OK",
            "X-Total: 7",
            "{}",
            &[(
                "header content-type",
                "is missing, and the contract lists application/json",
            )],
        ),
        (
            "200 OK",
            "Content-Type: application/json",
            r#"{"name": "Tom"}"#,
            &[("header X-Total", "is required")],
        ),
        (
            "200 OK",
            "Content-Type: application/json\r\nX-Total: 4",
            r#"{"name": "Tom"}"#,
            &[("header X-Total", "must be at least 5")],
        ),
        (
            "200 OK",
            json,
            r#"{"ages": [1, "two"], "more": 1}"#,
            &[
                ("body /name", "is required"),
                ("body /ages/1", "must be an integer"),
                ("body /more", "is not a known property"),
            ],
        ),
        ("200 OK", json, "", &[("body", "is required")]),
        (
            "404 Not Found",
            json,
            "{}",
            &[("body", "must be empty: the contract lists none for 404")],
        ),
    ];
    for (status, head, body, expected) in cases {
        let length = body.len();
        let bytes =
            format!("HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}");
        let (server, _) = upstream(move |_| bytes.clone().into()).await;
        let url = format!("http://{server}");
        let (proxy, mut findings) = proxied(PETS, &url, false, Times::default()).await;
        let response = call(proxy, "GET /pets/1?key=hidden", &[], "").await;
        assert_eq!(response.body, *body, "{status} {head}");
        assert!(status.starts_with(&response.status.to_string()));
        let mut said = found(&response);
        let mut expected: Vec<_> = expected
            .iter()
            .map(|(place, message)| triple("response", place, message))
            .collect();
        said.sort();
        expected.sort();
        assert_eq!(said, expected, "{status} {head}");
        let mut written = lines(&mut findings);
        written.sort();
        let wanted: Vec<String> = expected
            .iter()
            .map(|(_, place, message)| {
                format!("pet_view (GET /pets/{{id}}): response: {place} {message}")
            })
            .collect();
        assert_eq!(written, wanted);
        let (proxy, _findings) = proxied(PETS, &url, true, Times::default()).await;
        let response = call(proxy, "GET /pets/1?key=hidden", &[], "").await;
        assert_eq!(response.status, 502, "{status} {head}");
        assert_eq!(found(&response).len(), expected.len());
        let detail = response.json()["detail"].clone();
        let detail = detail.as_str().expect("a text");
        assert!(detail.contains(&expected[0].2), "{detail}");
    }
}

#[tokio::test]
async fn a_body_that_is_no_json_is_named_as_such() {
    let (server, _) = upstream(|_| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Total: 7";
        format!("{head}\r\nContent-Length: 7\r\n\r\n{{\"name\"").into()
    })
    .await;
    let (proxy, _findings) =
        proxied(PETS, &format!("http://{server}"), false, Times::default()).await;
    let response = call(proxy, "GET /pets/1?key=k", &[], "").await;
    let said = found(&response);
    assert_eq!(
        (response.body.as_str(), said.len()),
        ("{\"name\"", 1),
        "{said:?}"
    );
    assert!(said[0].2.contains("JSON"), "{said:?}");
}

#[tokio::test]
async fn a_request_that_does_not_fit_is_forwarded_unless_errors_are_wanted() {
    let respond = |_: &str| b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec();
    let (server, received) = upstream(respond).await;
    let url = format!("http://{server}");
    let (open, mut findings) = proxied(PETS, &url, false, Times::default()).await;
    let (strict, _findings) = proxied(PETS, &url, true, Times::default()).await;
    let mock = support::served(PETS, mock::Settings::default()).await;
    let json = "content-type: application/json";
    let secret = r#"{"name": "a name that is too long to be one"}"#;
    let cases: &[(&str, &[&str], &str, &[(&str, &str)])] = &[
        (
            "GET /pets/1?limit=10&key=hidden",
            &[],
            "",
            &[("query limit", "must be at most 9")],
        ),
        (
            "GET /pets/1",
            &[],
            "",
            &[(
                "",
                "credentials are missing: send those that the API asks for",
            )],
        ),
        (
            "PUT /pets/x",
            &[json],
            secret,
            &[
                ("path id", "must be an integer"),
                ("body /name", "must be at most 20 characters long"),
            ],
        ),
        (
            "PUT /pets/1",
            &["content-type: text/plain"],
            "Tom",
            &[(
                "",
                "the content type of the body is not supported: send application/json",
            )],
        ),
        ("PUT /pets/1", &[json], "", &[("body", "is required")]),
    ];
    for (line, headers, body, expected) in cases {
        let before = received.lock().expect("nothing panics").len();
        let response = call(open, line, headers, body).await;
        let said = found(&response);
        let of_request: Vec<_> = said
            .iter()
            .filter(|(side, ..)| side == "request")
            .cloned()
            .collect();
        let wanted: Vec<_> = expected
            .iter()
            .map(|(place, message)| triple("request", place, message))
            .collect();
        assert_eq!(of_request, wanted, "{line}");
        assert_eq!(response.status, 404, "{line}");
        let after = received.lock().expect("nothing panics").clone();
        assert_eq!(after.len(), before + 1, "{line}");
        assert!(
            after[before].ends_with(&format!("\r\n\r\n{body}")),
            "{line}"
        );
        let refused = call(strict, line, headers, body).await;
        let mocked = call(mock, line, headers, body).await;
        assert_eq!(
            (refused.status, &refused.body),
            (mocked.status, &mocked.body),
            "{line}"
        );
        assert_eq!(found(&refused), wanted, "{line}");
        assert_eq!(
            received.lock().expect("nothing panics").len(),
            before + 1,
            "{line}"
        );
    }
    // What no path has is forwarded too, and nothing is known of its response.
    let unknown = call(open, "GET /nothing?key=hidden", &[], "").await;
    assert_eq!(found(&unknown).len(), 1);
    assert_eq!(call(strict, "GET /nothing", &[], "").await.status, 404);
    let preflight = [
        "origin: http://a.example",
        "access-control-request-method: PUT",
    ];
    let preflight = call(open, "OPTIONS /pets/1", &preflight, "").await;
    assert_eq!(found(&preflight), []);
    let written = lines(&mut findings).join("\n");
    assert!(written.contains("GET /nothing: request: "), "{written}");
    assert!(
        !written.contains("hidden") && !written.contains("too long to be"),
        "{written}"
    );
}

#[tokio::test]
async fn a_proxy_of_itself_ends_and_two_in_a_row_do_not() {
    let (server, _) = upstream(|_| FINE.into()).await;
    let (inner, _one) = proxied(PETS, &format!("http://{server}"), false, Times::default()).await;
    let (outer, _two) = proxied(PETS, &format!("http://{inner}"), false, Times::default()).await;
    assert_eq!(call(outer, "GET /pets/1?key=k", &[], "").await.status, 200);
    // A server that sends what it gets back to the proxy, whose address it learns later.
    let target = std::sync::Arc::new(std::sync::OnceLock::<std::net::SocketAddr>::new());
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    let known = std::sync::Arc::clone(&target);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let proxy = *known.get().expect("it is known");
            tokio::spawn(async move {
                let mut onwards = TcpStream::connect(proxy).await.expect("it listens");
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut onwards).await;
            });
        }
    });
    let (circle, _three) =
        proxied(PETS, &format!("http://{address}"), false, Times::default()).await;
    target.set(circle).expect("it is set once");
    let circled = timeout(Duration::from_secs(5), call(circle, "GET /log", &[], "")).await;
    assert_eq!(circled.expect("it ends").status, 508);
}

#[test]
fn the_url_of_a_server_has_no_credentials_and_no_query() {
    for (wrong, words) in [
        ("localhost:8080", "write the URL"),
        ("ftp://a.example", "write the URL"),
        (
            "http://user:hunter2@a.example",
            "leave user and password out",
        ),
        ("http://a.example/?a=b", "leave the query out"),
    ] {
        let error = wrong.parse::<mock::Upstream>().expect_err(wrong);
        assert!(
            error.contains(words) && !error.contains("hunter2"),
            "{error}"
        );
    }
    let upstream: mock::Upstream = "https://a.example/v1/".parse().expect("a URL");
    assert_eq!(upstream.to_string(), "https://a.example/v1");
}
