//! Calls that change and list load balancers.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt;
use serde_json::{Value, json};

use super::{Caller, text, values};
use crate::ground::{Event, Said};
use crate::history::{Balancer, OnBalancers, Outcome};
use crate::template::{BALANCERS, PLACE};

impl Caller {
    pub(super) async fn set_balancer(&mut self) {
        let name = BALANCERS[self.random.random_range(0..BALANCERS.len())];
        let vms: BTreeSet<String> = self
            .template
            .vms
            .iter()
            .filter(|_| self.random.random_ratio(1, 3))
            .cloned()
            .collect();
        let value = self.random.random_range(1000..60_000);
        let set = |outcome| {
            Event::Balancers(OnBalancers::Set {
                name: name.to_owned(),
                to: Balancer {
                    value,
                    vms: vms.clone(),
                },
                outcome,
            })
        };
        let call = self.ground.call(set(Outcome::Lost));
        let body = json!({ "algorithm": "round_robin", "src_port": value, "dst_port": 80,
            "health_check_endpoint": "/up", "vms": vms });
        let path = format!("{PLACE}/load-balancer/{name}");
        let heard = self.ask("PATCH", &path, Some(body)).await;
        let said = match heard.status {
            200 => {
                if attached(&heard.body) != vms {
                    self.ground.broken(format!("other vms: {}", heard.body));
                }
                Said::This(set(Outcome::Done))
            }
            400 => Said::This(set(Outcome::Refused)),
            500.. => Said::Lost,
            _ => {
                self.ground
                    .broken(format!("set: {} {}", heard.status, heard.body));
                Said::Nothing
            }
        };
        self.ground.back(call, said);
    }

    pub(super) async fn detach(&mut self) {
        let name = BALANCERS[self.random.random_range(0..BALANCERS.len())];
        let vms = &self.template.vms;
        let vm = vms[self.random.random_range(0..vms.len())].clone();
        let detach = |stay| {
            Event::Balancers(OnBalancers::Detach {
                name: name.to_owned(),
                vm: vm.clone(),
                stay,
            })
        };
        let call = self.ground.call(detach(None));
        let path = format!("{PLACE}/load-balancer/{name}/detach-vm");
        let heard = self.ask("POST", &path, Some(json!({ "vm_id": vm }))).await;
        let said = match heard.status {
            200 => Said::This(detach(Some(attached(&heard.body)))),
            500.. => Said::Lost,
            _ => {
                self.ground
                    .broken(format!("detach: {} {}", heard.status, heard.body));
                Said::Nothing
            }
        };
        self.ground.back(call, said);
    }

    pub(super) async fn list_balancers(&mut self) {
        let call = self
            .ground
            .call(Event::Balancers(OnBalancers::Values(BTreeMap::new())));
        let heard = self
            .ask("GET", &format!("{PLACE}/load-balancer"), None)
            .await;
        let said = match heard.status {
            200 => Said::This(Event::Balancers(OnBalancers::Values(values(&heard.body)))),
            _ => Said::Nothing,
        };
        self.ground.back(call, said);
    }
}

/// Returns the virtual machines of a load balancer.
pub(super) fn attached(of: &Value) -> BTreeSet<String> {
    let vms = of["vms"].as_array().into_iter().flatten();
    vms.map(|vm| text(&vm["id"])).collect()
}
