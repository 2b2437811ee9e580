//! Load balancers.

use std::collections::BTreeSet;

use api_types::{
    HealthCheckProtocol, LoadBalancerAlgorithm, LoadBalancerId, NetworkStack, Port,
    PrivateSubnetId, VmId,
};
use serde_saphyr::Spanned;

use super::{Done, Ids, Placed, Run, by_place, checked, inconsistent, key};
use crate::domain::id::Id;
use crate::inventory::{LoadBalancerEntry, StepKind};
use crate::storage;
use crate::storage::load_balancer::LoadBalancer;
use crate::storage::project::Project;

impl Run<'_, '_> {
    pub(super) async fn load_balancers(
        &mut self,
        project: &Project,
        entries: &[LoadBalancerEntry],
        vms: &Ids<VmId>,
        subnets: &Ids<PrivateSubnetId>,
    ) -> Done<()> {
        let existing = storage::load_balancer::of_project(self.tx, &project.id).await?;
        let (by_name, wanted) = (by_place(&existing), by_place(entries));
        for found in &existing {
            let LoadBalancer { location, name, .. } = found;
            if !wanted.contains_key(&found.known())
                && self.prunes(format!(
                    "project {}: load balancer {location}/{name}",
                    project.name
                ))
            {
                storage::load_balancer::delete(self.tx, &project.id, found).await?;
            }
        }
        for entry in entries {
            let (location, name) = (&entry.location.value, &entry.name.value);
            let what = format!("project {}: load balancer {location}/{name}", project.name);
            let subnet = &subnets[&key(location, &entry.subnet.value)];
            if let Some(found) = by_name.get(&entry.known()) {
                self.same_load_balancer(project, found, entry, subnet, &what)
                    .await?;
                let differing = self.differing(project, found, entry, vms).await?;
                self.leaves(&what, &differing);
            } else {
                self.step(StepKind::Create, what.clone());
                self.new_load_balancer(project, entry, vms, subnet, &what)
                    .await?;
            }
        }
        Ok(())
    }

    /// A load balancer that there is: only what the API cannot change follows the inventory.
    async fn same_load_balancer(
        &mut self,
        project: &Project,
        found: &LoadBalancer,
        entry: &LoadBalancerEntry,
        subnet: &PrivateSubnetId,
        what: &str,
    ) -> Done<()> {
        let protocol = entry.health_check_protocol.as_ref();
        let protocol = protocol.map_or(HealthCheckProtocol::Http, checked);
        if found.subnet_id != *subnet || found.health_check_protocol != protocol {
            self.step(StepKind::Update, what.to_owned());
            let changed = LoadBalancer {
                subnet_id: subnet.clone(),
                health_check_protocol: protocol,
                ..found.clone()
            };
            storage::load_balancer::update(self.tx, &project.id, &changed).await?;
        }
        Ok(())
    }

    /// What the API decides and the inventory has otherwise, by its keys.
    async fn differing(
        &mut self,
        project: &Project,
        found: &LoadBalancer,
        entry: &LoadBalancerEntry,
        vms: &Ids<VmId>,
    ) -> Done<Vec<&'static str>> {
        let attached = storage::load_balancer::vms(self.tx, &project.id, &found.id).await?;
        let attached: BTreeSet<&VmId> = attached.iter().map(|vm| &vm.id).collect();
        let wanted: BTreeSet<&VmId> = entry
            .vms
            .iter()
            .map(|vm| &vms[&key(found.location.as_str(), &vm.value)])
            .collect();
        let is_other = |given: Option<&Spanned<String>>, has: &str| {
            given.is_some_and(|given| given.value != has)
        };
        let differing = [
            (
                "algorithm",
                is_other(entry.algorithm.as_ref(), found.algorithm.as_str()),
            ),
            ("src_port", entry.src_port.value != found.src_port.get()),
            ("dst_port", entry.dst_port.value != found.dst_port.get()),
            (
                "health_check_endpoint",
                found.health_check_endpoint != *entry.health_check_endpoint.value,
            ),
            (
                "stack",
                is_other(entry.stack.as_ref(), found.stack.as_str()),
            ),
            ("cert_enabled", entry.cert_enabled != found.cert_enabled),
            ("vms", attached != wanted),
        ];
        Ok(differing
            .into_iter()
            .filter(|(_, differs)| *differs)
            .map(|(key, _)| key)
            .collect())
    }

    async fn new_load_balancer(
        &mut self,
        project: &Project,
        entry: &LoadBalancerEntry,
        vms: &Ids<VmId>,
        subnet: &PrivateSubnetId,
        what: &str,
    ) -> Done<()> {
        let port = |value| Port::try_from(value).expect("the inventory has been checked");
        let (algorithm, protocol) = (&entry.algorithm, &entry.health_check_protocol);
        let made = LoadBalancer {
            id: LoadBalancerId::generate(self.world),
            location: checked(&entry.location),
            name: checked(&entry.name),
            algorithm: algorithm
                .as_ref()
                .map_or(LoadBalancerAlgorithm::RoundRobin, checked),
            src_port: port(entry.src_port.value),
            dst_port: port(entry.dst_port.value),
            health_check_endpoint: checked(&entry.health_check_endpoint),
            health_check_protocol: protocol.as_ref().map_or(HealthCheckProtocol::Http, checked),
            stack: entry.stack.as_ref().map_or(NetworkStack::Dual, checked),
            cert_enabled: entry.cert_enabled,
            subnet_id: subnet.clone(),
            subnet: checked(&entry.subnet),
            revision: 0,
        };
        storage::load_balancer::insert(self.tx, &project.id, &made).await?;
        let attached: Vec<&VmId> = entry
            .vms
            .iter()
            .map(|vm| &vms[&key(&entry.location.value, &vm.value)])
            .collect();
        let ids: Vec<&str> = attached.iter().map(|id| id.as_str()).collect();
        let found = storage::vm::of_ids(self.tx, &project.id, &made.location, &ids).await?;
        if let Some(vm) = found.iter().find(|vm| vm.load_balancer_id.is_some()) {
            let at = entry
                .vms
                .iter()
                .find(|it| vm.vm.name == *it.value)
                .unwrap_or(&entry.name);
            let message = format!(
                "{what}: vm {} is attached to another load balancer, which must let it go",
                vm.vm.name
            );
            return inconsistent(at, message);
        }
        storage::load_balancer::attach_only(self.tx, &project.id, &made.id, &attached).await?;
        Ok(())
    }
}
