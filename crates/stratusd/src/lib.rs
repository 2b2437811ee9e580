//! The service behind the contract: it implements the generated traits of `api-server` over a store.
//!
//! Start at [`api`], where each operation of the contract arrives, follow it into [`domain`], which knows the rules,
//! and from there into [`storage`], which knows SQL. [`reconcile`] makes databases what they shall be, [`inventory`]
//! is what the operator declares, [`serve`] is the process around all of it.

pub mod api;
mod causes;
pub mod domain;
pub mod inventory;
pub mod issue;
pub mod operations;
pub mod provision;
pub mod reconcile;
pub mod reseal;
pub mod seal;
pub mod serve;
pub mod settings;
pub mod storage;
pub mod world;
