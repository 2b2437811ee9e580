//! What outlives the processes of a simulation: its time, its randomness, the files of the database,
//! and the record of what happened.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use diesel::SqliteConnection;
use diesel::connection::Connection;
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use stratusd::world::World;

use crate::history::{Entry, OnBalancers, OnName, OnValue};

/// The time at the start, in milliseconds since 1970.
pub const START: i64 = 1_772_000_000_000;

/// What outlives the processes.
pub struct Ground {
    /// The time since the start in milliseconds, which only goes on.
    now: AtomicI64,
    /// How far the clock of the database is set ahead.
    offset: AtomicI64,
    /// When the clock of the database was set last.
    jumped: AtomicI64,
    /// How far the clock of each replica is ahead of that of the database.
    skews: [AtomicI64; 3],
    /// When the clock of a replica was set last.
    skewed: AtomicI64,
    /// Whether callers go on.
    pub is_busy: AtomicBool,
    /// Whether the provisioner stalls and fails.
    pub is_rough: AtomicBool,
    /// The number of callers in the middle of an operation.
    pub calls: AtomicI64,
    moments: AtomicU64,
    pub kept: Mutex<Kept>,
    random: Mutex<StdRng>,
    probe: Mutex<Option<SqliteConnection>>,
}

/// The record of a simulation.
#[derive(Default)]
pub struct Kept {
    /// The file of the database.
    pub file: PathBuf,
    /// What happened, a line for each event.
    pub trace: Vec<String>,
    /// The invariants that were broken.
    pub broken: Vec<String>,
    /// The process that drew each lease.
    pub leases: BTreeMap<String, u64>,
    /// The operations in progress, as they are recorded if no response comes.
    pub open: BTreeMap<u64, Event>,
    /// The operations with a response, and those whose response was lost.
    pub done: Vec<(u64, Option<u64>, Event)>,
    /// The ids of the private subnets that callers have seen.
    pub subnets: BTreeSet<String>,
    /// The ids of the inference keys that callers got.
    pub keys: BTreeSet<String>,
    /// The number of creates of inference keys without a response.
    pub keys_lost: usize,
    /// The names of the rows that acknowledged changes have written by themselves.
    pub whole: BTreeSet<String>,
    /// The number of acknowledged restarts, by database.
    pub restarts: BTreeMap<String, i64>,
    /// The passwords that the service shows at the end, by database.
    pub shown: BTreeMap<String, String>,
    /// The kinds of which a quota was used up.
    pub used_up: BTreeSet<&'static str>,
    /// Whether a revocation was tried, and when it was acknowledged.
    pub revoked: (bool, Option<i64>),
}

/// An operation on one of the registers.
#[derive(Debug, Clone)]
pub enum Event {
    /// On a name, of this kind.
    Name(String, OnName),
    /// On a value of this name.
    Value(String, OnValue),
    /// On the load balancers.
    Balancers(OnBalancers),
    /// The create of an inference key.
    Key,
}

impl Ground {
    pub fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self {
            now: AtomicI64::new(0),
            offset: AtomicI64::new(0),
            jumped: AtomicI64::new(i64::MIN / 2),
            skews: Default::default(),
            skewed: AtomicI64::new(i64::MIN / 2),
            is_busy: AtomicBool::new(true),
            is_rough: AtomicBool::new(true),
            calls: AtomicI64::new(0),
            moments: AtomicU64::new(1),
            kept: Mutex::default(),
            random: Mutex::new(StdRng::seed_from_u64(seed)),
            probe: Mutex::default(),
        })
    }

    pub fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("nobody panics with the lock")
    }

    /// Returns the time since the start, in milliseconds.
    pub fn now(&self) -> i64 {
        self.now.load(Ordering::SeqCst)
    }

    /// Returns the time of the clock of the database, in milliseconds since 1970.
    pub fn clock(&self) -> i64 {
        START + self.now() + self.offset.load(Ordering::SeqCst)
    }

    /// Lets time pass.
    pub fn pass(&self, millis: i64) {
        self.now.fetch_add(millis, Ordering::SeqCst);
    }

    /// Sets the clock forward, or back.
    pub fn jump(&self, millis: i64) {
        self.offset.fetch_add(millis, Ordering::SeqCst);
        self.jumped.store(self.now(), Ordering::SeqCst);
        self.trace(format_args!("the clock jumps by {millis}"));
    }

    /// Sets how far the clock of a replica is ahead of that of the database.
    pub fn skew(&self, slot: usize, millis: i64) {
        self.skews[slot].store(millis, Ordering::SeqCst);
        self.skewed.store(self.now(), Ordering::SeqCst);
        self.trace(format_args!(
            "the clock of replica {slot} is {millis} ahead"
        ));
    }

    /// Returns when the clock of the database was set last.
    pub fn jumped(&self) -> i64 {
        self.jumped.load(Ordering::SeqCst)
    }

    /// Returns when any clock was set last.
    pub fn any_jumped(&self) -> i64 {
        self.jumped().max(self.skewed.load(Ordering::SeqCst))
    }

    /// Returns the next moment of the history.
    pub fn moment(&self) -> u64 {
        self.moments.fetch_add(1, Ordering::SeqCst)
    }

    /// Draws a number below a bound.
    pub fn below(&self, bound: u64) -> u64 {
        let mut random = self.random.lock().expect("nobody panics with the lock");
        random.random_range(0..bound)
    }

    /// Draws true once in `n` calls.
    pub fn once_in(&self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Adds an event to the trace, with its time.
    pub fn trace(&self, line: fmt::Arguments<'_>) {
        let line = format!("{} {line}", self.now());
        self.kept().trace.push(line);
    }

    /// Records a broken invariant.
    pub fn broken(&self, what: String) {
        self.trace(format_args!("BROKEN {what}"));
        self.kept().broken.push(what);
    }

    /// Returns the world of a process, which has the clock of its replica.
    pub fn world(self: &Arc<Self>, process: u64, slot: usize) -> World {
        let (clock, database_clock) = (Arc::clone(self), Arc::clone(self));
        let ground = Arc::clone(self);
        let seed = self.below(u64::MAX);
        let random = Mutex::new(StdRng::seed_from_u64(seed));
        let entropy = move |bytes: &mut [u8]| {
            let mut random = random.lock().expect("nobody panics with the lock");
            random.fill_bytes(bytes);
            match bytes {
                // Networks are drawn by four bytes; from so few, many are taken.
                [_, _, _, _] => {
                    bytes.copy_from_slice(&random.random_range(0..6_u32).to_be_bytes());
                }
                // Only leases are drawn by sixteen bytes.
                _ => {
                    if let Ok(lease) = <[u8; 16]>::try_from(&*bytes) {
                        let lease = format!("{:032x}", u128::from_be_bytes(lease));
                        ground.kept().leases.insert(lease, process);
                    }
                }
            }
        };
        let clock = move || clock.clock() + clock.skews[slot].load(Ordering::SeqCst);
        World::new(clock, entropy).with_database_clock(move || database_clock.clock())
    }

    /// Runs a query beside the service.
    pub fn probe<T>(&self, ask: impl FnOnce(&mut SqliteConnection) -> T) -> T {
        let mut probe = self.probe.lock().expect("nobody panics with the lock");
        let connection = probe.get_or_insert_with(|| {
            let file = self.kept().file.display().to_string();
            SqliteConnection::establish(&file).expect("the file opens")
        });
        ask(connection)
    }

    /// Moves to another file. All connections to the first one are closed.
    pub fn move_to(&self, file: PathBuf) {
        *self.probe.lock().expect("nobody panics with the lock") = None;
        self.kept().file = file;
    }

    /// Begins an operation, which is recorded as `lost` if it gets no response.
    pub fn call(&self, lost: Event) -> u64 {
        let moment = self.moment();
        self.kept().open.insert(moment, lost);
        moment
    }

    /// Ends an operation: with what its response says, as lost, or, with `None`, as one that changed
    /// nothing and says nothing.
    pub fn back(&self, call: u64, said: Said) {
        let back = self.moment();
        let mut kept = self.kept();
        let Some(lost) = kept.open.remove(&call) else {
            return;
        };
        match said {
            Said::Nothing => {}
            Said::This(event) => kept.done.push((call, Some(back), event)),
            Said::Lost => kept.done.push((call, None, lost)),
        }
    }

    /// Returns the operations on each register.
    #[expect(clippy::type_complexity, reason = "a list for each kind of register")]
    pub fn histories(
        &self,
    ) -> (
        BTreeMap<String, Vec<Entry<OnName>>>,
        BTreeMap<String, Vec<Entry<OnValue>>>,
        Vec<Entry<OnBalancers>>,
    ) {
        let kept = self.kept();
        let lost = kept.open.iter().map(|(call, lost)| (*call, None, lost));
        let done = kept
            .done
            .iter()
            .map(|(call, back, event)| (*call, *back, event));
        let (mut names, mut values) = (BTreeMap::<_, Vec<_>>::new(), BTreeMap::<_, Vec<_>>::new());
        let mut balancers = Vec::new();
        for (call, back, event) in done.chain(lost) {
            match event.clone() {
                Event::Name(name, action) => {
                    names
                        .entry(name)
                        .or_default()
                        .push(Entry { call, back, action });
                }
                Event::Value(name, action) => {
                    values
                        .entry(name)
                        .or_default()
                        .push(Entry { call, back, action });
                }
                Event::Balancers(action) => balancers.push(Entry { call, back, action }),
                Event::Key => {}
            }
        }
        (names, values, balancers)
    }
}

/// What the response of an operation says.
pub enum Said {
    /// Nothing was changed, and nothing read.
    Nothing,
    /// This happened.
    This(Event),
    /// Anything may have happened.
    Lost,
}
