//! coho as it is installed, and as a user without rights runs it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use coho_platform::pin;
use coho_testing::{Capability, copy_program, needs};
use tempfile::TempDir;

use crate::support;

/// The user that owns nothing.
const NOBODY: u32 = 65_534;

/// The command and its library below a prefix, where `make install` puts them; all may read it.
struct Installed(TempDir);

impl Installed {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        allow(folder.path(), 0o755);
        let command = Path::new(env!("CARGO_BIN_EXE_coho"));
        let built = command.parent().unwrap();
        let this = Self(folder);
        fs::create_dir_all(this.path("bin")).unwrap();
        fs::create_dir_all(this.path("lib/coho")).unwrap();
        copy_program(command, &this.path("bin/coho"));
        for name in [
            "libcoho_pin.so",
            "libcoho_mpi_preload.so",
            "libcoho_openmp.so",
            "libcoho_delegate_preload.so",
            "libcoho_share.so",
            "libcoho_tsan.so",
        ] {
            let library = [built.join(name), built.join("deps").join(name)];
            let library = library.into_iter().find(|path| path.is_file()).expect("built beside the command");
            fs::copy(library, this.path("lib/coho").join(name)).unwrap();
        }
        this
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn coho(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.path("bin/coho"));
        command.args(arguments).current_dir(self.0.path());
        command
    }

    /// As nobody where this is run as root; the test's own user has no rights either.
    fn as_nobody(&self, arguments: &[&str]) -> Output {
        let mut command = self.coho(arguments);
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.env("HOME", "/nonexistent").env_remove("XDG_STATE_HOME").output().unwrap()
    }

    /// A program of threads that say where they run.
    fn threads(&self) -> PathBuf {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pin/tests/where.c");
        let program = self.path("where");
        let compiled = Command::new("cc").args(["-pthread", "-o"]).arg(&program).arg(source).status();
        assert!(compiled.unwrap().success());
        program
    }
}

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn make_puts_the_library_where_the_command_looks() {
    needs!(Capability::Make);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let arguments = ["-n", "install", "DESTDIR=/tmp/stage", "PREFIX=/opt/coho"];
    let made = Command::new("make").args(arguments).current_dir(root).output().unwrap();
    let (plan, errors) = texts(&made);
    for place in [
        "bin/coho",
        "lib/coho/libcoho_pin.so",
        "lib/coho/libcoho_mpi_preload.so",
        "lib/coho/libcoho_openmp.so",
        "lib/coho/libcoho_delegate_preload.so",
        "lib/coho/libcoho_share.so",
        "lib/coho/libcoho_tsan.so",
    ] {
        let place = format!("/tmp/stage/opt/coho/{place}");
        assert!(plan.contains(&place), "{place}: {plan}{errors}");
    }
}

#[test]
fn no_library_to_preload_has_the_name_of_another_but_the_one_that_is_to_be_loaded_in_its_place() {
    let installed = Installed::new();
    for library in fs::read_dir(installed.path("lib/coho")).unwrap() {
        let library = library.unwrap().path();
        let name = library.ends_with("libcoho_tsan.so").then_some("libtsan.so.2");
        assert_eq!(coho_testing::soname(&library).as_deref(), name, "{}", library.display());
    }
}

#[test]
fn an_installed_command_finds_its_library() {
    let installed = Installed::new();
    let arguments = ["run", "-q", "--per-thread", "--place", "spread", "--", "sh", "-c", "echo $LD_PRELOAD"];
    let (told, errors) = texts(&installed.coho(&arguments).env_remove("LD_PRELOAD").output().unwrap());
    let library = installed.path("lib/coho/libcoho_pin.so").canonicalize().unwrap();
    assert_eq!(told.trim(), library.to_str().unwrap(), "{errors}");
    if cfg!(not(feature = "packed")) {
        fs::remove_file(library).unwrap();
        let output = installed.coho(&arguments).output().unwrap();
        let (_, errors) = texts(&output);
        assert!(output.status.code() == Some(1) && errors.contains("libcoho_pin.so is neither"), "{errors}");
    }
}

#[test]
fn a_command_that_acts_as_another_user_or_group_does_nothing() {
    needs!(Capability::SetUserId);
    let installed = Installed::new();
    let open = installed.path("open");
    fs::create_dir(&open).unwrap();
    allow(&open, 0o777);
    for (mode, works) in [(0o755, true), (0o4755, false), (0o2755, false)] {
        allow(&installed.path("bin/coho"), mode);
        let written = installed.as_nobody(&["topology", "-o", "open/topology.xml"]);
        let (_, errors) = texts(&written);
        assert_eq!(written.status.success(), works, "{mode:o}: {errors}");
        assert_eq!(open.join("topology.xml").exists(), works, "{mode:o}");
        assert_eq!(errors.contains("set-user-ID"), !works, "{errors}");
        let _ = fs::remove_file(open.join("topology.xml"));
    }
}

#[test]
fn threads_of_a_program_with_more_rights_are_left_alone() {
    needs!(Capability::SetUserId, Capability::CCompiler, Capability::TwoCpus);
    let installed = Installed::new();
    let cpus: Vec<_> = pin::allowed().unwrap().iter().collect();
    let program = installed.threads();
    let list = format!("{},{}", cpus[1], cpus[0]);
    let arguments = ["run", "--per-thread", "--place", &list, "--", program.to_str().unwrap()];
    allow(&program, 0o755);
    let pinned = format!("first: {}\nthread 1: {}\n", cpus[1], cpus[0]);
    let plain = installed.as_nobody(&arguments);
    assert!(texts(&plain).0.starts_with(&pinned), "as any other program: {plain:?}");
    allow(&program, 0o4755);
    let (told, errors) = texts(&installed.as_nobody(&arguments));
    assert!(errors.contains("it runs with more rights than its user"), "{errors}");
    let all = cpus.len();
    assert!(told.starts_with(&format!("first: {all} CPUs\nthread 1: {all} CPUs\n")), "{told}");
}

#[test]
fn a_user_without_rights_runs_compares_and_observes() {
    let installed = Installed::new();
    if is_root() {
        needs!(Capability::OtherUsers);
    }
    let placed = installed.as_nobody(&["run", "--place", "compact", "--", "true"]);
    assert!(placed.status.success(), "{placed:?}");
    let trial = ["run", "--try", "compact,none", "--repeat", "1", "--json"];
    let refused = installed.as_nobody(&[&trial[..], &["--", "touch", "ran"]].concat());
    let (printed, errors) = texts(&refused);
    assert!(refused.status.code() == Some(1) && errors.contains("/nonexistent"), "{errors}");
    assert!(printed.is_empty() && !installed.path("ran").exists(), "what cannot be remembered is not tried");
    let own = installed.path("own");
    fs::create_dir(&own).unwrap();
    allow(&own, 0o777);
    let tried = installed.as_nobody(&[&trial[..], &["-p", "own/p.json", "--", "true"]].concat());
    let (printed, errors) = texts(&tried);
    assert!(tried.status.success() && support::json(&printed)["best"].is_string(), "{errors}");
    let observed = installed.as_nobody(&["idle", "--quick", "--json"]);
    let (told, errors) = texts(&observed);
    assert!(observed.status.success(), "{errors}");
    let found = support::json(&told);
    assert!(found["wakeups"][0]["ns"]["median"].as_f64().unwrap() > 0.0, "{found}");
}

#[test]
fn what_a_user_may_not_set_is_told_and_nothing_runs() {
    let installed = Installed::new();
    let arguments = ["idle", "--dma-latency", "0", "--", "touch", "ran"];
    if is_root() {
        needs!(Capability::OtherUsers);
    }
    let output = installed.as_nobody(&arguments);
    let (_, errors) = texts(&output);
    assert!(output.status.code() == Some(1) && errors.contains("cpu_dma_latency"), "{errors}");
    assert!(!installed.path("ran").exists());
}
