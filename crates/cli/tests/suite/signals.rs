//! Signals at any moment: what is finished is saved, the rest is named, and nothing is left behind.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use coho_probe::EXPERIMENTS;
use coho_profile::{Counters, Memory, Profile};
use coho_testing::{Capability, file_names, needs};
use serde_json::json;

use crate::support::MEASURING;
use crate::support::watched::Watched;

/// Signals that ask for an end, by name.
const SIGNALS: [(i32, &str); 4] = [
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGINT, "SIGINT"),
    (libc::SIGQUIT, "SIGQUIT"),
    (libc::SIGTERM, "SIGTERM"),
];

/// Commands that measure for longer than a test waits, on any number of CPUs.
const LONG: [&[&str]; 7] = [
    &["memory", "-o", "p.json"],
    &["calls", "--set", "syscalls,libc", "--repeat", "1000000", "-o", "p.json"],
    &["bench", "--copies", "1", "-o", "p.json"],
    &["barrier", "--threads", "2", "--burst", "1s", "-o", "p.json"],
    &["kernels", "weather", "--threads", "1", "-o", "p.json"],
    &["run", "--repeat", "100000", "-p", "p.json", "--try", "none,compact", "--", "sleep", "0.01"],
    &["survey", "-o", "p.json"],
];

fn assert_stopped(
    watched: &mut Watched,
    (signal, name): (i32, &str),
    what: &str,
    scratch: &[PathBuf],
) -> String {
    let ended = watched.end();
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(128 + signal), "{what}: {errors}");
    assert!(errors.contains(&format!("stopped by {name}")), "{what}: {errors}");
    watched.assert_nothing_is_left(scratch);
    errors
}

/// Sends a signal so long after a command answers it.
fn assert_is_stopped_after(wait: Duration, arguments: &[&str], signal: (i32, &str)) {
    let folder = tempfile::tempdir().unwrap();
    let mut watched = Watched::start(arguments, folder.path());
    watched.until_it_answers(signal.0);
    std::thread::sleep(wait);
    let scratch = watched.scratch();
    watched.send(signal.0);
    let what = format!("{} after {wait:?}", arguments.join(" "));
    assert_stopped(&mut watched, signal, &what, &scratch);
    let profile = folder.path().join("p.json");
    if profile.exists() {
        Profile::read(&profile).unwrap();
    }
    let expected = ["p.html", "p.json"];
    assert!(file_names(folder.path()).iter().all(|name| expected.contains(&&name[..])), "{what}");
}

#[test]
fn a_signal_ends_every_command_that_measures() {
    needs!(Capability::TwoCpus);
    for (command, signal) in MEASURING.iter().zip(SIGNALS.into_iter().cycle()) {
        // Some are done within a second.
        assert_is_stopped_after(Duration::ZERO, &[command, &["-o", "p.json"][..]].concat(), signal);
    }
}

#[test]
fn a_signal_ends_a_measurement_at_any_time_with_its_number() {
    for (index, arguments) in LONG.iter().enumerate() {
        for (moment, wait) in [0, 400, 1200].into_iter().enumerate() {
            // One moment each; all take a minute.
            if coho_testing::soak_seconds().is_none() && moment != index % 3 {
                continue;
            }
            let signal = SIGNALS[(index + moment) % SIGNALS.len()];
            assert_is_stopped_after(Duration::from_millis(wait), arguments, signal);
        }
    }
}

/// Commands that only read, with a file that they write.
const READING: [&[&str]; 6] = [
    &["report", "published:kawabe-furuya/e5620", "-o", "p.html"],
    &["compare", "published:kawabe-furuya/e5620", "published:nakamura-fbs"],
    &["findings", "published:kawabe-furuya/e5620"],
    &["schema", "--figures"],
    &["topology", "--json"],
    &["path", "dimmnet-h1", "-p", "published:hamada-dimmnet"],
];

/// A thousand of them, at moments from the start to three seconds later, show what a few at chosen moments do not:
/// `COHO_SIGNALS` says how many, and `COHO_SOAK_SECONDS` for how long at most.
#[test]
fn signals_at_random_moments_leave_whole_files_and_nothing_else() {
    let count = std::env::var("COHO_SIGNALS").map_or(6, |number| number.parse().expect("a number"));
    let seconds = coho_testing::soak_seconds().map_or(Duration::MAX, Duration::from_secs);
    let (begun, mut sent) = (Instant::now(), 0);
    let mut random = fastrand::Rng::new();
    println!("seed {}", random.get_seed());
    let measuring = MEASURING.iter().map(|command| [command, &["-o", "p.json"][..]].concat());
    let others = LONG.iter().chain(&READING).map(|command| command.to_vec());
    let commands: Vec<_> = measuring.chain(others).collect();
    while sent < count && begun.elapsed() < seconds {
        sent += 1;
        let arguments = &commands[random.usize(..commands.len())];
        let (signal, name) = SIGNALS[random.usize(..SIGNALS.len())];
        let wait = Duration::from_secs_f64(1e-3 * 3000_f64.powf(random.f64()));
        let what = format!("{name} after {wait:?} to {}", arguments.join(" "));
        let folder = tempfile::tempdir().unwrap();
        let mut watched = Watched::start(arguments, folder.path());
        std::thread::sleep(wait);
        let scratch = watched.scratch();
        watched.send(signal);
        let ended = watched.end();
        let errors = String::from_utf8_lossy(&ended.stderr);
        // Before it handles signals it just dies of one, and it may be done before the signal comes.
        let code = ended.status.code().or_else(|| ended.status.signal().map(|signal| 128 + signal));
        assert!(code == Some(0) || code == Some(128 + signal), "{what}: {:?}: {errors}", ended.status);
        assert!(!errors.contains("panicked"), "{what}: {errors}");
        watched.assert_nothing_is_left(&scratch);
        let names = file_names(folder.path());
        assert!(names.iter().all(|name| ["p.html", "p.json"].contains(&&name[..])), "{what}: {names:?}");
        if names.contains(&"p.json".into()) {
            Profile::read(&folder.path().join("p.json")).unwrap_or_else(|error| panic!("{what}: {error}"));
        }
    }
    println!("{sent} signals");
}

/// A profile of this machine with sections that cannot be mistaken for measured ones.
fn earlier(path: &Path) -> Profile {
    let mut counters = Counters::default();
    counters.method.description = "measured before".into();
    let mut memory = Memory::default();
    memory.method.description = "measured before".into();
    let mut profile = Profile { counters: Some(counters), memory: Some(memory), ..Profile::default() };
    profile.unknown.insert("later".into(), json!({"kept": true}));
    profile.write(path).unwrap();
    profile
}

#[test]
fn a_stopped_survey_keeps_earlier_sections_and_names_them() {
    for signal in SIGNALS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.json");
        let before = earlier(&path);
        let mut watched = Watched::start(&["survey", "-o", "p.json"], folder.path());
        watched.until_it_answers(signal.0);
        watched.send(signal.0);
        let errors = assert_stopped(&mut watched, signal, "survey", &[]);
        let kept = errors.lines().find_map(|line| line.split_once("keeps its earlier "));
        assert!(
            kept.is_some_and(|(_, names)| names.contains("counters") && names.contains("memory")),
            "{errors}"
        );
        let missing = errors.lines().find_map(|line| line.split_once("not measured: "));
        // The first one had its turn, and the file has some of the others.
        let kept = |name: &&str| before.sections().any(|(kept, _)| kept == *name);
        let others: Vec<_> =
            EXPERIMENTS[1..].iter().map(|entry| entry.section).filter(|name| !kept(name)).collect();
        assert!(missing.is_some_and(|(_, names)| names.contains(&others.join(", "))), "{errors}");
        let after = Profile::read(&path).unwrap();
        assert_eq!((after.counters, after.memory), (before.counters, before.memory));
        assert_eq!(after.unknown, before.unknown);
        assert!(after.host.is_some() && after.topology.is_some());
    }
}

#[test]
fn a_killed_survey_keeps_earlier_sections() {
    for wait in [0, 30, 300, 1500] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.json");
        let before = earlier(&path);
        let mut watched = Watched::start(&["survey", "-o", "p.json"], folder.path());
        std::thread::sleep(Duration::from_millis(wait));
        watched.send(libc::SIGKILL);
        assert!(!watched.end().status.success());
        let after = Profile::read(&path).unwrap();
        assert_eq!((after.memory, after.unknown), (before.memory, before.unknown));
    }
}

#[test]
fn a_survey_stopped_while_it_watches_says_what_is_missing() {
    needs!(Capability::TwoCpus);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.json");
    let mut watched = Watched::start(&["survey", "--quick", "-o", "p.json"], folder.path());
    // The pairs are on disk before a pair is watched, for a second.
    watched.until("the pairs", || Profile::read(&path).is_ok_and(|profile| profile.coherence.is_some()));
    watched.send(libc::SIGINT);
    let errors = assert_stopped(&mut watched, (libc::SIGINT, "SIGINT"), "survey", &[]);
    let later: Vec<_> = EXPERIMENTS[2..].iter().map(|entry| entry.section).collect();
    assert!(errors.contains("not complete: ") && errors.contains(&later.join(", ")), "{errors}");
    let coherence = Profile::read(&path).unwrap().coherence.unwrap();
    assert!(!coherence.pairs.is_empty());
    // On busy CPUs the next experiment may have begun before the signal came.
    assert_eq!(coherence.method.interrupted, errors.contains("not complete: coherence"));
}

/// Wherever the signal meets it, the pairs of an earlier survey stay, or new ones that were watched to the end.
#[test]
fn a_survey_stopped_while_it_watches_keeps_the_earlier_pairs() {
    needs!(Capability::TwoCpus);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.json");
    let arguments = ["survey", "--quick", "-o", "p.json"];
    let measured = coho_profile::Coherence { pairs: vec![pair()], ..coho_profile::Coherence::default() };
    for wait in [200, 500, 800, 1100, 1400] {
        Profile { coherence: Some(measured.clone()), ..Profile::default() }.write(&path).unwrap();
        let mut watched = Watched::start(&arguments, folder.path());
        watched.until_it_answers(libc::SIGINT);
        std::thread::sleep(Duration::from_millis(wait));
        watched.send(libc::SIGINT);
        assert_stopped(&mut watched, (libc::SIGINT, "SIGINT"), "survey", &[]);
        let coherence = Profile::read(&path).unwrap().coherence.unwrap();
        assert!(coherence == measured || !coherence.method.interrupted, "after {wait} ms");
    }
}

fn pair() -> coho_profile::Pair {
    coho_profile::Pair::new(
        0,
        1,
        coho_profile::PairMethod::Turn,
        coho_profile::Home::A,
        coho_profile::Estimate::exact(1e9),
    )
}

#[test]
fn a_stopped_command_keeps_its_earlier_section() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.json");
    let before = earlier(&path);
    let mut watched = Watched::start(&["memory", "-o", "p.json"], folder.path());
    watched.until_it_answers(libc::SIGTERM);
    std::thread::sleep(Duration::from_millis(300));
    watched.send(libc::SIGTERM);
    let errors = assert_stopped(&mut watched, (libc::SIGTERM, "SIGTERM"), "memory", &[]);
    assert!(errors.contains("p.json keeps its earlier memory"), "{errors}");
    assert_eq!(Profile::read(&path).unwrap(), before);
}

#[test]
fn what_was_ignored_stays_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let quick: [&[&str]; 2] = [
        &["counters", "--quick", "-o", "p.json"],
        &["run", "--repeat", "6", "-p", "p.json", "--try", "none", "--", "sleep", "0.05"],
    ];
    for arguments in quick {
        let mut watched = Watched::start_with(arguments, folder.path(), libc::SIG_IGN);
        for (signal, _) in SIGNALS.into_iter().cycle().take(12) {
            watched.send(signal);
            std::thread::sleep(Duration::from_millis(10));
        }
        let ended = watched.end();
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(0), "{arguments:?}: {errors}");
        assert!(!errors.contains("stopped"), "{errors}");
    }
}

#[test]
fn a_kill_leaves_no_files_and_no_processes() {
    let commands: [&[&str]; 6] = [
        &["calls", "--set", "syscalls,libc", "--repeat", "1000000"],
        &["bench", "--copies", "1"],
        &["barrier", "--threads", "2", "--peers"],
        &["memory", "--parts", "transfers"],
        &["calls", "--set", "mpi"],
        &["run", "--repeat", "100000", "-p", "p.json", "--try", "none", "--", "sleep", "0.01"],
    ];
    for arguments in commands {
        for wait in [5, 150, 700, 2000] {
            let folder = tempfile::tempdir().unwrap();
            let mut watched = Watched::start(arguments, folder.path());
            std::thread::sleep(Duration::from_millis(wait));
            let scratch = watched.scratch();
            watched.send(libc::SIGKILL);
            watched.end();
            watched.assert_nothing_is_left(&scratch);
        }
    }
}
