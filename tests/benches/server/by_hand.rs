//! The same three operations written by hand with axum and serde, as the lower bound of the
//! benchmark.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use axum::body::Bytes;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, FromRequestParts, Path, Query, Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use regex::Regex;
use serde::{Deserialize, Serialize};
use tests::memory::TOKEN;
use tests::seed;
use tracing::Instrument as _;

struct App {
    subnet: PrivateSubnet,
    vms: Vec<Vm>,
    database: Postgres,
}

pub fn router() -> Router {
    let state = seed::state(100);
    let app = App {
        subnet: same(&state.subnets[0]),
        vms: state.vms.iter().map(same).collect(),
        database: same(&state.databases[0]),
    };
    let prefix = "/project/{project_id}/location/{location}";
    Router::new()
        .route(
            &format!("{prefix}/private-subnet/{{private_subnet_reference}}"),
            get(private_subnet_view),
        )
        .route(&format!("{prefix}/vm"), get(vm_list))
        .route(
            &format!("{prefix}/postgres/{{postgres_database_reference}}"),
            post(postgres_create),
        )
        .layer(DefaultBodyLimit::max(1 << 20))
        .layer(middleware::from_fn(request_id))
        .with_state(Arc::new(app))
}

fn same<T: for<'de> Deserialize<'de>>(value: impl Serialize) -> T {
    let value = serde_json::to_value(value).expect("the value is written as JSON");
    serde_json::from_value(value).expect("both say the same")
}

async fn request_id(request: Request, next: Next) -> Response {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let id = request
        .headers()
        .get("x-request-id")
        .filter(|id| id.len() <= 128)
        .cloned();
    let id = id.unwrap_or_else(|| {
        let id = format!("{:032x}", NEXT.fetch_add(1, Ordering::Relaxed));
        HeaderValue::from_str(&id).expect("digits are valid in a header")
    });
    let span = tracing::info_span!(
        "request",
        method = request.method().as_str(),
        id = id.to_str().unwrap_or_default()
    );
    let mut response = next.run(request).instrument(span).await;
    response.headers_mut().insert("x-request-id", id);
    response
}

#[derive(Serialize)]
struct ErrorBody {
    error: ErrorInside,
}

#[derive(Serialize)]
struct ErrorInside {
    code: u16,
    r#type: &'static str,
    message: String,
}

struct Rejection(StatusCode, &'static str, String);

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let Self(status, kind, message) = self;
        (
            status,
            Json(ErrorBody {
                error: ErrorInside {
                    code: status.as_u16(),
                    r#type: kind,
                    message,
                },
            }),
        )
            .into_response()
    }
}

fn bad(message: impl Into<String>) -> Rejection {
    Rejection(StatusCode::BAD_REQUEST, "BadRequest", message.into())
}

impl From<PathRejection> for Rejection {
    fn from(rejection: PathRejection) -> Self {
        bad(rejection.body_text())
    }
}

impl From<QueryRejection> for Rejection {
    fn from(rejection: QueryRejection) -> Self {
        bad(rejection.body_text())
    }
}

/// The caller, from the token of the request.
struct Caller;

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Rejection> {
        let unauthorized = |kind: &'static str| {
            Rejection(StatusCode::UNAUTHORIZED, kind, "send a token".to_owned())
        };
        let value = parts
            .headers
            .get(AUTHORIZATION)
            .ok_or_else(|| unauthorized("MissingCredentials"))?;
        let token = value
            .to_str()
            .ok()
            .and_then(|value| value.strip_prefix("Bearer "));
        if token == Some(TOKEN) {
            Ok(Self)
        } else {
            Err(unauthorized("InvalidCredentials"))
        }
    }
}

static PROJECT_ID: LazyLock<Regex> = LazyLock::new(|| pattern("^pj[0-9a-hjkmnp-tv-z]{24}$"));
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| pattern("^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the text is a regular expression")
}

fn check(pattern: &Regex, most: usize, text: &str, name: &str) -> Result<(), Rejection> {
    let fits = !text.is_empty() && text.chars().count() <= most && pattern.is_match(text);
    if fits {
        Ok(())
    } else {
        Err(bad(format!("{name} does not fit its pattern")))
    }
}

fn check_location(project: &str, location: &str) -> Result<(), Rejection> {
    check(&PROJECT_ID, 26, project, "project_id")?;
    let fits = !location.is_empty() && location.chars().count() <= 63;
    if fits {
        Ok(())
    } else {
        Err(bad("location is too long"))
    }
}

async fn private_subnet_view(
    _: Caller,
    State(app): State<Arc<App>>,
    path: Result<Path<(String, String, String)>, PathRejection>,
) -> Result<Json<PrivateSubnet>, Rejection> {
    let Path((project, location, reference)) = path?;
    check_location(&project, &location)?;
    check(&REFERENCE, 63, &reference, "private_subnet_reference")?;
    Ok(Json(app.subnet.clone()))
}

#[derive(Deserialize)]
struct Listed {
    start_after: Option<String>,
    #[serde(default = "ten")]
    page_size: i64,
    #[serde(default = "id")]
    order_column: String,
}

fn ten() -> i64 {
    10
}

fn id() -> String {
    "id".to_owned()
}

async fn vm_list(
    _: Caller,
    State(app): State<Arc<App>>,
    path: Result<Path<(String, String)>, PathRejection>,
    query: Result<Query<Listed>, QueryRejection>,
) -> Result<Json<VmPage>, Rejection> {
    let Path((project, location)) = path?;
    check_location(&project, &location)?;
    let Query(listed) = query?;
    let is_long = |text: &str, most: usize| text.chars().count() > most;
    if listed
        .start_after
        .is_some_and(|after| is_long(&after, 1024))
    {
        return Err(bad("start_after is too long"));
    }
    if listed.page_size < 1 || is_long(&listed.order_column, 255) {
        return Err(bad("page_size must be at least 1"));
    }
    Ok(Json(VmPage {
        count: 100,
        items: app.vms.clone(),
    }))
}

async fn postgres_create(
    _: Caller,
    State(app): State<Arc<App>>,
    path: Result<Path<(String, String, String)>, PathRejection>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Rejection> {
    let Path((project, location, reference)) = path?;
    check_location(&project, &location)?;
    check(&REFERENCE, 63, &reference, "postgres_database_reference")?;
    let is_json = headers
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    if !is_json {
        let message = "send JSON".to_owned();
        return Err(Rejection(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            message,
        ));
    }
    let body: PostgresCreate =
        serde_json::from_slice(&body).map_err(|error| bad(error.to_string()))?;
    body.check()?;
    let mut made = app.database.clone();
    made.flavor = body.flavor;
    let mut response = Json(made).into_response();
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

#[derive(Clone, Copy, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Flavor {
    #[default]
    Standard,
    Paradedb,
    Lantern,
}

#[derive(Clone, Copy, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum HaType {
    #[default]
    None,
    Async,
    Sync,
}

#[derive(Clone, Copy, Serialize, Deserialize, Default)]
enum Version {
    #[serde(rename = "16")]
    V16,
    #[default]
    #[serde(rename = "17")]
    V17,
    #[serde(rename = "18")]
    V18,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PostgresCreate {
    size: String,
    storage_size: i64,
    #[serde(default)]
    flavor: Flavor,
    #[serde(default, rename = "ha_type")]
    _ha_type: HaType,
    #[serde(default, rename = "version")]
    _version: Version,
    #[serde(default, rename = "restrict_by_default")]
    _restrict_by_default: bool,
    #[serde(default)]
    tags: Vec<Tag>,
}

impl PostgresCreate {
    fn check(&self) -> Result<(), Rejection> {
        let is_long = |text: &str| text.chars().count() > 255;
        if is_long(&self.size) || self.storage_size.unsigned_abs() > (1 << 53) - 1 {
            return Err(bad("size is too long"));
        }
        if self.tags.len() > 64 {
            return Err(bad("there are too many tags"));
        }
        if self
            .tags
            .iter()
            .any(|tag| tag.key.is_empty() || is_long(&tag.key) || is_long(&tag.value))
        {
            return Err(bad("a tag's key is empty or too long"));
        }
        Ok(())
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tag {
    key: String,
    value: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct PrivateSubnet {
    firewalls: Vec<serde_json::Value>,
    id: String,
    location: String,
    name: String,
    net4: String,
    net6: String,
    nics: Vec<serde_json::Value>,
    state: String,
}

#[derive(Serialize)]
struct VmPage {
    count: i64,
    items: Vec<Vm>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Vm {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip4: Option<String>,
    ip4_enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip6: Option<String>,
    location: String,
    name: String,
    size: String,
    state: String,
    storage_size_gib: i32,
    unix_user: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct Postgres {
    flavor: Flavor,
    ha_type: HaType,
    id: String,
    location: String,
    name: String,
    state: String,
    storage_size_gib: i32,
    version: Version,
    target_version: Version,
    vm_size: String,
    maintenance_window_start_at: i32,
    read_replica: bool,
    tags: Vec<Tag>,
    connection_string: Option<String>,
    earliest_restore_time: Option<String>,
    latest_restore_time: String,
    firewall_rules: Vec<serde_json::Value>,
    primary: bool,
}
