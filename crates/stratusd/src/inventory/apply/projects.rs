//! Applies the projects of an inventory.

use std::collections::{HashMap, HashSet};

use api_types::ProjectId;

use super::{Applied, Run, blocked, checked, inconsistent};
use crate::domain::id::Id;
use crate::inventory::{Inventory, ProjectEntry, StepKind};
use crate::storage;
use crate::storage::project::Project;

/// The projects in the database, by name and by id.
pub(super) struct Projects<'p> {
    by_name: HashMap<&'p str, &'p Project>,
    by_id: HashMap<&'p str, &'p Project>,
}

impl<'p> Projects<'p> {
    pub(super) fn of(projects: &'p [Project]) -> Self {
        let by_name = projects
            .iter()
            .map(|project| (project.name.as_str(), project));
        let by_id = projects
            .iter()
            .map(|project| (project.id.as_str(), project));
        Self {
            by_name: by_name.collect(),
            by_id: by_id.collect(),
        }
    }
}

impl Run<'_, '_> {
    /// Returns the project of an entry, which is created if it does not exist. An entry whose id
    /// does not fit the existing projects is an error.
    pub(super) async fn project(
        &mut self,
        entry: &ProjectEntry,
        existing: &Projects<'_>,
    ) -> Applied<Project> {
        let name = &entry.name.value;
        let wanted_id = entry.id.as_ref().map(|id| id.value.as_str());
        let id_or_name = entry.id.as_ref().unwrap_or(&entry.name);
        if let Some(&project) = existing.by_name.get(name.as_str()) {
            if wanted_id.is_some_and(|id| project.id != *id) {
                let message = format!(
                    "project {name} exists with the id {}, which cannot change",
                    project.id
                );
                return inconsistent(id_or_name, message);
            }
            return Ok(project.clone());
        }
        if let Some(other) = wanted_id.and_then(|id| existing.by_id.get(id)) {
            let message = format!("the id of project {name} belongs to project {}", other.name);
            return inconsistent(id_or_name, message);
        }
        let project = Project {
            id: entry
                .id
                .as_ref()
                .map_or_else(|| ProjectId::generate(self.world), checked),
            name: checked(&entry.name),
        };
        // A dry run does not print an id that it generated: the real run will generate another one.
        let id = if self.mode.is_dry_run && wanted_id.is_none() {
            "a new id".to_owned()
        } else {
            format!("the id {}", project.id)
        };
        self.step(StepKind::Create, format!("project {name} with {id}"));
        self.audit(StepKind::Create, &project, project.id.as_str());
        storage::project::insert(self.tx, &project, self.world.now()).await?;
        Ok(project)
    }

    /// Removes the projects that are not in the inventory, if the mode prunes. A project with
    /// Postgres databases is not removed, but is an error.
    pub(super) async fn prune_projects(
        &mut self,
        inventory: &Inventory,
        existing: &[Project],
    ) -> Applied<()> {
        let wanted: HashSet<&str> = inventory
            .projects
            .iter()
            .map(|entry| &*entry.name.value)
            .collect();
        for project in existing {
            if wanted.contains(project.name.as_str())
                || !self.prunes(format!("project {} with everything in it", project.name))
            {
                continue;
            }
            // Databases are deleted by the provisioner, which takes its time.
            if storage::project::has_databases(self.tx, &project.id).await? {
                return blocked(format!(
                    "cannot remove project {}: it has Postgres databases; delete them through the API, and wait until they are gone",
                    project.name
                ));
            }
            self.audit(StepKind::Delete, project, project.id.as_str());
            storage::project::delete(self.tx, &project.id).await?;
        }
        Ok(())
    }
}
