//! Tokens from the operator's side: issued, listed, revoked.

use std::convert::Infallible;

use anyhow::{Context, Result, bail};

use crate::domain::id;
use crate::domain::refusal::enumerate;
use crate::domain::token::{generate, hash};
use crate::storage::project::Project;
use crate::storage::token::Token;
use crate::storage::{self, Aborted, Change, Connection, StorageError, Store};
use crate::world::World;

/// Issues a token.
#[derive(Debug)]
pub struct Issue {
    /// The project that it opens.
    pub project: Project,
    /// Whether it refuses changes.
    pub read_only: bool,
    /// When it stops, in milliseconds since 1970.
    pub expires_at: Option<i64>,
    /// What it is for.
    pub description: String,
    /// Time and randomness.
    pub world: World,
}

/// A token that was issued: a secret.
pub struct Issued {
    /// What callers send.
    pub token: String,
    /// Its id, which is no secret.
    pub id: String,
}

impl Change for Issue {
    type Output = Issued;
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Issued, Aborted<Infallible>> {
        let (token, id) = generate(&self.world);
        let kept = Token {
            id: id.clone(),
            project_id: self.project.id.clone(),
            hash: hash(&token).to_vec(),
            read_only: self.read_only,
            description: self.description.clone(),
            created_at: self.world.now(),
            expires_at: self.expires_at,
            revoked_at: None,
        };
        storage::token::insert(tx, &kept).await?;
        Ok(Issued { token, id })
    }
}

/// Stops a token; answers whether it was not stopped already.
#[derive(Debug)]
pub struct Revoke {
    /// The token's id.
    pub id: String,
    /// Time.
    pub world: World,
}

impl Change for Revoke {
    type Output = bool;
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<bool, Aborted<Infallible>> {
        Ok(storage::token::revoke(tx, &self.id, self.world.now()).await?)
    }
}

/// The tokens of a project, oldest first.
///
/// # Errors
///
/// If the store fails.
pub async fn tokens(store: &Store, project: &Project) -> Result<Vec<Token>, StorageError> {
    let mut reader = store.reader().await?;
    storage::token::of_project(&mut reader.connection(), &project.id).await
}

/// A project by its id or its name.
///
/// # Errors
///
/// If there is none, naming those that there are.
pub async fn find_project(store: &Store, reference: &str) -> Result<Project> {
    let mut reader = store.reader().await?;
    let all = storage::project::all(&mut reader.connection())
        .await
        .context("failed to read the projects")?;
    let is_id = id::Kind::Project.is_id(reference);
    if let Some(found) = all.iter().find(|it| {
        if is_id {
            it.id == *reference
        } else {
            it.name == *reference
        }
    }) {
        return Ok(found.clone());
    }
    let names: Vec<&str> = all.iter().map(|project| project.name.as_str()).collect();
    bail!(
        "there is no project {reference}; there are {}",
        enumerate(&names)
    )
}
