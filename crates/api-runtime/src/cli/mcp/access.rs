//! What an assistant may do, as the flags of `mcp` say.

use super::names::BODY;
use crate::cli::description::{Body, Operation};
use crate::cli::failure::Failure;
use crate::cli::sources::Sources;

/// The flag that chooses operations.
pub(super) const ONLY: &str = "only";
/// The flag that allows operations that change something.
pub(super) const WRITES: &str = "allow-writes";
/// The flag that lets an assistant give secrets.
pub(super) const SECRET_INPUTS: &str = "allow-secret-inputs";
/// The flag with the maximum number of bytes of a result.
pub(super) const RESULT_BYTES: &str = "result-bytes";

/// The maximum number of bytes of a result, unless `--result-bytes` says otherwise: about 16,000
/// tokens of a language model, which reads a result as a whole.
pub(super) const USUAL_RESULT_BYTES: usize = 64 << 10;
/// The values that `--result-bytes` can have.
const RESULT_RANGE: std::ops::RangeInclusive<usize> = 1 << 10..=4 << 20;
/// The methods that are safe (RFC 9110, section 9.2.1, and `QUERY`): they only read. Without `TRACE`,
/// which [`refuses`](Access::refuses) refuses in any case.
const SAFE: [&str; 4] = ["GET", "HEAD", "OPTIONS", "QUERY"];

/// What an assistant may do.
pub(super) struct Access {
    /// The tags and operations that are chosen; empty if all are.
    only: Vec<String>,
    writes: bool,
    pub(super) secret_inputs: bool,
    /// The maximum number of bytes of a result.
    pub(super) result_bytes: usize,
}

impl Access {
    /// Reads the flags.
    ///
    /// # Errors
    ///
    /// If one names no tag and no operation, or a number of bytes that is out of range.
    pub(super) fn read(sources: &Sources<'_>) -> Result<Self, Failure> {
        let only = sources.matches.get_many::<String>(ONLY);
        let only: Vec<String> = only.into_iter().flatten().cloned().collect();
        for chosen in &only {
            let mut operations = sources.description.operations.iter();
            if !operations.any(|operation| is_named(operation, chosen)) {
                return Err(Failure::usage(format!(
                    "--{ONLY} {chosen} is neither a tag nor the id of an operation; the tags are: {}",
                    tags(sources)
                )));
            }
        }
        let bytes = sources.flag(RESULT_BYTES);
        let bytes = bytes.map_or(Ok(USUAL_RESULT_BYTES), |text| text.parse());
        let bytes = bytes.ok().filter(|bytes| RESULT_RANGE.contains(bytes));
        let result_bytes = bytes.ok_or_else(|| {
            let (least, most) = (RESULT_RANGE.start(), RESULT_RANGE.end());
            Failure::usage(format!(
                "--{RESULT_BYTES} must be a number from {least} to {most}"
            ))
        })?;
        Ok(Self {
            only,
            writes: sources.has(WRITES),
            secret_inputs: sources.has(SECRET_INPUTS),
            result_bytes,
        })
    }

    /// Returns why an assistant may not call an operation, and which flag allows it.
    pub(super) fn refuses(&self, operation: &'static Operation) -> Option<String> {
        let id = &operation.id;
        let is_chosen = |name: &String| is_named(operation, name);
        if !self.only.is_empty() && !self.only.iter().any(is_chosen) {
            return Some(format!(
                "`{id}` is not among the operations that --{ONLY} chooses: start the program with --{ONLY} {id} too"
            ));
        }
        // Its response is the request as the server has got it (RFC 9110, section 9.3.8).
        if operation.method == "TRACE" {
            return Some(format!(
                "`{id}` responds with the credential of the call, which an assistant may not see: call it yourself"
            ));
        }
        if !self.writes && !is_safe(&operation.method) {
            return Some(format!(
                "`{id}` changes something ({}), and only reading is allowed: start the program with --{WRITES}",
                operation.method
            ));
        }
        let secret = self.secret(operation)?;
        Some(format!(
            "`{id}` needs the secret `{secret}`, which an assistant may not give: start the program with --{SECRET_INPUTS}, or call it yourself"
        ))
    }

    /// Returns the name of a required secret that an assistant may not give, or its path in the body.
    fn secret(&self, operation: &'static Operation) -> Option<&'static str> {
        if self.secret_inputs {
            return None;
        }
        let mut parameters = operation.parameters.iter();
        let parameter = parameters.find(|input| input.secret && input.required);
        let body = operation.body.as_ref().filter(|body| body.required);
        let in_body = body.and_then(|body| {
            let whole = body.secret.then_some(BODY);
            whole.or(body.needed_secret.as_deref())
        });
        parameter.map(|input| &*input.name).or(in_body)
    }

    /// Returns the request body that an assistant may give.
    pub(super) fn body(&self, operation: &'static Operation) -> Option<&'static Body> {
        let body = operation.body.as_ref();
        body.filter(|body| self.secret_inputs || !body.secret)
    }
}

/// Returns whether a method only reads.
pub(super) fn is_safe(method: &str) -> bool {
    SAFE.contains(&method)
}

/// Returns whether an operation has this id, or this tag.
fn is_named(operation: &Operation, name: &str) -> bool {
    // The names of groups are those of commands, which have dashes where a tag may have
    // underscores.
    let is_same = |own: &str| own.replace('-', "_") == name.replace('-', "_");
    is_same(&operation.id) || operation.group.as_deref().is_some_and(is_same)
}

/// Returns the names of the tags.
fn tags(sources: &Sources<'_>) -> String {
    let groups = sources.description.groups.iter();
    let names: Vec<&str> = groups.map(|group| group.name.as_str()).collect();
    names.join(", ")
}
