//! The licence of generated crates: the contract's own, or none.

use contract::model::Info;

use super::text::one_line;

const MIT: &str = include_str!("../../../../LICENSE-MIT");
const APACHE: &str = include_str!("../../../../LICENSE-APACHE");

/// The SPDX expression for the manifest; none where the contract names no licence, or one that has none.
pub(super) fn expression(info: &Info) -> Option<String> {
    let written = info
        .license
        .as_deref()
        .map(str::trim)
        .filter(|written| !written.is_empty())?;
    if spdx::Expression::parse(written).is_ok() {
        return Some(one_line(written));
    }
    // `Apache 2.0` is what most documents write.
    let (id, length) = spdx::imprecise_license_id(written)?;
    (length == written.len()).then(|| id.name.to_owned())
}

/// The files that say the licence in full, where it is one of those that we have.
pub(super) fn texts(info: &Info) -> Vec<(&'static str, String)> {
    let Some(expression) = expression(info) else {
        return Vec::new();
    };
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

/// The licences of what is ours wherever it is copied to.
pub(super) fn own_texts() -> [(&'static str, String); 2] {
    [
        ("LICENSE-MIT", MIT.to_owned()),
        ("LICENSE-APACHE", APACHE.to_owned()),
    ]
}
