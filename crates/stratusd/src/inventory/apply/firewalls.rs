//! Firewalls and their rules.

use std::collections::HashSet;
use std::fmt::Write as _;

use api_types::{FirewallId, FirewallRuleId};

use super::{Done, Ids, Placed, Run, by_place, checked, key, or};
use crate::domain::id::Id;
use crate::domain::refusal::enumerate;
use crate::inventory::{FirewallEntry, StepKind};
use crate::storage;
use crate::storage::firewall::{Firewall, Rule};
use crate::storage::project::Project;

impl Run<'_, '_> {
    pub(super) async fn firewalls(
        &mut self,
        project: &Project,
        entries: &[FirewallEntry],
    ) -> Done<Ids<FirewallId>> {
        let existing = storage::firewall::of_project(self.tx, &project.id).await?;
        let by_name = by_place(&existing);
        let mut ids = Ids::new();
        for entry in entries {
            let (location, name) = (&entry.location.value, &entry.name.value);
            let description = or(entry.description.as_ref(), "");
            let what = format!("project {}: firewall {location}/{name}", project.name);
            let id = if let Some(&found) = by_name.get(&entry.known()) {
                if !found.is_declared || found.description != description {
                    self.step(StepKind::Update, what.clone());
                    let described = Firewall {
                        description: description.to_owned(),
                        ..found.clone()
                    };
                    storage::firewall::declare(self.tx, &project.id, &described).await?;
                }
                found.id.clone()
            } else {
                self.step(StepKind::Create, what.clone());
                let firewall = Firewall {
                    id: FirewallId::generate(self.world),
                    location: checked(&entry.location),
                    name: checked(&entry.name),
                    description: description.to_owned(),
                    is_declared: true,
                };
                storage::firewall::insert(self.tx, &project.id, &firewall).await?;
                self.new_firewalls.insert(firewall.id.clone());
                firewall.id
            };
            self.rules(project, &id, entry, &what).await?;
            ids.insert(key(location, name), id);
        }
        Ok(ids)
    }

    async fn rules(
        &mut self,
        project: &Project,
        firewall: &FirewallId,
        entry: &FirewallEntry,
        what: &str,
    ) -> Done<()> {
        let existing = storage::firewall::rules(self.tx, &project.id, firewall).await?;
        let known: HashSet<_> = existing
            .iter()
            .map(|rule| (rule.cidr.as_str(), rule.port_range.as_str()))
            .collect();
        let asked: HashSet<_> = entry
            .rules
            .iter()
            .map(|rule| (&*rule.cidr.value, &*rule.port_range.value))
            .collect();
        for wanted in &entry.rules {
            let (cidr, port_range) = (&wanted.cidr.value, &wanted.port_range.value);
            if known.contains(&(&**cidr, &**port_range)) {
                continue;
            }
            self.step(
                StepKind::Create,
                format!("{what}: rule {cidr} {port_range}"),
            );
            let rule = Rule {
                firewall_id: firewall.to_owned(),
                id: FirewallRuleId::generate(self.world),
                cidr: checked(&wanted.cidr),
                port_range: checked(&wanted.port_range),
            };
            storage::firewall::insert_rule(self.tx, &project.id, &rule).await?;
        }
        for rule in &existing {
            let is_wanted = asked.contains(&(rule.cidr.as_str(), rule.port_range.as_str()));
            if !is_wanted && self.prunes(format!("{what}: rule {} {}", rule.cidr, rule.port_range))
            {
                storage::firewall::delete_rule(self.tx, &project.id, rule).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn prune_firewalls(
        &mut self,
        project: &Project,
        entries: &[FirewallEntry],
    ) -> Done<()> {
        let wanted = by_place(entries);
        for firewall in storage::firewall::of_project(self.tx, &project.id).await? {
            if !firewall.is_declared || wanted.contains_key(&firewall.known()) {
                continue;
            }
            let Firewall { location, name, .. } = &firewall;
            let mut what = format!("project {}: firewall {location}/{name}", project.name);
            let guarded =
                storage::firewall::names_of_subnets(self.tx, &project.id, &firewall.id).await?;
            if !guarded.is_empty() {
                write!(
                    what,
                    ", which guards the private subnets {}",
                    enumerate(&guarded)
                )
                .expect("a text takes all");
            }
            if self.prunes(what) {
                storage::firewall::delete(self.tx, &project.id, &firewall.id).await?;
            }
        }
        Ok(())
    }
}
