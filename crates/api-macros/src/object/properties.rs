//! The properties of an object, as the fields of a struct and their attributes declare them.

use syn::{Data, DeriveInput, Fields, Ident, LitInt, LitStr, Result, Token, Type, parse_quote};

use crate::schema::{self, Annotations, unraw};
use crate::shape::{self, wrong_shape};

/// The arguments of `#[object(…)]`. `fields` is the name for the struct of the required fields,
/// `check` the pointer of a compiled schema that objects are checked against too.
#[derive(Default)]
pub(super) struct Rules {
    pub(super) closed: bool,
    pub(super) min: Option<LitInt>,
    pub(super) max: Option<LitInt>,
    pub(super) dependent: Option<String>,
    pub(super) fields: Option<Ident>,
    pub(super) check: Option<LitStr>,
}

/// A property and its field, with the arguments of `#[field(…)]`.
///
/// An absent property and null are different: an `optional` field is an `Option`, a `nullable` one
/// too, and a field that is both is an `Option<Option<T>>`.
pub(super) struct Property {
    pub(super) ident: Ident,
    pub(super) ty: Type,
    pub(super) wire: String,
    pub(super) optional: bool,
    pub(super) nullable: bool,
    pub(super) default: Option<String>,
    /// Set if the property is a string that holds the JSON of the type.
    pub(super) json_text: Option<JsonText>,
    pub(super) annotations: Annotations,
    pub(super) attributes: Vec<syn::Attribute>,
}

/// A string that holds JSON, with its `contentMediaType` if the schema has it.
pub(super) struct JsonText {
    pub(super) media_type: Option<LitStr>,
}

impl Property {
    /// Returns whether the property must be in the object: it is not optional and has no default.
    pub(super) fn is_required(&self) -> bool {
        !self.optional && self.default.is_none()
    }

    /// Returns the `contentMediaType` of a string that holds JSON, if the schema has it.
    pub(super) fn media_type(&self) -> Option<&LitStr> {
        self.json_text.as_ref()?.media_type.as_ref()
    }

    /// Returns the type of the property's value: for an optional field the type inside the outer
    /// `Option`, and for a text of JSON that text.
    pub(super) fn wire_type(&self) -> Type {
        let ty = if self.optional {
            shape::argument(&self.ty, 0).unwrap_or(&self.ty)
        } else {
            &self.ty
        };
        match self.json_text {
            Some(_) => parse_quote!(::api_runtime::__private::JsonText<#ty>),
            None => ty.clone(),
        }
    }
}

/// A struct with its properties, and the field for additional properties if there is one.
pub(super) struct Object<'i> {
    pub(super) input: &'i DeriveInput,
    pub(super) rules: Rules,
    pub(super) properties: Vec<Property>,
    pub(super) additional: Option<(Ident, Type)>,
}

/// Reads the fields of a struct and their `#[field(…)]`. Any input but a struct with named fields
/// is an error.
pub(super) fn read(input: &DeriveInput) -> Result<Object<'_>> {
    let fields = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => &fields.named,
            _ => {
                return Err(wrong_shape(
                    input,
                    "Object is for a struct with named fields",
                ));
            }
        },
        _ => {
            return Err(wrong_shape(
                input,
                "Object is for a struct with named fields",
            ));
        }
    };
    let mut properties = Vec::new();
    let mut additional = None;
    for field in fields {
        let Some(ident) = field.ident.clone() else {
            continue;
        };
        let mut property = Property {
            wire: unraw(&ident.to_string()),
            ident,
            ty: field.ty.clone(),
            optional: false,
            nullable: false,
            default: None,
            json_text: None,
            annotations: Annotations::read_to_describe(&field.attrs)?,
            // The docs alone: they are repeated on the struct of the required fields.
            attributes: field
                .attrs
                .iter()
                .filter(|attribute| attribute.path().is_ident("doc"))
                .cloned()
                .collect(),
        };
        let mut keeps = false;
        for attribute in field
            .attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("field"))
        {
            attribute.parse_nested_meta(|meta| {
                match meta
                    .path
                    .get_ident()
                    .map(ToString::to_string)
                    .unwrap_or_default()
                    .as_str()
                {
                    "name" => property.wire = meta.value()?.parse::<LitStr>()?.value(),
                    "optional" => property.optional = true,
                    "nullable" => property.nullable = true,
                    "additional" => keeps = true,
                    "default" => schema::json(&meta.value()?.parse()?, &mut property.default)?,
                    "json_text" => {
                        let has_value = meta.input.peek(Token![=]);
                        let media_type = has_value.then(|| meta.value()?.parse::<LitStr>());
                        let media_type = media_type.transpose()?;
                        property.json_text = Some(JsonText { media_type });
                    }
                    _ => {
                        return Err(meta.error(
                            "field takes name, optional, nullable, default, json_text and additional",
                        ));
                    }
                }
                Ok(())
            })?;
        }
        if keeps {
            let Some(values) = shape::argument(&property.ty, 1) else {
                return Err(syn::Error::new_spanned(
                    &property.ty,
                    "additional properties are a BTreeMap<String, T>",
                ));
            };
            additional = Some((property.ident, values.clone()));
        } else {
            properties.push(property);
        }
    }
    Ok(Object {
        input,
        rules: rules(input)?,
        properties,
        additional,
    })
}

/// Parses the arguments of `#[object(…)]`. An unknown argument is an error.
fn rules(input: &DeriveInput) -> Result<Rules> {
    let mut rules = Rules::default();
    for attribute in input
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("object"))
    {
        attribute.parse_nested_meta(|meta| {
            match meta.path.get_ident().map(ToString::to_string).unwrap_or_default().as_str() {
                "closed" => rules.closed = true,
                "min_properties" => rules.min = Some(meta.value()?.parse()?),
                "max_properties" => rules.max = Some(meta.value()?.parse()?),
                "dependent_required" => schema::json(&meta.value()?.parse()?, &mut rules.dependent)?,
                "check" => rules.check = Some(meta.value()?.parse()?),
                "fields" => rules.fields = Some(meta.value()?.parse()?),
                _ => {
                    return Err(meta.error(
                        "object takes closed, min_properties, max_properties, dependent_required, check and fields",
                    ));
                }
            }
            Ok(())
        })?;
    }
    Ok(rules)
}
