//! What the system knows of connections.

use std::fs;
use std::net::SocketAddr;

/// Returns how many bytes it keeps of a connection from one address to another, since they are not sent or
/// not acknowledged, or `None` if it does not know it. It knows also some that have ended.
pub fn sent(from: SocketAddr, to: SocketAddr) -> Option<usize> {
    let [from, to] = [from, to].map(|address| match address {
        SocketAddr::V4(address) => {
            let ip = u32::from_ne_bytes(address.ip().octets());
            format!("{ip:08X}:{:04X}", address.port())
        }
        SocketAddr::V6(address) => panic!("{address} is no address of a test"),
    });
    let table = fs::read_to_string("/proc/net/tcp").expect("Linux has it");
    table.lines().find_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [_, own, other, _, queues, ..] = columns[..] else {
            panic!("no line of connections: {line}");
        };
        if own != from || other != to {
            return None;
        }
        let (unsent, _) = queues.split_once(':').expect("it has two queues");
        Some(usize::from_str_radix(unsent, 16).expect("it is a number"))
    })
}
