//! Processes of a test: pinned, watched, ended in time.

use std::ffi::{CString, c_char};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use coho_platform::CpuSet;
use coho_platform::{pin, stop, timer};

use super::folder::Folder;
use super::functions::Failure;
use super::report::Report;
use crate::Error;

/// The time between two looks at where the processes run.
const LOOK: Duration = Duration::from_millis(50);
/// The most that a process may report, in bytes.
const TOLD: usize = 1 << 16;

/// What a process does.
pub(super) enum Act<'a> {
    /// It calls a function of this program, whose result is in the unit of this name.
    Function(&'static str, &'a dyn Fn() -> Result<Report, Failure>),
    /// It becomes a program.
    Program(&'a Program),
}

/// A program with its arguments and environment, ready for a process that may not allocate.
pub(super) struct Program {
    arguments: Vec<CString>,
    environment: Vec<CString>,
}

impl Program {
    /// `arguments` begin with the program's path; `more` is added to this process's environment.
    pub(super) fn new(
        arguments: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>,
        more: &[(&str, &std::ffi::OsStr)],
    ) -> io::Result<Self> {
        let whole = |text: &std::ffi::OsStr| CString::new(text.as_bytes()).map_err(io::Error::from);
        let arguments = arguments.into_iter().map(|text| whole(text.as_ref())).collect::<Result<_, _>>()?;
        let inherited = std::env::vars_os().filter(|(name, _)| !more.iter().any(|(own, _)| name == own));
        let more = more.iter().map(|(name, value)| ((*name).into(), (*value).to_owned()));
        let environment = inherited
            .chain(more)
            .map(|(mut name, value): (std::ffi::OsString, std::ffi::OsString)| {
                name.push("=");
                name.push(value);
                whole(&name)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { arguments, environment })
    }
}

/// The outcome of a copy.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What it reported.
    pub report: Report,
    /// From its start to the end of its report, in seconds.
    pub elapsed_s: f64,
    /// CPUs that its processes were seen on.
    pub seen: CpuSet,
}

/// Runs copies at the same time, each on its CPUs (anywhere for `None`), until they end.
///
/// # Errors
/// What the first failed copy reported, or that it did not end within `limit`; also if a stop was requested meanwhile.
/// All processes have ended by then.
pub(super) fn run(
    copies: &[(Act<'_>, Option<CpuSet>)],
    folder: &Folder,
    limit: Duration,
) -> Result<Vec<Outcome>, Error> {
    let end = Instant::now() + limit;
    let mut children = Vec::new();
    let mut result = Ok(());
    for (act, cpus) in copies {
        match Child::start(act, cpus.clone(), folder, limit) {
            Ok(child) => children.push(child),
            Err(error) => {
                result = Err(Error::system("no process", error));
                break;
            }
        }
    }
    if result.is_ok() {
        result = attend(&mut children, end);
    }
    if result.is_err() {
        folder.end_all();
    }
    let outcomes: Result<Vec<_>, Error> = children.into_iter().map(Child::finish).collect();
    reap(folder);
    result.and(outcomes)
}

struct Child {
    pid: libc::pid_t,
    pipe: Option<File>,
    told: Vec<u8>,
    started: Instant,
    elapsed: Option<Duration>,
    cpus: Option<CpuSet>,
    /// Whether it was seen to be confined to its CPUs.
    placed: bool,
    seen: CpuSet,
}

impl Child {
    fn start(act: &Act<'_>, cpus: Option<CpuSet>, folder: &Folder, limit: Duration) -> io::Result<Self> {
        let (read, write) = pipe()?;
        let null = File::options().read(true).write(true).open("/dev/null")?;
        let folder_path = CString::new(folder.path().as_os_str().as_bytes())?;
        let program = match act {
            Act::Program(program) => Some((pointers(&program.arguments), pointers(&program.environment))),
            Act::Function(..) => None,
        };
        let started = Instant::now();
        // SAFETY: the new process has this thread alone. Until it becomes a program it makes system calls, and calls
        // functions that allocate little or nothing: the C libraries of Linux keep malloc usable after fork.
        let pid = unsafe { libc::fork() };
        if pid < 0 {
            return Err(io::Error::last_os_error());
        }
        if pid == 0 {
            let told = write.into_raw_fd();
            let set_up = set_up(told, null.as_raw_fd(), &folder_path, cpus.as_ref(), folder.group());
            // SAFETY: this process's standard error, which nothing closes before it ends.
            let mut out = io::LineWriter::new(unsafe { File::from_raw_fd(2) });
            let failed = match (set_up, act, &program) {
                (Err(error), ..) => error.to_string(),
                (Ok(()), Act::Function(unit, function), _) => {
                    // The starter ends programs that take too long; the process of a function also ends itself.
                    let _ = timer::die_after(limit);
                    match function() {
                        Ok(report) => match report.write(&mut out, unit).and_then(|()| out.flush()) {
                            Ok(()) => leave(0),
                            Err(error) => error.to_string(),
                        },
                        Err(failure) => failure.to_string(),
                    }
                }
                (Ok(()), Act::Program(_), Some((arguments, environment))) => {
                    // SAFETY: both lists end with a null, their strings with a zero, and all outlive the call.
                    unsafe { libc::execve(arguments[0], arguments.as_ptr(), environment.as_ptr()) };
                    format!("cannot be run: {}", io::Error::last_os_error())
                }
                (Ok(()), Act::Program(_), None) => unreachable!("its pointers were made above"),
            };
            let _ = writeln!(out, "{failed}");
            leave(1);
        }
        // Parent and child both do this; the second call changes nothing. SAFETY: no pointers.
        unsafe { libc::setpgid(pid, folder.group()) };
        Ok(Self {
            pid,
            pipe: Some(File::from(read)),
            told: Vec::new(),
            started,
            elapsed: None,
            cpus,
            placed: false,
            seen: CpuSet::default(),
        })
    }

    /// Takes what it has reported since; records the end.
    fn listen(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut buffer = [0; 4096];
        match pipe.read(&mut buffer) {
            Ok(n) if n > 0 => {
                let room = TOLD.saturating_sub(self.told.len());
                self.told.extend(&buffer[..n.min(room)]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => {
                self.elapsed = Some(self.started.elapsed());
                self.pipe = None;
            }
        }
    }

    /// Waits for its end, which has come or is near.
    fn finish(self) -> Result<Outcome, Error> {
        let status = wait(self.pid);
        let text = String::from_utf8_lossy(&self.told);
        let elapsed_s = self.elapsed.unwrap_or_else(|| self.started.elapsed()).as_secs_f64();
        match Report::parse(&text) {
            Some(report) if status == 0 => Ok(Outcome { report, elapsed_s, seen: self.seen }),
            _ => {
                let last = text.lines().rev().find(|line| !line.trim().is_empty());
                Err(Error::Work(match last {
                    Some(line) => line.chars().take(300).collect(),
                    None if libc::WIFSIGNALED(status) => {
                        format!("ended by signal {}", libc::WTERMSIG(status))
                    }
                    None => format!("ended with status {} and reported nothing", libc::WEXITSTATUS(status)),
                }))
            }
        }
    }
}

/// Listens to all until each has finished its report, and looks where they run.
fn attend(children: &mut [Child], end: Instant) -> Result<(), Error> {
    loop {
        let mut open: Vec<libc::pollfd> = Vec::new();
        let mut of = Vec::new();
        for (at, child) in children.iter().enumerate() {
            if let Some(pipe) = &child.pipe {
                open.push(libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 });
                of.push(at);
            }
        }
        if open.is_empty() {
            return Ok(());
        }
        // SAFETY: as many entries as are named.
        let ready =
            unsafe { libc::poll(open.as_mut_ptr(), open.len() as libc::nfds_t, LOOK.as_millis() as i32) };
        for (entry, &at) in open.iter().zip(&of) {
            if ready > 0 && entry.revents != 0 {
                children[at].listen();
            }
        }
        if stop::requested() {
            return Err(Error::Stopped);
        }
        if Instant::now() >= end {
            return Err(Error::TimeIsUp("it did not end in time".into()));
        }
        for child in children.iter_mut().filter(|child| child.pipe.is_some()) {
            if let Some((asked, given)) = child.cpus.as_ref().zip(affinity(child.pid)) {
                // At first it may not have got that far; later, a CPU that goes away releases it silently.
                child.placed |= given == *asked;
                if child.placed && given != *asked {
                    return Err(Error::Work(format!("a process for CPU {asked} may now run on {given}")));
                }
            }
            // Before it is placed, it runs where its starter did.
            if child.placed || child.cpus.is_none() {
                seen(child.pid, &mut child.seen, 0);
            }
        }
    }
}

/// Adds the CPUs that a process and its children last ran on.
fn seen(pid: libc::pid_t, cpus: &mut CpuSet, depth: u32) {
    const DEPTH: u32 = 6;
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return };
    // The name may hold anything; field 39 is the 37th behind it.
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    if let Some(Ok(cpu)) = after_name.split_ascii_whitespace().nth(36).map(str::parse::<u32>) {
        let _ = cpus.try_insert(cpu);
    }
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    for child in children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()) {
        if depth < DEPTH {
            seen(child, cpus, depth + 1);
        }
    }
}

fn affinity(pid: libc::pid_t) -> Option<CpuSet> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().parse().ok()
}

/// Sets up the new process for the test, so that it does not depend on this program's state.
fn set_up(
    told: i32,
    null: i32,
    folder: &CString,
    cpus: Option<&CpuSet>,
    group: libc::pid_t,
) -> io::Result<()> {
    let checked = |result: i32| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
    // SAFETY: system calls on descriptors and strings that live through them.
    unsafe {
        checked(libc::dup2(null, 0))?;
        checked(libc::dup2(null, 1))?;
        checked(libc::dup2(told, 2))?;
        if told > 2 {
            libc::close(told);
        }
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGPIPE, libc::SIGXFSZ]
        {
            libc::signal(signal, libc::SIG_DFL);
        }
        checked(libc::setpgid(0, group))?;
        checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        checked(libc::chdir(folder.as_ptr()))?;
    }
    cpus.map_or(Ok(()), pin::confine)
}

fn leave(status: i32) -> ! {
    // SAFETY: ends the process at once; what this program would do at its exit is not the copy's.
    unsafe { libc::_exit(status) }
}

/// Its exit status.
fn wait(pid: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: `status` is valid for writes.
    while unsafe { libc::waitpid(pid, &mut status, 0) } < 0 {
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return -1;
        }
    }
    status
}

/// Reaps processes that no other code waits for, except the keeper.
fn reap(folder: &Folder) {
    // SAFETY: no status is asked for.
    while unsafe { libc::waitpid(-folder.group(), std::ptr::null_mut(), libc::WNOHANG) } > 0 {}
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: room for both ends.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: two new descriptors that nothing else owns.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> CpuSet {
        pin::allowed().unwrap()
    }

    #[test]
    fn programs_and_functions_report_from_their_cpus() {
        let folder = Folder::create(None).unwrap();
        let last = CpuSet::from_iter(allowed().last());
        let program =
            Program::new(["/bin/sh", "-c", "sleep 0.2; pwd >&2; echo 'COUNT|3|1|lps' >&2"], &[]).unwrap();
        let function = || {
            Ok(Report {
                count: f64::from(pin::current().unwrap()) + 1.0,
                timebase_s: 1.0,
                seconds: Some(0.5),
            })
        };
        let copies = [
            (Act::Program(&program), Some(last.clone())),
            (Act::Function("lps", &function), Some(last.clone())),
        ];
        let outcomes = run(&copies, &folder, Duration::from_secs(120)).unwrap();
        assert_eq!((outcomes[0].report.count, outcomes[0].report.seconds), (3.0, None));
        assert!(outcomes[0].elapsed_s >= 0.2, "{}", outcomes[0].elapsed_s);
        assert_eq!(outcomes[0].seen, last);
        assert_eq!(outcomes[1].report.count, f64::from(last.first().unwrap()) + 1.0);
    }

    #[test]
    fn what_fails_says_why_and_what_hangs_is_ended() {
        let folder = Folder::create(None).unwrap();
        let told = |script: &str, limit| {
            let program = Program::new(["/bin/sh", "-c", script], &[]).unwrap();
            run(&[(Act::Program(&program), None)], &folder, limit).unwrap_err().to_string()
        };
        let long = Duration::from_secs(120);
        assert_eq!(told("echo it is broken >&2; exit 3", long), "it is broken");
        assert!(told("exit 3", long).contains("status 3"));
        assert!(told("kill -KILL $$", long).contains("signal 9"));
        assert_eq!(told("sleep 100 & sleep 100", Duration::from_millis(100)), "it did not end in time");
        let nothing = Program::new(["/nonexistent"], &[]).unwrap();
        let error = run(&[(Act::Program(&nothing), None)], &folder, long).unwrap_err();
        assert!(error.to_string().contains("cannot be run"), "{error}");
        let failing = || Err(Failure::new("pipe"));
        let error = run(&[(Act::Function("lps", &failing), None)], &folder, long).unwrap_err();
        assert!(error.to_string().starts_with("pipe: "), "{error}");
    }
}
