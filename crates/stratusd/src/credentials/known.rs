//! A cache of the credentials that were found, each with what was found. It has a maximum size.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use api_types::ProjectId;
use tokio::time::Instant;

use super::{Hash, Stored};

/// Credentials that were found, by the hash of what the caller presents.
///
/// What was found is used again for a time, and a credential remains known after that. If there are too
/// many, the project with the most forgets the one that was found the longest ago, so that no project
/// has those of another one forgotten.
#[derive(Debug)]
pub(super) struct Known<S> {
    lifetime: Duration,
    capacity: usize,
    entries: RwLock<Entries<S>>,
}

/// What is known of a credential.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Knowledge<S> {
    /// It was found a moment ago.
    Fresh(S),
    /// It was found earlier, in this project.
    Stale(ProjectId),
    /// It was not found before, or is forgotten.
    None,
}

#[derive(Debug)]
struct Entries<S> {
    found: HashMap<Hash, Entry<S>>,
    /// The hashes of the credentials of each project, by the number of the entry.
    of_project: HashMap<ProjectId, BTreeMap<u64, Hash>>,
    /// How many credentials each project has.
    sizes: BTreeSet<(usize, ProjectId)>,
    /// The number of the next entry.
    next: u64,
}

#[derive(Debug)]
struct Entry<S> {
    number: u64,
    since: Instant,
    found: S,
}

impl<S: Stored> Known<S> {
    /// Creates a memory of up to `capacity` credentials, each of which is fresh for `lifetime`.
    pub(super) fn new(lifetime: Duration, capacity: usize) -> Self {
        Self {
            lifetime,
            capacity,
            entries: RwLock::new(Entries {
                found: HashMap::new(),
                of_project: HashMap::new(),
                sizes: BTreeSet::new(),
                next: 0,
            }),
        }
    }

    /// Returns what is known of the credential with a hash.
    pub(super) fn get(&self, hash: &Hash) -> Knowledge<S> {
        match self.read().found.get(hash) {
            Some(entry) if entry.since.elapsed() < self.lifetime => {
                Knowledge::Fresh(entry.found.clone())
            }
            Some(entry) => Knowledge::Stale(entry.found.project().clone()),
            None => Knowledge::None,
        }
    }

    /// Records that a credential was found. It is fresh since a moment, such as the one before it was
    /// read.
    pub(super) fn insert(&self, since: Instant, hash: Hash, found: S) {
        let mut entries = self.write();
        entries.remove(&hash);
        while entries.found.len() >= self.capacity && entries.remove_oldest_of_largest() {}
        entries.insert(since, hash, found);
    }

    /// Records that there is no credential with a hash.
    pub(super) fn remove(&self, hash: &Hash) {
        // Most are not known, and invented ones must not take the lock from others.
        if self.read().found.contains_key(hash) {
            self.write().remove(hash);
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Entries<S>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Entries<S>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Stored> Entries<S> {
    fn insert(&mut self, since: Instant, hash: Hash, found: S) {
        let (number, project) = (self.next, found.project().clone());
        self.next += 1;
        let own = self.of_project.entry(project.clone()).or_default();
        self.sizes.remove(&(own.len(), project.clone()));
        own.insert(number, hash);
        self.sizes.insert((own.len(), project));
        let entry = Entry {
            number,
            since,
            found,
        };
        self.found.insert(hash, entry);
    }

    fn remove(&mut self, hash: &Hash) {
        let Some(entry) = self.found.remove(hash) else {
            return;
        };
        let project = entry.found.project();
        let Some(own) = self.of_project.get_mut(project) else {
            return;
        };
        self.sizes.remove(&(own.len(), project.clone()));
        own.remove(&entry.number);
        if own.is_empty() {
            self.of_project.remove(project);
        } else {
            self.sizes.insert((own.len(), project.clone()));
        }
    }

    /// Removes the credential of the project with the most that was found the longest ago. Returns
    /// whether there was one.
    fn remove_oldest_of_largest(&mut self) -> bool {
        let largest = self.sizes.last().map(|(_, project)| project);
        let own = largest.and_then(|project| self.of_project.get(project));
        let oldest = own.and_then(|own| own.first_key_value());
        let Some(hash) = oldest.map(|(_, hash)| *hash) else {
            return false;
        };
        self.remove(&hash);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Credential, QUIET, credential};
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_project_with_many_credentials_has_only_its_own_forgotten() {
        let known = Known::new(Duration::from_secs(1), 100);
        let quiet: Vec<Credential> = (0..3).map(|number| credential(QUIET, number)).collect();
        for it in &quiet {
            known.insert(Instant::now(), it.hash, it.clone());
        }
        let many: Vec<Credential> = (3..500)
            .map(|number| credential(super::super::tests::HOSTILE, number))
            .collect();
        for it in &many {
            known.insert(Instant::now(), it.hash, it.clone());
        }
        for it in &quiet {
            assert_eq!(known.get(&it.hash), Knowledge::Fresh(it.clone()));
        }
        let kept = many
            .iter()
            .filter(|it| known.get(&it.hash) != Knowledge::None);
        assert_eq!(kept.count(), 97);
        assert_eq!(known.get(&many[0].hash), Knowledge::None);
        tokio::time::advance(Duration::from_secs(1)).await;
        let project = quiet[0].project().clone();
        assert_eq!(known.get(&quiet[0].hash), Knowledge::Stale(project));
        // One that is found again is the newest of its project.
        known.insert(Instant::now(), many[400].hash, many[400].clone());
        for it in &many[..200] {
            known.insert(Instant::now(), it.hash, it.clone());
        }
        assert_eq!(known.get(&many[400].hash), Knowledge::None);
        known.remove(&quiet[0].hash);
        assert_eq!(known.get(&quiet[0].hash), Knowledge::None);
        let entries = known.read();
        assert_eq!(entries.found.len(), 99);
        let sizes: usize = entries.sizes.iter().map(|(size, _)| size).sum();
        assert_eq!(sizes, 99);
    }
}
