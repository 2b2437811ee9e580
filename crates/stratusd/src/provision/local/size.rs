//! What a server gets by the size of its database.

/// The memory and the connections of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Resources {
    /// The size of the shared buffers in MiB.
    pub(super) shared_buffers: u32,
    /// The maximum number of connections.
    pub(super) connections: u32,
}

/// The number of connections of the largest size.
pub(super) const MOST_CONNECTIONS: u32 = 500;

/// Returns the resources of a size, such as `standard-4`: of each processor, 32 MiB and 50
/// connections, of these at most 500. Memory is taken from the machine as it is used, not at the
/// start.
pub(super) fn resources(vm_size: &str) -> Resources {
    let processors = vm_size
        .rsplit('-')
        .next()
        .and_then(|text| text.parse().ok());
    let processors: u32 = processors.unwrap_or(1);
    Resources {
        shared_buffers: processors.saturating_mul(32),
        connections: processors.saturating_mul(50).min(MOST_CONNECTIONS),
    }
}
