//! Stops of coherence by signal, each in a process of its own as it stops everything.

use std::time::Duration;

use coho_platform::{pin, stop};
use coho_probe::coherence::Options;
use coho_probe::{Around, Course, Experiment, Progress};
use coho_testing::{Capability, in_own_process, needs};

#[test]
fn a_signal_keeps_what_is_done_even_if_it_comes_twice_at_once() {
    needs!(Capability::TwoCpus);
    in_own_process(a_signal_keeps_what_is_done_even_if_it_comes_twice_at_once, || {
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
    });
}

#[test]
fn reads_that_were_stopped_are_named_and_the_others_whole() {
    needs!(Capability::TwoCpus);
    in_own_process(reads_that_were_stopped_are_named_and_the_others_whole, || {
        let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
        coho_testing::default_signals();
        stop::on_signals().unwrap();
        let options = Options { course: Course::on(cpus), passes: 1, extra_passes: 0, ..Options::default() };
        let mut stopping = None;
        let mut stop = |progress: Progress| {
            if progress.phase == "reads" && stopping.is_none() {
                // In the middle of a buffer's repetitions, most likely.
                stopping = Some(std::thread::spawn(|| {
                    std::thread::sleep(Duration::from_millis(2));
                    // SAFETY: the handlers are installed.
                    unsafe { libc::raise(libc::SIGINT) };
                }));
            }
        };
        let topology = coho_topology::detect().unwrap();
        let coherence = options.measure(&mut Around::new(&topology, &mut stop)).unwrap();
        stopping.expect("reads were reached").join().unwrap();
        assert!(coherence.method.interrupted && stop::requested());
        assert!(coherence.method.not_available["reads"].starts_with("stopped before"));
        assert!(coherence.reads.iter().all(|read| read.ns.n >= 6));
    });
}
