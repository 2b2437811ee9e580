//! What `cargo xtask serve` prints, typed as it stands.

use std::path::Path;

use crate::support::cluster::free_port;
use crate::support::eventually;

use super::{Machine, PROGRAM, ROOT};

/// Sends a request as curl does for the words after its name. Returns the status and the body.
async fn curl(line: &str) -> (u16, String) {
    let words = shlex::split(line).expect("a line of a shell");
    let http = reqwest::Client::new();
    let mut request = http.get(words.last().expect("the last word of curl is the URL"));
    for pair in words.windows(2) {
        match (pair[0].as_str(), pair[1].as_str()) {
            ("-H", header) => {
                let (name, value) = header.split_once(": ").expect("a header");
                request = request.header(name, value);
            }
            ("-d", body) => {
                let url = words.last().expect("the URL");
                request = http
                    .post(url)
                    .body(body.to_owned())
                    .headers(request.build().expect("a request").headers().clone());
            }
            _ => {}
        }
    }
    let response = request.send().await.expect("the demo responds");
    (
        response.status().as_u16(),
        response.text().await.expect("a body"),
    )
}

#[tokio::test]
async fn the_demo_prints_its_page_and_three_calls_that_work() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().expect("a folder can be made");
    let root = Path::new(ROOT);
    let service = launch::Service::with_program(PROGRAM.into(), root, folder.path().join("demo"));
    let service = service.expect("the demo is prepared");
    let addresses = launch::Addresses {
        listen: ([127, 0, 0, 1], free_port()).into(),
        management_listen: ([127, 0, 0, 1], free_port()).into(),
    };
    let mut printed = Vec::new();
    let mut serve =
        launch::announce(&service, addresses, &[], &mut printed).expect("it is printed");
    let printed = String::from_utf8(printed).expect("it prints text");
    let mut machine = Machine::new();
    machine.service = Some(serve.spawn().expect("the program starts"));
    let page = printed.lines().find_map(|line| line.strip_prefix("docs "));
    let page = page.expect("it prints the link").trim();
    let http = reqwest::Client::new();
    let body = eventually(async || http.get(page).send().await.ok()?.text().await.ok()).await;
    assert!(body.expect("the demo starts").contains("swagger"), "{page}");
    let calls: Vec<&str> = printed
        .lines()
        .filter(|line| line.starts_with("curl -H"))
        .collect();
    assert_eq!(calls.len(), 3, "{printed}");
    for call in calls {
        let (status, body) = curl(call).await;
        assert_eq!(status, 200, "{call}: {body}");
    }
    // The line of the load balancer, without its comment.
    let line = printed.lines().find(|line| line.starts_with("curl http"));
    let line = line.expect("it prints the URL of a load balancer");
    let url = line.split_whitespace().nth(1).expect("a URL");
    let mut names = std::collections::BTreeSet::new();
    let both = eventually(async || {
        let name = http.get(url).header("connection", "close").send().await;
        names.insert(name.ok()?.text().await.ok()?);
        (names.len() == 2).then_some(())
    });
    let both = both.await;
    assert!(both.is_some(), "{line} has reached {names:?}");
    assert_eq!(names.into_iter().collect::<String>(), "hello-1\nhello-2\n");
}
