//! A service on SQLite and one on PostgreSQL give the same responses, byte for byte, to the same
//! random requests, with the same clock and random numbers.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::support::bare::{Bare, BareRequest};
use crate::support::inventory::{RIVAL, SHOP};
use crate::support::{Home, variable};

/// The number of requests of a run, unless `STRATUS_CASES` sets it.
const CASES: u64 = 3_000;

/// A generator of random requests, most of them for resources that previous responses have named.
struct Asker {
    random: StdRng,
    ids: Vec<String>,
}

const LOCATIONS: [&str; 4] = [
    "eu-central-h1",
    "eu-central-h1",
    "us-east-a2",
    "eu-north-h1",
];
const NAMES: [&str; 8] = [
    "web", "api", "backend", "frontend", "far", "one", "two", "web-only",
];

impl Asker {
    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.random.random_range(0..all.len())].clone()
    }

    fn id(&mut self) -> String {
        if self.ids.is_empty() || self.random.random_ratio(1, 20) {
            return self
                .of(&[
                    "vm000000000000000000000000",
                    "nonsense",
                    "",
                    "ps00000000000000000000000z",
                ])
                .to_owned();
        }
        let ids = std::mem::take(&mut self.ids);
        let id = self.of(&ids);
        self.ids = ids;
        id
    }

    fn id_of(&mut self, prefix: &str) -> String {
        for _ in 0..60 {
            let id = self.id();
            if id.starts_with(prefix) {
                return id;
            }
        }
        self.id()
    }

    fn reference(&mut self, prefix: &str) -> String {
        match self.random.random_range(0..10) {
            0..6 => self.of(&NAMES).to_owned(),
            6..9 => Some(self.id_of(prefix))
                .filter(|id| !id.is_empty())
                .unwrap_or_else(|| "x".to_owned()),
            _ => format!("new-{}", self.random.random_range(0..400)),
        }
    }

    fn list(&mut self) -> String {
        let mut query = vec![format!("page_size={}", self.random.random_range(0..12))];
        let order = self.of(&["id", "name", "name", "size"]);
        query.push(format!("order_column={order}"));
        if self.random.random() {
            // Also texts that are not names: pages start after any text.
            let names = [&NAMES[..], &["Zebra", "_", "%C3%A9", "w%00", "Backend"]].concat();
            let after = if order == "name" {
                self.of(&names).to_owned()
            } else {
                self.id()
            };
            query.push(format!("start_after={after}"));
        }
        query.join("&")
    }

    #[expect(clippy::too_many_lines, reason = "one arm per operation")]
    fn next(&mut self) -> BareRequest {
        let project = if self.random.random_ratio(1, 50) {
            RIVAL
        } else {
            SHOP
        };
        let location = self.of(&LOCATIONS);
        let place = format!("/project/{project}/location/{location}");
        let (method, path, body) = match self.random.random_range(0..44) {
            0 => (
                "GET",
                format!("{place}/load-balancer?{}", self.list()),
                None,
            ),
            1 => (
                "GET",
                format!("/project/{project}/load-balancer?{}", self.list()),
                None,
            ),
            2 => (
                "PATCH",
                format!("{place}/load-balancer/{}", self.reference("1b")),
                Some(self.load_balancer()),
            ),
            3 => {
                let body = json!({ "vm_id": self.id_of("vm") });
                (
                    "POST",
                    format!("{place}/load-balancer/{}/detach-vm", self.reference("1b")),
                    Some(body),
                )
            }
            4 => (
                "GET",
                format!("/project/{project}/postgres?{}", self.list()),
                None,
            ),
            5 => (
                "GET",
                format!("{place}/postgres/{}", self.reference("pg")),
                None,
            ),
            6 => (
                "POST",
                format!("{place}/postgres/{}", self.reference("pg")),
                Some(self.database()),
            ),
            7 => (
                "PATCH",
                format!("{place}/postgres/{}", self.reference("pg")),
                Some(self.change()),
            ),
            8 => {
                let body = json!({ "password": self.of(&["weak", "Abcdefgh1234", "ABCDEFGHIJKLM", "Ünïcode Passw0rd"]) });
                (
                    "POST",
                    format!(
                        "{place}/postgres/{}/reset-superuser-password",
                        self.reference("pg")
                    ),
                    Some(body),
                )
            }
            9 => (
                "GET",
                format!("{place}/private-subnet/{}", self.reference("ps")),
                None,
            ),
            10 => {
                let body = self
                    .random
                    .random::<bool>()
                    .then(|| json!({ "firewall_id": self.id_of("fw") }));
                (
                    "POST",
                    format!("{place}/private-subnet/{}", self.reference("ps")),
                    body,
                )
            }
            11 => {
                let body = json!({ "connected-subnet-id": self.id_of("ps") });
                (
                    "POST",
                    format!("{place}/private-subnet/{}/connect", self.reference("ps")),
                    Some(body),
                )
            }
            12 => {
                let body = json!({ "private_subnet_id": self.id_of("ps") });
                (
                    "POST",
                    format!("{place}/firewall/{}/detach-subnet", self.reference("fw")),
                    Some(body),
                )
            }
            13 => ("GET", format!("{place}/vm?{}", self.list()), None),
            18 => ("GET", format!("{place}/firewall?{}", self.list()), None),
            19 => (
                "GET",
                format!("{place}/firewall/{}", self.reference("fw")),
                None,
            ),
            20 => {
                let body = json!({ "description": self.of(&["", "new", "a\u{7}", "\u{0}"]) });
                (
                    "POST",
                    format!("{place}/firewall/{}", self.reference("fw")),
                    Some(body),
                )
            }
            21 => {
                let body = json!({ "private_subnet_id": self.id_of("ps") });
                (
                    "POST",
                    format!("{place}/firewall/{}/attach-subnet", self.reference("fw")),
                    Some(body),
                )
            }
            22 | 23 => (
                "POST",
                format!("{place}/firewall/{}/firewall-rule", self.reference("fw")),
                Some(self.rule()),
            ),
            24 => {
                let path = format!("{place}/firewall/{}", self.reference("fw"));
                if self.random.random_ratio(1, 4) {
                    ("DELETE", path, None)
                } else {
                    let rule = self.id_of("fr");
                    ("DELETE", format!("{path}/firewall-rule/{rule}"), None)
                }
            }
            30 => {
                let path = format!("{place}/load-balancer/{}", self.reference("1b"));
                (self.of(&["GET", "GET", "DELETE"]), path, None)
            }
            31 => (
                "POST",
                format!("{place}/load-balancer/{}", self.reference("1b")),
                Some(self.new_load_balancer()),
            ),
            32 => {
                let body = json!({ "vm_id": self.id_of("vm") });
                let path = format!("{place}/load-balancer/{}", self.reference("1b"));
                ("POST", format!("{path}/attach-vm"), Some(body))
            }
            34 => ("GET", format!("{place}/postgres?{}", self.list()), None),
            35 => {
                let body = json!({ "maintenance_window_start_at": self.of(&[json!(0), json!(3), json!(24), json!(null)]) });
                let path = format!("{place}/postgres/{}", self.reference("pg"));
                ("POST", format!("{path}/set-maintenance-window"), Some(body))
            }
            36 => {
                let path = format!("{place}/postgres/{}", self.reference("pg"));
                ("GET", format!("{path}/firewall-rule?{}", self.list()), None)
            }
            37 => {
                let mut body = self.rule();
                let fields = body.as_object_mut().expect("it is an object");
                fields.remove("port_range");
                fields.remove("protocol");
                let path = format!("{place}/postgres/{}", self.reference("pg"));
                ("POST", format!("{path}/firewall-rule"), Some(body))
            }
            38 => {
                let path = format!("{place}/postgres/{}", self.reference("pg"));
                let rule = self.id_of("pf");
                ("DELETE", format!("{path}/firewall-rule/{rule}"), None)
            }
            40 => (
                "DELETE",
                format!("{place}/postgres/{}", self.reference("pg")),
                None,
            ),
            39 => {
                let path = format!("{place}/postgres/{}", self.reference("pg"));
                ("POST", format!("{path}/restart"), None)
            }
            41 => {
                let path = format!("{place}/postgres/{}", self.reference("pg"));
                ("POST", format!("{path}/promote"), None)
            }
            42 => {
                let path = format!("{place}/postgres/{}", self.reference("pg"));
                let order = self.of(&["key", "key", "id"]);
                let query = format!(
                    "page_size={}&order_column={order}",
                    self.random.random_range(0..12)
                );
                ("GET", format!("{path}/backup?{query}"), None)
            }
            43 => {
                let path = format!("{place}/postgres/{}", self.reference("pg"));
                let name = self.reference("pg");
                let at = self.of(&["2026-03-02T17:30:00Z", "2026-03-02T17:30:00+02:00", "soon"]);
                let body = json!({ "name": name, "restore_target": at });
                ("POST", format!("{path}/restore"), Some(body))
            }
            25 => {
                let of = self.of(&[&place, &format!("/project/{project}")]).clone();
                ("GET", format!("{of}/private-subnet?{}", self.list()), None)
            }
            26 => {
                let path = format!("{place}/private-subnet/{}", self.reference("ps"));
                (
                    "POST",
                    format!("{path}/disconnect/{}", self.id_of("ps")),
                    None,
                )
            }
            27 => (
                "DELETE",
                format!("{place}/private-subnet/{}", self.reference("ps")),
                None,
            ),
            28 => ("GET", format!("{place}/vm/{}", self.reference("vm")), None),
            14 => (
                "GET",
                format!("/project/{project}/inference-api-key?{}", self.list()),
                None,
            ),
            15 | 16 => (
                self.of(&["GET", "GET", "DELETE"]),
                format!("/project/{project}/inference-api-key/{}", self.id_of("ak")),
                None,
            ),
            _ => (
                "POST",
                format!("/project/{project}/inference-api-key"),
                None,
            ),
        };
        BareRequest { method, path, body }
    }

    fn rule(&mut self) -> Value {
        let mut body = json!({
            "cidr": self.of(&["10.0.0.0/8", "10.1.0.0/16", "10.0.0.1/8", "::/0", "0::0/0", "fd00::/8", ":/0"]),
            "port_range": self.of(&["80", "80..80", "90..80", "0..65535"]),
        });
        if self.random.random() {
            body["protocol"] = self.of(&["tcp", "udp", "icmp"]).into();
            body["description"] = self.of(&["", "ü", "\u{0}"]).into();
        }
        body
    }

    fn new_load_balancer(&mut self) -> Value {
        let mut body = self.load_balancer();
        let fields = body.as_object_mut().expect("it is an object");
        fields.remove("vms");
        if fields["health_check_endpoint"] == "/up" {
            fields.remove("health_check_endpoint");
        }
        fields.insert("private_subnet_id".to_owned(), self.id_of("ps").into());
        let protocol = self.of(&["http", "https", "tcp", "udp"]);
        fields.insert("health_check_protocol".to_owned(), protocol.into());
        body
    }

    fn load_balancer(&mut self) -> Value {
        let vms: Vec<String> = (0..self.random.random_range(0..3))
            .map(|_| self.id_of("vm"))
            .collect();
        let mut body = json!({
            "algorithm": self.of(&["round_robin", "hash_based"]),
            "src_port": self.random.random_range(0..1000),
            "dst_port": 80,
            "health_check_endpoint": self.of(&["/up", "/é", " ", "/a\u{7}"]),
            "vms": vms,
        });
        if self.random.random() {
            body["stack"] = self.of(&["ipv4", "ipv6", "dual", "none"]).into();
            body["cert_enabled"] = self.of(&[json!(true), json!(false), json!(null)]);
        }
        body
    }

    fn database(&mut self) -> Value {
        let mut body = json!({
            "size": self.of(&["hobby-1", "standard-2", "standard-2", "huge"]),
            "storage_size": self.of(&[16, 64, 64, 128, 7]),
            "restrict_by_default": self.random.random::<bool>(),
        });
        if self.random.random() {
            body["tags"] = json!([{ "key": self.of(&["a", "b\u{0}", "ü"]), "value": "v" }]);
            body["flavor"] = self.of(&["standard", "paradedb", "none"]).into();
        }
        body
    }

    fn change(&mut self) -> Value {
        let changes = [
            json!({}),
            json!({ "storage_size": 64 }),
            json!({ "storage_size": 128 }),
            json!({ "size": "standard-4" }),
            json!({ "size": "standard-4", "storage_size": 256 }),
            json!({ "ha_type": "sync", "tags": [] }),
            json!({ "nothing": 1 }),
        ];
        self.of(&changes)
    }

    /// Records the ids in a response.
    fn hear(&mut self, body: &Value) {
        match body {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value.as_str() {
                        Some(id) if name == "id" && !self.ids.iter().any(|known| known == id) => {
                            self.ids.push(id.to_owned());
                        }
                        _ => self.hear(value),
                    }
                }
                // Drops the oldest, so that requests use the new ones.
                if self.ids.len() > 200 {
                    self.ids.drain(..50);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.hear(item)),
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_databases_answer_alike() {
    let Some(postgres) = Home::postgres() else {
        return;
    };
    let (sqlite, postgres) = (Bare::new(Home::sqlite()).await, Bare::new(postgres).await);
    assert_eq!(
        sqlite.token, postgres.token,
        "both services get the same time and randomness"
    );
    let seed = variable("STRATUS_SEED").unwrap_or(20_261_121);
    let cases = variable("STRATUS_CASES").unwrap_or(CASES);
    let mut asker = Asker {
        random: StdRng::seed_from_u64(seed),
        ids: Vec::new(),
    };
    let mut statuses = std::collections::BTreeMap::<u16, u64>::new();
    for number in 0..cases {
        let asked = asker.next();
        let (one, other) = (sqlite.call(&asked).await, postgres.call(&asked).await);
        let text = |response: &(u16, Vec<(String, String)>, Vec<u8>)| {
            String::from_utf8_lossy(&response.2).into_owned()
        };
        assert_eq!(
            one,
            other,
            "request {number} of seed {seed}, {asked:?}: {} / {}",
            text(&one),
            text(&other)
        );
        assert!(
            one.0 < 500,
            "request {number} of seed {seed}, {asked:?}: {}",
            text(&one)
        );
        *statuses.entry(one.0).or_default() += 1;
        asker.hear(&serde_json::from_slice(&one.2).unwrap_or_default());
    }
    // Successes and errors must both be frequent, or the comparison proves little.
    assert!(
        statuses[&200] > cases / 5 && statuses[&400] > cases / 20 && statuses[&204] > cases / 100,
        "{statuses:?}"
    );
}
