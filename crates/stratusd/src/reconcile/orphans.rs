//! What a step that has lost its lease may leave at the provisioner.

use std::time::Duration;

use api_types::PostgresState;
use tokio::time::{sleep, timeout};

use super::record::wanted;
use super::{FIRST_WAIT, Reconciler};
use crate::causes::Causes;
use crate::provision::{Progress, Provisioner};
use crate::storage::StorageError;
use crate::storage::lease::{self, Due};

/// The number of times that an orphan is looked for, or deleted, before it is left to an operator.
const ATTEMPTS: u32 = 60;
/// The longest wait between two of them.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What has become of the row of a database.
enum Row {
    /// It is there, so a later step deletes what there is, if it is to be deleted at all.
    Kept,
    /// Another worker deletes the database.
    Deleting,
    Gone,
}

impl<P: Provisioner> Reconciler<P> {
    /// Deletes what a step that has lost its lease may have created after another worker had deleted
    /// the database, because nobody else looks for it then.
    ///
    /// Ids are never used again, so a database without a row is nobody's.
    pub(super) async fn delete_orphan(&self, due: &Due) {
        if due.database.state == PostgresState::Deleting {
            return;
        }
        let delete = self.delete_without_row(due);
        tokio::select! {
            biased;
            is_known = delete => if is_known { return },
            () = self.give_up.cancelled() => {}
        }
        tracing::error!(
            database = due.database.id.as_str(),
            "the provisioner may have a database that is deleted here: look for it, and delete it"
        );
    }

    /// Returns whether it is certain that nothing is left without a row.
    async fn delete_without_row(&self, due: &Due) -> bool {
        let wanted = wanted(due);
        for _ in 0..ATTEMPTS {
            let wait = match self.row(due).await {
                Ok(Row::Kept) => return true,
                Ok(Row::Deleting) => FIRST_WAIT,
                Ok(Row::Gone) => {
                    let deleting = self.provisioner.delete(&wanted);
                    match timeout(self.config.step_limit, deleting).await {
                        Ok(Ok(Progress::Done)) => return true,
                        Ok(Ok(Progress::Pending(wait))) => wait,
                        Ok(Err(error)) => {
                            tracing::warn!(
                                database = wanted.id,
                                "a database without a row is not deleted yet: {error}"
                            );
                            LONGEST_WAIT
                        }
                        Err(_) => LONGEST_WAIT,
                    }
                }
                Err(error) => {
                    tracing::warn!(error = %Causes(&error), "it is not known whether a database is deleted");
                    LONGEST_WAIT
                }
            };
            sleep(wait.clamp(FIRST_WAIT, LONGEST_WAIT)).await;
        }
        false
    }

    async fn row(&self, due: &Due) -> Result<Row, StorageError> {
        let mut reader = self.store.reader().await?;
        let c = &mut reader.connection();
        // In this order: a row that goes between the two was being deleted.
        if lease::is_kept(c, due).await? {
            return Ok(Row::Kept);
        }
        let is_there = lease::exists(c, due).await?;
        Ok(if is_there { Row::Deleting } else { Row::Gone })
    }
}
