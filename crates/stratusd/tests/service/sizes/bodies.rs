//! The budget for the bytes of bodies in progress: responses that nobody reads and
//! bodies that never end do not hold up the service.

use std::io::Write;
use std::net::TcpStream;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use serde_json::json;
use tokio::task::JoinSet;

use super::{PLACE, largest_database};
use crate::support::caller::Caller;
use crate::support::inventory::{RIVAL, SHOP, two_projects};
use crate::support::process::Service;
use crate::support::{Home, eventually};

/// The settings of a service whose budget lets about four large pages be in progress.
const SMALL: &[&str] = &["--simulate-delay", "1h", "--body-budget", "8388608"];
/// How many connections a hostile caller opens.
const CONNECTIONS: usize = 60;
/// How much the memory of the service may grow. Without a budget, the bodies of all connections would
/// be 60 MiB.
const GROWTH: u64 = 48 << 20;

/// Returns the memory of a process in bytes.
fn memory(service: &Service) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", service.id())).expect("it is alive");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .expect("it has memory");
    let kib: u64 = line
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("it is a number");
    kib << 10
}

fn connect(service: &Service) -> TcpStream {
    let address = service
        .base
        .strip_prefix("http://")
        .expect("it speaks HTTP");
    TcpStream::connect(address).expect("the service listens")
}

/// How many connections ask for pages that nobody reads. Each page takes a debug build over 100 ms of
/// a processor, even one that is refused.
const UNREAD: usize = 12;
/// How long a call of others may take beside what it takes alone: less than half of what a call took
/// before there was a budget.
const PATIENCE: Duration = Duration::from_secs(1);
/// How many times longer it may take: the test itself takes a part of the processors.
const TIMES: u32 = 20;
/// How often others call.
const CALLS: usize = 5;

/// Health checks and small requests of another project, each with the longest time that it took.
type Times = [(&'static str, Duration); 4];

/// Calls as others do, in turn.
async fn others(service: &Service, rival: &Caller) -> Times {
    let mut times = ["healthz", "readyz", "a list", "a create"].map(|call| (call, Duration::ZERO));
    for _ in 0..CALLS {
        for (call, longest) in &mut times {
            let since = Instant::now();
            match *call {
                "a list" => {
                    rival.get(&format!("{PLACE}/vm")).await.ok();
                }
                "a create" => {
                    rival.post_nothing("/inference-api-key").await.ok();
                }
                path => {
                    let health = reqwest::get(format!("{}/{path}", service.management)).await;
                    assert_eq!(health.expect("it responds").status(), 200, "{path}");
                }
            }
            *longest = since.elapsed().max(*longest);
        }
    }
    times
}

/// Checks that health checks and the small requests of another project take about as long as they took
/// before the attack, in the same run.
async fn serves_others(service: &Service, rival: &Caller, alone: &Times) {
    let beside = others(service, rival).await;
    println!("alone {alone:?}, beside the attack {beside:?}");
    for ((call, time), (_, alone)) in beside.iter().zip(alone) {
        assert!(
            *time < PATIENCE + TIMES * *alone,
            "{call} took {time:?}, and alone {alone:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_nobody_reads_hold_neither_memory_nor_others() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let (full, reader) = (
        home.token("shop", &[]),
        home.token("shop", &["--read-only"]),
    );
    let rival = home.token("rival", &[]);
    let service = home.serve(SMALL);
    let (shop, rival) = (
        Caller::new(&service.base, SHOP, &full),
        Caller::new(&service.base, RIVAL, &rival),
    );
    for number in 0..22 {
        shop.post(
            &format!("{PLACE}/postgres/large-{number}"),
            largest_database(),
        )
        .await
        .ok();
    }
    // The caches of the database and of the client are in memory now.
    for _ in 0..4 {
        shop.get("/postgres?page_size=1000").await.ok();
    }
    let alone = others(&service, &rival).await;
    let before = memory(&service);
    // Each connection asks for more pages than the buffers of its sockets hold.
    let request = format!(
        "GET /project/{SHOP}/postgres?page_size=1000 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {reader}\r\n\r\n"
    );
    let mut held = Vec::new();
    for _ in 0..UNREAD {
        let mut stream = connect(&service);
        stream
            .write_all(request.repeat(10).as_bytes())
            .expect("the service reads");
        held.push(stream);
    }
    serves_others(&service, &rival, &alone).await;
    let refused = eventually(async || {
        let refused = service.metric("stratus_body_refusals_total").await;
        Some(refused).filter(|refused| *refused > 0)
    });
    assert!(refused.await.is_some(), "no page was refused");
    // Half of the budget, and at most what one page has beyond it.
    let bytes = service.metric("stratus_body_bytes").await;
    assert!(bytes <= 4 << 20, "{bytes} bytes are in progress");
    let growth = memory(&service).saturating_sub(before);
    assert!(growth < GROWTH, "the service has grown by {growth} bytes");
    serves_others(&service, &rival, &alone).await;
    drop(held);
    // All of it is free again.
    let free = eventually(async || (service.metric("stratus_body_bytes").await == 0).then_some(()));
    free.await.expect("the budget is free again");
    assert!(shop.get("/postgres?page_size=1000").await.ok()["items"].is_array());
}

/// About four large pages fit into the budget, and the other project has one of them for itself.
#[tokio::test(flavor = "multi_thread")]
async fn pages_that_nobody_reads_leave_room_for_a_large_page_of_another_project() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let readers: Vec<String> = (0..6)
        .map(|_| home.token("shop", &["--read-only"]))
        .collect();
    let tokens = [home.token("shop", &[]), home.token("rival", &[])];
    let service = home.serve(SMALL);
    let [shop, rival] = [(SHOP, &tokens[0]), (RIVAL, &tokens[1])]
        .map(|(id, token)| Caller::new(&service.base, id, token));
    for number in 0..20 {
        let path = format!("{PLACE}/postgres/large-{number}");
        shop.post(&path, largest_database()).await.ok();
        rival.post(&path, largest_database()).await.ok();
    }
    let mut held = Vec::new();
    for reader in readers {
        let mut stream = connect(&service);
        let request = format!(
            "GET /project/{SHOP}/postgres?page_size=1000 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {reader}\r\n\r\n"
        );
        let sent = stream.write_all(request.repeat(10).as_bytes());
        sent.expect("the service reads");
        held.push(stream);
    }
    let refused = eventually(async || {
        let page = shop.get("/postgres?page_size=1000").await;
        (page.status == 503).then_some(())
    });
    refused.await.expect("the project has no more room");
    for _ in 0..5 {
        let page = rival.get("/postgres?page_size=1000").await.ok();
        let size = page.to_string().len();
        assert!(size > 1_000_000, "a page of {size} bytes");
    }
    // So has its large body.
    let path = format!("{PLACE}/postgres/large-more");
    rival.post(&path, largest_database()).await.ok();
    assert_eq!(shop.get("/postgres?page_size=1000").await.status, 503);
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_never_end_hold_neither_memory_nor_others() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let (full, reader) = (
        home.token("shop", &[]),
        home.token("shop", &["--read-only"]),
    );
    let rival = home.token("rival", &[]);
    let service = home.serve(SMALL);
    let (shop, rival) = (
        Caller::new(&service.base, SHOP, &full),
        Caller::new(&service.base, RIVAL, &rival),
    );
    let alone = others(&service, &rival).await;
    let before = memory(&service);
    let body = vec![b' '; (1 << 20) - 1];
    let head = format!(
        "POST /project/{SHOP}{PLACE}/private-subnet/never HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {reader}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        1 << 20
    );
    let mut held = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut stream = connect(&service);
        stream
            .set_write_timeout(Some(Duration::from_millis(100)))
            .expect("it can be set");
        stream
            .write_all(head.as_bytes())
            .expect("the service reads");
        // The service stops reading when the budget is used up.
        let _ = stream.write_all(&body);
        held.push(stream);
    }
    serves_others(&service, &rival, &alone).await;
    let bytes = service.metric("stratus_body_bytes").await;
    assert!(
        bytes > 0 && bytes <= 4 << 20,
        "{bytes} bytes are in progress"
    );
    let growth = memory(&service).saturating_sub(before);
    assert!(growth < GROWTH, "the service has grown by {growth} bytes");
    let refused = eventually(async || {
        let refused = service.metric("stratus_body_refusals_total").await;
        Some(refused).filter(|refused| *refused > 0)
    });
    assert!(refused.await.is_some(), "no body was refused");
    serves_others(&service, &rival, &alone).await;
    drop(held);
    let free = eventually(async || (service.metric("stratus_body_bytes").await == 0).then_some(()));
    free.await.expect("the budget is free again");
    shop.post(&format!("{PLACE}/postgres/large"), largest_database())
        .await
        .ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_counts_until_its_request_is_handled() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let service = home.serve(SMALL);
    let shop = Caller::new(&service.base, SHOP, &token);
    // Nobody else can write, so the change waits with its whole body in memory.
    let mut other = home.open_sqlite();
    other
        .batch_execute("BEGIN IMMEDIATE")
        .expect("the write lock is free");
    let body = largest_database();
    let size = u64::try_from(body.to_string().len()).expect("it is small");
    let creating =
        tokio::spawn(async move { shop.post(&format!("{PLACE}/postgres/large"), body).await });
    let counted = size - (16 << 10);
    // The body is counted as its pieces arrive.
    let whole =
        eventually(async || (service.metric("stratus_body_bytes").await == counted).then_some(()));
    whole.await.expect("the whole body is counted");
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(service.metric("stratus_body_bytes").await, counted);
    }
    other
        .batch_execute("ROLLBACK")
        .expect("the write lock is released");
    creating.await.expect("it ends").ok();
    let free = eventually(async || (service.metric("stratus_body_bytes").await == 0).then_some(()));
    free.await.expect("the budget is free again");
}

/// As many changes wait for the database as there are processors; all have long bodies.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_waits_lets_others_parse_their_bodies() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let (token, theirs) = (home.token("shop", &[]), home.token("rival", &[]));
    let service = home.serve(SMALL);
    let mut other = home.open_sqlite();
    other
        .batch_execute("BEGIN IMMEDIATE")
        .expect("the write lock is free");
    let counted = largest_database().to_string().len() - (16 << 10);
    let waiting = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let mut creating = JoinSet::new();
    for number in 0..waiting {
        let shop = Caller::new(&service.base, SHOP, &token);
        creating.spawn(async move {
            let path = format!("{PLACE}/postgres/large-{number}");
            shop.post(&path, largest_database()).await
        });
    }
    let all = u64::try_from(waiting * counted).expect("it is small");
    let arrived =
        eventually(async || (service.metric("stratus_body_bytes").await == all).then_some(()));
    arrived.await.expect("all bodies have arrived");
    let rival = Caller::new(&service.base, RIVAL, &theirs);
    let mut body = largest_database();
    body["size"] = json!(7);
    let refused = rival.post(&format!("{PLACE}/postgres/none"), body).await;
    assert_eq!(refused.error().0, 400);
    assert!(creating.try_join_next().is_none(), "the changes still wait");
    other
        .batch_execute("ROLLBACK")
        .expect("the write lock is released");
    for created in creating.join_all().await {
        created.ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_body_gets_the_error_of_the_contract() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let service = home.serve(SMALL);
    let shop = Caller::new(&service.base, SHOP, &token);
    for number in 0..22 {
        shop.post(
            &format!("{PLACE}/postgres/large-{number}"),
            largest_database(),
        )
        .await
        .ok();
    }
    let request = format!(
        "GET /project/{SHOP}/postgres?page_size=1000 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    let mut held = Vec::new();
    let refused = eventually(async || {
        let mut stream = connect(&service);
        stream
            .write_all(request.repeat(10).as_bytes())
            .expect("the service reads");
        held.push(stream);
        let response = shop
            .send(reqwest::Method::GET, "/postgres?page_size=1000", None)
            .await
            .ok()?;
        (response.status() == 503).then_some(response)
    });
    let refused = refused.await.expect("the budget is used up");
    assert_eq!(refused.headers()["retry-after"], "1");
    assert!(refused.headers().contains_key("x-request-id"));
    let body: serde_json::Value = refused.json().await.expect("it is JSON");
    assert_eq!(
        (&body["error"]["code"], &body["error"]["type"]),
        (&503.into(), &"Unavailable".into())
    );
    // A change is committed when its response is made, so its response is sent in any case.
    shop.patch(&format!("{PLACE}/postgres/large-0"), serde_json::json!({}))
        .await
        .ok();
}

/// A page of few items is long too if they are large: 17 databases fill a page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_pages_of_few_items_leave_a_processor_to_others() {
    const ATTACKING: usize = 8;
    let home = Home::sqlite();
    home.apply(&two_projects());
    let (token, theirs) = (home.token("shop", &[]), home.token("rival", &[]));
    let service = home.serve(&["--log", "error", "--simulate-delay", "1h"]);
    let shop = Caller::new(&service.base, SHOP, &token);
    let rival = Caller::new(&service.base, RIVAL, &theirs);
    for number in 0..17 {
        let path = format!("{PLACE}/postgres/large-{number}");
        rival.post(&path, largest_database()).await.ok();
    }
    let subnet = format!("{PLACE}/private-subnet/backend");
    shop.get(&subnet).await.ok();
    let views = async || {
        let mut took = Vec::new();
        for _ in 0..30 {
            let since = Instant::now();
            shop.get(&subnet).await.ok();
            took.push(since.elapsed());
        }
        took.sort_unstable();
        println!("a view takes {took:?}");
        took[took.len() / 2]
    };
    let alone = views().await;
    let mut attack = JoinSet::new();
    for _ in 0..ATTACKING {
        let url = format!("{}/project/{RIVAL}/postgres?page_size=17", service.base);
        let theirs = theirs.clone();
        attack.spawn(async move {
            let client = reqwest::Client::new();
            loop {
                let sent = client.get(&url).bearer_auth(&theirs).send().await;
                let page = sent.expect("the service responds").bytes().await;
                page.expect("the page comes");
            }
        });
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let beside = views().await;
    assert!(attack.try_join_next().is_none(), "they go on");
    let most = Duration::from_millis(200) + 3 * alone;
    assert!(beside < most, "{beside:?} and alone {alone:?}");
}

/// How many callers send bodies at a time that are refused.
const REFUSED: usize = 8;

/// The bodies are as large as may be, and are refused only once they are read: a list is too long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_bodies_that_are_refused_leave_a_processor_to_others() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let (token, theirs) = (home.token("shop", &[]), home.token("rival", &[]));
    let service = home.serve(&["--log", "error"]);
    let shop = Caller::new(&service.base, SHOP, &token);
    let subnet = format!("{PLACE}/private-subnet/backend");
    shop.get(&subnet).await.ok();
    let vms: Vec<String> = (0..34_000).map(|vm| format!("\"vm{vm:024}\"")).collect();
    let body = bytes::Bytes::from(format!(
        "{{\"algorithm\":\"round_robin\",\"src_port\":1,\"dst_port\":2,\"health_check_endpoint\":\"/\",\"vms\":[{}]}}",
        vms.join(",")
    ));
    let url = format!("{}/project/{RIVAL}{PLACE}/load-balancer/web", service.base);
    let mut attack = tokio::task::JoinSet::new();
    for _ in 0..REFUSED {
        let (url, token, body) = (url.clone(), theirs.clone(), body.clone());
        attack.spawn(async move {
            let client = reqwest::Client::new();
            loop {
                let request = client.patch(&url).bearer_auth(&token);
                let request = request.header("content-type", "application/json");
                let sent = request.body(body.clone()).send().await;
                assert_eq!(sent.expect("the service responds").status(), 400);
            }
        });
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut took = Vec::new();
    for _ in 0..30 {
        let since = Instant::now();
        shop.get(&subnet).await.ok();
        took.push(since.elapsed());
    }
    assert!(attack.try_join_next().is_none(), "they go on");
    took.sort_unstable();
    println!("a view takes {took:?}");
    let middle = took[took.len() / 2];
    assert!(middle < Duration::from_millis(50), "{took:?}");
}
