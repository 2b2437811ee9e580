//! Rust names made from the contract's words: legal, unique, and the same on every machine.

use std::collections::HashSet;

use heck::{ToPascalCase, ToSnakeCase};

/// The names that no generated type can have, because Rust's prelude or the generated code uses
/// them.
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

/// Rust's keywords, including the reserved ones. `gen` is one from edition 2024.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// The names that no tag's module can have, because something else in a generated crate has them.
///
/// These are files that cargo takes for a crate root, crates that the code names, re-exports and modules
/// of a root that callers name, the module of types that tags share, and features.
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
    "prelude",
    "shared",
    "default",
    SCHEMAS,
    SCHEMARS,
    UTOIPA,
    FAKE,
    VIOLATIONS,
    DOCS,
    IDEMPOTENCY,
    RUSTLS,
];

/// The feature that exports the contract's schemas, and the module that holds them.
pub(crate) const SCHEMAS: &str = "schemas";

/// The feature that implements `schemars::JsonSchema`.
pub(crate) const SCHEMARS: &str = "schemars";

/// The feature by which a server names all that is wrong with a JSON body.
pub(crate) const VIOLATIONS: &str = "violations";

/// The feature by which a server has a reference page.
pub(crate) const DOCS: &str = "docs";

/// The feature by which a server keeps responses by idempotency key.
pub(crate) const IDEMPOTENCY: &str = "idempotency";

/// The feature that implements `utoipa`'s traits.
pub(crate) const UTOIPA: &str = "utoipa";

/// The feature that generates values of the types for tests.
pub(crate) const FAKE: &str = "fake";

/// The feature that enables https.
pub(crate) const RUSTLS: &str = "rustls";

/// The feature of the command line that keeps credentials in the keyring of the system.
pub(crate) const KEYRING: &str = "keyring";

/// The feature of the command line that serves the operations to assistants.
pub(crate) const MCP: &str = "mcp";

/// The methods that a client or the implementation of a server's trait has already.
///
/// A call of an operation of such a name would reach the other method, or be ambiguous.
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
    "with_header",
    "with_timeout",
];

/// The maximum number of characters of a name, since the words of a hostile document can have any
/// length.
const MAX_LENGTH: usize = 96;

/// Returns the name of a type or trait, in `PascalCase`. It is never empty or reserved.
pub(crate) fn pascal(words: &str) -> String {
    let name = legal_identifier(&spell_out(words).to_pascal_case(), "N");
    if RESERVED_TYPES.contains(&name.as_str()) {
        format!("{name}Type")
    } else {
        name
    }
}

/// Returns the word for a media type in the name of a variant: `TextEventStream`, or `Any` for `*/*`.
pub(crate) fn media_type(name: &str) -> String {
    match name.trim() {
        "*/*" => "Any".to_owned(),
        name => pascal(&name.to_pascal_case()),
    }
}

/// Returns the word in the name of a variant for media types of one kind, such as `Json`.
///
/// It is the kind, unless other variants are of the same kind (`others`) and the usual media type of
/// the kind, such as `application/json`, is among them. So the order of media types does not matter,
/// and one that is added does not rename the variant of the usual one.
pub(crate) fn of_kind(kind: &str, media: &[&str], others: bool) -> String {
    let usual = match kind {
        "Json" => "application/json",
        "Form" => "application/x-www-form-urlencoded",
        "Multipart" => "multipart/form-data",
        "Text" => "text/plain",
        "Events" => "text/event-stream",
        "Bytes" => "application/octet-stream",
        _ => "",
    };
    match media.iter().min() {
        Some(first) if others && !media.contains(&usual) => media_type(first),
        _ => kind.to_owned(),
    }
}

/// Returns the name of a tag's trait in the server crate: `LoadBalancerApi`.
pub(crate) fn server_trait(words: &str) -> String {
    format!(
        "{}Api",
        legal_identifier(&spell_out(words).to_pascal_case(), "N")
    )
}

/// Returns the name of a tag's trait in the client crate, which follows progenitor:
/// `ClientLoadBalancerExt`.
pub(crate) fn client_trait(words: &str) -> String {
    format!("Client{}Ext", pascal(words))
}

/// Returns the name of a variant, in `PascalCase`. Only `Self` is reserved in the scope of an enum.
pub(crate) fn variant(words: &str) -> String {
    match legal_identifier(&spell_out(words).to_pascal_case(), "N") {
        name if name == "Self" => "SelfValue".to_owned(),
        name => name,
    }
}

/// Returns the name of a field or function, in `snake_case` and without `r#`. It is never empty.
pub(crate) fn snake(words: &str) -> String {
    legal_identifier(&spell_out(words).to_snake_case(), "n")
}

/// Returns a `snake_case` name as an identifier: `r#type`, or `self_` where a raw identifier is not
/// allowed.
pub(crate) fn identifier(snake: &str) -> String {
    match snake {
        "self" | "super" | "crate" | "_" => format!("{snake}_"),
        _ if KEYWORDS.contains(&snake) => format!("r#{snake}"),
        _ => snake.to_owned(),
    }
}

/// Returns the name of a module, in `snake_case`.
///
/// A keyword gets `_` behind it instead of `r#` before it, since the name is also a file's and a
/// feature's.
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

/// Returns whether a module's file can have the name of the module on every system.
pub(crate) fn is_portable(module: &str) -> bool {
    // Windows takes these for devices, with any extension.
    let port = module
        .strip_prefix("com")
        .or_else(|| module.strip_prefix("lpt"));
    let is_port = port.is_some_and(|number| matches!(number.as_bytes(), [b'1'..=b'9']));
    module.is_ascii() && !is_port && !["aux", "con", "nul", "prn"].contains(&module)
}

/// Returns the name of the file of a module that is not [portable](is_portable): each letter that is not
/// ASCII by its number, as in `caf_u00e9`, and `_` behind the name of a device.
pub(crate) fn file(module: &str) -> String {
    if module.is_ascii() {
        return format!("{module}_");
    }
    let mut name = String::new();
    for character in module.chars() {
        if character.is_ascii() {
            name.push(character);
        } else {
            let before = if name.is_empty() || name.ends_with('_') {
                ""
            } else {
                "_"
            };
            name.push_str(&format!("{before}u{:04x}", u32::from(character)));
        }
    }
    // Cut at a character of ASCII, which is one byte.
    name.truncate(MAX_LENGTH);
    name
}

/// Returns the name of an operation's method, in `snake_case` and without `r#`. It is never one of
/// [`METHODS`].
pub(crate) fn operation(words: &str) -> String {
    let name = snake(words);
    if METHODS.contains(&name.as_str()) {
        format!("{name}_")
    } else {
        name
    }
}

/// Returns `name`, or `name` with the first number from 2 on that makes it new if it is in `taken`.
/// Adds the result to `taken`.
pub(crate) fn unique(taken: &mut HashSet<String>, name: String) -> String {
    first_free(name, |candidate| taken.insert(candidate.to_owned()))
}

/// Returns a unique name for each wanted name, which is given with the words that it was made from.
/// Adds the results to `taken`.
///
/// Where several words make one name, the words that are spelt exactly like it keep it, else the
/// first do; the others get a number. So a name does not change when the document's order does, if
/// it is written as Rust writes it.
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

/// Returns the name if it is free, else the same name with the first number from 2 on that makes it
/// free.
pub(crate) fn first_free(name: String, mut is_free: impl FnMut(&str) -> bool) -> String {
    if is_free(&name) {
        return name;
    }
    // `foo2` and not `foo_2`, since digits at the end fit `PascalCase` as well.
    let mut n = 2_u32;
    loop {
        let candidate = format!("{name}{n}");
        if is_free(&candidate) {
            return candidate;
        }
        n += 1;
    }
}

/// Replaces each character that no identifier can hold: by a word where it has a meaning, such as
/// `plus` at the start of `+1`, and by a space elsewhere. An empty string becomes `empty`.
fn spell_out(words: &str) -> String {
    let has_letters = words.chars().any(char::is_alphanumeric);
    let mut spelled = String::with_capacity(words.len());
    // Among letters `-`, `.` and the like only separate words, as in `load-balancer`.
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
            // A name without letters has nothing else to differ by, and a number would depend on
            // the order.
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

/// Drops the characters that no identifier can hold and those after [`MAX_LENGTH`], and puts
/// `prefix` before a first character that no identifier can begin with. If nothing is left, returns
/// `Nameless` or `nameless`.
fn legal_identifier(name: &str, prefix: &str) -> String {
    let kept: String = name
        .chars()
        .filter(|character| unicode_ident::is_xid_continue(*character))
        .take(MAX_LENGTH)
        .collect();
    match kept.chars().next() {
        // The prefix is `N` or `n`, so this is `Nameless` or `nameless`.
        None => format!("{prefix}ameless"),
        Some(first) if unicode_ident::is_xid_start(first) => kept,
        Some(_) => format!("{prefix}{kept}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_keeps_its_name_whatever_the_order_and_what_is_added() {
        let alone = of_kind("Json", &["application/json"], false);
        assert_eq!(alone, of_kind("Json", &["application/json"], true));
        let hal = ["application/hal+json", "application/json"];
        assert_eq!(of_kind("Json", &hal, true), "Json");
        let problem = ["application/problem+json", "application/hal+json"];
        let reversed = [problem[1], problem[0]];
        assert_eq!(of_kind("Json", &problem, true), "ApplicationHalJson");
        assert_eq!(of_kind("Json", &reversed, true), "ApplicationHalJson");
        assert_eq!(of_kind("Json", &problem, false), "Json");
        assert_eq!(of_kind("Bytes", &["*/*"], true), "Any");
    }
}
