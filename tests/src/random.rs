//! Random choices of a test, which can be repeated.

use std::env;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// A string of choices, given as bytes. When it is used up every choice is 0, which always means
/// the simplest value, so that values shrink.
pub struct Choices<'a>(std::slice::Iter<'a, u8>);

impl<'a> Choices<'a> {
    /// Creates the choices that the bytes stand for.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.iter())
    }

    fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let mut wide = usize::from(self.byte());
        let mut reach = 256;
        while reach < bound {
            wide = wide * 256 + usize::from(self.byte());
            reach *= 256;
        }
        wide % bound.max(1)
    }

    /// Returns one of the items.
    ///
    /// # Panics
    ///
    /// If `items` is empty.
    pub fn of<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }

    /// Returns true about once in `n` calls, and never when the choices are used up.
    pub fn rarely(&mut self, n: u8) -> bool {
        let byte = self.byte();
        byte != 0 && byte.is_multiple_of(n)
    }
}

/// The seed and the number of random cases of a test. `STRATUS_SEED` repeats a run, `STRATUS_CASES`
/// makes it longer.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// The seed of the generator of random numbers.
    pub seed: u64,
    /// The number of cases.
    pub cases: u32,
}

impl Run {
    /// Reads the seed and the number of cases from the environment. By default the seed is random,
    /// and there are `cases` cases. Prints both, so that a failure can be repeated.
    ///
    /// # Panics
    ///
    /// If a variable is not a number.
    #[must_use]
    pub fn from_environment(cases: u32) -> Self {
        Self::of(cases, || RandomState::new().build_hasher().finish())
    }

    /// Reads the number of cases from the environment as [`Run::from_environment`] does, and the seed too,
    /// which is `seed` by default. For what is asserted of a share of few cases: another seed might fail
    /// by chance.
    ///
    /// # Panics
    ///
    /// If a variable is not a number.
    #[must_use]
    pub fn of_seed(seed: u64, cases: u32) -> Self {
        Self::of(cases, || seed)
    }

    fn of(cases: u32, seed: impl FnOnce() -> u64) -> Self {
        let number = |name: &str| {
            env::var(name)
                .ok()
                .map(|text| text.parse::<u64>().expect("a number"))
        };
        let seed = number("STRATUS_SEED").unwrap_or_else(seed);
        let cases = number("STRATUS_CASES")
            .map_or(cases, |cases| u32::try_from(cases).expect("a small number"));
        println!("STRATUS_SEED={seed} STRATUS_CASES={cases}");
        Self { seed, cases }
    }

    /// Returns a test runner of proptest with this seed and number of cases.
    #[must_use]
    pub fn runner(self) -> TestRunner {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.seed.to_le_bytes());
        let config = Config {
            cases: self.cases,
            max_shrink_iters: 20_000,
            failure_persistence: None,
            ..Config::default()
        };
        TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
    }
}
