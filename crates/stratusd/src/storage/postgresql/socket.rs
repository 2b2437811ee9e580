//! Sockets to a PostgreSQL server, which are closed only once the server has closed its end.
//!
//! The server leaves it to the kernel to close a socket when the process that served it ends. So
//! the end of the stream shows that a backend has ended, or that a request to cancel has been
//! passed on. tokio-postgres does not wait for it, which is why the sockets are opened here.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// The address at which a PostgreSQL server listens.
#[derive(Debug, Clone)]
pub(super) enum Peer {
    /// An IP address with a port.
    Tcp(SocketAddr),
    /// The file of a Unix socket.
    #[cfg(unix)]
    Unix(PathBuf),
}

impl Peer {
    /// Returns the addresses of the only host of a configuration, to be tried in this order. A host
    /// name is resolved, unless the configuration also has the host's address (`hostaddr`).
    ///
    /// # Errors
    ///
    /// If the name cannot be resolved, or there is no host.
    pub(super) async fn all(config: &Config) -> io::Result<Vec<Self>> {
        let port = config.get_ports().first().copied().unwrap_or(5432);
        if let Some(address) = config.get_hostaddrs().first() {
            return Ok(vec![Self::Tcp((*address, port).into())]);
        }
        match config.get_hosts().first() {
            Some(Host::Tcp(name)) => {
                let found: Vec<_> = lookup_host((&**name, port)).await?.map(Self::Tcp).collect();
                if found.is_empty() {
                    return Err(io::Error::other("its name has no address"));
                }
                Ok(found)
            }
            #[cfg(unix)]
            Some(Host::Unix(folder)) => {
                Ok(vec![Self::Unix(folder.join(format!(".s.PGSQL.{port}")))])
            }
            None => Err(io::Error::other("there is no host")),
        }
    }

    /// Connects to the address with the TCP options of a configuration, within its
    /// `connect_timeout` if it has one.
    pub(super) async fn connect(&self, config: &Config) -> io::Result<Socket> {
        let connecting = async {
            let stream: Box<dyn Stream> = match self {
                Self::Tcp(address) => Box::new(connected(*address, config).await?),
                #[cfg(unix)]
                Self::Unix(file) => Box::new(tokio::net::UnixStream::connect(file).await?),
            };
            Ok(Socket {
                stream,
                is_shut: false,
            })
        };
        match config.get_connect_timeout() {
            Some(limit) => timeout(*limit, connecting)
                .await
                .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())),
            None => connecting.await,
        }
    }
}

async fn connected(address: SocketAddr, config: &Config) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let options = SockRef::from(&stream);
    #[cfg(target_os = "linux")]
    if let Some(limit) = config.get_tcp_user_timeout() {
        options.set_tcp_user_timeout(Some(*limit))?;
    }
    if config.get_keepalives() {
        let mut keepalive = TcpKeepalive::new().with_time(config.get_keepalives_idle());
        if let Some(interval) = config.get_keepalives_interval() {
            keepalive = keepalive.with_interval(interval);
        }
        if let Some(retries) = config.get_keepalives_retries() {
            keepalive = keepalive.with_retries(retries);
        }
        options.set_tcp_keepalive(&keepalive)?;
    }
    Ok(stream)
}

/// A stream of bytes to and from the server: TCP or a Unix socket.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A socket whose shutdown completes only when the server has closed its end of the connection.
pub(super) struct Socket {
    stream: Box<dyn Stream>,
    /// Whether this end of the connection is closed for writing.
    is_shut: bool,
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_shut {
            // An error means that the server has closed the connection.
            let _ = ready!(Pin::new(&mut self.stream).poll_shutdown(cx));
            self.is_shut = true;
        }
        loop {
            // What the server still sends, such as the end of TLS, is ignored.
            let mut ignored = [0; 512];
            let mut ignored = ReadBuf::new(&mut ignored);
            let read = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut ignored));
            if read.is_err() || ignored.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}
