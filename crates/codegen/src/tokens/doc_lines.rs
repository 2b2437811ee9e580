//! The lines of a doc comment for a string of the contract, without code that rustdoc would
//! compile.
//!
//! rustdoc takes a code block for Rust unless its fence names another language, and runs it as a
//! test. So every code block is written without indentation, out of lists and quotes, where all
//! readers of Markdown agree which lines open and close it, and gets a language that is not Rust.
//! No other line keeps so much indentation that it would be a code block.
//!
//! This reads lines and does not use a parser such as pulldown-cmark, for two reasons. Which blocks
//! are compiled is decided by the parser in the rustdoc that documents the crate, with its version
//! and its extensions; a fence without indentation is a fence for all of them. And a parser only
//! finds the blocks: their lines would still have to be taken out of lists and quotes one by one,
//! which is most of this file.

/// The languages that a fence may keep: those that rustdoc does not compile in any version.
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

/// The beginnings of HTML that an empty line does not end (`CommonMark`, HTML blocks of the kinds 1
/// to 5).
const RAW_HTML: [&str; 6] = ["<pre", "<script", "<style", "<textarea", "<!", "<?"];

/// Returns whether a character changes the direction of text, so that it reads differently from
/// what it is. rustc refuses such characters in comments and literals.
pub(crate) fn is_deceptive(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the lines of a doc comment, each with its leading space.
///
/// They have no control characters, and no code block that rustdoc would compile.
pub(super) fn doc_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut fence: Option<Fence> = None;
    let mut preceding = Preceding::Gap;
    for line in text.trim().lines() {
        let line = visible(line);
        if let Some(open) = &fence {
            // A quote ends with the first line without `>`, and a code block in it does too.
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
            // A block of HTML only ends at an empty line, and would swallow the fence.
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

/// Returns a line with control characters replaced by spaces, characters that change the direction
/// of text escaped, and its end trimmed.
fn visible(line: &str) -> String {
    let mut visible = String::with_capacity(line.len());
    for character in line.chars() {
        match character {
            _ if is_deceptive(character) => visible.extend(character.escape_unicode()),
            _ if character.is_control() => visible.push(' '),
            _ => visible.push(character),
        }
    }
    visible.truncate(visible.trim_end().len());
    visible
}

/// The fence that opens a code block.
struct Fence {
    /// The fence itself: three or more backticks, or tildes.
    characters: String,
    /// The language that the fence gets.
    language: &'static str,
    /// The number of characters before the fence.
    indent: usize,
    /// Whether the fence stands in a quote.
    is_quoted: bool,
}

impl Fence {
    /// Returns the fence that a line opens, or `None` if the line opens no code block.
    fn opened_by(line: &str) -> Option<Self> {
        let inside = after_markers(line);
        let character = inside
            .chars()
            .next()
            .filter(|character| matches!(character, '`' | '~'))?;
        let (characters, info) =
            inside.split_at(inside.len() - inside.trim_start_matches(character).len());
        if characters.len() < 3 || (character == '`' && info.contains('`')) {
            return None;
        }
        // The first word alone: in `json,rust` rustdoc would read the second as an attribute.
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

    /// Returns the line that opens the code block, the fence and the language, without indentation.
    fn opening(&self) -> String {
        format!("{}{}", self.characters, self.language)
    }

    /// Returns the line that closes the block.
    fn closing(&self) -> String {
        self.characters.clone()
    }

    /// Returns whether a line is the fence that closes this one: as long or longer, of the same
    /// character.
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

    /// Returns a line of the code without the indentation that it shares with the fence.
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

/// Returns what follows the markers of quotes and list items at the beginning of a line.
fn after_markers(line: &str) -> &str {
    let mut inside = line.trim_start_matches(' ');
    while let Some(length) = marker_length(inside) {
        inside = inside[length..].trim_start_matches(' ');
    }
    inside
}

/// Returns the length in bytes of the marker of a quote or list item with which a line begins, if
/// it does.
fn marker_length(line: &str) -> Option<usize> {
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

/// What precedes a line, which decides whether indentation can make it a code block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Preceding {
    /// An empty line or the start: the next line continues nothing, so indentation would make it a
    /// code block.
    Gap,
    /// A paragraph, which an indented line continues.
    Prose,
    /// HTML, which only an empty line ends.
    Html,
}

impl Preceding {
    /// Returns what precedes the line after this one.
    fn then(self, line: &str) -> Self {
        let inside = after_markers(line);
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

/// Returns a line outside code blocks, with so little indentation that it opens no code block.
///
/// A tag of HTML that an empty line does not end is escaped, because a fence after it would be read
/// as HTML.
fn prose(line: &str, preceding: Preceding) -> String {
    let mut rest = line;
    let mut made = String::with_capacity(line.len());
    let mut may_continue = preceding == Preceding::Prose;
    loop {
        let inside = rest.trim_start_matches(' ');
        let indent = rest.len() - inside.len();
        // Four spaces make a code block, or five behind a marker, of which one belongs to it.
        let most = if made.is_empty() { 3 } else { 4 };
        let kept = if indent <= most || may_continue {
            indent
        } else {
            most.min(3)
        };
        made.push_str(&rest[..kept]);
        let Some(length) = marker_length(inside) else {
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
