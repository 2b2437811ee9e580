//! The same calls written by hand with reqwest and serde, as the lower bound of the benchmark.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tests::memory::{LOCATION, PROJECT, TOKEN};

use super::Kind;

pub struct Client {
    http: reqwest::Client,
    base: String,
}

impl Client {
    pub fn new(base: &str) -> Self {
        let http = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .timeout(Duration::from_secs(60))
            .build()
            .expect("the settings are valid");
        Self {
            http,
            base: base.to_owned(),
        }
    }

    pub async fn call(&self, kind: Kind) -> usize {
        let prefix = format!("{}/project/{PROJECT}/location/{LOCATION}", self.base);
        match kind {
            Kind::Small => {
                let request = self
                    .http
                    .get(format!("{prefix}/private-subnet/{}", "backend"));
                self.send::<PrivateSubnet>(request).await.name.len()
            }
            Kind::List => {
                let request = self
                    .http
                    .get(format!("{prefix}/vm"))
                    .query(&[("page_size", "100"), ("order_column", "name")]);
                self.send::<VmPage>(request).await.items.len()
            }
            Kind::Post(tags, character) => {
                let text = character.repeat(200);
                let tags = (0..tags).map(|tag| Tag {
                    key: format!("{tag}{text}"),
                    value: text.clone(),
                });
                let body = PostgresCreate {
                    size: "standard-2".to_owned(),
                    storage_size: 64,
                    flavor: "standard",
                    ha_type: "none",
                    version: "17",
                    restrict_by_default: false,
                    tags: tags.collect(),
                };
                let request = self
                    .http
                    .post(format!("{prefix}/postgres/{}", "orders"))
                    .json(&body);
                self.send::<Postgres>(request).await.name.len()
            }
        }
    }

    async fn send<T: DeserializeOwned>(&self, request: reqwest::RequestBuilder) -> T {
        let response = request
            .bearer_auth(TOKEN)
            .header("accept", "application/json")
            .send()
            .await;
        let response = response.expect("the server responds");
        assert!(response.status().is_success());
        response.json().await.expect("the response fits its type")
    }
}

#[derive(Serialize)]
struct PostgresCreate {
    size: String,
    storage_size: i64,
    flavor: &'static str,
    ha_type: &'static str,
    version: &'static str,
    restrict_by_default: bool,
    tags: Vec<Tag>,
}

#[derive(Serialize, Deserialize)]
struct Tag {
    key: String,
    value: String,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "read, and not looked at")]
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

#[derive(Deserialize)]
#[expect(dead_code, reason = "read, and not looked at")]
struct VmPage {
    count: i64,
    items: Vec<Vm>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "read, and not looked at")]
struct Vm {
    id: String,
    ip4: Option<String>,
    ip4_enabled: bool,
    ip6: Option<String>,
    location: String,
    name: String,
    size: String,
    state: String,
    storage_size_gib: i32,
    unix_user: String,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "read, and not looked at")]
struct Postgres {
    flavor: String,
    ha_type: String,
    id: String,
    location: String,
    name: String,
    state: String,
    storage_size_gib: i32,
    version: String,
    target_version: String,
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
