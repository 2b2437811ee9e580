//! Reads the examples of a document of others as a lenient client does, and prints how many there
//! are. `cargo xtask corpus foreign --examples` runs it on each document of its list.
//!
//! With more arguments, it writes a program that reads them as the generated types:
//! `read_examples DOCUMENT PREFIX CRATES RUNTIME FOLDER`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use tests::examples::{self, program};

/// The stack size in bytes of the thread that validates: schemas may nest deeply.
const STACK_BYTES: usize = 1 << 30;

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let run = move || match &arguments[..] {
        [document] => print(document),
        [document, prefix, crates, runtime, folder] => {
            let places = program::Places { crates, runtime };
            write(document, prefix, places, folder)
        }
        _ => Err("name a document, or a document, a prefix and three folders".to_owned()),
    };
    let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
    let thread = thread.expect("a thread can be started");
    match thread.join().expect("reading does not panic") {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the number of examples that are read, and of those that do not fit.
fn print(document: &Path) -> Result<String, String> {
    let (examples, _) = examples::read(&load(document)?, |_| Vec::new())?;
    Ok(examples.to_string())
}

/// Writes the program, and returns the number of the examples that it reads.
fn write(
    document: &Path,
    prefix: &Path,
    places: program::Places<'_>,
    folder: &Path,
) -> Result<String, String> {
    let prefix = prefix.to_str().ok_or("the prefix is no text")?;
    let count = program::write(&load(document)?, prefix, places, folder)?;
    Ok(count.to_string())
}

fn load(document: &Path) -> Result<contract::Contract, String> {
    let options = contract::Options {
        foreign: true,
        ..contract::Options::default()
    };
    let loaded = contract::load_with(document, &options);
    loaded
        .contract
        .ok_or_else(|| "the document is refused".to_owned())
}
