//! The header of the PROXY protocol, by which a virtual machine gets the address of a caller.
//!
//! The format is that of HAProxy's `proxy-protocol.txt`, versions 1 and 2.

use std::net::{IpAddr, SocketAddr};

use crate::settings::ProxyProtocol;

/// The addresses of both ends of a caller's connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub caller: SocketAddr,
    /// The address of the load balancer.
    pub address: SocketAddr,
}

/// The bytes by which version 2 begins.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// Version 2, and a connection that is made for a caller.
const PROXY: u8 = 0x21;
/// TCP over IPv4, and over IPv6.
const TCP4: u8 = 0x11;
const TCP6: u8 = 0x21;

/// Returns the header for a connection, or `None` if the protocol is off.
pub(super) fn of(version: ProxyProtocol, ends: Ends) -> Option<Vec<u8>> {
    let Ends { caller, address } = ends;
    match version {
        ProxyProtocol::Off => None,
        ProxyProtocol::V1 => Some(text(caller, address).into_bytes()),
        ProxyProtocol::V2 => Some(binary(caller, address)),
    }
}

fn text(caller: SocketAddr, address: SocketAddr) -> String {
    let family = if caller.is_ipv4() { "TCP4" } else { "TCP6" };
    format!(
        "PROXY {family} {} {} {} {}\r\n",
        caller.ip(),
        address.ip(),
        caller.port(),
        address.port()
    )
}

fn binary(caller: SocketAddr, address: SocketAddr) -> Vec<u8> {
    let bytes = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    // Both are of the socket, and so of one version of IP.
    let family = if caller.is_ipv4() { TCP4 } else { TCP6 };
    let ports = [caller.port().to_be_bytes(), address.port().to_be_bytes()].concat();
    let addresses = [bytes(caller.ip()), bytes(address.ip()), ports].concat();
    let length = u16::try_from(addresses.len()).unwrap_or_default();
    [
        &SIGNATURE[..],
        &[PROXY, family],
        &length.to_be_bytes(),
        &addresses,
    ]
    .concat()
}
