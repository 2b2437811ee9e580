//! Promotions of a standby while its database is being changed.

use serde_json::{Value, json};

use super::{ORDERS, caller, is_running, serve};
use crate::support::caller::Caller;
use crate::support::inventory::two_projects;
use crate::support::process::Service;
use crate::support::provisioner::{Broken, Fake};
use crate::support::{Home, eventually};

/// A provisioner, a service that uses it, and a database that runs.
struct Scene {
    fake: Fake,
    shop: Caller,
    id: String,
    _service: Service,
    _home: Home,
}

impl Scene {
    /// Begins with a provisioner that breaks a rule, and a database of an availability.
    async fn begin(broken: Broken, ha_type: &str) -> Self {
        let home = Home::sqlite();
        home.apply(&two_projects());
        let fake = Fake::start(broken).await;
        let service = serve(&home, &fake.url, &[]);
        let shop = caller(&home, &service);
        let body = json!({ "size": "standard-2", "storage_size": 64, "ha_type": ha_type });
        shop.post(ORDERS, body).await.ok();
        let made = shop.wait_for(ORDERS, is_running).await;
        Self {
            fake,
            shop,
            id: made["id"].as_str().expect("it has an id").to_owned(),
            _service: service,
            _home: home,
        }
    }

    async fn change(&self, body: Value) {
        self.shop.patch(ORDERS, body).await.ok();
    }

    async fn promote(&self) {
        let promote = format!("{ORDERS}/promote");
        self.shop.post_nothing(&promote).await.ok();
    }

    /// Returns the number of the last promotion that the provisioner was asked for.
    fn promoted(&self) -> Option<i64> {
        let databases = self.fake.known.databases.lock().unwrap();
        databases[&self.id].steps.get("promote").copied()
    }

    /// Makes the standbys that the provisioner has kept back.
    fn have_standbys(&self) {
        let mut databases = self.fake.known.databases.lock().unwrap();
        let database = databases.get_mut(&self.id).expect("it is there");
        database.shape["ha_type"] = "async".into();
    }

    /// Returns how often the database was observed.
    fn observed(&self) -> u32 {
        self.fake.known.databases.lock().unwrap()[&self.id].observed
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_is_promoted_while_another_size_waits_for_its_window() {
    let scene = Scene::begin("", "async").await;
    let window = json!({ "maintenance_window_start_at": 3 });
    let set = format!("{ORDERS}/set-maintenance-window");
    scene.shop.post(&set, window).await.ok();
    let larger = json!({ "size": "standard-4", "storage_size": 128 });
    scene.change(larger).await;
    let has_begun = |it: &Value| it["storage_size_gib"] == 128;
    scene.shop.wait_for(ORDERS, has_begun).await;
    scene.promote().await;
    let is_promoted = eventually(async || scene.promoted()).await;
    assert_eq!(is_promoted, Some(1));
    assert_eq!(
        scene.shop.get(ORDERS).await.ok()["vm_size"],
        "standard-2",
        "the window is closed"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_standby_is_promoted_before_there_is_one() {
    let scene = Scene::begin("standbys", "none").await;
    scene.change(json!({ "ha_type": "async" })).await;
    scene.promote().await;
    let before = scene.observed();
    let is_observed = eventually(async || (scene.observed() >= before + 6).then_some(())).await;
    is_observed.expect("it is observed in several steps");
    assert_eq!(scene.promoted(), None);
    scene.have_standbys();
    let is_promoted = eventually(async || scene.promoted()).await;
    assert_eq!(is_promoted, Some(1));
}
