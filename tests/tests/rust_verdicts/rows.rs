//! The changes, each with the crates that it breaks.

/// A change of a contract.
pub struct Row {
    pub name: &'static str,
    /// The schemas, and the paths, a line each, before the change.
    pub old: &'static str,
    /// The same after the change.
    pub new: &'static str,
    /// The crates that break: `t` the types, `c` the client, `s` the server.
    pub breaks: &'static str,
    /// Those of them that cargo-semver-checks sees.
    pub seen: &'static str,
    /// A program for the old crates, which compiles with the new ones if nothing breaks.
    pub program: &'static str,
}

const fn row(
    name: &'static str,
    [old, new]: [&'static str; 2],
    [breaks, seen]: [&'static str; 2],
    program: &'static str,
) -> Row {
    Row {
        name,
        old,
        new,
        breaks,
        seen,
        program,
    }
}

/// Row 1 has schemas called `R01…` and operations called `r01_…`, and so on.
pub const ROWS: &[Row] = &[
    row(
        "a property is removed",
        [
            "R01: {type: object, properties: {a: {type: integer}, b: {type: string}}}",
            "R01: {type: object, properties: {a: {type: integer}}}",
        ],
        ["t", "t"],
        "",
    ),
    row(
        "a property is renamed",
        [
            "R02: {type: object, properties: {a: {type: integer}}}",
            "R02: {type: object, properties: {z: {type: integer}}}",
        ],
        ["t", "t"],
        "",
    ),
    row(
        "a new property takes the identifier of another one",
        [
            "R03: {type: object, properties: {fooBar: {type: integer, format: int32}}}",
            "R03: {type: object, properties: {fooBar: {type: integer, format: int32}, foo_bar: {type: string}}}",
        ],
        ["t", ""],
        "fn read(value: R03) -> Option<i32> { value.foo_bar }",
    ),
    row(
        "a property has another type",
        [
            "R04: {type: object, properties: {a: {type: integer, format: int32}}}",
            "R04: {type: object, properties: {a: {type: string}}}",
        ],
        ["t", ""],
        "fn read(value: R04) -> Option<i32> { value.a }",
    ),
    row(
        "a property becomes required",
        [
            "R05: {type: object, properties: {a: {type: boolean}}}",
            "R05: {type: object, required: [a], properties: {a: {type: boolean}}}",
        ],
        ["t", "t"],
        "fn read(value: R05) -> Option<bool> { value.a }",
    ),
    row(
        "a property becomes optional",
        [
            "R06: {type: object, required: [a], properties: {a: {type: boolean}}}",
            "R06: {type: object, properties: {a: {type: boolean}}}",
        ],
        ["t", "t"],
        "fn read(value: R06) -> bool { value.a }",
    ),
    row(
        "an enumeration gains a value",
        [
            "R07: {type: string, enum: [a, b]}",
            "R07: {type: string, enum: [a, b, c]}",
        ],
        ["t", "t"],
        "",
    ),
    row(
        "an extensible enumeration gains a value",
        [
            "R08: {type: string, enum: [a, b], x-extensible-enum: true}",
            "R08: {type: string, enum: [a, b, c], x-extensible-enum: true}",
        ],
        ["", ""],
        "fn read(value: R08) -> bool { match value { R08::A => true, R08::B => false, _ => false } }",
    ),
    row(
        "an enumeration becomes extensible",
        [
            "R09: {type: string, enum: [a, b]}",
            "R09: {type: string, enum: [a, b], x-extensible-enum: true}",
        ],
        ["t", "t"],
        "",
    ),
    row(
        "an enumeration loses a value",
        [
            "R10: {type: string, enum: [a, b]}",
            "R10: {type: string, enum: [a]}",
        ],
        ["t", "t"],
        "",
    ),
    row(
        "an object gains an optional property",
        [
            "R11: {type: object, required: [a], properties: {a: {type: boolean}}}",
            "R11: {type: object, required: [a], properties: {a: {type: boolean}, b: {type: string}}}",
        ],
        ["", ""],
        "fn make() -> R11 { R11::new(true) }",
    ),
    row(
        "an object gains a required property",
        [
            "R12: {type: object, required: [a], properties: {a: {type: boolean}}}",
            "R12: {type: object, required: [a, b], properties: {a: {type: boolean}, b: {type: string}}}",
        ],
        ["t", "t"],
        "fn make() -> R12 { R12::new(true) }",
    ),
    row(
        "a schema is removed",
        [
            "R13: {type: object, properties: {a: {type: string, enum: [x]}}}",
            "R13x: {type: object, properties: {z: {type: boolean}}}",
        ],
        ["t", "t"],
        "",
    ),
    row(
        "a schema that another one refers to is renamed",
        [
            "R14: {type: object, properties: {a: {$ref: '#/components/schemas/R14Size'}}}\nR14Size: {type: integer, format: int32, minimum: 1}",
            "R14: {type: object, properties: {a: {$ref: '#/components/schemas/R14Extent'}}}\nR14Extent: {type: integer, format: int32, minimum: 1}",
        ],
        ["t", "t"],
        "",
    ),
    row(
        "a text gains its first bound",
        ["R15: {type: string}", "R15: {type: string, maxLength: 9}"],
        ["t", ""],
        "fn make() -> R15 { R15::from(\"a\") }",
    ),
    row(
        "a bound of a text is tightened",
        [
            "R16: {type: string, maxLength: 10, pattern: '^[a-z]'}",
            "R16: {type: string, maxLength: 9, pattern: '^[a-y]'}",
        ],
        ["", ""],
        "fn make() -> R16 { R16::try_from(\"a\").unwrap() }",
    ),
    row(
        "a text loses its last bound",
        ["R17: {type: string, maxLength: 10}", "R17: {type: string}"],
        ["t", ""],
        "fn make() -> Result<R17, api_runtime::ConstraintError> { R17::try_from(\"a\") }",
    ),
    row(
        "an integer becomes a number",
        [
            "R18: {type: integer, format: int32, minimum: 1}",
            "R18: {type: number, minimum: 1}",
        ],
        ["t", "t"],
        "fn read(value: R18) -> i32 { value.get() }",
    ),
    row(
        "an integer becomes a text",
        [
            "R19: {type: integer, format: int32, minimum: 1}",
            "R19: {type: string, minLength: 1}",
        ],
        ["t", "t"],
        "",
    ),
    row(
        "a union gains a branch",
        [
            "R20: {oneOf: [{type: string}, {type: integer, format: int32}]}",
            "R20: {oneOf: [{type: string}, {type: integer, format: int32}, {type: boolean}]}",
        ],
        ["t", "t"],
        "",
    ),
    row(
        "an object becomes a list",
        [
            "R21: {type: object, required: [a], properties: {a: {type: boolean}}}",
            "R21: {type: array, items: {type: boolean}}",
        ],
        ["t", "t"],
        "",
    ),
    row(
        "a list gains its first bound",
        [
            "R22: {type: array, items: {type: boolean}}",
            "R22: {type: array, items: {type: boolean}, maxItems: 9}",
        ],
        ["t", ""],
        "fn make() -> R22 { R22::from(vec![true]) }",
    ),
    row(
        "required properties are in another order",
        [
            "R23: {type: object, required: [a, b], properties: {a: {type: boolean}, b: {type: string}}}",
            "R23: {type: object, required: [a, b], properties: {b: {type: string}, a: {type: boolean}}}",
        ],
        ["t", ""],
        "fn make() -> R23 { R23::new(true, String::new()) }",
    ),
    row(
        "a property with a default becomes required",
        [
            "R24: {type: object, properties: {a: {type: boolean, default: true}}}",
            "R24: {type: object, required: [a], properties: {a: {type: boolean}}}",
        ],
        ["t", "t"],
        "fn make() -> R24 { R24::new() }",
    ),
    row(
        "a text becomes a secret",
        [
            "R25: {type: string, minLength: 1}",
            "R25: {type: string, minLength: 1, format: password}",
        ],
        ["t", "t"],
        "",
    ),
    row(
        "further properties are no longer kept",
        [
            "R26: {type: object, properties: {a: {type: boolean}}, additionalProperties: {type: string}}",
            "R26: {type: object, properties: {a: {type: boolean}}}",
        ],
        ["t", "t"],
        "",
    ),
    row(
        "a property may be null",
        [
            "R27: {type: object, required: [a], properties: {a: {type: boolean}}}",
            "R27: {type: object, required: [a], properties: {a: {type: [boolean, 'null']}}}",
        ],
        ["t", ""],
        "fn read(value: R27) -> bool { value.a }",
    ),
    row(
        "an object is closed",
        [
            "R28: {type: object, properties: {a: {type: boolean}}}",
            "R28: {type: object, properties: {a: {type: boolean}}, additionalProperties: false}",
        ],
        ["", ""],
        "fn make() -> R28 { R28::new().with_a(true) }",
    ),
    row(
        "a property has another name that is the same in Rust",
        [
            "R29: {type: object, properties: {foo-bar: {type: boolean}}}",
            "R29: {type: object, properties: {foo_bar: {type: boolean}}}",
        ],
        ["", ""],
        "fn read(value: R29) -> Option<bool> { value.foo_bar }",
    ),
    row(
        "a description changes",
        [
            "R30: {type: object, description: One., properties: {a: {type: boolean}}}",
            "R30: {type: object, description: Two., properties: {a: {type: boolean, title: T}}}",
        ],
        ["", ""],
        "fn read(value: R30) -> Option<bool> { value.a }",
    ),
    row(
        "a tag gains an operation",
        [
            "/r31: {get: {operationId: r31_view, tags: [r31], responses: {'204': {description: Done.}}}}",
            "/r31: {get: {operationId: r31_view, tags: [r31], responses: {'204': {description: Done.}}}, delete: {operationId: r31_delete, tags: [r31], responses: {'204': {description: Done.}}}}",
        ],
        ["s", "s"],
        "",
    ),
    row(
        "a tag loses an operation",
        [
            "/r32: {get: {operationId: r32_view, tags: [r32], responses: {'204': {description: Done.}}}, delete: {operationId: r32_delete, tags: [r32], responses: {'204': {description: Done.}}}}",
            "/r32: {get: {operationId: r32_view, tags: [r32], responses: {'204': {description: Done.}}}}",
        ],
        ["cs", "cs"],
        "",
    ),
    row(
        "an operation gains an optional parameter",
        [
            "/r33: {get: {operationId: r33_view, tags: [r33], responses: {'204': {description: Done.}}}}",
            "/r33: {get: {operationId: r33_view, tags: [r33], parameters: [{name: a, in: query, schema: {type: string}}], responses: {'204': {description: Done.}}}}",
        ],
        ["s", "s"],
        "fn make() -> rows_server::r33::R33ViewRequest { rows_server::r33::R33ViewRequest {} }",
    ),
    row(
        "a parameter becomes required",
        [
            "/r34: {get: {operationId: r34_view, tags: [r34], parameters: [{name: a, in: query, schema: {type: string}}], responses: {'204': {description: Done.}}}}",
            "/r34: {get: {operationId: r34_view, tags: [r34], parameters: [{name: a, in: query, required: true, schema: {type: string}}], responses: {'204': {description: Done.}}}}",
        ],
        ["s", ""],
        "fn read(request: rows_server::r34::R34ViewRequest) -> Option<String> { request.a }",
    ),
    row(
        "a parameter has another type",
        [
            "/r35: {get: {operationId: r35_view, tags: [r35], parameters: [{name: a, in: query, schema: {type: string}}], responses: {'204': {description: Done.}}}}",
            "/r35: {get: {operationId: r35_view, tags: [r35], parameters: [{name: a, in: query, schema: {type: boolean}}], responses: {'204': {description: Done.}}}}",
        ],
        ["cs", ""],
        "fn call(client: &rows_client::Client) { client.r35_view().a(\"text\"); }",
    ),
    row(
        "an operation gains an error",
        [
            "/r36: {get: {operationId: r36_view, tags: [r36], responses: {'204': {description: Done.}}}}",
            "/r36: {get: {operationId: r36_view, tags: [r36], responses: {'204': {description: Done.}, '404': {description: Nothing.}}}}",
        ],
        ["s", "s"],
        "",
    ),
    row(
        "an operation gains a success with another body",
        [
            "/r37: {get: {operationId: r37_view, tags: [r37], responses: {'200': {description: Done., content: {application/json: {schema: {type: string}}}}}}}",
            "/r37: {get: {operationId: r37_view, tags: [r37], responses: {'200': {description: Done., content: {application/json: {schema: {type: string}}}}, '202': {description: Later.}}}}",
        ],
        ["cs", "s"],
        "async fn call(client: &rows_client::Client) -> String { client.r37_view().send().await.unwrap().into_inner() }",
    ),
    row(
        "an operation no longer asks for a credential",
        [
            "/r38: {get: {operationId: r38_view, tags: [r38], security: [{token: []}], responses: {'204': {description: Done.}}}}",
            "/r38: {get: {operationId: r38_view, tags: [r38], responses: {'204': {description: Done.}}}}",
        ],
        ["s", "s"],
        "fn serve<P, T: rows_server::r38::R38Api<P>>(_: T, _: P) {}",
    ),
    row(
        "a request body becomes optional",
        [
            "/r39: {post: {operationId: r39_create, tags: [r39], requestBody: {required: true, content: {application/json: {schema: {type: string}}}}, responses: {'204': {description: Done.}}}}",
            "/r39: {post: {operationId: r39_create, tags: [r39], requestBody: {content: {application/json: {schema: {type: string}}}}, responses: {'204': {description: Done.}}}}",
        ],
        ["s", ""],
        "fn read(request: rows_server::r39::R39CreateRequest) -> String { request.body }",
    ),
    row(
        "a tag is renamed",
        [
            "/r40: {get: {operationId: r40_view, tags: [r40], responses: {'204': {description: Done.}}}}",
            "/r40: {get: {operationId: r40_view, tags: [r40x], responses: {'204': {description: Done.}}}}",
        ],
        ["tcs", "tcs"],
        "",
    ),
    row(
        "a response gains a header",
        [
            "/r41: {get: {operationId: r41_view, tags: [r41], responses: {'200': {description: Done., content: {application/json: {schema: {type: string}}}}}}}",
            "/r41: {get: {operationId: r41_view, tags: [r41], responses: {'200': {description: Done., headers: {X-A: {schema: {type: string}}}, content: {application/json: {schema: {type: string}}}}}}}",
        ],
        ["s", ""],
        "fn make() -> rows_server::r41::R41ViewResponse { rows_server::r41::R41ViewResponse::Ok(String::new()) }",
    ),
    row(
        "a path parameter is renamed",
        [
            "/r42/{a}: {get: {operationId: r42_view, tags: [r42], parameters: [{name: a, in: path, required: true, schema: {type: string}}], responses: {'204': {description: Done.}}}}",
            "/r42/{b}: {get: {operationId: r42_view, tags: [r42], parameters: [{name: b, in: path, required: true, schema: {type: string}}], responses: {'204': {description: Done.}}}}",
        ],
        ["cs", "cs"],
        "",
    ),
];
