//! Firewalls and their rules.

use std::collections::HashSet;

use api_types::{FirewallId, FirewallProtocol, FirewallRuleId};

use super::key::{Ids, Keyed, by_key, key};
use super::{Applied, Run, checked, or};
use crate::domain::id::Id;
use crate::domain::quota::Kind;
use crate::domain::refusal::enumerate;
use crate::inventory::{FirewallEntry, StepKind};
use crate::storage;
use crate::storage::firewall::{Firewall, Rule};
use crate::storage::project::Project;

impl Run<'_, '_> {
    /// Creates and updates firewalls and their rules. Returns the ids of the firewalls in the
    /// inventory.
    pub(super) async fn firewalls(
        &mut self,
        project: &Project,
        entries: &[FirewallEntry],
    ) -> Applied<Ids<FirewallId>> {
        let existing = storage::firewall::of_project(self.tx, &project.id).await?;
        let by_key = by_key(&existing);
        let mut ids = Ids::new();
        for entry in entries {
            let (location, name) = (&entry.location.value, &entry.name.value);
            let what = format!("project {}: firewall {location}/{name}", project.name);
            let id = match by_key.get(&entry.key()) {
                Some(found) => {
                    self.update_firewall(project, found, entry, &what).await?;
                    found.id.clone()
                }
                None => self.create_firewall(project, entry, &what).await?,
            };
            self.rules(project, &id, entry, &what).await?;
            ids.insert(key(location, name), id);
        }
        Ok(ids)
    }

    async fn update_firewall(
        &mut self,
        project: &Project,
        found: &Firewall,
        entry: &FirewallEntry,
        what: &str,
    ) -> Applied<()> {
        let description = or(entry.description.as_ref(), "");
        // A firewall that was created through the API belongs to the inventory once it is listed
        // there.
        if !found.is_declared || found.description != description {
            self.step(StepKind::Update, what.to_owned());
            self.audit(StepKind::Update, project, found.id.as_str());
            let described = Firewall {
                description: description.to_owned(),
                ..found.clone()
            };
            storage::firewall::declare(self.tx, &project.id, &described).await?;
            // Its rules are then the inventory's too, and go if they are not listed.
            if !found.is_declared {
                storage::firewall::declare_rules(self.tx, &project.id, &found.id).await?;
            }
        }
        Ok(())
    }

    /// Creates a firewall. Returns its id.
    async fn create_firewall(
        &mut self,
        project: &Project,
        entry: &FirewallEntry,
        what: &str,
    ) -> Applied<FirewallId> {
        self.step(StepKind::Create, what.to_owned());
        let firewall = Firewall {
            id: FirewallId::generate(self.world),
            location: checked(&entry.location),
            name: checked(&entry.name),
            description: or(entry.description.as_ref(), "").to_owned(),
            is_declared: true,
        };
        self.audit(StepKind::Create, project, firewall.id.as_str());
        self.created(Kind::Firewall);
        storage::firewall::insert(self.tx, &project.id, &firewall).await?;
        self.new_firewalls.insert(firewall.id.clone());
        Ok(firewall.id)
    }

    async fn rules(
        &mut self,
        project: &Project,
        firewall: &FirewallId,
        entry: &FirewallEntry,
        what: &str,
    ) -> Applied<()> {
        let existing = storage::firewall::rules(self.tx, &project.id, firewall).await?;
        let known: HashSet<_> = existing
            .iter()
            // Those of an inventory are of TCP.
            .filter(|rule| rule.protocol == FirewallProtocol::Tcp)
            .map(|rule| (rule.cidr.as_str(), rule.port_range.as_str()))
            .collect();
        let wanted: HashSet<_> = entry
            .rules
            .iter()
            .map(|rule| (&*rule.cidr.value, &*rule.port_range.value))
            .collect();
        for rule in &entry.rules {
            let (cidr, port_range) = (&rule.cidr.value, &rule.port_range.value);
            if known.contains(&(&**cidr, &**port_range)) {
                continue;
            }
            self.step(
                StepKind::Create,
                format!("{what}: rule {cidr} {port_range}"),
            );
            self.audit(StepKind::Update, project, firewall.as_str());
            let rule = Rule {
                firewall_id: firewall.clone(),
                id: FirewallRuleId::generate(self.world),
                cidr: checked(&rule.cidr),
                port_range: checked(&rule.port_range),
                protocol: FirewallProtocol::Tcp,
                description: String::new(),
                is_declared: true,
            };
            storage::firewall::insert_rule(self.tx, &project.id, &rule).await?;
        }
        // Rules that callers have added stay.
        for rule in existing.iter().filter(|rule| rule.is_declared) {
            let is_wanted = wanted.contains(&(rule.cidr.as_str(), rule.port_range.as_str()));
            if !is_wanted && self.prunes(format!("{what}: rule {} {}", rule.cidr, rule.port_range))
            {
                self.audit(StepKind::Update, project, firewall.as_str());
                storage::firewall::delete_rule(self.tx, &project.id, firewall, &rule.id).await?;
            }
        }
        Ok(())
    }

    /// Removes the firewalls that are no longer in the inventory. Firewalls of the API that were
    /// never in an inventory stay.
    pub(super) async fn prune_firewalls(
        &mut self,
        project: &Project,
        entries: &[FirewallEntry],
    ) -> Applied<()> {
        let wanted = by_key(entries);
        for firewall in storage::firewall::of_project(self.tx, &project.id).await? {
            if !firewall.is_declared || wanted.contains_key(&firewall.key()) {
                continue;
            }
            let Firewall { location, name, .. } = &firewall;
            let mut what = format!("project {}: firewall {location}/{name}", project.name);
            let subnets =
                storage::firewall::names_of_subnets(self.tx, &project.id, &firewall.id).await?;
            if !subnets.is_empty() {
                what += &format!(", attached to the private subnets {}", enumerate(&subnets));
            }
            if self.prunes(what) {
                self.audit(StepKind::Delete, project, firewall.id.as_str());
                // So that callers add no rule meanwhile.
                storage::lock::firewall(self.tx, &project.id, &firewall.id).await?;
                storage::firewall::delete(self.tx, &project.id, &firewall).await?;
            }
        }
        Ok(())
    }
}
