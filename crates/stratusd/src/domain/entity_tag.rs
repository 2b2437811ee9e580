//! Entity tags: hashes of what responses show, and the condition `If-Match` on them.
//!
//! A tag is a hash of the representation and not the row's revision, because a representation also
//! shows other rows: a subnet its firewalls and interfaces, a load balancer its virtual machines.
//! These change without the revision, and so does the state that the reconciler writes.

use api_types::{EntityTag, IfMatch};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Refusal;

/// The number of bytes of a hash that a tag consists of: two representations of a resource do not
/// have the same 128 bits by chance.
const BYTES: usize = 16;

/// A resource as responses show it, with its entity tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tagged<T> {
    /// The resource.
    pub shown: T,
    /// Its tag.
    pub tag: EntityTag,
}

impl<T: Serialize> Tagged<T> {
    /// Tags a resource by the hash of everything that is shown of it.
    #[must_use]
    pub fn of(shown: T) -> Self {
        let tag = hash(&shown);
        Self { shown, tag }
    }
}

/// Returns the strong tag of a representation (RFC 9110, section 8.8.3).
///
/// A tag may be logged, so a representation with a secret is hashed without the secret, and with
/// something else that changes whenever the secret does: a guessed password could be checked
/// against its hash.
///
/// # Panics
///
/// Never: values of the contract can be written as JSON.
pub fn hash(representation: &impl Serialize) -> EntityTag {
    let json = serde_json::to_vec(representation).expect("it can be written as JSON");
    let hash = URL_SAFE_NO_PAD.encode(&Sha256::digest(json)[..BYTES]);
    EntityTag::try_from(format!("\"{hash}\"")).expect("base64 in quotes is a tag")
}

/// Checks that a resource has one of the tags that a caller knows of it, by the strong comparison
/// (RFC 9110, sections 8.8.3.2 and 13.1.1).
///
/// # Errors
///
/// If it has another tag: it has changed since the caller saw it.
pub fn ensure_match(known: &IfMatch, tag: &EntityTag) -> Result<(), Refusal> {
    let known = known.as_str();
    if known == "*" || tags(known).any(|known| known == tag.as_str()) {
        Ok(())
    } else {
        Err(Refusal::Stale)
    }
}

/// Returns the tags of a list, each with its quotes. A weak one keeps its `W/`, so that it is equal
/// to no strong one. They are not split at commas, which may be within quotes.
fn tags(mut list: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        list = list.trim_start_matches([' ', '\t', ',']);
        let opening = list.find('"')?;
        let closing = opening + 1 + list[opening + 1..].find('"')?;
        let (tag, rest) = list.split_at(closing + 1);
        list = rest;
        Some(tag)
    })
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
