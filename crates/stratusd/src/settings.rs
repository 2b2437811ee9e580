//! The settings of `stratusd`: flags take precedence over environment variables, these over the
//! settings file, and that over defaults.
//!
//! Each setting is an entry of a `settings!` table, which declares its flag, variable, key, type,
//! default and help.
//!
//! The table is our own, on top of clap and toml. The libraries for layered settings, figment and
//! confique, do not know command lines, so each setting would be declared twice: once for them and
//! once for `--help`. figment also quotes a rejected value in its errors, and the value may be a
//! secret. confique does not record which layer a value comes from, which `stratusd config` prints.

#[macro_use]
mod table;
mod balance;
mod database_url;
mod duration;
mod file;
mod gateway;
mod network;
mod number;
mod pool;
mod provision;
mod provisioner;
mod remote;
mod text;

use std::cmp::Ordering;
use std::path::Path;

use anyhow::{Result, bail};

use crate::domain::quota::Quotas;
use crate::provision::local::Addresses;
use crate::storage::lease::LONGEST_LEASE;

/// The shortest time that an entry of the audit trail is kept.
const SHORTEST_RETENTION: std::time::Duration = std::time::Duration::from_hours(1);

pub use balance::{
    BalanceArguments, BalanceEngine, BalanceManagementArguments, BalanceManagementSettings,
    BalanceSettings,
};
pub use database_url::DatabaseUrl;
pub use duration::{Duration, Lifetime};
pub use file::SettingsFile;
pub use gateway::{GatewayArguments, GatewaySettings, UpstreamUrl};
pub use network::{HttpPorts, NetworkArguments, NetworkSettings, Pools, Prefix};
pub use number::{Connections, Percent, Rate};
pub use pool::AddressPool;
pub use provision::{ProvisionArguments, ProvisionSettings};
pub use provisioner::{Folders, ProvisionerChoice};
pub use remote::{ProvisionerUrl, RemoteArguments, RemoteSettings};
pub use table::{Origin, Setting};
pub use text::{FilePath, LogFormat, ProxyProtocol, SecretText, Switch};

settings! {
    /// The settings of commands that open the database.
    StoreSettings, from StoreArguments:
    /// The database to use: `sqlite://FILE` or `postgres://USER:PASSWORD@HOST:PORT/NAME`.
    database_url("STRATUS_DATABASE_URL", "URL"): DatabaseUrl = "sqlite://stratus.db";
}

settings! {
    /// The settings of commands that seal or open passwords.
    KeySettings, from KeyArguments:
    /// The file with the encryption keys: one per line in base64, the current key first.
    encryption_keys_file("STRATUS_ENCRYPTION_KEYS_FILE", "FILE"): text::FilePath;
    /// The encryption keys. Set this in the environment, not as a flag, which other users can see.
    encryption_keys("STRATUS_ENCRYPTION_KEYS", "KEYS"): SecretText;
}

settings! {
    /// The settings of commands that make resources: the quotas of projects whose inventory sets no
    /// others.
    QuotaSettings, from QuotaArguments:
    /// The number of virtual machines that a project may have, unless the inventory sets another.
    quota_vms("STRATUS_QUOTA_VMS", "COUNT"): number::Quota = "10000";
    /// The number of load balancers that a project may have, unless the inventory sets another.
    quota_load_balancers("STRATUS_QUOTA_LOAD_BALANCERS", "COUNT"): number::Quota = "1000";
    /// The number of Postgres databases that a project may have, unless the inventory sets another.
    quota_postgres_databases("STRATUS_QUOTA_POSTGRES_DATABASES", "COUNT"): number::Quota = "1000";
    /// The number of private subnets that a project may have, unless the inventory sets another.
    quota_private_subnets("STRATUS_QUOTA_PRIVATE_SUBNETS", "COUNT"): number::Quota = "5000";
    /// The number of firewalls that a project may have, unless the inventory sets another.
    quota_firewalls("STRATUS_QUOTA_FIREWALLS", "COUNT"): number::Quota = "10000";
    /// The number of inference API keys that a project may have, unless the inventory sets another.
    quota_inference_api_keys("STRATUS_QUOTA_INFERENCE_API_KEYS", "COUNT"): number::Quota = "10000";
}

impl QuotaSettings {
    /// Returns the quotas.
    #[must_use]
    pub fn quotas(&self) -> Quotas {
        Quotas {
            vms: self.quota_vms.get().into(),
            load_balancers: self.quota_load_balancers.get().into(),
            postgres_databases: self.quota_postgres_databases.get().into(),
            private_subnets: self.quota_private_subnets.get().into(),
            firewalls: self.quota_firewalls.get().into(),
            inference_api_keys: self.quota_inference_api_keys.get().into(),
        }
    }
}

settings! {
    /// The settings of the processes that run until they are stopped: `stratusd serve`, `stratusd
    /// balance`, `stratusd network` and `stratusd provision`.
    ProcessSettings, from ProcessArguments:
    /// The domain of the host names of load balancers and databases.
    service_domain("STRATUS_SERVICE_DOMAIN", "DOMAIN"): text::Domain = "stratus.example";
    /// The format of the log: `human`, or `json` for one object per line.
    log_format("STRATUS_LOG_FORMAT", "FORMAT"): LogFormat = "human";
    /// What to log, as tracing directives, such as `info,tokio_postgres=warn`.
    log("STRATUS_LOG", "DIRECTIVES"): text::Directives = "info";
}

settings! {
    /// The settings of `stratusd serve`.
    ServiceSettings, from ServiceArguments:
    /// The maximum number of PostgreSQL connections: half for changes, half for queries. At least 2.
    database_connections("STRATUS_DATABASE_CONNECTIONS", "COUNT"): Connections = "8";
    /// The address to serve the API on.
    listen("STRATUS_LISTEN", "ADDRESS"): text::ListenAddress = "127.0.0.1:8080";
    /// The address to serve health checks and metrics on. Do not make it public.
    management_listen("STRATUS_MANAGEMENT_LISTEN", "ADDRESS"): text::ListenAddress = "127.0.0.1:9090";
    /// The maximum size of a request body, in bytes.
    body_limit("STRATUS_BODY_LIMIT", "BYTES"): number::Bytes = "1048576";
    /// The maximum size of all bodies in progress, in bytes. A request that does not fit waits, then gets 503.
    body_budget("STRATUS_BODY_BUDGET", "BYTES"): number::BodyBudget = "268435456";
    /// The maximum number of requests per second for each token. Unlimited if not set.
    rate_limit("STRATUS_RATE_LIMIT", "COUNT"): Rate;
    /// How many requests a token may make at once after a pause. The rate limit if not set.
    rate_burst("STRATUS_RATE_BURST", "COUNT"): Rate;
    /// The origins whose pages may call the API from a browser, separated by commas, or `*` for all. None if not set.
    cors_origins("STRATUS_CORS_ORIGINS", "ORIGINS"): text::AllowedOrigins;
    /// Whether the reference page is served at `/docs/`: `on` or `off`.
    docs("STRATUS_DOCS", "SWITCH"): text::Switch = "on";
    /// Whether this process also forwards the connections of load balancers, as `stratusd balance` does in a process of its own: `on` or `off`.
    balance("STRATUS_BALANCE", "SWITCH"): text::Switch = "off";
    /// The collector of OpenTelemetry that gets the spans of requests, by OTLP over HTTP, such as `http://localhost:4318`. Off if not set.
    otlp_endpoint("STRATUS_OTLP_ENDPOINT", "URL"): text::CollectorUrl;
    /// The headers of requests to the collector: `name=value`, separated by commas. Set this in the environment.
    otlp_headers("STRATUS_OTLP_HEADERS", "HEADERS"): SecretText;
    /// The share of requests whose spans are exported, if the caller's `traceparent` does not say.
    otlp_sample("STRATUS_OTLP_SAMPLE", "PERCENT"): Percent = "100";
    /// How many idempotency keys a project may have in use, each for 24 hours.
    idempotency_keys("STRATUS_IDEMPOTENCY_KEYS", "COUNT"): number::Keys = "10000";
    /// How long an entry of the audit trail is kept, at least an hour.
    audit_retention("STRATUS_AUDIT_RETENTION", "DURATION"): Lifetime = "90d";
    /// How many entries of a project the audit trail keeps. The oldest of more are deleted.
    audit_entries("STRATUS_AUDIT_ENTRIES", "COUNT"): number::Entries = "1000000";
    /// How long a worker keeps a database for itself without renewing its lease.
    reconcile_lease("STRATUS_RECONCILE_LEASE", "DURATION"): Duration<1000> = "30s";
    /// How often to check the state of a running database.
    observe_every("STRATUS_OBSERVE_EVERY", "DURATION"): Duration<100> = "60s";
}

settings! {
    /// The settings of the listener of `stratusd serve` and of `stratusd provision`.
    ListenerSettings, from ListenerArguments:
    /// The certificate chain in PEM. Turns on TLS. Reloaded when the file changes.
    tls_certificate("STRATUS_TLS_CERTIFICATE", "FILE"): text::FilePath;
    /// The private key of the certificate in PEM.
    tls_key("STRATUS_TLS_KEY", "FILE"): text::FilePath;
    /// The maximum number of open connections. A new one takes the place of one that waits for its caller.
    max_connections("STRATUS_MAX_CONNECTIONS", "COUNT"): Connections = "10000";
    /// Whether callers may use HTTP/2: `on` or `off`. Turn it off behind a proxy that sends requests of several tenants on one connection.
    http2("STRATUS_HTTP2", "SWITCH"): text::Switch = "on";
    /// How long the headers of a request may take to arrive.
    header_timeout("STRATUS_HEADER_TIMEOUT", "DURATION"): Duration<100> = "10s";
    /// How long the body of a request may take to arrive.
    body_timeout("STRATUS_BODY_TIMEOUT", "DURATION"): Duration<100> = "30s";
    /// How long a connection may be idle before it is closed.
    idle_timeout("STRATUS_IDLE_TIMEOUT", "DURATION"): Duration<100> = "75s";
    /// How long requests in progress may take to finish after a signal to stop.
    shutdown_timeout("STRATUS_SHUTDOWN_TIMEOUT", "DURATION"): Duration = "30s";
    /// The maximum size of the request line and headers, in bytes.
    header_limit("STRATUS_HEADER_LIMIT", "BYTES"): number::Bytes = "32768";
}

settings! {
    /// The settings of what creates Postgres databases.
    ProvisionerSettings, from ProvisionerArguments:
    /// What creates Postgres databases: `local` runs them on this machine, `simulated` only records them, `http` calls another process, and `auto` takes what is possible on this machine at the first start.
    provisioner("STRATUS_PROVISIONER", "PROVISIONER"): provisioner::ProvisionerChoice = "auto";
    /// Local: the folder of the databases. If not set, the name of the SQLite file with `-postgres` appended, or `provisioner-postgres` for `stratusd provision`.
    local_folder("STRATUS_LOCAL_FOLDER", "FOLDER"): text::FilePath;
    /// Local: the folders with PostgreSQL's programs, separated by colons. Those in `/usr/lib/postgresql/*/bin` are found without it.
    local_binaries("STRATUS_LOCAL_BINARIES", "FOLDERS"): provisioner::Folders;
    /// Local: the network in which each database gets an address, at port 5432. Or networks of locations, separated by commas, such as `eu-central-h1=10.54.0.0/24,10.55.0.0/24`, where one without a location is for all others.
    local_addresses("STRATUS_LOCAL_ADDRESSES", "NETWORKS"): Addresses = "127.54.0.0/16";
    /// Local, as root: the user that creates databases.
    local_user("STRATUS_LOCAL_USER", "USER"): text::UserName = "postgres";
    /// Local, as root: the number of the first user that databases run as. Each has one of its own, which needs no name.
    local_first_uid("STRATUS_LOCAL_FIRST_UID", "NUMBER"): number::UserNumber = "1900000000";
    /// Local, not as root: `on` lets all databases run as the user of this process, so that the owner of one can read all others, and the files of this process. For development. `off` refuses to run them.
    local_shared_user("STRATUS_LOCAL_SHARED_USER", "SWITCH"): Switch = "off";
    /// Local: how many bytes of the disk a database gets for each GiB of its storage size.
    local_bytes_per_gib("STRATUS_LOCAL_BYTES_PER_GIB", "BYTES"): number::Scale = "1073741824";
    /// Local: the folder of the backups, on another disk if possible. If not set, `backups` in the folder of the databases.
    local_backup_folder("STRATUS_LOCAL_BACKUP_FOLDER", "FOLDER"): text::FilePath;
    /// Local: how often a database that changes is copied as a whole. The newest 8 copies are kept, and the log since the first of them.
    local_backup_every("STRATUS_LOCAL_BACKUP_EVERY", "DURATION"): Duration<1000> = "24h";
    /// Simulator: the minimum time that a step takes.
    simulate_delay("STRATUS_SIMULATE_DELAY", "DURATION"): Duration = "2s";
    /// Simulator: the maximum random time added to the delay.
    simulate_jitter("STRATUS_SIMULATE_JITTER", "DURATION"): Duration = "2s";
    /// Simulator: the share of steps (create, resize, restart, promote, delete, set password) that fail.
    simulate_failures("STRATUS_SIMULATE_FAILURES", "PERCENT"): Percent = "0";
    /// Simulator: the share of checks of a running database that start an outage.
    simulate_outages("STRATUS_SIMULATE_OUTAGES", "PERCENT"): Percent = "0";
    /// Simulator: how full databases are.
    simulate_used("STRATUS_SIMULATE_USED", "PERCENT"): Percent = "5";
    /// Simulator: the seed of delays, failures and outages. Databases of the same name repeat them.
    simulate_seed("STRATUS_SIMULATE_SEED", "NUMBER"): u64 = "0";
}

/// Returns the keys of all settings, as the settings file may contain them.
fn keys() -> Vec<&'static str> {
    [
        StoreArguments::KEYS,
        KeyArguments::KEYS,
        QuotaArguments::KEYS,
        ProcessArguments::KEYS,
        ServiceArguments::KEYS,
        ListenerArguments::KEYS,
        ProvisionerArguments::KEYS,
        RemoteArguments::KEYS,
        ProvisionArguments::KEYS,
        GatewayArguments::KEYS,
        BalanceManagementArguments::KEYS,
        BalanceArguments::KEYS,
        NetworkArguments::KEYS,
    ]
    .concat()
}

impl ServiceSettings {
    /// Returns how many of `database_connections` are for the data plane of load balancers, if it runs in
    /// the process of the service.
    #[must_use]
    pub fn backends_of_data_plane(&self) -> u32 {
        match self.balance {
            Switch::On => 1,
            Switch::Off => 0,
        }
    }

    /// Checks that settings which depend on each other are given together, and the bounds that their
    /// types do not have.
    ///
    /// # Errors
    ///
    /// If a setting has no effect without another one that is missing, or is out of its bounds.
    pub fn ensure_complete(&self) -> Result<()> {
        if self.database_connections.get() < 2 {
            bail!("database_connections must be at least 2: one for changes and one for queries");
        }
        if self.database_connections.get() < 2 + self.backends_of_data_plane() {
            bail!(
                "database_connections must be at least 3 with `balance = \"on\"`: one for changes, one for queries, \
                 and one for the data plane of load balancers"
            );
        }
        if self.reconcile_lease.get() > LONGEST_LEASE {
            bail!("reconcile_lease must be at most one hour: a longer one counts as ended");
        }
        if self.audit_retention.get() < SHORTEST_RETENTION {
            bail!("audit_retention must be at least one hour: the trail cannot be turned off");
        }
        if self.rate_burst.is_some() && self.rate_limit.is_none() {
            bail!("rate_burst has no effect without rate_limit: set both or remove rate_burst");
        }
        if self.otlp_headers.is_some() && self.otlp_endpoint.is_none() {
            bail!(
                "otlp_headers has no effect without otlp_endpoint: set both or remove otlp_headers"
            );
        }
        if self.body_budget.get() / 2 < self.body_limit.get() {
            bail!("body_budget must be at least twice body_limit: no body of that size would fit");
        }
        Ok(())
    }
}

impl ListenerSettings {
    /// Checks that settings which depend on each other are given together.
    ///
    /// # Errors
    ///
    /// If a setting has no effect without another one that is missing.
    pub fn ensure_complete(&self) -> Result<()> {
        if self.tls_certificate.is_some() != self.tls_key.is_some() {
            bail!(
                "tls_certificate and tls_key go together: set both or remove the one that is set"
            );
        }
        Ok(())
    }
}

/// The settings that `stratusd serve` runs the service with.
#[derive(Debug, Clone, Copy)]
pub struct ServeSettings<'s> {
    /// The settings of the database.
    pub store: &'s StoreSettings,
    /// The settings of each process.
    pub process: &'s ProcessSettings,
    /// The settings of the service.
    pub service: &'s ServiceSettings,
    /// The settings of its listeners.
    pub listener: &'s ListenerSettings,
    /// The settings of what creates databases.
    pub provisioner: &'s ProvisionerSettings,
    /// The settings of a provisioner in another process.
    pub remote: &'s RemoteSettings,
    /// The settings of the gateway.
    pub gateway: &'s GatewaySettings,
}

impl ServeSettings<'_> {
    /// Checks that settings which depend on each other are given together.
    ///
    /// # Errors
    ///
    /// If a setting has no effect without another one that is missing, or is out of its bounds.
    pub fn ensure_complete(&self) -> Result<()> {
        self.service.ensure_complete()?;
        self.listener.ensure_complete()?;
        self.remote.ensure_complete(self.provisioner.provisioner)?;
        self.gateway.ensure_complete()
    }
}

/// Where to read the encryption keys from.
#[derive(Debug, Clone, Copy)]
pub enum KeySource<'s> {
    /// The value of a setting.
    Text(&'s SecretText),
    /// A file.
    File(&'s Path),
}

impl KeySettings {
    /// Returns where to read the keys from, or `None` if no setting says so.
    ///
    /// If both settings are given, the one from the origin with higher precedence is used: a flag
    /// for the file overrides a variable with the keys, and the other way around.
    ///
    /// # Errors
    ///
    /// If both settings come from flags, both from variables, or both from the file.
    pub fn source(&self) -> Result<Option<KeySource<'_>>> {
        let (text, file) = match (&self.encryption_keys, &self.encryption_keys_file) {
            (Some(text), Some(file)) => (text, file),
            (Some(text), None) => return Ok(Some(KeySource::Text(text))),
            (None, Some(file)) => return Ok(Some(KeySource::File(file.as_path()))),
            (None, None) => return Ok(None),
        };
        let (text_origin, file_origin) = (
            self.origin("encryption_keys"),
            self.origin("encryption_keys_file"),
        );
        match text_origin.cmp(&file_origin) {
            Ordering::Less => Ok(Some(KeySource::Text(text))),
            Ordering::Greater => Ok(Some(KeySource::File(file.as_path()))),
            Ordering::Equal => bail!(
                "encryption_keys and encryption_keys_file are both set by flags, by variables or in the file: remove one of them"
            ),
        }
    }

    fn origin(&self, name: &str) -> Option<Origin> {
        let setting = self.all().iter().find(|setting| setting.name == name);
        setting.map(|setting| setting.origin)
    }
}
