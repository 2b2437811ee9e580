//! The gateway: inference keys open an upstream, which the tests make themselves.

mod auth;
mod failures;
mod forwarding;
mod limits;
mod multiplexed;
pub mod proxies;
mod revocation;
mod scene;
mod settings;
mod sizes;
mod tls;
mod unread;
mod upstream;
