//! A text of the contract as lines of a doc comment: what it shows stays, what rustdoc would compile does not.
//!
//! rustdoc takes a block of code for Rust unless it says otherwise, and runs it. So every block begins at the margin,
//! outside lists and quotes, where there is no doubt which line opens it and which closes it, and names a language that
//! is not Rust; and no line is indented so far that it would be a block.

/// Languages that rustdoc surely does not compile, whatever it learns.
const LANGUAGES: &[&str] = &[
    "bash",
    "c",
    "console",
    "cpp",
    "csharp",
    "css",
    "csv",
    "curl",
    "diff",
    "go",
    "graphql",
    "html",
    "http",
    "java",
    "javascript",
    "js",
    "json",
    "jsonc",
    "kotlin",
    "markdown",
    "php",
    "plaintext",
    "python",
    "ruby",
    "sh",
    "shell",
    "sql",
    "swift",
    "text",
    "toml",
    "ts",
    "typescript",
    "xml",
    "yaml",
    "yml",
];

/// The tags at which HTML begins that only a tag of its own ends.
const RAW_HTML: [&str; 6] = ["<pre", "<script", "<style", "<textarea", "<!", "<?"];

/// Whether a character makes text read differently from what it is: those that reverse the direction.
/// rustc refuses them in comments and literals.
pub(crate) fn is_deceptive(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The lines of a doc comment, each with its leading space: no control characters, and no block that
/// rustdoc would take for a Rust example.
pub(super) fn doc_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut fence: Option<Fence> = None;
    let mut preceding = Preceding::Gap;
    for line in text.trim().lines() {
        let line = shown(line);
        if let Some(open) = &fence {
            if open.is_quoted && !line.trim_start().starts_with('>') {
                lines.push(open.closing());
                fence = None;
            } else if open.is_closed_by(&line) {
                lines.push(open.closing());
                (fence, preceding) = (None, Preceding::Gap);
                continue;
            } else {
                lines.push(open.content(&line).to_owned());
                continue;
            }
        }
        if let Some(open) = Fence::opened_by(&line) {
            // HTML would go on until an empty line.
            lines.extend((preceding == Preceding::Html).then(String::new));
            lines.push(open.opening());
            fence = Some(open);
        } else {
            let line = prose(&line, preceding);
            preceding = preceding.then(&line);
            lines.push(line);
        }
    }
    lines.extend(fence.map(|open| open.closing()));
    lines
        .into_iter()
        .map(|line| {
            if line.is_empty() {
                line
            } else {
                format!(" {line}")
            }
        })
        .collect()
}

/// A line without what cannot be seen.
fn shown(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    for character in line.chars() {
        match character {
            _ if is_deceptive(character) => shown.extend(character.escape_unicode()),
            _ if character.is_control() => shown.push(' '),
            _ => shown.push(character),
        }
    }
    shown.truncate(shown.trim_end().len());
    shown
}

/// A block of code between two fences.
struct Fence {
    /// The fence itself: three or more of one character.
    characters: String,
    language: &'static str,
    /// How far the author has indented it.
    indent: usize,
    is_quoted: bool,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let inside = within(line);
        let character = inside
            .chars()
            .next()
            .filter(|character| matches!(character, '`' | '~'))?;
        let (characters, info) =
            inside.split_at(inside.len() - inside.trim_start_matches(character).len());
        if characters.len() < 3 || (character == '`' && info.contains('`')) {
            return None;
        }
        let word = info
            .split([' ', ',', ';', '{'])
            .find(|word| !word.is_empty())
            .unwrap_or_default();
        let language = LANGUAGES
            .iter()
            .find(|known| known.eq_ignore_ascii_case(word));
        let prefix = &line[..line.len() - inside.len()];
        Some(Self {
            characters: characters.to_owned(),
            language: language.unwrap_or(&"text"),
            indent: prefix.chars().count(),
            is_quoted: prefix.contains('>'),
        })
    }

    fn opening(&self) -> String {
        format!("{}{}", self.characters, self.language)
    }

    fn closing(&self) -> String {
        self.characters.clone()
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let inside = if self.is_quoted {
            line.trim_start_matches([' ', '>'])
        } else {
            line.trim_start()
        };
        inside.len() >= self.characters.len()
            && inside
                .chars()
                .all(|character| self.characters.starts_with(character))
    }

    /// A line of the code, as far to the left as the fence.
    fn content<'l>(&self, line: &'l str) -> &'l str {
        let is_margin = |character: char| character == ' ' || (self.is_quoted && character == '>');
        let margin = line
            .chars()
            .take(self.indent)
            .take_while(|character| is_margin(*character))
            .count();
        &line[margin..]
    }
}

/// What follows the marks of quotes and lists at the beginning of a line.
fn within(line: &str) -> &str {
    let mut inside = line.trim_start_matches(' ');
    while let Some(length) = marker(inside) {
        inside = inside[length..].trim_start_matches(' ');
    }
    inside
}

/// How long the mark of a quote or of an item is with which a line begins.
fn marker(line: &str) -> Option<usize> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let length = match line.as_bytes().get(digits)? {
        b'>' if digits == 0 => return Some(1),
        b'-' | b'+' | b'*' if digits == 0 => 1,
        b'.' | b')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    line[length..]
        .is_empty()
        .then_some(length)
        .or_else(|| line[length..].starts_with(' ').then_some(length))
}

/// What stands preceding a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Preceding {
    /// Nothing that the line could continue.
    Gap,
    /// A paragraph.
    Prose,
    /// HTML, which goes on until an empty line.
    Html,
}

impl Preceding {
    fn then(self, line: &str) -> Self {
        let inside = within(line);
        let is_rule = inside
            .chars()
            .all(|character| matches!(character, '*' | '-' | '_' | '=' | ' '));
        match inside.chars().next() {
            None | Some('#' | '|') => Self::Gap,
            Some('<') => Self::Html,
            Some(_) if self == Self::Html => Self::Html,
            Some(_) if is_rule => Self::Gap,
            Some(_) => Self::Prose,
        }
    }
}

/// A line outside blocks of code, which opens none by its indentation and no HTML that an empty line does not end.
fn prose(line: &str, preceding: Preceding) -> String {
    let mut rest = line;
    let mut made = String::with_capacity(line.len());
    let mut may_continue = preceding == Preceding::Prose;
    loop {
        let inside = rest.trim_start_matches(' ');
        let indent = rest.len() - inside.len();
        let most = if made.is_empty() { 3 } else { 4 };
        let kept = if indent <= most || may_continue {
            indent
        } else {
            most.min(3)
        };
        made.push_str(&rest[..kept]);
        let Some(length) = marker(inside) else {
            let lower = inside.to_ascii_lowercase();
            if RAW_HTML.iter().any(|tag| lower.starts_with(tag)) {
                made.push('\\');
            }
            return made + inside;
        };
        made.push_str(&inside[..length]);
        rest = &inside[length..];
        may_continue = false;
    }
}

#[cfg(test)]
mod tests {
    use super::doc_lines;

    /// The lines without their leading space.
    fn lines(text: &str) -> String {
        doc_lines(text)
            .iter()
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn a_block_of_code_is_never_rust() {
        for fence in ["```", "~~~", "`````"] {
            for info in [
                "",
                "rust",
                " rust",
                "should_panic",
                "ignore",
                "no_run",
                "E0001",
                "custom,rust",
                "{.rust}",
            ] {
                assert_eq!(
                    lines(&format!("{fence}{info}\ncode\n{fence}")),
                    format!("{fence}text\ncode\n{fence}")
                );
            }
        }
        assert_eq!(lines("```json\n{}\n```"), "```json\n{}\n```");
        assert_eq!(lines("```JSON,rust\n{}\n```"), "```json\n{}\n```");
    }

    #[test]
    fn only_its_own_fence_closes_a_block() {
        assert_eq!(
            lines("````\n```\n~~~\n````\n```\nx"),
            "````text\n```\n~~~\n````\n```text\nx\n```"
        );
        assert_eq!(lines("``` a ``` b\n```"), "``` a ``` b\n```text\n```");
    }

    #[test]
    fn a_block_in_a_list_or_a_quote_begins_at_the_margin() {
        assert_eq!(
            lines("- a\n  ```rust\n  x\n  ```\n- b"),
            "- a\n```text\nx\n```\n- b"
        );
        assert_eq!(lines("1. ```\n   x\n   ```"), "```text\nx\n```");
        assert_eq!(
            lines("> ```\n> x\ny\n```\nz"),
            "```text\nx\n```\ny\n```text\nz\n```"
        );
    }

    #[test]
    fn indentation_makes_no_block() {
        assert_eq!(lines("a\n\n    b\n        c"), "a\n\n   b\n        c");
        assert_eq!(lines("# a\n    b"), "# a\n   b");
        // Only spaces indent.
        assert_eq!(
            lines("a\n\n  \u{2028}\u{3000}b"),
            "a\n\n  \u{2028}\u{3000}b"
        );
        assert_eq!(lines("-       b\n>      c"), "-   b\n>   c");
    }

    #[test]
    fn html_ends_before_a_block_begins() {
        assert_eq!(lines("<p>\n```\nx\n```"), "<p>\n\n```text\nx\n```");
        assert_eq!(
            lines("<!-- a\n```\n-->\n```"),
            "\\<!-- a\n```text\n-->\n```"
        );
    }
}
