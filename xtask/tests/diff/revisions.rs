//! What is read from a git revision: the bytes that were committed, and nothing that a program of the
//! repository makes of them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{DONE, diff, git, path};

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

/// Runs git in a folder, as nobody in particular, and returns what it prints.
fn run(folder: &Path, arguments: &[&str], input: &str) -> String {
    use std::io::Write as _;
    let mut running = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=a", "-c", "user.email=a@b.c"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git runs");
    let mut stdin = running.stdin.take().expect("git reads");
    stdin.write_all(input.as_bytes()).expect("git reads");
    drop(stdin);
    let done = running.wait_with_output().expect("git ends");
    assert!(done.status.success(), "{arguments:?}: {done:?}");
    String::from_utf8(done.stdout).expect("git prints text")
}

/// Commits all files of a folder.
fn commit(folder: &Path) {
    run(folder, &["init", "--quiet"], "");
    run(folder, &["add", "--all"], "");
    run(folder, &["commit", "--quiet", "--message", "Begin"], "");
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("the file can be written");
}

const ARGUMENTS: [&str; 4] = ["--base", "HEAD", "--contract", "pets.yaml"];

#[test]
fn no_filter_of_the_repository_changes_what_was_committed() {
    if !git::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let root = folder.path();
    let old = path("get", "/a", DONE);
    write(root, "pets.yaml", &old);
    commit(root);
    write(root, ".gitattributes", "*.yaml filter=other\n");
    let smudge = "touch ran && sed 's,/a,/b,'";
    run(root, &["config", "filter.other.smudge", smudge], "");
    // With the filter, git would give the copy another path.
    let (code, printed, wrong) = diff(root, &ARGUMENTS);
    assert_eq!(code, 0, "{printed}{wrong}");
    assert!(!root.join("ran").exists(), "the filter has run");
    write(root, "pets.yaml", &path("get", "/b", DONE));
    let (code, printed, _) = diff(root, &ARGUMENTS);
    assert_eq!(code, 5, "{printed}");
    assert!(!root.join("ran").exists(), "the filter has run");
}

#[test]
fn a_pointer_of_git_lfs_says_where_its_content_is() {
    if !git::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let root = folder.path();
    let document = path("get", "/a", DONE);
    write(root, "pets.yaml", POINTER);
    commit(root);
    write(root, "pets.yaml", &document);
    let (code, _, wrong) = diff(root, &ARGUMENTS);
    assert_eq!(code, 1, "{wrong}");
    for part in [
        "`HEAD:pets.yaml` is a pointer of Git LFS",
        "`git worktree add ../before HEAD`",
        "diff ../before/pets.yaml`",
    ] {
        assert!(wrong.contains(part), "{wrong}");
    }
    // Beside the document too, where it would be read as a document of its own.
    let response = "{$ref: 'done.yaml'}";
    write(
        root,
        "pets.yaml",
        &document.replace("{description: Done.}", response),
    );
    write(root, "done.yaml", POINTER);
    run(root, &["add", "--all"], "");
    run(root, &["commit", "--quiet", "--message", "Go on"], "");
    write(root, "done.yaml", "description: Done.\n");
    let (code, _, wrong) = diff(root, &ARGUMENTS);
    assert_eq!(code, 1, "{wrong}");
    assert!(
        wrong.contains("note: `HEAD:done.yaml` is a pointer of Git LFS"),
        "{wrong}"
    );
}

/// Commits a symbolic link, without making it in the folder, so that it works where there are none.
fn commit_link(root: &Path, name: &str, target: &str) {
    let id = run(root, &["hash-object", "-w", "--stdin"], target);
    let entry = format!("120000,{},{name}", id.trim());
    run(root, &["update-index", "--add", "--cacheinfo", &entry], "");
    run(root, &["commit", "--quiet", "--message", "Link"], "");
}

#[test]
fn symbolic_links_lead_to_files_of_the_same_revision_alone() {
    if !git::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let root = folder.path();
    let outside = tempfile::tempdir().expect("a folder can be made");
    write(outside.path(), "done.yaml", "description: Done.\n");
    let document = path("get", "/a", DONE);
    let linked = document.replace("{description: Done.}", "{$ref: 'linked.yaml'}");
    write(root, "pets.yaml", &linked);
    write(root, "done.yaml", "description: Done.\n");
    commit(root);
    let link = |target: &str| commit_link(root, "linked.yaml", target);
    write(root, "linked.yaml", "description: Done.\n");
    link("./done.yaml");
    let (code, printed, wrong) = diff(root, &ARGUMENTS);
    assert_eq!(code, 0, "{printed}{wrong}");
    let beyond = outside.path().join("done.yaml");
    for target in [
        beyond.to_str().expect("the path is text"),
        "../done.yaml",
        "linked.yaml",
        // From the root of the disk, not of the repository.
        "/done.yaml",
    ] {
        link(target);
        let (code, _, wrong) = diff(root, &ARGUMENTS);
        assert_eq!(code, 1, "{target}: {wrong}");
        assert!(wrong.contains("linked.yaml"), "{target}: {wrong}");
    }
}

#[cfg(unix)]
#[test]
fn linked_folders_lead_to_folders_of_the_same_revision_alone() {
    if !git::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let root = folder.path();
    let outside = tempfile::tempdir().expect("a folder can be made");
    write(outside.path(), "done.yaml", "description: Done.\n");
    let document = path("get", "/a", DONE);
    let linked = document.replace("{description: Done.}", "{$ref: 'vendor/done.yaml'}");
    write(root, "pets.yaml", &linked);
    std::fs::create_dir_all(root.join("shared/deep")).expect("a folder can be made");
    write(root, "shared/deep/done.yaml", "description: Done.\n");
    commit(root);
    // The working copy has a folder at the place of the link.
    std::fs::create_dir(root.join("vendor")).expect("a folder can be made");
    write(root, "vendor/done.yaml", "description: Done.\n");
    let link = |name: &str, target: &str| commit_link(root, name, target);
    link("other", "shared");
    for target in ["shared/deep", "./other/deep", "other/../shared/deep"] {
        link("vendor", target);
        let (code, printed, wrong) = diff(root, &ARGUMENTS);
        assert_eq!(code, 0, "{target}: {printed}{wrong}");
    }
    // A document that is a link to a file in a linked folder.
    link("linked.yaml", "other/deep/done.yaml");
    let through = linked.replace("vendor/done.yaml", "linked.yaml");
    write(root, "pets.yaml", &through);
    run(root, &["add", "pets.yaml"], "");
    run(root, &["commit", "--quiet", "--message", "Change"], "");
    write(root, "linked.yaml", "description: Done.\n");
    let (code, printed, wrong) = diff(root, &ARGUMENTS);
    assert_eq!(code, 0, "{printed}{wrong}");
    write(root, "pets.yaml", &linked);
    run(root, &["add", "pets.yaml"], "");
    let beyond = outside.path().to_str().expect("the path is text");
    for target in [
        beyond,
        "..",
        "../..",
        "vendor",
        "shared/none",
        "/shared/deep",
    ] {
        link("vendor", target);
        let (code, _, wrong) = diff(root, &ARGUMENTS);
        assert_eq!(code, 1, "{target}: {wrong}");
        assert!(wrong.contains("vendor/done.yaml"), "{target}: {wrong}");
    }
}

#[cfg(unix)]
#[test]
fn the_folder_above_a_linked_one_is_above_its_target() {
    if !git::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let root = folder.path();
    let document = path("get", "/a", DONE);
    let linked = document.replace("{description: Done.}", "{$ref: 'vendor/done.yaml'}");
    write(root, "pets.yaml", &linked);
    for name in ["far/deep", "far/shared", "shared"] {
        std::fs::create_dir_all(root.join(name)).expect("a folder can be made");
    }
    write(root, "far/deep/more.yaml", "description: More.\n");
    // By its text, the path would lead to this one, which is no response.
    write(root, "shared/done.yaml", "description: [1]\n");
    write(root, "far/shared/done.yaml", "description: Done.\n");
    commit(root);
    std::fs::create_dir(root.join("vendor")).expect("a folder can be made");
    write(root, "vendor/done.yaml", "description: Done.\n");
    commit_link(root, "other", "far/deep");
    commit_link(root, "vendor", "other/../shared");
    let (code, printed, wrong) = diff(root, &ARGUMENTS);
    assert_eq!(code, 0, "{printed}{wrong}");
}

#[test]
fn no_file_of_the_working_copy_is_read_in_place_of_that_of_a_revision() {
    if !git::is_installed() {
        return;
    }
    let outside = tempfile::tempdir().expect("a folder can be made");
    let root = &outside.path().join("pets");
    std::fs::create_dir(root).expect("a folder can be made");
    let schema = |max: u32| format!("{{type: string, maxLength: {max}}}\n");
    let document = |file: &Path| {
        let body = format!(
            "requestBody: {{content: {{application/json: {{schema: {{$ref: '{}'}}}}}}}}, {DONE}",
            file.display()
        );
        path("post", "/a", &body)
    };
    // An absolute path into the repository is that of the revision.
    write(root, "name.yaml", &schema(9));
    write(root, "pets.yaml", &document(&root.join("name.yaml")));
    commit(root);
    write(root, "name.yaml", &schema(5));
    let (code, printed, wrong) = diff(root, &ARGUMENTS);
    assert_eq!(code, 5, "{printed}{wrong}");
    assert!(printed.contains("`maxLength` 9 → 5"), "{printed}");
    // A file outside has no revision.
    write(outside.path(), "name.yaml", &schema(9));
    for file in [outside.path().join("name.yaml"), "../name.yaml".into()] {
        write(root, "pets.yaml", &document(&file));
        run(
            root,
            &["commit", "--quiet", "--all", "--message", "Go on"],
            "",
        );
        let (code, _, wrong) = diff(root, &ARGUMENTS);
        assert_eq!(code, 1, "{wrong}");
        let words = "is outside of the repository, so it is not part of `HEAD`";
        assert!(wrong.contains(words), "{wrong}");
    }
}
