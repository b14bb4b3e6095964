//! Odd surroundings: closed streams, full and read-only places, a masked `/proc`, tiny limits, no home, no locale, and
//! names that are no text.

use std::ffi::{CStr, OsStr};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use coho_platform::pin;
use coho_profile::Profile;
use coho_testing::{Capability, Cpuset, needs};

use crate::refused::{limit, mount, run_one};
use crate::support::{self, coho};

/// One command of each kind: it shows, it acts, it compares, it measures, it measures everything.
const COMMANDS: [&[&str]; 5] = [
    &["topology"],
    &["run", "--place", "compact", "--", "true"],
    &["run", "--try", "compact,none", "--repeat", "1", "-p", "p.json", "--", "true"],
    &["coherence", "--quick", "--time-limit", "100ms", "-o", "p.json"],
    &["survey", "--quick", "--time-limit", "700ms", "-o", "p.json"],
];

fn run_each(what: &str, make: fn() -> io::Result<()>) {
    let _alone = coho_testing::alone();
    let program = Path::new(env!("CARGO_BIN_EXE_coho"));
    let failed = |arguments: &&[&str]| {
        let why = run_one(program, arguments, make).err()?;
        Some(format!("{what}: coho {}: {why}", arguments.join(" ")))
    };
    let failures: Vec<String> = COMMANDS.iter().filter_map(failed).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn close(stream: i32) -> io::Result<()> {
    // SAFETY: no pointers; what it closes is the child's own.
    if unsafe { libc::close(stream) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Puts a device in place of a file of `/proc` or `/sys`.
fn mask(places: &[&CStr]) -> io::Result<()> {
    let none = c"none".as_ptr();
    for (index, place) in places.iter().enumerate() {
        // SAFETY: strings that end with a zero.
        let done = unsafe {
            (index > 0
                || libc::unshare(libc::CLONE_NEWNS) == 0
                    && libc::mount(
                        none,
                        c"/".as_ptr(),
                        none,
                        libc::MS_REC | libc::MS_PRIVATE,
                        std::ptr::null(),
                    ) == 0)
                && libc::mount(c"/dev/null".as_ptr(), place.as_ptr(), none, libc::MS_BIND, std::ptr::null())
                    == 0
        };
        if !done {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[test]
fn each_stream_may_be_closed() {
    run_each("no standard input", || close(0));
    run_each("no standard output", || close(1));
    run_each("no stream at all", || (0..3).try_for_each(close));
}

#[test]
fn limits_may_be_tiny() {
    run_each("RLIMIT_NOFILE 5", || limit(libc::RLIMIT_NOFILE, 5));
    // What the command says goes into a file, too.
    run_each("RLIMIT_FSIZE 2 KiB", || limit(libc::RLIMIT_FSIZE, 2 << 10));
    run_each("RLIMIT_AS 96 MiB", || limit(libc::RLIMIT_AS, 96 << 20));
    run_each("RLIMIT_STACK 1 MiB", || limit(libc::RLIMIT_STACK, 1 << 20));
}

#[test]
fn files_of_proc_may_be_masked() {
    needs!(Capability::Mounts);
    run_each("masked /proc", || {
        mask(&[c"/proc/cpuinfo", c"/proc/stat", c"/proc/meminfo", c"/proc/self/status", c"/proc/loadavg"])
    });
    run_each("masked groups", || mask(&[c"/proc/self/cgroup", c"/proc/self/mountinfo"]));
    run_each("no list of CPUs", || {
        mask(&[c"/sys/devices/system/cpu/online", c"/sys/devices/system/cpu/possible"])
    });
}

#[test]
fn the_disk_may_be_full_or_run_no_programs() {
    needs!(Capability::Mounts);
    // The work and scratch folders are below it.
    run_each("a full disk", || mount(c"tmpfs", c"/dev/shm", 0, c"size=4k,nr_inodes=2"));
    run_each("no programs in memory", || mount(c"tmpfs", c"/dev/shm", libc::MS_NOEXEC, c"size=16m"));
}

fn told(done: &Output) -> String {
    String::from_utf8_lossy(&done.stderr).into_owned()
}

#[test]
fn a_cpuset_is_told_from_a_mask() {
    needs!(Capability::TwoCpus, Capability::Cpusets);
    let cpus: Vec<String> = pin::allowed().unwrap().iter().take(2).map(|cpu| cpu.to_string()).collect();
    let group = Cpuset::of(&cpus[0]).unwrap();
    let members = group.members().display().to_string();
    let inside = |arguments: &[&str]| {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "echo $$ >\"$0\" && exec \"$@\"", &members, env!("CARGO_BIN_EXE_coho")])
            .args(arguments);
        let done = shell.output().unwrap();
        (done.status.code(), told(&done))
    };
    let outside = format!("it is outside the process's cpuset, {}", cpus[0]);
    let measured = ["coherence", "--quick", "--cpus", &cpus.join(",")];
    for refused in [&["run", "--place", &cpus[1], "--", "true"][..], &measured] {
        let (status, told) = inside(refused);
        assert!(status == Some(1) && told.contains(&outside), "{told}");
    }
    let (status, told) = inside(&["run", "--place", &cpus.join(","), "--", "true"]);
    assert!(status == Some(0) && told.contains(&format!("not CPU {}: {outside}", cpus[1])), "{told}");
    let (_, told) = inside(&["coherence", "--quick"]);
    assert!(told.contains("needs two CPUs") && !told.contains("mask"), "{told}");
}

#[test]
fn an_update_on_a_full_disk_leaves_the_file_as_it_was() {
    needs!(Capability::Mounts);
    let folder = tempfile::tempdir().unwrap();
    let place = std::ffi::CString::new(folder.path().as_os_str().as_bytes()).unwrap();
    let (profile, matrix) = (support::measured().to_json(), ",25\n25,\n");
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("p.json"), &profile).unwrap();
    fs::write(outside.path().join("matrix.csv"), matrix).unwrap();
    // A disk on which the earlier profile fits, and nothing else.
    let script = format!(
        "cp {0}/* {1}; dd if=/dev/zero of={1}/rest bs=4096 2>/dev/null; cd {1}; {2} coherence --from matrix.csv -o \
         p.json; echo status $?; cmp p.json {0}/p.json && ls -A",
        outside.path().display(),
        folder.path().display(),
        env!("CARGO_BIN_EXE_coho")
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).env("XDG_STATE_HOME", outside.path());
    let size = c"size=64k";
    let act = move || mount(c"tmpfs", &place, 0, size);
    // SAFETY: it makes system calls alone.
    unsafe { shell.pre_exec(act) };
    let done = shell.output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&done.stdout).into_owned(), told(&done));
    assert!(out.ends_with("status 1\nmatrix.csv\np.json\nrest\n"), "{out}{errors}");
    assert!(errors.contains("p.json") && errors.contains("No space left"), "{errors}");
}

#[test]
fn neither_a_home_nor_a_locale_nor_a_wide_terminal_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let unremembered: &[&str] = &["run", "--try", "compact,none", "--", "touch", "ran"];
    for arguments in COMMANDS[..4].iter().chain([&unremembered]) {
        let _alone = coho_testing::alone();
        let mut command = coho(arguments);
        command.current_dir(folder.path()).env_clear().env("COLUMNS", "40").env("PATH", "/usr/bin:/bin");
        let done = command.stdin(Stdio::null()).output().unwrap();
        let told = told(&done);
        match *arguments == unremembered {
            // Nothing can be remembered: that is said before anything runs.
            true => assert!(done.status.code() == Some(1) && told.contains("--profile"), "{told}"),
            false => assert_eq!(done.status.code(), Some(0), "{arguments:?}: {told}"),
        }
    }
    assert!(!folder.path().join("ran").exists());
}

#[test]
fn names_need_not_be_text() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join(OsStr::from_bytes(b"\xff\xfe dir"));
    fs::create_dir(&odd).unwrap();
    let state = tempfile::tempdir().unwrap();
    let run = |words: &[&[u8]]| -> Output {
        let words = words.iter().map(|word| OsStr::from_bytes(word));
        let mut command = coho(&[]);
        command.args(words).current_dir(&odd).env("XDG_STATE_HOME", state.path()).stdin(Stdio::null());
        command.output().unwrap()
    };
    fs::write(odd.join(OsStr::from_bytes(b"a\xff.sh")), "exit 0\n").unwrap();
    fs::write(odd.join(OsStr::from_bytes(b"b\xfe.sh")), "exit 0\n").unwrap();
    fs::write(odd.join(OsStr::from_bytes(b"m\xff.csv")), ",25\n25,\n").unwrap();
    let auto = |script: &[u8]| run(&[b"run", b"--place", b"auto", b"--repeat", b"1", b"--", b"sh", script]);
    for script in [b"a\xff.sh", b"b\xfe.sh"] {
        let done = auto(script);
        assert!(done.status.success() && told(&done).contains("nothing is remembered"), "{}", told(&done));
        let done = auto(script);
        assert!(done.status.success() && !told(&done).contains("nothing is remembered"), "{}", told(&done));
    }
    let done = run(&[b"coherence", b"--from", b"m\xff.csv", b"-o", b"p\xff.json"]);
    assert!(done.status.success(), "{}", told(&done));
    assert!(Profile::read(&odd.join(OsStr::from_bytes(b"p\xff.json"))).unwrap().coherence.is_some());
    let done = run(&[b"findings", b"p\xff.json"]);
    assert!(
        matches!(done.status.code(), Some(0..=2)) && !told(&done).contains("panicked"),
        "{}",
        told(&done)
    );
    let done = run(&[b"run", b"--", b"./absent\xff"]);
    assert_eq!(done.status.code(), Some(127), "{}", told(&done));
    let done = run(&[b"run", b"--place", b"\xff", b"--", b"true"]);
    assert_eq!(done.status.code(), Some(2), "{}", told(&done));
}
