//! The histories of timelines. A standby that becomes the primary begins a timeline of its own, and
//! writes down at which position of the log it leaves that of the primary before.

use std::fs::File;
use std::io::{self, Read as _};

use flate2::read::GzDecoder;

use super::archive::{Archive, Base, names};
use crate::provision::ProvisionError;

/// The size of a history in bytes at most: that of about 20,000 changes of the primary.
const LONGEST: u64 = 1 << 20;

/// The timelines that a database has left on the way to the one that it is on.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Each timeline that was left, and the position in the log at which it was.
    left: Vec<(u32, u64)>,
}

impl History {
    /// Reads the history of the last timeline in an archive. One that cannot be read counts as none: the
    /// owner of the database may have written it.
    pub(super) fn read(archive: &Archive) -> Result<Self, ProvisionError> {
        let names = names(&archive.log())?;
        let numbers = names
            .iter()
            .filter_map(|name| number(name.strip_suffix(".gz")?));
        let Some(last) = numbers.max() else {
            return Ok(Self::default());
        };
        let read = || -> io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            let file = File::open(archive.log().join(format!("{last:08X}.history.gz")))?;
            GzDecoder::new(file).take(LONGEST).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let left = text.lines().filter_map(left);
        let left = left.filter(|(timeline, _)| *timeline < last).collect();
        Ok(Self { left })
    }

    /// Returns whether the log leads from a copy to the last timeline. It does not if the copy is of a
    /// primary that was killed, and has what its successor does not have.
    pub(super) fn continues(&self, base: &Base) -> bool {
        let timeline = base.begins.get(..8);
        let timeline = timeline.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let left = self.left.iter().find(|(left, _)| Some(*left) == timeline);
        left.is_none_or(|(_, position)| {
            u64::try_from(base.ends).is_ok_and(|ends| ends <= *position)
        })
    }
}

/// Returns the number of the timeline whose history a file of a log is.
pub(super) fn number(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(".history")?;
    u32::from_str_radix(digits, 16).ok()
}

/// Parses a line of a history: the number of a timeline, and the position at which it was left, as two
/// numbers of 32 bits.
fn left(line: &str) -> Option<(u32, u64)> {
    let mut words = line.split_whitespace();
    let timeline = words.next()?.parse().ok()?;
    let (high, low) = words.next()?.split_once('/')?;
    let high = u64::from(u32::from_str_radix(high, 16).ok()?);
    let low = u64::from(u32::from_str_radix(low, 16).ok()?);
    Some((timeline, high << 32 | low))
}
