//! `lint`: reports the diagnostics of a document, at the levels of its policy.

mod forms;
mod mend;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use ::policy::{Policy, RULES, explain};
use anyhow::bail;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use compatibility::searched_lints;
use contract::rules::{self, Rule};
use contract::{Diagnostic, LintSet, Severity, Sources, diagnostic, nearest};

use crate::contracts;
use crate::exit::Exit;
use crate::forms::Form;
use crate::policy::Choice;
use crate::reading::Reading;

/// Report what is wrong with a document
///
/// Exit codes: 0 the document has no errors, 1 it has, or the policy has, 2 the arguments are wrong,
/// 5 it has warnings, and they are denied.
#[derive(Debug, Default, clap::Args)]
pub struct Arguments {
    /// The OpenAPI 3.0, 3.1 or 3.2 document [default: those of contract.toml, or openapi.yaml of the
    /// workspace]
    file: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// A set of lints to run beside `correct`, which always runs, in place of those of the policy;
    /// may be repeated
    #[arg(long = "set", value_name = "SET", value_parser = sets())]
    sets: Vec<LintSet>,
    /// A severity that fails the command beside errors
    #[arg(long, value_name = "SEVERITY", value_parser = denied())]
    deny: Vec<String>,
    /// The form of the report
    #[arg(long, value_enum, default_value_t)]
    format: Form,
    /// Mend in the files what can be mended in one way only, print each change, and report the rest
    #[arg(long)]
    fix: bool,
    #[command(flatten)]
    choice: Choice,
    /// Describe a rule, with an example, and read no document
    #[arg(long, value_name = "RULE", value_parser = rule)]
    explain: Option<&'static Rule>,
    /// Print the descriptions of all rules, as in docs/rules.md, and read no document
    #[arg(long)]
    rules: bool,
    /// Print the JSON Schema of contract.toml, as in docs/contract-toml.schema.json, and read no
    /// document
    #[arg(long)]
    policy_schema: bool,
}

/// Returns the parser of a set of lints.
fn sets() -> impl TypedValueParser<Value = LintSet> {
    let known = LintSet::ALL.map(|set| PossibleValue::new(set.name()).help(set.summary()));
    PossibleValuesParser::new(known).try_map(|name| {
        let mut all = LintSet::ALL.into_iter();
        all.find(|set| set.name() == name).ok_or("unknown set")
    })
}

/// Returns the parser of a severity that fails the command beside errors.
fn denied() -> PossibleValuesParser {
    PossibleValuesParser::new([PossibleValue::new("warnings").help("Warnings fail the command")])
}

/// What is wrong with a document, as its policy judges it.
struct Report {
    sources: Sources,
    diagnostics: Vec<Diagnostic>,
    /// The number of operations, or `None` if there is no contract.
    operations: Option<usize>,
    denies_warnings: bool,
}

impl Report {
    fn count(&self, severity: Severity) -> usize {
        let found = self.diagnostics.iter();
        found.filter(|one| one.severity == severity).count()
    }

    fn is_refused(&self) -> bool {
        self.denies_warnings && self.count(Severity::Warning) > 0
    }
}

pub(crate) fn run(
    arguments: &Arguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    if let Some(rule) = arguments.explain {
        write!(out, "{}", rule.markdown())?;
        return Ok(Exit::Fresh);
    }
    if arguments.rules {
        write!(out, "{}", rules::markdown())?;
        return Ok(Exit::Fresh);
    }
    if arguments.policy_schema {
        write!(out, "{}", ::policy::schema())?;
        return Ok(Exit::Fresh);
    }
    if let Some(file) = &arguments.file {
        return lint(arguments, file, &arguments.reading, out, err);
    }
    let Some(documents) = contracts::documents(&arguments.reading, err)? else {
        return Ok(Exit::Failed);
    };
    if documents.len() > 1 && matches!(arguments.format, Form::Json | Form::Sarif) {
        bail!(
            "this form is about one document, and contract.toml lists {}: name one",
            documents.len()
        );
    }
    let mut exit = Exit::Fresh;
    for document in &documents {
        exit = exit.and(lint(
            arguments,
            &document.path,
            &document.reading,
            out,
            err,
        )?);
    }
    Ok(exit)
}

/// Reports what is wrong with one document.
fn lint(
    arguments: &Arguments,
    file: &Path,
    reading: &Reading,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(policy) = arguments.choice.read(file, err)? else {
        return Ok(Exit::Failed);
    };
    let mut report = check(arguments, file, reading, &policy);
    if arguments.fix {
        // The other forms are for programs, which read the whole of `out`.
        let changes: &mut dyn Write = match arguments.format {
            Form::Terminal => &mut *out,
            Form::Json | Form::Github | Form::Sarif => &mut *err,
        };
        if mend::mend(&report.sources, &report.diagnostics, changes)? {
            report = check(arguments, file, reading, &policy);
        }
    }
    match arguments.format {
        Form::Terminal => {
            let rendered = diagnostic::render(&report.sources, &report.diagnostics);
            write!(err, "{rendered}")?;
            if let Some(operations) = report.operations
                && report.diagnostics.is_empty()
            {
                let plural = if operations == 1 { "" } else { "s" };
                writeln!(out, "nothing to say about {operations} operation{plural}")?;
            }
            if report.is_refused() {
                writeln!(err, "refused, since warnings are denied")?;
            }
        }
        Form::Json => write!(out, "{}", forms::json(&report))?,
        Form::Github => write!(out, "{}", forms::github(&report))?,
        Form::Sarif => write!(out, "{}", forms::sarif(&report))?,
    }
    Ok(
        if report.count(Severity::Error) > 0 || report.operations.is_none() {
            Exit::Failed
        } else if report.is_refused() {
            Exit::Refused
        } else {
            Exit::Fresh
        },
    )
}

fn check(arguments: &Arguments, file: &Path, reading: &Reading, policy: &Policy) -> Report {
    let chosen: BTreeSet<LintSet> = if arguments.sets.is_empty() {
        policy.sets()
    } else {
        let sets = arguments.sets.iter().copied();
        sets.chain([LintSet::Correct]).collect()
    };
    let options = contract::Options {
        sets: policy.needed(&chosen),
        ..reading.options()
    };
    let mut loaded = contract::load_with(file, &options);
    if let Some(contract) = &loaded.contract {
        let found = searched_lints(contract, &loaded.diagnostics);
        loaded.diagnostics.extend(found);
    }
    let today = arguments.choice.today();
    let diagnostics = policy.lint(&mut loaded.sources, loaded.diagnostics, &chosen, today);
    Report {
        sources: loaded.sources,
        diagnostics,
        operations: loaded.contract.map(|contract| contract.operations.len()),
        denies_warnings: policy.denies_warnings() || !arguments.deny.is_empty(),
    }
}

/// A report on one document, for `preview`.
#[cfg(feature = "mock")]
pub(crate) struct Judgement {
    /// The report as `--format json` prints it.
    pub(crate) report: serde_json::Value,
    /// Whether there is a contract.
    pub(crate) is_readable: bool,
    pub(crate) has_errors: bool,
    /// The files that the document consists of, as far as they were read.
    pub(crate) files: Vec<PathBuf>,
}

/// Judges a document, with the sets of lints of its policy.
#[cfg(feature = "mock")]
pub(crate) fn judge(file: &Path, reading: &Reading, choice: &Choice) -> anyhow::Result<Judgement> {
    let mut wrong = Vec::new();
    let Some(policy) = choice.read(file, &mut wrong)? else {
        bail!("{}", String::from_utf8_lossy(&wrong));
    };
    let arguments = Arguments {
        choice: choice.clone(),
        ..Arguments::default()
    };
    let report = check(&arguments, file, reading, &policy);
    let files = report.sources.files();
    Ok(Judgement {
        report: forms::value(&report),
        is_readable: report.operations.is_some(),
        has_errors: report.count(Severity::Error) > 0,
        files: files.map(|(_, file)| PathBuf::from(&file.name)).collect(),
    })
}

/// Returns the rule with a code.
fn rule(code: &str) -> Result<&'static Rule, String> {
    let known = rules::all().into_iter().map(|rule| rule.code);
    explain(code).ok_or_else(|| {
        match nearest(code, known.chain(RULES.iter().map(|rule| rule.code))) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "docs/rules.md lists the rules".to_owned(),
        }
    })
}
