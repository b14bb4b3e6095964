//! Trials of placements: what they find, and what they must not claim.

use std::time::Duration;

use coho_platform::pin;
use coho_profile::Trial;
use coho_run::trial::{Candidate, Error, Options, compare};
use coho_run::{Job, Output, Signals};
use coho_testing::{Capability, needs};
use coho_topology::CpuSet;

#[path = "../../examples/messaging.rs"]
#[allow(dead_code, reason = "its main is for a program of its own")]
mod messaging;

#[test]
#[ignore = "a program that another test starts"]
fn many_messages() {
    messaging::exchange(1500).unwrap();
}

fn candidate(name: &str, cpus: &[u32], command: &[&str]) -> Candidate {
    let job = Job {
        command: command.iter().map(Into::into).collect(),
        cpus: Some(cpus.iter().copied().collect()),
        output: Output::Nowhere,
        ..Job::default()
    };
    Candidate { name: name.into(), order: cpus.into(), job }
}

fn trial(candidates: &[Candidate], repeats: u32) -> Result<Trial, Error> {
    let options = Options { repeats, seed: 1, ..Options::default() };
    compare(candidates, &options, &Signals::hold().unwrap(), &mut |_| {})
}

#[test]
fn a_verdict_is_what_its_rounds_carry() {
    needs!(Capability::TwoCpus);
    let cpus: Vec<u32> = pin::allowed().unwrap().iter().collect();
    let this = std::env::current_exe().unwrap().display().to_string();
    let command = [this.as_str(), "--exact", "--ignored", "trial::many_messages"];
    let candidates = [candidate("compact", &cpus[..1], &command), candidate("spread", &cpus, &command)];
    // Only a quiet machine could say which of the two is quicker.
    let found = trial(&candidates, 6).unwrap();
    let best = found.best.as_deref().unwrap();
    for placement in &found.placements {
        let seconds = placement.seconds.as_ref().unwrap();
        assert!(seconds.n == 6 && seconds.min > 0.0, "{placement:?}");
        assert_eq!(placement.times_best.is_none(), placement.name == best, "{placement:?}");
    }
    let mut others = found.placements.iter().filter_map(|placement| placement.times_best.as_ref());
    assert_eq!(found.decided, others.all(|ratio| ratio.low > 1.0), "{found:?}");
}

#[test]
fn each_placement_runs_where_it_says_and_counts() {
    let cpu = pin::allowed().unwrap().first().unwrap();
    let script = format!("grep -qx 'Cpus_allowed_list:.{cpu}' /proc/self/status && sleep 0.001");
    let found = trial(&[candidate("here", &[cpu], &["sh", "-c", &script])], 3).unwrap();
    let here = &found.placements[0];
    assert_eq!((here.seconds.as_ref().unwrap().n, found.best.as_deref()), (3, Some("here")));
    assert!(!found.decided, "there is nothing to decide between");
    assert!(here.counters["voluntary_switches"].median >= 1.0, "{here:?}");
    for name in ["migrations", "l2_misses", "l3_misses", "clock_ghz"] {
        let counted = here.counters.contains_key(name);
        assert!(counted != found.method.not_available.contains_key(name), "{name}: {found:?}");
    }
}

#[test]
fn placements_of_the_same_cpus_are_measured_once() {
    let cpus: Vec<u32> = pin::allowed().unwrap().iter().collect();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let script = format!("echo >> {}", log.display());
    let command = ["sh", "-c", script.as_str()];
    let mut none = candidate("none", &cpus, &command);
    none.job.cpus = None;
    let found = trial(&[candidate("spread", &cpus, &command), none], 2).unwrap();
    assert_eq!(found.placements[1].same_as.as_deref(), Some("spread"));
    assert_eq!(found.placements[1].seconds, found.placements[0].seconds);
    // One warm-up run, then two rounds.
    assert_eq!(std::fs::read_to_string(log).unwrap().lines().count(), 3);
}

#[test]
fn a_command_that_fails_is_not_compared() {
    let cpu = pin::allowed().unwrap().first().unwrap();
    let error = trial(&[candidate("here", &[cpu], &["sh", "-c", "exit 3"])], 6).unwrap_err();
    assert_eq!(
        error.to_string(),
        "under here the command ended with status 3; it must end with 0 to be compared"
    );
    let error = trial(&[candidate("here", &[cpu], &["/nonexistent"])], 6).unwrap_err();
    assert!(matches!(error, Error::Start(_)), "{error}");
}

#[test]
fn a_signal_ends_a_trial_and_keeps_its_rounds() {
    let cpu = pin::allowed().unwrap().first().unwrap();
    coho_testing::default_signals();
    let signals = Signals::hold().unwrap();
    let options = Options { repeats: 1000, seed: 1, ..Options::default() };
    // SAFETY: names this thread, which lives until the other has ended.
    let me = unsafe { libc::pthread_self() } as usize;
    let sender = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        // SAFETY: as above; that thread holds the signal back.
        unsafe { libc::pthread_kill(me as libc::pthread_t, libc::SIGINT) };
    });
    let found =
        compare(&[candidate("here", &[cpu], &["sleep", "0.01"])], &options, &signals, &mut |_| {}).unwrap();
    sender.join().unwrap();
    assert!(found.method.interrupted && found.method.passes < 1000, "{found:?}");
    assert_eq!(found.placements[0].seconds.as_ref().map_or(0, |seconds| seconds.n), found.method.passes);
    assert_eq!(CpuSet::from_iter(found.placements[0].cpus.iter().copied()).len(), 1);
}
