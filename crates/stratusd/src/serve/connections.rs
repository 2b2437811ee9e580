//! The limit on the number of open connections, which are shared between the sites that they come from.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::net::TcpStream;

use super::times::{Activity, Rest};
use crate::site::Site;

/// The number of connections of sites with more that are looked at for one that can be closed for a new
/// one. Half of them are of the sites with the most.
const LOOKS: usize = 32;
/// The number of connections of one of these sites that are looked at before those of the next one, and of
/// those of sites with as many.
const EACH: usize = 8;
/// The maximum number of connections that are being closed for new ones, and so may be open beyond the
/// limit.
const CLOSING: usize = 32;
/// How long a connection must have waited for a request before it is closed for another one: the response to
/// the last one is on its way for a while, and so may be the next request. One that has had no request is
/// closed at once for a site that has less.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a request must have waited for its caller before its connection is closed for another one:
/// longer than networks that lose something stop for.
const STALLED: Duration = Duration::from_secs(5);
/// A line about connections that were closed or refused is logged if there was none for this time.
const QUIET: Duration = Duration::from_mins(1);

/// What is counted about connections.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectionCounts {
    /// The open connections.
    pub open: Gauge,
    /// The connections that were closed for new ones.
    pub closed: Counter,
    /// The connections that were refused, because no other one could be closed for them.
    pub refused: Counter,
}

impl ConnectionCounts {
    /// Adds the metrics of open, closed and refused connections, by these names.
    pub(crate) fn register(&self, registry: &mut Registry, names: [&str; 3]) {
        let [open, closed, refused] = names;
        registry.register(open, "Open connections", self.open.clone());
        registry.register(
            closed,
            "Connections that were closed because others wanted their place",
            self.closed.clone(),
        );
        registry.register(
            refused,
            "Connections that were closed at once because too many were open",
            self.refused.clone(),
        );
    }
}

/// The open connections of a listener, and their limit. Clones share them.
///
/// While the maximum number of connections is open, a new one takes the place of another one that waits
/// for its caller: of one of the site that has the most. So a site can use all of them while nobody else
/// wants any, and has at least as many as any other one if it wants them.
#[derive(Debug, Clone)]
pub(crate) struct Connections {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    most: usize,
    counts: ConnectionCounts,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// The number of connections, without those that are being closed for others.
    open: usize,
    /// The number of connections that are being closed for others.
    closing: usize,
    lines: HashMap<Site, SiteLine>,
    /// The sites with the number of their connections and their turn.
    by_number: BTreeSet<(usize, Reverse<u64>, Site)>,
    /// The sites of all connections, in the order in which these were opened or last looked at.
    order: BTreeMap<u64, Site>,
    /// The next number of a connection or of a turn.
    next: u64,
    /// When a line was logged.
    logged: Option<Instant>,
}

/// The connections of a site.
#[derive(Debug)]
struct SiteLine {
    /// The number of the turn in which they were last looked at.
    turn: u64,
    /// The connections, in the order in which they are to be looked at.
    seats: BTreeMap<u64, Arc<Seat>>,
}

/// Where a stream comes from.
pub(super) trait Origin {
    /// Returns the address of the caller.
    ///
    /// # Errors
    ///
    /// If the connection has ended.
    fn peer(&self) -> io::Result<IpAddr>;
}

impl Origin for TcpStream {
    fn peer(&self) -> io::Result<IpAddr> {
        self.peer_addr().map(|address| address.ip())
    }
}

impl Connections {
    /// Creates a limit of a number of connections.
    pub(crate) fn new(most: u32, counts: ConnectionCounts) -> Self {
        Self {
            shared: Arc::new(Shared {
                most: usize::try_from(most).unwrap_or(usize::MAX),
                counts,
                table: Mutex::default(),
            }),
        }
    }

    /// Counts a new connection, until what this returns is dropped. Closes another one if there are too
    /// many.
    ///
    /// # Errors
    ///
    /// If there are too many, and none can be closed.
    pub(super) fn admit(&self, site: Site, activity: &Arc<Activity>) -> io::Result<Admission> {
        let shared = &self.shared;
        let mut table = shared.table();
        if table.open >= shared.most {
            let closed = table.make_room(site);
            let (counter, what) = if closed {
                (&shared.counts.closed, "the oldest that wait are closed")
            } else {
                (&shared.counts.refused, "new ones are refused")
            };
            counter.inc();
            table.log(shared.most, what);
            if !closed {
                // Close it at once instead of letting it wait: a waiting connection costs the file
                // descriptor and memory that the limit is there to save.
                return Err(io::Error::other("too many connections"));
            }
        }
        shared.counts.open.inc();
        Ok(Admission {
            shared: Arc::clone(shared),
            seat: table.add(site, activity),
        })
    }
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Closes a connection for a new one of a site. Returns whether there was one that could be closed.
    fn make_room(&mut self, site: Site) -> bool {
        if self.closing >= CLOSING {
            return false;
        }
        let own = self.lines.get(&site).map_or(0, |line| line.seats.len());
        let after_a_while = |rest| match rest {
            Rest::Unused(time) | Rest::Idle(time) => time >= PATIENCE,
            Rest::Stalled(time) => time >= STALLED,
        };
        let at_once = |rest| matches!(rest, Rest::Unused(_)) || after_a_while(rest);
        // Such a one keeps at least as many as this site then has.
        let larger: Vec<_> = (self.by_number.iter().rev())
            .take_while(|(count, ..)| *count >= own + 2)
            .take(LOOKS)
            .map(|(.., site)| *site)
            .collect();
        // A site that has as many as the others replaces its own.
        let equal = match own {
            0 => (self.by_number.range(..(2, Reverse(u64::MAX), site)).rev())
                .take(EACH)
                .map(|(.., site)| *site)
                .collect(),
            _ => vec![site],
        };
        self.close_one_of(&larger, LOOKS / 2, at_once)
            || self.close_any(LOOKS / 2, own + 2, at_once)
            || self.close_one_of(&equal, EACH, after_a_while)
    }

    /// Closes the connection of one of several sites that has waited for its caller for long enough. Looks
    /// at some of each site in turn, and at no more than `looks` in all.
    fn close_one_of(
        &mut self,
        sites: &[Site],
        mut looks: usize,
        is_enough: impl Fn(Rest) -> bool + Copy,
    ) -> bool {
        for site in sites.iter().cycle() {
            let looked = self.look_at(*site, EACH.min(looks));
            if looked.is_empty() {
                return false;
            }
            looks -= looked.len();
            if self.close_longest(&looked, is_enough) {
                return true;
            }
        }
        false
    }

    /// Closes one of the connections that were not looked at for the longest time, of whichever site has at
    /// least `most`. So busy sites with many connections do not hide those of others.
    fn close_any(
        &mut self,
        looks: usize,
        most: usize,
        is_enough: impl Fn(Rest) -> bool + Copy,
    ) -> bool {
        let first = self.order.iter().take(looks);
        let first: Vec<_> = first.map(|(number, site)| (*number, *site)).collect();
        let mut looked = Vec::new();
        for (number, site) in first {
            let Some(line) = self.lines.get_mut(&site) else {
                continue;
            };
            let Some(seat) = line.seats.remove(&number) else {
                continue;
            };
            let has_many = line.seats.len() + 1 >= most;
            self.put_last(site, &seat, number);
            if has_many {
                looked.push(seat);
            }
        }
        self.close_longest(&looked, is_enough)
    }

    /// Closes the connection that has waited for its caller for the longest time, and for long enough.
    fn close_longest(
        &mut self,
        looked: &[Arc<Seat>],
        is_enough: impl Fn(Rest) -> bool + Copy,
    ) -> bool {
        let mut longest: Option<(Rest, &Arc<Seat>)> = None;
        for seat in looked {
            if let Some(rest) = seat.activity.rest()
                && is_enough(rest)
                && longest.is_none_or(|(longest, _)| rest.time() > longest.time())
            {
                longest = Some((rest, seat));
            }
        }
        let Some((_, seat)) = longest.filter(|(_, seat)| seat.activity.close_if(is_enough)) else {
            return false;
        };
        self.remove(seat.site, seat.number.load(Ordering::Relaxed));
        self.closing += 1;
        true
    }

    /// Puts a connection last in the orders, out of which it was taken at `number`.
    fn put_last(&mut self, site: Site, seat: &Arc<Seat>, number: u64) {
        self.order.remove(&number);
        self.order.insert(self.next, site);
        seat.number.store(self.next, Ordering::Relaxed);
        if let Some(line) = self.lines.get_mut(&site) {
            line.seats.insert(self.next, Arc::clone(seat));
        }
        self.next += 1;
    }

    /// Returns some of the connections of a site, at most `count`. It returns others the next time.
    fn look_at(&mut self, site: Site, count: usize) -> Vec<Arc<Seat>> {
        let mut looked = Vec::new();
        let all = self.lines.get(&site).map_or(0, |line| line.seats.len());
        for _ in 0..count.min(all) {
            let first = self.lines.get_mut(&site);
            let Some((number, seat)) = first.and_then(|line| line.seats.pop_first()) else {
                break;
            };
            self.put_last(site, &seat, number);
            looked.push(seat);
        }
        let Some(line) = self.lines.get_mut(&site) else {
            return looked;
        };
        let count = line.seats.len();
        self.by_number.remove(&(count, Reverse(line.turn), site));
        line.turn = self.next;
        self.by_number.insert((count, Reverse(line.turn), site));
        looked
    }

    fn add(&mut self, site: Site, activity: &Arc<Activity>) -> Arc<Seat> {
        let number = self.next;
        self.next += 1;
        let seat = Arc::new(Seat {
            site,
            activity: Arc::clone(activity),
            number: number.into(),
        });
        self.open += 1;
        let line = self.lines.entry(site).or_insert_with(|| SiteLine {
            turn: number,
            seats: BTreeMap::new(),
        });
        let turn = Reverse(line.turn);
        self.by_number.remove(&(line.seats.len(), turn, site));
        line.seats.insert(number, Arc::clone(&seat));
        self.by_number.insert((line.seats.len(), turn, site));
        self.order.insert(number, site);
        seat
    }

    fn remove(&mut self, site: Site, number: u64) {
        let Some(line) = self.lines.get_mut(&site) else {
            return;
        };
        let before = line.seats.len();
        if line.seats.remove(&number).is_none() {
            return;
        }
        self.open -= 1;
        self.order.remove(&number);
        let (left, turn) = (line.seats.len(), Reverse(line.turn));
        self.by_number.remove(&(before, turn, site));
        if left == 0 {
            self.lines.remove(&site);
        } else {
            self.by_number.insert((left, turn, site));
        }
    }

    /// Logs that connections are closed or refused, if no such line was logged lately.
    fn log(&mut self, most: usize, what: &str) {
        if self.logged.is_none_or(|logged| logged.elapsed() >= QUIET) {
            self.logged = Some(Instant::now());
            let sites = self.lines.len();
            let largest = self.by_number.last().map(|(count, ..)| count);
            tracing::warn!(
                most,
                sites,
                largest,
                "as many connections are open as may be, so {what}"
            );
        }
    }
}

/// The place of a connection in the [`Table`].
#[derive(Debug)]
struct Seat {
    site: Site,
    activity: Arc<Activity>,
    /// The number in the line of the site. It changes only while the table is locked.
    number: AtomicU64,
}

/// A connection that counts towards the limit of [`Connections`] until this is dropped.
#[derive(Debug)]
pub(super) struct Admission {
    shared: Arc<Shared>,
    seat: Arc<Seat>,
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.shared.counts.open.dec();
        let mut table = self.shared.table();
        if self.seat.activity.is_closed() {
            table.closing -= 1;
        } else {
            table.remove(self.seat.site, self.seat.number.load(Ordering::Relaxed));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::super::times::OpenRequest;
    use super::*;

    /// The connections of a test, with the activity of each.
    struct Scene {
        connections: Connections,
        open: Vec<(Site, Arc<Activity>, Admission)>,
    }

    impl Scene {
        fn new(most: u32) -> Self {
            Self {
                connections: Connections::new(most, ConnectionCounts::default()),
                open: Vec::new(),
            }
        }

        /// Opens a connection from a site, and returns whether it was admitted. Those that are closed for it
        /// end at once.
        fn open(&mut self, site: Site) -> bool {
            let activity = Arc::new(Activity::new());
            let Ok(admission) = self.connections.admit(site, &activity) else {
                return false;
            };
            self.open.push((site, activity, admission));
            self.open.retain(|(_, activity, _)| !activity.is_closed());
            true
        }

        /// Lets a request begin on a connection.
        fn begin(&self, number: usize) -> Arc<OpenRequest> {
            let request = self.open[number].1.begin(false);
            Arc::new(request.expect("it is open"))
        }

        fn count(&self, site: Site) -> usize {
            self.open.iter().filter(|(of, ..)| *of == site).count()
        }
    }

    fn site(last: u8) -> Site {
        Site::from(IpAddr::from([192, 0, 2, last]))
    }

    #[tokio::test(start_paused = true)]
    async fn each_site_that_wants_more_has_as_many_as_another() {
        let mut scene = Scene::new(9);
        let [first, second, third] = [1, 2, 3].map(site);
        for _ in 0..9 {
            assert!(scene.open(first));
        }
        // No other one of the same site has had the time to send its request.
        assert!(!scene.open(first));
        for _ in 0..4 {
            assert!(scene.open(second));
        }
        assert!(!scene.open(second));
        assert_eq!((scene.count(first), scene.count(second)), (5, 4));
        for _ in 0..3 {
            assert!(scene.open(third));
        }
        assert!(!scene.open(third));
        assert_eq!([first, second, third].map(|site| scene.count(site)), [3; 3]);
        // A site makes room for its own ones after a while, the oldest first.
        advance(PATIENCE).await;
        let oldest = |scene: &Scene| {
            let mut of_second = scene.open.iter().filter(|(of, ..)| *of == second);
            of_second
                .next()
                .map(|(_, activity, _)| Arc::clone(activity))
        };
        let before = oldest(&scene).expect("there is one");
        assert!(scene.open(second));
        assert!(before.is_closed());
        assert_eq!([first, second, third].map(|site| scene.count(site)), [3; 3]);
        scene.open.clear();
        let table = scene.connections.shared.table();
        assert_eq!((table.open, table.closing), (0, 0));
        assert!(table.lines.is_empty() && table.by_number.is_empty() && table.order.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn busy_connections_stay_and_others_are_found_in_the_end() {
        let mut scene = Scene::new(100);
        let (first, second) = (site(1), site(2));
        let mut busy = Vec::new();
        for number in 0..100 {
            assert!(scene.open(first));
            // The last one alone waits for its caller.
            if number < 99 {
                busy.push(scene.begin(number));
            }
        }
        let admitted: Vec<_> = (0..4).map(|_| scene.open(second)).collect();
        assert_eq!(admitted, [false, false, false, true]);
        assert_eq!(scene.count(first), 99);
        // A request that waits for its caller for long keeps no connection, and one that is served does.
        let wait = busy[3].await_body(true);
        advance(Duration::from_millis(4_999)).await;
        let early: Vec<_> = (0..4).map(|_| scene.open(second)).collect();
        // The new site has one of its own that waits for a request, and makes room for one.
        assert_eq!(early, [true, false, false, false]);
        assert_eq!(scene.count(first), 99);
        drop(wait);
        let unread = busy[3].await_reader();
        advance(Duration::from_millis(2)).await;
        for _ in 0..4 {
            scene.open(second);
        }
        assert_eq!(scene.count(first), 99);
        advance(STALLED).await;
        let late = (0..4).filter(|_| scene.open(second)).count();
        assert!(late >= 1 && scene.count(first) == 98, "{late}");
        drop(unread);
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_site_and_equal_ones_keep_no_other_one_out() {
        // The largest site is busy, and the others are not.
        let mut scene = Scene::new(50);
        let busy: Vec<_> = (0..40)
            .map(|number| {
                assert!(scene.open(site(200)));
                scene.begin(number)
            })
            .collect();
        for number in 0..10 {
            assert!(scene.open(site(number % 3)));
        }
        assert!(scene.open(site(100)));
        assert_eq!(scene.count(site(200)), busy.len());
        // Nor do several busy ones hide one that has less.
        let mut scene = Scene::new(60);
        let mut busy = Vec::new();
        for (of, count) in [(0, 13), (1, 13), (2, 13), (3, 13), (4, 8)] {
            for _ in 0..count {
                assert!(scene.open(site(of)));
                if of < 4 {
                    busy.push(scene.begin(scene.open.len() - 1));
                }
            }
        }
        assert!((0..4).any(|_| scene.open(site(100))));
        assert_eq!(scene.count(site(4)), 7);
        drop(busy);
        // Of sites with one connection each, others are looked at each time: here the busy ones first.
        let mut scene = Scene::new(20);
        for number in 0..20 {
            assert!(scene.open(site(number)));
        }
        advance(PATIENCE).await;
        let busy: Vec<_> = (0..EACH).map(|number| scene.begin(number)).collect();
        assert!(!scene.open(site(100)));
        for number in 100..110 {
            assert!(scene.open(site(number)), "{number}");
        }
        let left = (0..20).filter(|number| scene.count(site(*number)) == 1);
        assert_eq!(left.count(), busy.len() + 2);
    }

    #[tokio::test(start_paused = true)]
    async fn no_request_begins_or_goes_on_on_a_connection_that_is_closed() {
        let activity = Arc::new(Activity::new());
        let request = Arc::new(activity.begin(false).expect("it is open"));
        assert!(!activity.close_if(|_| true));
        // A byte now and then is no movement.
        assert!(request.await_body(true).end());
        advance(STALLED).await;
        let wait = request.await_body(false);
        let stalled = |rest| matches!(rest, Rest::Stalled(time) if time >= STALLED);
        assert!(activity.close_if(stalled));
        assert!(!wait.end());
        drop(request);
        assert!(activity.begin(false).is_none());
        let activity = Arc::new(Activity::new());
        drop(activity.begin(false).expect("it is open"));
        advance(PATIENCE).await;
        activity.note_sent();
        assert_eq!(activity.rest(), Some(Rest::Idle(Duration::ZERO)));
        assert!(activity.close_if(|rest| matches!(rest, Rest::Idle(_))));
        assert!(activity.begin(false).is_none());
        assert!(!activity.is_one_open());
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_than_a_few_are_being_closed() {
        let connections = Connections::new(100, ConnectionCounts::default());
        let mut kept = Vec::new();
        let mut admit = |site: Site| {
            let activity = Arc::new(Activity::new());
            let admitted = connections.admit(site, &activity);
            admitted.map(|admission| kept.push(admission)).is_ok()
        };
        for _ in 0..100 {
            assert!(admit(site(1)));
        }
        let admitted = (0..50).filter(|_| admit(site(2))).count();
        assert_eq!(admitted, CLOSING);
        assert_eq!(connections.shared.counts.open.get(), 132);
        drop(kept);
        assert_eq!(connections.shared.counts.open.get(), 0);
    }
}
