//! The part of a server's example that writes the contract's error for what the router rejects.

use std::collections::BTreeSet;

use serde_json::Number;

use crate::ir::{Additional, Api, Field, Object, Primitive, Scalar, TypeKind, TypeRef};
use crate::types::ARGUMENTS;

/// The indentation of the statements.
const INDENT: &str = "        ";
/// The lowest and the highest status of an error.
const STATUSES: (i64, i64) = (400, 599);

/// The statements that make an error, and the names that they bind.
struct Statements<'a> {
    api: &'a Api<'a>,
    /// The path of the module of the types.
    types: &'a str,
    names: BTreeSet<&'a str>,
    text: String,
}

/// Returns the body of a function that makes an error from a `rejection`, with the types of a module.
/// Returns `None` if a required part of the error can hold none of the status and the message, such as
/// a text with a pattern.
pub(crate) fn statements<'a>(api: &'a Api<'a>, types: &'a str, ty: &'a TypeRef) -> Option<String> {
    let mut statements = Statements {
        api,
        types,
        names: BTreeSet::from(["rejection"]),
        text: String::new(),
    };
    let error = statements.expression(ty)?;
    Some(format!("{}{INDENT}{error}\n", statements.text))
}

impl<'a> Statements<'a> {
    /// Returns the expression of a value. Statements that it needs come before it.
    fn expression(&mut self, ty: &'a TypeRef) -> Option<String> {
        match ty {
            TypeRef::Nullable(_) => Some("None".to_owned()),
            TypeRef::Vec(_) => Some("Vec::new()".to_owned()),
            TypeRef::Primitive(primitive) => of_primitive(*primitive).map(str::to_owned),
            TypeRef::Named(id) => {
                let def = self.api.type_def(*id);
                let name = format!("{}::{}", self.types, def.name);
                match &def.kind {
                    TypeKind::Alias(ty) => self.expression(ty),
                    TypeKind::Object(object) => self.object(&name, object),
                    TypeKind::Scalar(scalar) => of_scalar(&name, scalar),
                    TypeKind::Enumeration(values) => {
                        let (variant, _) = values.variants.first()?;
                        Some(format!("{name}::{variant}"))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn object(&mut self, name: &str, object: &'a Object) -> Option<String> {
        let is_plain = object.check.is_none()
            && object.min_properties.is_none()
            && object.dependent_required.is_none()
            && !matches!(object.additional, Additional::Kept { .. });
        let required: Vec<&Field> = object
            .fields
            .iter()
            .filter(|field| field.required)
            .collect();
        if !is_plain || required.len() > ARGUMENTS {
            return None;
        }
        let arguments = required
            .into_iter()
            .map(|field| self.argument(field))
            .collect::<Option<Vec<_>>>()?;
        Some(format!("{name}::new({})", arguments.join(", ")))
    }

    /// Returns the argument for a field: its value if that is short, otherwise the name that it is
    /// bound to.
    fn argument(&mut self, field: &'a Field) -> Option<String> {
        if field.nullable {
            return Some("None".to_owned());
        }
        let value = self.expression(&field.ty)?;
        if !value.ends_with(')') || matches!(field.ty, TypeRef::Primitive(_) | TypeRef::Vec(_)) {
            return Some(value);
        }
        // Of two fields with one name, the second binding would hide the first.
        if !self.names.insert(&field.name) {
            return None;
        }
        self.text
            .push_str(&format!("{INDENT}let {} = {value};\n", field.name));
        Some(field.name.clone())
    }
}

fn of_primitive(primitive: Primitive) -> Option<&'static str> {
    match primitive {
        Primitive::String => Some("rejection.message.to_string()"),
        Primitive::U16 => Some("rejection.status.as_u16()"),
        Primitive::I32
        | Primitive::I64
        | Primitive::U32
        | Primitive::U64
        | Primitive::F32
        | Primitive::F64 => Some("rejection.status.as_u16().into()"),
        Primitive::Bool => Some("false"),
        _ => None,
    }
}

/// Returns a status as the newtype of a number whose range includes all statuses of errors.
fn of_scalar(name: &str, scalar: &Scalar) -> Option<String> {
    let inner = match scalar.inner {
        Primitive::I32 => "i32",
        Primitive::I64 => "i64",
        _ => return None,
    };
    let (low, high) = STATUSES;
    let is_at_most = |bound: &Option<Number>, most: i64| {
        bound
            .as_ref()
            .is_none_or(|bound| bound.as_i64().is_some_and(|bound| bound <= most))
    };
    let is_at_least = |bound: &Option<Number>, least: i64| {
        bound
            .as_ref()
            .is_none_or(|bound| bound.as_i64().is_some_and(|bound| bound >= least))
    };
    let fits = is_at_most(&scalar.minimum, low)
        && is_at_most(&scalar.exclusive_minimum, low - 1)
        && is_at_least(&scalar.maximum, high)
        && is_at_least(&scalar.exclusive_maximum, high + 1)
        && scalar.multiple_of.is_none()
        && scalar.check.is_none();
    fits.then(|| {
        format!(
            "{name}::try_from({inner}::from(rejection.status.as_u16())).expect(\"a status of an error\")"
        )
    })
}
