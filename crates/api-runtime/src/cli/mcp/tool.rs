//! Which operations are tools, and what a client hears about each.

use std::collections::HashSet;
use std::sync::Arc;

use rmcp::model::ToolAnnotations;

use super::access::{Access, is_safe};
use super::names::{self, BODY};
use super::{is_setting, schema};
use crate::Schemas;
use crate::cli::argument::Bound;
use crate::cli::command::first_line;
use crate::cli::description::{Operation, Place};
use crate::cli::failure::Failure;
use crate::cli::settings::Settings;
use crate::cli::sources::Sources;

/// The methods that have the same effect however often they are called (RFC 9110, section 9.2.2),
/// beside those that only read.
const IDEMPOTENT: [&str; 2] = ["PUT", "DELETE"];
/// The maximum number of characters of the description of an operation in that of its tool.
const MOST_WORDS: usize = 4_000;
/// The maximum number of characters of the title of a tool.
const MOST_TITLE: usize = 80;

/// An operation as a tool.
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) settings: Settings<'static>,
    /// The parameters that an assistant gives, with their names.
    pub(super) inputs: Vec<(String, Bound)>,
    /// Why an assistant may not call it.
    pub(super) refused: Option<String>,
}

/// Returns a tool for each operation, those that are refused among them.
pub(super) fn tools(sources: &Sources<'static>, access: &Access) -> Result<Vec<Tool>, Failure> {
    let mut taken = HashSet::new();
    let operations = sources.description.operations.iter();
    let tools = operations.map(|operation| {
        let settings = Settings::new(sources.clone(), operation);
        Ok(Tool {
            name: names::free(&operation.id, &mut taken),
            inputs: inputs(&settings, access)?,
            settings,
            refused: access.refuses(operation),
        })
    });
    tools.collect()
}

/// Returns the parameters that an assistant gives: all but the settings that are set, and secrets.
fn inputs(settings: &Settings<'static>, access: &Access) -> Result<Vec<(String, Bound)>, Failure> {
    let body = settings.operation.body.as_ref().map(|_| BODY.to_owned());
    let mut taken: HashSet<String> = body.into_iter().collect();
    let mut inputs = Vec::new();
    for bound in settings.bound.iter().copied() {
        let is_set = is_setting(bound) && settings.sources.value(bound.flag)?.is_some();
        let is_parameter = bound.input.place != Place::Body;
        if is_parameter && !is_set && (access.secret_inputs || !bound.input.secret) {
            inputs.push((names::free(&bound.input.name, &mut taken), bound));
        }
    }
    Ok(inputs)
}

impl Tool {
    pub(super) fn operation(&self) -> &'static Operation {
        self.settings.operation
    }

    /// Returns the tool as the protocol describes it.
    pub(super) fn described(&self, schemas: &Schemas, access: &Access) -> rmcp::model::Tool {
        let operation = self.operation();
        let schema = schema::input(schemas, self, access);
        let tool = rmcp::model::Tool::new(self.name.clone(), self.words(), Arc::new(schema));
        let title = first_line(&operation.about);
        let tool = tool.with_annotations(annotations(&operation.method));
        if title.is_empty() || title.chars().count() > MOST_TITLE {
            return tool;
        }
        tool.with_title(title)
    }

    /// Returns the description.
    fn words(&self) -> String {
        let operation = self.operation();
        let mut words: String = operation.about.chars().take(MOST_WORDS).collect();
        if operation.deprecated {
            words.push_str("\n\nThis operation is deprecated.");
        }
        if !self.settings.sources.has("show-secrets") {
            let names = operation.secrets.join(", ");
            if !operation.secret_bodies.is_empty() {
                words.push_str("\n\nThe result is a secret, which is hidden.");
            } else if !names.is_empty() {
                words.push_str(&format!(
                    "\n\nThe result has secrets ({names}), which are hidden."
                ));
            }
        }
        words.push_str(&format!("\n\n{} {}", operation.method, operation.path));
        words.trim_start().to_owned()
    }
}

/// Returns the annotations of the tool of an operation, which follow from its method.
fn annotations(method: &str) -> ToolAnnotations {
    let reads = is_safe(method);
    ToolAnnotations::new()
        .read_only(reads)
        // A POST may be a create, which only adds, or an action, such as a detachment. A client asks
        // its user before what is destructive, so each counts as that.
        .destructive(!reads)
        .idempotent(reads || IDEMPOTENT.contains(&method))
}
