//! Writes a source file with all its faults in it, each behind a condition: which of them is active is
//! decided while the program runs.

use std::collections::HashMap;
use std::ops::Range;

use anyhow::{Context as _, bail};
use proc_macro2::Span as TokenSpan;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use crate::fault::{Fault, Genre, Place};

/// A source file with its faults.
pub(crate) struct Woven {
    pub(crate) text: String,
    /// The text that each fault has added, and the index of the fault.
    pub(crate) added: Vec<(Range<usize>, usize)>,
    /// The faults whose place was not found, by index.
    pub(crate) lost: Vec<usize>,
}

/// Weaves faults, each with its index, into a source file.
pub(crate) fn weave(source: &str, faults: &[(usize, &Fault)]) -> anyhow::Result<Woven> {
    let syntax = syn::parse_file(source).context("the file is no Rust")?;
    let lines = Lines::of(source);
    let mut finder = Finder {
        source,
        lines: &lines,
        faults: by_place(faults),
        edits: Vec::new(),
    };
    finder.visit_file(&syntax);
    for (index, fault) in faults.iter().filter(|(_, it)| it.genre == Genre::FnValue) {
        let at = lines
            .offset(fault.span.start)
            .context("a fault is outside of its file")?;
        finder.edits.push(Edit {
            range: at..at,
            form: Form::Return,
            choices: vec![(*index, fault.replacement.clone())],
        });
    }
    let mut edits = finder.edits;
    // Outermost first, and what is put before something before that.
    edits.sort_by_key(|edit| {
        let Range { start, end } = edit.range;
        (start, end != start, usize::MAX - end)
    });
    let found: Vec<usize> = edits
        .iter()
        .flat_map(|edit| edit.choices.iter().map(|(index, _)| *index))
        .collect();
    let lost = faults.iter().map(|(index, _)| *index);
    let mut woven = Woven {
        text: String::new(),
        added: Vec::new(),
        lost: lost.filter(|index| !found.contains(index)).collect(),
    };
    woven.render(source, 0..source.len(), &edits)?;
    Ok(woven)
}

/// A change of a part of the source.
struct Edit {
    range: Range<usize>,
    form: Form,
    /// The index of each fault there, and its text.
    choices: Vec<(usize, String)>,
}

/// How the choices of an edit are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Before a body: each returns its text.
    Return,
    /// In place of an expression: each is the value instead.
    Instead,
    /// Behind a pattern without a guard: the arm is there unless the fault is active.
    Guard,
}

impl Woven {
    /// Writes a part of the source with the edits in it, which are sorted.
    fn render(&mut self, source: &str, part: Range<usize>, edits: &[Edit]) -> anyhow::Result<()> {
        let mut from = part.start;
        let mut rest = edits;
        while let [edit, others @ ..] = rest {
            let Range { start, end } = edit.range;
            if start < from || end > part.end {
                bail!("two faults overlap at byte {start}");
            }
            self.text.push_str(&source[from..start]);
            let inner = others
                .iter()
                .take_while(|other| other.range.start < end)
                .count();
            let (inner, behind) = others.split_at(inner);
            match edit.form {
                Form::Return => {
                    for (index, text) in &edit.choices {
                        self.add(*index, &format!("{} return {text}; }}", condition(*index)));
                        self.text.push(' ');
                    }
                }
                Form::Guard => {
                    for (at, (index, _)) in edit.choices.iter().enumerate() {
                        let before = if at == 0 { " if " } else { " && " };
                        let guard = format!("{before}!crate::seeded::is_active({index})");
                        self.add(*index, &guard);
                    }
                }
                Form::Instead => {
                    self.text.push('(');
                    for (index, text) in &edit.choices {
                        self.add(*index, &format!("{} {text} }}", condition(*index)));
                        self.text.push_str(" else ");
                    }
                    self.text.push_str("{ ");
                    self.render(source, start..end, inner)?;
                    self.text.push_str(" })");
                }
            }
            from = end;
            rest = behind;
        }
        self.text.push_str(&source[from..part.end]);
        Ok(())
    }

    /// Adds the text of a fault.
    fn add(&mut self, index: usize, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.added.push((start..self.text.len(), index));
    }
}

/// Returns the start of what is done if a fault is active.
fn condition(index: usize) -> String {
    format!("if crate::seeded::is_active({index}) {{")
}

/// The faults by the place where they begin.
type ByPlace<'f> = HashMap<Place, Vec<(usize, &'f Fault)>>;

fn by_place<'f>(faults: &[(usize, &'f Fault)]) -> ByPlace<'f> {
    let mut places = ByPlace::new();
    for (index, fault) in faults {
        places
            .entry(fault.span.start)
            .or_default()
            .push((*index, *fault));
    }
    places
}

/// Finds the expressions that faults are about.
struct Finder<'f> {
    source: &'f str,
    lines: &'f Lines,
    faults: ByPlace<'f>,
    edits: Vec<Edit>,
}

impl<'f> Finder<'f> {
    /// Returns the faults of a genre that begin where a span does.
    fn at(&self, span: TokenSpan, genre: Genre) -> Vec<(usize, &'f Fault)> {
        let found = self.faults.get(&Place::from(span.start()));
        let found = found.into_iter().flatten().copied();
        found.filter(|(_, fault)| fault.genre == genre).collect()
    }

    fn range(&self, span: TokenSpan) -> Option<Range<usize>> {
        let start = self.lines.offset(Place::from(span.start()))?;
        Some(start..self.lines.offset(Place::from(span.end()))?)
    }

    fn text(&self, span: TokenSpan) -> Option<&'f str> {
        self.source.get(self.range(span)?)
    }

    /// Notes the choices that stand in place of a span, if there are any.
    fn instead(&mut self, span: TokenSpan, choices: Vec<(usize, String)>) {
        if let Some(range) = self.range(span).filter(|_| !choices.is_empty()) {
            self.edits.push(Edit {
                range,
                form: Form::Instead,
                choices,
            });
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr_binary(&mut self, node: &'ast syn::ExprBinary) {
        let found = self.at(node.op.span(), Genre::BinaryOperator);
        if let (Some(left), Some(right)) =
            (self.text(node.left.span()), self.text(node.right.span()))
        {
            let choices = found.iter().map(|(index, fault)| {
                let operator = &fault.replacement;
                // What is assigned to is no value.
                let is_assignment = operator.ends_with('=')
                    && !["==", "!=", "<=", ">="].contains(&operator.as_str());
                let text = if is_assignment {
                    format!("{left} {operator} ({right})")
                } else {
                    format!("({left}) {operator} ({right})")
                };
                (*index, text)
            });
            self.instead(node.span(), choices.collect());
        }
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast syn::ExprUnary) {
        let found = self.at(node.op.span(), Genre::UnaryOperator);
        if let Some(operand) = self.text(node.expr.span()) {
            let choices = found.iter().map(|(index, _)| (*index, operand.to_owned()));
            self.instead(node.span(), choices.collect());
        }
        visit::visit_expr_unary(self, node);
    }

    fn visit_arm(&mut self, node: &'ast syn::Arm) {
        let gone = self.at(node.span(), Genre::MatchArm);
        if let syn::Pat::Guard(syn::PatGuard { guard, .. }) = &node.pat {
            let replaced = self.at(guard.span(), Genre::MatchArmGuard);
            let replaced = replaced
                .iter()
                .map(|(index, fault)| (*index, fault.replacement.clone()));
            let gone = gone.iter().map(|(index, _)| (*index, "false".to_owned()));
            self.instead(guard.span(), gone.chain(replaced).collect());
        } else if let Some(pattern) = self.range(node.pat.span()).filter(|_| !gone.is_empty()) {
            self.edits.push(Edit {
                range: pattern.end..pattern.end,
                form: Form::Guard,
                choices: gone
                    .iter()
                    .map(|(index, _)| (*index, String::new()))
                    .collect(),
            });
        }
        visit::visit_arm(self, node);
    }

    fn visit_expr_struct(&mut self, node: &'ast syn::ExprStruct) {
        let mut choices = Vec::new();
        for (own, field) in node.fields.iter().enumerate() {
            for (index, _) in self.at(field.span(), Genre::StructField) {
                let others = node.fields.iter().enumerate();
                let others = others.filter(|(at, _)| *at != own);
                let others: Option<Vec<&str>> =
                    others.map(|(_, other)| self.text(other.span())).collect();
                let base = node.rest.as_ref().and_then(|rest| self.text(rest.span()));
                let name = self.text(node.path.span());
                if let (Some(mut parts), Some(base), Some(name)) = (others, base, name) {
                    let base = format!("..{base}");
                    parts.push(&base);
                    choices.push((index, format!("{name} {{ {} }}", parts.join(", "))));
                }
            }
        }
        self.instead(node.span(), choices);
        visit::visit_expr_struct(self, node);
    }
}

/// The byte at which each line of a file begins.
struct Lines {
    lines: Vec<(usize, String)>,
}

impl Lines {
    fn of(source: &str) -> Self {
        let mut start = 0;
        let lines = source.split_inclusive('\n').map(|line| {
            let at = start;
            start += line.len();
            (at, line.to_owned())
        });
        Self {
            lines: lines.collect(),
        }
    }

    /// Returns the byte of a place.
    fn offset(&self, place: Place) -> Option<usize> {
        let (start, line) = self.lines.get(place.line.checked_sub(1)?)?;
        let mut characters = line.char_indices().map(|(at, _)| at).chain([line.len()]);
        Some(start + characters.nth(place.column.checked_sub(1)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Span;

    /// Returns the fault of changing `at`, which stands in the source once.
    fn fault(source: &str, genre: Genre, at: &str, replacement: &str) -> Fault {
        let start = source.find(at).expect("the text is in the source");
        let place = |offset: usize| {
            let before = &source[..offset];
            let line = before.rsplit('\n').next().unwrap_or_default();
            Place {
                line: before.matches('\n').count() + 1,
                column: line.chars().count() + 1,
            }
        };
        Fault {
            file: "src/a.rs".to_owned(),
            function: None,
            name: at.to_owned(),
            genre,
            replacement: replacement.to_owned(),
            span: Span {
                start: place(start),
                end: place(start + at.len()),
            },
        }
    }

    #[track_caller]
    fn woven(source: &str, faults: &[(Genre, &str, &str)], expected: &str) {
        let faults: Vec<Fault> = faults
            .iter()
            .map(|(genre, at, replacement)| fault(source, *genre, at, replacement))
            .collect();
        let numbered: Vec<(usize, &Fault)> = faults.iter().enumerate().collect();
        let whole = weave(source, &numbered).expect("the source is Rust");
        let expected = expected.replace("is_active", "crate::seeded::is_active");
        assert_eq!(whole.text, expected);
        assert_eq!(whole.lost, Vec::<usize>::new());
        syn::parse_file(&whole.text).expect("it is Rust with the faults too");
    }

    #[test]
    fn each_fault_has_a_condition() {
        woven(
            "fn größer(a: u8) -> bool { a > 1 && !b() }",
            &[
                (Genre::FnValue, "a > 1", "true"),
                (Genre::BinaryOperator, "> 1", "<"),
                (Genre::BinaryOperator, "> 1", "=="),
                (Genre::UnaryOperator, "!b()", ""),
            ],
            "fn größer(a: u8) -> bool { if is_active(0) { return true; } \
             (if is_active(1) { (a) < (1) } else if is_active(2) { (a) == (1) } else { a > 1 }) \
             && (if is_active(3) { b() } else { !b() }) }",
        );
        woven(
            "fn f() { x += 1; }",
            &[(Genre::BinaryOperator, "+= 1", "-=")],
            "fn f() { (if is_active(0) { x -= (1) } else { x += 1 }); }",
        );
    }

    #[test]
    fn one_fault_is_within_another() {
        woven(
            "fn f() -> bool { a == b && c == d }",
            &[
                (Genre::BinaryOperator, "&& c", "||"),
                (Genre::BinaryOperator, "== d", "!="),
            ],
            "fn f() -> bool { (if is_active(0) { (a == b) || (c == d) } else \
             { a == b && (if is_active(1) { (c) != (d) } else { c == d }) }) }",
        );
    }

    #[test]
    fn arms_and_fields_can_be_missing() {
        woven(
            "fn f() { match x { 1 => a(), 2 if ok => b(), _ => c(), } }",
            &[
                (Genre::MatchArm, "1 => a(),", ""),
                (Genre::MatchArmGuard, "ok", "true"),
                (Genre::MatchArm, "2 if ok => b(),", ""),
            ],
            "fn f() { match x { 1 if !is_active(0) => a(), \
             2 if (if is_active(2) { false } else if is_active(1) { true } else { ok }) => b(), _ => c(), } }",
        );
        woven(
            "fn f() -> S { S { a: 1, b: 2, ..S::default() } }",
            &[(Genre::StructField, "a: 1", "")],
            "fn f() -> S { (if is_active(0) { S { b: 2, ..S::default() } } else \
             { S { a: 1, b: 2, ..S::default() } }) }",
        );
    }
}
