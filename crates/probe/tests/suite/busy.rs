//! A machine that is busy with something else on every CPU.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use coho_platform::pin;
use coho_probe::coherence::Options;
use coho_probe::{Around, Course, Experiment};
use coho_testing::{Capability, alone, needs};

#[test]
fn figures_are_of_the_moments_when_both_cpus_run() {
    needs!(Capability::TwoCpus);
    let _alone = alone();
    let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
    let done = AtomicBool::new(false);
    let options = Options { course: Course::on(&cpus[..]), reads: false, ..Options::quick() };
    let topology = coho_topology::detect().unwrap();
    let coherence = std::thread::scope(|scope| {
        for &cpu in &cpus {
            let done = &done;
            scope.spawn(move || {
                pin::to(cpu).unwrap();
                while !done.load(Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let coherence = options.measure(&mut Around::new(&topology, &mut |_| ()));
        done.store(true, Relaxed);
        coherence
    });
    let coherence = coherence.unwrap();
    // Where others use the CPUs too, there may be no such moment for some.
    let is_whole = coherence.pairs.len() == 6;
    let why = coherence.method.not_available.get(&format!("pair {},{}", cpus[0], cpus[1]));
    assert_eq!(is_whole, why.is_none(), "{why:?}");
    assert!(coherence.pairs.len() <= 6);
    // A time slice is milliseconds: a figure that preemptions had touched would show it.
    assert!(coherence.pairs.iter().all(|pair| pair.ns.median < 1e5));
}
