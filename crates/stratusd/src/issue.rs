//! The changes and queries by which the operator issues, lists and revokes access tokens.

use std::convert::Infallible;

use anyhow::{Context, Result, bail};
use api_types::ProjectId;

use crate::domain::audit::OPERATOR;
use crate::domain::id;
use crate::domain::refusal::enumerate;
use crate::domain::token::{generate, hash};
use crate::storage::audit::{NewEntry, insert};
use crate::storage::project::Project;
use crate::storage::token::Token;
use crate::storage::{self, Aborted, Change, Connection, StorageError, Store};
use crate::world::World;

/// The change that issues an access token.
#[derive(Debug)]
pub struct Issue {
    /// The project that the token gives access to.
    pub project: Project,
    /// Whether the token allows only operations that read.
    pub read_only: bool,
    /// When the token expires, in milliseconds since 1970. `None` if it does not expire.
    pub expires_at: Option<i64>,
    /// A note for the list of tokens, such as what the token is for.
    pub description: String,
    /// The source of time and randomness.
    pub world: World,
}

/// A token that was issued.
pub struct Issued {
    /// The token, which is secret.
    pub token: String,
    /// The id of the token, which is not secret.
    pub id: String,
}

impl Change for Issue {
    type Output = Issued;
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Issued, Aborted<Infallible>> {
        let (token, id) = generate(&self.world);
        let row = Token {
            id: id.clone(),
            project_id: self.project.id.clone(),
            hash: hash(&token).to_vec(),
            read_only: self.read_only,
            description: self.description.clone(),
            created_at: self.world.now(),
            expires_at: self.expires_at,
            revoked_at: None,
        };
        storage::token::insert(tx, &row).await?;
        insert(tx, &entry(&row.project_id, "token_issue", &id), &self.world).await?;
        Ok(Issued { token, id })
    }
}

/// The change that revokes a token. Its output is whether a token with this id existed and was not
/// revoked before.
#[derive(Debug)]
pub struct Revoke {
    /// The id of the token.
    pub id: String,
    /// The source of time.
    pub world: World,
}

impl Change for Revoke {
    type Output = bool;
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<bool, Aborted<Infallible>> {
        let now = self.world.now();
        let Some(project) = storage::token::revoke(tx, &self.id, now).await? else {
            return Ok(false);
        };
        insert(tx, &entry(&project, "token_revoke", &self.id), &self.world).await?;
        Ok(true)
    }
}

/// Returns the entry of the audit trail about a token.
fn entry(project: &ProjectId, operation: &str, token: &str) -> NewEntry {
    NewEntry {
        project_id: project.clone(),
        principal: OPERATOR.to_owned(),
        operation: operation.to_owned(),
        resource: token.to_owned(),
        request_id: None,
    }
}

/// Returns the tokens of a project, oldest first.
///
/// # Errors
///
/// If the database fails.
pub async fn tokens(store: &Store, project: &Project) -> Result<Vec<Token>, StorageError> {
    let mut reader = store.reader().await?;
    storage::token::of_project(&mut reader.connection(), &project.id).await
}

/// Returns the project whose id or name is `reference`. A reference with the pattern of an id is
/// never a name.
///
/// # Errors
///
/// If there is no such project. The error lists the names of all projects.
pub async fn find_project(store: &Store, reference: &str) -> Result<Project> {
    let mut reader = store.reader().await?;
    let projects = storage::project::all(&mut reader.connection())
        .await
        .context("failed to read the projects")?;
    let is_id = id::Kind::Project.is_id(reference);
    let is_meant = |project: &&Project| {
        let known_by = if is_id {
            project.id.as_str()
        } else {
            project.name.as_str()
        };
        known_by == reference
    };
    if let Some(project) = projects.iter().find(is_meant) {
        return Ok(project.clone());
    }
    if projects.is_empty() {
        bail!("there is no project {reference}, nor any other: create one with `stratusd apply`");
    }
    let names: Vec<&str> = projects
        .iter()
        .map(|project| project.name.as_str())
        .collect();
    bail!(
        "there is no project {reference}; there are {}",
        enumerate(&names)
    )
}
