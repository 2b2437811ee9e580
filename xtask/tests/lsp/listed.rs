//! Documents that `contract.toml` lists: which are checked, and how they are read.

use std::fs;

use serde_json::{Value, json};

use crate::PETS;
use crate::client::{Client, Unit};

/// Lists the document with an overlay, and another one as somebody else's.
const LISTED: &str = "\
[[contract]]
document = \"api.yaml\"
name = \"pets\"
overlays = [\"mend.yaml\"]

[[contract]]
document = \"other.yaml\"
name = \"other\"
foreign = true
";

/// Removes what is wrong with the document.
const MEND: &str = "\
overlay: 1.0.0
info: {title: Mend, version: '1'}
actions:
  - target: $.components.schemas.Pet.properties.name.max_length
    remove: true
";

/// Returns the severities of diagnostics: 1 is an error, and 2 a warning.
fn severities(diagnostics: &[Value]) -> Vec<i64> {
    let severities = diagnostics.iter().map(|one| one["severity"].as_i64());
    severities.map(|one| one.expect("a severity")).collect()
}

#[test]
fn a_listed_document_is_read_as_its_entry_says() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("the file can be written");
    };
    // A keyword is misspelt.
    let wrong = PETS.replace(
        "name: {type: string, maxLength: 100}",
        "name: {type: string, max_length: 100}",
    );
    for name in ["api.yaml", "other.yaml", "third.yaml"] {
        write(name, &wrong);
    }
    write("mend.yaml", MEND);
    write("contract.toml", LISTED);

    let mut client = Client::launch(folder.path(), Unit::Utf16, &[]);
    let root = client.uri("api.yaml").replace("/api.yaml", "");
    let parameters = json!({"processId": null, "rootUri": root, "capabilities": {}});
    let started = client.request("initialize", &parameters);
    assert!(started.is_ok());
    client.notify("initialized", &json!({}));
    client.open("api.yaml", &wrong);
    assert_eq!(client.settled("api.yaml"), Vec::<Value>::new());
    client.open("third.yaml", &wrong);
    assert!(severities(&client.settled("third.yaml")).contains(&1));
    // Listed, and not open.
    let about = client.until("other.yaml", |about| !about.is_empty());
    assert!(!severities(&about).contains(&1), "{about:?}");

    // An argument comes before all entries.
    let arguments = ["--formats", "annotation"];
    let mut client = Client::start_with(folder.path(), Unit::Utf16, &arguments);
    client.open("api.yaml", &wrong);
    assert!(severities(&client.settled("api.yaml")).contains(&1));

    // A changed file counts at the next edit.
    let mut client = Client::start(folder.path());
    write("contract.toml", "");
    client.open("api.yaml", &wrong);
    assert!(severities(&client.settled("api.yaml")).contains(&1));
}
