//! What processes use, as Linux counts it.

use std::fs;

/// The ticks of a second by which Linux counts the time of a process.
const TICKS: f64 = 100.0;
/// Where the fields of a process's line of numbers are, counted from after its name: its parent, its
/// own time in two fields, and that of its children that have ended in two more.
const PARENT: usize = 1;
const OWN: usize = 11;
const ENDED: usize = 13;

/// Returns the seconds that a process and its threads have computed.
pub fn cpu(process: u32) -> f64 {
    seconds(&fields(process), OWN)
}

/// Returns a process and all below it.
pub fn tree(root: u32) -> Vec<u32> {
    let all: Vec<(u32, u32)> = fs::read_dir("/proc")
        .expect("Linux lists its processes")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|process| Some((process, fields(process).get(PARENT)?.parse().ok()?)))
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children = all.iter().filter(|(_, of)| *of == parent);
        found.extend(children.map(|(process, _)| process));
        next += 1;
    }
    found
}

/// Returns the seconds that a process and all below it have computed, those that have ended too.
pub fn cpu_of_tree(root: u32) -> f64 {
    let seconds = tree(root).into_iter().map(|process| {
        let fields = fields(process);
        seconds(&fields, OWN) + seconds(&fields, ENDED)
    });
    seconds.sum()
}

/// Returns the memory of a process and all below it, in MiB. Pages that several share are counted once.
pub fn memory_of_tree(root: u32) -> f64 {
    tree(root).into_iter().map(memory).sum()
}

/// Returns the memory of a process in MiB, of what it shares only its part (the proportional set size).
/// It is 0 if the process has ended.
pub fn memory(process: u32) -> f64 {
    let sizes = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    let size = sizes.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = size.and_then(|size| size.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    kib.unwrap_or_default() / 1024.0
}

/// Returns the fields of a process after its name. There are none if it has ended.
fn fields(process: u32) -> Vec<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name of the program, in brackets, may have spaces.
    let (_, after) = stat.rsplit_once(')').unwrap_or_default();
    after.split_whitespace().map(str::to_owned).collect()
}

fn seconds(fields: &[String], first: usize) -> f64 {
    let ticks = fields.iter().skip(first).take(2);
    ticks
        .filter_map(|field| field.parse::<f64>().ok())
        .sum::<f64>()
        / TICKS
}
