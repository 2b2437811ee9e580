//! The example of a README, which uses an operation of the contract and is compiled as a doctest.

mod rejection;

pub(crate) use rejection::statements as error_statements;

use contract::model::{Method, SecurityKind};

use super::part::Part;
use crate::client::names::{METHODS, SETTINGS};
use crate::ir::{Api, Operation, Parameter, Primitive, TypeDef, TypeKind, TypeRef};
use crate::server;
use crate::tokens::foreign_type;

/// Returns the example as a code block of Markdown, or `None` for a types crate without types.
pub(super) fn example(api: &Api<'_>, part: Part) -> Option<String> {
    let (attributes, code) = match part {
        Part::Types => ("rust", types(api)?),
        Part::Client => ("rust,no_run", client(api)),
        Part::Server => ("rust,no_run", server(api)),
        Part::Mock => ("rust,no_run", mocked(api)?),
        Part::Cli => return None,
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
    let url = base_url(api);
    let make = format!("{krate}::Client::builder(\"{url}\"){credential}.build()?;\n");
    let Some(operation) = simple_operation(api) else {
        return format!(
            "fn main() -> Result<(), Box<dyn std::error::Error>> {{\n    let _client = {make}    Ok(())\n}}\n"
        );
    };
    let tag = &api.tags[operation.tag];
    let arguments = arguments(operation);
    format!(
        "use {krate}::{}::{};\n\n\
         #[tokio::main]\nasync fn main() -> Result<(), Box<dyn std::error::Error>> {{\n    \
         let client = {make}    \
         let response = client\n        .{}()\n{arguments}        .send()\n        .await?;\n    \
         println!(\"{{}}\", response.status());\n    Ok(())\n}}\n",
        tag.module, tag.client_trait, operation.name
    )
}

/// The maximum number of bytes of a URL in an example.
const LONGEST_URL: usize = 200;

/// Returns the URL that examples call: that of the contract's first server, with the defaults of its
/// variables, or else one that stands for any. A subscriber gives its own URL, so none is there for a
/// sender of webhooks.
pub(super) fn base_url(api: &Api<'_>) -> String {
    let any = "https://api.example.com";
    let Some(server) = api
        .contract
        .servers
        .first()
        .filter(|_| !api.names.is_reversed)
    else {
        return any.to_owned();
    };
    let url = server.default_url();
    // The URL stands within a literal, within Markdown, so it must need no escape in either.
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-._~:/[]@!$&'()*+,;=%".contains(it);
    let is_absolute = ["https://", "http://"].iter().any(|scheme| {
        url.strip_prefix(scheme).is_some_and(|host| {
            host.starts_with(|it: char| it.is_ascii_alphanumeric() || it == '[')
        })
    });
    match url.trim_end_matches('/') {
        url if url.len() > LONGEST_URL || !url.chars().all(is_plain) => any.to_owned(),
        url if is_absolute => url.to_owned(),
        // A path of the host that served the document.
        url if url.starts_with('/') && !url.starts_with("//") => format!("{any}{url}"),
        _ => any.to_owned(),
    }
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

/// Returns a test of a caller, who calls the mock by the client, or `None` without an operation that
/// can be called with strings alone.
pub(super) fn test(api: &Api<'_>) -> Option<String> {
    let operation = simple_operation(api)?;
    let (krate, credential) = (api.names.krate("client"), credential(api));
    let call = format!(
        "    let client = Client::builder(mock.serve().await?){credential}.build()?;\n    \
         let response = client\n        .{}()\n{}        .send()\n        .await?;\n    \
         assert!(response.status().is_success());\n",
        operation.name,
        arguments(operation)
    );
    let test = test_of(api, operation, "Box<dyn std::error::Error>", &call);
    Some(format!("use {krate}::prelude::*;\n{test}"))
}

/// Returns a test of any caller, or `None` for an API without operations.
fn mocked(api: &Api<'_>) -> Option<String> {
    let operation = simple_operation(api).or_else(|| api.operations.first())?;
    let call = "    let url = mock.serve().await?;\n    println!(\"call what you test, with the API at {url}\");\n";
    Some(test_of(api, operation, "std::io::Error", call))
}

/// Returns a test with an expectation of an operation, which some statements call.
fn test_of(api: &Api<'_>, operation: &Operation, error: &str, call: &str) -> String {
    let mock = api.names.krate("mock");
    let (import, response) = if let Some(TypeRef::Named(id)) = server::only_body(operation) {
        let name = &api.type_def(*id).name;
        ("types".to_owned(), format!("types::{name}"))
    } else {
        let (server, module) = (api.names.krate("server"), &api.tags[operation.tag].module);
        let name = format!("{server}::{module}::{}Response", operation.pascal);
        (server, name)
    };
    let respond = if server::is_clone(operation) {
        "times(1).respond"
    } else {
        "respond_once"
    };
    // Without a renderer of its own, the mock has to be given.
    let (parameter, create) = if crate::mock::makes_errors(api) {
        ("", "    let mock = Mock::new();\n")
    } else {
        ("mock: Mock, ", "")
    };
    let method = crate::mock::method(api, operation);
    format!(
        "use {mock}::{{Mock, {import}}};\n\n\
         // Call it in a test, with a response of yours.\n\
         async fn check({parameter}response: {response}) -> Result<(), {error}> {{\n\
         {create}    mock.{method}().{respond}(response);\n\n\
         {call}\n    mock.verify();\n    Ok(())\n}}\n"
    )
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

/// Returns a program that serves the API, in which no operation is written yet.
fn server(api: &Api<'_>) -> String {
    let krate = api.names.krate("server");
    let is_secured = (0..api.tags.len()).any(|tag| server::is_secured(api, tag));
    // The program depends on the server crate alone.
    let types = server::types_module(api);
    let mut imports = vec!["router", "server"];
    let mut arguments = vec!["Service"];
    let mut roles = vec!["implements the API"];
    let mut items = implementations(api, &krate);
    if is_secured {
        items.push_str(
            "/// The caller of a request, as handlers get it.\n#[derive(Clone)]\nstruct Caller;\n\n",
        );
    }
    if !api.security.is_empty() {
        imports.insert(0, "Security");
        arguments.push("Service");
        roles.push("checks credentials");
        items.push_str(&security(api, is_secured));
    }
    let mut begin = "#[tokio::main]\nasync fn main() -> std::io::Result<()> {\n".to_owned();
    if let Some(error) = &api.error {
        let ty = foreign_type(api, error).to_string().replace(' ', "");
        let ty = ty.replace(&api.names.krate("types"), &types);
        if let Some(statements) = rejection::statements(api, &types, error) {
            arguments.push("Service");
            roles.push("writes the bodies of rejections");
            items.push_str(&rejections(&ty, &statements));
        } else {
            // An error that only the author of the API can fill in is an argument: a function that
            // panics in its place would fail requests.
            arguments.push("rejections");
            begin = serve(&ty);
        }
        if [&items, &begin]
            .iter()
            .any(|text| text.contains(&format!("{types}::")))
        {
            imports.push(&types);
        }
    } else {
        arguments.push("server::Problem");
    }
    let roles = match roles.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    };
    let roles = roles.replacen('i', "I", 1);
    format!(
        "use {krate}::{{{}}};\n\n/// {roles}.\nstruct Service;\n\n{items}\
         {begin}    \
         let app = router({}, server::Config::default());\n    \
         let listener = tokio::net::TcpListener::bind(\"127.0.0.1:8080\").await?;\n    \
         axum::serve(listener, app).await\n}}\n",
        imports.join(", "),
        arguments.join(", ")
    )
}

/// Returns an implementation of each tag's trait, in which all operations are stubs.
fn implementations(api: &Api<'_>, krate: &str) -> String {
    let mut text = String::new();
    if !api.tags.is_empty() {
        text.push_str(
            "// Each operation responds with 501. To begin with one, write it as a method, and list the others\n\
             // of the tag in place of `..`: the compiler says which are missing.\n",
        );
    }
    for (at, tag) in api.tags.iter().enumerate() {
        let (generics, principal) = if server::is_secured(api, at) {
            ("<Caller>", "Caller: ")
        } else {
            ("", "")
        };
        let (module, name) = (&tag.module, &tag.server_trait);
        text.push_str(&format!(
            "impl {krate}::{module}::{name}{generics} for Service {{\n    \
             {krate}::{}_stubs!({principal}..);\n}}\n\n",
            module.trim_start_matches("r#")
        ));
    }
    text
}

/// Returns an implementation of `Security`, which accepts one secret where a credential is one.
fn security(api: &Api<'_>, is_secured: bool) -> String {
    let principal = if is_secured { "Caller" } else { "()" };
    let mut text = format!("impl Security for Service {{\n    type Principal = {principal};\n");
    for server::Check { name, arguments } in server::checks(api) {
        let secret = match arguments.as_slice() {
            [(ty, _)] => match ty.as_str() {
                "Bearer" => Some("token"),
                "ApiKey" => Some("value"),
                "Basic" => Some("password"),
                _ => None,
            },
            _ => None,
        };
        let credential = if secret.is_some() { "credential" } else { "_" };
        let mut inputs: String = arguments
            .iter()
            .map(|(ty, has_scopes)| {
                let scopes = if *has_scopes {
                    "        _: &'static [&'static str],\n"
                } else {
                    ""
                };
                format!("        {credential}: server::{ty},\n{scopes}")
            })
            .collect();
        inputs.push_str("        _: &'static server::Operation,\n");
        let body = secret.map_or_else(
            || "        Err(server::AuthError::Invalid)\n".to_owned(),
            |field| {
                format!(
                    "        if credential.{field} == \"…\" {{\n            Ok({principal})\n        }} else {{\n            \
                     Err(server::AuthError::Invalid)\n        }}\n"
                )
            },
        );
        text.push_str(&format!(
            "\n    async fn {name}(\n        &self,\n{inputs}    ) -> Result<{principal}, server::AuthError> {{\n{body}    }}\n"
        ));
    }
    text.push_str("}\n\n");
    text
}

/// Returns an implementation of `RenderRejection` for the contract's error `ty`, which some statements
/// make.
fn rejections(ty: &str, statements: &str) -> String {
    format!(
        "impl server::RenderRejection for Service {{\n    type Body = {ty};\n\n    \
         fn render(&self, rejection: &server::Rejection) -> Self::Body {{\n        \
         // For what the router rejects, such as an unknown path: `rejection.kind` says why, and\n        \
         // `rejection.violations` which parts of the request do not fit.\n{statements}    }}\n}}\n\n"
    )
}

/// Returns the head of a function that serves the API with a given renderer of the contract's error.
fn serve(ty: &str) -> String {
    format!(
        "/// Serves the API. `rejections` writes the contract's error for what the router rejects, such as\n\
         /// an unknown path. Call it in `main` with a type of yours that implements `server::RenderRejection`.\n\
         async fn serve(\n    rejections: impl server::RenderRejection<Body = {ty}>,\n\
         ) -> std::io::Result<()> {{\n"
    )
}
