//! A stop by signal, in a process of its own as it stops everything.

use coho_platform::{pin, stop};
use coho_probe::coherence::Options;
use coho_probe::{Around, Course, Experiment, Progress};
use coho_testing::{Capability, needs};

#[test]
fn a_signal_keeps_what_is_done_even_if_it_comes_twice_at_once() {
    needs!(Capability::TwoCpus);
    let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
    coho_testing::default_signals();
    stop::on_signals().unwrap();
    assert!(!stop::requested());
    let options = Options { course: Course::on(cpus), passes: 1 << 40, ..Options::quick() };
    let topology = coho_topology::detect().unwrap();
    let mut stopping = |progress: Progress| {
        // Late enough for figures to be there, also where others use the CPUs.
        if progress.done == 20 {
            for _ in 0..2 {
                // SAFETY: the handlers are installed.
                unsafe { libc::raise(libc::SIGINT) };
            }
        }
    };
    let coherence = options.measure(&mut Around::new(&topology, &mut stopping)).unwrap();
    assert!(stop::requested() && coherence.method.interrupted);
    // On CPUs that never ran at the same time there is a reason in place of a figure.
    let reasons = coherence.method.not_available.keys().filter(|key| key.starts_with("pair ")).count();
    assert!(!coherence.pairs.is_empty() || reasons > 0, "{:?}", coherence.method.not_available);
}
