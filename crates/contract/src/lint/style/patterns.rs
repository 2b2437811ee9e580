//! Patterns that match a part of the text, and those that take exponential time in other engines.

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{Ast, Repetition, RepetitionKind, RepetitionRange};
use regex_syntax::hir::translate::Translator;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

use crate::diagnostic::Diagnostic;
use crate::lint::context::Context;
use crate::pattern::canonical;

/// Reports patterns that are not about the whole text, and patterns with a repetition of what can
/// itself be repeated, on which engines that backtrack take exponential time.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in &context.origins.nodes {
        let Some(value) = node.get("pattern") else {
            continue;
        };
        let Some(pattern) = value.as_str() else {
            continue;
        };
        let spelt = canonical(pattern);
        let Ok(translated) = jsonschema_regex::to_rust_regex(&spelt) else {
            continue;
        };
        // Patterns that look around are not judged.
        let Ok(parsed) = regex_syntax::parse(&translated) else {
            continue;
        };
        let properties = parsed.properties();
        // One end is often left open on purpose, as for a prefix.
        let is_bound = properties.look_set().contains(Look::Start)
            || properties.look_set().contains(Look::End);
        let unanchored = if is_bound {
            half_anchored(&parsed)
        } else {
            Some((
                "the pattern accepts every text with a part that matches",
                "begin it with `^` and end it with `$`",
            ))
        };
        if let Some((message, help)) = unanchored {
            diagnostics
                .push(Diagnostic::warning("unanchored-pattern", value.span, message).help(help));
        }
        if is_exponential(&parsed, false) || is_ambiguous(&translated) {
            diagnostics.push(
                Diagnostic::warning(
                    "backtracking-pattern",
                    value.span,
                    "engines that backtrack take exponential time for this pattern",
                )
                .help("do not repeat what is itself repeated, as in `(a+)+`"),
            );
        }
    }
}

/// Returns what is wrong with the anchors of a pattern that has one, and what to write instead.
fn half_anchored(hir: &Hir) -> Option<(&'static str, &'static str)> {
    match hir.kind() {
        HirKind::Capture(capture) => half_anchored(&capture.sub),
        // `^a|b$` is `^a` or `b$`, and rarely meant.
        HirKind::Alternation(parts) => {
            let is_loose = |part: &Hir| {
                let properties = part.properties();
                !properties.look_set_prefix().contains(Look::Start)
                    || !properties.look_set_suffix().contains(Look::End)
            };
            let is_half = |part: &Hir| is_loose(part) && !part.properties().look_set().is_empty();
            parts.iter().any(is_half).then_some((
                "an anchor of the pattern is for one of its alternatives only",
                "put the alternatives into parentheses, as in `^(a|b)$`",
            ))
        }
        HirKind::Concat(parts) => {
            let [first, .., last] = &parts[..] else {
                return None;
            };
            // What is repeated at an open end says as much without the repetition.
            (is_idle_repetition(last) || is_idle_repetition(first)).then_some((
                "the pattern is open at an end, so the repetition there says nothing",
                "anchor both ends, with `^` and `$`",
            ))
        }
        HirKind::Empty
        | HirKind::Literal(_)
        | HirKind::Class(_)
        | HirKind::Look(_)
        | HirKind::Repetition(_) => None,
    }
}

/// Returns whether a part is the repetition of some characters, at least one and without an end.
fn is_idle_repetition(part: &Hir) -> bool {
    match part.kind() {
        HirKind::Capture(capture) => is_idle_repetition(&capture.sub),
        HirKind::Repetition(repetition) => {
            repetition.min == 1
                && repetition.max.is_none()
                // `.+` is written where there must be something.
                && !is_nearly_any(&repetition.sub)
        }
        _ => false,
    }
}

/// Returns whether a part is a class of nearly all characters, such as `.` or `\S`.
fn is_nearly_any(part: &Hir) -> bool {
    match part.kind() {
        HirKind::Capture(capture) => is_nearly_any(&capture.sub),
        HirKind::Class(Class::Unicode(class)) => {
            let count: u32 = class
                .ranges()
                .iter()
                .map(|range| u32::from(range.end()) - u32::from(range.start()))
                .sum();
            count > MOST_CLASS
        }
        _ => false,
    }
}

/// The number of characters from which a class says what is not in it.
const MOST_CLASS: u32 = 200_000;

/// Returns whether a part of a pattern repeats what can be split in several ways. `is_repeated` says
/// whether the part is itself in a repetition without an end.
fn is_exponential(hir: &Hir, is_repeated: bool) -> bool {
    match hir.kind() {
        HirKind::Repetition(repetition) => {
            let is_endless = repetition.max.is_none();
            (is_endless && is_repeated) || is_exponential(&repetition.sub, is_endless)
        }
        HirKind::Capture(capture) => is_exponential(&capture.sub, is_repeated),
        HirKind::Concat(parts) => {
            // Beside a part that always takes a character, a repetition ends at that one.
            let is_needed = |part: &Hir| part.properties().minimum_len() != Some(0);
            let is_alone = parts.iter().filter(|part| is_needed(part)).count() <= 1;
            parts.iter().any(|part| {
                let is_only = is_alone && (is_needed(part) || !parts.iter().any(is_needed));
                is_exponential(part, is_repeated && is_only)
            })
        }
        HirKind::Alternation(parts) => parts.iter().any(|part| is_exponential(part, is_repeated)),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => false,
    }
}

/// The number of alternatives of a choice that are compared.
const MOST_ALTERNATIVES: usize = 50;

/// Returns whether a pattern repeats a choice of which two alternatives match the same character, so
/// that each such character of a text can be matched in two ways.
fn is_ambiguous(pattern: &str) -> bool {
    // From the syntax as written: the parser makes one class of alternatives of one character.
    let Ok(ast) = Parser::new().parse(pattern) else {
        return false;
    };
    let mut pending = vec![(&ast, false)];
    while let Some((ast, is_repeated)) = pending.pop() {
        match ast {
            Ast::Repetition(repetition) => pending.push((&repetition.ast, is_endless(repetition))),
            Ast::Group(group) => pending.push((&group.ast, is_repeated)),
            Ast::Concat(parts) => pending.extend(parts.asts.iter().map(|part| (part, false))),
            Ast::Alternation(parts) => {
                if is_repeated && overlap(pattern, &parts.asts) {
                    return true;
                }
                pending.extend(parts.asts.iter().map(|part| (part, is_repeated)));
            }
            Ast::Empty(_)
            | Ast::Flags(_)
            | Ast::Literal(_)
            | Ast::Dot(_)
            | Ast::Assertion(_)
            | Ast::ClassUnicode(_)
            | Ast::ClassPerl(_)
            | Ast::ClassBracketed(_) => {}
        }
    }
    false
}

fn is_endless(repetition: &Repetition) -> bool {
    matches!(
        repetition.op.kind,
        RepetitionKind::ZeroOrMore
            | RepetitionKind::OneOrMore
            | RepetitionKind::Range(RepetitionRange::AtLeast(_))
    )
}

fn overlap(pattern: &str, alternatives: &[Ast]) -> bool {
    let mut seen: Vec<ClassUnicode> = Vec::new();
    for alternative in alternatives.iter().take(MOST_ALTERNATIVES) {
        let hir = Translator::new().translate(pattern, alternative);
        let Some(class) = hir.ok().as_ref().and_then(single) else {
            continue;
        };
        let meets = |other: &ClassUnicode| {
            let mut both = other.clone();
            both.intersect(&class);
            !both.ranges().is_empty()
        };
        if seen.iter().any(meets) {
            return true;
        }
        seen.push(class);
    }
    false
}

/// Returns the characters that a part of one character matches.
fn single(part: &Hir) -> Option<ClassUnicode> {
    match part.kind() {
        HirKind::Capture(capture) => single(&capture.sub),
        HirKind::Class(Class::Unicode(class)) => Some(class.clone()),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            let mut chars = text.chars();
            let char = chars.next().filter(|_| chars.as_str().is_empty())?;
            Some(ClassUnicode::new([ClassUnicodeRange::new(char, char)]))
        }
        // `a+` matches what `a` does.
        HirKind::Repetition(repetition) if repetition.min == 1 => single(&repetition.sub),
        _ => None,
    }
}
