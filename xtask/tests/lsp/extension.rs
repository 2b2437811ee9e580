//! The extension of VS Code: what it starts in a folder before and after somebody trusts it.

use std::path::Path;
use std::process::Command;

#[test]
fn the_extension_starts_no_git_before_a_folder_is_trusted() {
    if Command::new("node").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "CI must have Node.js");
        println!("skipped: Node.js is not installed");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("node")
        .arg(root.join("tests/lsp/extension.js"))
        .arg(root.join("../editors/vscode/extension.js"))
        // Any program will do, since the test starts none.
        .arg(env!("CARGO_BIN_EXE_xtask"))
        .output()
        .expect("node starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    let expected = ["lsp --base main --no-git", "lsp --base main"];
    assert_eq!(lines, expected, "{output:?}");
}
