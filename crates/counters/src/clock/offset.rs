//! How far the clocks of two CPUs are apart, found by messages between them.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

use coho_platform::pin;

use super::{Clock, Ticks};

/// Rounds of an exchange; the quickest message each way decides.
const ROUNDS: usize = 4096;
/// After this time, fewer rounds are enough.
const LONG: Duration = Duration::from_millis(100);
/// The fewest.
const FEW_ROUNDS: usize = 64;
/// A CPU that has not answered for this long never will.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why the clocks of two CPUs cannot be compared.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A CPU cannot be used.
    Cpu(pin::Error),
    /// No thread could be started for a CPU.
    Thread(io::Error),
    /// A CPU got no answer.
    Silent {
        /// The CPU that waited.
        cpu: u32,
    },
    /// The other CPU gave up; its own error says why.
    GaveUp,
    /// The difference changed meanwhile.
    Unsteady,
    /// Nothing was exchanged.
    NoMessage,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu(error) => error.fmt(f),
            Self::Thread(error) => write!(f, "no thread for a CPU: {error}"),
            Self::Silent { cpu } => write!(
                f,
                "CPU {cpu} heard nothing from the other for {} s; it may be busy with other work",
                PATIENCE.as_secs()
            ),
            Self::GaveUp => f.write_str("the other CPU gave up"),
            Self::Unsteady => f.write_str(
                "the difference of the clocks changed during the exchange: one of them is not a steady clock",
            ),
            Self::NoMessage => f.write_str("no message was exchanged"),
        }
    }
}

impl std::error::Error for Error {}

/// One CPU's clock minus another's.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Offset {
    /// The difference, in ns.
    pub ns: f64,
    /// How far the difference may be off, in ns: half of the total time of the quickest messages there and back, plus a
    /// step of the clock.
    pub uncertainty_ns: f64,
}

impl Clock {
    /// The clock of CPU `b` minus that of CPU `a`, from messages between two threads pinned there. Takes some ms, or up
    /// to some seconds if the CPUs are busy.
    ///
    /// A message takes time, so the clock that sends it is behind the clock that receives it: every message one way
    /// bounds the difference from above, every message the other way from below.
    ///
    /// # Errors
    /// If a CPU cannot be used, one of them did not answer, or the difference changed meanwhile.
    ///
    /// ```
    /// let clock = coho_counters::clock::Clock::get();
    /// match clock.offset(0, 1) {
    ///     Ok(offset) => println!("CPU 1 is {:.0} ns ahead, within {:.0} ns", offset.ns, offset.uncertainty_ns),
    ///     Err(why) => println!("not available: {why}"),
    /// }
    /// ```
    pub fn offset(&self, a: u32, b: u32) -> Result<Offset, Error> {
        if a == b {
            return Ok(Offset::default());
        }
        let stamps = exchange((a, || self.now()), (b, || self.now()))?;
        let (low, high) = difference(&stamps, self.step_ticks())?;
        // Halves first: the counters' difference may be anything.
        let middle = low as f64 / 2.0 + high as f64 / 2.0;
        Ok(Offset {
            ns: middle * self.ns_per_tick,
            uncertainty_ns: (high as f64 / 2.0 - low as f64 / 2.0) * self.ns_per_tick,
        })
    }

    fn step_ticks(&self) -> i64 {
        (self.step_ns / self.ns_per_tick).ceil() as i64
    }

    /// The clock of each CPU minus that of the first, in the order of `cpus`; 0 for the first itself.
    ///
    /// # Errors
    /// As [`offset`](Self::offset), for the first pair that fails.
    ///
    /// ```
    /// let clock = coho_counters::clock::Clock::get();
    /// assert_eq!(clock.offsets(&[])?, []);
    /// assert_eq!(clock.offsets(&[0])?[0].ns, 0.0);
    /// # Ok::<(), coho_counters::clock::OffsetError>(())
    /// ```
    pub fn offsets(&self, cpus: &[u32]) -> Result<Vec<Offset>, Error> {
        cpus.iter().map(|&cpu| self.offset(cpus[0], cpu)).collect()
    }
}

/// Times at which messages were sent by `a` and answered by `b`; `a` has one more, for the last answer.
#[derive(Debug)]
struct Stamps {
    a: Vec<Ticks>,
    b: Vec<Ticks>,
}

/// Bounds on `b`'s clock minus `a`'s, in ticks; a reading may be a step behind.
fn difference(stamps: &Stamps, step: i64) -> Result<(i64, i64), Error> {
    let less = |b: &Ticks, a: &Ticks| b.wrapping_sub(*a).cast_signed();
    let there = stamps.b.iter().zip(&stamps.a).map(|(b, a)| less(b, a)).min();
    let back = stamps.b.iter().zip(&stamps.a[1..]).map(|(b, a)| less(b, a)).max();
    match (back.map(|low| low.saturating_sub(step)), there.map(|high| high.saturating_add(step))) {
        (Some(low), Some(high)) if low <= high => Ok((low, high)),
        (Some(_), Some(_)) => Err(Error::Unsteady),
        _ => Err(Error::NoMessage),
    }
}

#[repr(align(128))]
struct Turn {
    /// Number of the next message: `a` sends the even ones.
    due: AtomicU64,
    /// One side cannot go on. Kept apart from the number, which the other side may be about to write.
    broken: AtomicBool,
}

/// `a` wants no more answers.
const END: u64 = u64::MAX;

impl Turn {
    /// Waits for message `due`; `false` at the end.
    fn wait(&self, due: u64, cpu: u32) -> Result<bool, Error> {
        let mut since = None;
        loop {
            for _ in 0..1 << 12 {
                match self.due.load(Ordering::Acquire) {
                    turn if turn == due => return Ok(true),
                    END => return Ok(false),
                    _ => std::hint::spin_loop(),
                }
            }
            if self.broken.load(Ordering::Relaxed) {
                return Err(Error::GaveUp);
            }
            if since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                self.give_up();
                return Err(Error::Silent { cpu });
            }
        }
    }

    fn pass(&self, turn: u64) {
        self.due.store(turn, Ordering::Release);
    }

    fn give_up(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }
}

/// Sends messages to and fro between two CPUs, each stamped with the reading of `now` there.
fn exchange(
    (cpu_a, now_a): (u32, impl Fn() -> Ticks + Send),
    (cpu_b, now_b): (u32, impl Fn() -> Ticks + Send),
) -> Result<Stamps, Error> {
    let turn = &Turn { due: AtomicU64::new(0), broken: AtomicBool::new(false) };
    let (a, b) = std::thread::scope(|scope| {
        let a =
            Builder::new().spawn_scoped(scope, move || lead(turn, cpu_a, now_a)).map_err(Error::Thread)?;
        let b = Builder::new().spawn_scoped(scope, move || answer(turn, cpu_b, now_b));
        let b = b.map_err(Error::Thread).inspect_err(|_| turn.give_up())?;
        Ok::<_, Error>((a.join().expect("nothing panics"), b.join().expect("nothing panics")))
    })?;
    match (a, b) {
        (Ok(a), Ok(b)) => Ok(Stamps { a, b }),
        // The other side has the real reason.
        (Err(Error::GaveUp), Err(other)) => Err(other),
        (Err(why), _) | (_, Err(why)) => Err(why),
    }
}

fn lead(turn: &Turn, cpu: u32, now: impl Fn() -> Ticks) -> Result<Vec<Ticks>, Error> {
    pin::to(cpu).inspect_err(|_| turn.give_up()).map_err(Error::Cpu)?;
    let mut stamps = Vec::with_capacity(ROUNDS + 1);
    let mut begun = None;
    for round in 0..=ROUNDS {
        turn.wait(2 * round as u64, cpu)?;
        stamps.push(now());
        let late = begun.get_or_insert_with(Instant::now).elapsed() > LONG && round >= FEW_ROUNDS;
        if late || round == ROUNDS {
            break;
        }
        turn.pass(2 * round as u64 + 1);
    }
    turn.pass(END);
    Ok(stamps)
}

fn answer(turn: &Turn, cpu: u32, now: impl Fn() -> Ticks) -> Result<Vec<Ticks>, Error> {
    pin::to(cpu).inspect_err(|_| turn.give_up()).map_err(Error::Cpu)?;
    let mut stamps = Vec::with_capacity(ROUNDS);
    while turn.wait(2 * stamps.len() as u64 + 1, cpu)? {
        stamps.push(now());
        turn.pass(2 * stamps.len() as u64);
    }
    Ok(stamps)
}

#[cfg(test)]
mod tests {
    use coho_testing::{Capability, needs};

    use super::*;

    /// The first CPUs that this process may use.
    fn two_cpus() -> (u32, u32) {
        let cpus = pin::allowed().unwrap();
        let mut cpus = cpus.iter();
        cpus.next().zip(cpus.next()).expect("two CPUs")
    }

    #[test]
    fn the_quickest_messages_bound_the_difference() {
        // b is 1000 ahead; messages take 50 to 70 there and 40 to 90 back.
        let stamps = Stamps { a: vec![0, 140, 260], b: vec![1050, 1210] };
        let (low, high) = difference(&stamps, 10).unwrap();
        assert_eq!((low, high), (940, 1060));
        assert!((low..=high).contains(&1000));
        assert!(difference(&Stamps { a: vec![0], b: vec![] }, 0).is_err());
    }

    #[test]
    fn a_clock_that_jumps_is_no_clock() {
        let stamps = Stamps { a: vec![0, 100, 200], b: vec![1050, 50] };
        assert!(difference(&stamps, 10).unwrap_err().to_string().contains("changed during the exchange"));
    }

    #[test]
    fn counters_that_start_anywhere_are_compared() {
        let (low, high) = difference(&Stamps { a: vec![u64::MAX - 10, 90], b: vec![39] }, 0).unwrap();
        assert_eq!((low, high), (-51, 50));
    }

    #[test]
    fn a_shifted_clock_is_found() {
        needs!(Capability::TwoCpus);
        let (a, b) = two_cpus();
        let clock = Clock::get();
        let (now, step) = (|| clock.now(), clock.step_ticks());
        for shift in [-5_000_000_i64, 0, 300_000_000] {
            let shifted = || clock.now().wrapping_add_signed(shift);
            let plain = difference(&exchange((a, now), (b, now)).unwrap(), step).unwrap();
            let moved = difference(&exchange((a, now), (b, shifted)).unwrap(), step).unwrap();
            // Both pairs of bounds hold the truth, which differs by the shift: they overlap.
            let moved = (moved.0 - shift, moved.1 - shift);
            assert!(plain.0.max(moved.0) <= plain.1.min(moved.1), "{plain:?} and {moved:?}");
        }
    }

    #[test]
    fn an_offset_is_the_opposite_from_the_other_side() {
        needs!(Capability::TwoCpus);
        let (a, b) = two_cpus();
        let clock = Clock::get();
        let (there, back) = (clock.offset(a, b).unwrap(), clock.offset(b, a).unwrap());
        eprintln!("{there:?} {back:?}");
        assert!((there.ns + back.ns).abs() <= there.uncertainty_ns + back.uncertainty_ns);
        assert!(there.uncertainty_ns > 0.0);
        assert_eq!(clock.offset(a, a).unwrap(), Offset::default());
        let all = clock.offsets(&[a, b]).unwrap();
        assert!((all[1].ns - there.ns).abs() <= all[1].uncertainty_ns + there.uncertainty_ns);
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_named() {
        // CPU 0 may not be allowed here.
        let here = pin::allowed().unwrap().first().unwrap();
        for cpu in [60_000, u32::MAX] {
            let why = Clock::get().offset(here, cpu).unwrap_err().to_string();
            assert!(why.contains(&format!("CPU {cpu}")), "{why}");
        }
    }
}
