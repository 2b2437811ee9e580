//! Which projects have asked for something lately: a project that is alone may have more connections than
//! one beside others.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::storage::job::Owner;

/// How long a project counts as active after it has asked for something.
const ACTIVE: Duration = Duration::from_secs(10);

/// The projects that were active last.
#[derive(Debug, Default)]
pub(super) struct Active {
    /// The project that has asked last, the last one before that is another, and when each of them has
    /// asked last.
    last: Mutex<[Option<(Owner, Instant)>; 2]>,
}

impl Active {
    /// Notes that an owner asks for something. Only projects count.
    pub(super) fn note(&self, owner: &Owner) {
        if !matches!(owner, Owner::Project(_)) {
            return;
        }
        let now = Instant::now();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut last[0] {
            Some((latest, at)) if latest == owner => *at = now,
            _ => {
                last.swap(0, 1);
                last[0] = Some((owner.clone(), now));
            }
        }
    }

    /// Returns whether no project but an owner was active lately.
    pub(super) fn is_alone(&self, owner: &Owner) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut others = last.iter().flatten().filter(|(other, _)| other != owner);
        others.next().is_none_or(|(_, at)| at.elapsed() >= ACTIVE)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn project(letter: &str) -> Owner {
        let id = format!("pj{}", letter.repeat(24));
        Owner::Project(id.try_into().expect("it is an id"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_project_is_alone_if_no_other_has_asked_lately() {
        let active = Active::default();
        let [shop, rival, third] = ["s", "r", "t"].map(project);
        let alone = || [&shop, &rival, &third].map(|owner| active.is_alone(owner));
        assert_eq!(alone(), [true; 3]);
        // The service itself is no project.
        active.note(&Owner::Service);
        active.note(&shop);
        assert_eq!(alone(), [true, false, false]);
        active.note(&rival);
        active.note(&rival);
        assert_eq!(alone(), [false; 3]);
        advance(ACTIVE / 2).await;
        active.note(&shop);
        advance(ACTIVE / 2).await;
        // That of the rival was too long ago.
        assert_eq!(alone(), [true, false, false]);
        active.note(&third);
        assert_eq!(alone(), [false; 3]);
        advance(ACTIVE).await;
        assert_eq!(alone(), [true; 3]);
    }
}
