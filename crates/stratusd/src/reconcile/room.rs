//! The room that projects have for their steps, so that no project takes the workers of all others.
//!
//! A step that ends soon is not held up for long by those of a few other projects: a worker is only ever taken
//! for [`PROMPT`] by any other step, and while a project has as many workers as are free, the next one is for
//! a database of a project that has fewer, if one is due. A step that takes longer gives its worker back and goes on
//! in a place for slow steps, and if there is none, it is abandoned. A database whose step has failed is
//! tried again by other workers, of which a project has a part. So what hangs is tried by a worker of the
//! others once, and then no more until it has succeeded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api_types::ProjectId;
use tokio::time::Instant;

use crate::storage::lease::Lane;
use crate::world::World;

/// The number of steps at the same time of databases whose last step has succeeded, without the slow
/// ones.
pub(super) const WORKERS: usize = 16;
/// The number of these in one project at which databases of other projects may come first.
const CROWD: usize = 2;
/// How long other projects are not looked for after none of them had anything due: the search reads all that
/// is due of the projects that have many workers.
const VAIN: Duration = Duration::from_millis(100);
/// The time after which a step is slow.
pub(super) const PROMPT: Duration = Duration::from_secs(1);
/// The number of slow steps at the same time.
const SLOW: usize = 128;
/// The number of slow steps at which no other database of the same project is tried. Those that are
/// being tried may become slow too, so a project has fewer than this and [`WORKERS`] together.
const SLOW_OF_PROJECT: usize = 16;
/// The number of steps at the same time of databases whose last step has failed.
pub(super) const RETRIES: usize = 16;
/// The number of these in one project.
const RETRIES_OF_PROJECT: usize = 4;
/// The least time for which a database is put off whose project has no room.
const LEAST_PAUSE: Duration = Duration::from_secs(1);
/// What is added to it at most, at random: databases that are put off together must not all come back
/// together.
const MOST_JITTER: Duration = Duration::from_secs(15);

/// Returns for how long a database is put off whose project has no room.
pub(super) fn pause(world: &World) -> Duration {
    let jitter = u32::try_from(MOST_JITTER.as_millis()).unwrap_or(u32::MAX);
    let drawn = u32::from_be_bytes(world.random()) % jitter;
    LEAST_PAUSE + Duration::from_millis(drawn.into())
}

/// The steps of each project that take up room.
#[derive(Debug, Default)]
pub(super) struct Rooms {
    /// The steps at a worker of which it is not known yet whether they are slow.
    prompt: Counts,
    slow: Counts,
    retries: Counts,
    /// When other projects than those with many workers were last looked for in vain.
    vain: Mutex<Option<Instant>>,
}

impl Rooms {
    /// Returns what the projects of a lane have room for now.
    pub(super) fn room(&self, lane: Lane) -> Room {
        match lane {
            Lane::Prompt => Room {
                taken: self.slow.of_projects(),
                most: SLOW_OF_PROJECT,
                // Most steps are not slow.
                takes: 0,
            },
            Lane::Retried => Room {
                taken: self.retries.of_projects(),
                most: RETRIES_OF_PROJECT,
                takes: 1,
            },
        }
    }

    /// Returns how many workers each project has, or `None` if databases are taken in the order in which they
    /// are due: in the lane of which a project has a part anyway, and shortly after a search for other
    /// projects in vain.
    pub(super) fn crowds(&self, lane: Lane) -> Option<Crowds> {
        let vain = *self.vain.lock().unwrap_or_else(PoisonError::into_inner);
        let is_vain = vain.is_some_and(|vain| vain.elapsed() < VAIN);
        (lane == Lane::Prompt && !is_vain).then(|| Crowds(self.prompt.of_projects()))
    }

    /// Notes that nothing of another project than those with many workers was due.
    pub(super) fn note_vain(&self) {
        let mut vain = self.vain.lock().unwrap_or_else(PoisonError::into_inner);
        *vain = Some(Instant::now());
    }

    /// Counts a step of a database whose last step has succeeded, until what is returned is dropped.
    pub(super) fn prompt(&self, project: &ProjectId) -> Option<Place> {
        self.prompt.enter(project, WORKERS)
    }

    /// Counts a step of a database whose last step has failed, until what is returned is dropped.
    pub(super) fn retry(&self, project: &ProjectId) -> Option<Place> {
        self.retries.enter(project, RETRIES)
    }

    /// Counts a slow step until what is returned is dropped. Returns `None` if there are too many.
    pub(super) fn slow(&self, project: &ProjectId) -> Option<Place> {
        self.slow.enter(project, SLOW)
    }
}

/// How many workers each project has.
#[derive(Debug, Clone)]
pub(super) struct Crowds(HashMap<ProjectId, usize>);

impl Crowds {
    fn free(&self) -> usize {
        WORKERS.saturating_sub(self.0.values().sum())
    }

    /// Returns the number of workers from which on a project is one of the large ones.
    fn least(&self) -> usize {
        self.free().max(CROWD)
    }

    /// Returns the projects whose databases come after those of all others.
    pub(super) fn large(&self) -> Vec<&ProjectId> {
        let large = self.0.iter().filter(|(_, count)| **count >= self.least());
        large.map(|(project, _)| project).collect()
    }

    /// Returns how many databases can be taken before another project may be large.
    pub(super) fn most(&self) -> usize {
        let small = self.0.values().filter(|count| **count < self.least());
        let largest = small.max().copied().unwrap_or_default();
        // Each of them leaves one worker less free.
        self.free().saturating_sub(largest).div_ceil(2).max(1)
    }

    /// Notes that a worker gets a database of a project.
    pub(super) fn add(&mut self, project: &ProjectId) {
        *self.0.entry(project.clone()).or_default() += 1;
    }
}

/// What the projects of a lane have room for.
#[derive(Debug, Clone)]
pub(super) struct Room {
    taken: HashMap<ProjectId, usize>,
    most: usize,
    /// How much of it a database takes.
    takes: usize,
}

impl Room {
    /// Returns whether a project has room for one more database, and takes it.
    pub(super) fn admit(&mut self, project: &ProjectId) -> bool {
        if self.takes == 0 {
            return self.taken.get(project).is_none_or(|it| *it < self.most);
        }
        let taken = self.taken.entry(project.clone()).or_default();
        if *taken >= self.most {
            return false;
        }
        *taken += self.takes;
        true
    }
}

/// The number of steps of each project that has one.
#[derive(Debug, Default, Clone)]
struct Counts(Arc<Mutex<HashMap<ProjectId, usize>>>);

impl Counts {
    fn of_projects(&self) -> HashMap<ProjectId, usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn enter(&self, project: &ProjectId, most: usize) -> Option<Place> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.values().sum::<usize>() >= most {
            return None;
        }
        *counts.entry(project.clone()).or_default() += 1;
        Some(Place {
            counts: self.clone(),
            project: project.clone(),
        })
    }
}

/// A step that is counted, until this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    counts: Counts,
    project: ProjectId,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.counts.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.project) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.project);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(number: usize) -> ProjectId {
        ProjectId::try_from(format!("pj{number:024}")).expect("it is an id")
    }

    #[test]
    fn databases_are_put_off_for_1_to_16_seconds() {
        let world = World::real();
        let mut drawn: Vec<_> = (0..500).map(|_| pause(&world)).collect();
        drawn.sort();
        let (shortest, longest) = (drawn[0], drawn[drawn.len() - 1]);
        assert!(shortest >= Duration::from_secs(1) && longest < Duration::from_secs(16));
        // That 500 draws leave out a fifth of the range happens in less than one of 10⁴⁰ runs.
        assert!(shortest < Duration::from_secs(4) && longest > Duration::from_secs(13));
    }

    #[test]
    fn a_project_has_a_part_of_the_slow_steps() {
        let rooms = Rooms::default();
        let mut places: Vec<_> = (0..15).map(|_| rooms.slow(&project(1))).collect();
        assert!(rooms.room(Lane::Prompt).admit(&project(1)));
        places.push(rooms.slow(&project(1)));
        // What is admitted is not slow yet.
        let mut room = rooms.room(Lane::Prompt);
        assert!(!room.admit(&project(1)));
        assert!((0..100).all(|_| room.admit(&project(2))));
        places.extend((16..128).map(|number| rooms.slow(&project(number))));
        assert!(places.iter().all(Option::is_some));
        assert!(rooms.slow(&project(2)).is_none(), "there are 128 in all");
        places.swap_remove(0);
        assert!(rooms.room(Lane::Prompt).admit(&project(1)));
        assert!(rooms.slow(&project(2)).is_some());
    }

    #[test]
    fn others_come_before_projects_that_have_as_many_workers_as_are_free() {
        let rooms = Rooms::default();
        let crowds = || rooms.crowds(Lane::Prompt).expect("they count");
        assert_eq!(crowds().most(), 8);
        let enter = |number, count| -> Vec<_> {
            let places = (0..count).map(|_| rooms.prompt(&project(number)));
            places.collect()
        };
        let mut places = enter(1, 7);
        places.extend(enter(2, 1));
        assert!(places.iter().all(Option::is_some));
        let mut now = crowds();
        assert_eq!((now.large(), now.most()), (vec![], 1));
        now.add(&project(1));
        assert_eq!((now.large(), now.most()), (vec![&project(1)], 3));
        places.extend(enter(1, 1));
        places.extend(enter(2, 3));
        let mut large: Vec<_> = crowds().large().into_iter().cloned().collect();
        large.sort();
        assert_eq!((large, crowds().most()), (vec![project(1), project(2)], 2));
        // With one worker, a project is never large.
        places.extend((3..7).map(|number| rooms.prompt(&project(number))));
        assert_eq!((crowds().large().len(), crowds().most()), (2, 1));
        drop(places);
        assert_eq!(crowds().most(), 8);
        assert!(rooms.crowds(Lane::Retried).is_none());
        rooms.note_vain();
        assert!(rooms.crowds(Lane::Prompt).is_none());
    }

    #[test]
    fn a_project_has_a_part_of_the_steps_that_are_tried_again() {
        let rooms = Rooms::default();
        let mut places: Vec<_> = (0..3).map(|_| rooms.retry(&project(1))).collect();
        let mut room = rooms.room(Lane::Retried);
        assert!(room.admit(&project(1)));
        assert!(!room.admit(&project(1)), "it has four now");
        assert_eq!((0..10).filter(|_| room.admit(&project(2))).count(), 4);
        places.extend((3..16).map(|number| rooms.retry(&project(number))));
        assert!(places.iter().all(Option::is_some));
        assert!(rooms.retry(&project(2)).is_none(), "there are 16 in all");
        drop(places);
        assert!(rooms.room(Lane::Retried).taken.is_empty());
    }
}
