//! A command's use of OpenMP, counted in its processes (`--count`).

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use coho_model::openmp::{Counts, Process};
use coho_platform::scratch::{Folder, Wish};
use coho_profile::{check_writable, read_text, write_atomic};

use super::Args;

/// The most processes that are read; a command with more is a system rather than a program.
const MOST: usize = 10_000;

/// A folder into which each process writes its counts when it exits. Dropping this deletes the folder.
pub struct Counted {
    folder: Folder,
    file: PathBuf,
}

impl Counted {
    /// Creates the folder if counts are requested.
    pub fn new(args: &Args) -> anyhow::Result<Option<Self>> {
        let Some(file) = args.count.clone() else { return Ok(None) };
        check_writable(&file)?;
        let folder = Folder::create(Wish { name: "count", ..Wish::default() });
        let folder = folder.map_err(|error| anyhow!("no folder for counts: {error}"))?;
        Ok(Some(Self { folder, file }))
    }

    /// The variable that makes processes count.
    pub fn environment(&self) -> anyhow::Result<(OsString, OsString)> {
        let path = fs::canonicalize(self.folder.path()).context("the folder for counts")?;
        Ok(("COHO_OPENMP_COUNT".into(), path.into()))
    }

    /// Writes the processes' counts to the requested file, and reports them.
    pub fn save(self, args: &Args) -> anyhow::Result<()> {
        let processes = self.processes()?;
        if processes.is_empty() {
            coho_show::say!(
                "coho: nothing was counted: no process of the command ran on coho's teams and exited by itself \
                 (COHO_OPENMP=verbose shows whether one was taken over)"
            );
            return Ok(());
        }
        if !args.quiet {
            processes.iter().for_each(report);
        }
        let command = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let counts = Counts { openmp_counts: 1, command, processes };
        let text = serde_json::to_string_pretty(&counts)? + "\n";
        write_atomic(&self.file, text.as_bytes())?;
        Ok(())
    }

    fn processes(&self) -> anyhow::Result<Vec<Process>> {
        let mut processes = Vec::new();
        for entry in fs::read_dir(self.folder.path()).context("the folder for counts")?.take(MOST) {
            let path = entry?.path();
            match read(&path) {
                Ok(process) => processes.push(process),
                Err(why) => coho_show::say!("coho: the counts of a process cannot be read: {why:#}"),
            }
        }
        processes.sort_by_key(|process| process.pid);
        Ok(processes)
    }
}

fn read(path: &Path) -> anyhow::Result<Process> {
    Ok(serde_json::from_str(&read_text(path)?)?)
}

fn report(process: &Process) {
    for team in &process.teams {
        coho_show::say!(
            "coho: process {}, teams of {}: {} regions, {} barriers; of {:.3} s thread 0 waited {:.3} s",
            process.pid,
            team.threads,
            team.regions,
            team.barriers,
            process.seconds,
            team.waiting_s
        );
    }
}
