//! The Tokio runtime of commands that run until they are stopped.

use std::time::Duration;

use anyhow::{Context, Result};
use stratusd::give_way::have_give_way;
use tokio::runtime::Builder;

/// How long the process waits at its end for threads that are in the middle of something, such as a backup
/// that somebody holds up, or the look-up of a name. What they write is as after a crash then, which
/// damages nothing.
const REST: Duration = Duration::from_secs(1);

/// Runs a task to its end, and then ends the process within a limited time.
///
/// # Errors
///
/// That of the task, or if the runtime cannot be started.
pub(super) fn run_to_end(task: impl Future<Output = Result<()>>) -> Result<()> {
    let runtime = have_give_way(&mut Builder::new_multi_thread())
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    let ended = runtime.block_on(task);
    // Dropped, it would wait for these threads without a limit.
    runtime.shutdown_timeout(REST);
    ended
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_thread_that_is_held_up_does_not_hold_up_the_end() {
        let begun = Instant::now();
        let ended = run_to_end(async {
            tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_mins(1)));
            anyhow::bail!("the error of the task")
        });
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert_eq!(ended.unwrap_err().to_string(), "the error of the task");
    }
}
