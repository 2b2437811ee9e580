//! A request as the command line of curl, for `--dry-run`.

use reqwest::Request;

use super::description::{Scheme, SchemeKind};
use super::secrets;
use super::settings::Settings;

/// Returns the command that sends a request. Each credential is a variable of the shell, and never
/// there itself.
pub(super) fn command(settings: &Settings<'_>, request: &Request) -> String {
    let mut words = vec![format!("curl -X {}", quoted(request.method().as_str()))];
    for (name, value) in request.headers() {
        let value = String::from_utf8_lossy(value.as_bytes());
        words.push(format!("-H {}", quoted(&format!("{name}: {value}"))));
    }
    let mut url = request.url().to_string();
    for at in settings.needed() {
        let scheme = &settings.sources.description.schemes[at];
        let variable = settings
            .sources
            .variable_name(&settings.sources.scheme_name(at));
        credential(scheme, &variable, &mut words, &mut url);
    }
    if let Some(body) = request.body() {
        match body.as_bytes().map(std::str::from_utf8) {
            Some(Ok(text)) => words.push(format!("--data-raw {}", quoted(&shown(settings, text)))),
            // A body that is no text, or is made of files, is what the command reads.
            _ => words.push("--data-binary @BODY".to_owned()),
        }
    }
    words.push(url_word(&url));
    words.join(" \\\n  ")
}

/// Adds a credential.
fn credential(scheme: &Scheme, variable: &str, words: &mut Vec<String>, url: &mut String) {
    let key = &scheme.key;
    let word = match scheme.kind {
        SchemeKind::Bearer => format!("-H \"Authorization: Bearer ${variable}\""),
        SchemeKind::Basic => format!("-u \"${variable}\""),
        // Words of the contract are in single quotes, in which a shell expands nothing.
        SchemeKind::Authorization => {
            format!(
                "-H {}\" ${variable}\"",
                quoted(&format!("Authorization: {key}"))
            )
        }
        SchemeKind::Header => format!("-H {}\" ${variable}\"", quoted(&format!("{key}:"))),
        SchemeKind::Cookie => format!("-b {}\"${variable}\"", quoted(&format!("{key}="))),
        SchemeKind::Query => {
            let join = if url.contains('?') { '&' } else { '?' };
            let key =
                percent_encoding::utf8_percent_encode(key, percent_encoding::NON_ALPHANUMERIC);
            // NUL, which no URL has, marks where the variable begins.
            url.push_str(&format!("{join}{key}=\u{0}{variable}"));
            return;
        }
        SchemeKind::Certificate => return,
    };
    words.push(word);
}

/// Returns the URL as a word, in which a variable is expanded.
fn url_word(url: &str) -> String {
    match url.split_once('\u{0}') {
        Some((url, variable)) => format!("{}\"${variable}\"", quoted(url)),
        None => quoted(url),
    }
}

/// Returns a body without the values of secret properties.
fn shown(settings: &Settings<'_>, text: &str) -> String {
    let body = settings.operation.body.as_ref();
    let secrets = body.map_or(&[][..], |body| &body.secrets);
    if secrets.is_empty() {
        return text.to_owned();
    }
    let Ok(mut value) = serde_json::from_str(text) else {
        // What is no JSON may have the secret anywhere.
        return secrets::HIDDEN.to_owned();
    };
    secrets::hide(&mut value, secrets);
    value.to_string()
}

/// Returns a text as one word of a POSIX shell.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_word_of_the_shell() {
        assert_eq!(quoted("a-b"), "a-b");
        assert_eq!(quoted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(quoted(""), "''");
        assert_eq!(url_word("http://x/?k=\u{0}V"), "'http://x/?k='\"$V\"");
    }
}
