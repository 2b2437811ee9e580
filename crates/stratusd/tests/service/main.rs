//! Tests of the service through HTTP and the command line, on SQLite and on PostgreSQL.

mod audit;
mod backups;
mod balancing;
mod bench;
mod commands;
mod concurrency;
mod conditional;
mod crash;
mod databases;
mod differential;
mod documentation;
mod examples;
mod firewalls;
mod gateway;
// The simulation has the checker, so that its own test compiles quickly.
#[path = "../simulation/history.rs"]
mod history;
mod hostile;
mod idempotency;
mod inference_keys;
mod isolation;
mod load_balancers;
mod local;
#[cfg(target_os = "linux")]
mod networks;
mod owner;
mod plans;
mod postgres_server;
mod power_cuts;
mod private_subnets;
mod provisioners;
mod provisioning;
mod restores;
mod running;
mod sizes;
mod soak;
mod sqlite_files;
mod story;
mod support;
mod traces;
mod upgrades;
