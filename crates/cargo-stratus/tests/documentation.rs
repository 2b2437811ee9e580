//! Runs the commands of README.md and docs/ in a repository such as their readers have.
//!
//! Each line of a code block for the shell is run here, or by what [`ELSEWHERE`] names, or needs
//! something that a test does not have.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The commands that the program has; `cargo xtask` has them too.
const COMMANDS: [&str; 7] = [
    "codegen", "diff", "lint", "lsp", "mock", "overlay", "preview",
];

/// Pages or starts of lines that this test does not run, and what runs them.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "CONTRIBUTING.md",
        "people, with tools that need not be there",
    ),
    ("docs/assistants.md", "tests/tests/command_line/mcp.rs"),
    ("docs/benchmarks.md", "people: it takes an hour"),
    ("docs/command-line.md", "tests/tests/command_line/ours.rs"),
    ("docs/languages.md", "xtask/src/examples.rs"),
    (
        "docs/scaling.md",
        "crates/stratusd/tests/service/concurrency.rs",
    ),
    (
        "docs/operating.md",
        "crates/stratusd/tests/service/documentation.rs",
    ),
    (
        "docs/provisioners.md",
        "crates/stratusd/tests/service/provisioners/page.rs",
    ),
    (
        "cargo xtask serve",
        "crates/stratusd/tests/service/documentation.rs",
    ),
    ("cargo stratus lsp", "xtask/tests/lsp"),
    ("cargo xtask test", "CI"),
    ("cargo xtask postgres", "CI"),
    (
        "cargo check --workspace",
        "clippy, of `cargo xtask test --lints`",
    ),
    (
        "cargo build --release --package xtask",
        "cargo xtask bench lsp",
    ),
    ("cargo install --git", "people: it needs the network"),
    ("npm --prefix editors/vscode", "xtask/src/editors/vscode.rs"),
    ("code --install-extension", "xtask/src/editors/vscode.rs"),
];

/// The pages that list what there is, and are for looking things up.
const REFERENCES: [&str; 2] = ["docs/extensions.md", "docs/openapi-3.2.md"];

/// A line of a code block for the shell.
struct Line {
    page: String,
    text: String,
}

impl Line {
    /// Returns whether something else runs the line.
    fn is_elsewhere(&self) -> bool {
        let starts =
            |(start, _): &(&str, &str)| self.page == *start || self.text.starts_with(start);
        ELSEWHERE.iter().any(starts)
    }
}

/// Returns the pages, by their paths in the repository.
fn pages() -> Vec<String> {
    let docs = fs::read_dir(Path::new(ROOT).join("docs")).expect("the folder is there");
    let names = docs.map(|entry| entry.expect("it can be read").file_name());
    let mut pages: Vec<String> = names
        .map(|name| format!("docs/{}", name.to_string_lossy()))
        .filter(|path| path.ends_with(".md") && path != "docs/rules.md")
        .collect();
    pages.extend(
        [
            "CONTRIBUTING.md",
            "README.md",
            "crates/cargo-stratus/README.md",
        ]
        .map(String::from),
    );
    pages.sort();
    pages
}

/// Returns the lines of the shell of a page.
fn lines(page: &str) -> Vec<Line> {
    let text = fs::read_to_string(Path::new(ROOT).join(page)).expect("the page can be read");
    let mut is_shell = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            is_shell = line == "```sh";
        } else if is_shell && !line.is_empty() {
            lines.push(Line {
                page: page.to_owned(),
                text: line.to_owned(),
            });
        }
    }
    lines
}

/// A repository with the documents that the pages speak of, its crates generated.
struct Repository {
    folder: TempDir,
    mock: Option<Mock>,
}

/// A mock that runs.
struct Mock {
    program: Child,
    address: String,
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.program.kill().expect("it runs");
        self.program.wait().expect("it ends");
    }
}

impl Repository {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents");
        let repository = Self { folder, mock: None };
        let home = repository.home();
        fs::create_dir(&home).expect("a folder can be made");
        for entry in fs::read_dir(documents).expect("the folder is there") {
            let from = entry.expect("it can be read").path();
            let name = from.file_name().expect("a file has a name");
            fs::copy(&from, home.join(name)).expect("it can be copied");
        }
        let workspace = "[workspace]\nresolver = \"3\"\nmembers = []\n";
        fs::write(home.join("Cargo.toml"), workspace).expect("it can be written");
        // `--runtime path=../stratus/…`: a clone beside the repository.
        #[cfg(unix)]
        std::os::unix::fs::symlink(ROOT, repository.folder.path().join("stratus"))
            .expect("a link can be made");
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.git(&["add", "."]);
        repository.git(&["commit", "--quiet", "--message=The documents"]);
        repository.git(&["tag", "v1.2"]);
        repository.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        let generated = repository.stratus(&["codegen".to_owned()]);
        generated.expect("the documents have crates");
        repository
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    fn git(&self, arguments: &[&str]) {
        let status = Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
            .args(arguments)
            .current_dir(self.home())
            .status();
        assert!(status.expect("git is there").success(), "git {arguments:?}");
    }

    /// Runs a command of the program. Returns what it says if it fails.
    fn stratus(&self, arguments: &[String]) -> Result<(), String> {
        let output = Command::new(env!("CARGO_BIN_EXE_cargo-stratus"))
            .arg("stratus")
            .args(arguments)
            .current_dir(self.home())
            .output()
            .expect("the program runs");
        let said = String::from_utf8_lossy(&output.stderr);
        let printed = String::from_utf8_lossy(&output.stdout);
        if output.status.success() {
            return Ok(());
        }
        Err(format!("{said}{printed}"))
    }

    /// Starts a mock or a preview, on a free port.
    fn serve(&mut self, arguments: &[String]) {
        let mut program = Command::new(env!("CARGO_BIN_EXE_cargo-stratus"))
            .arg("stratus")
            .args(arguments)
            .args(["--port", "0"])
            .current_dir(self.home())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let printed = BufReader::new(program.stdout.as_mut().expect("it is piped"));
        let first = printed
            .lines()
            .next()
            .expect("it says where it is")
            .expect("text");
        let address = first.split("http://").nth(1).expect("a URL");
        let end = address.find(|end: char| end == '/' || end.is_whitespace());
        let address = address[..end.unwrap_or(address.len())].to_owned();
        self.mock = Some(Mock { program, address });
    }

    /// Gets a page of what was started last. Returns the response if it is not 200.
    fn get(&self, url: &str) -> Result<(), String> {
        let mock = self.mock.as_ref().expect("a mock was started");
        let path = url
            .strip_prefix("http://127.0.0.1:4010")
            .expect("a URL of the mock");
        let mut stream = TcpStream::connect(&mock.address).expect("it listens");
        write!(
            stream,
            "GET {path} HTTP/1.0\r\nhost: {}\r\n\r\n",
            mock.address
        )
        .expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("it responds");
        if response.starts_with("HTTP/1.0 200 ") {
            return Ok(());
        }
        Err(response)
    }

    /// Runs a line. Returns what is wrong if it fails.
    fn run(&mut self, line: &Line) -> Result<(), String> {
        let words = shlex::split(&line.text).expect("a line of a shell");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["curl", url] => self.get(url)?,
            ["cargo", "xtask" | "stratus", command, ..] if COMMANDS.contains(&command) => {
                let arguments: Vec<String> =
                    words[2..].iter().map(|word| (*word).to_owned()).collect();
                match command {
                    "mock" | "preview" => self.serve(&arguments),
                    _ => self.stratus(&arguments)?,
                }
            }
            _ => return Err("nothing runs it".to_owned()),
        }
        Ok(())
    }
}

#[cfg(unix)]
#[test]
fn every_command_of_the_documentation_runs() {
    let (mut count, mut wrong) = (0, Vec::new());
    for page in pages() {
        let lines = lines(&page);
        let mut here = lines.iter().filter(|line| !line.is_elsewhere()).peekable();
        if here.peek().is_none() {
            continue;
        }
        let mut repository = Repository::new();
        for line in here {
            if let Err(said) = repository.run(line) {
                wrong.push(format!("{}: {}: {said}", line.page, line.text));
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 35, "{count} commands were found");
}

/// What is named above is still there.
#[test]
fn what_runs_the_other_commands_exists() {
    let lines: Vec<Line> = pages().iter().flat_map(|page| lines(page)).collect();
    for (start, runner) in ELSEWHERE {
        let is_used = |line: &Line| line.page == *start || line.text.starts_with(start);
        assert!(lines.iter().any(is_used), "no page has `{start}`");
        let is_path = !runner.contains(' ') && runner.contains('/');
        assert!(
            !is_path || Path::new(ROOT).join(runner).exists(),
            "{runner} is gone"
        );
    }
}

#[test]
fn every_page_begins_with_what_to_type() {
    for page in pages() {
        if !page.starts_with("docs/") || REFERENCES.contains(&page.as_str()) {
            continue;
        }
        let text = fs::read_to_string(Path::new(ROOT).join(&page)).expect("the page can be read");
        let mut lines = text.lines().filter(|line| !line.is_empty());
        assert!(
            lines.next().is_some_and(|title| title.starts_with("# ")),
            "{page}"
        );
        assert!(
            lines.next().is_some_and(|line| line.starts_with("```")),
            "{page}"
        );
    }
}

/// The entries name parts of documents and changes that this repository does not have, which is the
/// only thing that may be wrong with them.
#[cfg(unix)]
#[test]
fn every_policy_of_the_documentation_is_read() {
    let repository = Repository::new();
    let file = repository.home().join("contract.toml");
    let contract = fs::read_to_string(&file).expect("the file is there");
    let mut count = 0;
    for page in ["docs/lint.md", "docs/diff.md"] {
        for block in blocks(page, "toml") {
            fs::write(&file, format!("{contract}\n{block}")).expect("it can be written");
            for command in ["lint", "diff --base HEAD"] {
                let command = format!("{command} --today 2026-01-01");
                let arguments: Vec<String> = command.split(' ').map(str::to_owned).collect();
                let said = repository.stratus(&arguments).err().unwrap_or_default();
                let wrong = said.lines().filter(|line| line.starts_with("error"));
                let mut others = wrong.filter(|line| !line.starts_with("error[policy-idle]"));
                assert_eq!(others.next(), None, "{page}: {said}");
            }
            count += 1;
        }
    }
    assert_eq!(count, 3);
}

/// Returns the blocks of a page in a language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(ROOT).join(page)).expect("the page can be read");
    let start = format!("```{language}\n");
    let blocks = text.split(&start).skip(1);
    let blocks = blocks.filter_map(|block| block.split("```").next());
    blocks.map(str::to_owned).collect()
}

/// The languages of blocks on all pages, or on one, and what checks these blocks.
const LANGUAGES: &[(&str, &str, &str)] = &[
    ("sh", "", "every_command_of_the_documentation_runs"),
    (
        "json",
        "docs/assistants.md",
        "tests/tests/command_line/mcp/page.rs",
    ),
    ("json", "docs/editor.md", "xtask/src/editors/vscode.rs"),
    ("json", "docs/extensions.md", "tests/tests/extensions.rs"),
    ("lua", "docs/editor.md", "xtask/src/editors/neovim.rs"),
    ("toml", "README.md", "tests/tests/anywhere.rs"),
    ("toml", "docs/testing.md", "tests/tests/testing_page.rs"),
    (
        "toml",
        "docs/command-line.md",
        "tests/tests/command_line/ours.rs",
    ),
    (
        "toml",
        "docs/diff.md",
        "every_policy_of_the_documentation_is_read",
    ),
    ("toml", "docs/editor.md", "xtask/src/editors/helix.rs"),
    (
        "toml",
        "docs/lint.md",
        "every_policy_of_the_documentation_is_read",
    ),
    ("toml", "docs/repositories.md", "xtask/tests/contracts.rs"),
    ("toml", "docs/versions.md", "xtask/tests/contracts.rs"),
    ("yaml", "docs/ci.md", "xtask/tests/command_line.rs"),
    ("yaml", "docs/extensions.md", "tests/tests/extensions.rs"),
    ("yaml", "docs/openapi-3.2.md", "tests/tests/extensions.rs"),
    (
        "yaml",
        "docs/operating.md",
        "crates/stratusd/tests/service/gateway/proxies.rs",
    ),
    (
        "nginx",
        "docs/operating.md",
        "crates/stratusd/tests/service/gateway/proxies.rs",
    ),
    ("json5", "docs/extensions.md", "tests/tests/extensions.rs"),
    ("rust", "docs/extensions.md", "tests/tests/extensions.rs"),
    ("rust", "README.md", "tests/src/lib.rs"),
    ("rust", "docs/callers.md", "tests/src/lib.rs"),
    ("rust", "docs/foreign.md", "tests/src/lib.rs"),
    ("rust", "docs/implementers.md", "tests/src/lib.rs"),
    ("rust", "docs/testing.md", "tests/src/lib.rs"),
    (
        "text",
        "docs/diff.md",
        "crates/cargo-stratus/tests/printed.rs",
    ),
    (
        "text",
        "docs/mock.md",
        "crates/cargo-stratus/tests/printed.rs",
    ),
    (
        "text",
        "docs/provisioners.md",
        "crates/stratusd/tests/service/provisioners/page.rs",
    ),
    (
        "text",
        "docs/testing.md",
        "tests/tests/snapshots/expectations__the_verification_says_what_was_expected_and_what_was_received.snap",
    ),
];

#[test]
fn every_block_of_the_documentation_is_checked_by_something() {
    let mut used = vec![false; LANGUAGES.len()];
    for page in pages() {
        let text = fs::read_to_string(Path::new(ROOT).join(&page)).expect("the page can be read");
        let fences = text
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with("```"));
        for fence in fences.step_by(2) {
            let language = match fence.trim_start_matches('`') {
                "rust,no_run" => "rust",
                language => language,
            };
            let check = LANGUAGES
                .iter()
                .position(|(known, on, _)| *known == language && (on.is_empty() || *on == page));
            let check = check.unwrap_or_else(|| panic!("{page}: nothing checks `{fence}`"));
            used[check] = true;
        }
    }
    for (is_used, (language, page, runner)) in used.iter().zip(LANGUAGES) {
        assert!(is_used, "there is no {language} any more on {page}");
        let is_path = !runner.contains(' ') && runner.contains('/');
        assert!(
            !is_path || Path::new(ROOT).join(runner).exists(),
            "{runner} is gone"
        );
    }
}

/// Where the programs that read these files are missing, such as editors and proxies, what the files
/// contain is at least what their formats allow.
#[test]
fn every_file_in_the_documentation_is_well_formed() {
    let mut count = 0;
    for page in pages() {
        for block in blocks(&page, "toml") {
            let read = toml::from_str::<toml::Table>(&block);
            assert!(read.is_ok(), "{page}: {read:?}\n{block}");
            count += 1;
        }
        for block in blocks(&page, "json") {
            let read = serde_json::from_str::<serde_json::Value>(&block);
            assert!(read.is_ok(), "{page}: {read:?}\n{block}");
            count += 1;
        }
        for block in blocks(&page, "yaml") {
            let read = serde_saphyr::from_str::<serde_json::Value>(&block);
            assert!(read.is_ok(), "{page}: {read:?}\n{block}");
            count += 1;
        }
        for block in blocks(&page, "lua") {
            let read = full_moon::parse(&block);
            assert!(read.is_ok(), "{page}: {:?}\n{block}", read.err());
            count += 1;
        }
    }
    assert!(count > 25, "{count} files were found");
}
