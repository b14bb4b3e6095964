//! A team's threads: stacks, pins, changes of size, several teams at once, fork, and what is timed of them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use coho_sync::{Algorithm, Error, Latencies, Member, SpareWork, Team, WaitPolicy};

#[test]
fn the_stacks_are_as_large_as_asked() {
    for bytes in [256 << 10, 8 << 20] {
        let mut team = Team::builder(2).stack_bytes(bytes).start().unwrap();
        let size = AtomicUsize::new(0);
        team.run(|member| {
            if member.rank() == 1 {
                size.store(stack_bytes(), Ordering::Relaxed);
            }
        });
        let size = size.into_inner();
        // The system rounds up to pages, and adds what it keeps there itself.
        assert!((bytes..bytes + (128 << 10)).contains(&size), "{size} for {bytes}");
    }
}

/// The size of this thread's stack.
fn stack_bytes() -> usize {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut first, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: the first call fills the attributes, which the others read and free.
    unsafe {
        assert_eq!(libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()), 0);
        assert_eq!(libc::pthread_attr_getstack(attributes.as_ptr(), &mut first, &mut bytes), 0);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
    }
    bytes
}

#[test]
fn any_thread_may_lead() {
    let mut team = Team::new(2).unwrap();
    for _ in 0..10 {
        team = std::thread::spawn(move || {
            let me = std::thread::current().id();
            let sum = AtomicUsize::new(0);
            team.run(|member| {
                assert_eq!(member.rank() == 0, std::thread::current().id() == me);
                sum.fetch_add(member.rank() + 1, Ordering::Relaxed);
                member.barrier();
            });
            assert_eq!(sum.into_inner(), 3);
            team
        })
        .join()
        .unwrap();
    }
}

#[test]
fn latencies_go_to_the_barrier_of_each_size() {
    let latencies = |one_way_ns| Latencies { one_way_ns, extra_line_ns: 3.0 };
    let mut team = Team::builder(2).capacity(4).latencies(latencies(&[50.0; 9])).start().unwrap();
    for size in [1, 3, 4, 2] {
        team.resize(size).unwrap();
        team.run(|member| member.barrier());
    }
    let error = Team::builder(2).latencies(latencies(&[50.0; 5])).start().unwrap_err();
    assert!(error.to_string().contains("not the square"), "{error}");
}

#[test]
fn the_size_changes_without_new_threads() {
    let mut team = Team::builder(2).capacity(6).start().unwrap();
    let ids = Mutex::new(std::collections::HashSet::new());
    for round in 0..200 {
        let size = 1 + round * 5 % 6;
        team.resize(size).unwrap();
        let count = AtomicUsize::new(0);
        team.run(|member| {
            assert_eq!(member.size(), size);
            count.fetch_add(1, Ordering::Relaxed);
            ids.lock().unwrap().insert(std::thread::current().id());
            member.barrier();
            assert_eq!(count.load(Ordering::Relaxed), size);
        });
    }
    assert_eq!(ids.into_inner().unwrap().len(), 6);
    assert_eq!(team.resize(7), Err(Error::Size { asked: 7, most: 6 }));
    assert_eq!(team.resize(0), Err(Error::Size { asked: 0, most: 6 }));
}

#[test]
fn the_first_run_after_a_change_of_size_is_joined() {
    for round in 0..50 {
        let mut team = Team::builder(2).capacity(4).start().unwrap();
        // Numbers of runs repeat every three.
        (0..round % 3).for_each(|_| team.run(|_| ()));
        for size in [3, 2, 4, 1, 2] {
            team.resize(size).unwrap();
            let count = AtomicUsize::new(0);
            // Without a barrier, by which the first member would wait for the others before the join.
            team.run(|_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(count.into_inner(), size);
        }
    }
}

#[test]
fn several_teams_at_once_and_one_inside_another() {
    let count = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut team = Team::new(2).unwrap();
                for _ in 0..100 {
                    team.run(|member| {
                        count.fetch_add(1, Ordering::Relaxed);
                        member.barrier();
                    });
                }
            });
        }
    });
    let mut outer = Team::new(2).unwrap();
    outer.run(|_| {
        let mut inner = Team::new(2).unwrap();
        inner.run(|_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
    });
    assert_eq!(count.into_inner(), 3 * 100 * 2 + 4);
}

#[test]
fn fork_and_join_are_timed_apart() {
    let mut team = Team::new(2).unwrap();
    let times = team.run_timed(|member| {
        // The work counts from the last one's beginning: who begins late must not find it done.
        member.barrier();
        if member.rank() == 1 {
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    assert!(times.work >= Duration::from_millis(1), "{times:?}");
    assert!(times.fork > Duration::ZERO && times.join > Duration::ZERO, "{times:?}");
}

#[test]
fn a_watchdog_names_the_missing_member() {
    let late = std::sync::Arc::new(Mutex::new(None));
    let told = std::sync::Arc::clone(&late);
    let mut team = Team::builder(2)
        .algorithm(Algorithm::Central)
        .watchdog(Duration::from_millis(1), move |late| *told.lock().unwrap() = Some(late.clone()))
        .start()
        .unwrap();
    team.run(|member| {
        if member.rank() == 1 {
            // Ends as soon as the other has complained.
            while late.lock().unwrap().is_none() {
                std::thread::yield_now();
            }
        }
        member.barrier();
    });
    let late = late.lock().unwrap().clone().unwrap();
    assert_eq!((late.rank, late.missing.as_slice()), (0, [1].as_slice()));
    assert!(late.to_string().contains("have not arrived: [1]"));
}

#[test]
fn the_caller_s_pin_ends_with_its_guard() {
    let team = Team::new(1).unwrap();
    let before = coho_platform::pin::allowed().unwrap();
    let pin = team.pin_caller().unwrap();
    assert_eq!(coho_platform::pin::allowed().unwrap().iter().collect::<Vec<_>>(), team.cpus());
    drop(pin);
    assert_eq!(coho_platform::pin::allowed().unwrap(), before);
}

#[test]
fn bad_requests_are_refused() {
    assert_eq!(Team::new(0).unwrap_err(), Error::Size { asked: 0, most: coho_sync::MAX_THREADS });
    let first = coho_platform::pin::allowed().unwrap().first().unwrap();
    let absent = Team::builder(2).cpus([first, 65_535]).start().unwrap_err();
    assert!(absent.to_string().contains("CPU 65535"), "{absent}");
    assert!(Team::builder(3).cpus([first]).start().is_err());
    let radix = Team::builder(2).algorithm(Algorithm::Dissemination { radix: 1 }).start();
    assert!(radix.unwrap_err().to_string().contains("radix of 1"));
}

#[test]
fn a_child_of_fork_is_told_that_it_has_no_team() {
    let mut team = Team::new(2).unwrap();
    team.run(|_| ());
    // SAFETY: the child only asks the team and leaves without running anything else.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let refused = team.resize(1) == Err(Error::Forked);
        drop(team);
        // SAFETY: as above.
        unsafe { libc::_exit(if refused { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: the status is written to a local.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0);
    team.run(|_| ());
}

#[test]
fn words_go_along_with_what_starts_the_members() {
    /// # Safety
    /// The words lead to a counter, and tell two numbers.
    unsafe fn count(member: &Member<'_>, [counter, one, other]: [*mut (); 3]) {
        // SAFETY: as the caller promises.
        let counter = unsafe { &*counter.cast::<AtomicUsize>() };
        counter.fetch_add(one as usize * member.rank() + other as usize, Ordering::Relaxed);
    }
    let mut team = Team::builder(3).pinned(false).start().unwrap();
    let counter = AtomicUsize::new(0);
    let word = |number: usize| number as *mut ();
    for turn in 1..=100 {
        let words = [std::ptr::from_ref(&counter).cast_mut().cast(), word(turn), word(1000)];
        // SAFETY: the words are as the function wants them.
        unsafe { team.run_words(count, words) };
        assert_eq!(counter.swap(0, Ordering::Relaxed), 3 * turn + 3000);
        team.run(|_| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(counter.swap(0, Ordering::Relaxed), 3);
    }
}

#[test]
fn members_that_the_caller_binds_crowd_if_he_says_so() {
    // On one CPU, as a caller is that has bound itself before it binds the others.
    let bound = std::thread::spawn(|| {
        let first = coho_platform::pin::allowed().unwrap().first().unwrap();
        coho_platform::pin::to(first).unwrap();
        let mut team = Team::builder(1).capacity(4).pinned(false).at_once(2).start().unwrap();
        let mut barrier = |size, at_once| {
            team.arrange(size, at_once).unwrap();
            let count = AtomicUsize::new(0);
            team.run(|member| {
                count.fetch_add(1, Ordering::Relaxed);
                member.barrier();
            });
            assert_eq!((count.into_inner(), team.at_once()), (size, Some(at_once.min(size))));
            team.algorithm()
        };
        let quick = barrier(2, 2);
        assert_ne!(quick, Algorithm::Central);
        // Back and forth, also between sizes.
        for _ in 0..3 {
            assert_eq!(barrier(2, 1), Algorithm::Central);
            assert_eq!(barrier(4, 2), Algorithm::Central);
            assert_ne!(barrier(4, 4), Algorithm::Central);
            assert_eq!(barrier(2, 4), quick);
        }
        team.resize(4).unwrap();
        assert_ne!(team.algorithm(), Algorithm::Central, "4 can still run at once");
    });
    bound.join().unwrap();
}

/// Pieces of work that only members outside the body do.
#[derive(Debug, Default)]
struct Pieces {
    left: AtomicUsize,
    /// Whether the rank has done some.
    done: [std::sync::atomic::AtomicBool; 2],
}

impl SpareWork for Pieces {
    fn is_there(&self) -> bool {
        self.left.load(Ordering::Acquire) > 0
    }

    fn do_some(&self, rank: usize) {
        if self.left.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
            self.done[rank].store(true, Ordering::Release);
        }
    }
}

#[test]
fn members_outside_the_body_do_spare_work() {
    for wait in [WaitPolicy::Adaptive, WaitPolicy::Passive] {
        let mut team = Team::builder(2).policy(wait).start().unwrap();
        let pieces = std::sync::Arc::new(Pieces::default());
        team.share_out(std::sync::Arc::clone(&pieces) as _);
        for round in 0..200 {
            let maker = round % 2;
            team.run(|member| {
                if member.rank() != maker {
                    return;
                }
                if round % 5 == 0 {
                    // The other sleeps by now.
                    std::thread::sleep(Duration::from_millis(2));
                }
                pieces.left.store(1, Ordering::Release);
                member.offer_work();
                while !pieces.done[1 - maker].swap(false, Ordering::Acquire) {
                    std::thread::yield_now();
                }
            });
            assert_eq!(pieces.left.load(Ordering::Relaxed), 0);
        }
    }
}
