//! A migration that is added is embedded by the next build.

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
