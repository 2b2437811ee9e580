//! Measuring and printing, for every benchmark.

#![allow(dead_code, reason = "each benchmark uses its part")]

use std::fs;

/// Returns whether to run a benchmark of this name: all run, unless an argument is a part of some
/// names.
pub fn is_wanted(name: &str) -> bool {
    let mut wanted = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .peekable();
    wanted.peek().is_none() || wanted.any(|part| name.contains(&part))
}

/// Returns the median.
pub fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Returns the peak memory of this process, in KiB.
pub fn peak_kibibytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has /proc/self/status");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("/proc/self/status has VmHWM");
    line.trim_end_matches("kB")
        .trim()
        .parse()
        .expect("VmHWM is a number")
}

/// Returns the CPU time of a thread, in nanoseconds. `thread` is its [`own_thread`].
pub fn cpu_nanoseconds(thread: &str) -> f64 {
    let statistics = fs::read_to_string(format!("/proc/{thread}/schedstat"))
        .expect("Linux has /proc/…/schedstat");
    statistics
        .split(' ')
        .next()
        .and_then(|time| time.parse().ok())
        .expect("schedstat begins with a number")
}

/// Returns the name of this thread under `/proc`: `<process>/task/<thread>`.
pub fn own_thread() -> String {
    let link = fs::read_link("/proc/thread-self").expect("Linux has /proc/thread-self");
    link.to_string_lossy().into_owned()
}

/// Pins this thread to a processor, so that every contender pays the same for being woken up.
pub fn stay_on(processor: usize) {
    let mut only = rustix::thread::CpuSet::new();
    only.set(processor);
    // A machine with a single processor has no other.
    let _ = rustix::thread::sched_setaffinity(None, &only);
}

/// A table in Markdown, so that it can go into docs/benchmarks.md as it is.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(head: &[&str]) -> Self {
        Self {
            rows: vec![head.iter().map(|cell| (*cell).to_owned()).collect()],
        }
    }

    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(Vec::from(cells));
    }

    pub fn print(&self, title: &str) {
        println!("\n### {title}\n");
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        for (at, row) in self.rows.iter().enumerate() {
            let cells: Vec<String> = row
                .iter()
                .enumerate()
                .map(|(column, cell)| format!("{cell:<width$}", width = width(column)))
                .collect();
            println!("| {} |", cells.join(" | "));
            if at == 0 {
                let line: Vec<String> = (0..row.len())
                    .map(|column| "-".repeat(width(column)))
                    .collect();
                println!("| {} |", line.join(" | "));
            }
        }
    }
}
