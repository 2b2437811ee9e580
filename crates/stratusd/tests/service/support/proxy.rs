//! A TCP proxy whose network a test makes stall, slow down and break.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// The number of bytes that a slow direction passes on at once, one such piece per millisecond.
const TRICKLE: usize = 24;

/// How a direction passes bytes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// At once.
    Free,
    /// A few bytes at a time.
    Slow,
    /// Not before the direction is no longer held.
    Held,
}

/// How a proxy closes its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With FIN, as if the peer had closed the connection.
    Fin,
    /// With RST.
    Reset,
}

/// The network between the clients of a proxy and its server.
#[derive(Debug, Clone, Copy)]
struct Network {
    to_server: Flow,
    to_client: Flow,
    /// The number of times that all connections were closed, and how the last time.
    cuts: (u64, Ending),
}

/// A proxy in front of a server on this machine. It ends when it is dropped.
pub struct Proxy {
    port: u16,
    sent: Arc<AtomicU64>,
    network: watch::Sender<Network>,
    accepting: AbortHandle,
}

impl Proxy {
    /// Starts a proxy in front of a port.
    pub async fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port is free");
        let port = listener
            .local_addr()
            .expect("a listener has an address")
            .port();
        let (network, watched) = watch::channel(Network {
            to_server: Flow::Free,
            to_client: Flow::Free,
            cuts: (0, Ending::Fin),
        });
        let sent = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&sent);
        let accept = async move {
            while let Ok((client, _)) = listener.accept().await {
                let counted = Arc::clone(&counted);
                tokio::spawn(relay(client, server, watched.clone(), counted));
            }
        };
        Self {
            port,
            sent,
            network,
            accepting: tokio::spawn(accept).abort_handle(),
        }
    }

    /// Returns the port that the proxy listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns how often a client has sent something: what was sent together counts once.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Sets how both directions pass bytes on, for all connections and for new ones.
    pub fn set(&self, to_server: Flow, to_client: Flow) {
        self.network.send_modify(|network| {
            network.to_server = to_server;
            network.to_client = to_client;
        });
    }

    /// Closes all connections on both sides. New ones are accepted as before.
    pub fn cut(&self, ending: Ending) {
        self.network
            .send_modify(|network| network.cuts = (network.cuts.0 + 1, ending));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Passes bytes on between a client and the server, until both directions have ended or the
/// connection is cut.
async fn relay(
    client: TcpStream,
    server: u16,
    network: watch::Receiver<Network>,
    sent: Arc<AtomicU64>,
) {
    let mut watched = network.clone();
    let cuts = watched.borrow().cuts.0;
    let passed = async {
        // What a held network does to a new connection: the client waits.
        let mut watched = network.clone();
        let free = watched.wait_for(|network| network.to_server != Flow::Held);
        free.await.ok()?;
        TcpStream::connect(("127.0.0.1", server)).await.ok()
    };
    let server = tokio::select! {
        server = passed => server,
        ending = cut(&mut watched, cuts) => return close(&client, ending),
    };
    let Some(server) = server else {
        return close(&client, Ending::Reset);
    };
    for stream in [&client, &server] {
        // A connection without this option would add delays of its own.
        let _ = stream.set_nodelay(true);
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let mut up = Direction {
        from: from_client,
        to: to_server,
        network: network.clone(),
        flow: |network| network.to_server,
        sent,
    };
    let mut down = Direction {
        from: from_server,
        to: to_client,
        network,
        flow: |network| network.to_client,
        sent: Arc::default(),
    };
    let ending = tokio::select! {
        ended = async { tokio::try_join!(up.pass(), down.pass()) } => match ended {
            Ok(_) => Ending::Fin,
            Err(_) => Ending::Reset,
        },
        ending = cut(&mut watched, cuts) => ending,
    };
    for direction in [up, down] {
        close(direction.from.as_ref(), ending);
        if ending == Ending::Reset {
            // When it is dropped, it closes its end with FIN.
            direction.to.forget();
        }
    }
}

/// Waits until the connections are cut once more than `cuts` times. Returns how.
async fn cut(network: &mut watch::Receiver<Network>, cuts: u64) -> Ending {
    match network.wait_for(|network| network.cuts.0 > cuts).await {
        Ok(network) => network.cuts.1,
        // The proxy was dropped.
        Err(_) => Ending::Reset,
    }
}

/// Decides how a stream is closed when it is dropped.
fn close(stream: &TcpStream, ending: Ending) {
    if ending == Ending::Reset {
        let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
    }
}

/// A direction of a connection.
struct Direction {
    from: OwnedReadHalf,
    to: OwnedWriteHalf,
    network: watch::Receiver<Network>,
    flow: fn(&Network) -> Flow,
    /// How often something has come.
    sent: Arc<AtomicU64>,
}

impl Direction {
    /// Passes bytes on until the sender has closed its end, and then that.
    ///
    /// # Errors
    ///
    /// If a connection was reset.
    async fn pass(&mut self) -> std::io::Result<()> {
        let mut buffer = vec![0; 16 << 10];
        loop {
            let read = self.from.read(&mut buffer).await;
            self.sent.fetch_add(1, Ordering::Relaxed);
            let mut rest = &buffer[..*read.as_ref().unwrap_or(&0)];
            loop {
                match self.unheld().await {
                    Flow::Slow if rest.len() > TRICKLE => {
                        let (some, more) = rest.split_at(TRICKLE);
                        self.to.write_all(some).await?;
                        rest = more;
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                    _ => break self.to.write_all(rest).await?,
                }
            }
            // An end is held as bytes are, so it is looked at last.
            if read? == 0 {
                return self.to.shutdown().await;
            }
        }
    }

    /// Waits while the direction is held.
    async fn unheld(&mut self) -> Flow {
        let flow = self.flow;
        let network = self.network.wait_for(|network| flow(network) != Flow::Held);
        // Without a proxy the connection is cut.
        network.await.map_or(Flow::Free, |network| flow(&network))
    }
}
