//! The licence of generated crates: the contract's own, or none.

use contract::model::Info;

use super::text::one_line;

/// The text of the MIT licence.
const MIT: &str = include_str!("../../embedded/LICENSE-MIT");
/// The text of the Apache licence, version 2.0.
const APACHE: &str = include_str!("../../embedded/LICENSE-APACHE");

/// Returns the contract's licence as an SPDX expression, or `None` if it has none that SPDX knows.
pub(super) fn expression(info: &Info) -> Option<String> {
    let written = info
        .license
        .as_deref()
        .map(str::trim)
        .filter(|written| !written.is_empty())?;
    if spdx::Expression::parse(written).is_ok() {
        return Some(one_line(written));
    }
    // Most documents write a name such as `Apache 2.0`. One that is only the beginning of a longer
    // text is no name.
    let (id, length) = spdx::imprecise_license_id(written)?;
    (length == written.len()).then(|| id.name.to_owned())
}

/// Returns the name and the text of each licence file: that of MIT and that of Apache 2.0, each if
/// the contract's licence names it.
pub(super) fn texts(info: &Info) -> Vec<(&'static str, String)> {
    let Some(expression) = expression(info) else {
        return Vec::new();
    };
    // An identifier is a word of its own in any expression that spdx accepts.
    let names = |id: &str| expression.split([' ', '(', ')']).any(|word| word == id);
    let mut texts = Vec::new();
    if names("MIT") {
        let holder = format!("Copyright (c) the {} authors", one_line(&info.title));
        texts.push((
            "LICENSE-MIT",
            MIT.replace("Copyright (c) the Stratus authors", &holder),
        ));
    }
    if names("Apache-2.0") {
        texts.push(("LICENSE-APACHE", APACHE.to_owned()));
    }
    texts
}

/// Returns the name and the text of each licence file of the run time's crates, whose
/// licences are those of this workspace.
pub(super) fn own_texts() -> [(&'static str, String); 2] {
    [
        ("LICENSE-MIT", MIT.to_owned()),
        ("LICENSE-APACHE", APACHE.to_owned()),
    ]
}
