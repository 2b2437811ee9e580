//! The places of work that keeps the disk or a processor busy for long, such as a copy of a database: so
//! many at a time on this machine, of which each project leaves some to others.

use std::sync::Arc;

use crate::shares::{Most, Part, Shares};

/// The places of one kind of work, by project.
pub(super) struct Places(Arc<Shares<String>>);

/// A place, which is free again when this is dropped.
pub(super) type Place = Part<String>;

impl Places {
    /// Creates a number of places. A project may always have one that is free, and a further one as long
    /// as it then has no more than are free.
    pub(super) fn new(all: usize) -> Self {
        let most = Most {
            all,
            each: all,
            leaves_as_much: true,
        };
        Self(Arc::new(Shares::new(most)))
    }

    /// Takes a place for a database of a project, or returns `None` if the project may have no more now.
    pub(super) fn take(&self, project: &str) -> Option<Place> {
        self.0.try_take(&project.to_owned(), 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_leaves_places_to_others() {
        for (all, most) in [(1, 1), (2, 1), (3, 1), (4, 2), (8, 4), (16, 8)] {
            let places = Places::new(all);
            let had: Vec<_> = (0..all).map_while(|_| places.take("shop")).collect();
            assert_eq!(had.len(), most, "of {all}");
            assert_eq!(places.take("rival").is_some(), all > 1, "of {all}");
            drop(had);
            assert!(places.take("rival").is_some(), "of {all}");
        }
    }
}
