//! What all searches of one comparison may take together.

use std::cell::Cell;

/// The maximum number of schemas, facts and conjunctions that all searches together look at.
const MOST_STEPS: usize = 1_000_000;
/// The maximum number of steps of a search that others cannot use up: one schema that takes long must
/// not leave the others undecided.
const OWN_STEPS: usize = 4_000;
/// The maximum number of such steps of all searches together.
const MOST_OWN_STEPS: usize = 2_000_000;
/// The maximum number of random values that are generated for all searches together.
const MOST_SAMPLES: usize = 8_000;
/// The maximum number of parts of these values.
const MOST_PARTS: usize = 200_000;

/// What is left for the searches of a comparison.
#[derive(Debug)]
pub(crate) struct Budget {
    steps: Cell<usize>,
    own_steps: Cell<usize>,
    samples: Cell<usize>,
    parts: Cell<usize>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            steps: Cell::new(MOST_STEPS),
            own_steps: Cell::new(MOST_OWN_STEPS),
            samples: Cell::new(MOST_SAMPLES),
            parts: Cell::new(MOST_PARTS),
        }
    }
}

impl Budget {
    /// Takes `count` steps of a search that has taken `taken` with these. Returns false if not so many
    /// are left.
    pub(crate) fn steps(&self, count: usize, taken: usize) -> bool {
        take(&self.steps, count) || taken <= OWN_STEPS && take(&self.own_steps, count)
    }

    /// Takes a random value. Returns false if none is left.
    pub(crate) fn sample(&self) -> bool {
        take(&self.samples, 1)
    }

    /// Takes a part of a random value. Returns false if none is left.
    pub(crate) fn part(&self) -> bool {
        take(&self.parts, 1)
    }
}

fn take(left: &Cell<usize>, count: usize) -> bool {
    let rest = left.get().checked_sub(count);
    left.set(rest.unwrap_or(0));
    rest.is_some()
}
