//! Many changes of one project delay those of others by a bounded time, and their number is bounded.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use api_types::ProjectId;
use futures_util::future::join_all;
use stratusd::storage::{
    Aborted, Change, Connection, DatabaseLocation, Moment, SILENCE, StorageError, Store,
    StoreConfig, Watch, service_state,
};
use stratusd::world::World;
use tokio::sync::Mutex;
use tokio::task::{JoinHandle, JoinSet};

use super::PLACE;
use crate::on_both;
use crate::support::caller::Caller;
use crate::support::cluster::ask;
use crate::support::inventory::{RIVAL, SHOP, two_projects};
use crate::support::{Home, eventually};

/// The changes of the project that has many.
const MANY: usize = 300;

/// Makes a create of a private subnet in the rival's project take about 20 ms or longer.
fn slow_down(home: &Home) {
    if home.database_url.starts_with("sqlite") {
        // Joins a table with itself, which SQLite takes a moment for.
        let trigger = format!(
            "CREATE TABLE slow AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 700) \
             SELECT x FROM n; \
             CREATE TRIGGER slow BEFORE INSERT ON private_subnet WHEN NEW.project_id = '{RIVAL}' \
             BEGIN SELECT count(a.x + b.x) FROM slow AS a, slow AS b; END"
        );
        let mut connection = home.open_sqlite();
        diesel::connection::SimpleConnection::batch_execute(&mut connection, &trigger)
            .expect("a trigger can be made");
    } else {
        let trigger = format!(
            "CREATE FUNCTION slow() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN \
             PERFORM pg_sleep(0.02); RETURN NEW; END $$; \
             CREATE TRIGGER slow BEFORE INSERT ON private_subnet FOR EACH ROW \
             WHEN (NEW.project_id = '{RIVAL}') EXECUTE FUNCTION slow()"
        );
        ask(&home.database_url, &trigger).expect("a trigger can be made");
    }
}

on_both! {
    async fn many_changes_of_a_project_leave_turns_to_another(home: Home) {
        home.apply(&two_projects());
        let service = home.serve(&["--database-connections", "2"]);
        let rival = Caller::new(&service.base, RIVAL, &home.token("rival", &[]));
        let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        shop.get(&format!("{PLACE}/vm")).await.ok();
        slow_down(&home);
        let mut many = JoinSet::new();
        for number in 0..MANY {
            let rival = rival.clone();
            many.spawn(async move {
                let path = format!("{PLACE}/private-subnet/many-{number}");
                let response = rival.post_nothing(&path).await;
                // Those that have waited for five seconds are refused.
                assert!([200, 503].contains(&response.status), "{}", response.body);
            });
        }
        many.join_next().await.expect("there is one").expect("it gets a response");
        let mut took = Vec::new();
        for number in 0..3 {
            let begun = Instant::now();
            shop.post_nothing(&format!("{PLACE}/private-subnet/quick-{number}")).await.ok();
            took.push(begun.elapsed());
        }
        while many.try_join_next().is_some() {}
        println!("{took:?}, while {} changes wait", many.len());
        assert!(many.len() > MANY / 4, "only {} of the others wait", many.len());
        assert!(took.iter().all(|took| *took < Duration::from_secs(1)), "{took:?}");
        while let Some(ended) = many.join_next().await {
            ended.expect("it gets a response");
        }
    }
}

/// Waits for a lock of the test, in the thread that writes.
struct Blocked(Arc<Mutex<()>>);

impl Change for Blocked {
    type Output = ();
    type Refusal = Infallible;

    async fn apply(&self, _: &mut Connection<'_>) -> Result<(), Aborted<Infallible>> {
        let _held = self.0.blocking_lock();
        Ok(())
    }
}

fn project(number: usize) -> ProjectId {
    ProjectId::try_from(format!("pj{number:024}")).expect("it is an id")
}

/// Submits a change of each of these projects at once. Returns the changes, and the number of those
/// that are refused.
async fn submit(
    store: &Store,
    projects: impl Iterator<Item = usize>,
) -> (Vec<JoinHandle<()>>, usize) {
    let (refused, mut refusals) = tokio::sync::mpsc::unbounded_channel();
    let begun = Arc::new(AtomicUsize::new(0));
    let waiting: Vec<_> = projects
        .map(|number| {
            let (store, refused, begun) = (store.clone(), refused.clone(), Arc::clone(&begun));
            tokio::spawn(async move {
                begun.fetch_add(1, Ordering::Relaxed);
                let free = Blocked(Arc::default());
                let ended = store.change_of(&project(number), free).await;
                if let Err(Aborted::Failed(StorageError::Crowded(reason))) = ended
                    && reason.contains("too many changes")
                {
                    let _ = refused.send(());
                }
            })
        })
        .collect();
    // On a busy machine, thousands of tasks begin slowly. This test has one thread, so each is in its
    // line, or refused, by its first poll.
    let all_begun = async || (begun.load(Ordering::Relaxed) == waiting.len()).then_some(());
    eventually(all_begun)
        .await
        .expect("all changes are submitted");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut refused = 0;
    while refusals.try_recv().is_ok() {
        refused += 1;
    }
    (waiting, refused)
}

/// Returns the number of changes that are still possible for a project that has none, while there are
/// `all` of all projects: 6144 are shared, and a project has at most as many as are left of these.
fn share(all: usize) -> usize {
    (6144 - all).div_ceil(2).min(2048)
}

/// The bounds are 2048 for a project, and 8192 for all, of which 2048 are for projects that have none.
#[tokio::test]
async fn a_project_has_a_bounded_number_of_waiting_changes_and_leaves_room_for_others() {
    let home = Home::sqlite();
    let config = StoreConfig {
        database: DatabaseLocation::Sqlite(home.path().join("stratus.db")),
        connections: 1,
        patience: Duration::from_secs(10),
        silence: SILENCE,
        lock_wait: Duration::from_millis(250),
        world: World::real(),
    };
    let store = Store::open(&config).await.expect("the database opens");
    let door = Arc::new(Mutex::new(()));
    let held = door.lock().await;
    let first = tokio::spawn({
        let (store, blocked) = (store.clone(), Blocked(Arc::clone(&door)));
        async move { store.change_of(&project(98), blocked).await }
    });
    let begun = async || (Arc::strong_count(&door) == 2).then_some(());
    eventually(begun).await.expect("the writer has it");
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut waiting = Vec::new();
    // With the one that the writer has.
    let mut all = 1;
    for (number, changes, expected) in [
        (0, 2050, 2048),
        (1, 2048, 2048),
        (2, 2048, share(1 + 2 * 2048)),
        (3, 2000, share(1 + 2 * 2048 + 1024)),
        (0, 10, 0),
    ] {
        let (more, refused) = submit(&store, std::iter::repeat_n(number, changes)).await;
        let added = changes - refused;
        assert_eq!(added, expected, "of {changes} changes of project {number}");
        all += added;
        waiting.push(more);
    }
    // As many projects as there is room for, and one more.
    let left = 8192 - all;
    let (singles, refused) = submit(&store, (100..).take(left + 1)).await;
    assert_eq!(refused, 1);
    // A project that has only few changes has no room for another one either.
    assert_eq!(submit(&store, std::iter::once(100)).await.1, 1);
    // A change that is withdrawn leaves room at once.
    singles[0].abort();
    assert_eq!(submit(&store, std::iter::once(50)).await.1, 0);
    assert_eq!(submit(&store, std::iter::once(51)).await.1, 1);
    waiting.push(singles);
    let waiting: Vec<_> = waiting.into_iter().flatten().collect();
    waiting.iter().for_each(JoinHandle::abort);
    join_all(waiting).await;
    drop(held);
    first.await.expect("it runs").expect("it is made");
    store.close().await;
}

/// Writes a row, and then fails if `fails` is set.
struct Write {
    number: usize,
    fails: bool,
}

impl Change for Write {
    type Output = ();
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<(), Aborted<Infallible>> {
        service_state::put(tx, &format!("write-{}", self.number), b"").await?;
        if self.fails {
            return Err(StorageError::Other("simulated failure".into()).into());
        }
        Ok(())
    }
}

/// Counts the commits of a writer.
struct Commits(Arc<AtomicUsize>);

impl Watch for Commits {
    fn reached(&mut self, moment: Moment) -> Result<(), StorageError> {
        if moment == Moment::Commit {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// A commit waits for the disk, so a commit for each change would keep others waiting for long.
#[tokio::test]
async fn a_batch_in_which_changes_fail_is_committed_once() {
    const CHANGES: usize = 60;
    let home = Home::sqlite();
    let commits = Arc::new(AtomicUsize::new(0));
    let file = home.path().join("stratus.db");
    let opened = Store::open_stepped(&file, World::real(), Commits(Arc::clone(&commits)));
    let (store, mut writer) = opened.await.expect("the database opens");
    let fails = |number| number % 20 == 10;
    let changes: Vec<_> = (0..CHANGES)
        .map(|number| {
            let (store, fails) = (store.clone(), fails(number));
            tokio::spawn(async move { store.change(Write { number, fails }).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut batches = 0;
    while writer.step() {
        batches += 1;
    }
    for (number, change) in changes.into_iter().enumerate() {
        let ended = change.await.expect("it runs");
        assert_eq!(ended.is_err(), fails(number), "{number}: {ended:?}");
    }
    let mut reader = store.reader().await.expect("the database opens");
    for number in 0..CHANGES {
        let name = format!("write-{number}");
        let found = service_state::lookup(&mut reader.connection(), &name).await;
        let is_there = found.expect("the row can be read").is_some();
        assert_eq!(is_there, !fails(number), "{number}");
    }
    let commits = commits.load(Ordering::Relaxed);
    assert!(commits <= batches, "{commits} commits of {batches} batches");
    assert!(batches <= CHANGES / 10, "{batches} batches");
}
