//! Seeds all faults that cargo-mutants finds in a package into one build of it, and runs for each fault
//! the tests that come by it. cargo-mutants itself builds the package for each fault, which takes days.
//!
//! ```sh
//! cargo mutants --list --json --package stratusd > faults.json
//! faults faults.json WORKSPACE stratusd FOLDER
//! ```
//!
//! Writes the names of the faults into files of the folder: `caught.txt`, `timeout.txt` and `missed.txt`
//! as cargo-mutants does, `unreached.txt` for those of the missed that no test comes by, and
//! `left_out.txt` for those that do not compile beside the others.

mod fault;
mod tree;
mod trial;
mod weave;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::{env, thread};

use anyhow::{Context as _, bail};

use fault::Fault;
use tree::Tree;
use trial::{Trial, Verdict};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [faults, workspace, package, folder] = arguments.as_slice() else {
        bail!("usage: faults FAULTS.json WORKSPACE PACKAGE FOLDER");
    };
    let text = fs::read(faults).with_context(|| format!("failed to read {}", faults.display()))?;
    let faults: Vec<Fault> = serde_json::from_slice(&text).context("this is no list of faults")?;
    let package = package.to_string_lossy();
    fs::create_dir_all(folder).context("the folder cannot be made")?;
    // Cargo and the tests run in other folders.
    let folder = &folder.canonicalize().context("the folder is not there")?;
    let results = Results::new(folder)?;
    let tree = Tree::copy(workspace, &package, folder)?;
    println!("{} faults: compiling all of them at once", faults.len());
    let left_out = tree.seed(&faults)?;
    for index in &left_out {
        results.write("left_out", &faults[*index].name)?;
    }
    let seeded: Vec<(usize, &Fault)> = faults
        .iter()
        .enumerate()
        .filter(|(index, _)| !left_out.contains(index))
        .collect();
    println!("{} are left out: compiling the tests", left_out.len());
    let programs = tree.build()?;
    let cores = thread::available_parallelism().map_or(2, usize::from);
    let trial = Trial {
        folder: tree.folder(),
        scratch: folder.join("reached"),
        // Most tests wait most of the time.
        jobs: cores * 2,
    };
    println!("running every test without a fault");
    let (tests, failed) = trial.all(&programs)?;
    println!(
        "{} tests pass, and judge {} faults",
        tests.len(),
        seeded.len()
    );
    for name in &failed {
        println!("left out, since it fails without a fault: {name}");
    }
    let done = Mutex::new(0_usize);
    trial.judge(&seeded, &tests, &|index, verdict, count| {
        let name = &faults[index].name;
        let file = match verdict {
            Verdict::Caught => "caught",
            Verdict::Timeout => "timeout",
            Verdict::Missed => "missed",
        };
        let _ = results.write(file, name);
        if count == 0 {
            let _ = results.write("unreached", name);
        }
        let mut done = done
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        *done += 1;
        println!(
            "{done}/{}: {file} after {count} tests: {name}",
            seeded.len()
        );
    });
    Ok(())
}

/// The lists of faults.
struct Results {
    folder: PathBuf,
}

impl Results {
    /// Makes the lists empty.
    fn new(folder: &Path) -> anyhow::Result<Self> {
        let new = Self {
            folder: folder.join("mutants.out"),
        };
        fs::create_dir_all(&new.folder).context("the folder cannot be made")?;
        for name in ["caught", "timeout", "missed", "unreached", "left_out"] {
            fs::write(new.path(name), "").context("the folder cannot be written")?;
        }
        Ok(new)
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
