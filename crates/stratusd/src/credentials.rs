//! Lookups of credentials, of which the store has only hashes: what is the same for tokens of the
//! API and for inference keys.

mod known;

use std::sync::Arc;
use std::time::Duration;

use api_types::ProjectId;
use subtle::ConstantTimeEq;
use tokio::time::{Instant, timeout};

use crate::shares::{Most, Part, Shares, Wanted};
use crate::site::Site;
use crate::storage::{Owner, StorageError, WAIT};
use known::{Knowledge, Known};

/// The hash of a whole credential.
pub(crate) type Hash = [u8; 32];

/// What the hash of a credential is compared with if none is stored.
const NO_HASH: Hash = [0; 32];
/// The number of credentials that are known at most: four times as many keys as a project may have by
/// default.
const CAPACITY: usize = 40_000;
/// The maximum number of lookups at a time of credentials that were never found before.
const NEWCOMERS: usize = 4;
/// The maximum number of requests from one site that wait for the lookup of a credential which was never
/// found before. Each is a request in progress on a connection, of which the listener has a limit.
const MOST_WAITING: usize = 256;

/// A credential as it is stored.
pub(crate) trait Stored: Clone {
    /// Returns the hash of the whole credential.
    fn hash(&self) -> &[u8];

    /// Returns the id of the project that it belongs to.
    fn project(&self) -> &ProjectId;
}

/// Looks up credentials, and remembers those that are found.
#[derive(Debug)]
pub(crate) struct Lookups<S> {
    /// Credentials by the hash of what the caller presents, so that not every request reads the
    /// store. A cache by id would show by its speed which ids exist.
    known: Known<S>,
    newcomers: Newcomers,
}

/// Why a credential cannot be looked up.
#[derive(Debug)]
pub(crate) enum Unchecked {
    /// Too many credentials that were never found before wait for their lookup, from the same site, or this
    /// one has waited for [`WAIT`].
    Busy,
    Storage(StorageError),
}

impl From<StorageError> for Unchecked {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl<S: Stored> Lookups<S> {
    /// Creates lookups whose results are cached for `lifetime`. One that is revoked works at most
    /// this long.
    pub(crate) fn new(lifetime: Duration) -> Self {
        Self {
            known: Known::new(lifetime, CAPACITY),
            newcomers: Newcomers::new(),
        }
    }

    /// Looks up the credential that has a hash; `None` if there is none. `site` is where its caller is, if
    /// that is known. `read` reads it from the store, in the turn of an owner, and may return another one.
    ///
    /// What is done, and so the time, does not depend on what is stored: a credential that is not
    /// cached is read, and a hash is compared.
    ///
    /// # Errors
    ///
    /// If the store fails, or too many credentials that are not known wait for their lookup, or this one waits
    /// for too long.
    pub(crate) async fn lookup<R>(
        &self,
        hash: Hash,
        site: Option<Site>,
        read: impl FnOnce(Owner) -> R,
    ) -> Result<Option<S>, Unchecked>
    where
        R: Future<Output = Result<Option<S>, StorageError>>,
    {
        let (owner, _turn) = match self.known.get(&hash) {
            Knowledge::Fresh(found) => return Ok(Some(found)),
            Knowledge::Stale(project) => (Owner::Project(project), None),
            Knowledge::None => {
                let turn = self.newcomers.wait(site).await.ok_or(Unchecked::Busy)?;
                (Owner::Unknown, Some(turn))
            }
        };
        Ok(self.read(hash, read(owner)).await?)
    }

    /// Looks up a credential that its caller has found before, as [`Lookups::lookup`] does, but waits
    /// for no turn: by then it may be forgotten, and its end must be noticed however many invented
    /// credentials wait.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub(crate) async fn look_again(
        &self,
        hash: Hash,
        read: impl Future<Output = Result<Option<S>, StorageError>>,
    ) -> Result<Option<S>, StorageError> {
        match self.known.get(&hash) {
            Knowledge::Fresh(found) => Ok(Some(found)),
            Knowledge::Stale(_) | Knowledge::None => self.read(hash, read).await,
        }
    }

    async fn read(
        &self,
        hash: Hash,
        read: impl Future<Output = Result<Option<S>, StorageError>>,
    ) -> Result<Option<S>, StorageError> {
        // Before the read: what is revoked while the result is on its way must not work for longer.
        let since = Instant::now();
        let read = read.await?;
        let stored = read.as_ref().map_or(&NO_HASH[..], Stored::hash);
        // In constant time, so that the time says nothing about the hash.
        let is_same: bool = stored.ct_eq(&hash).into();
        let found = read.filter(|_| is_same);
        // Credentials that do not exist are not cached: callers could fill the cache with invented
        // ones, and a new credential would not work at once.
        match &found {
            Some(found) => self.known.insert(since, hash, found.clone()),
            None => self.known.remove(&hash),
        }
        Ok(found)
    }
}

/// The lookups of credentials that were never found before. Anybody can invent credentials, so these
/// must not take the connections of requests whose credentials are known. Each site has a line of its own,
/// and all lines are served in turn.
#[derive(Debug)]
struct Newcomers {
    lookups: Arc<Shares<Option<Site>>>,
}

impl Newcomers {
    fn new() -> Self {
        let most = Most {
            all: NEWCOMERS,
            each: NEWCOMERS,
            leaves_as_much: false,
        };
        Self {
            lookups: Arc::new(Shares::new(most)),
        }
    }

    /// Waits until a credential from a site may be looked up. Returns `None` if too many from there wait
    /// already, or after [`WAIT`].
    async fn wait(&self, site: Option<Site>) -> Option<Part<Option<Site>>> {
        let one = Wanted {
            amount: 1,
            beside: 0,
        };
        let waiting = self.lookups.wait_behind(&site, one, MOST_WAITING);
        timeout(WAIT, waiting).await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::net::IpAddr;

    use futures_util::FutureExt;

    use super::*;

    pub(super) const QUIET: &str = "pjqqqqqqqqqqqqqqqqqqqqqqqq";
    pub(super) const HOSTILE: &str = "pjhhhhhhhhhhhhhhhhhhhhhhhh";

    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(super) struct Credential {
        pub(super) hash: Hash,
        project: ProjectId,
    }

    impl Stored for Credential {
        fn hash(&self) -> &[u8] {
            &self.hash
        }

        fn project(&self) -> &ProjectId {
            &self.project
        }
    }

    /// Returns the credential of a project with a number.
    pub(super) fn credential(project: &str, number: u16) -> Credential {
        let mut hash = [0; 32];
        hash[..2].copy_from_slice(&number.to_be_bytes());
        let project = project.to_owned().try_into().expect("it is an id");
        Credential { hash, project }
    }

    #[tokio::test(start_paused = true)]
    async fn invented_credentials_delay_no_known_one() {
        const LIFETIME: Duration = Duration::from_millis(400);
        let lookups = Lookups::new(LIFETIME);
        let known = credential(QUIET, 0);
        let read = |_| std::future::ready(Ok(Some(known.clone())));
        let found = lookups.lookup(known.hash, None, read).await;
        assert_eq!(found.expect("there is room"), Some(known.clone()));
        let mut invented: Vec<_> = (1..1000)
            .map(|number| {
                let hash = credential(HOSTILE, number).hash;
                Box::pin(lookups.lookup(hash, None, |_| pending()))
            })
            .collect();
        let refused = invented
            .iter_mut()
            .filter_map(|it| it.as_mut().now_or_never());
        let refused = refused.filter(|it| matches!(it, Err(Unchecked::Busy)));
        assert_eq!(refused.count(), 999 - NEWCOMERS - MOST_WAITING);
        // After its lifetime it is read again, and at once.
        for _ in 0..2 {
            tokio::time::advance(LIFETIME).await;
            let found = lookups.lookup(known.hash, None, read).now_or_never();
            let found = found.expect("it waits for nothing");
            assert_eq!(found.expect("it is known"), Some(known.clone()));
        }
        // Also its end is noticed, twice: after the first time it is not known any more.
        tokio::time::advance(LIFETIME).await;
        for _ in 0..2 {
            let gone = lookups.look_again(known.hash, std::future::ready(Ok(None)));
            let gone = gone.now_or_never().expect("it waits for nothing");
            assert_eq!(gone.expect("the store responds"), None);
        }
        let busy = lookups.lookup(known.hash, None, read).now_or_never();
        assert!(matches!(busy, Some(Err(Unchecked::Busy))));
    }

    /// A store that does not respond keeps the turns of those before it.
    #[tokio::test(start_paused = true)]
    async fn a_credential_waits_for_its_turn_for_a_limited_time() {
        let lookups = Lookups::<Credential>::new(Duration::from_secs(1));
        let mut first: Vec<_> = (0..4)
            .map(|number| {
                let hash = credential(HOSTILE, number).hash;
                Box::pin(lookups.lookup(hash, None, |_| pending()))
            })
            .collect();
        for lookup in &mut first {
            assert!(lookup.as_mut().now_or_never().is_none());
        }
        let begun = Instant::now();
        let new = lookups.lookup(credential(QUIET, 9).hash, None, |_| pending());
        let refused = tokio::time::timeout(Duration::from_mins(10), new).await;
        assert!(matches!(refused, Ok(Err(Unchecked::Busy))));
        assert_eq!(begun.elapsed().as_secs(), 5);
    }

    #[tokio::test]
    async fn few_newcomers_are_looked_up_and_not_many_of_a_site_wait() {
        let site = |last: u8| Some(Site::from(IpAddr::from([192, 0, 2, last])));
        let (hostile, quiet) = (site(1), site(2));
        let newcomers = Newcomers::new();
        let mut looked_up: Vec<_> = (0..NEWCOMERS)
            .map(|_| {
                let turn = newcomers.wait(hostile).now_or_never();
                turn.flatten().expect("a turn")
            })
            .collect();
        let mut waiting: Vec<_> = (0..MOST_WAITING)
            .map(|_| Box::pin(newcomers.wait(hostile)))
            .collect();
        for wait in &mut waiting {
            assert!(wait.as_mut().now_or_never().is_none());
        }
        let refused = newcomers.wait(hostile).now_or_never();
        assert!(refused.is_some_and(|refused| refused.is_none()));
        // Another site waits for one of these, and not for all.
        let mut other = Box::pin(newcomers.wait(quiet));
        assert!(other.as_mut().now_or_never().is_none());
        looked_up.truncate(NEWCOMERS - 2);
        assert!(waiting[0].as_mut().now_or_never().flatten().is_some());
        assert!(other.as_mut().now_or_never().flatten().is_some());
        // The place in the line is free again.
        assert!(newcomers.wait(hostile).now_or_never().is_none());
    }
}
