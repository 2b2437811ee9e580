//! The forms of schemas: single values, alternatives, objects and arrays.

use proptest::char;
use proptest::collection::vec;
use proptest::strategy::{BoxedStrategy, Just, Strategy as _};
use serde_json::{Map, Value, json};

use super::types::{anything, types};
use super::{Id, NONE, Plan, Reader};
use crate::fake::{numbers, texts};

/// What the values of a schema are made of.
#[derive(Debug)]
pub(in crate::fake) enum Form {
    /// There are no values.
    Nothing,
    /// One of these values.
    Values(Vec<Value>),
    /// A number or a string.
    Scalar(BoxedStrategy<Value>),
    /// A value of one of these alternatives, null first.
    Choice(Vec<Branch>),
    Object(Object),
    Array(Array),
    /// A string that holds the JSON of a value.
    JsonText(Id),
}

/// An alternative.
#[derive(Debug)]
pub(in crate::fake) struct Branch {
    pub(in crate::fake) id: Id,
    pub(in crate::fake) is_null: bool,
    /// The property by which a discriminator selects the alternative, with its values.
    pub(in crate::fake) tag: Option<(String, Vec<Value>)>,
}

/// The properties of an object.
#[derive(Debug)]
pub(in crate::fake) struct Object {
    pub(in crate::fake) required: Vec<(String, Id)>,
    pub(in crate::fake) optional: Vec<(String, Id)>,
    /// The properties that the schema does not name.
    pub(in crate::fake) others: Option<Others>,
    pub(in crate::fake) least: usize,
    pub(in crate::fake) most: usize,
    /// The properties that some properties need.
    pub(in crate::fake) dependent: Vec<(String, Vec<String>)>,
}

/// Properties that a schema does not name.
#[derive(Debug)]
pub(in crate::fake) struct Others {
    pub(in crate::fake) name: BoxedStrategy<String>,
    pub(in crate::fake) id: Id,
    /// Whether the schema says what they are. Types drop others, so there are only as many of these
    /// as the schema demands.
    pub(in crate::fake) is_declared: bool,
}

/// The items of an array.
#[derive(Debug)]
pub(in crate::fake) struct Array {
    /// The items at the start.
    pub(in crate::fake) first: Vec<Id>,
    pub(in crate::fake) items: Id,
    pub(in crate::fake) least: usize,
    pub(in crate::fake) most: usize,
    pub(in crate::fake) is_unique: bool,
}

impl Form {
    /// Returns the least number of parts of a value, as the other numbers of the plan are so far.
    pub(super) fn least(&self, plan: &Plan) -> usize {
        let sum = |ids: &mut dyn Iterator<Item = Id>| {
            ids.fold(1_usize, |sum, id| sum.saturating_add(plan.least(id)))
        };
        match self {
            Self::Nothing => NONE,
            Self::Values(values) if values.is_empty() => NONE,
            Self::Values(_) | Self::Scalar(_) => 1,
            Self::Choice(branches) => {
                let all = branches.iter().map(|branch| plan.least(branch.id));
                all.min().map_or(NONE, |least| least.saturating_add(1))
            }
            Self::Object(object) if object.required.len() > object.most => NONE,
            Self::Object(object) => {
                let required = sum(&mut object.required.iter().map(|(_, id)| *id));
                let mut optional: Vec<usize> = object.all_optional(plan).collect();
                optional.sort_unstable();
                let missing = object.least.saturating_sub(object.required.len());
                let named = optional.iter().take(missing);
                let named = named.fold(0_usize, |sum, least| sum.saturating_add(*least));
                let other = object.others.as_ref().map_or(NONE, |it| plan.least(it.id));
                let others = missing.saturating_sub(optional.len()).saturating_mul(other);
                required.saturating_add(named).saturating_add(others)
            }
            Self::Array(array) => {
                let first = sum(&mut array.first.iter().copied());
                let rest = array.least.saturating_sub(array.first.len());
                first.saturating_add(rest.saturating_mul(plan.least(array.items)))
            }
            Self::JsonText(content) => plan.least(*content).saturating_add(1),
        }
    }
}

impl Object {
    /// Returns the least numbers of parts of the optional properties that have values.
    fn all_optional(&self, plan: &Plan) -> impl Iterator<Item = usize> {
        let all = self.optional.iter().map(|(_, id)| plan.least(*id));
        all.filter(|least| *least != NONE)
    }
}

impl Reader<'_> {
    pub(super) fn form(&mut self, mut keywords: Map<String, Value>) -> Form {
        if let Some(constant) = keywords.remove("const") {
            return Form::Values(vec![constant]);
        }
        if let Some(Value::Array(values)) = keywords.remove("enum") {
            return Form::Values(values);
        }
        for alternatives in ["oneOf", "anyOf"] {
            if let Some(Value::Array(branches)) = keywords.remove(alternatives) {
                return self.choice(&branches, keywords);
            }
        }
        // Types and bundles have this keyword where the text is decoded, and nowhere else.
        if let Some(content) = keywords.get("contentSchema") {
            return Form::JsonText(self.id(content));
        }
        match types(&keywords)[..] {
            ["object"] => self.object(&keywords),
            ["array"] => self.array(&keywords),
            ["string"] => Form::Scalar(texts::text(&keywords).prop_map(Value::String).boxed()),
            ["integer"] => Form::Scalar(numbers::integer(&keywords)),
            ["number"] => Form::Scalar(numbers::number(&keywords)),
            ["boolean"] => Form::Values(vec![json!(false), json!(true)]),
            [_] => Form::Values(vec![Value::Null]),
            [] => Form::Values(anything()),
            _ => {
                let types = keywords.remove("type").unwrap_or_default();
                let types = types.as_array().into_iter().flatten();
                let branches: Vec<Value> = types.map(|ty| json!({"type": ty})).collect();
                self.choice(&branches, keywords)
            }
        }
    }

    /// Returns the form of alternatives, each together with the keywords beside them.
    fn choice(&mut self, branches: &[Value], mut beside: Map<String, Value>) -> Form {
        let discriminator = beside.remove("discriminator").unwrap_or_default();
        // An example of the whole is none of each alternative.
        beside.remove("examples");
        let branches = branches.iter().filter_map(|branch| {
            let schema = json!({"allOf": [branch, Value::Object(beside.clone())]});
            let keywords = self.source.keywords(&schema)?;
            Some(Branch {
                id: self.id(&schema),
                is_null: types(&keywords)[..] == ["null"],
                tag: tag(&discriminator, branch),
            })
        });
        let mut branches: Vec<Branch> = branches.collect();
        // Null first, since a value shrinks to the first alternative.
        branches.sort_by_key(|branch| !branch.is_null);
        Form::Choice(branches)
    }

    fn object(&mut self, keywords: &Map<String, Value>) -> Form {
        let empty = Map::new();
        let properties = keywords.get("properties").and_then(Value::as_object);
        let properties = properties.unwrap_or(&empty);
        let names = names(keywords.get("required"));
        let anything = keywords.get("additionalProperties").cloned();
        let anything = anything.unwrap_or(Value::Bool(true));
        let (mut required, mut optional) = (Vec::new(), Vec::new());
        for (name, schema) in properties {
            let part = (name.clone(), self.id(schema));
            if names.contains(name) {
                required.push(part);
            } else {
                optional.push(part);
            }
        }
        let undeclared = names.iter().filter(|name| !properties.contains_key(*name));
        required.extend(undeclared.map(|name| (name.clone(), self.id(&anything))));
        let dependent = keywords.get("dependentRequired").and_then(Value::as_object);
        let dependent = dependent.into_iter().flatten();
        Form::Object(Object {
            required,
            optional,
            others: self.others(keywords),
            least: count(keywords, "minProperties").unwrap_or(0),
            most: count(keywords, "maxProperties").unwrap_or(usize::MAX),
            dependent: dependent
                .map(|(name, needed)| (name.clone(), self::names(Some(needed))))
                .collect(),
        })
    }

    /// Returns the properties that a schema does not name, or `None` if it has none.
    fn others(&mut self, keywords: &Map<String, Value>) -> Option<Others> {
        let patterns = keywords.get("patternProperties").and_then(Value::as_object);
        // Names of one pattern are enough, since no property of a pattern is required.
        let pattern = patterns.and_then(|patterns| patterns.iter().next());
        let declared = match pattern {
            Some((_, schema)) => Some(schema),
            None => keywords.get("additionalProperties"),
        };
        let name = match (keywords.get("propertyNames"), pattern) {
            (Some(names), _) => {
                let names = json!({"allOf": [names, {"type": "string"}]});
                self.names(&names)?
            }
            (None, Some((pattern, _))) => texts::of_pattern(pattern, 0).unwrap_or_else(word),
            (None, None) => word(),
        };
        Some(Others {
            name,
            id: self.id(declared.unwrap_or(&Value::Bool(true))),
            is_declared: declared.is_some(),
        })
    }

    /// Returns a strategy for the names of properties.
    fn names(&self, schema: &Value) -> Option<BoxedStrategy<String>> {
        let keywords = self.source.keywords(schema)?;
        let listed = names(keywords.get("enum"));
        Some(match keywords.get("const").and_then(Value::as_str) {
            Some(name) => Just(name.to_owned()).boxed(),
            None if listed.is_empty() => texts::text(&keywords),
            None => proptest::sample::select(listed).boxed(),
        })
    }

    fn array(&mut self, keywords: &Map<String, Value>) -> Form {
        let most = count(keywords, "maxItems").unwrap_or(usize::MAX);
        let items = keywords.get("items").cloned().unwrap_or(Value::Bool(true));
        let mut first: Vec<Id> = Vec::new();
        if let Some(contained) = keywords.get("contains") {
            let needed = count(keywords, "minContains").unwrap_or(1).min(most);
            let id = self.id(&json!({"allOf": [contained, items]}));
            first = vec![id; needed];
        }
        if let Some(Value::Array(prefix)) = keywords.get("prefixItems") {
            first = prefix.iter().map(|schema| self.id(schema)).collect();
        }
        first.truncate(most);
        Form::Array(Array {
            first,
            items: self.id(&items),
            least: count(keywords, "minItems").unwrap_or(0),
            most,
            is_unique: keywords.get("uniqueItems") == Some(&Value::Bool(true)),
        })
    }
}

/// Returns the property by which a discriminator selects an alternative, with its values.
fn tag(discriminator: &Value, branch: &Value) -> Option<(String, Vec<Value>)> {
    let property = discriminator["propertyName"].as_str()?.to_owned();
    let mapping = discriminator["mapping"].as_object()?.iter();
    let own = mapping.filter(|(_, target)| **target == branch["$ref"]);
    Some((
        property,
        own.map(|(tag, _)| Value::String(tag.clone())).collect(),
    ))
}

fn word() -> BoxedStrategy<String> {
    let letters = vec(char::range('a', 'z'), 1..=8);
    letters.prop_map(String::from_iter).boxed()
}

fn count(keywords: &Map<String, Value>, name: &str) -> Option<usize> {
    usize::try_from(keywords.get(name)?.as_u64()?).ok()
}

fn names(list: Option<&Value>) -> Vec<String> {
    let names = list.and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}
