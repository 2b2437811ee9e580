//! Which seeded fault is active in this process. Written for `cargo xtask mutants`.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

// Tests do not pass variables of the service, `STRATUS_…`, on to the programs that they start.
static ACTIVE: LazyLock<Option<usize>> =
    LazyLock::new(|| env::var("SEEDED_FAULT").ok()?.parse().ok());

/// Where the faults are written that this process has reached, each once.
static REACHED: LazyLock<Option<File>> = LazyLock::new(|| {
    let path = env::var_os("SEEDED_FAULTS_REACHED")?;
    OpenOptions::new().append(true).create(true).open(path).ok()
});

static SEEN: [AtomicBool; FAULTS] = [const { AtomicBool::new(false) }; FAULTS];

/// Returns whether a fault is active, by its index.
pub fn is_active(index: usize) -> bool {
    if let Some(mut file) = REACHED.as_ref()
        && !SEEN[index].swap(true, Ordering::Relaxed)
    {
        let _ = file.write_all(format!("{index}\n").as_bytes());
    }
    *ACTIVE == Some(index)
}
