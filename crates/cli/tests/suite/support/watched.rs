//! A command that is watched from outside: when it answers signals, and what is left of it.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use super::coho;

/// Longer than anything takes, also on busy CPUs.
const LONGEST: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(2);

/// A running command with a folder of its own for temporary files, by which its descendants are known, too.
pub struct Watched {
    child: Option<Child>,
    temporary: tempfile::TempDir,
}

impl Watched {
    /// Starts it in a folder, with signals as a shell's foreground commands have them.
    pub fn start(arguments: &[&str], folder: &Path) -> Self {
        Self::start_with(arguments, folder, libc::SIG_DFL)
    }

    /// Starts it with `disposition` for the signals that ask for an end.
    pub fn start_with(arguments: &[&str], folder: &Path, disposition: libc::sighandler_t) -> Self {
        let temporary = tempfile::Builder::new().prefix("watched-").tempdir().unwrap();
        let mut command = coho(arguments);
        command.current_dir(folder).env("TMPDIR", temporary.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: between fork and exec, only an async-signal-safe call.
        unsafe {
            command.pre_exec(move || {
                for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
                    libc::signal(signal, disposition);
                }
                Ok(())
            });
        }
        Self { child: Some(command.spawn().unwrap()), temporary }
    }

    fn id(&self) -> u32 {
        self.child.as_ref().expect("it is waited for once").id()
    }

    /// Waits until it catches or holds back a signal, so that it does not just die of it.
    ///
    /// # Panics
    /// If it ends before.
    pub fn until_it_answers(&self, signal: i32) {
        self.until("it answers signals", || {
            let status = fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap_or_default();
            assert!(!status.contains("\nState:\tZ"), "it has ended");
            let set = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
            };
            // While a thread starts, the C library holds back all signals, whose handlers may not be there yet.
            let held = Some(set("SigBlk:")).filter(|held| held >> (libc::SIGSEGV - 1) & 1 == 0);
            (set("SigCgt:") | held.unwrap_or(0)) >> (signal - 1) & 1 == 1
        });
    }

    /// Waits for a condition while it runs.
    pub fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < LONGEST, "waited for: {what}");
            std::thread::sleep(LOOK);
        }
    }

    pub fn send(&self, signal: i32) {
        // SAFETY: no pointers; the child has not been waited for.
        assert_eq!(unsafe { libc::kill(self.id() as libc::pid_t, signal) }, 0);
    }

    /// Its end and all that it printed.
    pub fn end(&mut self) -> Output {
        self.child.take().expect("it is waited for once").wait_with_output().unwrap()
    }

    /// Folders for scratch files that its keepers look after.
    pub fn scratch(&self) -> Vec<PathBuf> {
        let arguments = self.processes().into_iter().flat_map(|process| {
            let line = fs::read(process.join("cmdline")).unwrap_or_default();
            line.split(|&byte| byte == 0)
                .map(|one| String::from_utf8_lossy(one).into_owned())
                .collect::<Vec<_>>()
        });
        arguments.filter(|one| one.contains("/coho-") && Path::new(one).is_dir()).map(PathBuf::from).collect()
    }

    /// What is alive of it and its descendants, as folders of /proc.
    fn processes(&self) -> Vec<PathBuf> {
        let mark = format!("TMPDIR={}", self.temporary.path().display());
        let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let is_ours = |process: &PathBuf| {
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes())
        };
        processes.filter(is_ours).collect()
    }

    /// Waits until no process, temporary file or scratch folder is left.
    pub fn assert_nothing_is_left(&self, scratch: &[PathBuf]) {
        self.until("its processes to end", || self.processes().is_empty());
        let files: Vec<_> =
            fs::read_dir(self.temporary.path()).unwrap().flatten().map(|file| file.path()).collect();
        assert!(files.is_empty(), "left behind: {files:?}");
        for folder in scratch {
            assert!(!folder.exists(), "left behind: {folder:?}");
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // A test that failed must not leave it to those that follow.
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
