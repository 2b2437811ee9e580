//! Credentials in commands: where a request has them, and how the shell fills them in.

use contract::model::{Location, Operation, SecurityKind, SecurityRequirement};

use super::message::quoted;
use super::{Comparison, encoding};

/// The variable by which the shell fills in the first credential. That of the second one ends in
/// `_2`, and so on.
const VARIABLE: &str = "TOKEN";

/// The credentials of a request.
#[derive(Default)]
pub(super) struct Credentials {
    query: Vec<Credential>,
    cookies: Vec<Credential>,
    headers: Vec<Credential>,
}

/// A credential in a request.
struct Credential {
    /// What stands before it, such as `key=`.
    start: String,
    /// The variable that the shell replaces by it.
    variable: String,
}

impl Credentials {
    /// Returns the word of a command for a URL with its query.
    pub(super) fn url(&self, url: &str) -> String {
        let separator = if url.contains('?') { "&" } else { "?" };
        word(url, separator, "&", &self.query)
    }

    /// Returns the word of a command for the header with all cookies, or `None` if there are none.
    pub(super) fn cookies(&self, cookies: &[String]) -> Option<String> {
        if cookies.is_empty() && self.cookies.is_empty() {
            return None;
        }
        let separator = if cookies.is_empty() { "" } else { "; " };
        let known = format!("Cookie: {}", cookies.join("; "));
        Some(word(&known, separator, "; ", &self.cookies))
    }

    /// Returns the words of a command for the headers with a credential.
    pub(super) fn headers(&self) -> impl Iterator<Item = String> {
        let headers = self.headers.chunks(1);
        headers.map(|header| word("", "", "", header))
    }

    /// Adds the credential of a scheme, or returns `None` if a command cannot have it.
    fn add(&mut self, kind: &SecurityKind, variable: String) -> Option<()> {
        let (place, start) = match kind {
            SecurityKind::ApiKey { name, location } => match location {
                Location::Query => (&mut self.query, format!("{}=", encoding::encoded(name))),
                _ if !encoding::is_token(name) => return None,
                Location::Cookie => (&mut self.cookies, format!("{name}=")),
                Location::Header | Location::Path => (&mut self.headers, format!("{name}: ")),
            },
            SecurityKind::HttpBearer | SecurityKind::OAuth2 | SecurityKind::OpenIdConnect(_) => {
                (&mut self.headers, "Authorization: Bearer ".to_owned())
            }
            SecurityKind::HttpBasic => (&mut self.headers, "Authorization: Basic ".to_owned()),
            SecurityKind::Http(_) | SecurityKind::MutualTls => return None,
        };
        place.push(Credential { start, variable });
        Some(())
    }
}

impl Comparison<'_> {
    /// Returns the credentials of the first requirement of an operation that a command can fulfil;
    /// none if there is no such requirement.
    pub(super) fn credentials(&self, operation: &Operation) -> Credentials {
        let mut requirements = operation.security.iter();
        let found = requirements.find_map(|requirement| self.all_of(requirement));
        found.unwrap_or_default()
    }

    fn all_of(&self, requirement: &SecurityRequirement) -> Option<Credentials> {
        let mut credentials = Credentials::default();
        for (at, (name, _)) in requirement.schemes.iter().enumerate() {
            let scheme = self.base().security_schemes.get(name)?;
            let variable = match at {
                0 => VARIABLE.to_owned(),
                at => format!("{VARIABLE}_{}", at + 1),
            };
            credentials.add(&scheme.kind, variable)?;
        }
        Some(credentials)
    }
}

/// Returns a word of a command: what is known, and each credential after its start.
///
/// The shell fills in the credentials, and nothing else, so only their variables are outside of
/// what is quoted.
fn word(known: &str, first: &str, others: &str, credentials: &[Credential]) -> String {
    let mut word = String::new();
    let mut text = known.to_owned();
    for (at, Credential { start, variable }) in credentials.iter().enumerate() {
        text.push_str(if at == 0 { first } else { others });
        text.push_str(start);
        word = format!("{word}{}\"${variable}\"", quoted(&text));
        text.clear();
    }
    if credentials.is_empty() {
        word.push_str(&quoted(&text));
    }
    word
}
