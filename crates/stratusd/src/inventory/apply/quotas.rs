//! Quotas of projects.

use super::{Applied, Run, blocked};
use crate::domain::quota::{Kind, Usage};
use crate::inventory::{ProjectEntry, StepKind};
use crate::storage;
use crate::storage::project::Project;

impl Run<'_, '_> {
    /// Sets the quotas that an entry lists, and removes those that it no longer lists.
    pub(super) async fn quotas(&mut self, project: &Project, entry: &ProjectEntry) -> Applied<()> {
        for kind in Kind::ALL {
            let wanted = entry.quotas.of(kind).map(|quota| quota.value);
            let found = storage::quota::own(self.tx, &project.id, kind).await?;
            if wanted == found {
                continue;
            }
            let quota = match wanted {
                Some(most) => most.to_string(),
                None => "the one of the settings".to_owned(),
            };
            let what = format!(
                "project {}: the quota of {} is {quota}",
                project.name,
                kind.plural()
            );
            self.step(StepKind::Update, what);
            self.audit(StepKind::Update, project, project.id.as_str());
            storage::quota::set(self.tx, &project.id, kind, wanted).await?;
        }
        Ok(())
    }

    /// Checks that what this run has created fits into the quotas of the project.
    ///
    /// Called when everything is created and pruned: the transaction can still be rolled back. Kinds
    /// of which nothing was created are not checked, because a quota may be below what a project
    /// has.
    pub(super) async fn ensure_within_quotas(
        &mut self,
        project: &Project,
        created: &[Kind],
    ) -> Applied<()> {
        // In the order of creates in the API, which may lock each other out otherwise.
        for kind in Kind::ALL.into_iter().filter(|kind| created.contains(kind)) {
            let usage = storage::quota::usage(self.tx, &project.id, kind, self.quotas).await?;
            let Usage { kind, most, items } = usage;
            if items > most {
                let kind = kind.plural();
                return blocked(format!(
                    "project {} would have {items} {kind}, and its quota is {most}: raise the quota, or remove some",
                    project.name
                ));
            }
        }
        Ok(())
    }
}
