//! Reads the examples of a document of others as a lenient client does, and prints how many there
//! are. `cargo xtask corpus foreign --examples` runs it on each document of its list.

use std::path::Path;
use std::process::ExitCode;
use std::thread;

use tests::examples;

/// The stack size in bytes of the thread that validates: schemas may nest deeply.
const STACK_BYTES: usize = 1 << 30;

fn main() -> ExitCode {
    let Some(document) = std::env::args_os().nth(1) else {
        eprintln!("error: name a document");
        return ExitCode::from(2);
    };
    let run = move || {
        let options = contract::Options {
            foreign: true,
            ..contract::Options::default()
        };
        let loaded = contract::load_with(Path::new(&document), &options);
        let contract = loaded.contract.ok_or("the document is refused")?;
        examples::read(&contract, |_| Vec::new())
    };
    let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
    let thread = thread.expect("a thread can be started");
    match thread.join().expect("reading does not panic") {
        Ok((examples, _)) => {
            println!("{examples}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
