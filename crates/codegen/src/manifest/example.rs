//! The example of a README, which uses an operation of the contract and is compiled as a doctest.

use contract::model::{Method, SecurityKind};

use super::part::Part;
use crate::client::names::{METHODS, SETTINGS};
use crate::ir::{Api, Operation, Parameter, Primitive, TypeDef, TypeKind, TypeRef};
use crate::tokens::foreign_type;

/// Returns the example as a code block of Markdown, or `None` for a types crate without types.
pub(super) fn example(api: &Api<'_>, part: Part) -> Option<String> {
    let (attributes, code) = match part {
        Part::Types => ("rust", types(api)?),
        Part::Client => ("rust,no_run", client(api)),
        Part::Server => ("rust,no_run", server(api)),
    };
    Some(format!("```{attributes}\n{code}```"))
}

/// Returns an example that deserializes a type: an object of a response if there is one, since that
/// shows most.
fn types(api: &Api<'_>) -> Option<String> {
    let is_object = |def: &&TypeDef| matches!(def.kind, TypeKind::Object(_));
    let def = api
        .types
        .iter()
        .find(|def| is_object(def) && def.in_response && !def.tags.is_empty())
        .or_else(|| api.types.iter().find(is_object))
        .or_else(|| api.types.first())?;
    let (krate, name) = (api.names.krate("types"), &def.name);
    let mut code = format!(
        "use {krate}::{name};\n\n\
         fn read(text: &str) -> Result<{name}, serde_json::Error> {{\n    serde_json::from_str(text)\n}}\n"
    );
    if is_object(&def) {
        code.push_str("\n// A value that the contract does not accept is an error.\nassert!(read(\"[]\").is_err());\n");
    }
    Some(code)
}

/// Returns an example that calls an operation which only needs strings. Without such an operation
/// it only builds a client.
fn client(api: &Api<'_>) -> String {
    let krate = api.names.krate("client");
    let credential = credential(api);
    let make =
        format!("{krate}::Client::builder(\"https://api.example.com\"){credential}.build()?;\n");
    let Some(operation) = simple_operation(api) else {
        return format!(
            "fn run() -> Result<(), Box<dyn std::error::Error>> {{\n    let _client = {make}    Ok(())\n}}\n"
        );
    };
    let tag = &api.tags[operation.tag];
    let arguments = arguments(operation);
    format!(
        "use {krate}::{}::{};\n\n\
         async fn run() -> Result<(), Box<dyn std::error::Error>> {{\n    \
         let client = {make}    \
         let response = client\n        .{}()\n{arguments}        .send()\n        .await?;\n    \
         println!(\"{{}}\", response.status());\n    Ok(())\n}}\n",
        tag.module, tag.client_trait, operation.name
    )
}

/// Returns an example that reads a response of the same operation leniently, or `None` without such
/// an operation.
pub(super) fn lenient(api: &Api<'_>) -> Option<String> {
    let operation = simple_operation(api)?;
    let (krate, arguments) = (api.names.krate("client"), arguments(operation));
    Some(format!(
        "use {krate}::prelude::*;\n\n\
         async fn run(client: &Client) -> Result<(), Box<dyn std::error::Error>> {{\n    \
         let response = client\n        .{}()\n{arguments}        .send()\n        .lenient()\n        .await?;\n    \
         if let Err(misfit) = response.get() {{\n        \
         println!(\"{{misfit}}\");\n        \
         // What was received is there all the same, as a whole and in parts.\n        \
         let _json = response.raw();\n        \
         let _part: Option<String> = response.find(\"/name\")?;\n    }}\n    Ok(())\n}}\n",
        operation.name
    ))
}

/// Returns an operation that can be called with strings alone. A list or another GET changes
/// nothing, so a reader may try it first.
fn simple_operation<'a>(api: &'a Api<'_>) -> Option<&'a Operation> {
    let calls = |operation: &&Operation| is_simple(api, operation);
    api.operations
        .iter()
        .find(|operation| operation.paging.is_some() && calls(operation))
        .or_else(|| {
            api.operations
                .iter()
                .find(|operation| operation.method == Method::Get && calls(operation))
        })
        .or_else(|| api.operations.iter().find(calls))
}

/// Returns the calls of the setters that an operation needs, each on a line of its own.
fn arguments(operation: &Operation) -> String {
    operation
        .parameters
        .iter()
        .filter(|parameter| parameter.required)
        .map(|parameter| format!("        .{}(\"…\")\n", parameter.name))
        .collect()
}

/// Returns the builder's call for a bearer token, such as `.bearer("…")`, if the contract has such
/// a scheme, otherwise an empty string.
fn credential(api: &Api<'_>) -> String {
    let bearer = api.security.iter().find(|scheme| {
        matches!(scheme.kind, SecurityKind::HttpBearer | SecurityKind::OAuth2)
            && !SETTINGS.contains(&scheme.name.as_str())
    });
    bearer
        .map(|scheme| format!(".{}(\"…\")", scheme.name))
        .unwrap_or_default()
}

/// Returns whether an operation can be called with strings alone: it has no body, its required
/// parameters are strings, and it is not deprecated.
fn is_simple(api: &Api<'_>, operation: &Operation) -> bool {
    let is_text = |parameter: &Parameter| match &parameter.ty {
        TypeRef::Primitive(Primitive::String) => true,
        TypeRef::Named(id) => {
            matches!(&api.type_def(*id).kind, TypeKind::Scalar(scalar) if scalar.inner == Primitive::String)
        }
        _ => false,
    };
    operation.body.is_none()
        && !operation.deprecated
        && operation.parameters.iter().all(|parameter| {
            // The setter of a parameter that is called like a method has another name.
            !METHODS.contains(&parameter.name.as_str())
                && (!parameter.required || is_text(parameter))
        })
}

/// Returns an example that serves an implementation of the server's traits.
fn server(api: &Api<'_>) -> String {
    let krate = api.names.krate("server");
    let is_secured = api.operations.iter().any(|operation| {
        operation
            .security
            .iter()
            .any(|alternative| !alternative.schemes.is_empty())
    });
    let bound = if is_secured {
        "Api<S::Principal>"
    } else {
        "Api"
    };
    let mut imports = vec!["Api", "router", "server"];
    let mut parameters = vec![format!("api: impl {bound}")];
    let mut arguments = vec!["api"];
    let mut bounds = Vec::new();
    if !api.security.is_empty() {
        imports.insert(1, "Security");
        parameters.push("security: S".to_owned());
        arguments.push("security");
        bounds.push(("S", "Security".to_owned()));
    }
    if let Some(error) = &api.error {
        let error = foreign_type(api, error).to_string().replace(' ', "");
        parameters.push("render: R".to_owned());
        arguments.push("render");
        bounds.push(("R", format!("server::RenderRejection<Body = {error}>")));
    } else {
        arguments.push("server::Problem");
    }
    let names: Vec<&str> = bounds.iter().map(|(name, _)| *name).collect();
    let generics = if names.is_empty() {
        String::new()
    } else {
        format!("<{}>", names.join(", "))
    };
    let bounds: String = bounds
        .iter()
        .map(|(name, bound)| format!("    {name}: {bound},\n"))
        .collect();
    let opening = if bounds.is_empty() {
        " {\n".to_owned()
    } else {
        format!("\nwhere\n{bounds}{{\n")
    };
    format!(
        "use {krate}::{{{}}};\n\nasync fn serve{generics}({}) -> std::io::Result<()>{opening}    \
         let app = router({}, server::Config::default());\n    \
         let listener = tokio::net::TcpListener::bind(\"127.0.0.1:8080\").await?;\n    \
         axum::serve(listener, app).await\n}}\n",
        imports.join(", "),
        parameters.join(", "),
        arguments.join(", ")
    )
}
