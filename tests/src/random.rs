//! Choices that a test makes by chance, and can make again.

use std::env;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// A string of choices; zeros once it is used up, which always mean the plainest value.
pub struct Choices<'a>(std::slice::Iter<'a, u8>);

impl<'a> Choices<'a> {
    /// Chooses by these bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.iter())
    }

    fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    /// A number below `bound`, 0 where nothing is below.
    pub fn below(&mut self, bound: usize) -> usize {
        let mut wide = usize::from(self.byte());
        let mut reach = 256;
        while reach < bound {
            wide = wide * 256 + usize::from(self.byte());
            reach *= 256;
        }
        wide % bound.max(1)
    }

    /// One of several.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn of<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }

    /// True once in `n`, never when the choices are used up.
    pub fn rarely(&mut self, n: u8) -> bool {
        let byte = self.byte();
        byte != 0 && byte.is_multiple_of(n)
    }
}

/// How a test draws its cases: `STRATUS_SEED` repeats a run, `STRATUS_CASES` makes it longer.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Where the choices begin.
    pub seed: u64,
    /// How many cases are drawn.
    pub cases: u32,
}

impl Run {
    /// What the environment asks for, else a new seed and so many cases; printed, so that a failure can be repeated.
    ///
    /// # Panics
    ///
    /// If a variable holds no number.
    #[must_use]
    pub fn from_environment(cases: u32) -> Self {
        let number = |name: &str| {
            env::var(name)
                .ok()
                .map(|text| text.parse::<u64>().expect("a number"))
        };
        let seed =
            number("STRATUS_SEED").unwrap_or_else(|| RandomState::new().build_hasher().finish());
        let cases = number("STRATUS_CASES")
            .map_or(cases, |cases| u32::try_from(cases).expect("a small number"));
        println!("STRATUS_SEED={seed} STRATUS_CASES={cases}");
        Self { seed, cases }
    }

    /// What draws them.
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
