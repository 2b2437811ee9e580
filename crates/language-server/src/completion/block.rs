//! Finds where a cursor is in YAML from the indentation of the lines around it.

use super::context::{Context, ITEM, Spot};
use super::flow;
use crate::position::Lines;
use crate::scalar;

/// A line of YAML.
struct Line<'t> {
    /// The columns of the dashes at its start.
    dashes: Vec<usize>,
    /// The column of what follows them.
    column: usize,
    /// The key at that column, if there is one.
    key: Option<&'t str>,
    /// What follows the key, or all of the content if there is no key.
    value: &'t str,
}

/// What is looked for in the lines above.
#[derive(Clone, Copy)]
enum Search {
    /// The key of the object whose keys are at a column.
    Object(usize),
    /// The key of the list whose dashes are at a column.
    List(usize),
}

/// Returns where an offset is.
pub(super) fn scan(text: &str, offset: usize) -> Option<Context> {
    let lines = Lines::of(text);
    let number = lines.line_of(offset);
    let range = lines.line(text, number);
    if offset > range.end {
        return None;
    }
    let before = &text[range.start..offset];
    if is_comment(before) {
        return None;
    }
    let line = Line::of(before);
    let mut climb = Climb {
        text,
        lines: &lines,
        tokens: Vec::new(),
        siblings: Vec::new(),
        offset,
    };
    // The tokens are found from the innermost outwards.
    if let Some(key) = line.key {
        let value = line.value.trim_start();
        let start = offset - value.len();
        // Nothing is completed in texts of several lines, anchors and tags, nor before the blank
        // that must follow the colon.
        if value.starts_with(['|', '>', '&', '*', '!']) || line.value == value {
            return None;
        }
        climb.tokens.push(name(key));
        climb.leave(&line.dashes);
        // A value has no siblings, and no line has this column.
        return match climb.run(number, line.search(), usize::MAX) {
            End::Text => None,
            End::Flow(context) => context.map(|context| *context),
            End::Top if value.starts_with(['{', '[']) => climb.flow(start),
            End::Top => climb.context(Spot::Value, value),
        };
    }
    let is_flow = line.value.starts_with(['{', '[']);
    climb.below(number, line.column);
    climb.leave(&line.dashes);
    // In an item that begins on this line, what is above belongs to other items.
    let column = if line.dashes.is_empty() {
        line.column
    } else {
        usize::MAX
    };
    match climb.run(number, line.search(), column) {
        End::Text => None,
        End::Flow(context) => context.map(|context| *context),
        End::Top if is_flow => climb.flow(offset - line.value.len()),
        End::Top => climb.context(Spot::Either, line.value),
    }
}

/// Returns whether the rest of a line is a comment.
fn is_comment(before: &str) -> bool {
    before.trim_start().starts_with('#') || before.contains(" #") && !before.contains(['"', '\''])
}

/// Returns a key without its quotes.
fn name(key: &str) -> String {
    key[scalar::content(key)].to_owned()
}

impl<'t> Line<'t> {
    fn of(line: &'t str) -> Self {
        let mut column = line.len() - line.trim_start_matches(' ').len();
        let mut dashes = Vec::new();
        let mut rest = &line[column..];
        while let Some(after) = rest.strip_prefix('-')
            && (after.is_empty() || after.starts_with(' '))
        {
            dashes.push(column);
            let content = after.trim_start_matches(' ');
            column += 1 + after.len() - content.len();
            rest = content;
        }
        let (key, value) = match split(rest) {
            Some((key, value)) => (Some(key), value),
            None => (None, rest),
        };
        Self {
            dashes,
            column,
            key,
            value,
        }
    }

    fn search(&self) -> Search {
        match self.dashes.first() {
            Some(dash) => Search::List(*dash),
            None => Search::Object(self.column),
        }
    }
}

/// Splits the content of a line into key and value.
fn split(content: &str) -> Option<(&str, &str)> {
    if content.starts_with(['{', '[', '#', '|', '>']) {
        return None;
    }
    let from = match content
        .chars()
        .next()
        .filter(|one| matches!(one, '"' | '\''))
    {
        Some(quote) => 1 + content[1..].find(quote)? + 1,
        None => 0,
    };
    let rest = &content[from..];
    // As in YAML, a colon ends a key only at the end of a line or before a blank.
    let colon = rest
        .match_indices(':')
        .map(|(at, _)| at)
        .find(|at| matches!(rest[at + 1..].chars().next(), None | Some(' ')))?;
    Some((
        content[..from + colon].trim_end(),
        &content[from + colon + 1..],
    ))
}

/// Where a search of the lines above ends.
enum End {
    /// The search ends at the top of the document.
    Top,
    /// The search ends at a text of several lines, of which the cursor's line is one.
    Text,
    /// The search ends at a bracket that is still open.
    Flow(Option<Box<Context>>),
}

struct Climb<'t> {
    text: &'t str,
    lines: &'t Lines,
    tokens: Vec<String>,
    siblings: Vec<String>,
    offset: usize,
}

impl<'t> Climb<'t> {
    fn line(&self, number: usize) -> Option<Line<'t>> {
        let text = &self.text[self.lines.line(self.text, number)];
        let content = text.trim_start();
        let is_nothing = content.is_empty()
            || content.starts_with('#')
            || text.starts_with("---")
            || text.starts_with('%');
        (!is_nothing).then(|| Line::of(text))
    }

    /// Adds an item for every dash at the start of a line.
    fn leave(&mut self, dashes: &[usize]) {
        self.tokens.extend(dashes.iter().map(|_| ITEM.to_owned()));
    }

    /// Adds the keys and items above a line, and the keys at a column that belong to the same object.
    fn run(&mut self, number: usize, mut search: Search, column: usize) -> End {
        let mut is_first = true;
        for above in (0..number).rev() {
            let Some(line) = self.line(above) else {
                continue;
            };
            let (Search::Object(at) | Search::List(at)) = search;
            let first_dash = line.dashes.first().copied();
            let enters = match search {
                Search::Object(_) => {
                    // A dash that is further out than the cursor is around it.
                    let is_around = first_dash.is_some_and(|dash| dash < at);
                    // Only until the first line further out: a key above that one belongs to
                    // another object.
                    if line.column == at && is_first && at == column {
                        self.siblings.extend(line.key.map(name));
                    }
                    if line.column >= at && !is_around {
                        continue;
                    }
                    line.column < at
                }
                Search::List(_) => {
                    if first_dash.is_some_and(|dash| dash >= at) || line.column > at {
                        continue;
                    }
                    true
                }
            };
            if enters && let Some(end) = self.enter(above, &line) {
                return end;
            }
            is_first = false;
            self.leave(&line.dashes);
            search = line.search();
        }
        End::Top
    }

    /// Adds the key of a line, below which the search goes on, unless it ends there.
    fn enter(&mut self, number: usize, line: &Line<'t>) -> Option<End> {
        let value = line.value.trim();
        let Some(key) = line.key else {
            // A dash alone begins an item whose keys are on the next lines.
            let is_dash = !line.dashes.is_empty() && value.is_empty();
            return (!is_dash).then_some(End::Text);
        };
        if value.starts_with(['{', '[']) {
            let range = self.lines.line(self.text, number);
            let start = range.end - line.value.trim_start().len();
            // The scan from the bracket on finds again what is between it and the cursor.
            self.tokens.clear();
            self.tokens.push(name(key));
            self.leave(&line.dashes);
            let end = self.run(number, line.search(), usize::MAX);
            let End::Top = end else { return Some(end) };
            let mut tokens = std::mem::take(&mut self.tokens);
            tokens.reverse();
            let context = flow::scan(self.text, start, self.offset, tokens);
            return Some(End::Flow(context.map(Box::new)));
        }
        // Behind an anchor, a tag or a comment, the value is on the lines below.
        let is_open = value.is_empty() || value.starts_with(['&', '!', '#']);
        if !is_open {
            return Some(End::Text);
        }
        self.tokens.push(name(key));
        None
    }

    /// Adds the keys of the lines below that belong to the same object.
    fn below(&mut self, number: usize, column: usize) {
        let mut below = number + 1;
        while !self.lines.is_after_last(below) {
            if let Some(line) = self.line(below) {
                let is_out = line.dashes.first().is_some_and(|dash| *dash < column);
                if line.column < column || is_out {
                    return;
                }
                if line.column == column && line.dashes.is_empty() {
                    self.siblings.extend(line.key.map(name));
                }
            }
            below += 1;
        }
    }

    /// Returns where the offset is in a bracket that starts on the same line.
    fn flow(mut self, start: usize) -> Option<Context> {
        self.tokens.reverse();
        flow::scan(self.text, start, self.offset, self.tokens)
    }

    fn context(mut self, spot: Spot, typed: &str) -> Option<Context> {
        self.tokens.reverse();
        let quote = typed.chars().next().filter(|one| matches!(one, '"' | '\''));
        let start = self.offset - typed.len() + quote.map_or(0, char::len_utf8);
        // The cursor is behind the closing quote.
        if quote.is_some_and(|quote| typed.len() > 1 && typed.ends_with(quote)) {
            return None;
        }
        Some(Context {
            tokens: self.tokens,
            spot,
            siblings: self.siblings,
            typed: start..self.offset,
            quote,
            is_closed: false,
            has_colon: false,
            is_flow: false,
            is_json: false,
        })
    }
}
