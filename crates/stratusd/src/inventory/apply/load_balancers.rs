//! Load balancers.

use std::collections::BTreeSet;

use api_types::{
    HealthCheckProtocol, LoadBalancerAlgorithm, LoadBalancerId, NetworkStack, Port,
    PrivateSubnetId, VmId,
};
use serde_saphyr::Spanned;

use super::key::{Ids, Keyed, by_key, key};
use super::{Applied, Run, checked, inconsistent};
use crate::domain::id::Id;
use crate::domain::quota::Kind;
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
    ) -> Applied<()> {
        let existing = storage::load_balancer::of_project(self.tx, &project.id).await?;
        // Before others are created: a virtual machine can move from a load balancer that is removed
        // to a new one.
        self.prune_load_balancers(project, entries, &existing)
            .await?;
        let by_key = by_key(&existing);
        for entry in entries {
            let (location, name) = (&entry.location.value, &entry.name.value);
            let what = format!("project {}: load balancer {location}/{name}", project.name);
            let subnet = &subnets[&key(location, &entry.subnet.value)];
            if let Some(found) = by_key.get(&entry.key()) {
                self.update_load_balancer(project, found, entry, subnet, &what)
                    .await?;
                let differing = self.differing(project, found, entry, vms).await?;
                self.report_differences(&what, &differing);
            } else {
                self.step(StepKind::Create, what.clone());
                let created = self.create_load_balancer(project, entry, subnet).await?;
                self.attach_vms(project, &created, entry, vms, &what)
                    .await?;
            }
        }
        Ok(())
    }

    async fn prune_load_balancers(
        &mut self,
        project: &Project,
        entries: &[LoadBalancerEntry],
        existing: &[LoadBalancer],
    ) -> Applied<()> {
        let wanted = by_key(entries);
        for found in existing {
            let LoadBalancer { location, name, .. } = found;
            let is_pruned = found.is_declared && !wanted.contains_key(&found.key());
            if is_pruned
                && self.prunes(format!(
                    "project {}: load balancer {location}/{name}",
                    project.name
                ))
            {
                self.audit(StepKind::Delete, project, found.id.as_str());
                // So that callers attach nothing meanwhile.
                storage::lock::load_balancer(self.tx, &project.id, &found.id).await?;
                storage::load_balancer::delete(self.tx, &project.id, found).await?;
            }
        }
        Ok(())
    }

    /// Updates the properties of a load balancer that the API cannot change, and marks it as
    /// declared.
    async fn update_load_balancer(
        &mut self,
        project: &Project,
        found: &LoadBalancer,
        entry: &LoadBalancerEntry,
        subnet: &PrivateSubnetId,
        what: &str,
    ) -> Applied<()> {
        let protocol = entry.health_check_protocol.as_ref();
        let protocol = protocol.map_or(HealthCheckProtocol::Http, checked);
        let differs = found.subnet_id != *subnet || found.health_check_protocol != protocol;
        // A load balancer that was created through the API belongs to the inventory once it is
        // listed there.
        if differs || !found.is_declared {
            self.step(StepKind::Update, what.to_owned());
            self.audit(StepKind::Update, project, found.id.as_str());
            let changed = LoadBalancer {
                subnet_id: subnet.clone(),
                health_check_protocol: protocol,
                is_declared: true,
                ..found.clone()
            };
            storage::load_balancer::update(self.tx, &project.id, &changed).await?;
        }
        Ok(())
    }

    /// Returns the keys of the properties that the API can change and that differ from the entry.
    ///
    /// An optional property that the entry does not give never differs.
    async fn differing(
        &mut self,
        project: &Project,
        found: &LoadBalancer,
        entry: &LoadBalancerEntry,
        vms: &Ids<VmId>,
    ) -> Applied<Vec<&'static str>> {
        let attached = storage::load_balancer::vms(self.tx, &project.id, &found.id).await?;
        let attached: BTreeSet<&VmId> = attached.iter().map(|vm| &vm.id).collect();
        let wanted: BTreeSet<&VmId> = entry
            .vms
            .iter()
            .map(|vm| &vms[&key(found.location.as_str(), &vm.value)])
            .collect();
        let differs = |given: Option<&Spanned<String>>, has: &str| {
            given.is_some_and(|given| given.value != has)
        };
        let (algorithm, stack) = (entry.algorithm.as_ref(), entry.stack.as_ref());
        let (src_port, dst_port) = (entry.src_port.value, entry.dst_port.value);
        let endpoint = &entry.health_check_endpoint.value;
        let differing = [
            ("algorithm", differs(algorithm, found.algorithm.as_str())),
            ("src_port", src_port != found.src_port.get()),
            ("dst_port", dst_port != found.dst_port.get()),
            (
                "health_check_endpoint",
                found.health_check_endpoint != **endpoint,
            ),
            ("stack", differs(stack, found.stack.as_str())),
            ("cert_enabled", entry.cert_enabled != found.cert_enabled),
            ("vms", attached != wanted),
        ];
        let differing = differing.into_iter().filter(|(_, differs)| *differs);
        Ok(differing.map(|(key, _)| key).collect())
    }

    async fn create_load_balancer(
        &mut self,
        project: &Project,
        entry: &LoadBalancerEntry,
        subnet: &PrivateSubnetId,
    ) -> Applied<LoadBalancer> {
        let port = |value| Port::try_from(value).expect("the inventory has been checked");
        let (algorithm, protocol) = (&entry.algorithm, &entry.health_check_protocol);
        let load_balancer = LoadBalancer {
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
            is_declared: true,
            revision: 0,
        };
        self.audit(StepKind::Create, project, load_balancer.id.as_str());
        self.created(Kind::LoadBalancer);
        storage::load_balancer::insert(self.tx, &project.id, &load_balancer).await?;
        Ok(load_balancer)
    }

    /// Attaches the virtual machines of an entry to its load balancer, which is new.
    async fn attach_vms(
        &mut self,
        project: &Project,
        load_balancer: &LoadBalancer,
        entry: &LoadBalancerEntry,
        vms: &Ids<VmId>,
        what: &str,
    ) -> Applied<()> {
        let attached: Vec<&VmId> = entry
            .vms
            .iter()
            .map(|vm| &vms[&key(&entry.location.value, &vm.value)])
            .collect();
        let ids: Vec<&str> = attached.iter().map(|id| id.as_str()).collect();
        let found =
            storage::vm::of_ids(self.tx, &project.id, &load_balancer.location, &ids).await?;
        // The unique key would reject this too, but could not name the line.
        if let Some(vm) = found.iter().find(|vm| vm.load_balancer_id.is_some()) {
            let at = entry
                .vms
                .iter()
                .find(|it| vm.vm.name == *it.value)
                .unwrap_or(&entry.name);
            let message = format!(
                "{what}: vm {} is attached to another load balancer: detach it there first",
                vm.vm.name
            );
            return inconsistent(at, message);
        }
        storage::load_balancer::attach_only(self.tx, &project.id, &load_balancer.id, &attached)
            .await?;
        Ok(())
    }
}
