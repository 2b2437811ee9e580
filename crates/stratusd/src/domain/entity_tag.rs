//! Entity tags, which are hashes of the representations of resources, and the check of `If-Match`.
//!
//! A tag is a hash of the representation and not the row's revision, because a representation also
//! shows other rows. That of a subnet shows its firewalls and interfaces, that of a load balancer
//! its virtual machines. These rows can change while the revision stays the same, and so can the
//! state that the reconciler writes.

use api_runtime::EntityTags;
use api_types::{EntityTag, IfMatch};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Refusal;

/// The number of bytes of the SHA-256 hash that an entity tag keeps. 128 bits are enough that two
/// representations of a resource do not have the same tag by chance.
const BYTES: usize = 16;
/// The bytes that are reserved for a representation. Most have less.
const CAPACITY: usize = 1024;

/// A resource as responses show it, with its entity tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tagged<T> {
    /// The resource as responses show it.
    pub shown: T,
    /// The entity tag of the resource.
    pub tag: EntityTag,
}

impl<T: Serialize> Tagged<T> {
    /// Adds to a resource its entity tag, the [`hash`] of the whole representation. Do not use this
    /// for a representation with a secret.
    #[must_use]
    pub fn of(shown: T) -> Self {
        let tag = hash(&shown);
        Self { shown, tag }
    }
}

/// Returns the strong entity tag of a representation (RFC 9110, section 8.8.3).
///
/// If the representation has a secret, the caller must leave the secret out and include another
/// value that changes whenever the secret does. A tag may be logged, and a reader of the log could
/// check guesses of the secret against the hash.
///
/// # Panics
///
/// Never: values of the contract can be written as JSON.
pub fn hash(representation: &impl Serialize) -> EntityTag {
    let mut json = Vec::with_capacity(CAPACITY);
    serde_json::to_writer(&mut json, representation).expect("it can be written as JSON");
    let mut tag = String::with_capacity(BYTES * 4 / 3 + 3);
    tag.push('"');
    URL_SAFE_NO_PAD.encode_string(&Sha256::digest(json)[..BYTES], &mut tag);
    tag.push('"');
    EntityTag::try_from(tag).expect("base64 in quotes is a tag")
}

/// Checks the `If-Match` of a request against the current tag of the resource: it must be `*`, or
/// list the tag by the strong comparison (RFC 9110, sections 8.8.3.2 and 13.1.1).
///
/// # Errors
///
/// [`Refusal::Stale`] if it does not: the resource has changed since the caller saw it.
pub fn ensure_match(known: &IfMatch, tag: &EntityTag) -> Result<(), Refusal> {
    let known = EntityTags::parse(known.as_str());
    if known.is_some_and(|known| known.has_strong(tag.as_str())) {
        Ok(())
    } else {
        Err(Refusal::Stale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_strong_tag_of_the_list_matches() {
        let tag: EntityTag = "\"a,b\"".parse().unwrap();
        for known in ["*", "\"a,b\"", "\"x\" ,\t\"a,b\"", "W/\"a,b\",\"a,b\""] {
            let known = known.parse().unwrap();
            assert_eq!(ensure_match(&known, &tag), Ok(()), "{known}");
        }
        for known in [
            "\"\"",
            "W/\"a,b\"",
            "\"a\",\"b\"",
            "\"A,B\"",
            "\"x\",W/\"a,b\"",
        ] {
            let known = known.parse().unwrap();
            assert_eq!(ensure_match(&known, &tag), Err(Refusal::Stale), "{known}");
        }
    }
}
