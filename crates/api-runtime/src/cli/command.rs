//! clap's command of a description: a command for each operation, with a flag for each input.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, ValueHint};

use super::Program;
use super::argument::{Bound, argument, bound};
use super::auth;
use super::builtin::{completions, manual};
use super::credentials::scheme_name;
use super::description::{BodyKind, Description, Operation, Place, SchemeKind};

/// The formats of the output.
pub(super) const FORMATS: [&str; 5] = ["table", "json", "yaml", "jsonl", "text"];
/// What the last lines of the help of each command say.
const EXIT_CODES: &str = "Exit codes: 0 success, 1 any other failure, 2 the arguments are wrong and nothing was sent, 4 a 4XX response, 5 a 5XX response, 6 no response, 7 --wait ended without the value that it waits for";

/// Returns the command of a program.
pub(super) fn command(program: &Program, description: &'static Description) -> Command {
    let about = first_line(&description.about);
    let about = if about.is_empty() {
        description.title.clone()
    } else {
        format!("{}: {about}", description.title)
    };
    let mut root = Command::new(program.name)
        .bin_name(program.name)
        .version(program.version)
        .about(about)
        .after_help(EXIT_CODES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .args(settings(description));
    for group in &description.groups {
        let operations = description.operations.iter();
        let operations = operations.filter(|one| one.group.as_ref() == Some(&group.name));
        root = root.subcommand(
            Command::new(&*group.name)
                .about(first_line(&group.about))
                .long_about(group.about.clone())
                .subcommand_required(true)
                .arg_required_else_help(true)
                .subcommands(operations.map(|one| operation(description, one))),
        );
    }
    let own = description
        .operations
        .iter()
        .filter(|one| one.group.is_none());
    let root = root
        .subcommands(own.map(|one| operation(description, one)))
        .subcommands(auth::command(description));
    #[cfg(feature = "mcp")]
    let root = root.subcommand(super::mcp::command(description));
    #[cfg(not(feature = "mcp"))]
    let root = root.subcommand(super::without_mcp::command(description));
    root.subcommand(completions()).subcommand(manual())
}

/// Returns the flags that every command has.
fn settings(description: &'static Description) -> Vec<Arg> {
    let servers = description.servers.join(", ");
    let url = format!("The URL that paths are appended to; the contract lists: {servers}");
    let mut arguments = vec![
        setting("url", "URL", &url).value_hint(ValueHint::Url),
        setting(
            "profile",
            "NAME",
            "The table `[profile.NAME]` of the configuration file",
        ),
        setting("config", "FILE", "The configuration file").value_hint(ValueHint::FilePath),
        setting(
            "output",
            "FORMAT",
            "How to print a response [default: table on a terminal, else json]",
        )
        .short('o')
        .value_parser(PossibleValuesParser::new(FORMATS)),
        setting(
            "query",
            "JSONPATH",
            "Print only what this JSONPath (RFC 9535) selects, such as $.items[*].name",
        ),
        setting(
            "save",
            "FILE",
            "Write the body of the response into a file, as it was received",
        )
        .value_hint(ValueHint::FilePath),
        switch(
            "show-secrets",
            "Print secret properties of the response too",
        ),
        switch(
            "dry-run",
            "Send nothing; print the request as a command of curl",
        ),
        setting(
            "timeout",
            "SECONDS",
            "How long a call may take, with its repeats [default: 60]",
        ),
        setting(
            "connect-timeout",
            "SECONDS",
            "How long connecting may take [default: 10]",
        ),
        setting(
            "retries",
            "NUMBER",
            "How often to repeat a call that failed temporarily and is safe to repeat [default: 2]",
        ),
    ];
    for (at, scheme) in description.schemes.iter().enumerate() {
        if scheme.kind != SchemeKind::Certificate {
            let id: &'static str = format!("{}-file", scheme_name(description, at)).leak();
            let form = match scheme.kind {
                SchemeKind::Basic => "USER:PASSWORD",
                _ => "the credential",
            };
            let help = format!("The file that has {form}; `-` is the standard input");
            let long = format!("{help}.\n\n{}", scheme.about);
            let long = long.trim_end().to_owned();
            arguments.push(
                setting(id, "FILE", &help)
                    .long_help(long)
                    .value_hint(ValueHint::FilePath),
            );
        }
    }
    arguments
}

fn setting(id: &'static str, value: &'static str, help: &str) -> Arg {
    let argument = Arg::new(id)
        .long(id)
        .value_name(value)
        .help(help.to_owned());
    argument.global(true).help_heading("Settings")
}

fn switch(id: &'static str, help: &'static str) -> Arg {
    let argument = Arg::new(id).long(id).action(ArgAction::SetTrue).help(help);
    argument.global(true).help_heading("Settings")
}

/// Returns the command of an operation.
fn operation(description: &Description, operation: &'static Operation) -> Command {
    let mut long = operation.about.clone();
    if operation.deprecated {
        long.push_str("\n\nThis operation is deprecated.");
    }
    if !operation.secrets.is_empty() {
        let names = operation.secrets.join(", ");
        long.push_str(&format!(
            "\n\nThe response has secrets ({names}), which are hidden unless you give --show-secrets or --save FILE."
        ));
    }
    let call = format!("{} {}", operation.method, operation.path);
    let about = Some(first_line(&operation.about)).filter(|about| !about.is_empty());
    long.push_str(&format!("\n\n{call}"));
    let mut command = Command::new(&*operation.name)
        .about(about.unwrap_or(call))
        .long_about(long.trim_start().to_owned());
    let bound = bound(description, operation);
    for bound in bound.iter().copied() {
        command = command.arg(argument(bound));
    }
    if operation.paging.is_some() {
        command = command.arg(own_switch("all", "Follow the pages, and print all items"));
    }
    if let Some(wait) = &operation.wait {
        let until = wait.until.join(", ");
        let help = format!("Repeat the call until `{}` is: {until}", wait.property);
        command = command.arg(own_switch("wait", help)).arg(
            Arg::new("wait-timeout")
                .long("wait-timeout")
                .value_name("SECONDS")
                .help("How long to wait [default: 600]"),
        );
    }
    body(operation, &bound, command)
}

/// Adds the flags of a request body.
fn body(operation: &'static Operation, bound: &[Bound], mut command: Command) -> Command {
    let Some(body) = &operation.body else {
        return command;
    };
    let what = match body.kind {
        BodyKind::Json if body.fields.is_empty() => "The body, as JSON",
        BodyKind::Json => "The body, as JSON, of which flags replace properties",
        BodyKind::Form | BodyKind::Multipart => {
            "The properties of the body, as JSON, of which flags replace some"
        }
        BodyKind::Bytes if body.media.starts_with("multipart/") => {
            "The whole multipart body, which begins with `--` and its boundary; there are no flags for its parts"
        }
        BodyKind::Bytes => "The body",
    };
    let help = format!(
        "{what}: itself, @FILE, or `-` for the standard input [{}]",
        body.media
    );
    let long = format!("{help}\n\n{}", body.about);
    command = command.arg(
        Arg::new("body")
            .long("body")
            .value_name("BODY|@FILE|-")
            .allow_hyphen_values(true)
            .help(help)
            .long_help(long),
    );
    let nullable: Vec<&'static str> = bound
        .iter()
        .filter(|bound| bound.input.nullable && bound.input.place == Place::Body)
        .map(|bound| bound.input.name.as_str())
        .collect();
    if !nullable.is_empty() {
        command = command.arg(
            Arg::new("null")
                .long("null")
                .value_name("PROPERTY")
                .action(ArgAction::Append)
                .value_parser(PossibleValuesParser::new(nullable))
                .help("A property to send as null; may be repeated"),
        );
    }
    command
}

fn own_switch(id: &'static str, help: impl Into<String>) -> Arg {
    let argument = Arg::new(id).long(id).action(ArgAction::SetTrue);
    argument.help(help.into())
}

/// Returns the first line of a text.
pub(super) fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().to_owned()
}
