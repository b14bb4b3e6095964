//! What the members of a team do together: every construct, idle work, panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use coho_sync::{Algorithm, IdleWork, Schedule, Team, WaitPolicy};

const SCHEDULES: [Schedule; 4] =
    [Schedule::Static, Schedule::StaticChunked(3), Schedule::Dynamic(2), Schedule::Guided(1)];

/// Teams of sizes that fit this machine and that do not.
fn teams() -> impl Iterator<Item = Team> {
    [1, 2, 3, 5].into_iter().map(|size| Team::new(size).unwrap())
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap()
}

#[test]
fn every_member_runs_once_and_sees_what_others_did_before_a_barrier() {
    for mut team in teams() {
        let places: Vec<_> = (0..team.size()).map(|_| AtomicUsize::new(0)).collect();
        for run in 1..100 {
            team.run(|member| {
                places[member.rank()].fetch_add(1, Ordering::Relaxed);
                member.barrier();
                assert!(places.iter().all(|place| place.load(Ordering::Relaxed) == run));
            });
        }
    }
}

#[test]
fn loops_share_out_every_iteration_once() {
    for mut team in teams() {
        for schedule in SCHEDULES {
            for length in [0, 1, 7, 100] {
                let seen: Vec<_> = (0..length).map(|_| AtomicUsize::new(0)).collect();
                team.parallel_for(10..10 + length, schedule, |i| {
                    seen[i - 10].fetch_add(1, Ordering::Relaxed);
                });
                // Two loops in a run, without a barrier between them.
                team.run(|member| {
                    for _ in 0..20 {
                        member.for_each(0..length, schedule, |i| {
                            seen[i].fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
                assert!(
                    seen.iter().all(|times| times.load(Ordering::Relaxed) == 21),
                    "{schedule:?} {seen:?}"
                );
            }
        }
    }
}

#[test]
fn reductions_agree_with_one_thread() {
    for mut team in teams() {
        for schedule in SCHEDULES {
            let sum = team.parallel_reduce(0..1000, schedule, || 0, |sum, i| sum + i, |a, b| a + b);
            assert_eq!(sum, 499_500);
        }
        let texts = team.parallel_reduce(
            0..9,
            Schedule::Static,
            String::new,
            |text, i| text + &i.to_string(),
            |a, b| a + &b,
        );
        assert_eq!(texts, "012345678");
        let size = team.size();
        team.run(|member| {
            for round in 0..50 {
                let sum = member.reduce(member.rank() + round, |a, b| a + b);
                assert_eq!(sum, size * (size - 1) / 2 + size * round);
                let (first, last) = member.reduce((member.rank(), member.rank()), |a, b| (a.0, b.1));
                assert_eq!((first, last), (0, size - 1));
            }
        });
    }
}

#[test]
fn single_runs_once_critical_alone_and_ordered_in_order() {
    for mut team in teams() {
        let (singles, mut sum) = (AtomicUsize::new(0), 0);
        let counter = std::sync::atomic::AtomicPtr::new(&mut sum);
        let size = team.size();
        team.run(|member| {
            for _ in 0..30 {
                if member.single(|| singles.fetch_add(1, Ordering::Relaxed)).is_some() {
                    std::thread::yield_now();
                }
                member.critical(|| {
                    let counter = counter.load(Ordering::Relaxed);
                    // SAFETY: alive until the run ends, and only touched in the critical section.
                    unsafe { *counter += 1 };
                });
            }
        });
        assert_eq!((singles.into_inner(), sum), (30, 30 * size));
        for schedule in SCHEDULES {
            let order = Mutex::new(Vec::new());
            team.run(|member| {
                member.for_each_ordered(5..40, schedule, |i, turn| {
                    if i % 3 != 0 {
                        turn.ordered(|| order.lock().unwrap().push(i));
                    }
                });
            });
            assert_eq!(order.into_inner().unwrap(), (5..40).filter(|i| i % 3 != 0).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_panic_ends_everybody_s_waits_and_is_raised_again() {
    let where_others_wait: [fn(&coho_sync::Member<'_>); 4] = [
        |member| member.barrier(),
        |member| {
            member.reduce(1, |a, b| a + b);
        },
        |member| member.for_each_ordered(0..10, Schedule::Dynamic(1), |_, turn| turn.ordered(|| ())),
        |_| (),
    ];
    for policy in [WaitPolicy::Adaptive, WaitPolicy::Passive] {
        let mut team = Team::builder(3).policy(policy).start().unwrap();
        for (round, wait) in where_others_wait.iter().enumerate() {
            for guilty in 0..3 {
                let result = catch_unwind(AssertUnwindSafe(|| {
                    team.run(|member| {
                        if member.rank() == guilty {
                            std::thread::sleep(Duration::from_millis(round as u64));
                            panic!("rank {guilty} fails");
                        }
                        wait(member);
                        if round < 2 {
                            unreachable!("nobody passes without the guilty");
                        }
                    });
                }));
                assert_eq!(message(&*result.unwrap_err()), format!("rank {guilty} fails"));
                // And the team is well again.
                let count = AtomicUsize::new(0);
                team.run(|member| {
                    count.fetch_add(1, Ordering::Relaxed);
                    member.barrier();
                    assert_eq!(count.load(Ordering::Relaxed), 3);
                });
            }
        }
    }
}

#[test]
fn members_out_of_step_are_told_of() {
    let mut team = Team::new(2).unwrap();
    let result = catch_unwind(AssertUnwindSafe(|| {
        team.run(|member| {
            if member.rank() == 1 {
                member.single(|| ());
            }
        });
    }));
    assert!(message(&*result.unwrap_err()).contains("rank 1 has met 1 loops and singles, rank 0 0"));
    let result = catch_unwind(AssertUnwindSafe(|| {
        team.run(|member| {
            if member.rank() == 1 {
                member.reduce(1u8, |a, _| a);
            } else {
                member.reduce(1u64, |a, _| a);
            }
        });
    }));
    assert!(message(&*result.unwrap_err()).contains("of another type"));
    team.parallel_for(0..10, Schedule::Dynamic(1), |_| ());
}

#[test]
fn a_lenient_team_forgives_members_out_of_step() {
    let mut team = Team::builder(3).lenient(true).start().unwrap();
    for _ in 0..20 {
        team.run(|member| {
            for _ in 0..10 * member.rank() {
                member.single(|| ());
            }
        });
        team.run(|member| {
            let length = [1000, 10, 0][member.rank()];
            member.for_each(0..length, Schedule::Guided(1), |i| assert!(i < length));
        });
        // And is in step again.
        let singles = AtomicUsize::new(0);
        team.run(|member| {
            for _ in 0..20 {
                member.single(|| singles.fetch_add(1, Ordering::Relaxed));
            }
        });
        assert_eq!(singles.into_inner(), 20);
    }
    let panics = catch_unwind(AssertUnwindSafe(|| team.run(|_| panic!("still raised"))));
    assert_eq!(message(&*panics.unwrap_err()), "still raised");
}

#[test]
fn a_member_is_any_number_of_constructs_ahead_of_one_that_waits_for_it() {
    for mut team in teams() {
        let (ahead, last) = (AtomicUsize::new(0), team.size() - 1);
        let iterations = AtomicUsize::new(0);
        for _ in 0..5 {
            ahead.store(0, Ordering::Relaxed);
            team.run(|member| {
                // The last one does nothing until all others have passed every loop.
                while member.rank() == last && ahead.load(Ordering::Acquire) < last {
                    std::thread::yield_now();
                }
                for _ in 0..100 {
                    member.for_each(0..3, Schedule::Dynamic(1), |_| {
                        iterations.fetch_add(1, Ordering::Relaxed);
                    });
                }
                ahead.fetch_add(1, Ordering::Release);
            });
        }
        assert_eq!(iterations.into_inner(), 5 * 100 * 3);
    }
}

/// Tasks that anybody may take.
#[derive(Default)]
struct Tasks {
    left: AtomicUsize,
    done: AtomicUsize,
}

impl IdleWork for Tasks {
    fn is_there(&self) -> bool {
        self.left.load(Ordering::Relaxed) > 0
    }

    fn do_some(&self) {
        let take = |left: usize| left.checked_sub(1);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
            self.done.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn members_that_wait_at_a_barrier_do_the_work_that_another_offers() {
    for algorithm in Algorithm::ALL {
        for policy in [WaitPolicy::Adaptive, WaitPolicy::Active, WaitPolicy::Passive] {
            let mut team = Team::builder(3).algorithm(algorithm).policy(policy).start().unwrap();
            let tasks = Tasks::default();
            for round in 1..=4 {
                team.run(|member| {
                    if member.rank() == 0 {
                        // The others do it or nobody: this one does not arrive before.
                        if round % 2 == 0 {
                            std::thread::sleep(Duration::from_millis(2));
                        }
                        tasks.left.fetch_add(5, Ordering::Relaxed);
                        member.offer_work();
                        while tasks.done.load(Ordering::Relaxed) < 5 * round {
                            std::thread::yield_now();
                        }
                    }
                    member.barrier_with(&tasks);
                });
            }
            assert_eq!(tasks.done.into_inner(), 20, "{algorithm} {policy:?}");
        }
    }
}

#[test]
fn a_panic_in_idle_work_is_raised_by_the_run() {
    struct Fails(AtomicUsize);
    impl IdleWork for Fails {
        fn is_there(&self) -> bool {
            self.0.load(Ordering::Relaxed) == 1
        }

        fn do_some(&self) {
            self.0.store(0, Ordering::Relaxed);
            panic!("work fails");
        }
    }
    let mut team = Team::new(2).unwrap();
    let work = Fails(AtomicUsize::new(0));
    let result = catch_unwind(AssertUnwindSafe(|| {
        team.run(|member| {
            if member.rank() == 1 {
                work.0.store(1, Ordering::Relaxed);
                member.offer_work();
                while work.is_there() {
                    std::thread::yield_now();
                }
            }
            member.barrier_with(&work);
            member.barrier();
        });
    }));
    assert_eq!(message(&*result.unwrap_err()), "work fails");
    team.run(|member| member.barrier());
}
