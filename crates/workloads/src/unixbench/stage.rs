//! What the tests need: a folder with the programs, scripts and sources, and the reason if one of them is not
//! available.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::child::{self, Act, Outcome, Program};
use super::folder::Folder;
use super::functions::{self, Copying, Job};
use super::seat::Seat;
use super::{Test, building, peer::Peer, programs, shell_task, source};
use crate::Error;

/// Time that a sample may take beyond what it was given.
const GRACE: Duration = Duration::from_secs(60);
/// How long a build of a program's own sources may take.
const LONGEST_BUILD: Duration = Duration::from_secs(2 * 60 * 60);

/// Everything that is ready to be run.
pub struct Stage {
    folder: Folder,
    script: Option<PathBuf>,
    build: Vec<Job>,
    /// The copied sources of the program that is built in place of coho's own, if one is.
    source: Option<PathBuf>,
    compiler: Option<String>,
    /// Tests that cannot be run here, and why.
    pub missing: BTreeMap<Test, String>,
}

impl Stage {
    /// Prepares what these tests need, in a folder of its own below `parent`, or in memory. What is built is the program
    /// in `source`, if there is one, by its makefile.
    ///
    /// # Errors
    /// If there is no folder to work in.
    pub fn set(tests: &[Test], parent: Option<&Path>, source: Option<&Path>) -> Result<Self, Error> {
        let folder = Folder::create(parent)?;
        // Scripts and commands find it by the environment that they inherit.
        let compiler = programs::compiler();
        let mut stage = Self {
            folder,
            script: None,
            build: Vec::new(),
            source: None,
            compiler,
            missing: BTreeMap::new(),
        };
        let wants = |wanted: &[Test]| tests.iter().any(|test| wanted.contains(test));
        if wants(&[Test::Shell1, Test::Shell8]) {
            match shell_task::prepare(&stage.folder) {
                Ok(script) => stage.script = Some(script),
                Err(why) => stage.miss(&[Test::Shell1, Test::Shell8], &why),
            }
        }
        let compiled = [Test::Dhrystone2, Test::WhetstoneDouble, Test::Execl, Test::ProcessCreation];
        if stage.compiler.is_none() {
            let why = "it is compiled where it runs, and there is no C compiler 'cc' (Debian: gcc)";
            stage.miss(&compiled, why);
            stage.miss(&[Test::Build], why);
            return Ok(stage);
        }
        if wants(&compiled) {
            programs::compile(&stage.folder).unwrap_or_else(|why| stage.miss(&compiled, &why));
        }
        if let (true, Some(source)) = (wants(&[Test::Build]), source) {
            match source::prepare(source, stage.folder.path()) {
                Ok(folder) => stage.source = Some(folder),
                Err(why) => stage.miss(&[Test::Build], &why),
            }
        } else if wants(&[Test::Build]) {
            match building::prepare(stage.folder.path()) {
                Ok(jobs) => stage.build = jobs,
                Err(error) => stage.miss(&[Test::Build], &error.to_string()),
            }
        }
        Ok(stage)
    }

    fn miss(&mut self, tests: &[Test], why: &str) {
        self.missing.extend(tests.iter().map(|&test| (test, why.to_owned())));
    }

    /// What the C compiler says it is.
    pub fn compiler(&self) -> Option<&str> {
        self.compiler.as_deref()
    }

    /// The folder that the tests work in.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Runs copies of a test for this long, each on its seat; anywhere if there are no seats.
    ///
    /// # Errors
    /// What failed.
    pub fn run(
        &self,
        test: Test,
        copies: u32,
        seats: &[Seat],
        time: Duration,
    ) -> Result<Vec<Outcome>, Error> {
        let function = |seat: Option<&Seat>| {
            let second = seat.and_then(|seat| seat.second.clone());
            move || match test {
                Test::PipeThroughput => functions::pipe(time),
                Test::SyscallOverhead => functions::syscalls(time),
                Test::FileCopy1024 => functions::copy(time, Copying { block_bytes: 1024, file_kib: 2000 }),
                Test::FileCopy256 => functions::copy(time, Copying { block_bytes: 256, file_kib: 500 }),
                Test::FileCopy4096 => functions::copy(time, Copying { block_bytes: 4096, file_kib: 8000 }),
                Test::Shell1 | Test::Shell8 => {
                    let concurrent = if test == Test::Shell1 { 1 } else { 8 };
                    functions::shell(time, self.script(), &self.environment(), concurrent)
                }
                Test::Build => match &self.source {
                    Some(folder) => source::build(folder, &self.environment(), copies as usize),
                    None => functions::jobs(&self.build, &self.environment(), copies as usize),
                },
                _ => functions::context(time, second.as_ref()),
            }
        };
        let started = if test == Test::Build { 1 } else { copies };
        let seat = |copy: u32| seats.get(copy as usize);
        let is_large = test == Test::Build && self.source.is_some();
        let limit = if is_large { LONGEST_BUILD } else { GRACE + time * 10 };
        let cpus = |copy| seat(copy).map(|seat| seat.first.clone());
        match programs::of(test, &self.folder) {
            Some(path) => {
                let words = [path.into_os_string(), time.as_secs_f64().to_string().into()];
                let program = Program::new(words, &[])
                    .map_err(|error| Error::system("a program of the test", error))?;
                let acts: Vec<_> = (0..started).map(|copy| (Act::Program(&program), cpus(copy))).collect();
                child::run(&acts, &self.folder, limit)
            }
            None => {
                let functions: Vec<_> = (0..started).map(|copy| function(seat(copy))).collect();
                let unit = test.unit().name();
                let acts: Vec<_> = (0..started)
                    .zip(&functions)
                    .map(|(copy, function)| (Act::Function(unit, function), cpus(copy)))
                    .collect();
                child::run(&acts, &self.folder, limit)
            }
        }
    }

    /// Runs a copy of another build's program for this many seconds.
    ///
    /// # Errors
    /// What failed.
    pub fn run_peer(
        &self,
        peer: &Peer,
        test: Test,
        seat: Option<&Seat>,
        seconds: u64,
    ) -> Result<Vec<Outcome>, Error> {
        let program = peer.program(test, seconds, &self.folder).map_err(Error::NotAvailable)?;
        let limit = GRACE + Duration::from_secs(seconds) * 10;
        child::run(&[(Act::Program(&program), seat.map(|seat| seat.first.clone()))], &self.folder, limit)
    }

    fn script(&self) -> &Path {
        self.script.as_deref().unwrap_or(Path::new(""))
    }

    /// Variables for commands: the script of one task, and where compilers put their temporary files.
    fn environment(&self) -> [(&'static OsStr, OsString); 2] {
        let folder = self.folder.path();
        [
            (OsStr::new(shell_task::TASK_VARIABLE), shell_task::task(folder).into()),
            (OsStr::new("TMPDIR"), folder.into()),
        ]
    }
}
