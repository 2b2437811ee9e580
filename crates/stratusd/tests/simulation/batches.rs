//! Changes that are committed together although one of them fails after it has written: that one must
//! leave nothing, and the others must stay.

use rand::RngExt;
use stratusd::storage::{Aborted, Change, Connection, StorageError, service_state};

use crate::caller::Caller;

/// The beginning of the names of what acknowledged changes have written.
pub const WHOLE: &str = "whole-";
/// The beginning of the names of what changes have written that then failed or refused.
pub const HALF: &str = "half-";

/// A change that writes a row, and then ends in some way.
struct Write {
    name: String,
    end: End,
}

#[derive(Clone, Copy)]
enum End {
    Success,
    Refusal,
    Failure,
}

/// The refusal of a change.
#[derive(Debug)]
struct Refused;

impl Change for Write {
    type Output = ();
    type Refusal = Refused;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<(), Aborted<Refused>> {
        service_state::put(tx, &self.name, b"").await?;
        match self.end {
            End::Success => Ok(()),
            End::Refusal => Err(Aborted::Refused(Refused)),
            End::Failure => Err(StorageError::Other("simulated failure".into()).into()),
        }
    }
}

/// Submits changes together, of which the second one fails.
pub async fn submit(caller: &mut Caller) {
    let number: u32 = caller.random.random();
    let end = if caller.random.random() {
        End::Refusal
    } else {
        End::Failure
    };
    let write = |begin: &str, more: &str, end| {
        let name = format!("{begin}{number}{more}");
        caller.store.change(Write { name, end })
    };
    let (first, half, last) = tokio::join!(
        biased;
        write(WHOLE, "-first", End::Success),
        write(HALF, "", end),
        write(WHOLE, "-last", End::Success),
    );
    let ground = &caller.ground;
    ground.trace(format_args!("a batch: {first:?} {half:?} {last:?}"));
    if half.is_ok() {
        ground.broken("a change that fails is acknowledged".to_owned());
    }
    for (made, more) in [(first, "-first"), (last, "-last")] {
        match made {
            Ok(()) => {
                let name = format!("{WHOLE}{number}{more}");
                ground.kept().whole.insert(name);
            }
            Err(Aborted::Failed(
                StorageError::Unavailable(_) | StorageError::Crowded(_) | StorageError::Closed,
            )) => {}
            Err(other) => ground.broken(format!("a change beside one that fails: {other:?}")),
        }
    }
}
