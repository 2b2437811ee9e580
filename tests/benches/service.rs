//! The service: pages of short and of long lists, durable changes of many callers, reads compared
//! with an implementation in memory, and the memory of the process.
//!
//! Contenders take turns in one run; figures are medians. PostgreSQL is a private cluster, with
//! everything durable.

#[path = "service/changes.rs"]
mod changes;
#[path = "../../crates/stratusd/tests/service/support/cluster.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod cluster;
#[path = "server/load.rs"]
#[allow(dead_code, reason = "another benchmark uses the rest")]
mod load;
#[path = "service/memory.rs"]
mod memory;
#[path = "service/pages.rs"]
mod pages;
#[path = "service/reads.rs"]
mod reads;
#[path = "support/mod.rs"]
mod support;
#[path = "service/world.rs"]
mod world;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.expect("a run time");
    if support::is_wanted("pages") {
        runtime.block_on(pages::run());
    }
    if support::is_wanted("changes") {
        runtime.block_on(changes::run());
    }
    if support::is_wanted("reads") {
        reads::run();
    }
    if support::is_wanted("memory") {
        runtime.block_on(memory::run());
    }
}
