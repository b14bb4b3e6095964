//! What coho's tests share: what a machine may lack that a test needs, and the recorded data.
//!
//! A test that needs more than any Linux machine has begins with [`needs!`]. It runs where the machine has the
//! capability and skips where it does not; it cannot skip for any other reason.

mod capability;
mod cpuset;
mod filter;
mod idle_tree;
mod interposers;
mod killed;
mod perf;
mod program;
mod symbols;

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use capability::Capability;
pub use cpuset::Cpuset;
pub use filter::Filter;
pub use idle_tree::Tree;
pub use interposers::Interposer;
pub use killed::{End, killed_at};
pub use program::{Privileged, copy_program};
pub use symbols::{assert_exports, soname};

/// The environment variable that names the file in which skips are recorded.
pub const SKIPS: &str = "COHO_TEST_SKIPS";

/// The seconds that a part of `make soak` has; `None` in `make test`, whose tests are smaller.
///
/// # Panics
/// If the variable is no number.
pub fn soak_seconds() -> Option<u64> {
    std::env::var("COHO_SOAK_SECONDS")
        .ok()
        .map(|seconds| seconds.parse().expect("COHO_SOAK_SECONDS: a number"))
}

/// Set in a process of its own, whose starter keeps others from measuring.
const IS_OWN: &str = "COHO_TEST_IS_OWN_PROCESS";

/// Nobody else measures while it lives.
#[must_use]
pub struct Alone(Option<File>);

impl Drop for Alone {
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            // Closing it is not enough while a child has it open as well.
            // SAFETY: the call takes no memory.
            unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_UN) };
        }
    }
}

/// Keeps other tests of this build, in this program or another, from measuring until the guard is dropped: on the same
/// CPUs, two measurements take many times as long, and neither gets its figures. A test that has a guard must not ask for
/// another.
///
/// # Panics
/// If no file can be locked beside the program.
pub fn alone() -> Alone {
    if std::env::var_os(IS_OWN).is_some() {
        return Alone(None);
    }
    let path = std::env::current_exe().expect("this program").with_file_name("measuring.lock");
    let file = File::options().create(true).append(true).open(&path);
    let file = file.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // SAFETY: the call takes no memory.
    while unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } != 0 {
        let error = io::Error::last_os_error();
        assert!(error.kind() == io::ErrorKind::Interrupted, "{}: {error}", path.display());
    }
    Alone(Some(file))
}

/// Runs a test's body in a process of its own, for a test that changes what belongs to the whole process, such as its
/// signals. The test passes itself, after [`needs!`], and does nothing else.
///
/// # Panics
/// If the body fails there.
pub fn in_own_process<T: Fn()>(_test: T, body: impl FnOnce()) {
    if std::env::var_os(IS_OWN).is_some() {
        return body();
    }
    let name = std::any::type_name::<T>();
    // Without the program's own name.
    let name = name.split_once("::").map_or(name, |(_, name)| name);
    let mut test = Command::new(std::env::current_exe().expect("this program"));
    let _alone = alone();
    let ended = test.args(["--exact", name, "--nocapture"]).env(IS_OWN, "1").output().expect("a process");
    let told = [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(ended.status.success() && told[0].contains("1 passed"), "{}\n{}", told[0], told[1]);
}

/// A file or folder of the recorded data, by its path below `testdata/`.
///
/// # Panics
/// If it does not exist: the data is part of the project.
#[must_use]
pub fn data(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(path);
    path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of what a folder holds, sorted.
///
/// # Panics
/// If it cannot be read, or a name is no text.
#[must_use]
pub fn file_names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.expect("an entry").file_name().into_string().expect("a name in UTF-8")
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

/// Restores the default actions of the signals that ask for an end: a process started by `nohup` or in the background
/// of a script inherits some of them ignored.
pub fn default_signals() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
        // SAFETY: the default action is no code of ours.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Whether this machine has a capability. Where it does not, the calling test counts as skipped: a line in the file that
/// [`SKIPS`] names, and on standard error, says what is missing.
#[track_caller]
#[must_use]
pub fn has(capability: Capability) -> bool {
    let Some(why) = capability.missing() else { return true };
    let place = Location::caller();
    eprintln!("skipped: {}: {why}", capability.name());
    if let Some(file) = std::env::var_os(SKIPS) {
        // One write, so that the lines of tests that run at the same time stay whole.
        let line = format!("{}\t{}:{}\t{why}\n", capability.name(), place.file(), place.line());
        let mut file =
            std::fs::OpenOptions::new().create(true).append(true).open(file).expect("the file of skips");
        file.write_all(line.as_bytes()).expect("the file of skips");
    }
    false
}

/// Returns from the calling test unless this machine has these [capabilities](Capability).
///
/// ```no_run
/// use coho_testing::{Capability, needs};
///
/// fn two_threads_meet() {
///     needs!(Capability::TwoCpus);
///     // …
/// }
/// ```
#[macro_export]
macro_rules! needs {
    ($($capability:expr),+ $(,)?) => {
        $(if !$crate::has($capability) {
            return;
        })+
    };
}
