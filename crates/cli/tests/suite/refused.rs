//! A system that refuses threads, files, memory or `/proc`: every command ends by itself, with what it could do or with
//! a reason, and leaves nothing behind.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use coho_testing::{Capability, copy_program, needs};

use crate::support::MEASURING;

/// The user that owns nothing.
const NOBODY: u32 = 65_534;
/// How long what a command has started may take to end after it.
const AFTER: Duration = Duration::from_secs(30);
/// No command may take as long; they are asked to end after seconds.
const TOO_LONG: Duration = Duration::from_secs(300);

/// Commands that act.
const ACTING: [&[&str]; 4] = [
    &["topology"],
    &["run", "--place", "compact", "--", "true"],
    &["run", "--try", "compact,spread", "--repeat", "2", "--time-limit", "2s", "--", "true"],
    &[
        "run",
        "--live=compact,spread",
        "--rate",
        "x ([0-9]+)",
        "--",
        "sh",
        "-c",
        "echo x 1; sleep 0.1; echo x 2",
    ],
];

/// Runs every command in a process that has made itself poorer by `refuse`, which makes system calls alone.
fn run_all(what: &str, refuse: fn() -> io::Result<()>) {
    run_all_of(Path::new(env!("CARGO_BIN_EXE_coho")), what, refuse);
}

fn run_all_of(program: &Path, what: &str, refuse: fn() -> io::Result<()>) {
    let mut failures = Vec::new();
    let measuring = MEASURING.iter().map(|command| {
        // Of a survey, more than the first experiment should have its turn.
        let time = if command[0] == "survey" { "2s" } else { "300ms" };
        [command, &["--quick", "--time-limit", time][..]].concat()
    });
    for arguments in measuring.chain(ACTING.map(<[_]>::to_vec)) {
        if let Err(why) = run_one(program, &arguments, refuse) {
            failures.push(format!("{what}: coho {}: {why}", arguments.join(" ")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Runs one command in the same way. It has to end by itself, without a panic and with a reason for what it could not do,
/// and to leave nothing behind.
pub fn run_one(
    program: &Path,
    arguments: &[&str],
    refuse: impl Fn() -> io::Result<()> + Send + Sync + 'static,
) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let (work, scratch) = (folder.path().join("work"), folder.path().join("scratch"));
    for place in [folder.path(), &work, &scratch] {
        let _ = fs::create_dir(place);
        fs::set_permissions(place, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&work).env("TMPDIR", &scratch).env("XDG_STATE_HOME", &work);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let errors_path = folder.path().join("errors");
    command.stderr(fs::File::create(&errors_path).unwrap());
    let poorer = move || {
        // A session of its own, by which everything that it starts is known.
        // SAFETY: no pointers.
        if unsafe { libc::setsid() } < 0 {
            return Err(io::Error::last_os_error());
        }
        refuse()
    };
    // SAFETY: both make system calls alone.
    let mut child =
        unsafe { command.pre_exec(poorer) }.spawn().map_err(|error| format!("not started: {error}"))?;
    let id = child.id();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > TOO_LONG {
            end_session(id);
            let _ = child.wait();
            return Err("it does not end".into());
        }
        sleep(Duration::from_millis(10));
    };
    let errors = String::from_utf8_lossy(&fs::read(errors_path).unwrap()).into_owned();
    let mut wrong = Vec::new();
    match (status.code(), status.signal()) {
        (Some(0), _) => {}
        (Some(1), _) if !errors.trim().is_empty() => {}
        // What shells say of a program that cannot be started.
        (Some(126), _) if errors.contains("cannot run") => {}
        (code, signal) => wrong.push(format!("status {code:?}, signal {signal:?}")),
    }
    if ["panicked", "RUST_BACKTRACE", "allocation of"].iter().any(|sign| errors.contains(sign)) {
        wrong.push("it panicked".into());
    }
    let patience = Instant::now() + AFTER;
    let left = loop {
        let left: Vec<String> = session(id).into_iter().chain(files(&scratch, id)).collect();
        if left.is_empty() || Instant::now() > patience {
            break left;
        }
        sleep(Duration::from_millis(10));
    };
    if !left.is_empty() {
        end_session(id);
        wrong.push(format!("left: {}", left.join(", ")));
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("{}\n{errors}", wrong.join("; "))) }
}

/// The processes of a session, by number and name.
fn session(id: u32) -> BTreeSet<String> {
    let stat = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path().join("stat")).ok()?;
        // PID (NAME) STATE PPID PGRP SESSION
        let (name, rest) = text.rsplit_once(") ")?;
        let fields: Vec<_> = rest.split(' ').collect();
        (fields.get(3)? == &id.to_string() && fields[0] != "Z").then(|| format!("{name})"))
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(stat).collect()
}

fn end_session(id: u32) {
    for process in session(id) {
        if let Some(Ok(number)) = process.split(' ').next().map(str::parse::<i32>) {
            // SAFETY: no pointers; a process of a session that this test has made.
            unsafe { libc::kill(number, libc::SIGKILL) };
        }
    }
}

/// What lies in the folder for temporary files, and what a process has left in memory.
fn files(scratch: &Path, id: u32) -> Vec<String> {
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path().display().to_string()).collect()
    };
    let owner = format!("-{id}-");
    let in_memory = names(Path::new("/dev/shm")).into_iter().filter(|name| name.contains(&owner));
    names(scratch).into_iter().chain(in_memory).collect()
}

pub fn limit(resource: libc::__rlimit_resource_t, most: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: the kernel reads the structure.
    if unsafe { libc::setrlimit(resource, &raw const limit) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Root may have as many processes as it likes: another user may not.
fn become_nobody() -> io::Result<()> {
    // SAFETY: no pointers but to an empty list.
    let done = unsafe {
        libc::geteuid() != 0
            || (libc::setgroups(0, std::ptr::null()) == 0
                && libc::setresgid(NOBODY, NOBODY, NOBODY) == 0
                && libc::setresuid(NOBODY, NOBODY, NOBODY) == 0)
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Mounts a file system in a namespace of the caller's own.
pub fn mount(kind: &CStr, place: &CStr, flags: libc::c_ulong, options: &CStr) -> io::Result<()> {
    let none = c"none".as_ptr();
    // SAFETY: strings that end with a zero.
    let done = unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, std::ptr::null()) == 0
            && libc::mount(none, place.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast()) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[test]
fn no_second_thread() {
    // Where nobody may run it, too.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("coho");
    copy_program(env!("CARGO_BIN_EXE_coho").as_ref(), &program);
    run_all_of(&program, "RLIMIT_NPROC 1", || become_nobody().and_then(|()| limit(libc::RLIMIT_NPROC, 1)));
}

#[test]
fn few_open_files() {
    run_all("RLIMIT_NOFILE 8", || limit(libc::RLIMIT_NOFILE, 8));
}

#[test]
fn little_address_space() {
    run_all("RLIMIT_AS 256 MiB", || limit(libc::RLIMIT_AS, 256 << 20));
}

#[test]
fn hardly_any_data() {
    run_all("RLIMIT_DATA 24 MiB", || limit(libc::RLIMIT_DATA, 24 << 20));
}

#[test]
fn files_that_cannot_grow() {
    run_all("RLIMIT_FSIZE 8 KiB", || {
        // SAFETY: no pointers; as a shell starts programs.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_DFL) };
        limit(libc::RLIMIT_FSIZE, 8 << 10)
    });
}

#[test]
fn proc_without_the_machine() {
    needs!(Capability::Mounts);
    run_all("subset=pid", || mount(c"proc", c"/proc", 0, c"subset=pid"));
}

#[test]
fn no_proc_at_all() {
    needs!(Capability::Mounts);
    run_all("no /proc", || mount(c"tmpfs", c"/proc", libc::MS_RDONLY, c"size=4k"));
}

#[test]
fn no_sys_and_no_shared_memory() {
    needs!(Capability::Mounts);
    run_all("no /sys and /dev/shm", || {
        mount(c"tmpfs", c"/sys", libc::MS_RDONLY, c"size=4k")?;
        mount(c"tmpfs", c"/dev", libc::MS_RDONLY, c"size=4k")
    });
}
