//! Checks the document of an overlay, and parses its JSONPaths.

use super::bounds::{MOST_ACTIONS, MOST_OVERLAYS};
use super::pattern::Patterns;
use super::query::{Query, Wrong};
use crate::diagnostic::Diagnostic;
use crate::node::{Entry, Node, NodeValue};
use crate::source::Span;
use crate::spelling::nearest;

/// An overlay without errors.
#[derive(Debug)]
pub(crate) struct Overlay {
    pub(super) version: Version,
    /// The document that the overlay is for, as written, with its span.
    pub(crate) extends: Option<(String, Span)>,
    pub(super) actions: Vec<Action>,
    /// The patterns of all JSONPaths of the actions.
    pub(super) patterns: Patterns,
}

/// The version of the Overlay Specification that an overlay is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V1_0,
    V1_1,
}

/// An action of an overlay.
#[derive(Debug)]
pub(super) struct Action {
    pub(super) target: Query,
    /// The span of the target.
    pub(super) span: Span,
    pub(super) change: Change,
}

/// What an action does with the nodes that its target selects.
#[derive(Debug)]
pub(super) enum Change {
    /// Removes the nodes.
    Remove,
    /// Merges each of them with a node of the overlay.
    Update(Node),
    /// Merges each of them with a copy of the node of the document that a JSONPath selects.
    Copy(Query, Span),
    /// Does nothing.
    Nothing,
}

/// The fields of an object of an overlay, apart from `x-`.
struct Fields {
    /// The object, for messages.
    name: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
}

const OVERLAY: Fields = Fields {
    name: "an overlay",
    required: &["overlay", "info", "actions"],
    optional: &["extends"],
};

const INFO: Fields = Fields {
    name: "the info of an overlay",
    required: &["title", "version"],
    optional: &["description"],
};

const ACTION: Fields = Fields {
    name: "an action",
    required: &["target"],
    optional: &["description", "update", "copy", "remove"],
};

/// Checks an overlay. Returns `None` after an error.
pub(crate) fn read(root: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Overlay> {
    let mut reader = Reader {
        diagnostics,
        is_wrong: false,
        patterns: Patterns::default(),
    };
    let overlay = reader.overlay(root);
    overlay.filter(|_| !reader.is_wrong)
}

/// Returns the diagnostic of an overlay that is one too many.
pub(crate) fn too_many(span: Span) -> Diagnostic {
    Diagnostic::error(
        "overlay-too-large",
        span,
        format!("a contract has at most {MOST_OVERLAYS} overlays"),
    )
    .help("write the actions of several overlays into one")
}

struct Reader<'d> {
    diagnostics: &'d mut Vec<Diagnostic>,
    is_wrong: bool,
    patterns: Patterns,
}

impl Reader<'_> {
    fn overlay(&mut self, root: &Node) -> Option<Overlay> {
        let NodeValue::Object(_) = root.value else {
            let message = format!("an overlay must be an object, not {}", root.kind());
            self.error(
                "overlay-field",
                root.span,
                message,
                "start with `overlay: 1.1.0`",
            );
            return None;
        };
        // A document that is no overlay at all has one error rather than one for each field.
        let Some(version) = root.get("overlay") else {
            let help = if root.get("openapi").is_some() {
                "this is the document; `--overlay` takes the overlay"
            } else {
                "start with `overlay: 1.1.0`"
            };
            let message = "the overlay does not say which version it is written in".to_owned();
            self.error("overlay-version", root.span, message, help);
            return None;
        };
        let version = self.version(version)?;
        self.fields(root, &OVERLAY, version);
        if let Some(info) = root.get("info") {
            if info.as_object().is_some() {
                self.fields(info, &INFO, version);
                for key in ["title", "version", "description"] {
                    self.text(info, key);
                }
            } else {
                self.wrong_type("`info`", info, "an object");
            }
        }
        let extends = self.text(root, "extends");
        let actions = self.actions(root.get("actions")?, version)?;
        Some(Overlay {
            version,
            extends,
            actions,
            patterns: std::mem::take(&mut self.patterns),
        })
    }

    fn version(&mut self, node: &Node) -> Option<Version> {
        let of = |text: &str| {
            let (minor, patch) = text.rsplit_once('.')?;
            let is_patch = !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit());
            match minor {
                "1.0" if is_patch => Some(Version::V1_0),
                "1.1" if is_patch => Some(Version::V1_1),
                _ => None,
            }
        };
        let version = node.as_str().and_then(of);
        if version.is_none() {
            let message = match (&node.value, node.as_str()) {
                (_, Some(text)) => format!("Overlay `{text}` is not read, only 1.0 and 1.1 are"),
                (NodeValue::Number(number), _) => {
                    format!("`overlay` must be a string, and {number} is a number")
                }
                _ => format!("`overlay` must be a string, not {}", node.kind()),
            };
            let help = "write all three parts, such as `1.1.0`";
            self.error("overlay-version", node.span, message, help);
        }
        version
    }

    /// Reports required fields that an object does not have, and fields that are unknown or that only
    /// a later version of Overlay has.
    fn fields(&mut self, object: &Node, fields: &Fields, version: Version) {
        let name = fields.name;
        for field in fields.required {
            if object.get(field).is_none() {
                self.error(
                    "overlay-field",
                    object.span,
                    format!("{name} needs `{field}`"),
                    &format!("add `{field}`"),
                );
            }
        }
        for entry in object.as_object().unwrap_or_default() {
            let key = entry.key.as_str();
            let is_new = version == Version::V1_0
                && matches!(
                    (name, key),
                    ("an action", "copy") | ("the info of an overlay", "description")
                );
            if is_new {
                self.error(
                    "overlay-field",
                    entry.key_span,
                    format!("{name} has `{key}` only since Overlay 1.1"),
                    "write `overlay: 1.1.0`",
                );
                continue;
            }
            let known = || fields.required.iter().chain(fields.optional).copied();
            if key.starts_with("x-") || known().any(|field| field == key) {
                continue;
            }
            let help = match nearest(key, known()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("remove it, or rename it to `x-{key}`"),
            };
            let message = format!("{name} has no `{key}`");
            self.error("overlay-field", entry.key_span, message, &help);
        }
    }

    /// Returns the string at a key, with its span.
    fn text(&mut self, object: &Node, key: &str) -> Option<(String, Span)> {
        let node = object.get(key)?;
        let Some(text) = node.as_str() else {
            self.wrong_type(&format!("`{key}`"), node, "a string");
            return None;
        };
        Some((text.to_owned(), node.span))
    }

    fn actions(&mut self, node: &Node, version: Version) -> Option<Vec<Action>> {
        let Some(items) = node.as_array() else {
            self.wrong_type("`actions`", node, "an array");
            return None;
        };
        if items.is_empty() {
            let message = "an overlay needs at least one action".to_owned();
            self.error(
                "overlay-field",
                node.span,
                message,
                "add an action, or do without the overlay",
            );
        }
        if items.len() > MOST_ACTIONS {
            self.diagnostics.push(
                Diagnostic::error(
                    "overlay-too-large",
                    node.span,
                    format!(
                        "the overlay has {} actions, more than {MOST_ACTIONS}",
                        items.len()
                    ),
                )
                .help("write several overlays"),
            );
            self.is_wrong = true;
            return None;
        }
        let actions = items.iter().filter_map(|item| self.action(item, version));
        Some(actions.collect())
    }

    fn action(&mut self, node: &Node, version: Version) -> Option<Action> {
        if node.as_object().is_none() {
            self.wrong_type("an action", node, "an object");
            return None;
        }
        self.fields(node, &ACTION, version);
        // Nothing reads it, but it must be a text.
        self.text(node, "description");
        let (target, span) = self.query(node, "target")?;
        let change = self.change(node)?;
        Some(Action {
            target,
            span,
            change,
        })
    }

    fn query(&mut self, action: &Node, key: &str) -> Option<(Query, Span)> {
        let (text, span) = self.text(action, key)?;
        match Query::parse(&text, &mut self.patterns) {
            Ok(query) => {
                for pattern in &query.bad_patterns {
                    self.diagnostics.push(
                        Diagnostic::warning(
                            "overlay-pattern",
                            span,
                            format!("`{pattern}` is not a pattern of RFC 9485, or a too large one, so it matches nothing"),
                        )
                        .help("correct the pattern, or write a shorter one"),
                    );
                }
                Some((query, span))
            }
            Err(Wrong {
                code,
                message,
                help,
            }) => {
                self.error(code, span, message, &help);
                None
            }
        }
    }

    fn change(&mut self, action: &Node) -> Option<Change> {
        let remove = match action.get("remove") {
            None => false,
            Some(node) => node.as_bool().unwrap_or_else(|| {
                self.wrong_type("`remove`", node, "true or false");
                false
            }),
        };
        let update = action.entry("update");
        let copy = action.entry("copy");
        // Beside `remove: true`, the standard gives the two others no effect.
        if remove {
            for entry in update.into_iter().chain(copy) {
                self.idle(entry, "beside `remove: true`");
            }
            return Some(Change::Remove);
        }
        match (update, copy) {
            (Some(update), None) => Some(Change::Update(update.value.clone())),
            (None, Some(_)) => {
                let (query, span) = self.query(action, "copy")?;
                Some(Change::Copy(query, span))
            }
            (Some(update), Some(_)) => {
                self.idle(update, "beside `copy`, and neither has `copy`");
                Some(Change::Nothing)
            }
            (None, None) => {
                let message = "the action has no effect: it neither updates nor removes";
                self.diagnostics.push(
                    Diagnostic::warning("overlay-idle", action.span, message)
                        .help("add `update`, `copy` or `remove: true`"),
                );
                Some(Change::Nothing)
            }
        }
    }

    fn idle(&mut self, entry: &Entry, why: &str) {
        let message = format!("`{}` has no effect {why}", entry.key);
        self.diagnostics.push(
            Diagnostic::warning("overlay-idle", entry.key_span, message)
                .help("write two actions, or remove one of the two"),
        );
    }

    fn wrong_type(&mut self, what: &str, node: &Node, wanted: &str) {
        let message = format!("{what} must be {wanted}, not {}", node.kind());
        self.error(
            "overlay-field",
            node.span,
            message,
            &format!("write {wanted}"),
        );
    }

    fn error(&mut self, code: &'static str, span: Span, message: String, help: &str) {
        self.is_wrong = true;
        self.diagnostics
            .push(Diagnostic::error(code, span, message).help(help));
    }
}
