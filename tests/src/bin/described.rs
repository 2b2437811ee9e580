//! A generated command line without its compilation: the program of the description and the schemas
//! in the folder that `DESCRIBED` names, under the name that `DESCRIBED_NAME` has.

use std::env;
use std::fs;
use std::process::ExitCode;

use api_runtime::Schemas;
use api_runtime::cli::Program;

fn main() -> ExitCode {
    let folder = env::var("DESCRIBED").expect("DESCRIBED names a folder");
    let name = env::var("DESCRIBED_NAME").expect("DESCRIBED_NAME has a name");
    let read = |file: &str| -> &'static str {
        let text = fs::read_to_string(format!("{folder}/{file}"));
        text.expect("the file is there").leak()
    };
    let program = Program {
        name: name.leak(),
        version: "1.0.0",
        operations: read("operations.json"),
        schemas: Box::leak(Box::new(Schemas::new(read("schemas.json")))),
    };
    program.run()
}
