//! What a service writes to its SQLite files and when it waits for the disk, recorded by `strace`,
//! and the files that a power cut at any moment may leave behind.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

use rand::rngs::StdRng;
use rand::{Rng, RngExt};

use super::Home;
use super::process::Service;

/// The bytes that a disk writes as a whole.
const SECTOR: usize = 512;
/// The system calls by which SQLite changes its files.
const CALLS: &str = "trace=pwrite64,ftruncate,fsync,fdatasync,unlink";

/// Returns whether `strace` can trace a process here. Prints a note if not.
///
/// # Panics
///
/// If it cannot, and the environment has `CI`.
pub fn can_be_recorded() -> bool {
    let traced = Command::new("strace")
        .args(["-D", "-f", "-o", "/dev/null", "true"])
        .output();
    let is_here = traced.is_ok_and(|output| output.status.success());
    if !is_here {
        super::leave_out("strace is not installed, or may not trace a process");
    }
    is_here
}

/// The disk of a service: its SQLite file and the log, and all that happens to them.
pub struct Disk {
    /// The paths of the file and its log.
    paths: [PathBuf; 2],
    trace: PathBuf,
    /// The file before the service starts.
    before: Vec<u8>,
}

impl Disk {
    /// Starts the service of a home, and records what it writes. Each of the `faults` is what the
    /// option `inject` of strace takes, such as `fdatasync:error=EIO:when=3`.
    pub fn serve(home: &Home, settings: &[&str], faults: &[&str]) -> (Self, Service) {
        let file = home.path().join("stratus.db");
        let disk = Self {
            paths: [file.clone(), home.path().join("stratus.db-wal")],
            trace: home.path().join("trace"),
            before: fs::read(&file).expect("the file can be read"),
        };
        let service = home.serve_by(
            |service| {
                // The tracer is a child of the service, so that signals reach the service.
                let mut strace = Command::new("strace");
                strace.args([
                    "-D",
                    "-f",
                    "--seccomp-bpf",
                    "-qq",
                    "-y",
                    "-xx",
                    "-s",
                    "70000",
                ]);
                strace.args(["-e", "signal=none", "-e", CALLS, "-o"]);
                strace.arg(&disk.trace);
                for fault in faults {
                    strace.args(["-e", &format!("inject={fault}")]);
                }
                strace.arg(service.get_program()).args(service.get_args());
                Some(strace)
            },
            settings,
        );
        (disk, service)
    }

    /// Returns the present moment of the recording. Everything that is recorded later happens
    /// later.
    pub fn moment(&self) -> u64 {
        let metadata = fs::metadata(&self.trace);
        metadata.expect("strace has started").len()
    }

    /// Returns the recording.
    pub fn recording(&self) -> Recording {
        Recording::read(self)
    }
}

/// What has happened to the file and its log, in order.
pub struct Recording {
    before: Vec<u8>,
    steps: Vec<Step>,
}

/// A system call that has succeeded, or a wait for the disk that has failed.
struct Step {
    /// The moment at which it had returned.
    end: u64,
    /// 0 for the file, and 1 for the log.
    file: usize,
    action: Action,
}

enum Action {
    Write {
        offset: usize,
        data: Vec<u8>,
    },
    Resize(usize),
    Remove,
    /// A wait for the disk, which had that many steps before it, and whether it succeeded.
    Sync {
        after: usize,
        has_succeeded: bool,
    },
}

impl Recording {
    fn read(disk: &Disk) -> Self {
        let trace = fs::File::open(&disk.trace).expect("strace has written it");
        let (mut steps, mut end) = (Vec::new(), 0);
        // The calls of other threads may be recorded between the start and the end of one.
        let mut open: HashMap<String, (String, usize)> = HashMap::new();
        for line in BufReader::new(trace).lines() {
            let line = line.expect("strace writes text");
            end += line.len() as u64 + 1;
            let (process, call) = line.split_once(' ').expect("a line begins with a process");
            let call = call.trim_start();
            if let Some(begun) = call.strip_suffix(" <unfinished ...>") {
                open.insert(process.to_owned(), (begun.to_owned(), steps.len()));
                continue;
            }
            let (call, after) = match call.strip_prefix("<... ") {
                None => (call.to_owned(), steps.len()),
                Some(resumed) => {
                    let Some((begun, after)) = open.remove(process) else {
                        continue;
                    };
                    let (_, rest) = resumed.split_once("resumed>").expect("it says so");
                    (begun + rest, after)
                }
            };
            if let Some((file, action)) = disk.action(&call, after) {
                steps.push(Step { end, file, action });
            }
        }
        Self {
            before: disk.before.clone(),
            steps,
        }
    }

    /// Returns the number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns the number of waits for the disk that have succeeded, and of those that have failed.
    pub fn syncs(&self) -> [usize; 2] {
        [true, false].map(|wanted| {
            let is_one = |step: &&Step| matches!(step.action, Action::Sync { has_succeeded, .. } if has_succeeded == wanted);
            self.steps.iter().filter(is_one).count()
        })
    }

    /// Returns the number of writes to the file itself: the log was copied into it.
    pub fn copied(&self) -> usize {
        let is_one = |step: &&Step| step.file == 0 && matches!(step.action, Action::Write { .. });
        self.steps.iter().filter(is_one).count()
    }

    /// Returns the moment until which responses are older than a power cut after some steps.
    pub fn until(&self, steps: usize) -> u64 {
        self.steps.get(steps).map_or(u64::MAX, |next| next.end)
    }

    /// Draws what is on the disk after a power cut: everything that was written before the disk was
    /// waited for, and any part of the rest.
    pub fn after(&self, steps: usize, random: &mut StdRng) -> Image {
        let mut files = [Some(self.before.clone()), None];
        let mut loose: [Vec<usize>; 2] = Default::default();
        for (at, step) in self.steps[..steps].iter().enumerate() {
            let Action::Sync {
                after,
                has_succeeded,
            } = step.action
            else {
                loose[step.file].push(at);
                continue;
            };
            let (settled, later) = loose[step.file].iter().partition(|at| **at < after);
            loose[step.file] = later;
            let settled: Vec<usize> = settled;
            // A system may forget what it failed to write, and not fail again.
            let fate = if has_succeeded {
                Fate::Whole
            } else {
                Fate::Any
            };
            self.settle(&mut files[step.file], &settled, fate, random);
        }
        let fate = [
            Fate::Whole,
            Fate::Nothing,
            Fate::First,
            Fate::Any,
            Fate::Any,
        ];
        let fate = fate[random.random_range(0..fate.len())];
        for (file, loose) in files.iter_mut().zip(&loose) {
            self.settle(file, loose, fate, random);
        }
        Image { files }
    }

    fn settle(&self, file: &mut Option<Vec<u8>>, steps: &[usize], fate: Fate, random: &mut StdRng) {
        let first = random.random_range(0..=steps.len());
        for (number, at) in steps.iter().enumerate() {
            let (is_kept, is_torn) = match fate {
                Fate::Whole => (true, false),
                Fate::Nothing => (false, false),
                Fate::First => (number <= first, number == first),
                Fate::Any => (random.random_ratio(2, 3), random.random_ratio(1, 3)),
            };
            if is_kept {
                self.steps[*at].action.happen(file, is_torn, random);
            }
        }
    }
}

/// What becomes of writes after which the disk was not waited for.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Whole,
    Nothing,
    /// The first are kept, and one more in part.
    First,
    /// Each is kept as a whole, in part or not at all.
    Any,
}

impl Action {
    fn happen(&self, file: &mut Option<Vec<u8>>, is_torn: bool, random: &mut StdRng) {
        match self {
            Self::Write { offset, data } => {
                let file = file.get_or_insert_default();
                let mut at = 0;
                while at < data.len() {
                    // Up to the end of the sector, as the disk counts.
                    let end = data.len().min(at + SECTOR - (offset + at) % SECTOR);
                    if !is_torn || random.random_ratio(1, 2) {
                        let place = offset + at..offset + end;
                        file.resize(file.len().max(place.end), 0);
                        file[place].copy_from_slice(&data[at..end]);
                    }
                    at = end;
                }
            }
            Self::Resize(length) => file.get_or_insert_default().resize(*length, 0),
            Self::Remove => *file = None,
            Self::Sync { .. } => {}
        }
    }
}

impl Disk {
    /// Reads a call as strace prints it. Returns `None` if the file and its log are as
    /// before.
    fn action(&self, call: &str, after: usize) -> Option<(usize, Action)> {
        let (name, rest) = call.split_once('(')?;
        let (arguments, result) = rest.rsplit_once(" = ")?;
        let arguments = arguments.trim_end().strip_suffix(')')?;
        let has_succeeded = !result.starts_with('-');
        let path = match name {
            "unlink" => arguments.trim_matches('"'),
            _ => arguments.split_once('<')?.1.split_once('>')?.0,
        };
        let path = PathBuf::from(String::from_utf8(bytes(path)).ok()?);
        let file = self.paths.iter().position(|of| *of == path)?;
        let last = |from: &str| from.rsplit(", ").next().and_then(|text| text.parse().ok());
        let action = match name {
            "fsync" | "fdatasync" => Action::Sync {
                after,
                has_succeeded,
            },
            _ if !has_succeeded => return None,
            "pwrite64" => {
                let (_, data) = arguments.split_once('"')?;
                let mut data = bytes(data.split_once('"')?.0);
                // A disk that is full takes a part.
                data.truncate(result.parse().ok()?);
                Action::Write {
                    offset: last(arguments)?,
                    data,
                }
            }
            "ftruncate" => Action::Resize(last(arguments)?),
            "unlink" => Action::Remove,
            other => panic!("{other} is not traced"),
        };
        Some((file, action))
    }
}

/// Reads bytes of the form `\x2f\x74`.
fn bytes(text: &str) -> Vec<u8> {
    let digit = |digit: u8| {
        char::from(digit)
            .to_digit(16)
            .expect("strace writes digits")
    };
    let of = |four: &[u8]| u8::try_from(digit(four[2]) * 16 + digit(four[3])).expect("two digits");
    text.as_bytes().chunks_exact(4).map(of).collect()
}

/// The file and its log after a power cut.
pub struct Image {
    files: [Option<Vec<u8>>; 2],
}

impl Image {
    /// Writes the files into a folder, in place of those of another image. Returns the path of the
    /// first.
    pub fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join("stratus.db");
        let ends = ["", "-wal"].into_iter().zip(&self.files);
        for (end, bytes) in ends.chain([("-shm", &None)]) {
            let path = folder.join(format!("stratus.db{end}"));
            match bytes {
                Some(bytes) => fs::write(path, bytes).expect("the folder is writable"),
                None => drop(fs::remove_file(path)),
            }
        }
        path
    }

    /// Loses half of the log, which the disk was waited for.
    pub fn spoil(&mut self, random: &mut impl Rng) {
        let log = self.files[1].as_mut().expect("there is a log");
        let half = log.len() / 2;
        log.truncate(half + random.random_range(0..SECTOR));
    }
}
