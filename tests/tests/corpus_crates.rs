//! The crates of public documents compile, with and without their features.

use std::fs;

use tests::outside;
use tests::standalone::Standalone;

const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

#[test]
fn contracts_of_others_become_crates_that_compile() {
    let Some(corpus) = outside::folder("STRATUS_CORPUS") else {
        return;
    };
    for (file, name) in [
        ("museum.yaml", "museum"),
        ("petstore.yml", "petstore"),
        ("nexus.json", "nexus"),
    ] {
        let text = fs::read(corpus.join(file)).expect("the document can be read");
        let crates = Standalone::generate(SCRATCH, name, file, &text, name);
        let _ = crates.cargo_succeeds(&["check", "--workspace", "--all-targets", "--all-features"]);
        let _ = crates.cargo_succeeds(&["check", "--workspace", "--no-default-features"]);
    }
}
