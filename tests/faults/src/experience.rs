//! Which test to run next: the one that is most likely to notice a fault for the time that it takes.

use std::collections::HashMap;
use std::time::Duration;

use crate::fault::Fault;
use crate::trial::Test;

/// How often a test notices a fault that it reaches, if nothing else is known.
const USUAL: f64 = 0.02;
/// How much more often if it reaches all faults: it looks at more of what the program does.
const BROAD: f64 = 0.1;
/// The number of faults of all files that say as much as one of the same file.
const ELSEWHERE: f64 = 5.0;
/// How much more often for each word that the names of the test and of the fault share.
const SHARED_WORD: f64 = 0.1;
/// How much more a fault of the same function says than one of another function in the file.
const SAME_FUNCTION: f64 = 4.0;
/// How many faults of a function a test must have noticed certainly for its word to be taken at once.
const TRUSTED: usize = 3;
/// How long it takes to start a test.
const START: Duration = Duration::from_millis(50);

/// What a test has said about a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    Nothing,
    /// It has noticed the fault once.
    Once,
    /// It has noticed the fault again, and passes without it.
    Certainly,
}

/// What tests have said about faults so far.
#[derive(Debug)]
pub(crate) struct Experience {
    /// The number of faults.
    faults: usize,
    /// By where the faults are, and by the test.
    runs: HashMap<(String, usize), Runs>,
}

/// The runs of a test on the faults of one place.
#[derive(Debug, Clone, Copy, Default)]
struct Runs {
    /// How many of them noticed their fault.
    noticed: f64,
    /// How many of those are certain.
    confirmed: usize,
    took: Duration,
}

impl Experience {
    pub(crate) fn new(faults: usize) -> Self {
        Self {
            faults,
            runs: HashMap::new(),
        }
    }

    /// Notes what a test, given by its index, has said about a fault.
    pub(crate) fn note(&mut self, fault: &Fault, test: usize, said: Said, took: Duration) {
        for place in places(fault) {
            let runs = self.runs.entry((place, test)).or_default();
            runs.took += took;
            if said != Said::Nothing {
                runs.noticed += 1.0;
            }
            if said == Said::Certainly {
                runs.confirmed += 1;
            }
        }
    }

    /// Returns whether a test has certainly noticed so many faults of the same function that its failure
    /// needs no second look.
    pub(crate) fn is_trusted(&self, fault: &Fault, test: usize) -> bool {
        let [.., function] = places(fault);
        let runs = self.runs.get(&(function, test));
        runs.is_some_and(|runs| runs.confirmed >= TRUSTED)
    }

    /// Returns the test to run next, and takes it from those that are left, given by their indices.
    pub(crate) fn next(
        &self,
        fault: &Fault,
        tests: &[Test],
        left: &mut Vec<usize>,
    ) -> Option<usize> {
        let cost = |at: &usize| self.expected(fault, *at, &tests[*at]).cost();
        let best = (0..left.len())
            .min_by(|one, other| cost(&left[*one]).total_cmp(&cost(&left[*other])))?;
        Some(left.swap_remove(best))
    }

    /// Returns what a test does on average over faults like this one.
    fn expected(&self, fault: &Fault, at: usize, test: &Test) -> Expected {
        let words = fault.words();
        let shared = words.iter().filter(|word| test.name.contains(**word));
        #[expect(clippy::cast_precision_loss, reason = "a name has few words")]
        let shared = shared.count() as f64;
        #[expect(clippy::cast_precision_loss, reason = "there are some thousands")]
        let breadth = test.reached.len() as f64 / self.faults.max(1) as f64;
        let mut all = Expected {
            noticed: USUAL + BROAD * breadth + SHARED_WORD * shared,
            took: (test.takes + START).as_secs_f64(),
        };
        let weights = [1.0 / ELSEWHERE, 1.0, SAME_FUNCTION];
        for (place, weight) in places(fault).into_iter().zip(weights) {
            if let Some(runs) = self.runs.get(&(place, at)) {
                all.noticed += weight * runs.noticed;
                all.took += weight * runs.took.as_secs_f64();
            }
        }
        all
    }
}

/// What a test has done with so many faults, in seconds together.
#[derive(Debug, Clone, Copy)]
struct Expected {
    noticed: f64,
    took: f64,
}

impl Expected {
    /// Returns the seconds that it takes to notice a fault.
    fn cost(self) -> f64 {
        self.took / self.noticed
    }
}

/// Where a fault is: anywhere, in its file, and in its function.
fn places(fault: &Fault) -> [String; 3] {
    let function = fault.function.as_ref();
    let function = function.map_or("", |function| &function.function_name);
    let function = format!("{}:{function}", fault.file);
    [String::new(), fault.file.clone(), function]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Function, Genre, Place, Span};

    fn fault(function: &str) -> Fault {
        let place = Place { line: 1, column: 1 };
        Fault {
            file: "src/a.rs".to_owned(),
            function: Some(Function {
                function_name: function.to_owned(),
                span: Span {
                    start: place,
                    end: place,
                },
            }),
            name: format!("src/a.rs:1:1: replace {function} -> bool with true"),
            genre: Genre::FnValue,
            replacement: "true".to_owned(),
            span: Span {
                start: place,
                end: place,
            },
        }
    }

    #[test]
    fn the_test_comes_first_that_is_likely_to_notice_for_its_time() {
        let seconds = Duration::from_secs;
        let tests = [
            Test::new("slow", seconds(9)),
            Test::new("quick", seconds(1)),
            Test::new("slow_about_leases", seconds(4)),
        ];
        let mut experience = Experience::new(10);
        let order = |experience: &Experience, function: &str| {
            let (fault, mut left) = (fault(function), vec![0, 1, 2]);
            let next = || experience.next(&fault, &tests, &mut left);
            std::iter::from_fn(next).collect::<Vec<_>>()
        };
        assert_eq!(order(&experience, "read"), [1, 2, 0]);
        // Its name has a word of the function.
        assert_eq!(order(&experience, "leases"), [2, 1, 0]);
        for _ in 0..3 {
            assert!(!experience.is_trusted(&fault("read"), 0));
            experience.note(&fault("read"), 0, Said::Certainly, seconds(9));
            experience.note(&fault("read"), 1, Said::Once, seconds(100));
        }
        assert_eq!(order(&experience, "read")[0], 0);
        assert!(experience.is_trusted(&fault("read"), 0));
        assert!(!experience.is_trusted(&fault("read"), 1));
        assert!(!experience.is_trusted(&fault("write"), 0));
    }
}
