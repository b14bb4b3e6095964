//! The libraries that are packed into the command, where nothing is installed beside it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use coho_testing::{Capability, copy_program, needs};
use tempfile::TempDir;

/// The command alone in a folder, with a folder for its state that only the user may write.
struct Alone(TempDir);

impl Alone {
    fn new() -> Self {
        let this = Self(tempfile::tempdir().unwrap());
        if fs::hard_link(env!("CARGO_BIN_EXE_coho"), this.command()).is_err() {
            copy_program(env!("CARGO_BIN_EXE_coho").as_ref(), &this.command());
        }
        this
    }

    fn command(&self) -> PathBuf {
        self.0.path().join("coho")
    }

    fn state(&self) -> PathBuf {
        self.0.path().join("state")
    }

    /// `coho` with a program that prints what is preloaded into it.
    fn coho(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.command());
        command.args(["run", "-q"]).args(arguments).args(["--", "sh", "-c", "echo $LD_PRELOAD"]);
        command.env("XDG_STATE_HOME", self.state()).env_remove("LD_PRELOAD");
        command
    }

    fn pinned(&self) -> Command {
        self.coho(&["--per-thread", "--place", "spread"])
    }

    /// The files in the state folder that are not locks.
    fn files(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.state().join("coho")) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_none_or(|extension| extension != "lock")).collect()
    }
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// The library's path, which was preloaded without complaint.
#[track_caller]
fn preloaded(mut command: Command) -> PathBuf {
    let output = command.output().unwrap();
    let (path, errors) = texts(&output);
    assert!(output.status.success() && errors.is_empty() && !path.is_empty(), "{path}: {errors}");
    path.into()
}

#[track_caller]
fn refused(mut command: Command, because: &str) {
    let output = command.output().unwrap();
    let (printed, errors) = texts(&output);
    assert!(output.status.code() == Some(1) && printed.is_empty(), "nothing is run: {output:?}");
    assert!(errors.contains("libcoho_pin.so is not available: ") && errors.contains(because), "{errors}");
}

/// The same file as the one that cargo built.
fn is_whole(path: &Path) -> bool {
    let built = Path::new(env!("CARGO_BIN_EXE_coho")).with_file_name("deps").join("libcoho_pin.so");
    fs::read(path).unwrap() == fs::read(built).unwrap()
}

#[test]
fn a_command_alone_preloads_what_is_packed_into_it() {
    let alone = Alone::new();
    let path = preloaded(alone.pinned());
    assert!(path.starts_with(alone.state()) && is_whole(&path), "{path:?}");
    let name = path.file_name().unwrap().to_str().unwrap();
    let hash = name.strip_prefix("libcoho_pin-").and_then(|rest| rest.strip_suffix(".so"));
    assert!(hash.is_some_and(|hash| hash.len() == 16), "{name}");
    let written = fs::metadata(&path).unwrap();
    assert_eq!(written.permissions().mode() & 0o7777, 0o600);
    assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o7777, 0o700);
    preloaded(alone.pinned());
    assert_eq!(fs::metadata(&path).unwrap().ino(), written.ino(), "it is written once");
    needs!(Capability::TwoCpus);
    let cpu = coho_platform::pin::allowed().unwrap().iter().next().unwrap().to_string();
    let output =
        alone.coho(&["--openmp", "--per-thread", "--place", &cpu, "--delegate=stat"]).output().unwrap();
    let (all, errors) = texts(&output);
    assert!(!errors.contains("not available"), "{errors}");
    for name in ["libcoho_pin-", "libcoho_openmp-", "libcoho_delegate_preload-"] {
        assert!(all.contains(name), "{name}: {all}");
    }
}

#[test]
fn an_installed_library_goes_before_the_packed_one() {
    let alone = Alone::new();
    let library = alone.0.path().join("libcoho_pin.so");
    fs::copy(preloaded(alone.pinned()), &library).unwrap();
    assert_eq!(preloaded(alone.pinned()), library.canonicalize().unwrap());
}

#[test]
fn a_damaged_library_is_written_again() {
    let alone = Alone::new();
    let path = preloaded(alone.pinned());
    let whole = fs::read(&path).unwrap();
    for other in [&whole[..whole.len() / 2], b"", &[&whole[..], b"more"].concat()] {
        fs::write(&path, other).unwrap();
        assert_eq!(preloaded(alone.pinned()), path);
        assert!(is_whole(&path));
    }
}

#[test]
fn what_somebody_else_put_there_is_neither_loaded_nor_replaced() {
    let alone = Alone::new();
    let path = preloaded(alone.pinned());
    let elsewhere = alone.0.path().join("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    symlink(&elsewhere, &path).unwrap();
    refused(alone.pinned(), "is a link");
    fs::remove_file(&path).unwrap();
    fs::copy(&elsewhere, &path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    refused(alone.pinned(), "others may write");
    fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(0o777)).unwrap();
    refused(alone.pinned(), "others may write");
}

#[test]
fn another_users_file_is_not_loaded() {
    needs!(Capability::OtherUsers);
    let alone = Alone::new();
    let path = preloaded(alone.pinned());
    std::os::unix::fs::chown(&path, Some(65_534), Some(65_534)).unwrap();
    refused(alone.pinned(), "belongs to another user (65534)");
}

#[test]
fn without_a_place_to_unpack_it_says_why() {
    let alone = Alone::new();
    let mut homeless = alone.pinned();
    homeless.env_remove("XDG_STATE_HOME").env_remove("HOME");
    refused(homeless, "neither XDG_STATE_HOME nor HOME");
    let mut no_folder = alone.pinned();
    no_folder.env("XDG_STATE_HOME", "/proc/none");
    refused(no_folder, "/proc/none");
}

#[test]
fn a_folder_that_runs_or_takes_no_files_is_named() {
    needs!(Capability::Mounts);
    let alone = Alone::new();
    fs::create_dir(alone.state()).unwrap();
    for (options, because) in [("noexec", "is mounted noexec"), ("ro", "Read-only file system")] {
        let mount = "mount -t tmpfs -o \"$1\",mode=700 none \"$XDG_STATE_HOME\" && shift && exec \"$@\"";
        let mut mounted = Command::new("unshare");
        mounted.args(["-m", "sh", "-c", mount, "sh", options]).arg(alone.command());
        mounted.args(["run", "-q", "--per-thread", "--place", "spread", "--", "echo", "ran"]);
        mounted.env("XDG_STATE_HOME", alone.state()).env_remove("LD_PRELOAD");
        refused(mounted, because);
    }
}

#[test]
fn first_starts_at_once_agree() {
    let alone = Alone::new();
    let start = || alone.pinned().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started: Vec<_> = (0..8).map(|_| start()).collect();
    let mut paths: Vec<_> = started.into_iter().map(|one| texts(&one.wait_with_output().unwrap())).collect();
    paths.dedup();
    assert!(paths.len() == 1 && paths[0].1.is_empty() && is_whole(Path::new(&paths[0].0)), "{paths:?}");
    assert_eq!(alone.files().len(), 1, "no draft is left: {:?}", alone.files());
}

#[test]
fn a_start_killed_in_the_middle_leaves_nothing_that_the_next_believes() {
    let alone = Alone::new();
    for delay in 0..20 {
        let _ = fs::remove_dir_all(alone.state());
        let mut killed = alone.pinned().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        sleep(Duration::from_millis(2 * delay));
        killed.kill().unwrap();
        killed.wait().unwrap();
        let left = alone.files();
        assert!(
            left.iter().all(|path| path.extension().is_some_and(|end| end == "draft") || is_whole(path)),
            "a library is there whole or not at all: {left:?}"
        );
        assert!(is_whole(&preloaded(alone.pinned())));
        assert_eq!(alone.files().len(), 1, "no draft is left: {:?}", alone.files());
    }
}
