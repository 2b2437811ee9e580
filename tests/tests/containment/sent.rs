//! What a sender sends by a schema, in the words of JSON Schema alone: a schema that accepts no property
//! that no part of the schema names, and none that is not sent in a direction.

use compatibility::Reading;
use jsonschema::Validator;
use serde_json::{Value, json};

/// Returns a validator that accepts what a sender sends by a schema.
pub(super) fn sent(schema: &Value, reading: Reading) -> Validator {
    let list = json!({
        "type": "object",
        "properties": { "next": { "$ref": "#/components/schemas/SentList" }, "value": { "type": "integer" } },
        "required": ["value"],
    });
    let mut open = list.clone();
    open["properties"]["next"]["$ref"] = "#/components/schemas/List".into();
    let shared = json!({ "type": "string", "maxLength": 3 });
    let schemas =
        json!({ "List": open, "OpenList": list, "SentList": closed(&list), "Shared": shared });
    let mut root = json!({ "components": { "schemas": schemas } });
    // With the schema as it is: of a `oneOf`, a branch that is not sent may hold too.
    root["allOf"] = json!([schema, place(schema, reading)]);
    jsonschema::draft202012::new(&root).expect("the schema compiles")
}

fn closed(schema: &Value) -> Value {
    json!({ "allOf": [schema], "unevaluatedProperties": false })
}

/// Returns the schema of what is sent at the place of a value.
fn place(schema: &Value, reading: Reading) -> Value {
    let parts = part(schema, reading);
    if reading != Reading::Exact && names_properties(schema) {
        closed(&parts)
    } else {
        parts
    }
}

fn names_properties(schema: &Value) -> bool {
    let has_own = schema["properties"]
        .as_object()
        .is_some_and(|named| !named.is_empty());
    let is_list = schema["$ref"] == "#/components/schemas/List";
    let has_part = |key: &str| {
        let parts = schema[key].as_array();
        parts.is_some_and(|parts| parts.iter().any(names_properties))
    };
    has_own || is_list || ["allOf", "anyOf", "oneOf"].into_iter().any(has_part)
}

/// Returns the schema of what is sent, without the end of the list of properties.
fn part(schema: &Value, reading: Reading) -> Value {
    let mut out = schema.clone();
    let Some(keywords) = out.as_object_mut() else {
        return out;
    };
    let required = keywords.get("required").cloned().unwrap_or_default();
    // What is required is sent, whether it is named or not.
    if reading != Reading::Exact {
        let undeclared = required.as_array().into_iter().flatten();
        for name in undeclared.filter_map(Value::as_str) {
            let properties = keywords.entry("properties").or_insert_with(|| json!({}));
            if let Some(properties) = properties.as_object_mut() {
                properties.entry(name).or_insert_with(|| json!(true));
            }
        }
    }
    for (key, keyword) in keywords.iter_mut() {
        match (key.as_str(), keyword) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    let mark = match reading {
                        Reading::Request => "readOnly",
                        Reading::Response => "writeOnly",
                        Reading::Exact => "",
                    };
                    let is_required = required
                        .as_array()
                        .is_some_and(|all| all.contains(&json!(name)));
                    *property = if property[mark] == true && !is_required {
                        json!(false)
                    } else {
                        place(property, reading)
                    };
                }
            }
            ("items" | "additionalProperties" | "unevaluatedProperties" | "contains", keyword) => {
                *keyword = place(keyword, reading);
            }
            ("patternProperties", Value::Object(patterns)) => {
                for property in patterns.values_mut() {
                    *property = place(property, reading);
                }
            }
            ("prefixItems", Value::Array(items)) => {
                for item in items {
                    *item = place(item, reading);
                }
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => {
                for one in parts {
                    // As it is too: what is required counts as named, so a branch that nothing fits,
                    // since it closes its properties without one that it requires, would hold here.
                    *one = json!({ "allOf": [one.clone(), part(one, reading)] });
                }
            }
            ("$ref", keyword)
                if reading != Reading::Exact && *keyword == "#/components/schemas/List" =>
            {
                *keyword = json!("#/components/schemas/OpenList");
            }
            _ => {}
        }
    }
    out
}
