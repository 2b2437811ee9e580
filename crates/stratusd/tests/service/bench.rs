//! Benchmarks of the service as a process, which `cargo xtask bench` runs in an optimised build.
//!
//! `STRATUS_BENCH_ROUNDS` sets the number of rounds, `STRATUS_BENCH_ROWS` the largest number of
//! neighbours, and `STRATUS_BENCH_ATTACK` a part of the names of the attacks to measure.

mod attacks;
mod balance;
mod cost;
mod databases;
mod neighbours;
mod processes;
mod reconcile;
mod replicas;

use crate::support::variable;

/// Returns the number of rounds.
fn rounds(usual: u64) -> u64 {
    variable("STRATUS_BENCH_ROUNDS").unwrap_or(usual)
}

/// Returns the figure below which a share of all figures lies, in percent. There must be one.
fn percentile(figures: &mut [f64], percent: usize) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[(figures.len() - 1) * percent / 100]
}

/// Prints the title and the head of a table in Markdown.
fn print_head(title: &str, columns: &[&str]) {
    println!("\n### {title}\n");
    println!("| {} |", columns.join(" | "));
    println!("|{}", " --- |".repeat(columns.len()));
}
