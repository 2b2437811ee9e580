//! The rules for passwords of the superusers of Postgres databases.

use super::Refusal;
use crate::world::World;

/// The minimum number of characters of a password.
const LENGTH: usize = 12;

/// Checks that a password has at least 12 characters, with a lowercase letter, an uppercase letter
/// and a digit of ASCII, and no control characters.
///
/// # Errors
///
/// If the password breaks a rule. The refusal names all rules that it breaks in
/// `details.password`.
pub fn ensure_strong(password: &str) -> Result<(), Refusal> {
    let rules = [
        (
            password.chars().count() >= LENGTH,
            "must be at least 12 characters long",
        ),
        (
            password.chars().any(|c| c.is_ascii_lowercase()),
            "must have a lowercase letter",
        ),
        (
            password.chars().any(|c| c.is_ascii_uppercase()),
            "must have an uppercase letter",
        ),
        (
            password.chars().any(|c| c.is_ascii_digit()),
            "must have a digit",
        ),
        (
            !password.chars().any(char::is_control),
            "must not have control characters",
        ),
    ];
    let failed: Vec<String> = rules
        .iter()
        .filter(|(passes, _)| !passes)
        .map(|(_, rule)| (*rule).to_owned())
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Refusal::failed_rules(
            "password",
            "the password is too weak",
            failed,
        ))
    }
}

/// Generates a random password of 32 letters and digits that passes [`ensure_strong`].
#[must_use]
pub fn generate(world: &World) -> String {
    loop {
        let password = world.letters_and_digits(32);
        if ensure_strong(&password).is_ok() {
            return password;
        }
    }
}
