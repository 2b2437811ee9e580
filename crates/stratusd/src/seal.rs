//! Passwords at rest: XChaCha20-Poly1305 with a key that the database never sees.
//!
//! A sealed text is a version byte, four bytes that name the key, a nonce of 24 bytes, and the ciphertext with its
//! tag. It is bound to the row that it belongs to, so that nobody can move it to another one.

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
const NAME: usize = 4;
const NONCE: usize = 24;

/// Seals with its first key, opens with any.
pub struct Sealer {
    keys: Vec<Key>,
}

struct Key {
    name: [u8; NAME],
    cipher: XChaCha20Poly1305,
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealer({} keys)", self.keys.len())
    }
}

/// Why there is no sealer.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum KeyError {
    /// There is not a single key.
    #[error("there is no key; make one with `stratusd key generate`")]
    Missing,
    /// A line is not a key.
    #[error(
        "line {0} is not a key, which is 32 bytes in base 64; make one with `stratusd key generate`"
    )]
    Malformed(usize),
}

/// A sealed text that no key opens, or that was tampered with.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("no key opens this")]
pub struct OpenError;

impl Sealer {
    /// Reads keys, one of 32 bytes in base 64 per line, the current one first. Empty lines and those that begin
    /// with `#` do not count.
    ///
    /// # Errors
    ///
    /// If there is none, or a line is something else.
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

    /// Seals a text for one place.
    ///
    /// # Panics
    ///
    /// Never: a text that fits into memory is not too long for the cipher.
    #[must_use]
    pub fn seal(&self, text: &str, world: &World, place: &str) -> Vec<u8> {
        let key = &self.keys[0];
        let nonce = world.random::<NONCE>();
        let payload = Payload {
            msg: text.as_bytes(),
            aad: place.as_bytes(),
        };
        let sealed = key
            .cipher
            .encrypt(&XNonce::from(nonce), payload)
            .expect("the text is short");
        [&[VERSION][..], &key.name, &nonce, &sealed].concat()
    }

    /// Opens what was sealed for a place.
    ///
    /// # Errors
    ///
    /// If no key does, or it was sealed for another place.
    pub fn open(&self, sealed: &[u8], place: &str) -> Result<Zeroizing<String>, OpenError> {
        let (name, nonce, text) = parts(sealed).ok_or(OpenError)?;
        let key = self
            .keys
            .iter()
            .find(|key| key.name == name)
            .ok_or(OpenError)?;
        let payload = Payload {
            msg: text,
            aad: place.as_bytes(),
        };
        let opened = key
            .cipher
            .decrypt(&XNonce::from(nonce), payload)
            .map_err(|_| OpenError)?;
        String::from_utf8(opened)
            .map(Zeroizing::new)
            .map_err(|_| OpenError)
    }

    /// Whether a text was sealed with the current key.
    #[must_use]
    pub fn is_current(&self, sealed: &[u8]) -> bool {
        parts(sealed).is_some_and(|(name, ..)| self.keys[0].name == name)
    }

    /// A new key, as a file has it.
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
        let digest: [u8; 32] = Sha256::new()
            .chain_update(b"stratus key name")
            .chain_update(&*bytes)
            .finalize()
            .into();
        let name = digest.first_chunk::<NAME>()?;
        Some(Self {
            name: *name,
            cipher,
        })
    }
}

fn parts(sealed: &[u8]) -> Option<([u8; NAME], [u8; NONCE], &[u8])> {
    let (version, rest) = sealed.split_first()?;
    let (name, rest) = rest.split_first_chunk::<NAME>()?;
    let (nonce, text) = rest.split_first_chunk::<NONCE>()?;
    (*version == VERSION).then_some((*name, *nonce, text))
}
