//! Access tokens: `pat-`, an id, `-`, and 32 letters and digits; only a hash is kept.

use sha2::{Digest, Sha256};

use super::id::Kind;
use crate::world::World;

/// A token as callers send it.
#[derive(Clone, Copy)]
pub struct Presented<'t> {
    text: &'t str,
    id: &'t str,
}

impl<'t> Presented<'t> {
    /// Takes a token apart, if it is one.
    #[must_use]
    pub fn parse(text: &'t str) -> Option<Self> {
        let (id, secret) = text.strip_prefix("pat-")?.split_once('-')?;
        let is_secret =
            secret.len() == 32 && secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
        (Kind::Token.is_id(id) && is_secret).then_some(Self { text, id })
    }

    /// The part that is no secret.
    #[must_use]
    pub fn id(&self) -> &'t str {
        self.id
    }

    /// The hash of the whole.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        hash(self.text)
    }
}

/// A new token: what to show once, and its id.
#[must_use]
pub fn generate(world: &World) -> (String, String) {
    let id = Kind::Token.new_id(world);
    let text = format!("pat-{id}-{}", world.letters_and_digits(32));
    (text, id)
}

/// SHA-256 of a secret that is random enough to need nothing slower: nobody guesses 190 bits.
#[must_use]
pub fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}
