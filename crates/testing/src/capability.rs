//! The fixed list of capabilities that a machine may lack.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Cpuset, Filter, Interposer, perf};

/// Something that a test may need and not every machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Capability {
    /// Two CPUs that this process may use.
    TwoCpus,
    /// The rights of root.
    Root,
    /// Mounting file systems in a namespace of one's own.
    Mounts,
    /// Network namespaces with a bridge between them, and host names of their own: machines within this one.
    Hosts,
    /// The rights of root, with other users that programs may run as.
    OtherUsers,
    /// Set-user-id programs that change the user: another user, and a file system that allows it.
    SetUserId,
    /// Comparing threads by what they share (kcmp), under no filter of system calls.
    Kcmp,
    /// Kernel events for this process's user mode, such as page faults.
    PerfEvents,
    /// Kernel events for what the kernel itself does on this process's behalf.
    KernelEvents,
    /// A hardware counter of instructions that counts.
    HardwareCounters,
    /// Hardware counters that user mode may read by itself.
    UserCounterReads,
    /// Tracing a child process.
    Tracing,
    /// Filters of system calls (seccomp).
    Filters,
    /// Control groups with CPUs of their own, which this process may make.
    Cpusets,
    /// The instructions with which user mode waits for a write (UMONITOR and UMWAIT).
    UserWait,
    /// AVX instructions.
    Avx,
    /// AVX2 instructions.
    Avx2,
    /// A C compiler called `cc`.
    CCompiler,
    /// A C++ compiler called `c++`.
    CppCompiler,
    /// GCC's compilers for C and C++, `gcc` and `g++`, with libgomp.
    Gcc,
    /// `clang` and `clang++`, with LLVM's OpenMP runtime.
    Clang,
    /// GCC's compiler for Fortran, `gfortran`.
    Gfortran,
    /// Go's compiler, as `go`.
    Go,
    /// `make`.
    Make,
    /// hwloc's `lstopo-no-graphics`.
    Lstopo,
    /// `mpicc` and `mpiexec`.
    Mpi,
    /// Open MPI's launcher, whatever `mpiexec` is.
    OpenMpi,
    /// `git`.
    Git,
    /// `sqlite3`.
    Sqlite,
    /// `python3` with the module `duckdb`.
    DuckDb,
    /// `python3` with the module `pyspark`, and `java`.
    Spark,
    /// Prometheus's `promtool`.
    Promtool,
    /// GNU `parallel`.
    Parallel,
    /// ClusterShell's `clush`.
    Clush,
    /// `systemd-analyze`.
    SystemdAnalyze,
    /// `kubernetes-validate`, which holds the schemas of what Kubernetes takes.
    KubernetesValidate,
    /// `python3`.
    Python,
    /// Every [`Interposer`], with the programs that come with it.
    Interposers,
    /// A Chromium, by one of [`Capability::BROWSERS`].
    Chromium,
    /// Rust's ThreadSanitizer, and the standard library's sources and dependencies, with `gcc` and `g++`.
    ThreadSanitizer,
}

impl Capability {
    /// Names under which a Chromium may be installed.
    pub const BROWSERS: [&'static str; 4] =
        ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

    /// The name under which skips are counted.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TwoCpus => "two-cpus",
            Self::Root => "root",
            Self::Mounts => "mounts",
            Self::Hosts => "hosts",
            Self::OtherUsers => "other-users",
            Self::SetUserId => "set-user-id",
            Self::Kcmp => "kcmp",
            Self::PerfEvents => "perf-events",
            Self::KernelEvents => "kernel-events",
            Self::HardwareCounters => "hardware-counters",
            Self::UserCounterReads => "user-counter-reads",
            Self::Tracing => "tracing",
            Self::Filters => "filters",
            Self::Cpusets => "cpusets",
            Self::UserWait => "user-wait",
            Self::Avx => "avx",
            Self::Avx2 => "avx2",
            Self::CCompiler => "c-compiler",
            Self::CppCompiler => "c++-compiler",
            Self::Gcc => "gcc",
            Self::Clang => "clang",
            Self::Gfortran => "gfortran",
            Self::Go => "go",
            Self::Make => "make",
            Self::Lstopo => "lstopo",
            Self::Mpi => "mpi",
            Self::OpenMpi => "open-mpi",
            Self::Git => "git",
            Self::Sqlite => "sqlite",
            Self::DuckDb => "duckdb",
            Self::Spark => "spark",
            Self::Promtool => "promtool",
            Self::Parallel => "parallel",
            Self::Clush => "clush",
            Self::SystemdAnalyze => "systemd-analyze",
            Self::KubernetesValidate => "kubernetes-validate",
            Self::Python => "python",
            Self::Interposers => "interposers",
            Self::Chromium => "chromium",
            Self::ThreadSanitizer => "thread-sanitizer",
        }
    }

    /// Why this machine lacks it; `None` if it has it.
    #[must_use]
    pub fn missing(self) -> Option<String> {
        match self {
            Self::TwoCpus => {
                let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
                (cpus < 2).then(|| "this process may use one CPU".into())
            }
            Self::Root => not_root(),
            Self::Mounts => no_mounts(),
            Self::Hosts => no_hosts(),
            Self::OtherUsers => not_root().or_else(no_other_users),
            Self::Kcmp => no_kcmp(),
            Self::SetUserId => not_root().or_else(no_other_users).or_else(no_set_user_id),
            Self::PerfEvents => perf::software().err(),
            Self::KernelEvents => perf::of_the_kernel().err(),
            Self::HardwareCounters => perf::hardware().err(),
            Self::UserCounterReads => perf::read_in_user_mode().err(),
            Self::Tracing => no_tracing(),
            Self::Filters => no_filters(),
            Self::Cpusets => no_cpusets(),
            Self::UserWait => lacks(user_wait(), "UMWAIT"),
            Self::Avx => lacks(feature("avx"), "AVX"),
            Self::Avx2 => lacks(feature("avx2"), "AVX2"),
            Self::CCompiler => not_installed(&["cc"]),
            Self::CppCompiler => not_installed(&["c++"]),
            Self::Gcc => not_installed(&["gcc"]).or_else(|| not_installed(&["g++"])),
            Self::Clang => not_installed(&["clang"]).or_else(no_libomp),
            Self::Gfortran => not_installed(&["gfortran"]),
            Self::Go => not_installed(&["go"]),
            Self::Make => not_installed(&["make"]),
            Self::Lstopo => not_installed(&["lstopo-no-graphics"]),
            Self::Mpi => not_installed(&["mpicc"]).or_else(|| not_installed(&["mpiexec"])),
            Self::OpenMpi => not_installed(&["orterun", "prterun"]),
            Self::Git => not_installed(&["git"]),
            Self::Sqlite => not_installed(&["sqlite3"]),
            Self::DuckDb => not_installed(&["python3"]).or_else(|| no_module("duckdb")),
            Self::Spark => not_installed(&["python3"])
                .or_else(|| not_installed(&["java"]))
                .or_else(|| no_module("pyspark")),
            Self::Promtool => not_installed(&["promtool"]),
            Self::Parallel => not_installed(&["parallel"]),
            Self::Clush => not_installed(&["clush"]),
            Self::SystemdAnalyze => not_installed(&["systemd-analyze"]),
            Self::KubernetesValidate => not_installed(&["kubernetes-validate"]),
            Self::Python => not_installed(&["python3"]),
            Self::Interposers => no_interposers(),
            Self::Chromium => not_installed(&Self::BROWSERS),
            Self::ThreadSanitizer => no_thread_sanitizer(),
        }
    }
}

/// Why none of these programs can be run; `None` if one can.
fn not_installed(names: &[&str]) -> Option<String> {
    let runs = |name: &&str| {
        let mut command = Command::new(name);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok()
    };
    (!names.iter().any(runs)).then(|| format!("{} is not installed", names.join(" or ")))
}

fn no_module(name: &str) -> Option<String> {
    let mut python = Command::new("python3");
    python.args(["-c", &format!("import {name}")]);
    python.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let has = python.status().is_ok_and(|status| status.success());
    (!has).then(|| format!("python3 has no module {name}"))
}

/// Why clang links no OpenMP runtime: it is a package of its own.
fn no_libomp() -> Option<String> {
    let mut clang = Command::new("clang");
    clang.args(["-fopenmp", "-x", "c", "/dev/null", "-shared", "-o", "/dev/null"]);
    let linked = clang.stdout(Stdio::null()).stderr(Stdio::null()).status();
    (!linked.is_ok_and(|status| status.success())).then(|| "libomp is not installed".into())
}

fn no_interposers() -> Option<String> {
    let missing = Interposer::ALL.into_iter().find(|one| one.find().is_none());
    missing.map(|one| format!("{one:?} is not installed")).or_else(|| not_installed(&["fakeroot"]))
}

fn lacks(has: bool, what: &str) -> Option<String> {
    (!has).then(|| format!("this CPU lacks {what}"))
}

fn not_root() -> Option<String> {
    // SAFETY: geteuid only returns a number.
    (unsafe { libc::geteuid() } != 0).then(|| "not root".into())
}

/// Why root has no other users: it may be in a user namespace of its own.
fn no_other_users() -> Option<String> {
    const NOBODY: u32 = 65534;
    let error = Command::new("true").uid(NOBODY).gid(NOBODY).status().err()?;
    Some(format!("root has no other users here: {error}"))
}

/// Why a set-user-id program would run as its caller: the folder of temporary files ignores the bit, or this process
/// has renounced new privileges.
fn no_set_user_id() -> Option<String> {
    let folder = std::ffi::CString::new(std::env::temp_dir().into_os_string().into_encoded_bytes()).ok()?;
    // SAFETY: the path ends in NUL, and statvfs fills the whole structure where it succeeds.
    let flags = unsafe {
        let mut of = std::mem::zeroed::<libc::statvfs>();
        if libc::statvfs(folder.as_ptr(), &raw mut of) != 0 { 0 } else { of.f_flag }
    };
    // SAFETY: prctl with this request only returns a number.
    let no_new = unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) } == 1;
    (flags & (libc::ST_NOSUID | libc::ST_NOEXEC) != 0 || no_new)
        .then(|| "set-user-id programs run as any other here".into())
}

/// A filter may end a process that makes a call which it does not expect.
fn no_kcmp() -> Option<String> {
    // SAFETY: prctl with this request only returns a number; kcmp compares this thread with itself.
    let (filtered, error) = unsafe {
        let filtered = libc::prctl(libc::PR_GET_SECCOMP) != 0;
        let own = libc::gettid();
        (filtered, !filtered && libc::syscall(libc::SYS_kcmp, own, own, 2, 0, 0) != 0)
    };
    (filtered || error)
        .then(|| "threads cannot be compared (kcmp), or a filter of system calls is set".into())
}

fn no_hosts() -> Option<String> {
    let mut tried = Command::new("unshare");
    tried.args(["--net", "--uts", "--ipc", "--mount", "ip", "link", "add", "type", "bridge"]);
    match tried.stdin(Stdio::null()).output() {
        Ok(done) if done.status.success() => None,
        Ok(done) => {
            Some(format!("no bridge in a namespace: {}", String::from_utf8_lossy(&done.stderr).trim()))
        }
        Err(error) => Some(format!("unshare: {error}")),
    }
}

fn no_mounts() -> Option<String> {
    let mut child = Command::new("true");
    let mount = || {
        let none = c"none".as_ptr();
        // SAFETY: plain system calls on strings that end with a zero.
        let done = unsafe {
            libc::unshare(libc::CLONE_NEWNS) == 0
                && libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, std::ptr::null())
                    == 0
                && libc::mount(none, c"/proc".as_ptr(), c"proc".as_ptr(), 0, c"subset=pid".as_ptr().cast())
                    == 0
        };
        if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: it makes system calls alone.
    unsafe { child.pre_exec(mount) };
    child.status().err().map(|error| format!("nothing may be mounted: {error}"))
}

fn no_tracing() -> Option<String> {
    let mut child = Command::new("true");
    // SAFETY: ptrace is a plain system call, which a child may make between fork and exec.
    unsafe {
        child.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    match child.spawn() {
        Ok(mut child) => {
            // It has stopped as it began to execute.
            let _ = child.kill();
            let _ = child.wait();
            None
        }
        Err(error) => Some(format!("processes may not be traced: {error}")),
    }
}

fn no_cpusets() -> Option<String> {
    // Any set will do, and each machine has this CPU.
    Cpuset::of("0").err().map(|error| format!("no control group with a cpuset can be made: {error}"))
}

fn no_filters() -> Option<String> {
    let mut child = Command::new("true");
    let filter = Filter::refusing(libc::SYS_swapon, libc::EPERM);
    // SAFETY: it makes system calls alone.
    unsafe { child.pre_exec(move || filter.apply()) };
    child.status().err().map(|error| format!("system calls cannot be filtered: {error}"))
}

fn user_wait() -> bool {
    std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains(" waitpkg"))
}

#[cfg(target_arch = "x86_64")]
fn feature(name: &str) -> bool {
    match name {
        "avx" => std::arch::is_x86_feature_detected!("avx"),
        "avx2" => std::arch::is_x86_feature_detected!("avx2"),
        _ => unreachable!("{name}"),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn feature(_: &str) -> bool {
    false
}

fn no_thread_sanitizer() -> Option<String> {
    const HOST: &str = "x86_64-unknown-linux-gnu";
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().ok();
    let Some(sysroot) = sysroot.and_then(|output| String::from_utf8(output.stdout).ok()) else {
        return Some("rustc is not installed".into());
    };
    let library = Path::new(sysroot.trim()).join("lib/rustlib");
    let runtime = std::fs::read_dir(library.join(HOST).join("lib")).into_iter().flatten().flatten();
    if !runtime.into_iter().any(|entry| entry.file_name().to_string_lossy().ends_with("_rt.tsan.a")) {
        return Some(format!("Rust's ThreadSanitizer for {HOST} is not installed"));
    }
    if !library.join("src/rust/library/Cargo.toml").exists() {
        return Some("rustup's component rust-src is not installed".into());
    }
    not_installed(&["gcc"]).or_else(|| not_installed(&["g++"])).or_else(|| {
        let mut fetch = Command::new("cargo");
        fetch.args(["fetch", "--locked", "--manifest-path"]).arg(library.join("src/rust/library/Cargo.toml"));
        let fetched = fetch.env("RUSTC_BOOTSTRAP", "1").stdin(Stdio::null()).output();
        let lacks = |why: &str| Some(format!("the standard library's dependencies are not available: {why}"));
        match fetched {
            Ok(output) if output.status.success() => None,
            Ok(output) => lacks(String::from_utf8_lossy(&output.stderr).trim().lines().last().unwrap_or("")),
            Err(error) => lacks(&error.to_string()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ() {
        let all = [
            Capability::TwoCpus,
            Capability::Root,
            Capability::Mounts,
            Capability::Hosts,
            Capability::OtherUsers,
            Capability::SetUserId,
            Capability::Kcmp,
            Capability::PerfEvents,
            Capability::KernelEvents,
            Capability::HardwareCounters,
            Capability::UserCounterReads,
            Capability::Tracing,
            Capability::Filters,
            Capability::Cpusets,
            Capability::UserWait,
            Capability::Avx,
            Capability::Avx2,
            Capability::CCompiler,
            Capability::CppCompiler,
            Capability::Make,
            Capability::Lstopo,
            Capability::Mpi,
            Capability::OpenMpi,
            Capability::Interposers,
            Capability::Chromium,
            Capability::ThreadSanitizer,
        ];
        let names: std::collections::BTreeSet<_> = all.map(Capability::name).into_iter().collect();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    fn a_program_that_nobody_has_is_missing() {
        assert!(not_installed(&["no such program"]).is_some());
        assert!(not_installed(&["no such program", "sh"]).is_none());
    }
}
