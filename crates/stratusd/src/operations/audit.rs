//! The audit trail of the API: each change writes its entry in its own transaction, so there is an
//! entry if and only if there is a change.

use api_types::{
    Firewall, FirewallDetails, FirewallRuleDetails, InferenceApiKey, LoadBalancer, Postgres,
    PostgresFirewallRule, PrivateSubnet,
};

use super::Result;
use crate::domain::Refusal;
use crate::domain::audit::Author;
use crate::domain::entity_tag::Tagged;
use crate::storage::audit::{NewEntry, insert};
use crate::storage::{Change, Connection, standby};
use crate::world::World;

/// A change that is made together with its entry in the audit trail. A change that finds everything
/// as it should be, and so changes no row, has no entry, but waits for the standbys as others do.
#[derive(Debug)]
pub struct Audited<C> {
    /// The change.
    pub change: C,
    /// The request that makes it.
    pub author: Author,
    /// The source of time, for a database without a clock.
    pub world: World,
}

impl<C> Change for Audited<C>
where
    C: Change<Refusal = Refusal>,
    C::Output: Subject,
{
    type Output = C::Output;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<C::Output> {
        let before = tx.changed();
        let output = self.change.apply(tx).await?;
        if tx.changed() > before {
            let Author {
                caller,
                operation,
                request_id,
            } = &self.author;
            let entry = NewEntry {
                project_id: caller.project_id.clone(),
                principal: caller.token_id.clone(),
                operation: (*operation).to_owned(),
                resource: output.id().to_owned(),
                request_id: request_id.clone(),
            };
            insert(tx, &entry, &self.world).await?;
        } else {
            // What it has found may be a change whose commit no standby has yet.
            standby::confirm(tx).await?;
        }
        Ok(output)
    }
}

/// A type of outputs that show the resource which was changed.
pub trait Subject {
    /// Returns the id of the resource.
    fn id(&self) -> &str;
}

/// The output of a change that deletes a resource, with the id of the resource. If there was no such
/// resource, so that the change has no entry, with the reference of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deleted(pub String);

impl Subject for Deleted {
    fn id(&self) -> &str {
        &self.0
    }
}

impl<T: Subject> Subject for Tagged<T> {
    fn id(&self) -> &str {
        self.shown.id()
    }
}

macro_rules! subjects {
    ($($shown:ty),* $(,)?) => {
        $(impl Subject for $shown {
            fn id(&self) -> &str {
                self.id.as_str()
            }
        })*
    };
}

subjects!(
    Firewall,
    FirewallDetails,
    FirewallRuleDetails,
    InferenceApiKey,
    LoadBalancer,
    Postgres,
    PostgresFirewallRule,
    PrivateSubnet
);
