//! The entries of the audit trail: one for each resource of a project that an inventory creates,
//! updates or removes.

use std::collections::HashSet;

use super::{Applied, Run};
use crate::domain::audit::OPERATOR;
use crate::domain::id;
use crate::inventory::StepKind;
use crate::storage::Connection;
use crate::storage::audit::{NewEntry, insert};
use crate::storage::project::Project;
use crate::world::World;

/// The entries of a run. Locations belong to no project, so they have none.
#[derive(Debug, Default)]
pub(super) struct Entries {
    all: Vec<NewEntry>,
    /// The ids of the resources that the run has created or updated.
    touched: HashSet<String>,
}

impl Entries {
    /// Inserts the entries.
    pub(super) async fn insert(self, tx: &mut Connection<'_>, world: &World) -> Applied<()> {
        for entry in &self.all {
            insert(tx, entry, world).await?;
        }
        Ok(())
    }
}

impl Run<'_, '_> {
    /// Adds an entry for a step about a resource. Several updates are one entry, and so is a
    /// creation with what then updates it.
    pub(super) fn audit(&mut self, step: StepKind, project: &Project, resource: &str) {
        let verb = match step {
            StepKind::Create => "create",
            StepKind::Update => "update",
            StepKind::Delete => "delete",
            StepKind::Keep | StepKind::Leave => return,
        };
        let is_first = self.entries.touched.insert(resource.to_owned());
        let Some(kind) = id::Kind::of_id(resource) else {
            unreachable!("a resource has an id")
        };
        if is_first || step != StepKind::Update {
            self.entries.all.push(NewEntry {
                project_id: project.id.clone(),
                principal: OPERATOR.to_owned(),
                operation: format!("{}_{verb}", kind.name()),
                resource: resource.to_owned(),
                request_id: None,
            });
        }
    }
}
