//! The service behind the contract: implements the generated traits of `api-server` over a
//! database.
//!
//! Start at [`api`], which has a handler for each operation of the contract. A handler runs a query
//! or a change of [`operations`]. These read and write rows by the SQL in [`storage`], decide by
//! the rules of [`domain`], and return types of the contract. Beside them, [`reconcile`] creates
//! and changes Postgres databases, [`inventory`] applies what the operator declares, [`gateway`]
//! forwards requests with an inference key to another server, [`sweep`] deletes what has expired,
//! and [`serve`] runs the process: listeners, limits and shutdown. [`balance`] is a process of its
//! own, which forwards the connections of load balancers, and [`network`] another, which makes virtual machines
//! and private subnets of network namespaces.

mod announce;
pub mod api;
pub mod balance;
mod cache;
mod causes;
mod credentials;
pub mod domain;
pub mod gateway;
pub mod give_way;
pub mod inventory;
pub mod issue;
pub mod log;
#[cfg(target_os = "linux")]
pub mod network;
pub mod operations;
pub mod provision;
pub mod rate;
pub mod reconcile;
pub mod reseal;
pub mod seal;
pub mod serve;
mod server_certificate;
pub mod settings;
mod shares;
mod site;
pub mod storage;
pub mod sweep;
#[cfg(feature = "traces")]
pub mod traces;
#[cfg(not(feature = "traces"))]
#[path = "without_traces.rs"]
pub mod traces;
pub mod upgrade;
mod watch;
pub mod world;
