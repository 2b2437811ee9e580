//! Watches the files of a document, and has each revision judged.
//!
//! The files are looked at again and again. Watching by the operating system notices nothing on
//! network file systems and in many containers, and needs a pause of about the same length, because
//! editors save in several steps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::Arguments;
use super::mock_process::MockProcess;
use super::revision;
use super::server::Shown;

/// The pause between two looks at the files.
const PAUSE: Duration = Duration::from_millis(50);
/// The pause is so many times as long as what it took to look at the files, or to read them.
const PART: u32 = 20;
/// The least time after which a document with errors is read again though no file has changed,
/// because a file that was missing may be there now. It is longer if reading takes long.
const AGAIN: Duration = Duration::from_secs(2);

/// What tells one state of a file from another; `None` if the file is not there.
type Stamp = Option<(SystemTime, u64)>;

fn stamp(path: &Path) -> Stamp {
    let metadata = path.metadata().ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// Watches until the process ends.
pub(super) fn run(arguments: &Arguments, shown: &Shown) {
    let mut files = BTreeMap::from([(arguments.file.clone(), None)]);
    let mut process: Option<MockProcess> = None;
    for number in 1_u64.. {
        // Before they are read, so that a change in between is not missed.
        for (path, known) in &mut files {
            *known = stamp(path);
        }
        let begun = Instant::now();
        let mut judged = revision::judge(arguments);
        judged.number = number;
        if judged.is_readable {
            match MockProcess::start(arguments) {
                Ok(started) => {
                    shown.set_mock(started.address);
                    // The one before ends here.
                    process = Some(started);
                }
                Err(error) => judged.problem = Some(format!("{error:#}")),
            }
        }
        judged.is_current = judged.is_readable && process.is_some();
        shown.set(&judged);
        // The page shows the findings while both revisions are compared.
        judged.changes = Some(revision::compare(arguments));
        judged.millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        shown.set(&judged);
        let is_new = |path: &PathBuf| !files.contains_key(path);
        let more: Vec<PathBuf> = judged
            .files
            .iter()
            .filter(|path| is_new(path))
            .cloned()
            .collect();
        if more.is_empty() {
            // A file that the document no longer refers to would only cause a revision without a
            // change.
            files.retain(|path, _| *path == arguments.file || judged.files.contains(path));
            let again = judged.has_errors.then(|| AGAIN.max(begun.elapsed() * PART));
            wait(&files, again);
        } else {
            // They may have changed since they were read, so they are read once more.
            files.extend(more.into_iter().map(|path| (path, None)));
        }
    }
}

/// Waits until a file has changed, or until a time has passed.
fn wait(files: &BTreeMap<PathBuf, Stamp>, again: Option<Duration>) {
    let begun = Instant::now();
    loop {
        let looking = Instant::now();
        let is_changed = files.iter().any(|(path, known)| stamp(path) != *known);
        if is_changed || again.is_some_and(|again| begun.elapsed() > again) {
            return;
        }
        thread::sleep(PAUSE.max(looking.elapsed() * PART));
    }
}
