//! A writer that its caller runs step by step and watches: the seam by which a simulation decides
//! when the writer runs, and stops it between any two of its statements.

use super::{BATCH, Job, StorageError, Writer};

/// What the writer is about to do, or has just done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A transaction begins next.
    Begin,
    /// The transaction commits next.
    Commit,
    /// The transaction has been committed, and no result of it has been sent.
    Committed,
}

/// An observer of the writer's transactions, which can make them fail.
pub trait Watch {
    /// The writer calls this method at each moment of a transaction. If it fails before a
    /// statement, the statement does not run, and fails with the same error.
    ///
    /// # Errors
    ///
    /// If the writer must not go on.
    fn reached(&mut self, moment: Moment) -> Result<(), StorageError>;
}

/// Watches nothing.
impl Watch for () {
    fn reached(&mut self, _: Moment) -> Result<(), StorageError> {
        Ok(())
    }
}

/// A writer without a thread.
pub struct Stepped<W> {
    writer: Writer<W>,
    batch: Vec<Box<dyn Job>>,
    /// The number of changes of the last commit.
    committed_last: usize,
}

impl<W> std::fmt::Debug for Stepped<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stepped").finish_non_exhaustive()
    }
}

impl<W: Watch> Stepped<W> {
    pub(super) fn new(writer: Writer<W>) -> Self {
        Self {
            writer,
            batch: Vec::with_capacity(BATCH),
            committed_last: 1,
        }
    }

    /// Commits the changes that are waiting. Returns false if there are none.
    pub fn step(&mut self) -> bool {
        let Some(first) = self.writer.waiting.try_next() else {
            return false;
        };
        self.batch.push(first);
        self.committed_last = self.writer.commit(&mut self.batch, self.committed_last);
        true
    }
}
