//! The types of schemas, which may say none.

use serde_json::{Map, Value, json};

/// Returns the types of a schema, which other keywords imply if it does not say.
pub(super) fn types(keywords: &Map<String, Value>) -> Vec<&str> {
    match keywords.get("type") {
        Some(Value::String(ty)) => vec![ty],
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
        _ => {
            let implied = IMPLIED.iter().find(|(_, names)| {
                let mut names = names.iter();
                names.any(|name| keywords.contains_key(*name))
            });
            implied.map(|(ty, _)| *ty).into_iter().collect()
        }
    }
}

/// The keywords that imply a type.
const IMPLIED: [(&str, &[&str]); 4] = [
    (
        "object",
        &[
            "properties",
            "required",
            "additionalProperties",
            "minProperties",
            "maxProperties",
            "patternProperties",
        ],
    ),
    ("array", &["items", "prefixItems", "contains", "minItems"]),
    ("string", &["pattern", "minLength", "maxLength"]),
    (
        "number",
        &[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ],
    ),
];

/// Returns small values of any type.
pub(super) fn anything() -> Vec<Value> {
    let values = [
        json!(null),
        json!(false),
        json!(0),
        json!(-1.5),
        json!("any"),
        json!([]),
        json!({}),
        json!([null, true]),
        json!({"any": 1}),
    ];
    Vec::from(values)
}
