//! A contract in several files is equal to the same contract in one file, and every diagnostic is
//! reported in the file that it is about.

use std::fs;
use std::path::Path;

use contract::{Loaded, LocalCopy, Mapping, Options, Severity, load_with};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder of files, given as pairs of path and text.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a folder"))
            .expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }
    folder
}

/// Reads `openapi.yaml` of a folder, with local copies given as pairs of an address and a path in
/// the folder.
fn read(folder: &Path, copies: &[(&str, &str)]) -> Loaded {
    let copies = copies
        .iter()
        .map(|(address, path)| format!("{address}={}", folder.join(path).display()));
    let mapping: Mapping = copies
        .map(|copy| {
            copy.parse::<LocalCopy>()
                .expect("a local copy is `ADDRESS=PATH`")
        })
        .collect();
    load_with(
        &folder.join("openapi.yaml"),
        &Options {
            mapping,
            ..Options::default()
        },
    )
}

fn document(folder: &Path, copies: &[(&str, &str)]) -> Value {
    let loaded = read(folder, copies);
    let diagnostics = contract::render(&loaded.sources, &loaded.diagnostics);
    assert!(loaded.diagnostics.is_empty(), "{diagnostics}");
    loaded
        .contract
        .expect("a document without diagnostics is a contract")
        .document
        .to_json()
}

/// Returns the code, file and line of each error.
fn errors(loaded: &Loaded) -> Vec<(String, String, usize)> {
    let errors = loaded
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error);
    let found = errors.map(|diagnostic| {
        let file = Path::new(&loaded.sources.file(diagnostic.span.file).name)
            .file_name()
            .unwrap_or_default();
        let line = loaded.sources.line_column(diagnostic.span).line;
        (
            diagnostic.code.to_owned(),
            file.to_string_lossy().into_owned(),
            line,
        )
    });
    found.collect()
}

/// Returns a document with one operation, whose response has this schema.
fn responding_with(schema: &str) -> String {
    format!(
        "openapi: 3.1.0\ninfo: {{title: Pets, version: 1.0.0}}\npaths:\n  /pet:\n    get:\n      operationId: pet_view\n      \
         responses:\n        '200':\n          description: A pet.\n          content: {{application/json: {{schema: \
         {schema}}}}}\n"
    )
}

const PET: &str = "type: object\nproperties:\n  name: {$ref: 'names.json#/defs/pet%20name'}\n  \
                   friends: {type: array, items: {$ref: pet.yaml}}\n  kind: {$ref: '../openapi.yaml#/components/schemas/Kind'}\n";
const NAMES: &str =
    r#"{"defs": {"pet name": {"description": "What it is called.", "type": "string"}}}"#;

#[test]
fn files_become_components_called_as_their_authors_called_them() {
    let files = folder(&[
        (
            "openapi.yaml",
            "openapi: 3.1.0\ninfo: {title: Pets, version: 1.0.0}\npaths:\n  /pets/{pet_id}: {$ref: 'paths.yaml#/~1pet'}\n\
             components:\n  schemas:\n    Kind: {$ref: schemas/kind.yaml}\n    pet: {type: integer, format: int64}\n",
        ),
        (
            "paths.yaml",
            "/pet:\n  get:\n    operationId: pet_view\n    parameters:\n      - {$ref: ./schemas/../parameters.yaml#/Id}\n    \
             responses:\n      '200': {description: A pet., content: {application/json: {schema: {$ref: schemas/pet.yaml}}}}\n      \
             '410': {$ref: parameters.yaml#/Gone}\n",
        ),
        (
            "parameters.yaml",
            "Id: {name: pet_id, in: path, required: true, schema: {$ref: 'openapi.yaml#/components/schemas/pet'}}\n\
             Gone: {description: No longer here.}\n",
        ),
        ("schemas/pet.yaml", PET),
        ("schemas/names.json", NAMES),
        ("schemas/kind.yaml", "{type: string, enum: [cat, dog]}"),
    ]);
    let expected = json!({
        "openapi": "3.1.0",
        "info": {"title": "Pets", "version": "1.0.0"},
        "paths": {"/pets/{pet_id}": {"get": {
            "operationId": "pet_view",
            "parameters": [{"$ref": "#/components/parameters/Id"}],
            "responses": {
                "200": {
                    "description": "A pet.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/pet2"}}},
                },
                "410": {"$ref": "#/components/responses/Gone"},
            },
        }}},
        "components": {
            "schemas": {
                "Kind": {"type": "string", "enum": ["cat", "dog"]},
                "pet": {"type": "integer", "format": "int64"},
                "pet2": {"type": "object", "properties": {
                    "name": {"$ref": "#/components/schemas/pet_name"},
                    "friends": {"type": "array", "items": {"$ref": "#/components/schemas/pet2"}},
                    "kind": {"$ref": "#/components/schemas/Kind"},
                }},
                "pet_name": {"description": "What it is called.", "type": "string"},
            },
            "parameters": {"Id": {
                "name": "pet_id", "in": "path", "required": true, "schema": {"$ref": "#/components/schemas/pet"},
            }},
            "responses": {"Gone": {"description": "No longer here."}},
        },
    });
    let loaded = read(files.path(), &[]);
    assert_eq!(errors(&loaded), []);
    assert_eq!(
        loaded
            .contract
            .expect("the document is a contract")
            .document
            .to_json(),
        expected
    );
}

#[test]
fn a_part_of_what_has_moved_is_found_inside_it() {
    let files = folder(&[
        (
            "openapi.yaml",
            &responding_with("{oneOf: [{$ref: 'pet.yaml#/properties/name'}, {$ref: pet.yaml}]}"),
        ),
        (
            "pet.yaml",
            "type: object\nproperties:\n  name: {type: string}\n",
        ),
    ]);
    let document = document(files.path(), &[]);
    let schema = &document["paths"]["/pet"]["get"]["responses"]["200"]["content"]["application/json"]
        ["schema"];
    let references = json!([{"$ref": "#/components/schemas/pet/properties/name"}, {"$ref": "#/components/schemas/pet"}]);
    assert_eq!(schema["oneOf"], references);
    assert_eq!(
        document["components"]["schemas"]
            .as_object()
            .expect("the document has schemas in its components")
            .len(),
        1
    );
}

#[test]
fn an_id_that_references_start_from_is_followed() {
    let files = folder(&[
        ("openapi.yaml", &responding_with("{$ref: pet.yaml}")),
        (
            "pet.yaml",
            "$id: https://example.com/pet\ntype: object\nproperties:\n  name: {$ref: '#name'}\n\
             $defs:\n  Name: {$anchor: name, type: string}\n",
        ),
    ]);
    let document = document(files.path(), &[]);
    let pet = &document["components"]["schemas"]["pet"];
    assert_eq!(
        pet["properties"]["name"]["$ref"],
        "#/components/schemas/pet/$defs/Name"
    );
    assert_eq!(
        (pet.get("$id"), pet["$defs"]["Name"].get("$anchor")),
        (None, None)
    );
}

#[test]
fn diagnostics_are_in_the_file_where_they_belong() {
    let root = responding_with("{$ref: schemas/pet.yaml}");
    for (pet, names, error) in [
        (
            PET,
            "{\"defs\": {\n\"pet name\": {\"type\": \"strin\"}}}",
            ("unknown-type", "names.json", 2),
        ),
        (PET, "{\"defs\": {\n}}", ("dangling-ref", "pet.yaml", 3)),
        (PET, "{\"defs\": {\n", ("json-syntax", "names.json", 2)),
        (
            "\n$ref: missing.yaml",
            NAMES,
            ("dangling-ref", "pet.yaml", 2),
        ),
        ("\n$ref: pet.yaml", NAMES, ("circular-ref", "pet.yaml", 2)),
        (
            "type: object\ndefault: 1",
            NAMES,
            ("bad-default", "pet.yaml", 2),
        ),
    ] {
        let root = format!("{root}components:\n  schemas:\n    Kind: {{type: string}}\n");
        let files = folder(&[
            ("openapi.yaml", &root),
            ("schemas/pet.yaml", pet),
            ("schemas/names.json", names),
        ]);
        let found = errors(&read(files.path(), &[]));
        let (code, file, line) = error;
        assert!(
            found.contains(&(code.to_owned(), file.to_owned(), line)),
            "{error:?}: {found:?}"
        );
    }
}

#[test]
fn documents_of_other_hosts_need_a_copy() {
    let root = responding_with("{$ref: 'https://example.com/common/v1/pet.yaml#/Pet'}");
    let files = folder(&[
        ("openapi.yaml", &root),
        (
            "vendor/v1/pet.yaml",
            "Pet: {type: object, properties: {name: {$ref: '../names.json#/Name'}}}",
        ),
        ("vendor/names.json", r#"{"Name": {"type": "string"}}"#),
        (
            "other.json",
            r#"{"Name": {"type": "integer", "format": "int32"}}"#,
        ),
    ]);
    let remote = |copies: &[(&str, &str)]| -> Vec<(String, String)> {
        errors(&read(files.path(), copies))
            .into_iter()
            .map(|(code, file, _)| (code, file))
            .collect()
    };
    let reported_in = |file: &str| vec![("remote-ref".to_owned(), file.to_owned())];
    assert_eq!(remote(&[]), reported_in("openapi.yaml"));
    assert_eq!(
        remote(&[("https://example.com/common", "vendor")]),
        reported_in("openapi.yaml")
    );
    assert_eq!(
        remote(&[("https://example.org/common/", "vendor")]),
        reported_in("openapi.yaml")
    );
    // A relative reference in a copy starts from its address, not from the folder of the copy.
    assert_eq!(
        remote(&[("https://example.com/common/v1/", "vendor/v1")]),
        reported_in("pet.yaml")
    );

    let name = |copies: &[(&str, &str)]| {
        document(files.path(), copies)["components"]["schemas"]["Name"]["type"].clone()
    };
    let all = ("https://example.com/common/", "vendor");
    assert_eq!(name(&[all]), "string");
    assert_eq!(
        name(&[all, ("https://example.com/common/names.json", "other.json")]),
        "integer"
    );
}

#[test]
fn a_copy_is_never_left_for_a_file_beside_it() {
    for escape in [
        "../secret.yaml",
        "%2e%2e/secret.yaml",
        "..%2fsecret.yaml",
        "a/%2e%2e/%2e%2e/secret.yaml",
    ] {
        let root = responding_with(&format!("{{$ref: 'https://example.com/common/{escape}'}}"));
        let files = folder(&[
            ("openapi.yaml", &root),
            ("vendor/pet.yaml", "{}"),
            ("secret.yaml", "type: string"),
        ]);
        let found = errors(&read(
            files.path(),
            &[("https://example.com/common/", "vendor")],
        ));
        assert_eq!(
            found.first().map(|(code, ..)| code.as_str()),
            Some("remote-ref"),
            "{escape}: {found:?}"
        );
    }
}

#[test]
fn a_copy_needs_an_address_and_a_path() {
    for (text, part) in [
        ("vendor", "ADDRESS=PATH"),
        ("https://example.com/a.yaml=", "ADDRESS=PATH"),
        ("=vendor", "ADDRESS=PATH"),
        ("example.com/a.yaml=vendor", "a scheme"),
        ("https://example.com/a.yaml#/b=vendor", "without `#`"),
    ] {
        let problem = text.parse::<LocalCopy>().expect_err(text).to_string();
        assert!(problem.contains(part), "{text}: {problem}");
    }
}

#[test]
fn the_default_of_a_discriminator_may_be_in_another_file() {
    let union = "{ type: object, oneOf: [{ $ref: '#/components/schemas/Cat' }], discriminator: { propertyName: kind, defaultMapping: ./other.yaml } }";
    let content = format!("{{ application/json: {{ schema: {union} }} }}");
    let api = format!(
        "openapi: 3.2.0\ninfo: {{ title: Pets, version: '1' }}\npaths: {{ /pets: {{ get: {{ responses: {{ '200': {{ content: {content} }} }} }} }} }}\n\
         components: {{ schemas: {{ Cat: {{ type: object, required: [kind], properties: {{ kind: {{ const: cat }} }} }} }} }}\n"
    );
    let folder = folder(&[
        ("openapi.yaml", api.as_str()),
        ("other.yaml", "type: object\n"),
    ]);
    let document = document(folder.path(), &[]);
    let schema = &document["paths"]["/pets"]["get"]["responses"]["200"]["content"]["application/json"]
        ["schema"];
    assert_eq!(
        schema["discriminator"]["defaultMapping"],
        "#/components/schemas/other"
    );
}

#[test]
fn mappings_mean_schemas_of_other_files() {
    let union = "{oneOf: [{$ref: cat.yaml}, {$ref: dog.yaml}], discriminator: {propertyName: kind, mapping: {c: ./cat.yaml, \
                 d: ./dog.yaml}}}";
    let pet = "type: object\nrequired: [kind]\nproperties: {kind: {type: string}}\n";
    let files = folder(&[
        ("openapi.yaml", &responding_with(union)),
        ("cat.yaml", pet),
        ("dog.yaml", pet),
    ]);
    let document = document(files.path(), &[]);
    let schema = &document["paths"]["/pet"]["get"]["responses"]["200"]["content"]["application/json"]
        ["schema"];
    let meant = json!({"c": "#/components/schemas/cat", "d": "#/components/schemas/dog"});
    assert_eq!(schema["discriminator"]["mapping"], meant);
}

/// Returns a path item whose operation has these path items as callbacks.
fn calling(callbacks: &[&str]) -> String {
    let callbacks: Vec<String> = callbacks
        .iter()
        .enumerate()
        .map(|(at, item)| format!("c{at}: {{'{{$url}}': {{$ref: {item}}}}}"))
        .collect();
    format!(
        "{{post: {{responses: {{'204': {{description: Done.}}}}, callbacks: {{{}}}}}}}",
        callbacks.join(", ")
    )
}

#[test]
fn a_path_item_that_calls_itself_has_no_place_in_one_document() {
    let root = "openapi: 3.1.0\ninfo: {title: Pets, version: 1.0.0}\npaths:\n  /pet: {$ref: 'other.yaml#/p'}\n";
    for (other, expected) in [
        (
            format!(
                "q: {{get: {{responses: {{'204': {{description: Done.}}}}}}}}\np: {}\n",
                calling(&["'#/q'"])
            ),
            vec![],
        ),
        (
            format!("q: 1\np: {}\n", calling(&["'other.yaml#/p'"])),
            vec![("circular-ref".to_owned(), "other.yaml".to_owned(), 2)],
        ),
    ] {
        let files = folder(&[("openapi.yaml", root), ("other.yaml", &other)]);
        assert_eq!(errors(&read(files.path(), &[])), expected);
    }
}

#[test]
fn path_items_that_double_in_each_other_are_an_error() {
    let root = "openapi: 3.1.0\ninfo: {title: Pets, version: 1.0.0}\npaths:\n  /pet: {$ref: 'other.yaml#/p0'}\n";
    let chain = |length: usize, callbacks: usize| -> String {
        let items = (0..length).map(|at| {
            let next = format!("'#/p{}'", at + 1);
            format!("p{at}: {}\n", calling(&vec![next.as_str(); callbacks]))
        });
        items.collect::<String>() + &format!("p{length}: {}\n", calling(&[]))
    };
    for (length, callbacks, code) in [
        (5, 2, None),
        (22, 2, Some("too-large")),
        (5000, 1, Some("too-deep")),
    ] {
        let files = folder(&[
            ("openapi.yaml", root),
            ("other.yaml", &chain(length, callbacks)),
        ]);
        let found = errors(&read(files.path(), &[]));
        assert_eq!(
            found.first().map(|(code, ..)| code.as_str()),
            code,
            "{length} {callbacks}: {found:?}"
        );
    }
}

#[test]
fn a_dynamic_reference_leads_to_another_file() {
    let files = folder(&[
        (
            "openapi.yaml",
            &responding_with("{$dynamicRef: 'other.yaml#node'}"),
        ),
        ("other.yaml", "$dynamicAnchor: node\ntype: string\n"),
    ]);
    let loaded = read(files.path(), &[]);
    assert_eq!(errors(&loaded), []);
    let contract = loaded.contract.expect("the document is a contract");
    let media = &contract.operations[0].responses[0].content[0];
    let end = contract.resolve(media.schema.expect("the media type has a schema"));
    let contract::model::SchemaKind::Object(keywords) = &contract.schema(end).kind else {
        panic!("an object")
    };
    assert_eq!(keywords.types, Some(contract::model::Types::STRING));
}

#[test]
fn a_contract_may_have_thousands_of_files_but_not_any_number() {
    let chain = |count: usize| {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let schemas: String = (1..count)
            .map(|at| format!("    S{at}: {{ $ref: 's{at}.yaml' }}\n"))
            .collect();
        let text = format!(
            "openapi: 3.1.0\ninfo: {{ title: Many, version: '1' }}\ncomponents:\n  schemas:\n{schemas}"
        );
        fs::write(folder.path().join("openapi.yaml"), text).expect("a file can be written");
        for at in 1..count {
            let file = folder.path().join(format!("s{at}.yaml"));
            fs::write(file, "{ type: string }\n").expect("a file can be written");
        }
        errors(&read(folder.path(), &[])).len()
    };
    assert_eq!(chain(2_000), 0);
    assert_eq!(chain(10_000), 0);
    assert_eq!(chain(10_001), 1);
}

#[test]
fn a_sample_of_code_that_an_extension_refers_to_is_not_read() {
    let samples =
        "x-samples:\n  - {code: {$ref: samples/view.ts}}\nx-parts: {pet: {$ref: pet.yaml}}\n";
    let files = folder(&[
        (
            "openapi.yaml",
            &(responding_with("{$ref: '#/x-parts/pet'}") + samples),
        ),
        (
            "samples/view.ts",
            "const pet = view({\n  name: 'Rex'\n});\n",
        ),
        ("pet.yaml", "type: object\n"),
    ]);
    let found = document(files.path(), &[]);
    let content = &found["paths"]["/pet"]["get"]["responses"]["200"]["content"];
    let schema = content.pointer("/application~1json/schema/$ref");
    assert!(schema.is_some(), "{content}");
}

#[test]
fn a_name_in_a_map_is_no_extension() {
    let text = "type: string\n";
    let properties = "x-size: {$ref: size.v1}, properties: {$ref: size.v2}, x-parts: {type: object, properties: {x-part: {$ref: size.v3}}}";
    let schemas = format!(
        "x-thing: {{type: object, properties: {{{properties}}}}}, x-size: {{$ref: size.v4}}"
    );
    let headers = "x-rate: {schema: {$ref: size.v5}}";
    let parameters = "x-page: {name: page, in: query, schema: {$ref: size.v6}}";
    let components = format!(
        "components:\n  schemas: {{{schemas}}}\n  headers: {{{headers}}}\n  parameters: {{{parameters}}}\n  x-own: {{code: {{$ref: view.ts}}}}\n"
    );
    let api = responding_with("{$ref: '#/components/schemas/x-thing'}") + &components;
    let files: Vec<(String, &str)> = (1..=6).map(|at| (format!("size.v{at}"), text)).collect();
    let mut files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, *text)).collect();
    files.push(("openapi.yaml", &api));
    files.push(("view.ts", "const pet = view({\n  name: 'Rex'\n});\n"));
    let files = folder(&files);
    // A reference to a file that is not read leads nowhere, and a sample of code is no YAML.
    assert_eq!(errors(&read(files.path(), &[])), vec![]);
}

#[test]
fn a_requirement_may_name_a_scheme_of_another_file_by_its_uri() {
    let secured = |key: &str| {
        format!(
            "openapi: 3.2.0\ninfo: {{title: Pets, version: 1.0.0}}\nsecurity: [{{'{key}': [read]}}]\npaths:\n  /pet:\n    get: {{operationId: pet_view, responses: {{'204': {{description: None.}}}}}}\n  /toy: {{$ref: 'paths/toy.yaml'}}\n"
        )
    };
    let schemes = "components:\n  securitySchemes:\n    Login: {type: oauth2, flows: {clientCredentials: {tokenUrl: 'https://example.com/token', scopes: {read: Reads.}}}}\n    Key: {$ref: '../key.yaml'}\n";
    let toy = "get: {operationId: toy_view, security: [{'../key.yaml': [], '../shared/schemes.yaml#/components/securitySchemes/Login': []}], responses: {'204': {description: None.}}}\n";
    let uri = "shared/schemes.yaml#/components/securitySchemes/Login";
    let files = |key: &str| {
        folder(&[
            ("openapi.yaml", &secured(key)),
            ("shared/schemes.yaml", schemes),
            ("key.yaml", "{type: apiKey, in: header, name: X-Key}\n"),
            ("paths/toy.yaml", toy),
        ])
    };
    let found = document(files(uri).path(), &[]);
    assert_eq!(found["security"], json!([{"Login": ["read"]}]));
    assert_eq!(
        found["paths"]["/toy"]["get"]["security"],
        json!([{"key": [], "Login": []}])
    );
    let schemes = &found["components"]["securitySchemes"];
    assert_eq!(schemes["Login"]["type"], "oauth2");
    assert_eq!(schemes["key"]["name"], "X-Key");
    // Even in a document of others, none of these opens the operations.
    for (wrong, code) in [
        (
            "shared/schemes.yaml#/components/securitySchemes/Gone",
            "dangling-ref",
        ),
        ("gone.yaml#/Login", "dangling-ref"),
        ("https://example.com/schemes.yaml#/Login", "remote-ref"),
        ("#/paths/~1pet", "unknown-security-scheme"),
    ] {
        let files = files(wrong);
        for foreign in [false, true] {
            let options = Options {
                foreign,
                ..Options::default()
            };
            let loaded = load_with(&files.path().join("openapi.yaml"), &options);
            assert!(loaded.contract.is_none(), "{wrong}");
            let codes: Vec<_> = errors(&loaded).into_iter().map(|(code, ..)| code).collect();
            assert_eq!(codes, [code], "{wrong}");
        }
    }
}

#[test]
fn a_relative_address_of_a_document_is_where_its_references_start() {
    let whole = "openapi: 3.2.0\n$self: api/v1/openapi.yaml\ninfo: {title: Pets, version: 1.0.0}\npaths:\n  /pet:\n    get: {operationId: pet_view, responses: {'200': {description: A pet., content: {application/json: {schema: {$ref: '../pets.yaml#/Pet'}}}}}}\ncomponents: {schemas: {Name: {type: string}}}\n";
    let folder = folder(&[
        ("openapi.yaml", whole),
        (
            "api/pets.yaml",
            "Pet: {type: object, properties: {name: {$ref: 'v1/openapi.yaml#/components/schemas/Name'}}}\n",
        ),
        ("pets.yaml", "Pet: {type: integer}\n"),
        (
            "api/v1/openapi.yaml",
            "components: {schemas: {Name: {type: integer}}}\n",
        ),
    ]);
    let found = document(folder.path(), &[]);
    assert_eq!(
        found["components"]["schemas"],
        json!({
            "Name": {"type": "string"},
            "Pet": {"type": "object", "properties": {"name": {"$ref": "#/components/schemas/Name"}}},
        })
    );
    // It needs a host that nobody has said.
    let rooted = crate::folder(&[(
        "openapi.yaml",
        &whole.replace("api/v1", "/v1").replace("../", ""),
    )]);
    let loaded = read(rooted.path(), &[]);
    let codes: Vec<&str> = loaded.diagnostics.iter().map(|found| found.code).collect();
    assert!(codes.contains(&"bad-self"), "{codes:?}");
}

#[test]
fn a_reference_in_a_value_is_a_property_like_any_other() {
    // `broken.json` is no JSON and `gone.json` does not exist: the document is read all the same, since only
    // values name these files.
    let text = "openapi: 3.1.0
info: { title: Values, version: '1' }
paths:
  /a:
    get:
      responses:
        '200':
          description: Done.
          content:
            application/json:
              schema: { default: { $ref: broken.json }, const: { $ref: broken.json }, examples: [{ $ref: broken.json }] }
              examples: { one: { value: { $ref: broken.json } }, two: { value: { $ref: gone.json } } }
        default: { $ref: real.yaml }
";
    let real = "description: Refused.";
    let files = [
        ("openapi.yaml", text),
        ("broken.json", "{ \"a\": , }"),
        ("real.yaml", real),
    ];
    let folder = folder(&files);
    let loaded = read(folder.path(), &[]);
    let printed = contract::render(&loaded.sources, &loaded.diagnostics);
    let contract = loaded.contract.unwrap_or_else(|| panic!("{printed}"));
    assert!(!printed.contains("broken.json:"), "{printed}");
    // A response may be called as a keyword of schemas is.
    let response = contract
        .document
        .pointer("/paths/~1a/get/responses/default");
    assert!(response.is_some_and(|it| it.get("$ref") != Some(&json!("real.yaml"))));
}
