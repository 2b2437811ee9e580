//! Seeds all faults that cargo-mutants finds in a package into one build of it, and runs for each fault
//! the tests that reach it. cargo-mutants itself builds the package for each fault, which takes days.
//!
//! ```sh
//! cargo mutants --list --json --package stratusd > faults.json
//! faults faults.json WORKSPACE stratusd FOLDER [WORD...]
//! ```
//!
//! With words, only tests whose names contain one of them judge the faults.
//! `faults --resume FOLDER` goes on after an interruption.
//!
//! Writes the names of the faults into files of the folder: `caught.txt`, `timeout.txt` and `missed.txt`
//! as cargo-mutants does, `unreached.txt` for those of the missed that no test reaches, and
//! `left_out.txt` for those that do not compile beside the others, or are for other systems. `failing.txt`
//! has the tests that fail without a fault, and judge none.

mod experience;
mod fault;
mod run;
mod tree;
mod trial;
mod weave;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::{env, thread};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

use fault::Fault;
use tree::Tree;
use trial::{Test, Trial, Verdict};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let (prepared, results, scratch) = match arguments.as_slice() {
        [option, folder] if option.as_os_str() == "--resume" => {
            let prepared = Prepared::read(folder)?;
            (prepared, Results::at(folder), folder.join("reached"))
        }
        [faults, workspace, package, folder, words @ ..] => {
            fs::create_dir_all(folder).context("the folder cannot be made")?;
            // Cargo and the tests run in other folders.
            let folder = &folder.canonicalize().context("the folder is not there")?;
            let results = Results::at(folder);
            let words: Vec<String> = words
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            let prepared = Prepared::new(
                faults,
                (workspace, &package.to_string_lossy()),
                folder,
                &results,
                &words,
            )?;
            (prepared, results, folder.join("reached"))
        }
        _ => bail!(
            "usage: faults FAULTS.json WORKSPACE PACKAGE FOLDER [WORD...], or faults --resume FOLDER"
        ),
    };
    judge(&prepared, &results, scratch)
}

/// Runs the tests on each fault that is not in the results yet.
fn judge(prepared: &Prepared, results: &Results, scratch: PathBuf) -> anyhow::Result<()> {
    let judged = results.judged()?;
    let seeded = (0..prepared.faults.len()).filter(|index| !prepared.left_out.contains(index));
    let left: Vec<(usize, &Fault)> = seeded
        .map(|index| (index, &prepared.faults[index]))
        .filter(|(_, fault)| !judged.contains(&fault.name))
        .collect();
    println!("{} tests judge {} faults", prepared.tests.len(), left.len());
    let done = Mutex::new(0_usize);
    let all = prepared.faults.len();
    trial(&prepared.folder, scratch).judge(&left, all, &prepared.tests, &|index, verdict, count| {
        let name = &prepared.faults[index].name;
        let file = match verdict {
            Verdict::Caught => "caught",
            Verdict::Timeout => "timeout",
            Verdict::Missed => "missed",
        };
        results.write(file, name)?;
        if count == 0 {
            results.write("unreached", name)?;
        }
        let mut done = done
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        *done += 1;
        println!("{done}/{}: {file} after {count} tests: {name}", left.len());
        Ok(())
    })
}

fn trial(folder: &Path, scratch: PathBuf) -> Trial {
    let cores = thread::available_parallelism().map_or(2, usize::from);
    Trial {
        folder: folder.to_owned(),
        scratch,
        // Most tests wait most of the time.
        jobs: cores * 8,
    }
}

/// What is known before the faults are judged, and is needed to go on after an interruption.
#[derive(Debug, Serialize, Deserialize)]
struct Prepared {
    /// The folder of the package, in which its tests run.
    folder: PathBuf,
    faults: Vec<Fault>,
    /// Those that do not compile beside the others, by index.
    left_out: BTreeSet<usize>,
    /// The tests that pass without a fault.
    tests: Vec<Test>,
}

impl Prepared {
    /// Builds the package of a workspace with all faults, and runs every test without one, or those
    /// whose names contain one of the words.
    fn new(
        faults: &Path,
        (workspace, package): (&Path, &str),
        folder: &Path,
        results: &Results,
        words: &[String],
    ) -> anyhow::Result<Self> {
        let text =
            fs::read(faults).with_context(|| format!("failed to read {}", faults.display()))?;
        let faults: Vec<Fault> =
            serde_json::from_slice(&text).context("this is no list of faults")?;
        // What there is of another run is not to be gone on with.
        match fs::remove_file(Self::file(folder)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
        .context("the earlier run cannot be removed")?;
        results.clear()?;
        let tree = Tree::copy(workspace, package, folder)?;
        println!("{} faults: compiling all of them at once", faults.len());
        let left_out = tree.seed(&faults)?;
        for index in &left_out {
            results.write("left_out", &faults[*index].name)?;
        }
        println!("{} are left out: compiling the tests", left_out.len());
        let programs = tree.build()?;
        println!("running the tests without a fault");
        let trial = trial(&tree.folder(), folder.join("reached"));
        let (tests, failed) = trial.all(&programs, words)?;
        for name in &failed {
            println!("left out, since it fails without a fault: {name}");
            results.write("failing", name)?;
        }
        let prepared = Self {
            folder: tree.folder(),
            faults,
            left_out,
            tests,
        };
        let text = serde_json::to_vec(&prepared).context("the run cannot be written")?;
        let new = folder.join("run.json.new");
        fs::write(&new, text).context("the run cannot be written")?;
        fs::rename(new, Self::file(folder)).context("the run cannot be written")?;
        Ok(prepared)
    }

    fn read(folder: &Path) -> anyhow::Result<Self> {
        let text = fs::read(Self::file(folder)).context("there is no run to go on with")?;
        serde_json::from_slice(&text).context("the earlier run was written by another version")
    }

    fn file(folder: &Path) -> PathBuf {
        folder.join("run.json")
    }
}

/// The lists of faults.
struct Results {
    folder: PathBuf,
}

impl Results {
    fn at(folder: &Path) -> Self {
        Self {
            folder: folder.join("mutants.out"),
        }
    }

    /// Makes the lists empty.
    fn clear(&self) -> anyhow::Result<()> {
        fs::create_dir_all(&self.folder).context("the folder cannot be made")?;
        for name in [
            "caught",
            "timeout",
            "missed",
            "unreached",
            "left_out",
            "failing",
        ] {
            fs::write(self.path(name), "").context("the folder cannot be written")?;
        }
        Ok(())
    }

    /// Returns the names of the faults that have a verdict.
    fn judged(&self) -> anyhow::Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for name in ["caught", "timeout", "missed"] {
            let text = fs::read_to_string(self.path(name)).context("the results cannot be read")?;
            names.extend(text.lines().map(str::to_owned));
        }
        Ok(names)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.txt"))
    }

    fn write(&self, name: &str, fault: &str) -> anyhow::Result<()> {
        let mut file = File::options().append(true).open(self.path(name))?;
        file.write_all(format!("{fault}\n").as_bytes())?;
        Ok(())
    }
}
