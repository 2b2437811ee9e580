//! Derives operation ids for operations that have none.

use std::collections::HashMap;

use crate::model::{Method, Operation, PathPart};

/// Derives an id from method and path, such as `get_pets_by_pet_id`.
pub(super) fn derive(method: &Method, segments: &[PathPart]) -> String {
    let mut words = snake(method.as_str());
    for segment in segments {
        match segment {
            PathPart::Literal(text) => words.extend(snake(text)),
            PathPart::Parameter(name) => {
                words.push("by".to_owned());
                words.extend(snake(name));
            }
        }
    }
    if words.len() == 1 {
        words.push("root".to_owned());
    }
    words.join("_")
}

/// Splits a string into words in lower case. Words are separated by characters other than letters
/// and digits. A capital after a small letter or digit starts a new word.
fn snake(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut open = false;
    let mut lower_before = false;
    for char in text.chars() {
        if !char.is_alphanumeric() {
            open = false;
            continue;
        }
        if !open || (char.is_uppercase() && lower_before) {
            words.push(String::new());
        }
        open = true;
        lower_before = char.is_lowercase() || char.is_numeric();
        if let Some(word) = words.last_mut() {
            word.extend(char.to_lowercase());
        }
    }
    words
}

/// Appends a suffix to each derived id that another operation has as well. The suffix is a hash of
/// the operation's method and path, so it does not depend on other operations or their order.
pub(super) fn separate(operations: &mut [Operation]) {
    let mut uses: HashMap<String, usize> = HashMap::new();
    for operation in operations.iter() {
        *uses.entry(operation.id.clone()).or_default() += 1;
    }
    for operation in operations {
        if operation.id_is_derived && uses[&operation.id] > 1 {
            let mark = fingerprint(&format!("{} {}", operation.method.as_str(), operation.path));
            operation.id = format!("{}_{mark:08x}", operation.id);
        }
    }
}

/// Returns the 32-bit FNV-1a hash of a string. The standard library's hashes may change between
/// releases, and ids must not.
fn fingerprint(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}
