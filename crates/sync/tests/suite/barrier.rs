//! Every algorithm under stress: random delays, more threads than CPUs, every way of waiting.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use coho_sync::{Algorithm, Barrier, Error, Latencies, MAX_THREADS, WaitPolicy};

const POLICIES: [WaitPolicy; 3] =
    [WaitPolicy::Adaptive, WaitPolicy::Passive, WaitPolicy::SpinFor(Duration::from_micros(3))];

/// After a barrier, no thread may be seen behind it, nor more than one barrier ahead.
fn stress(barrier: &Barrier, rounds: usize, delays: bool) {
    let arrived: Vec<_> = (0..barrier.threads()).map(|_| AtomicUsize::new(0)).collect();
    std::thread::scope(|scope| {
        for rank in 0..barrier.threads() {
            let arrived = &arrived;
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(rank as u64);
                for round in 1..=rounds {
                    if delays && random.u8(..) < 16 {
                        std::thread::sleep(Duration::from_micros(random.u64(..300)));
                    }
                    arrived[rank].store(round, Ordering::Relaxed);
                    barrier.wait(rank);
                    for other in arrived {
                        let seen = other.load(Ordering::Relaxed);
                        assert!((round..=round + 1).contains(&seen), "{barrier:?}: {seen} in round {round}");
                    }
                }
            });
        }
    });
}

#[test]
fn nobody_leaves_before_all_have_arrived() {
    for algorithm in Algorithm::ALL {
        for policy in POLICIES {
            for threads in [1, 2, 3, 5] {
                let barrier = Barrier::builder(threads).algorithm(algorithm).policy(policy).build().unwrap();
                stress(&barrier, 200, false);
                stress(&barrier, 50, true);
            }
        }
    }
}

#[test]
fn sixteen_threads_on_two_cpus() {
    for algorithm in Algorithm::ALL.into_iter().chain([Algorithm::Auto]) {
        let barrier = Barrier::new(algorithm, 16).unwrap();
        stress(&barrier, 100, true);
    }
}

#[test]
fn a_wait_that_timed_out_goes_on() {
    for algorithm in Algorithm::ALL {
        let barrier = Barrier::new(algorithm, 3).unwrap();
        for _ in 0..4 {
            let late = barrier.wait_timeout(0, Duration::from_millis(1)).unwrap_err();
            assert_eq!(late.missing, [1, 2], "{algorithm}");
            let late = barrier.wait_timeout(2, Duration::ZERO).unwrap_err();
            assert_eq!(late.missing, [1], "{algorithm}");
            assert!(late.to_string().contains("[1]"));
            std::thread::scope(|scope| {
                scope.spawn(|| barrier.wait(0));
                scope.spawn(|| barrier.wait_timeout(2, Duration::from_secs(3600)).unwrap());
                barrier.wait(1);
            });
        }
    }
}

#[test]
fn a_watchdog_names_who_is_late() {
    for policy in POLICIES {
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = Arc::clone(&told);
        let barrier = Barrier::builder(3)
            .algorithm(Algorithm::Fbs)
            .policy(policy)
            .watchdog(Duration::from_millis(1), move |late| tell.lock().unwrap().push(late.clone()))
            .build()
            .unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| barrier.wait(0));
            scope.spawn(|| barrier.wait(2));
            // Two reports may be of one thread: that the other one, which began late, was missing, and that 1 was.
            let tells = |rank| told.lock().unwrap().iter().any(|late| late.rank == rank);
            while !(tells(0) && tells(2)) {
                std::thread::yield_now();
            }
            barrier.wait(1);
        });
        let told = told.lock().unwrap();
        // Each of the two waits once, and tells once for each flag that it waits for at most.
        assert!((2..=4).contains(&told.len()), "{told:?}");
        assert!(told.iter().all(|late| late.missing.contains(&1) && late.waited >= Duration::from_millis(1)));
    }
}

#[test]
fn latencies_decide_what_auto_is() {
    let topology = coho_topology::Topology::default();
    let cpus: Vec<_> = (0..32).collect();
    let chosen = |extra_line_ns| {
        let latencies = Latencies { one_way_ns: &[40.0; 32 * 32], extra_line_ns };
        let barrier = Barrier::builder(32).places(&topology, &cpus).latencies(latencies).build().unwrap();
        barrier.algorithm()
    };
    assert_eq!(chosen(0.5), Algorithm::Fbs);
    assert_eq!(chosen(8.0), Algorithm::Grid);
    assert_eq!(chosen(40.0), Algorithm::Dissemination { radix: 2 });
    let few = Latencies { one_way_ns: &[40.0; 3], extra_line_ns: 3.0 };
    let error = Barrier::builder(2).latencies(few).build().unwrap_err();
    assert_eq!(error.to_string(), "3 one-way times for 2 threads squared");
}

#[test]
fn bad_requests_are_refused() {
    for threads in [0, MAX_THREADS + 1] {
        let error = Barrier::new(Algorithm::Fbs, threads).unwrap_err();
        assert_eq!(error, Error::Size { asked: threads, most: MAX_THREADS });
    }
    for algorithm in [Algorithm::Dissemination { radix: 0 }, Algorithm::Tournament { arity: 1 }] {
        assert!(matches!(Barrier::new(algorithm, 4), Err(Error::Argument(_))));
    }
    let places = Barrier::builder(3).places(&coho_topology::Topology::default(), &[0, 1]).build();
    assert!(places.unwrap_err().to_string().contains("2 threads for 3"));
    // What was said of other CPUs before is forgotten.
    let eight: Vec<_> = (0..8).collect();
    let grid =
        Barrier::builder(1).algorithm(Algorithm::Grid).places(&coho_topology::Topology::default(), &eight);
    grid.cpus(&[0]).build().unwrap().wait(0);
    let given = |one_way_ns: &[f64], extra_line_ns| {
        let latencies = coho_sync::Latencies { one_way_ns, extra_line_ns };
        let team = coho_sync::Team::builder(2).latencies(latencies).start().map(drop);
        assert_eq!(Barrier::builder(2).latencies(latencies).build().map(drop).err(), team.clone().err());
        team
    };
    // What is not known is NaN; a time below 0 is none.
    assert_eq!(given(&[f64::NAN; 4], f64::NAN), Ok(()));
    assert!(matches!(given(&[0.0, 30.0, -30.0, 0.0], 3.0), Err(Error::Argument(_))));
    assert!(matches!(given(&[30.0; 4], -1.0), Err(Error::Argument(_))));
    let absent = coho_sync::Team::builder(2).cpus([0, 4_000_000_000]).start();
    assert!(matches!(absent, Err(Error::Cpu { .. })), "{absent:?}");
}

#[test]
fn the_largest_barriers_can_be_made() {
    for algorithm in Algorithm::ALL {
        assert_eq!(Barrier::new(algorithm, MAX_THREADS).unwrap().threads(), MAX_THREADS);
    }
}
