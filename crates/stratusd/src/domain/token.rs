//! Access tokens: `pat-`, an id, `-`, and 32 letters and digits. Only a hash is stored.

use sha2::{Digest, Sha256};

use super::id::Kind;
use crate::world::World;

/// The string that a caller sends as its access token. It has the form of a token, but may be
/// unknown.
#[derive(Clone, Copy)]
pub struct Presented<'t> {
    text: &'t str,
    id: &'t str,
}

impl<'t> Presented<'t> {
    /// Parses a token. Returns `None` if the string does not have the form of a token.
    #[must_use]
    pub fn parse(text: &'t str) -> Option<Self> {
        let (id, secret) = text.strip_prefix("pat-")?.split_once('-')?;
        let is_secret =
            secret.len() == 32 && secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
        (Kind::Token.is_id(id) && is_secret).then_some(Self { text, id })
    }

    /// Returns the id in the token, which is not secret.
    #[must_use]
    pub fn id(&self) -> &'t str {
        self.id
    }

    /// Returns the SHA-256 of the whole token.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        hash(self.text)
    }
}

/// Generates an access token. Returns the token and its id.
#[must_use]
pub fn generate(world: &World) -> (String, String) {
    let id = Kind::Token.new_id(world);
    let text = format!("pat-{id}-{}", world.letters_and_digits(32));
    (text, id)
}

/// Returns the SHA-256 of a generated secret. A slow hash, as for passwords, would gain nothing:
/// the 190 random bits of 32 letters and digits cannot be guessed.
#[must_use]
pub fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}
