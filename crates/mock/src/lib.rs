//! Serves a contract without a server behind it: requests are checked as the generated server
//! checks them, and responses are the contract's examples or made up from its schemas.
//!
//! Start at [`Mock`], whose [`router`](Mock::router) is a service, and at [`serve`], which binds it
//! to an address within [`bounds`]. [`Mock::proxy`] forwards requests to a real server instead, and
//! judges both sides. The run time of generated servers does the routing and the
//! reading of requests: `describe` makes its descriptions from the IR of `codegen`, and `types`
//! decodes parameters as the generated types would. `values` makes values of schemas, and `respond`
//! puts a response together.
//!
//! No credential is compared with anything. Nothing is kept between requests, unless
//! [`Settings::is_stateful`] is set: then `collections` finds out what belongs together, and `kept`
//! has what callers create.
//!
//! Deliberately not here: reading documents (see `contract`) and arguments (see `stratus-commands`).

pub mod bounds;

mod collections;
mod credentials;
mod describe;
mod faults;
mod kept;
mod negotiate;
mod parts;
mod prefer;
mod proxy;
mod refuse;
mod request;
mod respond;
mod router;
mod serve;
mod types;
mod values;

pub use faults::Failures;
pub use proxy::{Findings, ProxyError, ProxySettings, Times, Totals, Upstream};
pub use router::{Mock, Settings};
pub use serve::serve;
pub use values::{NoValue, Values};
