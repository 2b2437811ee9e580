//! The list of all schemas of a contract.

use std::ops::{Deref, DerefMut};
use std::slice::Iter;
use std::sync::Arc;

use super::schema::Schema;

/// Every schema of a contract, which contracts that are made of one another share.
#[derive(Debug, Clone)]
pub struct Schemas(Arc<Vec<Schema>>);

impl Schemas {
    pub(crate) fn new(schemas: Vec<Schema>) -> Self {
        Self(Arc::new(schemas))
    }
}

impl Deref for Schemas {
    type Target = [Schema];

    fn deref(&self) -> &[Schema] {
        &self.0
    }
}

impl DerefMut for Schemas {
    fn deref_mut(&mut self) -> &mut [Schema] {
        Arc::<Vec<Schema>>::make_mut(&mut self.0)
    }
}

impl<'s> IntoIterator for &'s Schemas {
    type Item = &'s Schema;
    type IntoIter = Iter<'s, Schema>;

    fn into_iter(self) -> Iter<'s, Schema> {
        self.0.iter()
    }
}
