//! The sockets of the API, of the gateway and of the management port.

use std::io;
use std::net::{SocketAddr, TcpListener};

use anyhow::{Context, Result};
use tokio::net::TcpSocket;

use crate::settings::ServiceSettings;

/// The maximum number of connections that the kernel queues before they are accepted.
const BACKLOG: u32 = 1024;

/// The sockets of the API, of the gateway and of the management port. They are bound before the database is opened,
/// so that it is not migrated if a port is in use.
pub(super) struct Listeners {
    /// The socket of the API, bound but not listening yet. Connections are refused until the API
    /// can be served, so that a load balancer in front tries another replica.
    pub(super) api: TcpSocket,
    /// The socket of the gateway, in the same state, if the gateway is on.
    pub(super) gateway: Option<TcpSocket>,
    pub(super) management: TcpListener,
}

impl Listeners {
    pub(super) fn bind(settings: &ServiceSettings, gateway: Option<SocketAddr>) -> Result<Self> {
        let bind = |address: SocketAddr, setting: &str| {
            bind(address).with_context(|| {
                format!("failed to listen on {address}, which is set by `{setting}`")
            })
        };
        let api = bind(settings.listen.get(), "listen")?;
        let gateway = gateway.map(|address| bind(address, "gateway_listen"));
        let management = bind(settings.management_listen.get(), "management_listen")?;
        let management = listen(management)?;
        Ok(Self {
            api,
            gateway: gateway.transpose()?,
            management,
        })
    }
}

/// Binds a socket to an address, without listening.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // As std does: a restarted process can bind a port while connections of the last one are in
    // TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Starts to listen on a bound socket, with a queue of [`BACKLOG`] connections.
pub(crate) fn listen(socket: TcpSocket) -> Result<TcpListener> {
    let address = socket.local_addr()?;
    let listener = socket
        .listen(BACKLOG)
        .and_then(tokio::net::TcpListener::into_std);
    listener.with_context(|| format!("failed to listen on {address}"))
}
