//! Values of generated types for tests: any valid ones, which shrink, and one example of each.
//!
//! Start at [`values`] and [`example`], which the derives call for every type. Both read the schema
//! that the type describes itself by, so there is no code for a particular type: `Plan` says what
//! values are made of, `Drawn` draws one, and a value is only returned if the type decodes it.

mod automaton;
mod draw;
mod formats;
mod numbers;
mod plan;
mod source;
mod texts;
mod tree;

use std::fmt::Debug;
use std::rc::Rc;

use proptest::strategy::{BoxedStrategy, Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::Value;

use crate::{Described, Schemas, Wire, strict};
use draw::{Drawn, Taste};
use plan::Plan;
use source::Source;

/// The number of values that are made before a type is said to have no example.
const ATTEMPTS: usize = 1000;

/// The rules of a [`Text`](crate::Text) of a contract, whose schemas say what its values are.
pub trait OfContract {
    /// Returns the schemas of the contract.
    fn schemas() -> &'static Schemas;
}

/// Returns a strategy for every value of a type that `schemas` accepts, in which optional parts
/// become rarer with depth.
pub fn values<T: Described + Wire + Debug + 'static>(
    schemas: &'static Schemas,
) -> BoxedStrategy<T> {
    drawn::<T>(schemas, Taste::Any)
        .prop_filter_map("the type accepts it", decoded)
        .boxed()
}

/// Returns an example of a type: that of its schema, or else one that is made of the examples of
/// its parts.
///
/// # Panics
///
/// If no value is found, as of a schema that accepts none, or too few.
#[must_use]
pub fn example<T: Described + Wire + Debug + 'static>(schemas: &'static Schemas) -> T {
    let schema = T::schema();
    let own = schema["examples"].as_array().into_iter().flatten();
    if let Some(example) = own.cloned().find_map(decoded) {
        return example;
    }
    // The same one each time.
    let mut runner = TestRunner::deterministic();
    let mut find = |taste: Taste, attempts: usize| {
        let drawn = drawn::<T>(schemas, taste);
        let mut values = (0..attempts).map(|_| drawn.new_tree(&mut runner));
        values.find_map(|value| decoded(value.ok()?.current()))
    };
    // Examples of parts need not fit together.
    find(Taste::Example, 1)
        .or_else(|| find(Taste::Any, ATTEMPTS))
        .unwrap_or_else(|| {
            let name = T::NAME.unwrap_or("the type");
            panic!("no value of `{name}` was found: give its schema an example")
        })
}

fn drawn<T: Described>(schemas: &'static Schemas, taste: Taste) -> Drawn {
    let source = Source::of::<T>(schemas.document());
    Drawn {
        plan: Rc::new(Plan::of(&source, &T::reference())),
        taste,
    }
}

fn decoded<T: Wire>(value: Value) -> Option<T> {
    strict(|| T::decode(value)).ok()
}

/// What a type has for tests, as JSON: a strategy for its values, and its example.
pub struct Fake {
    /// The values.
    pub values: fn(&'static Schemas) -> BoxedStrategy<Value>,
    /// The example.
    pub example: fn(&'static Schemas) -> Value,
}

/// Returns the [`Fake`] of a type.
#[must_use]
pub const fn fake<T: Described + Wire + Debug + 'static>() -> Fake {
    Fake {
        values: |schemas| {
            values::<T>(schemas)
                .prop_map(|value| encoded(&value))
                .boxed()
        },
        example: |schemas| encoded(&example::<T>(schemas)),
    }
}

fn encoded<T: Wire>(value: &T) -> Value {
    serde_json::to_value(crate::wire::Encoded(value)).unwrap_or_default()
}
