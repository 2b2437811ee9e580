//! Operations on the firewall rules of Postgres databases.

use api_types::{
    Count, IfMatch, PostgresFirewallRule, PostgresFirewallRuleCreate, PostgresFirewallRuleId,
    PostgresFirewallRulePage, Reference,
};

use super::audit::Deleted;
use super::postgres::{is_kept, load, lookup, matching};
use super::{Context, Result, Scope};
use crate::domain::Refusal;
use crate::domain::firewall::{MOST_RULES, canonical_network, ensure_description, ensure_network};
use crate::domain::id::{Id, Kind};
use crate::domain::list::ListQuery;
use crate::storage::database::Part;
use crate::storage::{self, Change, Connection};

/// The query `postgres_firewall_rule_list`: returns a page of the rules of a database, by id.
///
/// # Panics
///
/// Never: a database has at most [`MOST_RULES`] rules.
pub async fn list(
    c: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
    query: &ListQuery,
) -> Result<PostgresFirewallRulePage> {
    let found = lookup(c, scope, reference).await?;
    let mut rules = found.ok_or(Refusal::NotFound)?.firewall_rules;
    let page = query.page_by_id(Kind::PostgresFirewallRule)?;
    let count = i64::try_from(rules.len()).ok();
    let count = count.and_then(|count| Count::try_from(count).ok());
    let count = count.expect("a database has few rules");
    rules.retain(|rule| rule.id.as_str() > page.after.as_str());
    rules.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    rules.truncate(usize::try_from(page.size).unwrap_or(usize::MAX));
    Ok(PostgresFirewallRulePage::new(count, rules))
}

/// The change `postgres_firewall_rule_create`: adds a firewall rule to a database. The reconciler
/// then puts it in force.
#[derive(Debug)]
pub struct Create {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the database.
    pub reference: Reference,
    /// The request body, with the properties of the rule.
    pub body: PostgresFirewallRuleCreate,
    /// The source of time, and of randomness for the id.
    pub context: Context,
}

impl Change for Create {
    type Output = PostgresFirewallRule;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<PostgresFirewallRule> {
        let mut database = load(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let body = &self.body;
        ensure_network(body.cidr.as_str())?;
        ensure_description(body.description.as_str())?;
        ensure_new(&database.firewall_rules, body.cidr.as_str())?;
        let world = &self.context.world;
        let rule = PostgresFirewallRule::new(
            body.cidr.clone(),
            body.description.to_string(),
            PostgresFirewallRuleId::generate(world),
        );
        database.firewall_rules.push(rule.clone());
        let now = storage::clock::now(tx, world).await?;
        // The revision that was read is compared, so that no concurrent change of the rules is lost.
        storage::database::set(tx, &self.scope.project, &database, Part::FirewallRules, now)
            .await?;
        Ok(rule)
    }
}

/// Checks that a database has no rule of a network, and has room for another rule.
///
/// # Errors
///
/// If it has such a rule, with a message about `cidr`, or as many rules as it may have.
fn ensure_new(rules: &[PostgresFirewallRule], cidr: &str) -> std::result::Result<(), Refusal> {
    let network = canonical_network(cidr);
    let mut all = rules.iter();
    if let Some(same) = all.find(|rule| canonical_network(rule.cidr.as_str()) == network) {
        let wrong = format!("the database has a rule of the same network: {}", same.id);
        return Err(Refusal::invalid("cidr", wrong));
    }
    if rules.len() >= MOST_RULES {
        let wrong = format!(
            "the database has {} rules, and may have {MOST_RULES}",
            rules.len()
        );
        return Err(Refusal::invalid("body", wrong));
    }
    Ok(())
}

/// The change `postgres_firewall_rule_delete`: deletes a firewall rule of a database. A rule or a
/// database that does not exist is not an error.
#[derive(Debug)]
pub struct Delete {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the database.
    pub reference: Reference,
    /// The id of the rule.
    pub rule: PostgresFirewallRuleId,
    /// The `If-Match` of the request: the entity tags that the database may have, or `None` for
    /// any.
    pub if_match: Option<IfMatch>,
    /// The source of time, and the sealer that opens the password.
    pub context: Context,
}

impl Change for Delete {
    type Output = Deleted;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Deleted> {
        let found = lookup(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        if let Some(found) = found.filter(is_kept) {
            let (if_match, sealer) = (self.if_match.as_ref(), &self.context.sealer);
            let mut database = matching(tx, &self.scope, if_match, found, sealer).await?;
            let before = database.firewall_rules.len();
            database.firewall_rules.retain(|rule| rule.id != self.rule);
            if database.firewall_rules.len() < before {
                let now = storage::clock::now(tx, &self.context.world).await?;
                storage::database::set(
                    tx,
                    &self.scope.project,
                    &database,
                    Part::FirewallRules,
                    now,
                )
                .await?;
            }
        }
        Ok(Deleted(self.rule.to_string()))
    }
}
