//! The live verdict beside what was changed since the base revision.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::PETS;
use crate::client::{Client, Unit};
use crate::git;

fn run_git(folder: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
        .args(arguments)
        .status();
    assert!(status.expect("git runs").success(), "{arguments:?}");
}

/// Returns the line and the words of each lens.
fn lenses(client: &mut Client) -> Vec<(u64, String)> {
    let asked = json!({"textDocument": {"uri": client.uri("api.yaml")}});
    let result = client
        .request("textDocument/codeLens", &asked)
        .expect("an answer");
    let one = |lens: &Value| {
        let line = lens["range"]["start"]["line"].as_u64().expect("a line") + 1;
        (
            line,
            lens["command"]["title"].as_str().expect("words").to_owned(),
        )
    };
    result.as_array().expect("a list").iter().map(one).collect()
}

/// Waits for lenses that fulfil a condition.
fn until(client: &mut Client, is_done: impl Fn(&[(u64, String)]) -> bool) -> Vec<(u64, String)> {
    loop {
        let found = lenses(client);
        if is_done(&found) {
            return found;
        }
        client.refreshed();
    }
}

#[test]
fn a_change_that_breaks_callers_has_a_lens_until_it_is_undone() {
    if !git::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    std::fs::write(folder.path().join("api.yaml"), PETS).expect("the document can be written");
    run_git(folder.path(), &["init", "--quiet"]);
    run_git(folder.path(), &["add", "."]);
    run_git(folder.path(), &["commit", "--quiet", "-m", "a"]);
    let mut client = Client::start_with(folder.path(), Unit::Utf16, &["--base", "HEAD"]);
    client.open("api.yaml", PETS);
    client.settled("api.yaml");
    client.refreshed();
    assert!(lenses(&mut client).is_empty());

    let at = client.find("api.yaml", "[cat, dog]");
    client.edit("api.yaml", at, at + 10, "[cat]");
    let found = until(&mut client, |found| !found.is_empty());
    assert_eq!(found.len(), 1, "{found:?}");
    let (line, words) = &found[0];
    assert!(
        words.starts_with("breaks callers of 1 operation"),
        "{words}"
    );
    let lines: Vec<&str> = client.text("api.yaml").lines().collect();
    let index = usize::try_from(*line).expect("a line");
    assert!(
        lines[index - 2..index]
            .iter()
            .any(|line| line.contains("Kind:")),
        "{line}"
    );

    // A lens moves with its lines at once, before the texts are compared again.
    client.edit("api.yaml", 0, 0, "# A comment.\n");
    assert_eq!(lenses(&mut client)[0].0, line + 1);

    let at = client.find("api.yaml", "[cat]");
    client.edit("api.yaml", at, at + 5, "[cat, dog]");
    until(&mut client, <[_]>::is_empty);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn what_the_policy_lets_pass_has_no_lens() {
    if !git::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let text = PETS.replace(
        "      operationId: pet_put\n",
        "      operationId: pet_put\n      x-stability: beta\n",
    );
    std::fs::write(folder.path().join("api.yaml"), &text).expect("the document can be written");
    let policy = "[diff]\nungated = [\"beta\"]\n";
    std::fs::write(folder.path().join("contract.toml"), policy).expect("it can be written");
    run_git(folder.path(), &["init", "--quiet"]);
    run_git(folder.path(), &["add", "."]);
    run_git(folder.path(), &["commit", "--quiet", "-m", "a"]);
    let mut client = Client::start_with(folder.path(), Unit::Utf16, &["--base", "HEAD"]);
    client.open("api.yaml", &text);
    client.settled("api.yaml");
    // The operation that changes its status is a beta; the parameter is of a stable one too.
    let at = client.find("api.yaml", "204");
    client.edit("api.yaml", at, at + 3, "202");
    let at = client.find("api.yaml", "maxLength: 40");
    client.edit("api.yaml", at, at + 13, "maxLength: 30");
    let found = until(&mut client, |found| !found.is_empty());
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1.contains("maxLength"), "{found:?}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn outside_of_a_repository_there_is_no_verdict() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut client = Client::start(folder.path());
    client.open("api.yaml", PETS);
    client.settled("api.yaml");
    assert!(lenses(&mut client).is_empty());
    assert_eq!(client.end(), Some(0));
}

/// Writes a program beside the hooks of a repository, which makes a file when it is started. Returns
/// the path of the program.
#[cfg(unix)]
fn write_hook(repository: &Path, name: &str, started: &Path) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = repository.join(".git/hooks");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let file = folder.join(name);
    let program = format!("#!/bin/sh\ntouch '{}'\n", started.display());
    std::fs::write(&file, program).expect("it can be written");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))
        .expect("it can be made a program");
    file
}

#[cfg(unix)]
#[test]
fn a_repository_that_nobody_trusts_starts_no_commands() {
    if !git::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("api.yaml"), PETS).expect("the document can be written");
    std::fs::write(at(".gitattributes"), "*.yaml filter=a\n").expect("it can be written");
    run_git(folder.path(), &["init", "--quiet"]);
    run_git(folder.path(), &["add", "."]);
    run_git(folder.path(), &["commit", "--quiet", "-m", "a"]);
    let started = at("started");
    let command = format!("touch '{}'; cat", started.display());
    run_git(folder.path(), &["config", "filter.a.smudge", &command]);
    write_hook(folder.path(), "post-index-change", &started);
    let changed = PETS.replace("[cat, dog]", "[cat]");
    let session = |arguments: &[&str]| {
        let mut client = Client::start_with(folder.path(), Unit::Utf16, arguments);
        client.open("api.yaml", &changed);
        client.settled("api.yaml");
        client
    };

    let mut client = session(&["--base", "HEAD", "--no-git"]);
    // The server answers in order, after a change that it would have compared.
    client.edit("api.yaml", 0, 0, "# A comment.\n");
    client.settled("api.yaml");
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(client.end(), Some(0));
    assert!(!started.exists());

    // With git, the document is read as it was committed, and git starts none of them either.
    let mut client = session(&["--base", "HEAD"]);
    until(&mut client, |found| !found.is_empty());
    assert_eq!(client.end(), Some(0));
    assert!(!started.exists());
}

#[cfg(unix)]
#[test]
fn a_revision_is_read_without_hooks_and_monitors_of_the_repository() {
    if !git::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("api.yaml"), PETS).expect("the document can be written");
    run_git(folder.path(), &["init", "--quiet"]);
    run_git(folder.path(), &["add", "."]);
    run_git(folder.path(), &["commit", "--quiet", "-m", "a"]);
    let started = at("started");
    write_hook(folder.path(), "post-index-change", &started);
    let monitor = write_hook(folder.path(), "monitor", &started);
    let monitor = monitor.display().to_string();
    run_git(folder.path(), &["config", "core.fsmonitor", &monitor]);

    let mut client = Client::start_with(folder.path(), Unit::Utf16, &["--base", "HEAD"]);
    client.open("api.yaml", &PETS.replace("[cat, dog]", "[cat]"));
    client.settled("api.yaml");
    until(&mut client, |found| !found.is_empty());
    assert_eq!(client.end(), Some(0));
    assert!(!started.exists());
}
