//! The reference page of an API at `/docs/`: Swagger UI over the served contract, with all its files
//! inside the program. `/` says where the page and the contract are.

mod files;

use std::fmt;

use axum::body::Body;
use axum::extract::NestedPath;
use axum::response::Response;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;

use self::files::File;
use super::contract_texts::{ContractTexts, ServedText};

/// The paths of the page, as templates.
pub(super) const PATHS: [&str; 4] = ["/", "/docs", "/docs/", "/docs/{file}"];

/// The files of Swagger UI that the page uses, with their media types. The last two end a login by
/// OAuth.
const FILES: [(&str, &str); 6] = [
    ("favicon-32x32.png", "image/png"),
    ("index.css", "text/css"),
    ("swagger-ui-bundle.js", "text/javascript"),
    ("swagger-ui.css", "text/css"),
    ("oauth2-redirect.html", "text/html"),
    ("oauth2-redirect.js", "text/javascript"),
];

/// The script that shows the contract.
const SCRIPT: &str = r#"// Shows the contract that this server serves.
(async () => {
  const at = (path) => new URL(path, location.href);
  const response = await fetch(at("../openapi.json"));
  if (!response.ok) {
    throw new Error(`the contract could not be loaded: ${response.status}`);
  }
  const contract = await response.json();
  // Calls go to the server of this page, wherever the contract says that the API is.
  contract.servers = [{ url: at("..").href.replace(/\/$/, "") }];
  for (const path of Object.values(contract.paths ?? {})) {
    delete path.servers;
    for (const operation of Object.values(path)) {
      delete operation?.servers;
    }
  }
  SwaggerUIBundle({
    spec: contract,
    domNode: document.getElementById("docs"),
    deepLinking: true,
    filter: true,
    // Otherwise the page sends the contract's address to a validator of others.
    validatorUrl: null,
    oauth2RedirectUrl: at("oauth2-redirect.html").href,
  });
})().catch((error) => {
  document.getElementById("docs").textContent = error;
});
"#;

/// What a browser may do for the page: load the files of this server and call this server. Swagger
/// UI has styles in attributes and images in its style sheet.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// The reference page with its files.
pub(super) struct Docs {
    title: String,
    page: ServedText,
    script: ServedText,
    files: Vec<(&'static str, ServedText)>,
}

impl Docs {
    /// Creates the page for a contract.
    pub(super) fn new(contract: ContractTexts) -> Self {
        let title = title(contract.json);
        let files = FILES.into_iter().filter_map(|(name, content_type)| {
            let content_type = HeaderValue::from_static(content_type);
            let served = match files::lookup(name)? {
                File::Plain(bytes) => ServedText::new(content_type, bytes),
                File::Gzip(bytes) => ServedText::compressed(content_type, bytes),
            };
            Some((name, served))
        });
        Self {
            page: ServedText::new(HTML, Bytes::from(page(&title))),
            script: ServedText::new(
                HeaderValue::from_static("text/javascript; charset=utf-8"),
                Bytes::from_static(SCRIPT.as_bytes()),
            ),
            files: files.collect(),
            title,
        }
    }

    /// Returns the response to a `GET`, or `None` if its path is none of the page's.
    pub(super) fn get(&self, parts: &Parts) -> Option<Response> {
        let path = parts.uri.path();
        let mut response = match path {
            "/" => self.start(parts),
            "/docs" => redirect(&format!("{}docs/", prefix(parts))),
            "/docs/" => self.page.get(&parts.headers),
            "/docs/docs.js" => self.script.get(&parts.headers),
            _ => {
                let name = path.strip_prefix("/docs/")?;
                let (_, file) = self.files.iter().find(|(known, _)| *known == name)?;
                file.get(&parts.headers)
            }
        };
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, NO_SNIFF);
        headers.insert(header::REFERRER_POLICY, NO_REFERRER);
        Some(response)
    }

    /// Returns the response that says where the page and the contract are: with links for browsers,
    /// as text for others.
    fn start(&self, parts: &Parts) -> Response {
        let prefix = prefix(parts);
        let entries = [
            ("docs/", "the reference page"),
            ("openapi.yaml", "the contract as YAML"),
            ("openapi.json", "the contract as JSON"),
        ];
        let accepts = parts.headers.get_all(header::ACCEPT).iter();
        let is_browser = accepts
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.contains("text/html"));
        let (content_type, body) = if is_browser {
            let prefix = escaped(&prefix);
            let item = |(path, what): (&str, &str)| {
                format!("<li><a href=\"{prefix}{path}\">{path}</a>: {what}</li>\n")
            };
            let items: String = entries.into_iter().map(item).collect();
            let title = escaped(&self.title);
            let body = format!(
                "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
                 <h1>{title}</h1>\n<ul>\n{items}</ul>\n"
            );
            (HTML, body)
        } else {
            let line = |(path, what): (&str, &str)| format!("{prefix}{path}: {what}\n");
            let lines: String = entries.into_iter().map(line).collect();
            let text = HeaderValue::from_static("text/plain; charset=utf-8");
            (text, format!("{}\n\n{lines}", self.title))
        };
        let mut response = Response::new(Body::from(body));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, content_type);
        headers.insert(header::VARY, HeaderValue::from_name(header::ACCEPT));
        response
    }
}

impl fmt::Debug for Docs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Docs").finish_non_exhaustive()
    }
}

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const NO_SNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");

/// The part of a contract that names the API.
#[derive(Deserialize)]
struct Named {
    info: Info,
}

#[derive(Deserialize)]
struct Info {
    title: String,
    version: String,
}

/// Returns the title and the version of a contract.
fn title(contract: &str) -> String {
    serde_json::from_str(contract).map_or_else(
        |_| "API".to_owned(),
        |Named { info }| format!("{} {}", info.title, info.version),
    )
}

fn page(title: &str) -> String {
    let title = escaped(title);
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" type="image/png" href="favicon-32x32.png">
<link rel="stylesheet" href="swagger-ui.css">
<link rel="stylesheet" href="index.css">
</head>
<body>
<noscript>This page needs JavaScript. The contract is <a href="../openapi.yaml">openapi.yaml</a>.</noscript>
<div id="docs"></div>
<script src="swagger-ui-bundle.js"></script>
<script src="docs.js"></script>
</body>
</html>
"#
    )
}

/// Returns what comes before the paths of the router in links: where the program nests it, or else
/// nothing, so that links are relative and work behind a proxy that serves the API below a path.
fn prefix(parts: &Parts) -> String {
    let nested = parts.extensions.get::<NestedPath>();
    nested.map_or_else(String::new, |nested| {
        format!("{}/", nested.as_str().trim_end_matches('/'))
    })
}

fn redirect(to: &str) -> Response {
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("docs/"));
    let mut response = Response::default();
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    response.headers_mut().insert(header::LOCATION, to);
    response
}

/// Escapes a text for HTML, for elements and attributes in double quotes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}
