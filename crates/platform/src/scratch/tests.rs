use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;

use super::*;

fn folder() -> Folder {
    Folder::create(Wish { name: "test", ..Wish::default() }).unwrap()
}

/// Makes a folder look as if it had been made an hour ago.
fn age(folder: &Path) {
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    File::open(folder).unwrap().set_modified(hour_ago).unwrap();
}

#[test]
fn it_is_private_and_nothing_is_left_of_it() {
    let folder = folder();
    let path = folder.path().to_owned();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    fs::create_dir(path.join("deeper")).unwrap();
    fs::write(path.join("deeper/file"), "x").unwrap();
    drop(folder);
    assert!(!path.exists());
}

#[test]
fn it_goes_when_its_owner_panics() {
    let panicked = std::panic::catch_unwind(|| {
        let folder = folder();
        fs::write(folder.path().join("file"), "x").unwrap();
        std::panic::panic_any(folder.path().to_owned());
    });
    assert!(!panicked.unwrap_err().downcast::<PathBuf>().unwrap().exists());
}

#[test]
fn one_whose_keeper_was_killed_goes_as_well() {
    let folder = folder();
    let path = folder.path().to_owned();
    fs::write(path.join("file"), "x").unwrap();
    // SAFETY: no pointers; the keeper has not been waited for, so the number is its own.
    unsafe { libc::kill(folder.group().unwrap(), libc::SIGKILL) };
    drop(folder);
    assert!(!path.exists());
}

#[test]
fn the_next_run_removes_what_nobody_owns() {
    let parent = tempfile::tempdir().unwrap();
    let wish = Wish { name: "test", parent: Some(parent.path()), runs_programs: false };
    let owned = Folder::create(wish).unwrap();
    age(owned.path());
    let made = |name: &str| {
        let path = parent.path().join(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(path.join("file"), "x").unwrap();
        path
    };
    let (left, new) = (made("coho-test-1-aaaaaa"), made("coho-test-1-bbbbbb"));
    let others = [
        "coho-aaaaaa",
        "coho-test-aaaaaa",
        "coho-test-1-aaaaaaa",
        "coho-Test-1-aaaaaa",
        "other-test-1-aaaaaa",
    ]
    .map(made);
    let shared = made("coho-test-1-cccccc");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
    let link = parent.path().join("coho-test-1-dddddd");
    symlink(&others[0], &link).unwrap();
    others.iter().chain([&left, &shared]).for_each(|path| age(path));
    drop(Folder::create(wish).unwrap());
    assert!(!left.exists());
    for kept in others.iter().chain([&new, &shared, &link]) {
        assert!(kept.exists(), "{kept:?}");
    }
    assert!(owned.path().exists());
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    for place in ["/proc", "/nonexistent"] {
        let parent = Some(Path::new(place));
        let error = Folder::create(Wish { name: "test", parent, runs_programs: false }).unwrap_err();
        assert!(error.to_string().contains(place), "{error}");
    }
}

const PARENT: &str = "COHO_TEST_SCRATCH_PARENT";

/// Not a test by itself: another test runs this as a process and kills it midway.
#[test]
fn owner() {
    if let Some(parent) = std::env::var_os(PARENT) {
        let _folder =
            Folder::create(Wish { name: "test", parent: Some(parent.as_ref()), runs_programs: false });
        std::thread::sleep(Duration::from_secs(60));
    }
}

#[test]
fn nothing_is_left_whenever_its_owner_is_killed() {
    let parent = tempfile::tempdir().unwrap();
    let is_empty = || fs::read_dir(parent.path()).unwrap().next().is_none();
    for turn in 0..20 {
        let mut owner = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "scratch::tests::owner"])
            .env(PARENT, parent.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        // The moment when the folder appears, and a few before and after it.
        while is_empty() && begun.elapsed() < Duration::from_millis(if turn % 2 == 0 { 10_000 } else { turn })
        {
        }
        owner.kill().unwrap();
        owner.wait().unwrap();
        let ended = Instant::now();
        // A keeper that has just been started may see its owner's end before there is a folder.
        while !is_empty() {
            assert!(ended.elapsed() < KEEPING, "a folder is left in turn {turn}");
            sleep(LOOK);
        }
    }
}
