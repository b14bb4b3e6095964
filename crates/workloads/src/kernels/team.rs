//! A crew of several threads, whose fork, join and barriers are all the barrier under test.
//!
//! A [`coho_sync::Team`] forks and joins in its own way, whatever its barrier; the paper compares loops whose fork and
//! join use the lock variable or FBS. So one run of the team lasts for a whole visit, and in it a region begins and
//! ends with a barrier of the members.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use coho_platform::pin;
use coho_sync::{Algorithm, Team};

use super::crew::{Crew, Member};
use crate::Error;
use coho_counters::clock::{Clock, Ticks};

/// Starts a team on these CPUs, on the first of which the caller is pinned, and lets the caller lead it through `visit`.
///
/// # Errors
/// If a thread cannot be created or pinned, or is no longer on its CPU at the end.
pub fn lead<R: Send>(
    algorithm: Algorithm,
    cpus: &[u32],
    visit: impl FnOnce(&mut Leader<'_, '_>) -> R + Send,
) -> Result<R, Error> {
    let team = Team::builder(cpus.len()).cpus(cpus).algorithm(algorithm).start();
    let mut team = team?;
    let floor = Floor {
        region: Posted(UnsafeCell::new(None)),
        computed: cpus.iter().map(|_| Line(AtomicU64::new(0))).collect(),
    };
    let (visit, result, lost) = (Mutex::new(Some(visit)), Mutex::new(None), Mutex::new(None));
    team.run(|member| {
        if member.rank() > 0 {
            floor.serve(member);
        } else if let Some(visit) = taken(&visit) {
            let mut leader = Leader { member, floor: &floor, clock: None };
            let value = visit(&mut leader);
            leader.dismiss();
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        }
        if let Err(error) = pin::verify(cpus[member.rank()]) {
            *lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    });
    match taken(&lost) {
        Some(error) => Err(error.into()),
        None => Ok(taken(&result).expect("the run has ended without a panic, so the visit has too")),
    }
}

fn taken<T>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Where the members meet.
struct Floor {
    region: Posted,
    computed: Vec<Line>,
}

/// A number on a line of its own, which one member writes.
#[repr(align(128))]
struct Line(AtomicU64);

/// A region's work on a rank.
type Work = *const (dyn Fn(&coho_sync::Member<'_>) + Sync);

/// The region to run next, or none at the end. The leader writes it before a fork and the others read it afterwards, so
/// the barrier separates the accesses.
struct Posted(UnsafeCell<Option<Work>>);

// SAFETY: accesses are separated as described above, and what the pointer points to may be shared by threads.
unsafe impl Sync for Posted {}

impl Posted {
    /// # Safety
    /// Only by the leader, while all others wait for a fork.
    unsafe fn set(&self, work: Option<Work>) {
        // SAFETY: nobody reads it meanwhile.
        unsafe { *self.0.get() = work };
    }

    /// # Safety
    /// Only after a fork and before the join.
    unsafe fn get(&self) -> Option<Work> {
        // SAFETY: nobody writes it meanwhile.
        unsafe { *self.0.get() }
    }
}

impl Floor {
    /// What every member but the leader does until it is dismissed.
    fn serve(&self, member: &coho_sync::Member<'_>) {
        loop {
            member.barrier();
            // SAFETY: between fork and join.
            let Some(work) = (unsafe { self.region.get() }) else { return };
            // SAFETY: the leader keeps the region until the join.
            own_share(unsafe { &*work }, member);
            member.barrier();
        }
    }
}

/// Runs a member's share of a region. A panic in it ends the process, because the others use what the leader would
/// unwind.
#[inline]
fn own_share(work: &(dyn Fn(&coho_sync::Member<'_>) + Sync), member: &coho_sync::Member<'_>) {
    struct Unwinding;
    impl Drop for Unwinding {
        fn drop(&mut self) {
            std::process::abort();
        }
    }
    let unwinding = Unwinding;
    work(member);
    std::mem::forget(unwinding);
}

/// The member that decides which regions to run.
pub struct Leader<'a, 'team> {
    member: &'a coho_sync::Member<'team>,
    floor: &'a Floor,
    clock: Option<Clock>,
}

impl Leader<'_, '_> {
    fn dismiss(&mut self) {
        // SAFETY: the others wait for a fork.
        unsafe { self.floor.region.set(None) };
        self.member.barrier();
    }
}

impl Crew for Leader<'_, '_> {
    fn region(&mut self, body: impl Fn(&Member<'_>) + Sync) {
        let (clock, floor) = (self.clock, self.floor);
        let work = move |member: &coho_sync::Member<'_>| {
            let (rank, n) = (member.rank(), member.size());
            let wait = || member.barrier();
            let Some(clock) = &clock else { return body(&Member::new(rank, n, &wait, None)) };
            let start = clock.now();
            let own = Member::new(rank, n, &wait, Some(clock));
            body(&own);
            let computed = clock.now() - start - own.waited();
            let line = &floor.computed[rank].0;
            line.store(line.load(Relaxed) + computed, Relaxed);
        };
        let work: &(dyn Fn(&coho_sync::Member<'_>) + Sync + '_) = &work;
        // SAFETY: only the lifetime changes. Nobody uses the region after the join below, and this function ends only
        // there: a panic ends the process.
        let posted: Work = unsafe { std::mem::transmute(std::ptr::from_ref(work)) };
        // SAFETY: the others wait for a fork.
        unsafe { floor.region.set(Some(posted)) };
        self.member.barrier();
        own_share(work, self.member);
        self.member.barrier();
    }

    fn watch(&mut self, on: bool) {
        self.clock = on.then(Clock::get);
    }

    fn computed(&mut self) -> Vec<Ticks> {
        self.floor.computed.iter().map(|line| line.0.swap(0, Relaxed)).collect()
    }
}

#[cfg(test)]
mod tests {
    use coho_testing::{Capability, needs};

    use super::*;

    /// Runs something on a team of the first two CPUs, with the caller pinned to the first.
    fn on_two_cpus(algorithm: Algorithm, test: impl FnOnce(&mut Leader<'_, '_>) + Send) {
        let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                pin::to(cpus[0]).unwrap();
                lead(algorithm, &cpus, test).unwrap();
            });
        });
    }

    #[test]
    fn members_share_loops_and_meet_at_barriers() {
        needs!(Capability::TwoCpus);
        for algorithm in [Algorithm::Fbs, Algorithm::Lock] {
            on_two_cpus(algorithm, |leader| {
                let mut out = vec![0.0; 100];
                for round in 0..200 {
                    leader.split(&mut out, 1, |start, part| {
                        part.iter_mut().zip(start..).for_each(|(x, i)| *x += (i + round) as f64);
                    });
                }
                assert!((0..100).all(|i| out[i] == (200 * i + 199 * 100) as f64));
                let (met, seen) = (AtomicU64::new(0), AtomicU64::new(0));
                leader.region(|member| {
                    for round in 1..=200 {
                        met.fetch_add(1, Relaxed);
                        member.barrier();
                        seen.fetch_add(u64::from(met.load(Relaxed) == 2 * round), Relaxed);
                        member.barrier();
                    }
                });
                assert_eq!(seen.into_inner(), 400);
            });
        }
    }

    #[test]
    fn who_is_watched_tells_its_own_work_and_not_its_waiting() {
        needs!(Capability::TwoCpus);
        on_two_cpus(Algorithm::Fbs, |leader| {
            let work = |member: &Member<'_>| {
                let start = std::time::Instant::now();
                while member.rank == 1 && start.elapsed().as_millis() < 20 {
                    std::hint::spin_loop();
                }
                member.barrier();
            };
            leader.region(work);
            assert_eq!(leader.computed(), [0, 0]);
            leader.watch(true);
            leader.region(work);
            let computed = leader.computed();
            assert!(Clock::get().ns(computed[1]) > 19e6, "{computed:?}");
            assert_eq!(leader.computed(), [0, 0]);
        });
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_named() {
        let cpus = [pin::allowed().unwrap().first().unwrap(), 60_000];
        let error = lead(Algorithm::Lock, &cpus, |_| ()).unwrap_err();
        assert!(error.to_string().contains("CPU 60000"), "{error}");
    }
}
