//! The lengths of functions.

/// Returns the number of lines of each function that has a body, from `fn` to the last brace.
///
/// rustfmt puts that brace below the start of the line with `fn`, so no syntax tree is needed.
pub(super) fn lengths(lines: &[String]) -> Vec<usize> {
    let mut lengths = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        if !is_start(code) {
            continue;
        }
        let indentation = &line[..line.len() - code.len()];
        let end = lines[start..].iter().position(|line| {
            // The end of a function of one line, of one without a body, or of any other.
            let is_whole = line == &lines[start] && line.ends_with('}');
            let is_declared = line.ends_with(';') && !lines[start].ends_with('{');
            is_whole || is_declared || line.strip_prefix(indentation) == Some("}")
        });
        if let Some(end) = end
            && lines[start + end].ends_with('}')
        {
            lengths.push(end + 1);
        }
    }
    lengths
}

/// Returns whether a line, without its indentation, begins a function.
fn is_start(code: &str) -> bool {
    let mut words = code.split(' ');
    words
        .find(|word| {
            !matches!(*word, "async" | "const" | "pub" | "unsafe")
                && !word.starts_with("pub(")
                // The rest of `pub(in path)`.
                && !word.ends_with(')')
        })
        .is_some_and(|word| word == "fn")
}
