//! What a caller gives: parameters, and the properties of bodies.

use contract::model::{Keywords, Location, ParameterEncoding, SchemaId, SchemaKind, Style};
use serde_json::{Number, Value, json};

use super::names::{self, Names};
use super::{object, text};
use crate::ir::{
    Api, Array, Enumeration, Field, Media, MediaKind, Operation, Parameter, Primitive, Scalar,
    TypeKind, TypeRef,
};

/// How many types deep a union is searched for texts and numbers.
const DEPTH: usize = 4;

/// Returns a parameter.
pub(super) fn parameter(
    api: &Api<'_>,
    names: &Names,
    operation: &Operation,
    parameter: &Parameter,
) -> Value {
    let place = match parameter.location {
        Location::Path => "path",
        Location::Query => "query",
        Location::Header => "header",
        Location::Cookie => "cookie",
    };
    let about = parameter.description.clone();
    let about = about.or_else(|| described(api, parameter.schema));
    let form = Form::of(api, &parameter.ty, DEPTH);
    let mut made = vec![
        ("name", json!(parameter.wire)),
        ("flag", json!(names::flag(&parameter.name))),
        ("in", json!(place)),
        ("about", json!(text(&about.unwrap_or_default()))),
        ("required", json!(parameter.required)),
        ("deprecated", json!(parameter.deprecated)),
        ("context", json!(names.is_context(operation, parameter))),
        ("default", json!(parameter.default)),
        ("schema", json!(pointer(api, Some(parameter.schema)))),
    ];
    made.extend(encoding(parameter));
    if parameter.is_whole_query {
        made.push(("whole", json!(true)));
    }
    made.extend(form.entries());
    object(made)
}

/// Returns the properties of a body that is an object of JSON, a form or multipart.
pub(super) fn fields(api: &Api<'_>, media: &Media) -> Value {
    let has_fields = matches!(
        media.kind,
        MediaKind::Json | MediaKind::Form | MediaKind::Multipart
    );
    let ty = media.ty.as_ref().filter(|_| has_fields);
    let Some(TypeKind::Object(body)) = ty.and_then(|ty| kind(api, ty)) else {
        return Value::Null;
    };
    let is_written = |field: &&Field| !keywords(api, field.schema).is_some_and(|it| it.read_only);
    let fields = body.fields.iter().filter(is_written);
    fields.map(|field| self::field(api, field)).collect()
}

fn field(api: &Api<'_>, field: &Field) -> Value {
    let own = keywords(api, field.schema);
    let form = Form::of_field(api, field, DEPTH);
    let secret = form.secret || own.is_some_and(|own| own.secret);
    let mut made = vec![
        ("name", json!(field.wire)),
        ("flag", json!(names::flag(&field.name))),
        (
            "about",
            json!(text(&described(api, field.schema).unwrap_or_default())),
        ),
        ("required", json!(field.required)),
        ("deprecated", json!(own.is_some_and(|own| own.deprecated))),
        ("nullable", json!(field.nullable)),
        ("default", json!(field.default)),
    ];
    made.extend(Form { secret, ..form }.entries());
    object(made)
}

/// Returns the pointer of a schema in the bundle of schemas.
pub(super) fn pointer(api: &Api<'_>, schema: Option<SchemaId>) -> Option<String> {
    let id = api.contract.resolve(schema?);
    Some(api.contract.schema(id).pointer.clone())
}

/// Returns the description of a schema, or else of the one that it refers to.
fn described(api: &Api<'_>, schema: SchemaId) -> Option<String> {
    let own = keywords(api, schema).and_then(|own| own.description.clone());
    own.or_else(|| {
        let target = api.contract.resolve(schema);
        keywords(api, target)?.description.clone()
    })
}

/// Returns the keywords of a schema.
pub(super) fn keywords<'a>(api: &'a Api<'_>, schema: SchemaId) -> Option<&'a Keywords> {
    match &api.contract.schema(schema).kind {
        SchemaKind::Object(keywords) => Some(keywords),
        SchemaKind::Bool(_) => None,
    }
}

/// Returns the form of the item that a type stands for, if it is one.
pub(super) fn kind<'a>(api: &'a Api<'_>, ty: &TypeRef) -> Option<&'a TypeKind> {
    match ty {
        TypeRef::Named(id) => match &api.type_def(*id).kind {
            TypeKind::Alias(target) => kind(api, target),
            kind => Some(kind),
        },
        TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => kind(api, inner),
        TypeRef::Primitive(_) | TypeRef::Vec(_) | TypeRef::Map(_) | TypeRef::Any => None,
    }
}

/// Returns how a parameter is written, unless it is written as OpenAPI's default is.
fn encoding(parameter: &Parameter) -> Vec<(&'static str, Value)> {
    let usual = match parameter.location {
        Location::Path | Location::Header => (Style::Simple, false),
        Location::Query | Location::Cookie => (Style::Form, true),
    };
    match &parameter.encoding {
        ParameterEncoding::Content(_) => vec![("json", json!(true))],
        ParameterEncoding::Style {
            style,
            explode,
            allow_reserved,
            // Only what differs from the defaults, so that most parameters say nothing.
        } if (*style, *explode) != usual || *allow_reserved => vec![
            ("style", json!(self::style(*style))),
            ("explode", json!(explode)),
            ("reserved", json!(allow_reserved)),
        ],
        ParameterEncoding::Style { .. } => Vec::new(),
    }
}

/// Returns the specification's word for a style.
pub(super) fn style(style: Style) -> &'static str {
    match style {
        Style::Matrix => "matrix",
        Style::Label => "label",
        Style::Simple => "simple",
        Style::Form => "form",
        Style::SpaceDelimited => "spaceDelimited",
        Style::PipeDelimited => "pipeDelimited",
        Style::DeepObject => "deepObject",
        Style::Cookie => "cookie",
    }
}

/// How a value is typed on a command line.
#[derive(Default)]
pub(super) struct Form {
    /// `text` (by default), `integer`, `number`, `boolean`, `any` for a text or JSON, or `json`.
    kind: &'static str,
    /// Whether the flag is repeated for each item of a list.
    list: bool,
    /// The values of an enumeration.
    values: Vec<String>,
    /// The rules that a value keeps, in words.
    rule: String,
    /// Whether the value is never shown, nor given as an argument.
    pub(super) secret: bool,
}

impl Form {
    /// Returns the form of a type.
    pub(super) fn of(api: &Api<'_>, ty: &TypeRef, depth: usize) -> Self {
        match ty {
            TypeRef::Primitive(primitive) => Self::plain(primitive_kind(*primitive)),
            TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => Self::of(api, inner, depth),
            TypeRef::Vec(items) => Self::list(api, items, String::new(), depth),
            TypeRef::Map(_) => Self::plain("json"),
            TypeRef::Any => Self::plain("any"),
            TypeRef::Named(id) => Self::of_item(api, &api.type_def(*id).kind, depth),
        }
    }

    /// Returns the form of a property. A text that holds JSON is given and shown as it is.
    pub(super) fn of_field(api: &Api<'_>, field: &Field, depth: usize) -> Self {
        let form = Self::of(api, &field.ty, depth);
        match &field.json_text {
            Some(_) => Self {
                secret: form.secret,
                ..Self::plain("text")
            },
            None => form,
        }
    }

    fn of_item(api: &Api<'_>, kind: &TypeKind, depth: usize) -> Self {
        match kind {
            TypeKind::Alias(target) => Self::of(api, target, depth),
            TypeKind::Scalar(scalar) => Self {
                rule: rule(scalar),
                secret: scalar.secret,
                ..Self::plain(primitive_kind(scalar.inner))
            },
            TypeKind::Enumeration(values) => Self::enumeration(values),
            TypeKind::Array(array) => Self::list(api, &array.items, items_rule(array), depth),
            TypeKind::Object(_) | TypeKind::Map(_) => Self::plain("json"),
            TypeKind::Json { .. } => Self::plain("any"),
            TypeKind::Union(union) => {
                // A union may be one of its own variants.
                let Some(depth) = depth.checked_sub(1) else {
                    return Self::plain("any");
                };
                let variants = union.variants.iter();
                let mut forms = variants.map(|variant| Self::of(api, &variant.ty, depth));
                if forms.all(|form| form.kind == "text" && !form.list) {
                    Self::plain("text")
                } else {
                    Self::plain("any")
                }
            }
        }
    }

    fn plain(kind: &'static str) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    fn enumeration(enumeration: &Enumeration) -> Self {
        if !enumeration.strings {
            return Self::plain("any");
        }
        let values = enumeration.variants.iter();
        Self {
            values: values
                .filter_map(|(_, value)| value.as_str().map(str::to_owned))
                .collect(),
            ..Self::plain("text")
        }
    }

    /// Returns the form of a list, whose items have a flag each unless they are lists themselves.
    fn list(api: &Api<'_>, items: &TypeRef, rule: String, depth: usize) -> Self {
        let Some(depth) = depth.checked_sub(1) else {
            return Self::plain("json");
        };
        let item = Self::of(api, items, depth);
        if item.list || item.secret {
            return Self {
                secret: item.secret,
                ..Self::plain("json")
            };
        }
        let rules = [rule, item.rule];
        let rules: Vec<String> = rules.into_iter().filter(|rule| !rule.is_empty()).collect();
        Self {
            list: true,
            rule: rules.join("; each "),
            ..item
        }
    }

    /// Returns whether the value is one that a cell of a table can show.
    pub(super) fn is_single(&self) -> bool {
        !self.list && !self.secret && self.kind != "json"
    }

    /// Returns the entries of a description.
    fn entries(self) -> [(&'static str, Value); 5] {
        let kind = Some(self.kind).filter(|kind| *kind != "text");
        [
            ("kind", json!(kind)),
            ("list", json!(self.list)),
            ("values", json!(self.values)),
            ("rule", json!(self.rule)),
            ("secret", json!(self.secret)),
        ]
    }
}

fn primitive_kind(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Bool => "boolean",
        Primitive::I8
        | Primitive::I16
        | Primitive::I32
        | Primitive::I64
        | Primitive::U8
        | Primitive::U16
        | Primitive::U32
        | Primitive::U64 => "integer",
        Primitive::F32 | Primitive::F64 => "number",
        Primitive::String | Primitive::Ipv4Addr | Primitive::Ipv6Addr => "text",
    }
}

/// Returns the rules of a single value in words. A pattern is not among them, since people do not
/// read them; the check of the value says what it breaks.
fn rule(scalar: &Scalar) -> String {
    let mut rules = Vec::new();
    // Formats of numbers say how they are kept, and `password` how they are shown.
    let is_rule =
        |format: &&String| primitive_kind(scalar.inner) == "text" && *format != "password";
    rules.extend(scalar.format.as_ref().filter(is_rule).cloned());
    rules.extend(range(scalar.min_length, scalar.max_length, "character"));
    rules.extend(range(scalar.minimum.as_ref(), scalar.maximum.as_ref(), ""));
    let bound = |words: &str, number: &Option<Number>| {
        number.as_ref().map(|number| format!("{words} {number}"))
    };
    rules.extend(bound("more than", &scalar.exclusive_minimum));
    rules.extend(bound("less than", &scalar.exclusive_maximum));
    rules.extend(bound("a multiple of", &scalar.multiple_of));
    text(&rules.join(", "))
}

fn items_rule(array: &Array) -> String {
    let count = range(array.min_items, array.max_items, "item");
    let unique = array.unique_items.then(|| "no two alike".to_owned());
    let rules: Vec<String> = count.into_iter().chain(unique).collect();
    rules.join(", ")
}

/// Returns a range in words, such as `1 to 63 characters`. `of` is what is counted, in the singular,
/// or empty.
fn range<T: ToString>(least: Option<T>, most: Option<T>, of: &str) -> Option<String> {
    let text = |bound: Option<T>| bound.map(|bound| bound.to_string());
    let (least, most) = (text(least), text(most));
    let counted = match most.as_ref().or(least.as_ref()).map(String::as_str) {
        _ if of.is_empty() => String::new(),
        Some("1") => format!(" {of}"),
        _ => format!(" {of}s"),
    };
    Some(match (least, most) {
        (Some(least), Some(most)) if least == most => format!("{least}{counted}"),
        (Some(least), Some(most)) => format!("{least} to {most}{counted}"),
        (Some(least), None) => format!("at least {least}{counted}"),
        (None, Some(most)) => format!("at most {most}{counted}"),
        (None, None) => return None,
    })
}
