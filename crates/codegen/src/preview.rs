//! The Rust of single items, for an editor that shows what a schema or an operation becomes.

use std::sync::Arc;
use std::sync::OnceLock;

use contract::Contract;
use contract::model::SchemaId;

use crate::ir::{
    Api, CrateNames, Operation, Parameter, SecurityScheme, Tag, TypeDef, TypeKind, TypeRef,
};
use crate::lower::lower;
use crate::{server, types};

/// A contract that is lowered once, of which single items are written.
#[derive(Debug)]
pub struct Preview {
    contract: Arc<Contract>,
    lowered: Option<Lowered>,
}

/// An [`Api`] without its contract, so that both can be kept together.
#[derive(Debug)]
struct Lowered {
    names: CrateNames,
    tags: Vec<Tag>,
    types: Vec<TypeDef>,
    operations: Vec<Operation>,
    security: Vec<SecurityScheme>,
    error: Option<TypeRef>,
    request_id: Option<Parameter>,
}

impl Preview {
    /// Lowers a contract.
    #[must_use]
    pub fn new(contract: Arc<Contract>) -> Self {
        let lowered = Lowered::of(lower(&contract, "api"));
        Self {
            contract,
            lowered: Some(lowered),
        }
    }

    /// Returns the item that a schema becomes, or that has a field of the schema's type, as the
    /// types crate has it. Returns `None` if the schema is part of no item.
    pub fn schema(&mut self, id: SchemaId) -> Option<String> {
        let id = self.contract.resolve(id);
        self.with(|api| {
            let own = api.types.iter().find(|def| def.schema == id);
            let has_field = |def: &&TypeDef| match &def.kind {
                TypeKind::Object(object) => object.fields.iter().any(|field| field.schema == id),
                _ => false,
            };
            let def = own.or_else(|| api.types.iter().find(has_field))?;
            Some(types::single(api, def))
        })?
    }

    /// Returns the method of the server's trait and the request that an operation becomes. `index`
    /// is that of the operation in the contract.
    pub fn operation(&mut self, index: usize) -> Option<String> {
        self.with(|api| {
            let operation = api.operations.iter().find(|it| it.index == index)?;
            Some(server::single(api, operation))
        })?
    }

    /// Calls a function with the API. Returns `None` if an earlier call has not come back.
    fn with<T>(&mut self, write: impl FnOnce(&Api<'_>) -> T) -> Option<T> {
        let api = self.lowered.take()?.api(&self.contract);
        let written = write(&api);
        self.lowered = Some(Lowered::of(api));
        Some(written)
    }
}

impl Lowered {
    fn of(api: Api<'_>) -> Self {
        let Api {
            contract: _,
            names,
            tags,
            types,
            operations,
            security,
            error,
            request_id,
            checks: _,
        } = api;
        Self {
            names,
            tags,
            types,
            operations,
            security,
            error,
            request_id,
        }
    }

    fn api(self, contract: &Contract) -> Api<'_> {
        let Self {
            names,
            tags,
            types,
            operations,
            security,
            error,
            request_id,
        } = self;
        Api {
            contract,
            names,
            tags,
            types,
            operations,
            security,
            error,
            request_id,
            checks: OnceLock::new(),
        }
    }
}
