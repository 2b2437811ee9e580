//! Crates of chosen operations: `codegen --only`.

#[path = "support/program.rs"]
mod program;

use std::fs;

use program::{documents, xtask};

#[test]
fn the_crates_have_the_chosen_operations_with_the_types_that_they_reach() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let folder = folder.path();
    let contract = documents().join("../../../openapi.yaml");
    fs::copy(contract, folder.join("api.yaml")).expect("the contract is there");
    let codegen = |more: &[&str]| {
        let arguments = ["codegen", "--contract", "api.yaml", "--out", "out"];
        xtask(folder, &[&arguments, more].concat())
    };
    let read = |path: &str| fs::read_to_string(folder.join("out").join(path));

    let only = ["--only", "vm", "--only", "private_subnet_view"];
    let (code, printed) = codegen(&only);
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains(": 3 operations"), "{printed}");
    let types = ["vm", "private_subnet"].map(|tag| read(&format!("api-types/src/{tag}.rs")));
    assert!(types.iter().all(Result::is_ok), "{types:?}");
    let served = read("api-server/src/openapi.yaml").expect("the served document");
    for (tag, operation) in [
        ("load_balancer", "load_balancer_list"),
        ("postgres", "postgres_view"),
    ] {
        assert!(read(&format!("api-types/src/{tag}.rs")).is_err());
        assert!(!served.contains(operation), "{served}");
    }
    assert_eq!(codegen(&[&only[..], &["--check"]].concat()).0, 0);

    // Without it, the crates are those of another contract.
    let (code, printed) = codegen(&["--only", "vm", "--check"]);
    assert_eq!(code, 4, "{printed}");
    let command = "cargo xtask codegen --contract api.yaml --out out --only vm\n";
    assert!(printed.contains(command), "{printed}");

    let (code, printed) = codegen(&["--only", "vm_lst"]);
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("did you mean `vm_list`"), "{printed}");
}
