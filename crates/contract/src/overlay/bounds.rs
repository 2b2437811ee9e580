//! The bounds of overlays, which somebody else may have written.

/// The largest overlay that is read, in bytes.
pub const MAX_OVERLAY_BYTES: usize = 16 * 1024 * 1024;

/// The number of overlays that may be applied to a contract.
pub const MOST_OVERLAYS: usize = 100;

/// The number of actions that an overlay may have.
pub const MOST_ACTIONS: usize = 10_000;

/// The longest JSONPath that is read, in bytes.
pub const MAX_QUERY_BYTES: usize = 4_096;

/// The deepest nesting of brackets and parentheses in a JSONPath. The parser tries several readings
/// of each, so its time grows exponentially with this.
pub const MAX_QUERY_DEPTH: usize = 8;

/// The number of different patterns that the JSONPaths of an overlay may have as the arguments of
/// `match` and `search`. A compiled pattern can take a MiB.
pub const MOST_PATTERNS: usize = 100;

/// The number of nodes that a JSONPath may select, in each of its steps.
pub const MOST_SELECTED: usize = 500_000;

/// The number of nodes that the JSONPaths of an overlay may visit. A filter within a filter visits
/// the document once for each of its nodes.
pub const MOST_VISITED: usize = 50_000_000;

/// The number of nodes that an overlay may add to a document; 64 bytes of text count as a node. An
/// action can add its update to every node of a document, and one that copies can double it.
pub const MOST_ADDED: usize = 1_000_000;
