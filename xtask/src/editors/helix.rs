//! Helix in a terminal, of which the screen is read.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::{Outcome, Scene};

/// The rows and columns of the terminal.
const SIZE: (u16, u16) = (40, 160);
/// How long the screen may take to show something. Only a failure takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn check(program: &Path, scene: &Scene) -> anyhow::Result<Outcome> {
    scene.write(
        "config/helix/languages.toml",
        &scene.block("Helix", "toml")?,
    )?;
    let mut terminal = Terminal::start(program, scene)?;
    let steps: [(&str, &str, &str); 4] = [
        ("", "a schema has no `requried`", "the diagnostic"),
        // To the next diagnostic, whose help is then below it.
        ("]d", " 18:", "the place of the diagnostic"),
        // To the reference, and what it refers to.
        ("/schemas/Pet\r k", "Pet · object", "the hover"),
        ("\x1bgd", "15:5", "the definition"),
    ];
    for (keys, shown, what) in steps {
        terminal.write(keys)?;
        if !terminal.shows(shown) {
            let screen = terminal.text();
            return Ok(Outcome::Failed(format!(
                "Helix does not show {what}:\n{screen}"
            )));
        }
    }
    terminal.write("\x1b:q!\r")?;
    Ok(Outcome::Passed(
        "the diagnostic, the hover and the definition".to_owned(),
    ))
}

/// An editor in a terminal, killed on drop.
struct Terminal {
    child: Child,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Terminal {
    /// Starts an editor by `script`, which gives it a terminal and passes on what is typed and shown.
    fn start(program: &Path, scene: &Scene) -> anyhow::Result<Self> {
        let (rows, columns) = SIZE;
        // The shell takes the paths from variables, so that it does not read them as commands.
        let command =
            format!("stty rows {rows} columns {columns}; exec \"$EDITOR_PROGRAM\" \"$DOCUMENT\"");
        let mut child = Command::new("script")
            .args([
                "--quiet",
                "--flush",
                "--return",
                "--command",
                &command,
                "/dev/null",
            ])
            .env("EDITOR_PROGRAM", program)
            .env("DOCUMENT", scene.document())
            .env("XDG_CONFIG_HOME", scene.path("config"))
            .env("XDG_CACHE_HOME", scene.path("cache"))
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh")
            .current_dir(scene.path("contract"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to start script: install util-linux")?;
        let mut shown = child.stdout.take().context("its output is piped")?;
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let own = Arc::clone(&screen);
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = shown.read(&mut piece) {
                own.lock()
                    .expect("no reader panics")
                    .process(&piece[..read]);
            }
        });
        Ok(Self { child, screen })
    }

    /// Types keys.
    fn write(&mut self, keys: &str) -> anyhow::Result<()> {
        let keyboard = self.child.stdin.as_mut().context("its input is piped")?;
        // A key after escape would be taken for one that is held together with alt.
        for key in keys.split_inclusive('\x1b') {
            keyboard
                .write_all(key.as_bytes())
                .context("failed to type")?;
            keyboard.flush().context("failed to type")?;
            thread::sleep(Duration::from_millis(if key.ends_with('\x1b') {
                200
            } else {
                0
            }));
        }
        Ok(())
    }

    /// Returns whether the screen shows a text, and waits for that.
    fn shows(&self, text: &str) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if self.text().contains(text) {
                return true;
            }
            thread::sleep(Duration::from_millis(20));
        }
        false
    }

    fn text(&self) -> String {
        let screen = self.screen.lock().expect("no reader panics");
        screen.screen().contents()
    }
}
