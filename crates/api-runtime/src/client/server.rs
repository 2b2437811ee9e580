//! The servers that a contract lists, with the variables of their URLs.

use super::BuildError;

/// A server that the contract lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Server {
    /// The URL as the contract writes it, such as `https://{region}.example.com/v1`.
    pub template: &'static str,
    /// The variables of the URL.
    pub variables: &'static [Variable],
}

/// A variable in a server's URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// The name, as it is between braces in the URL.
    pub name: &'static str,
    /// The value if no other is set.
    pub default: &'static str,
    /// The allowed values; if empty, all are allowed.
    pub values: &'static [&'static str],
}

impl Server {
    /// Returns the URL with the default of each variable.
    #[must_use]
    pub fn url(&self) -> String {
        let defaults = self.variables.iter();
        defaults.fold(self.template.to_owned(), |url, variable| {
            url.replace(&variable.placeholder(), variable.default)
        })
    }

    /// Returns the URL with the given values, as pairs of a variable's name and its value. The
    /// other variables have their defaults.
    ///
    /// # Errors
    ///
    /// If there is no such variable, or its value is not allowed: it is not listed, or has
    /// characters that would change other parts of the URL.
    pub fn url_with(&self, values: &[(&str, &str)]) -> Result<String, BuildError> {
        for (name, _) in values {
            if self.variables.iter().all(|variable| variable.name != *name) {
                let known: Vec<&str> = self
                    .variables
                    .iter()
                    .map(|variable| variable.name)
                    .collect();
                let known = if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                };
                return Err(BuildError::new(format!(
                    "the server has no variable `{name}`; its variables are: {known}"
                )));
            }
        }
        let mut url = self.template.to_owned();
        for variable in self.variables {
            let given = values.iter().find(|(name, _)| *name == variable.name);
            let value = given.map_or(variable.default, |(_, value)| value);
            variable.check(value, &url)?;
            url = url.replace(&variable.placeholder(), value);
        }
        Ok(url)
    }
}

impl Variable {
    fn placeholder(&self) -> String {
        format!("{{{}}}", self.name)
    }

    fn check(&self, value: &str, url: &str) -> Result<(), BuildError> {
        let name = self.name;
        if !self.values.is_empty() && !self.values.contains(&value) {
            let listed = self.values.join(", ");
            return Err(BuildError::new(format!(
                "the server's variable `{name}` must be one of {listed}"
            )));
        }
        // A value of the contract's may change any part of the URL.
        if self.values.contains(&value) || value == self.default {
            return Ok(());
        }
        // A slash before the path would end the host; in the path it only begins another segment.
        let before = url.split(&self.placeholder()).next().unwrap_or_default();
        let host = before.split_once("://").map(|(_, host)| host);
        let may_have_slashes = before.is_empty()
            || host.is_some_and(|host| host.contains('/'))
            || before.starts_with('/');
        // Braces are wrong too: variables are replaced in turn, so a value could name the next one.
        let is_wrong = value.is_empty()
            || value.chars().any(|character| {
                character.is_control() || character.is_whitespace() || "?#@\\{}".contains(character)
            })
            || (!may_have_slashes && value.contains('/'))
            || value.split('/').any(|part| matches!(part, "." | ".."));
        if is_wrong {
            let reason = "is empty, or has a character that would change other parts of the URL";
            return Err(BuildError::new(format!(
                "the value of the server's variable `{name}` {reason}"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: Server = Server {
        template: "{scheme}://{region}.example.com:{port}/{base}",
        variables: &[
            Variable {
                name: "scheme",
                default: "https",
                values: &["http", "https"],
            },
            Variable {
                name: "region",
                default: "eu",
                values: &[],
            },
            Variable {
                name: "port",
                default: "443",
                values: &[],
            },
            Variable {
                name: "base",
                default: "v1",
                values: &[],
            },
        ],
    };

    #[test]
    fn variables_keep_to_their_place() {
        assert_eq!(SERVER.url(), "https://eu.example.com:443/v1");
        let url = SERVER.url_with(&[
            ("scheme", "http"),
            ("region", "us"),
            ("port", "8080"),
            ("base", "api/v2"),
        ]);
        assert_eq!(url.unwrap(), "http://us.example.com:8080/api/v2");
        for (name, value) in [
            ("scheme", "ftp"),
            ("zone", "a"),
            ("region", "evil.example/"),
            ("region", "user@evil"),
            ("region", ""),
            ("region", "a b"),
            ("port", "1#"),
            ("base", "../admin"),
            ("base", "v1?x"),
            ("base", "{region}"),
        ] {
            SERVER.url_with(&[(name, value)]).expect_err(value);
        }
        let whole = Server {
            template: "{url}",
            variables: &[Variable {
                name: "url",
                default: "https://example.com",
                values: &[],
            }],
        };
        assert_eq!(
            whole.url_with(&[("url", "http://localhost:8080")]).unwrap(),
            "http://localhost:8080"
        );
    }
}
