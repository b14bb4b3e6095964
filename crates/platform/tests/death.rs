//! What a signal does to a process, and what is left of its scratch folder.

use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use coho_platform::scratch::{Folder, Wish};
use coho_platform::stop;

/// In the environment of the process that is to end: the folder to make a scratch folder in.
const PARENT: &str = "COHO_TEST_SCRATCH_PARENT";
/// Longer than any machine takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The process that will be ended: prints its folder and, once it is asked to stop, the signal; then waits for the
/// next.
#[test]
fn victim() {
    let Some(parent) = std::env::var_os(PARENT) else { return };
    stop::on_signals().unwrap();
    let wish = Wish { name: "test", parent: Some(Path::new(&parent)), runs_programs: false };
    let folder = Folder::create(wish).unwrap();
    std::fs::write(folder.path().join("file"), "x").unwrap();
    println!("\nfolder {}", folder.path().display());
    let start = Instant::now();
    let mut told = false;
    while start.elapsed() < PATIENCE {
        if let Some(signal) = stop::signal().filter(|_| !told) {
            assert!(stop::requested() && stop::exit_status() == Some(128 + signal as u8));
            told = true;
            println!("signal {signal}");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

struct Victim {
    process: Child,
    lines: Box<dyn Iterator<Item = String>>,
    folder: PathBuf,
    _parent: tempfile::TempDir,
}

impl Victim {
    /// With these signals ignored from its start.
    fn start(ignored: &'static [i32]) -> Self {
        let parent = tempfile::tempdir().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "victim", "--nocapture", "--test-threads=1"]).env(PARENT, parent.path());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        // Set explicitly, since the test itself may have been started with some ignored, as by nohup.
        let set = move || {
            for signal in stop::SIGNALS {
                let action = if ignored.contains(&signal) { libc::SIG_IGN } else { libc::SIG_DFL };
                // SAFETY: async-signal-safe, and no handler of ours.
                unsafe { libc::signal(signal, action) };
            }
            Ok(())
        };
        // SAFETY: it makes system calls alone.
        let mut process = unsafe { command.pre_exec(set) }.spawn().unwrap();
        let mut lines: Box<dyn Iterator<Item = String>> =
            Box::new(BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok));
        let folder = lines.find_map(|line| Some(PathBuf::from(line.strip_prefix("folder ")?))).unwrap();
        assert!(folder.join("file").exists());
        Self { process, lines, folder, _parent: parent }
    }

    fn send(&self, signal: i32) {
        // SAFETY: no pointers; it has not been waited for.
        assert_eq!(unsafe { libc::kill(self.process.id() as i32, signal) }, 0);
    }

    /// Waits until it says which signal came.
    fn noted(&mut self) -> i32 {
        self.lines.find_map(|line| line.strip_prefix("signal ")?.parse().ok()).unwrap()
    }

    /// How it ends, once nothing is left of its folder.
    fn end(mut self) -> ExitStatus {
        let status = self.process.wait().unwrap();
        let start = Instant::now();
        while self.folder.exists() {
            assert!(start.elapsed() < PATIENCE, "{} is left", self.folder.display());
            std::thread::sleep(Duration::from_millis(1));
        }
        status
    }
}

#[test]
fn nothing_is_left_by_a_process_that_is_killed() {
    let victim = Victim::start(&[]);
    victim.send(libc::SIGKILL);
    assert_eq!(victim.end().signal(), Some(libc::SIGKILL));
}

#[test]
fn the_first_signal_is_a_wish_and_the_second_ends_the_process() {
    for signal in stop::SIGNALS {
        let mut victim = Victim::start(&[]);
        victim.send(signal);
        assert_eq!(victim.noted(), signal);
        // Beyond the time in which two signals are one wish.
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(victim.process.try_wait().unwrap(), None);
        victim.send(signal);
        assert_eq!(victim.end().signal(), Some(signal));
    }
}

#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let mut victim = Victim::start(&[libc::SIGHUP]);
    for _ in 0..3 {
        victim.send(libc::SIGHUP);
    }
    victim.send(libc::SIGTERM);
    assert_eq!(victim.noted(), libc::SIGTERM);
    victim.send(libc::SIGKILL);
    victim.end();
}

#[test]
fn handlers_go_as_they_came() {
    // In a process of its own, as handlers belong to all threads.
    // SAFETY: the child makes system calls alone, and ends by one.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let handler = |signal| {
            // SAFETY: a zeroed sigaction is valid, and the kernel fills it.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &raw mut action);
                action.sa_sigaction
            }
        };
        let default = || stop::SIGNALS.into_iter().all(|signal| handler(signal) == libc::SIG_DFL);
        stop::SIGNALS.iter().for_each(|&signal| {
            // SAFETY: the default action is no code of ours.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        });
        let as_before = stop::on_signals().is_ok() && !default() && stop::let_go().is_ok() && default();
        // SAFETY: ends the child without running anything of the parent's.
        unsafe { libc::_exit(i32::from(!as_before)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child that was just made.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
}
