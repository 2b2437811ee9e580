//! Servers, and the variables of their URLs.

use indexmap::IndexMap;

/// A server of the API.
#[derive(Debug, Clone)]
pub struct Server {
    /// The URL, which can contain `{variables}`.
    pub url: String,
    /// A description.
    pub description: Option<String>,
    /// The variables of the URL, by name.
    pub variables: IndexMap<String, ServerVariable>,
}

/// The maximum number of bytes of a URL in which variables are replaced. A short document can name one
/// variable often, each time for a long value.
const MOST_URL_BYTES: usize = 64 << 10;

impl Server {
    /// Returns the URL with the default of each variable.
    #[must_use]
    pub fn default_url(&self) -> String {
        self.url_with(|_, variable| &variable.default)
    }

    /// Returns the URL with a value for each variable that is declared. Braces within a value are
    /// text. A variable whose value makes the URL longer than 64 KiB is left as it is.
    #[must_use]
    pub fn url_with<'s>(&'s self, value: impl Fn(&str, &'s ServerVariable) -> &'s str) -> String {
        let mut filled = String::new();
        let mut rest = self.url.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let variable = after.split_once('}').and_then(|(name, after)| {
                let value = value(name, self.variables.get(name)?);
                let fits = filled.len() + value.len() <= MOST_URL_BYTES;
                fits.then_some((value, after))
            });
            rest = if let Some((value, after)) = variable {
                filled.push_str(value);
                after
            } else {
                filled.push('{');
                after
            };
        }
        filled + rest
    }
}

/// A variable in a server's URL.
#[derive(Debug, Clone)]
pub struct ServerVariable {
    /// The value if the caller chooses none.
    pub default: String,
    /// The allowed values; empty if any value is allowed.
    pub allowed: Vec<String>,
    /// A description.
    pub description: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(url: &str, variables: &[(&str, &str)]) -> Server {
        let variable = |default: &str| ServerVariable {
            default: default.to_owned(),
            allowed: Vec::new(),
            description: None,
        };
        Server {
            url: url.to_owned(),
            description: None,
            variables: variables
                .iter()
                .map(|(name, default)| ((*name).to_owned(), variable(default)))
                .collect(),
        }
    }

    #[test]
    fn variables_are_replaced_once() {
        let server = server("https://{a}.{b}/{c}/{", &[("a", "{b}"), ("b", "x")]);
        assert_eq!(server.default_url(), "https://{b}.x/{c}/{");
    }

    #[test]
    fn a_short_document_has_no_long_url() {
        let long = "x".repeat(60 << 10);
        let url = "{a}".repeat(1_000);
        let filled = server(&url, &[("a", &long)]).default_url();
        assert_eq!(filled, long + &"{a}".repeat(999));
    }
}
