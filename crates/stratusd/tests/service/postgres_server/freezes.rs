//! A server that stops to respond, while a connection is set up or later: the connection counts until the
//! server must have ended its backend, and then another one is made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use stratusd::storage::{StorageError, Store, StoreConfig, location};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::config;
use crate::support::cluster::Cluster;
use crate::support::{Home, PATIENCE, eventually};

/// How long a statement may take.
const STATEMENT: Duration = Duration::from_secs(1);
/// After how long the server closes a connection whose client does not respond.
const SILENCE: Duration = Duration::from_secs(4);
/// How long a backend may run without its client: a second longer than a statement, and then until
/// the server notices.
const WITHOUT_CLIENT: Duration = Duration::from_secs(6);
/// How long after its set-up was sent a connection counts at least.
const STILL_COUNTED: Duration = Duration::from_millis(5500);
/// The first byte of a message with a statement, such as those that set a session up.
const QUERY: u8 = b'Q';

/// A proxy that can keep statements of new connections from the server, and all that old ones send.
struct Freezer {
    port: u16,
    is_frozen: AtomicBool,
    /// How long what the server sends takes while the proxy is frozen.
    delay: Duration,
    /// The number of connections that were accepted.
    accepted: AtomicUsize,
    /// The number of connections, in the order in which they were accepted, of which the server hears
    /// nothing any more.
    stalled: AtomicUsize,
}

impl Freezer {
    async fn start(server: u16, delay: Duration) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let freezer = Arc::new(Self {
            port,
            is_frozen: AtomicBool::new(false),
            delay,
            accepted: AtomicUsize::new(0),
            stalled: AtomicUsize::new(0),
        });
        let accepting = Arc::clone(&freezer);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let number = accepting.accepted.fetch_add(1, Ordering::SeqCst);
                let freezer = Arc::clone(&accepting);
                tokio::spawn(async move { freezer.relay(number, client, server).await });
            }
        });
        freezer
    }

    /// Keeps all that is sent from now on by the connections that are there from the server.
    fn stall(&self) {
        let accepted = self.accepted.load(Ordering::SeqCst);
        self.stalled.store(accepted, Ordering::SeqCst);
    }

    /// Passes bytes on until one side closes the connection.
    async fn relay(&self, number: usize, client: TcpStream, server: u16) {
        let is_frozen = self.is_frozen.load(Ordering::SeqCst);
        let server = TcpStream::connect(("127.0.0.1", server)).await;
        let (mut from_server, mut to_server) = server.expect("the server accepts").into_split();
        let (mut from_client, mut to_client) = client.into_split();
        let up = async {
            let mut buffer = vec![0; 16 << 10];
            while let Ok(read @ 1..) = from_client.read(&mut buffer).await {
                // Read and never passed on, so that the end of the client is noticed.
                let is_stalled = number < self.stalled.load(Ordering::SeqCst);
                if is_stalled || is_frozen && buffer[0] == QUERY {
                    continue;
                }
                if to_server.write_all(&buffer[..read]).await.is_err() {
                    return;
                }
            }
        };
        let down = async {
            let mut buffer = vec![0; 16 << 10];
            while let Ok(read @ 1..) = from_server.read(&mut buffer).await {
                if is_frozen {
                    tokio::time::sleep(self.delay).await;
                }
                if to_client.write_all(&buffer[..read]).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = up => {}
            () = down => {}
        }
    }
}

async fn opened(cluster: &Cluster, port: u16) -> Store {
    let url = cluster
        .url()
        .replace(&format!(":{}/", cluster.port()), &format!(":{port}/"));
    let url = format!("{url}?application_name=frozen&sslmode=disable");
    let config = StoreConfig {
        silence: SILENCE,
        ..config(&url, STATEMENT)
    };
    Store::open(&config).await.expect("the database opens")
}

/// Freezes the server while a store with two connections sets up new ones, for a moment. Returns how
/// long it takes until the store has a connection again.
async fn frozen_for(delay: Duration) -> Option<Duration> {
    let (_home, cluster) = Home::on_server(&[], &[])?;
    let freezer = Freezer::start(cluster.port(), delay).await;
    let store = opened(&cluster, freezer.port).await;
    store.ensure_writable().await.expect("it can be written");
    freezer.is_frozen.store(true, Ordering::SeqCst);
    let before = freezer.accepted.load(Ordering::SeqCst);
    let end = "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity \
               WHERE application_name = 'frozen'";
    cluster.ask(end).expect("the administrator can");
    let begun = Instant::now();
    // Both, by a reader and by a change.
    let reading = async || {
        while store.reader().await.is_err() {
            assert!(begun.elapsed() < PATIENCE);
        }
    };
    let changing = async || {
        // A change that has written lately is not made again.
        tokio::time::sleep(Duration::from_secs(2)).await;
        while store.ensure_writable().await.is_err() {
            assert!(begun.elapsed() < PATIENCE);
        }
    };
    let reached =
        eventually(async || (freezer.accepted.load(Ordering::SeqCst) > before).then_some(()));
    let thaw = async {
        reached.await.expect("a connection is made");
        // Those that are being made stay frozen.
        tokio::time::sleep(Duration::from_millis(2500)).await;
        freezer.is_frozen.store(false, Ordering::SeqCst);
    };
    let both = async {
        tokio::join!(reading(), changing());
        begun.elapsed()
    };
    let few = async {
        loop {
            let made = freezer.accepted.load(Ordering::SeqCst) - before;
            assert!(made <= 2, "{made} connections after {:?}", begun.elapsed());
            tokio::time::sleep(Duration::from_millis(20)).await;
            if begun.elapsed() > delay + STILL_COUNTED {
                break;
            }
        }
    };
    let (took, (), ()) = tokio::join!(both, thaw, few);
    println!("it took {took:?}");
    store.close().await;
    Some(took)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_freezes_counts_until_its_backend_must_have_ended() {
    let Some(took) = frozen_for(Duration::ZERO).await else {
        return;
    };
    // A caller waits for five seconds, and then tries again.
    let most = WITHOUT_CLIENT + Duration::from_secs(9);
    assert!((WITHOUT_CLIENT..most).contains(&took), "{took:?}");
}

/// The set-up is sent after three seconds, and its time counts from then on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_freezes_late_counts_for_longer() {
    let delay = Duration::from_secs(3);
    let Some(took) = frozen_for(delay).await else {
        return;
    };
    let least = delay + WITHOUT_CLIENT;
    let most = least + Duration::from_secs(9);
    assert!((least..most).contains(&took), "{took:?}");
}

/// As when packets are lost: the statement and what ends it do not arrive.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_stalls_counts_until_its_backend_must_have_ended() {
    /// How long the service waits for the end of a statement that it has asked the server to cancel.
    const RECLAIM: Duration = Duration::from_secs(5);
    let Some((_home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    let freezer = Freezer::start(cluster.port(), Duration::ZERO).await;
    let store = opened(&cluster, freezer.port).await;
    store.ensure_writable().await.expect("it can be written");
    let read = async || {
        let mut reader = store.reader().await?;
        location::all(&mut reader.connection()).await
    };
    read().await.expect("it can be read");
    freezer.stall();
    let begun = Instant::now();
    let stalled = read().await.expect_err("the server does not respond");
    assert!(
        matches!(stalled, StorageError::Unavailable(_)),
        "{stalled:?}"
    );
    // Of the two connections, the other one is for changes.
    while read().await.is_err() {
        assert!(begun.elapsed() < PATIENCE);
    }
    let took = begun.elapsed();
    let least = STATEMENT + RECLAIM + WITHOUT_CLIENT;
    let most = least + Duration::from_secs(9);
    assert!((least..most).contains(&took), "{took:?}");
    store.close().await;
}
