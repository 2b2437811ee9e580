//! The order in which the hosts of a server are tried.

use std::time::Duration;

use stratusd::storage::Store;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{self, UnboundedSender};

use super::config;

/// Starts a host that closes each connection, and sends its name when there is one. Returns its address.
async fn start(name: &'static str, connected: UnboundedSender<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let _ = connected.send(name);
            drop(connection);
        }
    });
    address.to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_host_is_chosen_at_random_where_that_is_asked_for() {
    const TRIES: usize = 64;
    let (connected, mut names) = mpsc::unbounded_channel();
    let one = start("one", connected.clone()).await;
    let two = start("two", connected).await;
    for (order, is_random) in [("disable", false), ("random", true)] {
        let url = format!(
            "postgres://stratus@{one},{two}/postgres?sslmode=disable&load_balance_hosts={order}"
        );
        let config = config(&url, Duration::from_secs(10));
        let mut first = Vec::new();
        for _ in 0..TRIES {
            Store::open(&config).await.expect_err("no host stays");
            let tried = [names.recv().await, names.recv().await];
            assert_ne!(tried[0], tried[1], "each host is tried once");
            first.extend(tried[0]);
        }
        assert!(first.contains(&"one"));
        assert_eq!(first.contains(&"two"), is_random, "{order}: {first:?}");
        assert!(names.try_recv().is_err(), "{order}: a host is tried twice");
    }
}
