//! A stop by signal in the middle of a walk, while CPUs contend; in a process of its own as it stops everything.

use coho_platform::stop;
use coho_probe::experiment::{Entry, Observer, Plan, Survey, survey};
use coho_probe::{Progress, contention, counters, memory};
use coho_profile::{Host, LineOperation, Memory, Profile};

/// Stops everything at an experiment's second step.
struct Stopping;

impl Observer for Stopping {
    fn begins(&mut self, section: &'static str) {
        assert_eq!(section, "contention", "no other experiment begins");
    }

    fn advances(&mut self, progress: Progress) {
        if progress.done == 2 {
            // SAFETY: the handlers are installed.
            unsafe { libc::raise(libc::SIGINT) };
        }
    }
}

#[test]
fn a_signal_keeps_what_was_measured_now_or_before() {
    coho_testing::default_signals();
    stop::on_signals().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.json");
    let before = Profile { memory: Some(Memory::default()), ..Profile::default() };
    before.write(&path).unwrap();
    let topology = coho_topology::detect().unwrap();
    let plan = Plan { host: &Host::default(), topology: &topology, mpi_rank: None, path: Some(&path) };
    let table = [
        Entry::of::<contention::Options>(),
        Entry::of::<memory::Options>(),
        Entry::of::<counters::Options>(),
    ];
    let outcome = survey(&table, &Survey::default(), plan, &mut Stopping).unwrap();
    assert_eq!((&outcome.incomplete[..], &outcome.old[..]), (&["contention"][..], &["memory"][..]));
    assert_eq!(outcome.missing, ["counters"]);
    let profile = Profile::read(&path).unwrap();
    assert!(profile.topology.is_some() && profile.memory == before.memory && profile.counters.is_none());
    let contention = profile.contention.unwrap();
    assert!(stop::requested() && contention.method.interrupted);
    assert_eq!(contention.rows.len(), 2, "two operations had their turn");
    let reasons = contention.method.not_available.len();
    assert!(reasons >= LineOperation::ALL.len() - 2, "{:?}", contention.method.not_available);
}
