//! Rust names from the contract's words: legal, unique, the same on every machine.

use std::collections::HashSet;

use heck::{ToPascalCase, ToSnakeCase};

/// Type names that Rust's prelude or the generated code itself needs.
const RESERVED_TYPES: &[&str] = &[
    "Self",
    "String",
    "Vec",
    "Option",
    "Some",
    "None",
    "Result",
    "Ok",
    "Err",
    "Box",
    "BTreeMap",
    "Value",
    "Debug",
    "Clone",
    "Copy",
    "PartialEq",
    "Eq",
    "Hash",
    "PartialOrd",
    "Ord",
    "Default",
    "From",
    "Into",
    "TryFrom",
    "TryInto",
    "Send",
    "Sync",
    "Drop",
    "Fn",
    "FnMut",
    "FnOnce",
    "AsyncFn",
    "AsyncFnMut",
    "AsyncFnOnce",
    "Iterator",
    "IntoIterator",
    "FromIterator",
    "DoubleEndedIterator",
    "ExactSizeIterator",
    "Extend",
    "ToString",
    "ToOwned",
    "AsRef",
    "AsMut",
    "Sized",
    "Unpin",
    "Future",
    "IntoFuture",
    "Ipv4Addr",
    "Ipv6Addr",
];

/// Rust's keywords, those to come included. `gen` is one from edition 2024.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// What the module of a tag cannot be called, since something else in a generated crate is: a file that cargo takes
/// for a root, a crate that the code names, what a root re-exports, the types of several tags, a feature.
const RESERVED_MODULES: &[&str] = &[
    "self",
    "super",
    "crate",
    "lib",
    "main",
    "std",
    "core",
    "api_runtime",
    "serde_json",
    "server",
    "runtime",
    "reqwest",
    "shared",
    "default",
    SCHEMAS,
    SCHEMARS,
    UTOIPA,
    RUSTLS,
];

/// The feature for the contract's schemas, and the module that holds them.
pub(crate) const SCHEMAS: &str = "schemas";

/// The feature for `schemars::JsonSchema`.
pub(crate) const SCHEMARS: &str = "schemars";

/// The feature for what utoipa derives.
pub(crate) const UTOIPA: &str = "utoipa";

/// The feature for https.
pub(crate) const RUSTLS: &str = "rustls";

/// Methods that a client, or whatever implements a server's trait, has anyway: an operation of that name could not be
/// called.
const METHODS: &[&str] = &[
    "base_url",
    "builder",
    "clone",
    "clone_into",
    "into",
    "new",
    "to_owned",
    "transport",
    "try_into",
];

/// Longest name that is written; hostile documents hold longer ones.
const MAX_LENGTH: usize = 96;

/// A type's or trait's name: `PascalCase`. Never empty, never reserved.
pub(crate) fn pascal(words: &str) -> String {
    let name = legal_identifier(&spell_out(words).to_pascal_case(), "N");
    if RESERVED_TYPES.contains(&name.as_str()) {
        format!("{name}Type")
    } else {
        name
    }
}

/// The name of a tag's trait in the server crate: `LoadBalancerApi`.
pub(crate) fn server_trait(words: &str) -> String {
    format!(
        "{}Api",
        legal_identifier(&spell_out(words).to_pascal_case(), "N")
    )
}

/// The name of a tag's trait in the client crate: `ClientLoadBalancerExt`, as progenitor names it.
pub(crate) fn client_trait(words: &str) -> String {
    format!("Client{}Ext", pascal(words))
}

/// A variant's name: `PascalCase`. It lives in its enum's scope, so only `Self` is reserved.
pub(crate) fn variant(words: &str) -> String {
    match legal_identifier(&spell_out(words).to_pascal_case(), "N") {
        name if name == "Self" => "SelfValue".to_owned(),
        name => name,
    }
}

/// A field's, function's or module's name: `snake_case`, without `r#`. Never empty.
pub(crate) fn snake(words: &str) -> String {
    legal_identifier(&spell_out(words).to_snake_case(), "n")
}

/// A `snake_case` name as an identifier: `r#type`, and `self_` where `r#` does not help.
pub(crate) fn identifier(snake: &str) -> String {
    match snake {
        "self" | "super" | "crate" | "_" => format!("{snake}_"),
        _ if KEYWORDS.contains(&snake) => format!("r#{snake}"),
        _ => snake.to_owned(),
    }
}

/// A module's name: `snake_case` and no keyword, since it is a file's name and a cargo feature too.
pub(crate) fn module(words: &str) -> String {
    let name = snake(words);
    if [KEYWORDS, RESERVED_MODULES]
        .iter()
        .any(|names| names.contains(&name.as_str()))
    {
        format!("{name}_")
    } else {
        name
    }
}

/// An operation's name: `snake_case`, without `r#`, and no method of what it is called on.
pub(crate) fn operation(words: &str) -> String {
    let name = snake(words);
    if METHODS.contains(&name.as_str()) {
        format!("{name}_")
    } else {
        name
    }
}

/// Makes a name unique among those taken, by a number from 2 on, and takes it.
pub(crate) fn unique(taken: &mut HashSet<String>, name: String) -> String {
    first_free(name, |candidate| taken.insert(candidate.to_owned()))
}

/// Makes several names unique, each with the words that it comes from. Who is spelt like the name keeps it, wherever
/// it stands; otherwise the first does.
pub(crate) fn unique_all(taken: &mut HashSet<String>, wanted: &[(&str, String)]) -> Vec<String> {
    let exact = wanted
        .iter()
        .map(|(words, name)| words == name && taken.insert(name.clone()))
        .collect::<Vec<_>>();
    let each = wanted.iter().zip(exact);
    each.map(|((_, name), keeps)| {
        if keeps {
            name.clone()
        } else {
            unique(taken, name.clone())
        }
    })
    .collect()
}

/// The first that is free of a name and the same name with a number, from 2 on.
pub(crate) fn first_free(name: String, mut is_free: impl FnMut(&str) -> bool) -> String {
    if is_free(&name) {
        return name;
    }
    // `foo2` and `foo_2` are both legal; digits at the end keep the case conventions.
    let mut n = 2_u32;
    loop {
        let candidate = format!("{name}{n}");
        if is_free(&candidate) {
            return candidate;
        }
        n += 1;
    }
}

/// Characters that would vanish, as words, where they carry the meaning: `+1` and `-1` must differ.
fn spell_out(words: &str) -> String {
    let has_letters = words.chars().any(char::is_alphanumeric);
    let mut spelled = String::with_capacity(words.len());
    for (at, character) in words.chars().enumerate() {
        let word = match character {
            '+' if at == 0 || !has_letters => "plus",
            '-' if at == 0 || !has_letters => "minus",
            '<' => "less",
            '>' => "greater",
            '=' if !has_letters => "equal",
            '!' if at == 0 => "not",
            '*' if !has_letters => "star",
            '%' if !has_letters => "percent",
            '$' if !has_letters => "dollar",
            '@' if !has_letters => "at",
            '/' if !has_letters => "slash",
            '.' if !has_letters => "dot",
            '&' if !has_letters => "and",
            '|' if !has_letters => "or",
            '~' if !has_letters => "tilde",
            '_' if !has_letters => "underscore",
            ' ' if !has_letters => "space",
            _ if character.is_alphanumeric() => {
                spelled.push(character);
                continue;
            }
            // Nothing else tells two such names apart, and a number would depend on their order.
            _ if !has_letters => {
                spelled.push_str(&format!(" u{:x} ", u32::from(character)));
                continue;
            }
            _ => {
                spelled.push(' ');
                continue;
            }
        };
        spelled.push(' ');
        spelled.push_str(word);
        spelled.push(' ');
    }
    if spelled.trim().is_empty() {
        "empty".to_owned()
    } else {
        spelled
    }
}

/// Drops what no identifier may hold, and puts `prefix` before what none may begin with.
fn legal_identifier(name: &str, prefix: &str) -> String {
    let kept: String = name
        .chars()
        .filter(|character| unicode_ident::is_xid_continue(*character))
        .take(MAX_LENGTH)
        .collect();
    match kept.chars().next() {
        None => format!("{prefix}ameless"),
        Some(first) if unicode_ident::is_xid_start(first) => kept,
        Some(_) => format!("{prefix}{kept}"),
    }
}
