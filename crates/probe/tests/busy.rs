//! A machine that is busy with something else on every CPU.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use coho_probe::coherence::{Options, measure};
use coho_probe::pin;

#[test]
fn every_figure_is_found_in_the_moments_when_both_cpus_run() {
    let cpus: Vec<_> = pin::allowed().unwrap().iter().take(2).collect();
    if cpus.len() < 2 {
        return eprintln!("skipped: only one CPU");
    }
    let done = AtomicBool::new(false);
    let options = Options { cpus: cpus.clone(), reads: false, ..Options::quick() };
    let topology = coho_topology::detect().unwrap();
    let all = std::thread::scope(|scope| {
        for &cpu in &cpus {
            let done = &done;
            scope.spawn(move || {
                pin::to(cpu).unwrap();
                while !done.load(Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        // Where others use the CPUs too, there may be too few such moments.
        let mut all = Vec::new();
        for _ in 0..3 {
            let start = Instant::now();
            all.push((measure(&options, &topology, &mut |_| ()), start.elapsed()));
            if all.last().is_some_and(|(coherence, _)| coherence.as_ref().is_ok_and(|c| c.pairs.len() == 6)) {
                break;
            }
        }
        done.store(true, Relaxed);
        all
    });
    assert!(all.iter().any(|&(_, elapsed)| elapsed < Duration::from_secs(100)));
    let coherence = all.into_iter().next_back().unwrap().0.unwrap();
    assert_eq!(coherence.pairs.len(), 6, "{:?}", coherence.method.not_available);
    // A time slice is milliseconds: a figure that preemptions had touched would show it.
    assert!(coherence.pairs.iter().all(|pair| pair.ns.median < 1e5));
}
