//! The limits of keys and projects: requests per second, and requests that are forwarded at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::error::{GatewayError, Owner};
use super::keys::Key;
use crate::rate::{Limiter, RateLimit};

/// The limits of each key, or of each project.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    /// The requests per second; no limit if `None`.
    pub(super) rate: Option<RateLimit>,
    /// The requests that are forwarded at a time.
    pub(super) at_once: usize,
}

/// Counts the requests of keys and projects, and refuses those above a limit.
#[derive(Debug)]
pub(super) struct Limits {
    key_rate: Option<Limiter>,
    project_rate: Option<Limiter>,
    places: Arc<Places>,
}

impl Limits {
    /// Creates limits for keys and projects, and the number of requests of all of them together that
    /// are forwarded at a time.
    pub(super) fn new(key: Limit, project: Limit, all: usize) -> Self {
        Self {
            key_rate: key.rate.map(Limiter::new),
            project_rate: project.rate.map(Limiter::new),
            places: Arc::new(Places {
                key: key.at_once,
                project: project.at_once,
                all,
                taken: Mutex::default(),
            }),
        }
    }

    /// Counts a request of a key towards the requests per second.
    ///
    /// # Errors
    ///
    /// If the key, or its project, makes too many.
    pub(super) fn ensure_rate(&self, key: &Key) -> Result<(), GatewayError> {
        for (limiter, owner, id) in [
            (&self.key_rate, Owner::Key, key.id.as_str()),
            (&self.project_rate, Owner::Project, key.project.as_str()),
        ] {
            if let Some(limiter) = limiter {
                let checked = limiter.check(id);
                checked.map_err(|_| GatewayError::RateLimited(owner))?;
            }
        }
        Ok(())
    }

    /// Takes a place among the requests that are forwarded at a time, until it is dropped.
    ///
    /// # Errors
    ///
    /// If the key, its project, or all of them have too many.
    pub(super) fn take_place(&self, key: &Key) -> Result<Place, GatewayError> {
        let mut taken = self.places.taken();
        let of = |counts: &HashMap<String, usize>, id: &str| counts.get(id).copied().unwrap_or(0);
        let (id, project) = (key.id.as_str(), key.project.as_str());
        if of(&taken.keys, id) >= self.places.key {
            return Err(GatewayError::TooManyAtOnce(Owner::Key));
        }
        if of(&taken.projects, project) >= self.places.project {
            return Err(GatewayError::TooManyAtOnce(Owner::Project));
        }
        if taken.all >= self.places.all {
            return Err(GatewayError::Overloaded);
        }
        taken.all += 1;
        *taken.keys.entry(id.to_owned()).or_default() += 1;
        *taken.projects.entry(project.to_owned()).or_default() += 1;
        Ok(Place {
            places: Arc::clone(&self.places),
            key: id.to_owned(),
            project: project.to_owned(),
        })
    }
}

/// The places of requests that are forwarded at a time.
#[derive(Debug)]
struct Places {
    key: usize,
    project: usize,
    all: usize,
    taken: Mutex<Taken>,
}

/// The places that are taken. Only keys and projects that have one are in the maps, so these are no
/// larger than all places.
#[derive(Debug, Default)]
struct Taken {
    all: usize,
    keys: HashMap<String, usize>,
    projects: HashMap<String, usize>,
}

impl Places {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a request.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    key: String,
    project: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.all -= 1;
        release(&mut taken.keys, &self.key);
        release(&mut taken.projects, &self.project);
    }
}

/// Takes one from a count, and removes a count of none.
fn release(counts: &mut HashMap<String, usize>, id: &str) {
    if let Some(count) = counts.get_mut(id) {
        *count -= 1;
        if *count == 0 {
            counts.remove(id);
        }
    }
}
