//! Builds `stratusd` and runs it with the demo inventory.
//!
//! Start at [`serve`]. This is a package apart from `xtask`, with few dependencies, so that `cargo
//! xtask serve` compiles the service and not the generator too.

mod cargo;
mod serve;
mod service;
mod xtask;

pub use cargo::cargo;
pub use serve::{Addresses, announce, serve};
pub use service::{Build, PROJECT, Service};
pub use xtask::xtask_for_tests;
