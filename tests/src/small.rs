//! Contracts of a few lines: adds what every document needs to the part under test.

/// Returns an OpenAPI 3.1 document with these schemas, given as the YAML below
/// `components.schemas`.
#[must_use]
pub fn schemas(yaml: &str) -> String {
    document("3.1.0", yaml)
}

/// Returns an OpenAPI 3.0 document with these schemas, given as the YAML below
/// `components.schemas`.
#[must_use]
pub fn schemas_30(yaml: &str) -> String {
    document("3.0.3", yaml)
}

fn document(version: &str, yaml: &str) -> String {
    let mut text = format!(
        "openapi: {version}\ninfo: {{title: Small, version: 0.1.0}}\npaths: {{}}\ncomponents:\n  schemas:\n"
    );
    for line in undented(yaml) {
        text.push_str("    ");
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Returns an OpenAPI 3.1 document with these top-level fields, such as `paths`, given as YAML.
#[must_use]
pub fn paths(yaml: &str) -> String {
    let mut text = String::from("openapi: 3.1.0\ninfo: {title: Small, version: 0.1.0}\n");
    for line in undented(yaml) {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Returns the lines that are not blank, without the indentation that all of them share.
fn undented(yaml: &str) -> Vec<&str> {
    let lines: Vec<&str> = yaml
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let shared = lines
        .iter()
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    lines.into_iter().map(|line| &line[shared..]).collect()
}
