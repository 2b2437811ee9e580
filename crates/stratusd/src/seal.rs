//! Encryption of secrets in the database, with XChaCha20-Poly1305 and keys that are not in the
//! database.
//!
//! A sealed secret consists of a version byte, four bytes that identify the key, a nonce of 24
//! bytes, and the ciphertext with its tag. The row that it belongs to is authenticated with it, so
//! that a secret cannot be moved to another row.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::world::World;

const VERSION: u8 = 1;
const KEY: usize = 32;
const KEY_ID: usize = 4;
/// The length of a nonce of XChaCha20-Poly1305 in bytes. Such a nonce may be random, which replicas
/// need: they seal with the same key and share no counter. One of ChaCha20-Poly1305 is too short.
const NONCE: usize = 24;

/// Encrypts (seals) secrets with the first of its keys, and decrypts (opens) secrets that were
/// sealed with any of them.
pub struct Sealer {
    keys: Vec<Key>,
}

struct Key {
    id: [u8; KEY_ID],
    cipher: XChaCha20Poly1305,
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealer({} keys)", self.keys.len())
    }
}

/// The reason why keys could not be parsed.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum KeyError {
    /// There is no key.
    #[error("there is no key: create one with `stratusd key generate`")]
    Missing,
    /// The line with this number, from 1, is not a key of 32 bytes in base64.
    #[error("line {0} is not a key of 32 bytes in base64: create one with `stratusd key generate`")]
    Malformed(usize),
}

/// The error for a secret that cannot be opened: it is sealed with a key that the sealer does not
/// have, belongs to another row, or is corrupt.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("none of the keys opens the secret")]
pub struct OpenError;

impl Sealer {
    /// Parses keys: one per line, each 32 bytes in base64, the current key first. Empty lines and
    /// lines that start with `#` are ignored.
    ///
    /// # Errors
    ///
    /// If there is no key, or a line is not a key.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let lines = text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line.trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let keys: Result<Vec<Key>, KeyError> = lines
            .map(|(number, line)| Key::parse(line).ok_or(KeyError::Malformed(number)))
            .collect();
        let keys = keys?;
        if keys.is_empty() {
            Err(KeyError::Missing)
        } else {
            Ok(Self { keys })
        }
    }

    /// Encrypts a secret with the current key, the first one. The secret can be opened only with
    /// the same `owner`, a string that names the row that it belongs to.
    ///
    /// # Panics
    ///
    /// Never: the cipher only fails for strings of more than 256 GiB.
    #[must_use]
    pub fn seal(&self, text: &str, world: &World, owner: &str) -> Vec<u8> {
        let key = &self.keys[0];
        let nonce = world.random::<NONCE>();
        let payload = Payload {
            msg: text.as_bytes(),
            aad: owner.as_bytes(),
        };
        let sealed = key
            .cipher
            .encrypt(&XNonce::from(nonce), payload)
            .expect("the text is short");
        [&[VERSION][..], &key.id, &nonce, &sealed].concat()
    }

    /// Decrypts a secret that was sealed with the same `owner` by any of the keys.
    ///
    /// # Errors
    ///
    /// If none of the keys opens the secret, it was sealed for another owner, or it is not UTF-8.
    pub fn open(&self, sealed: &[u8], owner: &str) -> Result<Zeroizing<String>, OpenError> {
        let (id, nonce, text) = parts(sealed).ok_or(OpenError)?;
        let key = self.keys.iter().find(|key| key.id == id).ok_or(OpenError)?;
        let payload = Payload {
            msg: text,
            aad: owner.as_bytes(),
        };
        let opened = key
            .cipher
            .decrypt(&XNonce::from(nonce), payload)
            .map_err(|_| OpenError)?;
        String::from_utf8(opened)
            .map(Zeroizing::new)
            .map_err(|_| OpenError)
    }

    /// Returns whether a secret is sealed with the current key, the first one.
    #[must_use]
    pub fn is_current(&self, sealed: &[u8]) -> bool {
        parts(sealed).is_some_and(|(id, ..)| self.keys[0].id == id)
    }

    /// Generates a random key, in the base64 form that [`Sealer::parse`] reads as one line.
    #[must_use]
    pub fn generate_key(world: &World) -> Zeroizing<String> {
        let bytes = Zeroizing::new(world.random::<KEY>());
        Zeroizing::new(STANDARD.encode(*bytes))
    }
}

impl Key {
    fn parse(line: &str) -> Option<Self> {
        let bytes = Zeroizing::new(STANDARD.decode(line).ok()?);
        let cipher = XChaCha20Poly1305::new_from_slice(&bytes).ok()?;
        // A hash, so that a key needs no name in the file, and the id reveals nothing about the
        // key.
        let digest: [u8; 32] = Sha256::new()
            .chain_update(b"stratus key name")
            .chain_update(&*bytes)
            .finalize()
            .into();
        let id = *digest.first_chunk::<KEY_ID>()?;
        Some(Self { id, cipher })
    }
}

/// Splits a sealed secret into key id, nonce and ciphertext. Returns `None` if the secret is too
/// short or of another version.
fn parts(sealed: &[u8]) -> Option<([u8; KEY_ID], [u8; NONCE], &[u8])> {
    let (version, rest) = sealed.split_first()?;
    let (id, rest) = rest.split_first_chunk::<KEY_ID>()?;
    let (nonce, text) = rest.split_first_chunk::<NONCE>()?;
    (*version == VERSION).then_some((*id, *nonce, text))
}
