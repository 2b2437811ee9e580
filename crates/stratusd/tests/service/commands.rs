//! The commands of the operator: inventories, settings, tokens and keys.

mod databases;
mod inventories;
mod secrets;
mod settings;

use insta::assert_snapshot;

use crate::support::Home;
use crate::support::inventory::two_projects;

#[test]
fn help_lists_commands_and_flags() {
    let home = Home::sqlite();
    for command in [
        "",
        "serve",
        "balance",
        "balancers",
        "databases",
        "provisioner",
        "apply",
        "token issue",
        "audit",
        "key rotate",
        "restore-database",
        "upgrade-database",
        "provision",
        "check-provisioner",
    ] {
        let arguments: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        assert_snapshot!(
            format!("help {command}").trim().replace(' ', "_"),
            home.succeed(&arguments)
        );
    }
}

#[test]
fn a_closed_standard_output_is_not_a_failure() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    home.token("shop", &[]);
    for command in [
        "config",
        "schema",
        "key generate",
        "key rotate",
        "apply inventory.yaml",
        "token list --project shop",
        "audit",
    ] {
        let arguments: Vec<&str> = command.split_whitespace().collect();
        let (reader, writer) = std::io::pipe().expect("a pipe can be made");
        drop(reader);
        let output = home
            .command(&arguments)
            .stdout(writer)
            .output()
            .expect("the program starts");
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{command}: {output:?}"
        );
    }
    // Any other failure is an error.
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("Linux has the device /dev/full");
    let output = home
        .command(&["config"])
        .stdout(full)
        .output()
        .expect("the program starts");
    let said = String::from_utf8(output.stderr).expect("stderr is UTF-8");
    assert!(
        said.starts_with("error: failed to write to standard output: "),
        "{said}"
    );
}
