//! The machine that a simulation runs on: its processes, its disk, and the scheduler, which decides
//! by a seed what happens next.
//!
//! A process has a runtime of its own, whose clock stands still unless the scheduler moves it, and
//! which polls one task at a time. So the scheduler can let a process run for some polls, leave it
//! paused for any time, or drop it, which ends each of its tasks at the `await` that it has reached.
//! The writer of a process runs beside its tasks: at each moment that it reaches, other tasks run.

mod disk;

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use api_server::server::Config;
use disk::{Image, log_of};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use stratusd::operations::Context;
use stratusd::reconcile::{Reconciler, ReconcilerConfig, Steps};
use stratusd::seal::Sealer;
use stratusd::storage::{Moment, Stepped, StorageError, Store, Watch};
use stratusd::sweep::{self, Trail};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::caller::{Caller, see_all};
use crate::checks;
use crate::cloud::{Cloud, Door, LEASE, Leases};
use crate::ground::Ground;
use crate::template::{QUOTAS, Template};

/// The number of turns of the scheduler before it heals everything.
const TURNS: usize = 500;
/// How long the service has to bring everything to its target after the last fault. A lease that was
/// given before the clock was set back may last an hour.
const CONVERGED: i64 = 90 * 60_000;
/// The callers of each process.
const CALLERS: usize = 2;
/// How long an entry of the audit trail is kept, as by default: longer than a run.
const TRAIL: Trail = Trail {
    retention: Duration::from_hours(90 * 24),
    entries: 10_000,
};
/// A key, in base64.
const KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// The faults of a simulation. Each has only some of them, so that one does not hide another.
#[derive(Debug)]
struct Plan {
    crashes: bool,
    power_cuts: bool,
    stalls: bool,
    slow_disk: bool,
    failing_disk: bool,
    jumps: bool,
    /// The clocks of the replicas are not those of the database.
    skews: bool,
    checkpoints: bool,
}

/// The machine.
pub struct Host {
    pub ground: Arc<Ground>,
    cloud: Arc<Cloud>,
    template: Arc<Template>,
    folder: TempDir,
    random: RefCell<StdRng>,
    plan: Plan,
    slots: Vec<RefCell<Slot>>,
    processes: Cell<u64>,
    /// The number of files so far.
    files: Cell<u32>,
    /// What the disk has after a power cut that has just happened.
    cut: RefCell<Option<Image>>,
    /// Until when the disk fails.
    failing: Cell<i64>,
    is_healed: Cell<bool>,
    /// The number of transactions that were committed.
    pub commits: Cell<u64>,
    /// The lease of each database after the last commit.
    leases: RefCell<Leases>,
}

/// A place for a process.
enum Slot {
    Up(Rc<Process>),
    /// Starts again at this time.
    Down(i64),
}

struct Process {
    runtime: Runtime,
    writer: RefCell<Stepped<Watcher>>,
    number: u64,
    /// The time that the clock of the runtime shows.
    seen: Cell<i64>,
    is_killed: Cell<bool>,
    paused_until: Cell<i64>,
    writer_paused_until: Cell<i64>,
    /// The log before a commit that a power cut will tear.
    torn: RefCell<Option<Vec<u8>>>,
    router: api_server::server::Router,
    store: Store,
    world: stratusd::world::World,
}

/// Tells the machine what the writer of a slot does.
struct Watcher {
    host: Weak<Host>,
    slot: usize,
    number: u64,
}

impl Watch for Watcher {
    fn reached(&mut self, moment: Moment) -> Result<(), StorageError> {
        let host = self.host.upgrade();
        host.map_or(Ok(()), |host| host.reached(self.slot, self.number, moment))
    }
}

impl Host {
    pub fn new(seed: u64, folder: &Path, template: &Arc<Template>) -> Rc<Self> {
        let mut random = StdRng::seed_from_u64(seed);
        let mut some = || random.random_ratio(1, 2);
        let plan = Plan {
            crashes: some(),
            power_cuts: some(),
            stalls: some(),
            slow_disk: some(),
            failing_disk: some(),
            jumps: some(),
            skews: some(),
            checkpoints: some(),
        };
        let slots = if random.random_ratio(1, 4) { 1 } else { 3 };
        let ground = Ground::new(random.random());
        ground.trace(format_args!("{slots} processes, {plan:?}"));
        let host = Rc::new(Self {
            ground,
            cloud: Arc::default(),
            template: Arc::clone(template),
            folder: TempDir::new_in(folder).expect("a folder can be made"),
            random: RefCell::new(random),
            plan,
            slots: (0..slots).map(|_| RefCell::new(Slot::Down(0))).collect(),
            processes: Cell::new(0),
            files: Cell::new(0),
            cut: RefCell::new(None),
            failing: Cell::new(0),
            is_healed: Cell::new(false),
            commits: Cell::new(0),
            leases: RefCell::default(),
        });
        if host.plan.skews {
            for slot in 0..slots {
                host.skew(slot);
            }
        }
        host.write(&Image {
            database: template.bytes.clone(),
            log: Vec::new(),
        });
        host
    }

    /// Runs the simulation to its end.
    pub fn run(self: &Rc<Self>) {
        for _ in 0..TURNS {
            self.turn();
            if !self.ground.kept().broken.is_empty() {
                return;
            }
        }
        self.heal();
        checks::check(&self.ground, &self.cloud);
    }

    fn below(&self, bound: i64) -> i64 {
        self.random.borrow_mut().random_range(0..bound)
    }

    fn once_in(&self, n: u32) -> bool {
        self.random.borrow_mut().random_ratio(1, n)
    }

    fn file(&self) -> PathBuf {
        self.ground.kept().file.clone()
    }

    fn up(&self, slot: usize) -> Option<Rc<Process>> {
        match &*self.slots[slot].borrow() {
            Slot::Up(process) => Some(Rc::clone(process)),
            Slot::Down(_) => None,
        }
    }

    /// Does the next thing.
    fn turn(self: &Rc<Self>) {
        let slot = usize::try_from(self.below(3)).unwrap_or_default() % self.slots.len();
        match self.below(100) {
            0..55 => self.poll(slot, self.below(8) + 1),
            55..80 => self.step_writer(slot),
            80..97 => {
                let most =
                    [1, 10, 40, 150, 600][usize::try_from(self.below(5)).unwrap_or_default()];
                self.ground.pass(self.below(most) + 1);
            }
            _ => self.fault(slot),
        }
        for slot in 0..self.slots.len() {
            let is_due =
                matches!(*self.slots[slot].borrow(), Slot::Down(at) if at <= self.ground.now());
            if is_due {
                self.start(slot);
            }
        }
    }

    fn fault(self: &Rc<Self>, slot: usize) {
        let now = self.ground.now();
        match self.below(8) {
            0 if self.plan.crashes => self.kill(slot),
            1 if self.plan.power_cuts => {
                let image = Image::of(&self.file());
                self.cut_power(&image);
            }
            2 | 3 if self.plan.stalls => {
                if let Some(process) = self.up(slot) {
                    let until = now + self.below(4000);
                    self.ground.trace(format_args!(
                        "process {} is paused until {until}",
                        process.number
                    ));
                    process.paused_until.set(until);
                }
            }
            4 if self.plan.stalls => {
                if let Some(process) = self.up(slot) {
                    process.writer_paused_until.set(now + self.below(7000));
                }
            }
            5 if self.plan.failing_disk => self.failing.set(now + self.below(3000)),
            6 if self.plan.jumps && !(self.plan.skews && self.once_in(2)) => {
                let far = [
                    500,
                    3_000,
                    60_000,
                    20 * 60_000,
                    3 * 3_600_000,
                    72 * 3_600_000,
                ];
                let far = far[usize::try_from(self.below(6)).unwrap_or_default()];
                self.ground.jump(if self.once_in(2) { far } else { -far });
            }
            6 if self.plan.skews => self.skew(slot),
            7 if self.plan.checkpoints => self.ground.probe(|connection| {
                // It may be in the way of a reader, and then copies less.
                let _ = diesel::connection::SimpleConnection::batch_execute(
                    connection,
                    "PRAGMA wal_checkpoint(PASSIVE)",
                );
            }),
            _ => {}
        }
    }

    /// Sets the clock of a replica.
    fn skew(&self, slot: usize) {
        let far = [0, 200, 3_000, 60_000, 3_600_000, 72 * 3_600_000];
        let far = far[usize::try_from(self.below(6)).unwrap_or_default()];
        self.ground
            .skew(slot, if self.once_in(2) { far } else { -far });
    }

    /// Starts a process.
    fn start(self: &Rc<Self>, slot: usize) {
        let number = self.processes.get() + 1;
        self.processes.set(number);
        let ground = &self.ground;
        ground.trace(format_args!("process {number} starts"));
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            // One task at a time.
            .event_interval(1)
            .build()
            .expect("a runtime starts");
        let watcher = Watcher {
            host: Rc::downgrade(self),
            slot,
            number,
        };
        let world = ground.world(number, slot);
        let opened = runtime.block_on(Store::open_stepped(&self.file(), world.clone(), watcher));
        let (store, writer) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                ground.broken(format!("the database does not open: {error} {cause:?}"));
                *self.slots[slot].borrow_mut() = Slot::Down(i64::MAX);
                return;
            }
        };
        let context = Context {
            world: world.clone(),
            sealer: Arc::new(Sealer::parse(KEY).expect("the key is valid")),
            service_domain: "stratus.example".to_owned(),
            quotas: QUOTAS,
            postgres_offers: stratusd::provision::Offers::default(),
            idempotency_keys: 1000,
        };
        let served = Config::new().without_contract();
        let router = stratusd::api::router(&store, &context, None, served);
        let door = Door {
            cloud: Arc::clone(&self.cloud),
            ground: Arc::clone(ground),
            process: number,
            at_work: Mutex::default(),
        };
        let config = ReconcilerConfig {
            lease: LEASE,
            observe_every: Duration::from_secs(20),
            poll: Duration::from_millis(200),
            step_limit: Duration::from_secs(8),
            grace: Duration::from_secs(1),
            is_alone: self.slots.len() == 1,
        };
        let steps = Arc::new(Steps::default());
        let reconciler = Reconciler::new(store.clone(), context, door, config, steps);
        runtime.spawn(reconciler.run(CancellationToken::new()));
        runtime.spawn(sweep::run(
            store.clone(),
            world.clone(),
            TRAIL,
            CancellationToken::new(),
        ));
        if !self.is_healed.get() {
            for _ in 0..CALLERS {
                let caller = Caller::new(ground, &router, &store, &world, &self.template);
                runtime.spawn(caller.run());
            }
        }
        *self.slots[slot].borrow_mut() = Slot::Up(Rc::new(Process {
            runtime,
            writer: RefCell::new(writer),
            number,
            seen: Cell::new(ground.now()),
            is_killed: Cell::new(false),
            paused_until: Cell::new(0),
            writer_paused_until: Cell::new(0),
            torn: RefCell::new(None),
            router,
            store,
            world,
        }));
    }

    /// Kills a process.
    fn kill(&self, slot: usize) {
        let Some(process) = self.up(slot) else {
            return;
        };
        self.ground
            .trace(format_args!("process {} is killed", process.number));
        let others = (0..self.slots.len()).filter(|other| *other != slot);
        if others.into_iter().all(|other| self.up(other).is_none()) {
            // The last connection to a file copies the log into it when it is closed, which a process
            // that is killed does not.
            let image = Image::of(&self.file());
            drop(process);
            self.drop_all();
            self.write(&image);
        }
        let again = self.ground.now() + self.below(1500);
        *self.slots[slot].borrow_mut() = Slot::Down(again);
    }

    fn drop_all(&self) {
        for slot in &self.slots {
            let again = self.ground.now() + self.below(1500);
            slot.replace(Slot::Down(again));
        }
    }

    /// Lets the tasks of a process run, for a number of polls.
    fn poll(&self, slot: usize, polls: i64) {
        let Some(process) = self.up(slot) else {
            return;
        };
        let now = self.ground.now();
        if process.is_killed.get() || process.paused_until.get() > now {
            return;
        }
        let behind = u64::try_from(now - process.seen.replace(now)).unwrap_or_default();
        process.runtime.block_on(async {
            if behind > 0 {
                tokio::time::advance(Duration::from_millis(behind)).await;
            }
            let mut left = polls;
            // It is ready again at once, so the runtime never waits and never moves its own clock.
            poll_fn(|context| {
                left -= 1;
                context.waker().wake_by_ref();
                if left < 0 {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
        });
    }

    /// Lets the writer of a process commit what is waiting.
    fn step_writer(&self, slot: usize) {
        let Some(process) = self.up(slot) else {
            return;
        };
        let is_paused = process
            .paused_until
            .get()
            .max(process.writer_paused_until.get())
            > self.ground.now();
        if process.is_killed.get() || is_paused {
            return;
        }
        // Taken if this writer is in the middle of a step.
        let Ok(mut writer) = process.writer.try_borrow_mut() else {
            return;
        };
        let guard = process.runtime.enter();
        writer.step();
        drop(guard);
        drop(writer);
        let is_within = (0..self.slots.len())
            .filter_map(|slot| self.up(slot))
            .any(|process| process.writer.try_borrow_mut().is_err());
        if is_within {
            return;
        }
        drop(process);
        let cut = self.cut.borrow_mut().take();
        if let Some(image) = cut {
            self.cut_power(&image);
        }
        // Also those that ended while another writer was at work.
        for slot in 0..self.slots.len() {
            if self.up(slot).is_some_and(|process| process.is_killed.get()) {
                self.kill(slot);
            }
        }
    }

    /// Decides what happens while a writer is at a moment.
    fn reached(&self, slot: usize, number: u64, moment: Moment) -> Result<(), StorageError> {
        let lost = || Err(StorageError::Unavailable("the process is gone".into()));
        let Some(process) = self.up(slot).filter(|process| process.number == number) else {
            return Ok(());
        };
        if process.is_killed.get() {
            return lost();
        }
        if moment == Moment::Committed {
            self.commits.set(self.commits.get() + 1);
            self.ensure_own_leases_end(number);
        }
        // What a power cut will tear is not synced yet, and SQLite shows nobody what is not synced.
        if process.torn.borrow().is_none() {
            self.meanwhile(slot);
        }
        if self.is_healed.get() {
            return Ok(());
        }
        if self.cut.borrow().is_some() {
            process.is_killed.set(true);
            return lost();
        }
        let torn = process.torn.borrow_mut().take();
        match moment {
            Moment::Begin | Moment::Commit
                if self.failing.get() > self.ground.now() && !self.once_in(3) =>
            {
                self.ground
                    .trace(format_args!("the disk fails at {moment:?}"));
                return Err(StorageError::Unavailable("disk I/O error".into()));
            }
            Moment::Commit if self.plan.power_cuts && self.once_in(80) => {
                self.cut.replace(Some(Image::of(&self.file())));
            }
            Moment::Commit if self.plan.power_cuts && self.once_in(40) => {
                let log = std::fs::read(log_of(&self.file())).unwrap_or_default();
                process.torn.replace(Some(log));
                return Ok(());
            }
            Moment::Committed if torn.is_some() => {
                let mut image = Image::of(&self.file());
                image.log = self.tear(&torn.unwrap_or_default(), &image.log);
                self.cut.replace(Some(image));
            }
            Moment::Commit | Moment::Committed if self.plan.crashes && self.once_in(60) => {}
            _ => return Ok(()),
        }
        self.ground
            .trace(format_args!("process {number} ends at {moment:?}"));
        process.is_killed.set(true);
        lost()
    }

    /// Checks that a commit of a process has ended no lease of another one: a worker that has lost its
    /// lease must not write the result of its step. A process that is alone ends the leases of those
    /// before it.
    fn ensure_own_leases_end(&self, number: u64) {
        let now = Leases::of(&self.ground);
        for ended in self.leases.replace(now.clone()).ended(&now) {
            let holder = self.ground.kept().leases.get(&ended).copied();
            if self.slots.len() > 1 && holder != Some(number) {
                self.ground.broken(format!(
                    "process {number} ends a lease of process {holder:?}"
                ));
            }
        }
    }

    /// Lets the other threads of a process run while its writer is at work, and other processes.
    fn meanwhile(&self, slot: usize) {
        if self.once_in(2) {
            self.poll(slot, self.below(12) + 1);
        }
        if self.once_in(6) {
            let other = usize::try_from(self.below(3)).unwrap_or_default() % self.slots.len();
            self.poll(other, self.below(12) + 1);
            // It finds the file locked.
            if self.once_in(4) {
                self.step_writer(other);
            }
        }
        if self.plan.slow_disk && !self.is_healed.get() && self.once_in(12) {
            self.ground.pass(self.below(3000));
            self.poll(slot, 12);
        }
    }

    /// Ends all faults, and lets everything come to rest.
    fn heal(self: &Rc<Self>) {
        let ground = &self.ground;
        ground.trace(format_args!("all faults end"));
        self.is_healed.set(true);
        ground.is_busy.store(false, Ordering::SeqCst);
        ground.is_rough.store(false, Ordering::SeqCst);
        for slot in 0..self.slots.len() {
            match self.up(slot) {
                Some(process) => {
                    process.paused_until.set(0);
                    process.writer_paused_until.set(0);
                }
                None => self.start(slot),
            }
        }
        let begun = ground.now();
        self.rest(begun, || {
            ground.calls.load(Ordering::SeqCst) == 0 && checks::is_converged(ground, &self.cloud)
        });
        let Some(process) = self.up(0) else {
            return;
        };
        ground.calls.fetch_add(1, Ordering::SeqCst);
        let caller = Caller::new(
            ground,
            &process.router,
            &process.store,
            &process.world,
            &self.template,
        );
        process.runtime.spawn(see_all(caller));
        self.rest(ground.now(), || ground.calls.load(Ordering::SeqCst) == 0);
    }

    /// Runs everything until a condition holds.
    fn rest(&self, begun: i64, is_done: impl Fn() -> bool) {
        let ground = &self.ground;
        let mut pause = 20.0_f64;
        while !is_done() {
            if ground.now() - begun > CONVERGED {
                let rows = checks::rows(ground);
                ground.broken(format!("the service does not come to rest: {rows}"));
                return;
            }
            for slot in 0..self.slots.len() {
                self.poll(slot, 16);
                self.step_writer(slot);
                self.poll(slot, 16);
            }
            // Slower and slower, since only waits are left in the end.
            #[expect(clippy::cast_possible_truncation, reason = "it is at most two seconds")]
            ground.pass(pause as i64);
            pause = (pause * 1.03).min(2000.0);
        }
    }
}
