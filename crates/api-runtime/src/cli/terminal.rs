//! Asking on a terminal for what it must not show.

#[cfg(not(unix))]
pub(super) use rpassword::prompt_password as ask_hidden;
#[cfg(unix)]
pub(super) use unix::ask_hidden;

#[cfg(unix)]
mod unix {
    use std::fs::{File, OpenOptions};
    use std::io::{self, Read, Write as _};

    use rustix::process::{Signal, getpid, kill_process};
    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
    };

    /// What a terminal sends for Ctrl-C while it makes no signal of it.
    const CTRL_C: u8 = 0x03;

    /// Asks a question on the terminal of the program, and returns the line that is typed.
    ///
    /// `rpassword` alone would ask before it hides: what somebody pastes at once would be shown. It
    /// would also leave the terminal hidden after Ctrl-C.
    pub(in crate::cli) fn ask_hidden(question: &str) -> io::Result<String> {
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        let hidden = Hidden::new(&terminal)?;
        (&terminal).write_all(question.as_bytes())?;
        let keys = rpassword::ConfigBuilder::new()
            .input_reader(Keys(terminal.try_clone()?))
            .output_discard();
        let typed = rpassword::read_password_with_config(keys.build());
        drop(hidden);
        writeln!(&terminal)?;
        if matches!(&typed, Err(error) if error.kind() == io::ErrorKind::ConnectionAborted) {
            kill_process(getpid(), Signal::INT)?;
        }
        typed
    }

    /// A terminal that shows nothing that is typed, as long as this value lives.
    struct Hidden<'t> {
        terminal: &'t File,
        before: Termios,
    }

    impl<'t> Hidden<'t> {
        fn new(terminal: &'t File) -> io::Result<Self> {
            let before = tcgetattr(terminal)?;
            let mut hidden = before.clone();
            // Keys come one by one, Ctrl-C among them: a signal would end the program while the
            // terminal is hidden.
            hidden.local_modes -=
                LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG;
            hidden.special_codes[SpecialCodeIndex::VMIN] = 1;
            hidden.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(terminal, OptionalActions::Now, &hidden)?;
            Ok(Self { terminal, before })
        }
    }

    impl Drop for Hidden<'_> {
        fn drop(&mut self) {
            // There is nobody to tell if the terminal is gone.
            let _ = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
        }
    }

    /// The keys of a terminal; Ctrl-C is the error `ConnectionAborted`.
    struct Keys(File);

    impl Read for Keys {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let read = self.0.read(buffer)?;
            if buffer[..read].contains(&CTRL_C) {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            Ok(read)
        }
    }
}
