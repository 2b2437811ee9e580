//! Compares how clients get the tokens of OAuth.

use contract::model::{Contract, SecurityKind};
use serde_json::{Map, Value, json};

use super::message::quoted;
use super::{Comparison, Found, encoding};
use crate::finding::{Kind, Witness};

/// The URLs of a flow. A client calls the first that a flow has for a new token.
const URLS: [&str; 4] = [
    "authorizationUrl",
    "deviceAuthorizationUrl",
    "tokenUrl",
    "refreshUrl",
];

impl Comparison<'_> {
    /// Reports how clients no longer get their token: flows of OAuth that are gone or have other
    /// URLs, and scopes that cannot be asked for.
    pub(super) fn flows_of_oauth(&mut self) {
        let (base, revision) = (self.base(), self.revision());
        for (name, scheme) in &base.security_schemes {
            let Some(other) = revision.security_schemes.get(name) else {
                continue;
            };
            let (old, new) = (flows(base, name), flows(revision, name));
            // A scheme of another kind is reported where it is asked for.
            if scheme.kind != SecurityKind::OAuth2 || other.kind != SecurityKind::OAuth2 {
                continue;
            }
            for (message, witness) in changes(name, old.as_ref(), new.as_ref()) {
                let users = base.operations.iter().filter(|operation| {
                    let mut asked = operation.security.iter().flat_map(|asked| &asked.schemes);
                    asked.any(|(asked, _)| asked == name)
                });
                let names = users.map(|operation| {
                    let method = operation.method.as_str();
                    format!("{} ({method} {})", operation.id, operation.path)
                });
                let mut names: Vec<Option<String>> = names.map(Some).collect();
                if names.is_empty() {
                    names.push(None);
                }
                for operation in names {
                    self.add(
                        operation.as_deref(),
                        Found {
                            kind: Kind::Breaking,
                            rule: "oauth-changed",
                            message: message.clone(),
                            base: Some(scheme.span),
                            revision: Some(other.span),
                            witness: Some(witness.clone()),
                        },
                    );
                }
            }
        }
    }
}

/// Returns the flows of a security scheme, in JSON.
fn flows(contract: &Contract, name: &str) -> Option<Map<String, Value>> {
    let pointer = contract::pointer::join("/components/securitySchemes", name);
    let mut scheme = contract.document.part(&pointer)?;
    if let Some(reference) = scheme.get("$ref").and_then(Value::as_str) {
        let pointer = reference.strip_prefix('#')?;
        scheme = contract.document.part(pointer)?;
    }
    match scheme.get_mut("flows")?.take() {
        Value::Object(flows) => Some(flows),
        _ => None,
    }
}

/// Returns what clients can no longer do, in words and as a request.
fn changes(
    name: &str,
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
) -> Vec<(String, Witness)> {
    let mut out = Vec::new();
    for (flow, one) in old
        .into_iter()
        .flatten()
        .filter(|(flow, _)| !flow.starts_with("x-"))
    {
        let first = || URLS.into_iter().find(|key| one.get(*key).is_some());
        let Some(other) = new.and_then(|new| new.get(flow)) else {
            let message = format!("`{name}`: the flow `{flow}` of OAuth is gone");
            out.push((message, request(flow, one, first(), None)));
            continue;
        };
        for key in URLS {
            if one.get(key) != other.get(key) && one.get(key).is_some() {
                let what = match other.get(key).and_then(Value::as_str) {
                    Some(url) => format!("is `{url}` now"),
                    None => "is gone".to_owned(),
                };
                let message = format!("`{name}`: `{key}` of the flow `{flow}` {what}");
                out.push((message, request(flow, one, Some(key), None)));
            }
        }
        let left = scopes(other);
        for scope in scopes(one) {
            if !left.contains(&scope) {
                let message =
                    format!("`{name}`: the flow `{flow}` no longer gives the scope `{scope}`");
                out.push((message, request(flow, one, first(), Some(scope))));
            }
        }
    }
    out
}

fn scopes(flow: &Value) -> Vec<&str> {
    let scopes = flow.get("scopes").and_then(Value::as_object);
    let scopes = scopes.into_iter().flatten();
    scopes.map(|(scope, _)| scope.as_str()).collect()
}

/// Returns the request by which a client calls a URL of a flow, for one scope or for the first one.
fn request(flow: &str, about: &Value, key: Option<&str>, scope: Option<&str>) -> Witness {
    let scope = scope.or_else(|| scopes(about).first().copied());
    let key = key.unwrap_or_default();
    let url = about.get(key).and_then(Value::as_str);
    let command = url.and_then(|url| command(flow, key, url, scope));
    if let Some(command) = command {
        return Witness::Request(command);
    }
    let message = json!({ "flow": flow, "url": url, "scope": scope });
    Witness::Message(message.to_string())
}

/// Returns the command by which a client calls a URL of a flow, or `None` if curl would call another
/// one.
fn command(flow: &str, key: &str, url: &str, scope: Option<&str>) -> Option<String> {
    let is_plain = |character: char| character.is_ascii_graphic() && !"[]{}".contains(character);
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    if !is_web || !url.chars().all(is_plain) {
        return None;
    }
    let url = quoted(url);
    let scope = |start: &str| match scope {
        Some(scope) => quoted(&format!("{start}scope={}", encoding::encoded(scope))),
        None => quoted(start.trim_end_matches('&')),
    };
    let client = r#"-u "$CLIENT_ID:$CLIENT_SECRET""#;
    Some(match (key, flow) {
        ("authorizationUrl", _) => {
            let kind = if flow == "implicit" { "token" } else { "code" };
            let data = scope(&format!("response_type={kind}&"));
            format!(r#"curl -G {url} --data-urlencode "client_id=$CLIENT_ID" --data {data}"#)
        }
        ("deviceAuthorizationUrl", _) => {
            let data = scope("");
            let data = if data == "''" {
                String::new()
            } else {
                format!(" --data {data}")
            };
            format!(r#"curl -X POST {url} --data-urlencode "client_id=$CLIENT_ID"{data}"#)
        }
        ("refreshUrl", _) => format!(
            r#"curl -X POST {url} {client} --data grant_type=refresh_token --data-urlencode "refresh_token=$REFRESH_TOKEN""#
        ),
        (_, "clientCredentials") => {
            let data = scope("grant_type=client_credentials&");
            format!("curl -X POST {url} {client} --data {data}")
        }
        (_, "password") => {
            let data = scope("grant_type=password&");
            format!(
                r#"curl -X POST {url} {client} --data {data} --data-urlencode "username=$USERNAME" --data-urlencode "password=$PASSWORD""#
            )
        }
        (_, "deviceAuthorization") => format!(
            r#"curl -X POST {url} --data 'grant_type=urn:ietf:params:oauth:grant-type:device_code' --data-urlencode "client_id=$CLIENT_ID" --data-urlencode "device_code=$CODE""#
        ),
        _ => format!(
            r#"curl -X POST {url} {client} --data grant_type=authorization_code --data-urlencode "code=$CODE""#
        ),
    })
}
