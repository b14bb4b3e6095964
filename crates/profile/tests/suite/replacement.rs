//! Replacing files: whole or not at all, by many writers, through links, and killed in the middle.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use coho_profile::{Host, Profile, check_unnamed, check_writable, write_atomic, write_unnamed};
use serde_json::json;

/// Names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn named(cpu: &str) -> Profile {
    Profile { host: Some(Host { cpu: Some(cpu.into()), ..Host::default() }), ..Profile::default() }
}

#[test]
fn a_profile_is_written_as_a_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.json");
    named("a").write(&path).unwrap();
    assert_eq!(Profile::read(&path).unwrap(), named("a"));

    let blocked = folder.path().join("absent").join("profile.json");
    assert!(named("a").write(&blocked).unwrap_err().to_string().contains("absent"));
    assert_eq!(names(folder.path()), ["profile.json"], "no draft stays");
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    const WRITERS: usize = 8;
    const UPDATES: usize = 10;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.json");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let path = &path;
            scope.spawn(move || {
                for update in 0..UPDATES {
                    let name = format!("x{writer}.{update}");
                    Profile::update(path, |profile| drop(profile.unknown.insert(name, json!(1)))).unwrap();
                }
            });
        }
    });
    assert_eq!(Profile::read(&path).unwrap().unknown.len(), WRITERS * UPDATES);
    assert_eq!(names(folder.path()), ["profile.json"]);
}

#[test]
fn readers_see_one_whole_profile_or_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.json");
    named("first").write(&path).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..50 {
                named(&"x".repeat(n * 1000)).write(&path).unwrap();
            }
            done.store(true, Relaxed);
        });
        while !done.load(Relaxed) {
            Profile::read(&path).unwrap();
        }
    });
}

const FOREVER: &str = "COHO_TEST_UPDATE_FOREVER";

/// Not a test of its own: what [`a_killed_writer_leaves_a_whole_file_and_nothing_that_grows`] kills.
#[test]
fn update_forever() {
    let Some(path) = std::env::var_os(FOREVER).map(PathBuf::from) else { return };
    for n in 0u64.. {
        Profile::update(&path, |profile| drop(profile.unknown.insert("filler".into(), json!(vec![n; 5000]))))
            .unwrap();
    }
}

fn updating(path: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "replacement::update_forever"]).env(FOREVER, path);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_killed_writer_leaves_a_whole_file_and_nothing_that_grows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.json");
    named("kept").write(&path).unwrap();
    let mut killed_in_the_middle = 0;
    for round in 0..40 {
        let before = fs::metadata(&path).unwrap().ino();
        let mut writers = [updating(&path), updating(&path)];
        while fs::metadata(&path).unwrap().ino() == before {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Another moment of an update each time.
        std::thread::sleep(Duration::from_micros(round * 370));
        for writer in &mut writers {
            writer.kill().unwrap();
            writer.wait().unwrap();
        }
        let profile = Profile::read(&path).unwrap();
        assert_eq!(profile.host, named("kept").host);
        if let Some(filler) = profile.unknown.get("filler").and_then(|filler| filler.as_array()) {
            assert!(filler.len() == 5000 && filler.iter().all(|one| *one == filler[0]));
        }
        let left = names(folder.path());
        assert!(left.len() <= 2, "{left:?}");
        killed_in_the_middle += left.len() - 1;
    }
    eprintln!("{killed_in_the_middle} of 40 kills left a draft");
    Profile::update(&path, |_| {}).unwrap();
    assert_eq!(names(folder.path()), ["profile.json"], "the next update clears up");
}

#[test]
fn a_link_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("deep")).unwrap();
    named("a").write(&at("deep/profile.json")).unwrap();
    symlink("deep/profile.json", at("one")).unwrap();
    symlink(at("one"), at("two")).unwrap();
    Profile::update(&at("two"), |profile| profile.host = named("b").host).unwrap();
    assert!(at("two").is_symlink() && at("one").is_symlink() && !at("deep/profile.json").is_symlink());
    assert_eq!(Profile::read(&at("deep/profile.json")).unwrap(), named("b"));

    symlink("deep/new.json", at("to nothing")).unwrap();
    named("c").write(&at("to nothing")).unwrap();
    assert_eq!(Profile::read(&at("deep/new.json")).unwrap(), named("c"));

    symlink("round", at("round")).unwrap();
    assert!(named("d").write(&at("round")).unwrap_err().to_string().contains("round"));
}

#[test]
fn a_link_that_the_user_has_not_named_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("precious"), "precious").unwrap();
    symlink("precious", at("to a file")).unwrap();
    symlink("absent", at("to nothing")).unwrap();
    symlink("/dev/null", at("to a device")).unwrap();
    for link in ["to a file", "to nothing", "to a device"].map(at) {
        for refused in [check_unnamed(&link), write_unnamed(&link, b"new")] {
            assert!(refused.unwrap_err().to_string().contains("symbolic link"));
        }
        assert!(link.is_symlink());
    }
    assert_eq!(fs::read_to_string(at("precious")).unwrap(), "precious");
    write_unnamed(&at("file"), b"new").unwrap();
    write_unnamed(&at("file"), b"newer").unwrap();
    assert_eq!(fs::read_to_string(at("file")).unwrap(), "newer");
    assert_eq!(names(folder.path()), ["file", "precious", "to a device", "to a file", "to nothing"]);
}

#[test]
fn permissions_and_owner_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.json");
    named("a").write(&path).unwrap();
    for mode in [0o600, 0o640, 0o666] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        Profile::update(&path, |_| {}).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
    }
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(12345), Some(54321)).unwrap();
        Profile::update(&path, |_| {}).unwrap();
        let kept = fs::metadata(&path).unwrap();
        assert_eq!((kept.uid(), kept.gid()), (12345, 54321));
    }
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let beside_a_file = folder.path().join("file/profile.json");
    fs::write(folder.path().join("file"), "").unwrap();
    for path in [&pipe, &beside_a_file, folder.path(), Path::new("/dev/zero"), Path::new("/dev/full")] {
        for refused in [Profile::check_update(path), Profile::update(path, |_| {})] {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains(&path.display().to_string()), "{error}");
        }
    }
    assert_eq!(names(folder.path()), ["file", "pipe"]);
}

#[test]
fn another_file_is_refused_and_an_empty_one_begun() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("letter.txt");
    fs::write(&path, "Dear Sir or Madam").unwrap();
    assert!(Profile::check_update(&path).unwrap_err().to_string().contains("letter.txt"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "Dear Sir or Madam");

    File::create(&path).unwrap();
    assert_eq!(Profile::check_update(&path).unwrap(), Profile::default());
    assert_eq!(fs::metadata(&path).unwrap().len(), 0, "a check writes nothing");
    Profile::update(&path, |profile| *profile = named("a")).unwrap();
    assert_eq!(Profile::read(&path).unwrap(), named("a"));
    assert_eq!(names(folder.path()), ["letter.txt"]);
}

#[test]
fn a_file_longer_than_any_profile_is_refused_without_being_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long");
    // It has holes only: a terabyte without a block.
    File::create(&path).unwrap().set_len(1 << 40).unwrap();
    assert!(Profile::check_update(&path).unwrap_err().to_string().contains("long"));
}

#[test]
fn a_draft_that_is_not_ours_alone_does_not_become_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("precious"), "precious").unwrap();
    fs::hard_link(at("precious"), at(".profile.json.coho-draft")).unwrap();
    named("a").write(&at("profile.json")).unwrap();
    assert_eq!(fs::read_to_string(at("precious")).unwrap(), "precious");

    symlink("precious", at(".profile.json.coho-draft")).unwrap();
    named("b").write(&at("profile.json")).unwrap_err();
    assert_eq!(fs::read_to_string(at("precious")).unwrap(), "precious");
    assert_eq!(Profile::read(&at("profile.json")).unwrap(), named("a"));
}

#[test]
fn what_a_process_has_open_is_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let file = File::create(folder.path().join("open")).unwrap();
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file);
    for path in [format!("/dev/fd/{descriptor}"), "/dev/null".into()] {
        check_writable(path.as_ref()).unwrap();
        write_atomic(path.as_ref(), b"new").unwrap();
    }
    assert_eq!(fs::read_to_string(folder.path().join("open")).unwrap(), "new");
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    assert!(write_atomic("/dev/full".as_ref(), b"new").is_err());
}
