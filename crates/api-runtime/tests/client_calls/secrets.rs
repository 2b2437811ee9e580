//! Secrets of calls: where they are sent, and that nothing prints them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use api_runtime::client::reqwest::Method;
use api_runtime::client::{
    self as runtime, Error, LenientExt as _, Retries, Scheme, Secret, SecretSource, Security,
};

use super::script::{Server, Step};
use super::{ID, OPEN, Problem, Thing, call};

#[tokio::test]
async fn nothing_secret_shows_when_an_error_is_printed() {
    const HEADERS: &str = "set-cookie: session=hunter2\r\n";
    let server = Server::playing([
        Step::Respond(200, HEADERS, r#"{"id": "hunter2"}"#),
        Step::Respond(200, HEADERS, r#"{"password": "hunter2"}"#),
        Step::Respond(502, HEADERS, "hunter2"),
        Step::HangUp,
    ])
    .await;
    let transport = server
        .config()
        .credential(0, Scheme::Query("key"), Secret::from("hunter2"))
        .build()
        .unwrap();
    let security: Security = &[&[0]];
    let messages = [
        "the response (200 OK) of `thing_view` does not fit the contract at line 1 column 16 of its body: must be u8",
        "the response (200 OK) of `thing_view` does not fit the contract at line 1 column 23 of its body: missing field `id`",
        "the API responded to `thing_view` with 502 Bad Gateway, which the contract does not list",
        "the connection to the API failed during `thing_view`",
    ];
    for message in messages {
        let error = call::<Thing>(&transport, Method::GET, security)
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), message);
        let mut printed = format!("{error:?} {error:#?}");
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            write!(printed, " {cause} {cause:?}").unwrap();
            source = cause.source();
        }
        assert!(!printed.contains("hunter2"), "{printed}");
        if let Error::InvalidResponse(invalid) = &error {
            assert!(String::from_utf8_lossy(invalid.body()).contains("hunter2"));
        }
    }
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.starts_with("GET /v1/thing?key=hunter2 "))
    );
    assert!(!format!("{transport:?}").contains("hunter2"));
}

#[tokio::test]
async fn keys_of_a_body_are_not_printed() {
    let body = r#"{"hunter2": {"hunter2": "x, expected hunter2 at line 1"}}"#;
    let twice = r#"{"hunter2": {}, "hunter2": {}}"#;
    for (body, pointer, printed) in [
        (body, "/hunter2/hunter2", "/*/*"),
        (twice, "/hunter2", "/*"),
    ] {
        let server = Server::playing([Step::Respond(200, "", body)]).await;
        let transport = server.config().build().unwrap();
        let error = call::<BTreeMap<String, BTreeMap<String, i32>>>(&transport, Method::GET, OPEN)
            .await
            .unwrap_err();
        let Error::InvalidResponse(invalid) = &error else {
            panic!("{error}");
        };
        let misfit = invalid.misfit();
        assert_eq!(misfit.pointer(), pointer);
        for text in [
            format!("{error} {error:?} {error:#?}"),
            format!("{misfit} {misfit:?}"),
        ] {
            assert!(text.contains(printed), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }
}

#[tokio::test]
async fn a_credential_goes_where_it_is_asked_for_and_nowhere_else() {
    let server = Server::playing(vec![Step::Respond(200, "", r#"{"id": 1}"#); 4]).await;
    let transport = server
        .config()
        .credential(0, Scheme::Bearer, Secret::from("token"))
        .credential(1, Scheme::Cookie("session"), Secret::from("s"))
        .build()
        .unwrap();
    let alternatives: [&'static [&'static [usize]]; 4] = [&[], &[&[0]], &[&[0, 1]], &[&[], &[1]]];
    for security in alternatives {
        call::<Thing>(&transport, Method::GET, security)
            .await
            .unwrap();
    }
    let sent = |request: &String| {
        (
            request.contains("authorization: Bearer token"),
            request.contains("cookie: session=s"),
        )
    };
    let sent: Vec<_> = server.requests().iter().map(sent).collect();
    assert_eq!(
        sent,
        [(false, false), (true, false), (true, true), (false, true)]
    );

    let unsendable = server
        .config()
        .credential(0, Scheme::Bearer, Secret::from("to\nken"))
        .build()
        .unwrap_err();
    assert_eq!(
        unsendable.to_string(),
        "a credential has a character that headers cannot have"
    );
}

#[tokio::test]
async fn a_secret_is_asked_for_with_each_call_and_within_its_time_out() {
    let server = Server::playing([
        Step::Respond(503, "", ""),
        Step::Respond(200, "", r#"{"id": 1}"#),
        Step::Respond(200, "", r#"{"id": 1}"#),
    ])
    .await;
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let source = SecretSource::new(move || {
        let number = counter.fetch_add(1, Ordering::Relaxed);
        async move {
            match number {
                0 | 1 => Ok(format!("hunter{number}")),
                2 => Err("the token server is down"),
                3 => Ok("two\nlines".to_owned()),
                _ => std::future::pending().await,
            }
        }
    });
    let transport = server
        .config()
        .credential(0, Scheme::Bearer, source)
        .retries(Retries::new(1).first_pause(Duration::from_millis(1)))
        .timeout(Some(Duration::from_secs(3)))
        .build()
        .unwrap();
    assert!(!format!("{transport:?}").contains("hunter"));
    let get = async || call::<Thing>(&transport, Method::GET, &[&[0]]).await;
    get().await.unwrap();
    get().await.unwrap();
    let sent = server.requests();
    for (at, token) in [(0, "hunter0"), (1, "hunter0"), (2, "hunter1")] {
        assert!(sent[at].contains(&format!("authorization: Bearer {token}\r\n")));
    }
    let down = get().await.unwrap_err();
    assert_eq!(
        down.to_string(),
        "the request of `thing_view` was not sent: the source of its credential failed"
    );
    assert_eq!(down.operation(), Some(ID));
    let cause = std::error::Error::source(&down).unwrap();
    assert_eq!(cause.to_string(), "the token server is down");
    assert!(!down.is_timeout());
    assert_eq!(
        get().await.unwrap_err().to_string(),
        "the request of `thing_view` was not sent: a credential has a character that headers cannot have"
    );
    let begun = Instant::now();
    assert!(get().await.unwrap_err().is_timeout());
    assert!(begun.elapsed() < Duration::from_secs(5));
    // A call without credentials asks for none.
    let asked = asked.load(Ordering::Relaxed);
    assert_eq!((asked, server.requests().len()), (5, 3));
}

/// The body of another call, such as the one that fetches a token, is a secret of that call.
#[tokio::test]
async fn a_lenient_call_does_not_show_the_body_of_a_call_within_it() {
    const FIRST: Security = &[&[0]];
    let tokens = Server::playing(vec![Step::Respond(200, "", r#"{"id": 7}"#); 2]).await;
    let tokens = Arc::new(tokens.config().build().unwrap());
    let server = Server::playing(vec![Step::Respond(204, "", ""); 2]).await;
    let fetch = {
        let tokens = Arc::clone(&tokens);
        move || {
            let tokens = Arc::clone(&tokens);
            async move {
                let fetched = call::<Thing>(&tokens, Method::GET, OPEN).await;
                fetched.map(|thing| thing.id.to_string())
            }
        }
    };
    let asking = server.config();
    let asking = asking.credential(0, Scheme::Bearer, SecretSource::new(fetch.clone()));
    let around = server.config().around(move |request, next| {
        let fetch = fetch.clone();
        Box::pin(async move {
            fetch().await?;
            next.run(request).await
        })
    });
    for (config, security) in [(asking, FIRST), (around, OPEN)] {
        let transport = config.build().unwrap();
        let removed = async {
            let url = format!("{}/thing", transport.base_url());
            let request = transport.http().request(Method::DELETE, url);
            let response = transport.call("thing_delete", "/thing");
            let response = response.send(request, security).await?;
            Ok::<_, Error<Problem>>(runtime::empty(response))
        };
        let removed = removed.lenient().await.unwrap();
        assert_eq!((removed.text(), removed.bytes()), (None, None));
    }
}
