//! A provisioner in another process, which is called over HTTP by the generated client.
//!
//! What it responds is not trusted: responses have a largest size and a longest time, and a response
//! that does not fit the contract is a failed step. An error names the provisioner and the reason, but
//! no secret.

use std::collections::VecDeque;
use std::error::Error as _;
use std::fmt;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use api_types::{PostgresFlavor, PostgresVersion};
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, StatusCode, header};
use provisioner_client::database::ClientDatabaseExt as _;
use provisioner_client::provisioner::ClientProvisionerExt as _;
use provisioner_client::{Client, Error, ItemError, ItemStream, ResponseValue, TypedEvent};
use provisioner_types as wire;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{
    ConnectionDetails, Events, Observed, Offer, Offers, Password, Progress, ProvisionError,
    Provisioner, Wanted, line, token, wire as convert,
};
use crate::domain::catalogue::Catalogue;
use crate::settings::{FilePath, ProvisionerUrl, RemoteSettings};

/// The largest response that is read, in bytes.
const MOST_BYTES: usize = 1 << 20;
/// The largest event that is read, in bytes.
const MOST_EVENT_BYTES: usize = 16 << 10;
/// The longest time without an event, of which the provisioner sends one at least every 15 seconds.
const SILENCE: Duration = Duration::from_secs(45);
/// How long a connection may take, with TLS.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a connection is kept for another call: shorter than many servers keep one, since a call on
/// a connection that the server is closing fails.
const KEEP: Duration = Duration::from_secs(4);
/// How long the provisioner may take to say what it is, when the service starts.
const FIRST: Duration = Duration::from_secs(5);
/// How often the provisioner is asked what it is.
const ASK_EVERY: Duration = Duration::from_mins(1);
/// How often it is asked as long as it does not respond.
const ASK_AGAIN: Duration = Duration::from_secs(5);
/// How long a provisioner is left alone that cannot make a call now and does not say for how long.
const BUSY: Duration = Duration::from_secs(10);
/// The shortest time for which it is left alone, also if it names a shorter one.
const LEAST_BUSY: Duration = Duration::from_secs(1);
/// The longest time for which it is left alone, also if it names a longer one.
const MOST_BUSY: Duration = Duration::from_mins(5);

/// A [`Provisioner`] in another process. Cheap to clone.
#[derive(Clone)]
pub struct Remote {
    client: Client,
    url: ProvisionerUrl,
    timeout: Duration,
    offers: Offers,
    /// Whether it says that it sends events.
    sends_events: Arc<AtomicBool>,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Remote({})", self.url)
    }
}

impl Remote {
    /// Sets up the calls of a provisioner, without making one.
    ///
    /// # Errors
    ///
    /// If the token or the authorities cannot be used.
    pub fn open(settings: &RemoteSettings) -> Result<Self> {
        let url = settings.provisioner_url.clone();
        let url = url.context("set provisioner_url to the URL of the provisioner")?;
        let token = token(settings)?;
        let timeout = settings.provisioner_timeout.get();
        let client = Client::builder(url.as_str())
            .bearer(token.as_str())
            .timeout(timeout)
            .response_limit(MOST_BYTES)
            .user_agent(concat!("stratusd/", env!("CARGO_PKG_VERSION")))
            .http_client(http(&url, settings)?)
            .build()?;
        Ok(Self {
            client,
            url,
            timeout,
            offers: Offers::default(),
            sends_events: Arc::default(),
        })
    }

    /// Returns what the provisioner offers: everything, until it has said.
    #[must_use]
    pub fn offers(&self) -> Offers {
        self.offers.clone()
    }

    /// Asks the provisioner what it is, and logs it. A provisioner that does not respond is logged
    /// too: it may start later than the service.
    pub async fn announce(&self) {
        let asked = tokio::time::timeout(FIRST, self.view()).await;
        let asked =
            asked.unwrap_or_else(|_| Err(self.at(VIEW).wrong("it does not respond in time")));
        match asked {
            Ok(it) => self.note(&it),
            Err(error) => tracing::warn!(
                "Postgres databases are created by another process, which cannot be used now: {error}"
            ),
        }
    }

    /// Asks the provisioner every minute what it is, until it is stopped. Logs when it fails and when
    /// it works again.
    pub async fn watch(self, stop: CancellationToken) {
        let mut works = self.offers.get().versions.is_some();
        loop {
            let pause = if works { ASK_EVERY } else { ASK_AGAIN };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stop.cancelled() => return,
            }
            // A provisioner that does not respond must not hold up the end of the service.
            let asked = tokio::select! {
                asked = self.view() => asked,
                () = stop.cancelled() => return,
            };
            match &asked {
                Ok(it) if works => self.offer(it),
                Ok(it) => self.note(it),
                Err(error) if works => tracing::warn!("the provisioner cannot be used: {error}"),
                Err(_) => {}
            }
            works = asked.is_ok();
        }
    }

    /// Logs what the provisioner is, and offers its versions.
    fn note(&self, it: &wire::Provisioner) {
        let versions = versions(&it.versions);
        let names: Vec<String> = versions.iter().map(|it| line(&it.to_string())).collect();
        let (url, name, versions_text) = (&self.url, line(it.name.as_str()), names.join(", "));
        if it.is_simulated {
            tracing::warn!(
                %url, provisioner = name, versions = versions_text,
                "Postgres databases are simulated by another process, not created"
            );
        } else {
            tracing::info!(
                %url, provisioner = name, versions = versions_text,
                "Postgres databases are created by another process"
            );
        }
        self.offer(it);
        if self.offers.get().sizes.is_empty() {
            tracing::warn!(
                %url, provisioner = name,
                "the provisioner names no size that this service has, so no database can be created"
            );
        }
    }

    /// Offers what the provisioner has.
    fn offer(&self, it: &wire::Provisioner) {
        self.offers.set(offered(it));
        let sends_events = it.sends_events == Some(true);
        self.sends_events.store(sends_events, Ordering::Relaxed);
    }

    /// Asks the provisioner what it offers.
    ///
    /// # Errors
    ///
    /// If it does not say so.
    pub async fn ask(&self) -> Result<Offer, ProvisionError> {
        Ok(offered(&self.view().await?))
    }

    async fn view(&self) -> Result<wire::Provisioner, ProvisionError> {
        let response = self.client.provisioner_view().send().await;
        self.at(VIEW).result(response)
    }

    /// Returns a call for errors, by its method and path.
    fn at(&self, call: impl fmt::Display) -> Call {
        Call(format!("the provisioner at {}{call}", self.url))
    }

    /// Returns a step of a database for errors.
    fn of(&self, wanted: &Wanted, step: &str) -> Call {
        self.at(format_args!("/database/{}/{step} (POST)", wanted.id))
    }
}

/// The call that asks the provisioner what it is, for errors.
const VIEW: &str = "/provisioner (GET)";
/// The call whose response are the events.
const EVENTS: &str = "/provisioner/events (GET)";

/// A call of the provisioner, as errors name it.
struct Call(String);

impl Call {
    /// Returns the body of a response, or the error for the log.
    fn result<T>(
        &self,
        response: Result<ResponseValue<T>, Error<wire::Problem>>,
    ) -> Result<T, ProvisionError> {
        match response {
            Ok(response) => Ok(response.into_inner()),
            Err(error) => Err(self.reason(&error)),
        }
    }

    fn reason(&self, error: &Error<wire::Problem>) -> ProvisionError {
        let reason = format!("{}: {}", self.0, words(error));
        if is_missing(error) {
            return ProvisionError::NoDatabase(reason);
        }
        match error.status() {
            Some(StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) => {
                let wait = error.headers().and_then(retry_after);
                let wait = wait.unwrap_or(BUSY).clamp(LEAST_BUSY, MOST_BUSY);
                ProvisionError::Busy { reason, wait }
            }
            _ => ProvisionError::Failed(reason),
        }
    }

    fn wrong(&self, reason: &str) -> ProvisionError {
        ProvisionError::Failed(format!("{}: {reason}", self.0))
    }

    /// Adds the call to the error of a response that cannot be used.
    fn unfit(&self, error: &ProvisionError) -> ProvisionError {
        self.wrong(&error.to_string())
    }
}

/// Returns why a call has failed.
fn words(error: &Error<wire::Problem>) -> String {
    if let Error::OversizedResponse(_) = error {
        return format!("a response has more than {MOST_BYTES} bytes");
    }
    let Some(problem) = error.body() else {
        // The innermost cause says why, such as that the connection was refused.
        let mut cause = error.source();
        while let Some(inner) = cause.and_then(|cause| cause.source()) {
            cause = Some(inner);
        }
        return match cause {
            Some(cause) => format!("{error}: {}", line(&cause.to_string())),
            None => error.to_string(),
        };
    };
    let (code, detail) = (
        line(&problem.code.to_string()),
        line(problem.detail.as_str()),
    );
    format!("{error} ({code}): {detail}")
}

/// Returns how long a response asks to wait, if it does so in seconds. A date is not read, since the
/// clock of the provisioner may be another.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}

/// Returns whether a response says that a database does not exist. A status alone does not: a wrong
/// path has the same one.
fn is_missing(error: &Error<wire::Problem>) -> bool {
    error.status() == Some(StatusCode::NOT_FOUND)
        && error
            .body()
            .is_some_and(|problem| problem.code == wire::ProblemCode::DatabaseNotFound)
}

fn offered(it: &wire::Provisioner) -> Offer {
    let upgrades = it.upgrades.as_deref().unwrap_or_default().iter();
    let upgrades = upgrades.map(|it| {
        (
            PostgresVersion::from(&*it.from.to_string()),
            versions(&it.to),
        )
    });
    Offer {
        versions: Some(versions(&it.versions)),
        upgrades: upgrades.collect(),
        flavors: it.flavors.as_deref().map(flavors),
        sizes: sizes(it.sizes.as_deref()),
        can_shrink: it.can_shrink_storage != Some(false),
    }
}

fn versions(of: &[wire::Version]) -> Vec<PostgresVersion> {
    let versions = of.iter().map(ToString::to_string);
    versions
        .filter(|version| super::wire::is_short(version))
        .map(|version| PostgresVersion::from(&*version))
        .collect()
}

fn flavors(of: &[wire::Flavor]) -> Vec<PostgresFlavor> {
    let flavors = of.iter().map(ToString::to_string);
    flavors
        .filter(|flavor| super::wire::is_short(flavor))
        .map(|flavor| PostgresFlavor::from(&*flavor))
        .collect()
}

/// Returns those of the service's sizes, each with its storage, that a provisioner has.
fn sizes(of: Option<&[wire::OfferedSize]>) -> Catalogue {
    let all = Catalogue::default();
    let Some(of) = of else {
        return all;
    };
    all.only(|size, gib| {
        let mut offered = of.iter();
        offered.any(|it| {
            let storage = it.storage_sizes_gib.as_deref();
            it.vm_size.as_str() == size.as_str()
                && storage.is_none_or(|storage| storage.iter().any(|it| it.get() == gib))
        })
    })
}

/// Returns the token that the settings name.
///
/// # Errors
///
/// If there is none, or it cannot be used.
pub(super) fn token(settings: &RemoteSettings) -> Result<zeroize::Zeroizing<String>> {
    settings.ensure_token()?;
    let file = settings.provisioner_token_file.as_ref();
    let text = token::text(
        settings.provisioner_token.as_ref(),
        file.map(FilePath::as_path),
    )?;
    let token = token::only(&text).context("the token of the provisioner cannot be used")?;
    Ok(zeroize::Zeroizing::new(token.to_owned()))
}

/// Returns the HTTP client for a provisioner. It follows no redirects, which would send the token
/// elsewhere.
pub(super) fn http(url: &ProvisionerUrl, settings: &RemoteSettings) -> Result<reqwest::Client> {
    let timeout = settings.provisioner_timeout.get();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .connect_timeout(CONNECT.min(timeout))
        .pool_idle_timeout(KEEP)
        .tls_backend_preconfigured(tls(url, settings)?)
        .build()
        .context("failed to set up the calls of the provisioner")
}

/// Returns the settings of TLS: the certificate must be for the host, and issued by an authority of
/// the file that the settings name, or else by one that the system trusts.
fn tls(url: &ProvisionerUrl, settings: &RemoteSettings) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    if let Some(file) = &settings.provisioner_ca_file {
        let path = file.as_path();
        let pem = fs::read(path).with_context(|| format!("failed to read {}", path.display()))?;
        for certificate in CertificateDer::pem_slice_iter(&pem) {
            let added = certificate.map(|certificate| roots.add(certificate));
            if !matches!(added, Ok(Ok(()))) {
                bail!("a certificate in {} cannot be used", path.display());
            }
        }
        if roots.is_empty() {
            bail!("there is no certificate in PEM in {}", path.display());
        }
    } else if url.is_https() {
        // A system may hold outdated certificates that cannot be parsed.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            bail!(
                "provisioner_url needs TLS, and the system trusts no certificate authority: set provisioner_ca_file"
            );
        }
    }
    // Not the default provider of the process, which is only installed when the API is served with
    // TLS.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

/// The events of the provisioner, and the ids of those that were read.
struct Following {
    call: Call,
    items: ItemStream<TypedEvent<wire::DatabaseEvent>>,
    ids: VecDeque<wire::DatabaseId>,
}

impl Following {
    /// Returns the next id that an event names, or why there are no more.
    async fn next(&mut self) -> Option<Result<String, ProvisionError>> {
        loop {
            if let Some(id) = self.ids.pop_front() {
                return Some(Ok(id.to_string()));
            }
            let event = match timeout(SILENCE, self.items.next()).await {
                Ok(Some(event)) => event,
                Ok(None) => return Some(Err(self.call.wrong("the stream has ended"))),
                Err(_) => {
                    let wrong = format!("there is no event for {SILENCE:?}");
                    return Some(Err(self.call.wrong(&wrong)));
                }
            };
            match event {
                Ok(event) => self.ids.extend(event.data.database_ids.iter().cloned()),
                Err(error) => return Some(Err(self.call.wrong(&unfit(&error)))),
            }
        }
    }
}

/// Returns why an event cannot be read.
fn unfit(error: &ItemError) -> String {
    match error {
        ItemError::TooLarge(bytes) => format!("an event has more than {bytes} bytes"),
        ItemError::Interrupted(_) => "the stream is cut off".to_owned(),
        _ => "an event does not fit the contract".to_owned(),
    }
}

/// Returns the id of a database, for a path.
fn id(wanted: &Wanted) -> Result<wire::DatabaseId, ProvisionError> {
    let id = wanted.id.parse();
    id.map_err(|_| {
        ProvisionError::Failed("the id does not fit the protocol of provisioners".to_owned())
    })
}

fn request(of: &Wanted) -> Result<wire::DatabaseRequest, ProvisionError> {
    let mut request = wire::DatabaseRequest::new(convert::wanted(of)?);
    request.known = convert::known(of)?;
    Ok(request)
}

impl Provisioner for Remote {
    async fn observe(&self, wanted: &Wanted) -> Result<Option<Observed>, ProvisionError> {
        let call = self.client.database_observe().database_id(id(wanted)?);
        let at = self.of(wanted, "observe");
        match call.body(request(wanted)?).send().await {
            Ok(observed) => {
                let observed = convert::read_observed(&observed);
                observed.map(Some).map_err(|error| at.unfit(&error))
            }
            Err(error) if is_missing(&error) && wanted.known.is_none() => Ok(None),
            Err(error) => Err(at.reason(&error)),
        }
    }

    async fn create(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        let call = self.client.database_create().database_id(id(wanted)?);
        let progress = self
            .of(wanted, "create")
            .result(call.body(request(wanted)?).send().await)?;
        Ok(convert::read_progress(&progress))
    }

    async fn resize(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        let call = self.client.database_resize().database_id(id(wanted)?);
        let progress = self
            .of(wanted, "resize")
            .result(call.body(request(wanted)?).send().await)?;
        Ok(convert::read_progress(&progress))
    }

    async fn restart(&self, wanted: &Wanted, number: i64) -> Result<Progress, ProvisionError> {
        let number = convert::number(number)?;
        let mut body = wire::DatabaseRestart::new(convert::wanted(wanted)?, number);
        body.known = convert::known(wanted)?;
        let call = self.client.database_restart().database_id(id(wanted)?);
        let progress = self
            .of(wanted, "restart")
            .result(call.body(body).send().await)?;
        Ok(convert::read_progress(&progress))
    }

    async fn promote(&self, wanted: &Wanted, number: i64) -> Result<Progress, ProvisionError> {
        let number = convert::number(number)?;
        let mut body = wire::DatabasePromote::new(convert::wanted(wanted)?, number);
        body.known = convert::known(wanted)?;
        let call = self.client.database_promote().database_id(id(wanted)?);
        let progress = self
            .of(wanted, "promote")
            .result(call.body(body).send().await)?;
        Ok(convert::read_progress(&progress))
    }

    async fn delete(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        let call = self.client.database_delete().database_id(id(wanted)?);
        let progress = self
            .of(wanted, "delete")
            .result(call.body(request(wanted)?).send().await)?;
        Ok(convert::read_progress(&progress))
    }

    async fn restrict(&self, wanted: &Wanted) -> Result<(), ProvisionError> {
        let call = self.client.database_restrict().database_id(id(wanted)?);
        self.of(wanted, "restrict")
            .result(call.body(request(wanted)?).send().await)
    }

    async fn set_password(
        &self,
        wanted: &Wanted,
        password: &Password,
    ) -> Result<(), ProvisionError> {
        let secret = wire::Password::try_from(password.expose().to_owned());
        let secret = secret.map_err(|_| {
            ProvisionError::Failed(
                "the password does not fit the protocol of provisioners".to_owned(),
            )
        })?;
        let mut body = wire::DatabaseSetPassword::new(convert::wanted(wanted)?, secret);
        body.known = convert::known(wanted)?;
        let call = self.client.database_set_password().database_id(id(wanted)?);
        self.of(wanted, "set-password")
            .result(call.body(body).send().await)
    }

    async fn connection(&self, wanted: &Wanted) -> Result<ConnectionDetails, ProvisionError> {
        let call = self.client.database_connection_view();
        let call = call.database_id(id(wanted)?).body(request(wanted)?);
        let at = self.of(wanted, "connection");
        let connection = at.result(call.send().await)?;
        convert::read_connection(&connection).map_err(|error| at.unfit(&error))
    }

    async fn events(&self) -> Result<Option<Events>, ProvisionError> {
        if !self.sends_events.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let call = self.at(EVENTS);
        // The time-out of a client holds for the whole response, which has no end.
        let client = self.client.with_timeout(None);
        let asked = timeout(self.timeout, client.provisioner_watch().send()).await;
        let asked = asked.map_err(|_| call.wrong("it does not respond in time"))?;
        let following = Following {
            items: call.result(asked)?.max_item_bytes(MOST_EVENT_BYTES),
            call,
            ids: VecDeque::new(),
        };
        let ids = stream::unfold(following, async |mut following| {
            let next = following.next().await?;
            Some((next, following))
        });
        Ok(Some(ids.boxed()))
    }
}
