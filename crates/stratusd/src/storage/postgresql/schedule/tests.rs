//! The order of changes, with a clock that stands still unless a test waits.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::oneshot::{self, Receiver};
use tokio::time::{Instant, advance, timeout};

use super::{Admitted, Schedule};
use crate::storage::job::{Ended, Offer, Owner, Pending};
use crate::storage::postgresql::RUNS;
use crate::storage::{Aborted, Change, Connection, StorageError};

/// How long a change may wait for a lock in these tests.
const LOCK_WAIT: Duration = Duration::from_secs(1);
/// How long a new change may, while a group is held.
const HASTE: Duration = Duration::from_millis(100);

/// A change of a project. The tests end it as they like, so it does nothing.
struct Nothing;

impl Change for Nothing {
    type Output = ();
    type Refusal = Infallible;

    async fn apply(&self, _: &mut Connection<'_>) -> Result<(), Aborted<Infallible>> {
        Ok(())
    }
}

/// Creates a schedule for a number of workers, whose changes may wait for a lock for [`LOCK_WAIT`].
fn schedule_of(workers: u32) -> Schedule {
    Schedule::new(workers, LOCK_WAIT, Arc::default())
}

/// What the caller of a change waits for.
type Caller = Receiver<Ended<Nothing>>;

/// Adds a change of a project, which has a letter for a name. All changes of a project are a group.
fn submit(schedule: &Schedule, project: char) -> Caller {
    let id = format!("pj{}", project.to_string().repeat(24));
    let id = id.try_into().expect("it is an id");
    let (sender, receiver) = oneshot::channel();
    let until = Instant::now() + Duration::from_hours(1);
    let job = Pending::new(
        Offer::new(Nothing),
        sender,
        (Some(id), until),
        &Arc::default(),
    );
    schedule.submit(Box::new(job));
    receiver
}

/// Returns the letter of the project of a change.
fn project(admitted: &Admitted) -> char {
    match admitted.job.group().owner() {
        Owner::Project(id) => id.as_str().chars().next_back().expect("an id has letters"),
        other => panic!("{other:?} is no project"),
    }
}

/// Takes the change that may run now, which must be one of a project.
fn take(schedule: &Schedule, of: char) -> Admitted {
    let next = schedule.next().now_or_never().flatten();
    let admitted = next.expect("a change may run");
    assert_eq!(project(&admitted), of);
    admitted
}

/// Waits for the next change, which must be one of a project. Returns it, and how long that took.
async fn wait(schedule: &Schedule, of: char) -> (Admitted, Duration) {
    let begun = Instant::now();
    let next = timeout(Duration::from_mins(1), schedule.next()).await;
    let admitted = next.ok().flatten().expect("a change may run");
    assert_eq!(project(&admitted), of);
    (admitted, begun.elapsed())
}

fn ensure_none(schedule: &Schedule) {
    let next = schedule.next().now_or_never();
    assert!(next.is_none(), "a change may run");
}

/// Ends a change that has met a lock.
fn lock(schedule: &Schedule, admitted: Admitted) {
    let error = StorageError::Locked("another transaction holds it".into());
    schedule.end(admitted, Err(error));
}

/// Has a change of each project meet a lock, so that its group is held. Returns their callers.
fn hold<const N: usize>(schedule: &Schedule, projects: [char; N]) -> [Caller; N] {
    let callers = projects.map(|of| submit(schedule, of));
    for of in projects {
        let first = take(schedule, of);
        lock(schedule, first);
    }
    callers
}

/// Returns the error that the caller of a change got, or `None` if the change was made. Panics if the
/// caller has no response yet.
fn result_of(caller: &mut Caller) -> Option<StorageError> {
    let ended = caller.try_recv().expect("the caller has its response");
    match ended {
        // No change of these tests has run, so a commit finds no result.
        Err(Aborted::Failed(StorageError::Closed)) | Ok(()) => None,
        Err(Aborted::Failed(error)) => Some(error),
        Err(Aborted::Refused(never)) => match never {},
    }
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[tokio::test(start_paused = true)]
async fn a_change_that_has_met_a_lock_runs_again_after_a_pause() {
    let schedule = schedule_of(2);
    let mut caller = submit(&schedule, 'a');
    let first = take(&schedule, 'a');
    assert_eq!(first.lock_wait, LOCK_WAIT);
    lock(&schedule, first);
    let mut waited = Duration::ZERO;
    for _ in 0..3 {
        ensure_none(&schedule);
        let (again, took) = wait(&schedule, 'a').await;
        waited += took;
        assert_eq!(again.lock_wait, LOCK_WAIT);
        advance(LOCK_WAIT).await;
        lock(&schedule, again);
    }
    // The first pause is that of the change; then the place rests as long as the change has waited.
    assert_eq!(waited, millis(500) + 2 * LOCK_WAIT);
    let (again, _) = wait(&schedule, 'a').await;
    assert!(caller.try_recv().is_err(), "its caller waits");
    schedule.end(again, Ok(()));
    assert!(result_of(&mut caller).is_none());
    // The group is not held any more.
    let _caller = submit(&schedule, 'a');
    assert_eq!(take(&schedule, 'a').lock_wait, LOCK_WAIT);
}

#[tokio::test(start_paused = true)]
async fn new_changes_of_a_held_group_run_one_at_a_time_and_wait_less() {
    let schedule = schedule_of(4);
    let _locked = hold(&schedule, ['a']);
    let _other = submit(&schedule, 'b');
    let other = take(&schedule, 'b');
    assert_eq!(other.lock_wait, HASTE);
    let mut callers = [submit(&schedule, 'a'), submit(&schedule, 'a')];
    let (new, took) = wait(&schedule, 'a').await;
    assert_eq!((took, new.lock_wait), (millis(250), HASTE));
    // There is another place, but not for this group.
    ensure_none(&schedule);
    schedule.end(new, Ok(()));
    assert!(result_of(&mut callers[0]).is_none());
    let next = take(&schedule, 'a');
    assert_eq!(next.lock_wait, HASTE);
    schedule.end(next, Ok(()));
    // A new change says nothing about the lock.
    schedule.end(other, Ok(()));
    let _other = submit(&schedule, 'b');
    assert_eq!(take(&schedule, 'b').lock_wait, HASTE);
    let (again, took) = wait(&schedule, 'a').await;
    assert_eq!((took, again.lock_wait), (millis(250), LOCK_WAIT));
    // A change that fails says nothing either.
    schedule.end(again, Err(StorageError::Unavailable("it is gone".into())));
    let _other = submit(&schedule, 'c');
    assert_eq!(take(&schedule, 'c').lock_wait, HASTE);
}

#[tokio::test(start_paused = true)]
async fn new_changes_run_at_once_when_their_group_is_free_again() {
    let schedule = schedule_of(2);
    let _locked = hold(&schedule, ['a']);
    let (again, _) = wait(&schedule, 'a').await;
    let _callers = [submit(&schedule, 'a'), submit(&schedule, 'a')];
    // They wait, since the group is held.
    ensure_none(&schedule);
    schedule.end(again, Ok(()));
    let (one, other) = (take(&schedule, 'a'), take(&schedule, 'a'));
    assert_eq!([one.lock_wait, other.lock_wait], [LOCK_WAIT, LOCK_WAIT]);
}

#[tokio::test(start_paused = true)]
async fn a_place_rests_for_as_long_as_its_change_has_waited() {
    let schedule = schedule_of(2);
    let _locked = hold(&schedule, ['a', 'b']);
    let _new = ['a', 'a', 'b'].map(|of| submit(&schedule, of));
    let (new, took) = wait(&schedule, 'a').await;
    assert_eq!(took, millis(250));
    lock(&schedule, new);
    // The other one may run by now, but the only place rests.
    ensure_none(&schedule);
    let (other, took) = wait(&schedule, 'b').await;
    assert_eq!(took, HASTE);
    schedule.end(other, Ok(()));
    // The next one of the first group pauses for longer.
    ensure_none(&schedule);
    let (_, took) = wait(&schedule, 'a').await;
    assert_eq!(took, millis(150));
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_changes_has_the_places_for_half_of_the_time() {
    let schedule = schedule_of(2);
    let _locked = hold(&schedule, ['a', 'b', 'c']);
    let _new: Vec<Caller> = (0..4).map(|_| submit(&schedule, 'a')).collect();
    ensure_none(&schedule);
    advance(millis(600)).await;
    // All are due. New changes have 300, the others 400, and then new ones 500 in all.
    for (of, lock_wait, runs) in [
        ('a', HASTE, 300),
        ('a', LOCK_WAIT, 200),
        ('b', LOCK_WAIT, 200),
        ('a', HASTE, 200),
        ('c', LOCK_WAIT, 0),
    ] {
        let next = take(&schedule, of);
        assert_eq!(next.lock_wait, lock_wait, "{of}");
        advance(millis(runs)).await;
        // What has met a lock fails for another reason, so that its group stays held.
        let failed = StorageError::Unavailable("it is gone".into());
        let is_new = lock_wait == HASTE;
        schedule.end(next, if is_new { Ok(()) } else { Err(failed) });
    }
}

#[tokio::test(start_paused = true)]
async fn held_changes_and_others_take_turns() {
    let schedule = schedule_of(2);
    let _locked = hold(&schedule, ['a']);
    let _others: Vec<Caller> = (0..2).map(|_| submit(&schedule, 'b')).collect();
    advance(millis(500)).await;
    // The last one was of no held group.
    let again = take(&schedule, 'a');
    lock(&schedule, again);
    let other = take(&schedule, 'b');
    schedule.end(other, Ok(()));
    advance(LOCK_WAIT).await;
    let again = take(&schedule, 'a');
    lock(&schedule, again);
    advance(LOCK_WAIT).await;
    // Although the other one is due.
    take(&schedule, 'b');
}

#[tokio::test(start_paused = true)]
async fn a_change_pauses_after_a_lock_although_its_group_was_held_before() {
    let schedule = schedule_of(4);
    let (gone, _caller) = (submit(&schedule, 'a'), submit(&schedule, 'a'));
    let (first, second) = (take(&schedule, 'a'), take(&schedule, 'a'));
    drop(gone);
    lock(&schedule, first);
    advance(millis(450)).await;
    lock(&schedule, second);
    let (_, took) = wait(&schedule, 'a').await;
    assert_eq!(took, millis(500));
}

#[tokio::test(start_paused = true)]
async fn a_change_that_conflicts_goes_to_the_end_of_its_line() {
    let schedule = schedule_of(2);
    let mut callers = [submit(&schedule, 'a'), submit(&schedule, 'a')];
    let first = take(&schedule, 'a');
    schedule.end(first, Err(StorageError::Conflict));
    let second = take(&schedule, 'a');
    schedule.end(second, Ok(()));
    assert!(result_of(&mut callers[1]).is_none());
    // Its group is not held.
    let mut again = take(&schedule, 'a');
    assert_eq!(again.lock_wait, LOCK_WAIT);
    for _ in 1..RUNS {
        again.job.count_failure();
    }
    schedule.end(again, Err(StorageError::Conflict));
    let mut last = take(&schedule, 'a');
    last.job.count_failure();
    schedule.end(last, Err(StorageError::Conflict));
    let error = result_of(&mut callers[0]);
    assert!(matches!(error, Some(StorageError::Conflict)), "{error:?}");
    ensure_none(&schedule);
}

#[tokio::test(start_paused = true)]
async fn a_project_has_a_quarter_of_the_workers_beside_others_that_are_active() {
    let schedule = schedule_of(8);
    let _callers: Vec<Caller> = (0..8).map(|_| submit(&schedule, 'a')).collect();
    // It is alone so far.
    let [first, second, third] = [(); 3].map(|()| take(&schedule, 'a'));
    let _other = submit(&schedule, 'b');
    let other = take(&schedule, 'b');
    ensure_none(&schedule);
    schedule.end(other, Ok(()));
    ensure_none(&schedule);
    schedule.end(first, Ok(()));
    ensure_none(&schedule);
    // A worker that waits gets the next one once fewer than its share run.
    let mut waits = pin!(schedule.next());
    assert!(waits.as_mut().now_or_never().is_none());
    schedule.end(second, Ok(()));
    let next = waits.now_or_never().flatten().expect("it is woken");
    assert_eq!(project(&next), 'a');
    ensure_none(&schedule);
    // The other project has not asked for anything lately.
    advance(Duration::from_secs(10)).await;
    let _running = [(); 2].map(|()| take(&schedule, 'a'));
    schedule.end(third, Ok(()));
    let _other = submit(&schedule, 'b');
    let _other = take(&schedule, 'b');
    ensure_none(&schedule);
    // What is left runs before the service ends.
    schedule.close();
    let _last = take(&schedule, 'a');
    let _last = take(&schedule, 'a');
    assert!(schedule.next().now_or_never().expect("it ends").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_group_is_held_for_ten_seconds_after_a_lock() {
    for (millis, lock_wait) in [(9_999, HASTE), (10_000, LOCK_WAIT)] {
        let schedule = schedule_of(2);
        let gone = submit(&schedule, 'a');
        let first = take(&schedule, 'a');
        drop(gone);
        lock(&schedule, first);
        advance(Duration::from_millis(millis)).await;
        let _other = submit(&schedule, 'b');
        assert_eq!(take(&schedule, 'b').lock_wait, lock_wait, "{millis}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_is_held_while_a_change_of_it_waits_or_runs() {
    let schedule = schedule_of(2);
    let mut callers = hold(&schedule, ['a', 'b']);
    // It has the only place for so long that the other one's group would be over.
    let (long, _) = wait(&schedule, 'a').await;
    advance(Duration::from_secs(20)).await;
    ensure_none(&schedule);
    schedule.end(long, Ok(()));
    let other = take(&schedule, 'b');
    assert_eq!(other.lock_wait, LOCK_WAIT);
    advance(Duration::from_secs(20)).await;
    let _third = submit(&schedule, 'c');
    assert_eq!(take(&schedule, 'c').lock_wait, HASTE);
    schedule.end(other, Ok(()));
    for caller in &mut callers {
        assert!(result_of(caller).is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_closed_schedule_runs_what_waits_for_no_lock() {
    let schedule = schedule_of(4);
    let [mut locked] = hold(&schedule, ['a']);
    let mut new = submit(&schedule, 'a');
    ensure_none(&schedule);
    let mut running = submit(&schedule, 'b');
    let runs = take(&schedule, 'b');
    let mut conflicting = submit(&schedule, 'c');
    let conflicts = take(&schedule, 'c');
    schedule.close();
    let error = result_of(&mut locked);
    assert!(matches!(error, Some(StorageError::Locked(_))), "{error:?}");
    let mut late = submit(&schedule, 'd');
    let ended = late.try_recv().expect("the caller has its response");
    assert!(matches!(ended, Err(Aborted::Failed(StorageError::Closed))));
    lock(&schedule, runs);
    let error = result_of(&mut running);
    assert!(matches!(error, Some(StorageError::Locked(_))), "{error:?}");
    schedule.end(conflicts, Err(StorageError::Conflict));
    for (of, caller) in [('a', &mut new), ('c', &mut conflicting)] {
        let (waits, took) = wait(&schedule, of).await;
        assert_eq!(took, Duration::ZERO);
        schedule.end(waits, Ok(()));
        assert!(result_of(caller).is_none());
    }
    let next = schedule.next().now_or_never();
    assert!(next.expect("nothing more comes").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_turn_before_a_group_was_freed_does_not_end_one_after_it() {
    let schedule = schedule_of(4);
    let _callers = [submit(&schedule, 'a'), submit(&schedule, 'a')];
    let first = take(&schedule, 'a');
    lock(&schedule, first);
    let (new, _) = wait(&schedule, 'a').await;
    let (again, _) = wait(&schedule, 'a').await;
    schedule.end(again, Ok(()));
    // The group is free, and is held again.
    let _more = [submit(&schedule, 'a'), submit(&schedule, 'a')];
    let (meets, waits) = (take(&schedule, 'a'), submit(&schedule, 'a'));
    lock(&schedule, meets);
    let (late, _) = wait(&schedule, 'a').await;
    schedule.end(new, Ok(()));
    // Still one at a time.
    ensure_none(&schedule);
    drop((late, waits));
}

#[tokio::test(start_paused = true)]
async fn what_was_due_before_a_group_was_freed_is_not_due_after_it() {
    let schedule = schedule_of(6);
    let _callers = [submit(&schedule, 'a'), submit(&schedule, 'a')];
    let (first, second) = (take(&schedule, 'a'), take(&schedule, 'a'));
    lock(&schedule, first);
    let _new = [submit(&schedule, 'a'), submit(&schedule, 'a')];
    let (new, _) = wait(&schedule, 'a').await;
    lock(&schedule, new);
    let (again, _) = wait(&schedule, 'a').await;
    assert_eq!(again.lock_wait, LOCK_WAIT);
    // By now the other new change is due too. The group is free, and is held again at once.
    schedule.end(again, Ok(()));
    lock(&schedule, second);
    ensure_none(&schedule);
    let (_, took) = wait(&schedule, 'a').await;
    assert_eq!(took, millis(250));
}

/// The worker that has ended a change may take long to get its connection in order.
#[tokio::test(start_paused = true)]
async fn a_place_that_is_free_wakes_another_worker() {
    let schedule = schedule_of(2);
    let _locked = hold(&schedule, ['a', 'b']);
    let (again, _) = wait(&schedule, 'a').await;
    // There is no place for the other one.
    let mut other = pin!(timeout(Duration::from_mins(1), schedule.next()));
    assert!(other.as_mut().now_or_never().is_none());
    schedule.end(again, Err(StorageError::Unavailable("it is gone".into())));
    let next = other.await.ok().flatten().expect("it is woken");
    assert_eq!(project(&next), 'b');
}
