//! Rules of Postgres databases.

use api_types::{PostgresId, ProjectId, Timestamp};
use jiff::Timestamp as Moment;

use super::Refusal;

/// Returns whether the storage of a database may shrink to `gib` GiB: the space in use must be less
/// than 80 % of it, in bytes and without rounding.
#[must_use]
pub fn fits(used_bytes: i64, gib: i64) -> bool {
    i128::from(used_bytes) * 10 < (i128::from(gib) << 30) * 8
}

/// How full the storage of a database is, in percent, when a database on this machine becomes read-only.
pub const FULL: u8 = 95;
/// How full it is, in percent, when operators are to know, and below which such a database can be written
/// again. Less than [`FULL`], so that it does not change with every row.
pub const NEARLY_FULL: u8 = 90;

/// Returns whether the storage of a database is nearly full.
#[must_use]
pub fn is_nearly_full(used_bytes: i64, gib: i64) -> bool {
    i128::from(used_bytes) >= (i128::from(gib) << 30) / 100 * i128::from(NEARLY_FULL)
}

/// Returns how much of its storage a database uses, in percent, rounded.
#[must_use]
pub fn used_percent(used_bytes: i64, gib: i64) -> i64 {
    let all = (i128::from(gib) << 30).max(1);
    let percent = (i128::from(used_bytes) * 100 + all / 2) / all;
    i64::try_from(percent).unwrap_or(i64::MAX)
}

/// The maximum number of tags of a database. The contract lets a request have more, since it did so before
/// there was this limit.
pub const MOST_TAGS: usize = 50;

/// Checks that a database would have at most [`MOST_TAGS`] tags.
///
/// # Errors
///
/// If it would have more, with a message about `tags`.
pub fn ensure_few_tags(count: usize) -> Result<(), Refusal> {
    if count > MOST_TAGS {
        let wrong = format!("has {count} items, and a database may have {MOST_TAGS} tags");
        return Err(Refusal::invalid("tags", wrong));
    }
    Ok(())
}

/// Returns the `owner` argument of [`Sealer::seal`](crate::seal::Sealer::seal) for the password of
/// a database. It identifies the database, so the sealed password cannot be opened in another row.
pub(crate) fn sealed_for(project: &ProjectId, id: &PostgresId) -> String {
    format!("postgres_database/{project}/{id}/password")
}

/// Converts a time in seconds since 1970 to the contract's type. Returns `None` if it is out of range.
#[must_use]
pub fn timestamp(seconds: i64) -> Option<Timestamp> {
    let moment = Moment::from_second(seconds).ok()?;
    Timestamp::try_from(moment.to_string()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storage_shrinks_if_less_than_four_fifths_of_it_would_be_in_use() {
        const GIB: i64 = 1 << 30;
        assert!(fits(4 * GIB - 1, 5));
        assert!(!fits(4 * GIB, 5));
        assert!(fits(0, 16));
        assert!(!fits(i64::MAX, 4096));
    }
}
