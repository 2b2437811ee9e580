//! The settings of a call: how it is sent, and what it has.

use std::time::Duration;

use clap::ArgMatches;
use http::StatusCode;
use serde_json::Value;

use super::Program;
use super::argument::{self, Bound};
use super::auth;
use super::description::{Description, Operation, SchemeKind};
use super::failure::Failure;
use super::secrets;
use super::sources::Sources;
use crate::client::{self, Retries, Scheme, Secret, Security, Transport};
use crate::items::Framing;

/// The repeats of a call that failed temporarily, unless `--retries` says otherwise.
const RETRIES: u32 = 2;
/// The seconds that a call may take, unless `--timeout` says otherwise.
const TIMEOUT: f64 = 60.0;
/// The seconds that connecting may take, unless `--connect-timeout` says otherwise.
const CONNECT_TIMEOUT: f64 = 10.0;

/// The settings of a call.
#[derive(Clone)]
pub(super) struct Settings<'m> {
    /// Where settings come from.
    pub(super) sources: Sources<'m>,
    pub(super) operation: &'static Operation,
    /// The parameters and properties of the operation, with their flags.
    pub(super) bound: Vec<Bound>,
    /// The security requirements, as the transport takes them.
    pub(super) security: Security,
}

impl<'m> Settings<'m> {
    /// Reads the configuration file. Flags and variables are read when they are asked for.
    pub(super) fn read(
        program: &Program,
        description: &'static Description,
        operation: &'static Operation,
        matches: &'m ArgMatches,
    ) -> Result<Self, Failure> {
        let sources = Sources::read(program, description, matches)?;
        Ok(Self::new(sources, operation))
    }

    /// Returns the settings of a call, from where settings come from.
    pub(super) fn new(sources: Sources<'m>, operation: &'static Operation) -> Self {
        let alternatives = operation.security.iter().map(Vec::as_slice);
        Self {
            bound: argument::bound(sources.description, operation),
            sources,
            operation,
            security: Vec::leak(alternatives.collect()),
        }
    }

    /// Builds the transport with the credentials that the operation needs.
    pub(super) fn transport(&self) -> Result<Transport, Failure> {
        let Program { name, version, .. } = self.sources.program;
        let agent: &'static str = format!("{name}/{version}").leak();
        let schemes = self.sources.description.schemes.len();
        let connecting = self.sources.seconds("connect-timeout", CONNECT_TIMEOUT)?;
        let mut config = client::Config::new(&self.sources.url()?, agent, schemes)
            .connect_timeout(connecting)
            .timeout(self.timeout()?);
        let retries = self.sources.value("retries")?;
        let retries = retries.map_or(Ok(RETRIES), |text| text.parse::<u32>());
        let retries = retries
            .map_err(|_| Failure::usage("`retries` must be a number of repeats, such as 3"))?;
        if retries > 0 {
            config = config.retries(Retries::new(retries));
        }
        if !self.sources.has("dry-run") {
            for (at, secret) in self.credentials()? {
                config = config.credential(at, self.scheme(at), secret);
            }
        }
        let transport = config.build();
        transport.map_err(|error| Failure::usage(error.to_string()))
    }

    /// Returns the time-out of a call. A stream has none unless one is given.
    pub(super) fn timeout(&self) -> Result<Option<Duration>, Failure> {
        let is_given = self.sources.value("timeout")?.is_some();
        if self.is_stream() && !is_given {
            return Ok(None);
        }
        self.sources.seconds("timeout", TIMEOUT).map(Some)
    }

    /// Returns whether the response may be a stream.
    pub(super) fn is_stream(&self) -> bool {
        let mut media = self.operation.accept.split(", ");
        media.any(is_stream)
    }

    /// Returns whether the body of a response is a secret that is not shown.
    pub(super) fn hides_body(&self, status: StatusCode) -> bool {
        let range = format!("{}XX", status.as_u16() / 100);
        let is_own = |key: &String| [status.as_str(), &range, "default"].contains(&&key[..]);
        !self.sources.has("show-secrets") && self.operation.secret_bodies.iter().any(is_own)
    }

    /// Replaces the secrets of a response body, or of an item of one, unless they are shown.
    pub(super) fn hide(&self, status: StatusCode, value: &mut Value) {
        if self.hides_body(status) {
            *value = secrets::HIDDEN.into();
        } else if !self.sources.has("show-secrets") {
            secrets::hide(value, &self.operation.secrets);
        }
    }

    /// Returns the schemes whose credentials the call has: those of the first alternative that is
    /// set, or else, where a credential is required, those that the first one needs.
    pub(super) fn needed(&self) -> Vec<usize> {
        let alternatives = &self.operation.security;
        let set = alternatives.iter().find(|schemes| {
            !schemes.is_empty() && schemes.iter().all(|at| self.sources.has_credential(*at))
        });
        let is_optional = alternatives.iter().any(Vec::is_empty);
        let needed = set.or(alternatives.first().filter(|_| !is_optional));
        needed.cloned().unwrap_or_default()
    }

    /// Returns the credentials that are set, of the schemes that the operation can use.
    fn credentials(&self) -> Result<Vec<(usize, Secret)>, Failure> {
        let mut credentials = Vec::new();
        for at in self.needed() {
            match self.sources.credential(at)? {
                Some(secret) => credentials.push((at, secret)),
                None => return Err(self.lacks(at)),
            }
        }
        Ok(credentials)
    }

    /// Returns the failure of a call without the credential of a scheme.
    fn lacks(&self, at: usize) -> Failure {
        if self.sources.description.schemes[at].kind == SchemeKind::Certificate {
            return Failure::usage(
                "this operation needs a client certificate, which this program cannot send",
            );
        }
        let name = self.sources.scheme_name(at);
        let variable = self.sources.variable_name(&name);
        let words = self.sources.words(&format!("{name}-file"));
        let login = auth::login_command(&self.sources, at);
        Failure::usage(format!(
            "`{}` needs a credential: run `{login}`, set {variable}, or {words} (`-` is the standard input)",
            self.operation.id
        ))
    }

    /// Returns how requests carry the credential of a scheme.
    fn scheme(&self, at: usize) -> Scheme {
        let scheme = &self.sources.description.schemes[at];
        let key: &'static str = &scheme.key;
        match scheme.kind {
            SchemeKind::Bearer => Scheme::Bearer,
            SchemeKind::Basic => Scheme::Basic,
            SchemeKind::Authorization => Scheme::Authorization(key),
            SchemeKind::Header => Scheme::Header(key),
            SchemeKind::Query => Scheme::Query(key),
            SchemeKind::Cookie => Scheme::Cookie(key),
            SchemeKind::Certificate => Scheme::Certificate,
        }
    }
}

/// Returns whether a media type is a sequence of items.
fn is_stream(media: &str) -> bool {
    Framing::of(media).is_some()
}
