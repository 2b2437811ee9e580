//! The tokens by which a provisioner knows its callers.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use crate::settings::SecretText;

/// The smallest and the largest number of characters of a token.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=256;
/// The largest number of tokens that a provisioner accepts.
const MOST_TOKENS: usize = 16;

/// Returns the text with tokens that the settings name: of a variable, or else of a file.
///
/// # Errors
///
/// If none of the two is set, or the file cannot be read.
pub(super) fn text(token: Option<&SecretText>, file: Option<&Path>) -> Result<Zeroizing<String>> {
    match (token, file) {
        (Some(token), _) => Ok(Zeroizing::new(token.expose().to_owned())),
        (None, Some(path)) => {
            let text = fs::read_to_string(path);
            let text = text.with_context(|| format!("failed to read {}", path.display()))?;
            Ok(Zeroizing::new(text))
        }
        (None, None) => bail!("no token is set"),
    }
}

/// Returns the one token of a text, which a caller sends.
///
/// # Errors
///
/// If it is not one token.
pub(super) fn only(text: &str) -> Result<&str> {
    let mut tokens = tokens(text)?;
    let token = tokens.pop().context("there is no token")?;
    ensure!(tokens.is_empty(), "there is more than one token");
    Ok(token)
}

fn tokens(text: &str) -> Result<Vec<&str>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    // The text is not repeated, since it is secret.
    let is_token = |line: &&str| {
        LENGTHS.contains(&line.len()) && line.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let lines: Vec<&str> = lines.collect();
    ensure!(
        lines.iter().all(is_token),
        "a token must be one line of {} to {} visible characters of ASCII: make one with `openssl rand -hex 32`",
        LENGTHS.start(),
        LENGTHS.end()
    );
    Ok(lines)
}

/// The hashes of the tokens that a provisioner accepts.
#[derive(Clone)]
pub(super) struct Tokens(Vec<[u8; 32]>);

impl Tokens {
    /// Parses a text with a token on each line.
    ///
    /// # Errors
    ///
    /// If there is none, one cannot be used, or there are too many.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let tokens = tokens(text)?;
        ensure!(!tokens.is_empty(), "there is no token");
        ensure!(
            tokens.len() <= MOST_TOKENS,
            "there are more than {MOST_TOKENS} tokens"
        );
        Ok(Self(tokens.into_iter().map(hash).collect()))
    }

    /// Returns whether a caller's token is one of these. The time says nothing about them.
    pub(super) fn accept(&self, token: &str) -> bool {
        let presented = hash(token);
        let is_one = self.0.iter().fold(subtle::Choice::from(0), |found, known| {
            found | known.ct_eq(&presented)
        });
        is_one.into()
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
