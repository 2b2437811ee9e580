//! Everything that a caller or a document could make grow, each with its bound.
//!
//! The size of heads (64 KiB) and bodies (1 MiB) and the time in which a body must arrive (30
//! seconds) are those of generated servers, see `api_runtime::server::Config`.

use std::time::Duration;

/// The maximum number of connections that are served at a time. A further one waits until another
/// ends.
pub const MOST_CONNECTIONS: usize = 256;
/// The time in which the head of a request must arrive, and for which an idle connection is kept.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// The time in which a body that the contract does not describe, such as a file, must arrive.
pub const STREAM_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum number of bytes of a connection that wait to be read, which also bounds the head of
/// a request.
pub const MOST_BUFFERED: usize = 128 << 10;
/// The maximum number of bytes that the body of a response may have.
pub const MOST_RESPONSE_BYTES: usize = 1 << 20;
/// The maximum number of parts that the search for one value may make.
pub const MOST_PARTS: usize = 20_000;
/// The deepest nesting of a value that is made up.
pub const MOST_DEPTH: usize = 32;
/// The maximum number of items of an array, entries of an object and characters of a string beyond
/// which no value is made up.
pub const MOST_LENGTH: usize = 10_000;
/// The longest delay of a response.
pub const LONGEST_DELAY: Duration = Duration::from_secs(60);
/// The time that requests in progress have once the mock is to end.
pub const GRACE: Duration = Duration::from_secs(2);
/// The maximum number of items that a stateful mock keeps.
pub const MOST_KEPT: usize = 1000;
/// The maximum number of bytes that the items of a stateful mock have together, as JSON.
pub const MOST_KEPT_BYTES: usize = 16 << 20;
/// The maximum number of bytes of a body that a proxy holds until it is complete, to judge it. A
/// larger one is passed on without a judgement.
pub const MOST_JUDGED: usize = 1 << 20;
/// The time for which a proxy holds a body, before it passes it on without a judgement.
pub const HOLD_TIMEOUT: Duration = Duration::from_secs(10);
/// The time in which the server behind a proxy must take a connection.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time in which the server behind a proxy must begin its response, once it has the request.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest pause of a body that a proxy passes on.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// The maximum number of findings of one request or response that a proxy writes out.
pub const MOST_SHOWN: usize = 10;
/// The maximum number of bytes of the header in which a proxy says what it has found.
pub const MOST_HEADER: usize = 4 << 10;
/// The maximum number of lines of a proxy that wait to be read. Further ones are left out and
/// counted.
pub const MOST_LINES: usize = 1024;
