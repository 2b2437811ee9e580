//! Serves a [`Provisioner`] over HTTP, by the generated server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use futures_util::stream::{self, ReadyChunks, Stream, StreamExt as _};
use http::StatusCode;
use provisioner_server::database as operation;
use provisioner_server::database::DatabaseApi;
use provisioner_server::provisioner::{
    ProvisionerApi, ProvisionerViewError, ProvisionerViewRequest, ProvisionerViewResponse,
    ProvisionerWatchError, ProvisionerWatchRequest, ProvisionerWatchResponse,
};
use provisioner_server::responses::{
    BadRequest, DatabaseNotFound, Failed, Other, Progress, Unavailable,
};
use provisioner_server::server::{
    AuthError, Bearer, Config, DefaultStatus, ItemBody, Operation, Rejection, RejectionKind,
    RenderRejection, Router, TypedEvent,
};
use provisioner_server::{Security, router};
use provisioner_types as wire;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::line;
use super::token::{self, Tokens};
use super::{Events, Password, ProvisionError, Provisioner, Wanted, wire as convert};
use crate::settings::{FilePath, ListenerSettings, ProvisionSettings};

/// The largest body of a request, in bytes, as the contract says.
const MOST_BYTES: usize = 64 << 10;
/// The number of calls at a time. A replica of the service makes at most 160.
const AT_ONCE: usize = 256;
/// The number of streams of events at a time. A replica of the service follows one.
const STREAMS: usize = 32;
/// The most ids in an event, as the contract says.
const MOST_IDS: usize = 100;
/// The longest time without an event. The contract says 15 seconds.
const ALIVE_EVERY: Duration = Duration::from_secs(10);
/// The time after which a call that was too many may be repeated.
const AGAIN: Duration = Duration::from_secs(1);
/// The most violations of the contract that a response lists.
const MOST_PARTS: usize = 100;

/// What a provisioner says of itself.
#[derive(Debug, Clone)]
pub struct About {
    /// Its name and version.
    pub name: String,
    /// Whether it creates no databases.
    pub is_simulated: bool,
    /// The versions of PostgreSQL that databases can have.
    pub versions: Vec<String>,
    /// The versions that databases can be upgraded to from each version, or `None` if to all later ones.
    pub upgrades: Option<Vec<(String, Vec<String>)>>,
    /// The flavors that databases can have.
    pub flavors: Vec<String>,
    /// The sizes that databases can have, or `None` if any.
    pub sizes: Option<Vec<String>>,
    /// Whether the storage of a database can become smaller, or `None` if that is not said.
    pub can_shrink: Option<bool>,
    /// Whether it says when databases change.
    pub sends_events: bool,
}

/// A provisioner that is served, with what it says of itself.
struct Served<P> {
    provisioner: P,
    about: wire::Provisioner,
    streams: Arc<Semaphore>,
    stop: CancellationToken,
}

/// Returns the router that serves a provisioner to the callers whose tokens the settings name. Streams of
/// events end when `stop` is cancelled.
///
/// # Errors
///
/// If the tokens cannot be used.
pub fn serve<P: Provisioner>(
    provisioner: P,
    about: &About,
    settings: &ProvisionSettings,
    listener: &ListenerSettings,
    stop: &CancellationToken,
) -> Result<Router> {
    let file = settings.provision_token_file.as_ref();
    let text = token::text(
        settings.provision_token.as_ref(),
        file.map(FilePath::as_path),
    )?;
    let tokens = Tokens::parse(&text).context("the tokens of the provisioner cannot be used")?;
    let versions = versions(&about.versions);
    let upgrades = about.upgrades.as_deref().map(upgrades).transpose()?;
    let flavors: Vec<_> = about
        .flavors
        .iter()
        .map(|flavor| wire::Flavor::from(&**flavor))
        .collect();
    let (sizes, can_shrink) = (about.sizes.as_deref().map(sizes), about.can_shrink);
    let sends_events = about.sends_events;
    let mut about = wire::Provisioner::new(
        about.name.parse().context("the name is too long")?,
        about.is_simulated,
        versions.try_into().context("there are no versions")?,
    );
    about.upgrades = upgrades;
    about.flavors = Some(flavors.try_into().context("there are no flavors")?);
    about.sizes = sizes.transpose()?;
    about.can_shrink_storage = can_shrink;
    about.sends_events = Some(sends_events);
    let calls = Arc::new(Semaphore::new(AT_ONCE));
    let config = Config::new()
        .head_limit(listener.header_limit.get())
        .body_limit(MOST_BYTES)
        .body_timeout(listener.body_timeout.get())
        .requires_host()
        .around(move |request, next| {
            let calls = Arc::clone(&calls);
            Box::pin(async move {
                let Ok(_place) = calls.try_acquire() else {
                    let message = "too many calls are in progress: try again later";
                    let rejection = Rejection::new(RejectionKind::Unavailable, message);
                    return Err(Box::new(rejection.retry_after(AGAIN)));
                };
                Ok(next.run(request).await)
            })
        });
    let served = Served {
        provisioner,
        about,
        streams: Arc::new(Semaphore::new(STREAMS)),
        stop: stop.clone(),
    };
    Ok(router(served, Gate { tokens }, Problems, config))
}

fn versions(names: &[String]) -> Vec<wire::Version> {
    let versions = names.iter().map(|name| wire::Version::from(&**name));
    versions.collect()
}

/// Returns upgrades as a response has them.
fn upgrades(of: &[(String, Vec<String>)]) -> Result<wire::ProvisionerUpgrades> {
    let upgrades = of.iter().map(|(from, to)| {
        let from = wire::Version::from(&**from);
        let to = versions(to).try_into();
        to.map(|to| wire::OfferedUpgrades::new(from, to))
    });
    let upgrades: Result<Vec<_>, _> = upgrades.collect();
    let upgrades = upgrades.context("there are too many versions")?;
    upgrades.try_into().context("there are too many versions")
}

/// Returns sizes as a response has them, each with all storage that the service has for it.
fn sizes(names: &[String]) -> Result<wire::ProvisionerSizes> {
    let sizes = names
        .iter()
        .map(|name| name.parse().map(wire::OfferedSize::new));
    let sizes: Result<Vec<_>, _> = sizes.collect();
    let sizes = sizes.context("the name of a size is too long")?;
    sizes.try_into().context("there are no sizes")
}

impl<P: Provisioner> ProvisionerApi<()> for Served<P> {
    async fn provisioner_view(
        &self,
        (): (),
        _: ProvisionerViewRequest,
    ) -> Result<ProvisionerViewResponse, ProvisionerViewError> {
        Ok(self.about.clone().into())
    }

    async fn provisioner_watch(
        &self,
        (): (),
        _: ProvisionerWatchRequest,
    ) -> Result<ProvisionerWatchResponse, ProvisionerWatchError> {
        let Ok(place) = Arc::clone(&self.streams).try_acquire_owned() else {
            let reason = format!("there are {STREAMS} streams of events: try again later");
            let wait = AGAIN;
            return Err(failed("events", "", &ProvisionError::Busy { reason, wait }));
        };
        match self.provisioner.events().await {
            Ok(Some(events)) => {
                let sending = Sending {
                    ids: events.ready_chunks(MOST_IDS),
                    is_new: true,
                    stop: self.stop.clone(),
                    _place: place,
                };
                Ok(ItemBody::new(sending.events()).into())
            }
            Ok(None) => {
                let detail = "this provisioner sends no events";
                let code = wire::ProblemCode::UnknownPath;
                let status = DefaultStatus::new(StatusCode::NOT_FOUND).expect("it is not listed");
                let response = Other::new(problem(code, 404, "Not Found", detail));
                Err(ProvisionerWatchError::Default { status, response })
            }
            Err(error) => Err(failed("events", "", &error)),
        }
    }
}

/// A stream of events that is sent.
struct Sending {
    ids: ReadyChunks<Events>,
    is_new: bool,
    stop: CancellationToken,
    /// Counts the stream until it ends.
    _place: OwnedSemaphorePermit,
}

impl Sending {
    /// Returns the events, with those that only show that the stream is alive.
    fn events(
        self,
    ) -> impl Stream<Item = Result<TypedEvent<wire::DatabaseEvent>, ProvisionError>> + Send + 'static
    {
        stream::unfold(self, async |mut sending| {
            let event = sending.next().await?;
            Some((event, sending))
        })
    }

    /// Returns the next event, or `None` once there are no more.
    async fn next(&mut self) -> Option<Result<TypedEvent<wire::DatabaseEvent>, ProvisionError>> {
        let ids = if std::mem::take(&mut self.is_new) {
            Vec::new()
        } else {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return None,
                ids = self.ids.next() => ids?,
                () = sleep(ALIVE_EVERY) => Vec::new(),
            }
        };
        let ids: Result<Vec<String>, _> = ids.into_iter().collect();
        Some(
            ids.and_then(|ids| convert::event(&ids))
                .map(TypedEvent::new),
        )
    }
}

/// Returns a problem with a text, which is cut if it is too long.
fn problem(code: wire::ProblemCode, status: u16, title: &str, detail: &str) -> wire::Problem {
    let mut problem = wire::Problem::new(code, text(detail));
    problem.title = Some(text(title));
    problem.status = wire::ProblemStatus::try_from(i32::from(status)).ok();
    problem
}

fn text(text: &str) -> wire::ProblemText {
    let cut = line(text);
    wire::ProblemText::try_from(cut).expect("a line is shorter than the contract allows")
}

/// Logs the failure of a step, and returns it as a response: 503 if the provisioner is well and cannot
/// do the step now.
fn failed<E>(step: &'static str, id: &str, error: &ProvisionError) -> E
where
    E: From<Failed> + From<Unavailable>,
{
    if let ProvisionError::Busy { reason, wait } = error {
        tracing::warn!(database = id, step, "a step is postponed: {reason}");
        let code = wire::ProblemCode::Unavailable;
        let mut unavailable = Unavailable::new(problem(code, 503, "Service Unavailable", reason));
        let seconds = i64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(i64::MAX);
        unavailable.retry_after = wire::RetryAfterSeconds::try_from(seconds).ok();
        return unavailable.into();
    }
    tracing::warn!(database = id, step, "a step failed: {error}");
    let code = wire::ProblemCode::Failed;
    let detail = error.to_string();
    Failed::new(problem(code, 500, "Internal Server Error", &detail)).into()
}

fn not_found(reason: &str) -> DatabaseNotFound {
    let code = wire::ProblemCode::DatabaseNotFound;
    DatabaseNotFound::new(problem(code, 404, "Not Found", reason))
}

/// Returns the error of a step, which is 404 if there is no database.
fn refused<E>(step: &'static str, id: &str, error: &ProvisionError) -> E
where
    E: From<Failed> + From<Unavailable> + From<DatabaseNotFound>,
{
    match error {
        ProvisionError::NoDatabase(reason) => not_found(reason).into(),
        ProvisionError::Failed(_) | ProvisionError::Busy { .. } => failed(step, id, error),
    }
}

/// Returns a database as a request says that it is wanted.
fn wanted(
    id: &wire::DatabaseId,
    wanted: wire::WantedDatabase,
    known: Option<wire::KnownDatabase>,
) -> Result<Wanted, BadRequest> {
    convert::read_wanted(id, wanted, known).map_err(|_| {
        let code = wire::ProblemCode::BadRequest;
        let detail = "a time in the request does not exist";
        BadRequest::new(problem(code, 400, "Bad Request", detail))
    })
}

impl<P: Provisioner> DatabaseApi<()> for Served<P> {
    async fn database_observe(
        &self,
        (): (),
        request: operation::DatabaseObserveRequest,
    ) -> Result<operation::DatabaseObserveResponse, operation::DatabaseObserveError> {
        let (id, body) = (request.database_id, request.body);
        let wanted = wanted(&id, body.wanted, body.known)?;
        let result = self.provisioner.observe(&wanted).await;
        let observed = match result {
            Ok(Some(observed)) => convert::observed(&observed),
            Ok(None) => Err(ProvisionError::no_database()),
            Err(error) => Err(error),
        };
        match observed {
            Ok(observed) => Ok(observed.into()),
            Err(error) => Err(refused("observe", &wanted.id, &error)),
        }
    }

    async fn database_create(
        &self,
        (): (),
        request: operation::DatabaseCreateRequest,
    ) -> Result<operation::DatabaseCreateResponse, operation::DatabaseCreateError> {
        let (id, body) = (request.database_id, request.body);
        let wanted = wanted(&id, body.wanted, body.known)?;
        let result = self.provisioner.create(&wanted).await;
        match result {
            Ok(progress) => Ok(Progress::new(convert::progress(progress)).into()),
            Err(error) => Err(failed("create", &wanted.id, &error)),
        }
    }

    async fn database_resize(
        &self,
        (): (),
        request: operation::DatabaseResizeRequest,
    ) -> Result<operation::DatabaseResizeResponse, operation::DatabaseResizeError> {
        let (id, body) = (request.database_id, request.body);
        let wanted = wanted(&id, body.wanted, body.known)?;
        let result = self.provisioner.resize(&wanted).await;
        match result {
            Ok(progress) => Ok(Progress::new(convert::progress(progress)).into()),
            Err(error) => Err(refused("resize", &wanted.id, &error)),
        }
    }

    async fn database_restart(
        &self,
        (): (),
        request: operation::DatabaseRestartRequest,
    ) -> Result<operation::DatabaseRestartResponse, operation::DatabaseRestartError> {
        let (id, body) = (request.database_id, request.body);
        let number = body.number.get();
        let wanted = wanted(&id, body.wanted, body.known)?;
        let result = self.provisioner.restart(&wanted, number).await;
        match result {
            Ok(progress) => Ok(Progress::new(convert::progress(progress)).into()),
            Err(error) => Err(refused("restart", &wanted.id, &error)),
        }
    }

    async fn database_promote(
        &self,
        (): (),
        request: operation::DatabasePromoteRequest,
    ) -> Result<operation::DatabasePromoteResponse, operation::DatabasePromoteError> {
        let (id, body) = (request.database_id, request.body);
        let number = body.number.get();
        let wanted = wanted(&id, body.wanted, body.known)?;
        let result = self.provisioner.promote(&wanted, number).await;
        match result {
            Ok(progress) => Ok(Progress::new(convert::progress(progress)).into()),
            Err(error) => Err(refused("promote", &wanted.id, &error)),
        }
    }

    async fn database_delete(
        &self,
        (): (),
        request: operation::DatabaseDeleteRequest,
    ) -> Result<operation::DatabaseDeleteResponse, operation::DatabaseDeleteError> {
        let (id, body) = (request.database_id, request.body);
        let wanted = wanted(&id, body.wanted, body.known)?;
        let result = self.provisioner.delete(&wanted).await;
        match result {
            Ok(progress) => Ok(Progress::new(convert::progress(progress)).into()),
            Err(error) => Err(failed("delete", &wanted.id, &error)),
        }
    }

    async fn database_restrict(
        &self,
        (): (),
        request: operation::DatabaseRestrictRequest,
    ) -> Result<operation::DatabaseRestrictResponse, operation::DatabaseRestrictError> {
        let (id, body) = (request.database_id, request.body);
        let wanted = wanted(&id, body.wanted, body.known)?;
        let result = self.provisioner.restrict(&wanted).await;
        match result {
            Ok(()) => Ok(operation::DatabaseRestrictResponse::NoContent),
            Err(error) => Err(refused("restrict", &wanted.id, &error)),
        }
    }

    async fn database_set_password(
        &self,
        (): (),
        request: operation::DatabaseSetPasswordRequest,
    ) -> Result<operation::DatabaseSetPasswordResponse, operation::DatabaseSetPasswordError> {
        let (id, body) = (request.database_id, request.body);
        let password = Password::new(body.password.expose().to_owned().into());
        let wanted = wanted(&id, body.wanted, body.known)?;
        let result = self.provisioner.set_password(&wanted, &password).await;
        match result {
            Ok(()) => Ok(operation::DatabaseSetPasswordResponse::NoContent),
            Err(error) => Err(refused("set_password", &wanted.id, &error)),
        }
    }

    async fn database_connection_view(
        &self,
        (): (),
        request: operation::DatabaseConnectionViewRequest,
    ) -> Result<operation::DatabaseConnectionViewResponse, operation::DatabaseConnectionViewError>
    {
        let (id, body) = (request.database_id, request.body);
        let wanted = wanted(&id, body.wanted, body.known)?;
        let result = self.provisioner.connection(&wanted).await;
        match result.and_then(|it| convert::connection(&it)) {
            Ok(connection) => Ok(connection.into()),
            Err(error) => Err(refused("connection", &wanted.id, &error)),
        }
    }
}

/// Lets the callers in that send one of the tokens.
struct Gate {
    tokens: Tokens,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}

impl Security for Gate {
    type Principal = ();

    async fn bearer(&self, credential: Bearer, _: &'static Operation) -> Result<(), AuthError> {
        if self.tokens.accept(credential.token.expose()) {
            Ok(())
        } else {
            Err(AuthError::Invalid)
        }
    }
}

/// Writes rejections as the contract's `Problem`.
#[derive(Debug)]
struct Problems;

impl RenderRejection for Problems {
    type Body = wire::Problem;

    fn render(&self, rejection: &Rejection) -> wire::Problem {
        use wire::ProblemCode as Code;
        let code = match rejection.kind {
            RejectionKind::MissingCredentials => Code::MissingCredentials,
            RejectionKind::InvalidCredentials | RejectionKind::Forbidden => {
                Code::InvalidCredentials
            }
            RejectionKind::UnknownRoute => Code::UnknownPath,
            RejectionKind::MethodNotAllowed => Code::MethodNotAllowed,
            RejectionKind::MalformedHead
            | RejectionKind::InvalidParameters
            | RejectionKind::InvalidBody
            | RejectionKind::HeadTooLarge
            | RejectionKind::RequestTimeout => Code::BadRequest,
            RejectionKind::PayloadTooLarge => Code::PayloadTooLarge,
            RejectionKind::UnsupportedMediaType => Code::UnsupportedMediaType,
            RejectionKind::TooManyRequests => Code::TooManyRequests,
            RejectionKind::Unavailable => Code::Unavailable,
            _ => Code::Failed,
        };
        let title = rejection.status.canonical_reason().unwrap_or("Error");
        let mut problem = problem(code, rejection.status.as_u16(), title, &rejection.message);
        let parts = rejection.violations.iter().take(MOST_PARTS).map(|wrong| {
            let part = wire::RequestPart::from(wrong.location.as_str());
            let mut part = wire::ProblemPart::new(part, text(&wrong.message));
            part.name = Some(text(&wrong.name)).filter(|_| !wrong.name.is_empty());
            part.pointer = Some(text(&wrong.pointer));
            part
        });
        let parts: Vec<_> = parts.collect();
        if !parts.is_empty() {
            problem.errors = parts.try_into().ok();
        }
        problem
    }

    fn content_type(&self) -> &'static str {
        "application/problem+json"
    }
}
