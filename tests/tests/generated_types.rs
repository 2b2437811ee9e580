//! The Rust that each feature of the generator yields, beside the contract that asks for it.

use tests::small;

/// What a contract made for its types alone may be told.
const BESIDE_THE_POINT: [&str; 2] = ["unused-component", "component-name"];

/// The contract and the types that are written for it, as one text to read.
fn types(contract: &str) -> String {
    let loaded = contract::load_text("small.yaml", contract.as_bytes());
    let findings: Vec<_> =
        loaded.diagnostics.iter().filter(|finding| !BESIDE_THE_POINT.contains(&finding.code)).cloned().collect();
    assert!(findings.is_empty(), "{}", contract::diagnostic::render(&loaded.sources, &findings));
    let contract_model = loaded.contract.expect("a document without findings is a contract");
    let options = codegen::Options::new("small");
    let files = codegen::generate(&contract_model, &options).expect("a contract is generated");
    let mut text = contract.to_owned();
    for file in files {
        let name = file.path.strip_prefix("small-types/src/").unwrap_or_default();
        if name.ends_with(".rs") && name != "lib.rs" && name != "schemas.rs" {
            text.push_str(&format!("\n---- {name}\n{}", file.text));
        }
    }
    text
}

macro_rules! yields {
    ($($test:ident: $contract:expr;)*) => {
        $(
            #[test]
            fn $test() {
                insta::assert_snapshot!(stringify!($test), types(&$contract));
            }
        )*
    };
}

yields! {
    an_object_tells_absent_null_and_value_apart: small::schemas(r"
        Note:
          description: A note.
          type: object
          required: [id, parent]
          properties:
            id: {type: string, description: Never changes.}
            parent: {type: [string, 'null']}
            title: {type: string}
            archived_at: {type: [string, 'null']}
            connected-note-id: {type: string}
            type: {type: string}
    ");
    a_default_fills_in_an_absent_property: small::schemas(r"
        Page:
          type: object
          properties:
            size: {type: integer, format: int32, default: 10}
            order: {type: string, default: id}
    ");
    additional_properties_are_closed_open_or_kept: small::schemas(r"
        Closed: {type: object, additionalProperties: false, properties: {a: {type: string}}}
        Open: {type: object, properties: {a: {type: string}}}
        Kept: {type: object, additionalProperties: {type: integer, format: int64}, properties: {a: {type: string}}}
        Labels: {type: object, maxProperties: 3, additionalProperties: {type: string}}
        Nothing: {type: object, additionalProperties: false}
    ");
    constrained_strings_are_types: small::schemas(r"
        Name: {type: string, minLength: 1, maxLength: 63, pattern: '^[a-z]+$'}
        Quoted: {type: string, pattern: '^\x22[^\\]+$'}
        Moment: {type: string, format: date-time}
        Plain: {type: string}
    ");
    constrained_numbers_are_types: small::schemas(r"
        Port: {type: integer, format: int32, minimum: 1, maximum: 65535}
        Share: {type: number, exclusiveMinimum: 0, maximum: 1}
        Dozen: {type: integer, format: int64, multipleOf: 12}
        Below: {type: integer, format: int32, minimum: -5, maximum: -1}
    ");
    secrets_are_never_printed: small::schemas(r"
        Password: {type: string, minLength: 12, x-secret: true}
    ");
    arrays_with_bounds_are_types: small::schemas(r"
        Tags: {type: array, minItems: 1, maxItems: 5, uniqueItems: true, items: {type: string}}
        Names: {type: array, items: {type: string}}
    ");
    enumerations_are_closed_or_grow: small::schemas(r"
        Stack: {type: string, enum: [ipv4, ipv6, dual]}
        State: {type: string, enum: [running, waiting for capacity], x-extensible-enum: true}
    ");
    enumerations_may_hold_anything: small::schemas(r"
        Size: {type: integer, enum: [1, 2, -1]}
        Mixed: {enum: [auto, 1, true]}
        Vote: {type: string, enum: ['+1', '-1', '', add, Add, type, 🚀]}
        Maybe: {type: [string, 'null'], enum: [a, null]}
        Only: {const: fixed}
    ");
    a_discriminator_makes_a_tagged_union: small::schemas(r"
        Pet:
          oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}]
          discriminator: {propertyName: kind, mapping: {kitty: '#/components/schemas/Cat', Dog: '#/components/schemas/Dog'}}
        Cat: {type: object, required: [kind], properties: {kind: {type: string}}}
        Dog: {type: object, required: [kind], properties: {kind: {type: string}, bark: {type: boolean}}}
    ");
    constants_make_a_tagged_union: small::schemas(r"
        Event:
          oneOf:
            - {type: object, required: [type, at], properties: {type: {type: string, enum: [started]}, at: {type: string}}}
            - {type: object, required: [type], properties: {type: {type: string, enum: [stopped]}}}
    ");
    alternatives_without_a_tag_are_tried: small::schemas(r"
        Detail: {oneOf: [{type: string}, {type: array, items: {type: string}}]}
        Id: {anyOf: [{type: integer, format: int64}, {type: string}]}
    ");
    null_beside_a_type_is_an_option: small::schemas(r"
        Parent: {oneOf: [{$ref: '#/components/schemas/Name'}, {type: 'null'}]}
        Child: {type: object, required: [parent], properties: {parent: {oneOf: [{$ref: '#/components/schemas/Name'}, {type: 'null'}]}}}
        Name: {type: string, maxLength: 9}
    ");
    nullable_of_3_0_is_an_option: small::schemas_30(r"
        Child: {type: object, required: [parent], properties: {parent: {type: string, nullable: true}}}
    ");
    all_of_is_merged: small::schemas(r"
        Base: {type: object, required: [id], properties: {id: {type: string}}}
        Whole:
          allOf:
            - {$ref: '#/components/schemas/Base'}
            - {type: object, required: [name], properties: {name: {type: string}}}
    ");
    recursion_is_boxed_where_it_must_be: small::schemas(r"
        Tree: {type: object, properties: {left: {$ref: '#/components/schemas/Tree'}, children: {type: array, items: {$ref: '#/components/schemas/Tree'}}}}
        Expression: {oneOf: [{type: string}, {$ref: '#/components/schemas/Negation'}]}
        Negation: {type: object, required: [of], properties: {of: {$ref: '#/components/schemas/Expression'}}}
    ");
    a_list_of_itself_is_a_type: small::schemas(r"
        Tree: {type: object, properties: {branches: {type: array, items: {$ref: '#/components/schemas/Tree/properties/branches'}}}}
    ");
    bounds_of_integers_may_be_fractions: small::schemas(r"
        Half: {type: integer, format: int32, minimum: 0.5, exclusiveMaximum: 9.5, multipleOf: 1.5}
        Wide: {type: integer, format: int32, minimum: -1e30, maximum: 4294967295}
    ");
    what_types_cannot_say_is_checked: small::schemas(r"
        NotEmpty: {type: object, properties: {a: {type: string}}, not: {maxProperties: 0}}
        Pair: {type: array, prefixItems: [{type: string}, {type: integer}], items: false}
        Headers: {type: object, patternProperties: {'^x-': {type: string}}, additionalProperties: false}
    ");
    deprecated_items_are_marked: small::schemas(r"
        Old: {type: object, deprecated: true, properties: {gone: {type: string, deprecated: true}}}
    ");
    hostile_names_and_texts_stay_inside: small::schemas(r#"
        "9 lives; drop": {type: string, description: "*/ fn main() { } /* \u0000 \u202e ``` ", maxLength: 3}
        String: {type: string}
        self: {type: object, properties: {"": {type: string}, self: {type: string}, "a\nb": {type: string}}}
    "#);
    tags_have_their_own_files: small::paths(r"
        tags: [{name: cat, description: Cats.}, {name: dog}]
        paths:
          /cat: {get: {tags: [cat], operationId: cat_view, responses: {'200': {description: A cat., content: {application/json: {schema: {$ref: '#/components/schemas/Cat'}}}}}}}
          /dog: {get: {tags: [dog], operationId: dog_view, responses: {'200': {description: A dog., content: {application/json: {schema: {$ref: '#/components/schemas/Dog'}}}}}}}
        components:
          schemas:
            Cat: {type: object, properties: {name: {$ref: '#/components/schemas/Name'}}}
            Dog: {type: object, properties: {name: {$ref: '#/components/schemas/Name'}}}
            Name: {type: string, maxLength: 9}
    ");
}
