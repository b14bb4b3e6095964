//! Writers that are killed while they write: the file stays whole, and nothing that they leave is in anybody's way.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use coho_profile::Profile;
use coho_testing::{Capability, End, killed_at, needs};

use crate::support::coho;

/// Adds a section to a profile, without measuring.
fn update(folder: &Path) -> Command {
    let mut command = coho(&["coherence", "--from", "matrix.csv", "-o", "p.json"]);
    command.current_dir(folder).stdout(Stdio::null());
    command
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_writer_that_is_killed_at_any_call_leaves_the_old_file_or_the_new_one() {
    needs!(Capability::Tracing);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("matrix.csv"), ",25\n25,\n").unwrap();
    let profile = folder.join("p.json");
    let earlier = crate::support::measured().to_json();
    let begin = || fs::write(&profile, &earlier).unwrap();
    begin();
    let End::Itself { status: 0, calls } = killed_at(&mut update(folder), "p.json", usize::MAX) else {
        panic!("the update fails")
    };
    let later = fs::read_to_string(&profile).unwrap();
    assert!(later != earlier && calls > 10, "{calls} calls");
    let mut replaced = 0;
    for at in 0..calls {
        begin();
        if killed_at(&mut update(folder), "p.json", at) != End::Killed {
            // The last calls depend on when threads end.
            continue;
        }
        let left = fs::read_to_string(&profile).unwrap();
        assert!(left == earlier || left == later, "killed at call {at} of {calls}: {left}");
        replaced += usize::from(left == later);
        // What was left hinders nobody, and goes with the next update.
        assert!(update(folder).status().unwrap().success(), "after call {at}");
        assert_eq!(fs::read_to_string(&profile).unwrap(), later, "after call {at}");
        assert_eq!(names(folder), ["matrix.csv", "p.json"], "after call {at}");
    }
    assert!((1..calls).contains(&replaced), "{replaced} of {calls}");
}

#[test]
fn of_eight_writers_those_that_live_are_all_heard() {
    const WRITERS: usize = 8;
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(8);
    for _ in 0..3 {
        let start = |n: usize| {
            let name = format!("command-{n}");
            let trial =
                ["run", "-p", "p.json", "--repeat", "1", "--name", &name, "--try", "none", "--", "true"];
            coho(&trial).current_dir(folder.path()).stdout(Stdio::null()).spawn().unwrap()
        };
        let mut all: Vec<_> = (0..WRITERS).map(start).collect();
        // At most four of them, at any point of their work.
        for _ in 0..4 {
            sleep(Duration::from_millis(random.u64(..30)));
            let _ = all[random.usize(..WRITERS)].kill();
        }
        let ended: Vec<bool> = all.iter_mut().map(|one| one.wait().unwrap().success()).collect();
        assert!(ended.iter().filter(|&&success| success).count() >= WRITERS - 4, "{ended:?}");
        let remembered = Profile::read(&folder.path().join("p.json")).unwrap().run.unwrap().commands;
        for (n, _) in ended.iter().enumerate().filter(|(_, success)| **success) {
            assert!(remembered.contains_key(&format!("command-{n}")), "{ended:?}: {:?}", remembered.keys());
        }
        fs::remove_file(folder.path().join("p.json")).unwrap();
    }
}
