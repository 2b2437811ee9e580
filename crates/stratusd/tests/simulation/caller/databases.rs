//! Calls that create, change and read databases.

use rand::RngExt;
use serde_json::{Value, json};

use super::{Caller, Heard};
use crate::ground::{Event, Ground, Said};
use crate::history::{OnName, OnValue};
use crate::template::PLACE;

impl Caller {
    pub(super) async fn make_database(&mut self) {
        let name = format!("d{}", self.random.random_range(0..4));
        let register = format!("database {name}");
        let call = self
            .ground
            .call(Event::Name(register.clone(), OnName::Lost));
        let body = json!({ "size": "standard-2", "storage_size": 64 });
        let path = format!("{PLACE}/postgres/{name}");
        let heard = self.create(&path, Some(body)).await;
        self.ground.back(call, self.made(&register, &heard));
    }

    /// Creates a database of a name that is deleted again and again.
    pub(super) async fn make_transient(&mut self) {
        let name = format!("x{}", self.random.random_range(0..2));
        let register = format!("database {name}");
        let call = self
            .ground
            .call(Event::Name(register.clone(), OnName::Lost));
        let body = json!({ "size": "standard-2", "storage_size": 64 });
        let path = format!("{PLACE}/postgres/{name}");
        let heard = self.ask("POST", &path, Some(body)).await;
        self.ground.back(call, self.made(&register, &heard));
    }

    pub(super) async fn delete_transient(&mut self) {
        let name = format!("x{}", self.random.random_range(0..2));
        let removed = Event::Name(format!("database {name}"), OnName::Removed);
        let call = self.ground.call(removed.clone());
        let path = format!("{PLACE}/postgres/{name}");
        let heard = self.ask("DELETE", &path, None).await;
        let said = match heard.status {
            204 => Said::This(removed),
            500.. => Said::Lost,
            _ => {
                self.ground
                    .broken(format!("delete: {} {}", heard.status, heard.body));
                Said::Nothing
            }
        };
        self.ground.back(call, said);
    }

    pub(super) async fn retarget(&mut self) {
        let name = format!("d{}", self.random.random_range(0..4));
        let tag = self.random.random_range(0..1_000_000_u32).to_string();
        let storage = [64, 128, 256][self.random.random_range(0..3)];
        let write = Event::Value(
            format!("tag of {name}"),
            OnValue::Write(format!("{tag} {storage}")),
        );
        let call = self.ground.call(write.clone());
        let body = json!({ "tags": [{ "key": "n", "value": tag }], "storage_size": storage });
        let path = format!("{PLACE}/postgres/{name}");
        let heard = self.ask("PATCH", &path, Some(body)).await;
        self.written(call, write, &heard);
    }

    pub(super) async fn reset_password(&mut self) {
        let name = format!("d{}", self.random.random_range(0..4));
        let password = format!("Password{}", self.random.random_range(1000..1_000_000_u32));
        let write = Event::Value(
            format!("password of {name}"),
            OnValue::Write(password.clone()),
        );
        let call = self.ground.call(write.clone());
        let path = format!("{PLACE}/postgres/{name}/reset-superuser-password");
        let body = json!({ "password": password });
        let heard = self.ask("POST", &path, Some(body)).await;
        self.written(call, write, &heard);
    }

    pub(super) async fn restart(&mut self) {
        let name = format!("d{}", self.random.random_range(0..4));
        let path = format!("{PLACE}/postgres/{name}/restart");
        let heard = self.ask("POST", &path, None).await;
        match heard.status {
            // One that is being created has nothing to restart.
            200 if heard.body["state"] != "creating" => {
                *self.ground.kept().restarts.entry(heard.id()).or_insert(0) += 1;
            }
            200 | 404 | 500.. => {}
            _ => self
                .ground
                .broken(format!("restart: {} {}", heard.status, heard.body)),
        }
    }

    fn written(&self, call: u64, write: Event, heard: &Heard) {
        let said = match heard.status {
            200 => Said::This(write),
            404 => Said::Nothing,
            500.. => Said::Lost,
            _ => {
                self.ground
                    .broken(format!("write: {} {}", heard.status, heard.body));
                Said::Nothing
            }
        };
        self.ground.back(call, said);
    }

    pub(super) async fn view_database(&mut self) {
        let name = match self.random.random_range(0..6) {
            of @ 0..4 => format!("d{of}"),
            of => format!("x{}", of - 4),
        };
        see_database(self, &name).await;
    }
}

/// Views a database, and records its existence, its targets and its password.
pub(super) async fn see_database(caller: &Caller, name: &str) -> Option<Value> {
    let ground = &caller.ground;
    let register = format!("database {name}");
    let call = ground.call(Event::Name(register.clone(), OnName::Seen(None)));
    let tag_call = ground.moment();
    let path = format!("{PLACE}/postgres/{name}");
    let heard = caller.ask("GET", &path, None).await;
    let seen = |id| Said::This(Event::Name(register.clone(), OnName::Seen(id)));
    match heard.status {
        200 => {
            let of = &heard.body;
            ensure_named(ground, name, of);
            ground.back(call, seen(Some(heard.id())));
            let back = ground.moment();
            let tag = of["tags"][0]["value"]
                .as_str()
                .map(|tag| format!("{tag} {}", of["target_storage_size_gib"]));
            let mut kept = ground.kept();
            let read = Event::Value(format!("tag of {name}"), OnValue::Read(tag));
            kept.done.push((tag_call, Some(back), read));
            if let Some(url) = of["connection_string"].as_str() {
                let password = password(url).filter(|password| password.starts_with("Password"));
                let read = Event::Value(format!("password of {name}"), OnValue::Read(password));
                kept.done.push((tag_call, Some(back), read));
            }
            return Some(heard.body);
        }
        404 => ground.back(call, seen(None)),
        _ => ground.back(call, Said::Nothing),
    }
    None
}

/// Checks that a resource has the name by which it was found.
pub(super) fn ensure_named(ground: &Ground, name: &str, is: &Value) {
    if is["name"] != name {
        ground.broken(format!("{name} is {is}"));
    }
}

/// Returns the password in a connection string. It has only letters and digits.
pub(super) fn password(url: &str) -> Option<String> {
    let rest = url.strip_prefix("postgres://postgres:")?;
    Some(rest.split_once('@')?.0.to_owned())
}
