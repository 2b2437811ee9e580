//! Credentials that the program keeps: in a file that only its owner can read.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;

use super::support::{Program, serve};
use super::{museum, without_credential};

const LIST: [&str; 4] = ["things", "list", "--hall", "north"];

/// Returns the file that a program keeps credentials in.
fn file(program: &Program) -> PathBuf {
    program.folder().join(".config/museum/credentials.toml")
}

fn login(program: &Program, more: &[&str], secret: &str) -> String {
    let login = ["auth", "login", "token", "--token-file", "-"];
    program.run_with(&[&login, more].concat(), secret).ok()
}

#[test]
fn what_login_keeps_is_sent_to_its_host_alone() {
    let (url, log) = serve();
    let (other, other_log) = serve();
    let museum = without_credential().with("MUSEUM_URL", &url);
    let said = login(&museum, &[], "k3pt\n");
    let kept = file(&museum);
    assert_eq!(
        said,
        format!("The credential for {url} is kept in {}.\n", kept.display())
    );
    let mode = fs::metadata(&kept).expect("it is there").mode();
    assert_eq!(mode & 0o777, 0o600);
    museum.run(&LIST).ok();
    assert_eq!(log.last().header("authorization"), Some("Bearer k3pt"));
    let elsewhere = [&LIST[..], &["--url", &other]].concat();
    let missing = museum.run(&elsewhere).failed(2);
    assert!(
        missing.contains("run `museum auth login token`, set MUSEUM_TOKEN"),
        "{missing}"
    );
    assert_eq!(other_log.len(), 0);
}

#[test]
fn what_is_set_comes_before_what_is_kept() {
    let (url, log) = serve();
    let museum = museum().with("MUSEUM_URL", &url);
    let said = login(&museum, &[], "k3pt");
    museum.run(&LIST).ok();
    assert_eq!(log.last().header("authorization"), Some("Bearer s3cret"));
    let status = museum.run(&["auth", "status"]).ok();
    assert!(
        status.contains("token: in the variable MUSEUM_TOKEN\n"),
        "{status}"
    );
    assert!(!status.contains("s3cret") && !status.contains("k3pt"));
    // A file that is given to `login` says nothing about later calls.
    assert!(
        said.ends_with("it is in the variable MUSEUM_TOKEN.\n"),
        "{said}"
    );
}

#[test]
fn a_profile_has_a_credential_of_its_own() {
    let (url, log) = serve();
    let museum = without_credential().with("MUSEUM_URL", &url);
    let folder = museum.folder().join(".config/museum");
    fs::create_dir_all(&folder).expect("it can be made");
    fs::write(folder.join("config.toml"), "[profile.night]\n").expect("it can be written");
    login(&museum, &[], "day");
    login(&museum, &["--profile", "night"], "night");
    let at_night = [&LIST[..], &["--profile", "night"]].concat();
    museum.run(&at_night).ok();
    assert_eq!(log.last().header("authorization"), Some("Bearer night"));
    museum.run(&LIST).ok();
    assert_eq!(log.last().header("authorization"), Some("Bearer day"));
}

#[test]
fn status_and_logout_say_what_there_is() {
    let (url, _) = serve();
    let museum = without_credential().with("MUSEUM_URL", &url);
    let none = museum.run(&["auth", "status"]);
    assert!(
        none.out
            .contains("token: none; run `museum auth login token`")
    );
    assert_eq!(none.failed(1), "error: there is no credential\n");
    login(&museum, &[], "k3pt");
    let status = museum.run(&["auth", "status"]).ok();
    let kept = format!("token: kept in {}\n", file(&museum).display());
    assert!(
        status.starts_with(&url) && status.contains(&kept),
        "{status}"
    );
    let logout = ["auth", "logout", "token"];
    assert_eq!(
        museum.run(&logout).ok(),
        format!("The credential for {url} is removed.\n")
    );
    assert_eq!(
        museum.run(&logout).ok(),
        format!("No credential is kept for {url}.\n")
    );
    museum.run(&LIST).failed(2);
    let text = fs::read_to_string(file(&museum)).expect("it is there");
    assert!(!text.contains("k3pt"), "{text}");
}

#[test]
fn a_file_that_others_can_read_is_refused() {
    let (url, log) = serve();
    let museum = without_credential().with("MUSEUM_URL", &url);
    login(&museum, &[], "k3pt");
    let open = fs::Permissions::from_mode(0o640);
    fs::set_permissions(file(&museum), open).expect("it can be changed");
    let refused = museum.run(&LIST).failed(2);
    assert!(refused.contains("others can read"), "{refused}");
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(file(&museum), private).expect("it can be changed");
    fs::write(file(&museum), "token = k3pt").expect("it can be written");
    let broken = museum.run(&LIST).failed(2);
    assert!(
        broken.contains("remove it") && !broken.contains("k3pt"),
        "{broken}"
    );
    assert_eq!(log.len(), 0);
}

#[test]
fn a_login_without_a_terminal_or_a_credential_keeps_nothing() {
    let museum = without_credential();
    let nobody = museum.run(&["auth", "login", "token"]).failed(2);
    assert!(nobody.contains("give --token-file FILE"), "{nobody}");
    let empty = ["auth", "login", "token", "--token-file", "-"];
    let empty = museum.run_with(&empty, "\n").failed(2);
    assert!(empty.contains("is empty"), "{empty}");
    museum.run(&["auth", "login"]).failed(2);
    assert!(!file(&museum).exists());
    let secret = ["auth", "status", "--url", "http://ada:s3cret@127.0.0.1"];
    let shown = museum.run(&secret);
    assert!(shown.out.starts_with("http://127.0.0.1\n"), "{}", shown.out);
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_does_not_show_what_is_typed() {
    let (url, log) = serve();
    let museum = without_credential().with("MUSEUM_URL", &url);
    let prompt = format!("token for {url}: ");
    let (shown, code) = museum.on_terminal(&["auth", "login", "token"], &prompt, "typ3d\n");
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains(&prompt) && !shown.contains("typ3d"),
        "{shown}"
    );
    museum.run(&LIST).ok();
    assert_eq!(log.last().header("authorization"), Some("Bearer typ3d"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_shows_what_is_typed_again_after_an_interrupt() {
    let (url, _) = serve();
    let museum = without_credential().with("MUSEUM_URL", &url);
    let prompt = format!("token for {url}: ");
    let (shown, code) = museum.on_terminal(&["auth", "login", "token"], &prompt, "typ3d\u{3}");
    assert_eq!(code, 128 + 2, "{shown}");
    assert!(!shown.contains("typ3d"), "{shown}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_shows_tables_and_how_far_a_list_is() {
    let (url, _) = serve();
    let museum = museum().with("MUSEUM_URL", &url);
    let (shown, code) = museum.on_terminal(&[&LIST[..], &["--all"]].concat(), "\0", "");
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains(" of 3 items"), "{shown}");
    // The bar is gone when the table comes.
    let table = shown.rsplit("\u{1b}[2K").next().unwrap_or_default();
    assert!(
        table.contains("amphora") && !table.contains("items"),
        "{shown}"
    );
}
