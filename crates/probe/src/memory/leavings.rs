//! What a read through PREFETCHNTA leaves in the caches, beside a plain one (Hamada et al., Table 7).
//!
//! By timing: a block is flushed, read, and then read again by loads that wait for each other. Their time is compared
//! with the time after reads that certainly left the lines in the caches, and after a flush. By counter, if one has
//! passed its test: the lines that the second read brings in from memory.

use coho_platform::pages::Paging;
use coho_platform::stolen;
use coho_profile::{Estimate, LinesLeft, Operation};

use super::lines::{self, LINE};
use super::loops::Loop;
use super::survey::Survey;
use super::{Options, Region, counts};
use crate::clock::Clock;
use crate::frame::Passes;
use crate::{Error, statistics};

/// The paper's sizes and one beyond most level-2 caches' share.
const SIZES: [usize; 3] = [512, 64 << 10, 1 << 20];

/// The first reads: their names in the profile, and the loops.
const FIRST: [(&str, &str); 2] = [("read", "plain-8"), ("prefetchnta", "plain-8-prefetchnta")];

/// Adds what each first read leaves.
pub(super) fn measure(survey: &mut Survey<'_>) -> Result<(), Error> {
    if Loop::find(Operation::Read, FIRST[1].1).is_none() {
        survey.lacks("PREFETCHNTA", "this architecture has none");
        return Ok(());
    }
    let (passes, samples) = if survey.options.quick { (4, 3) } else { (6, 8) };
    let end = survey.frame.end().clone();
    let mut random = survey.frame.random.fork();
    let Options { paging, node, .. } = *survey.options;
    let (rows, untold, counters) = survey.on_first(move || -> Result<_, Error> {
        let counters = counts::lines_read();
        let (mut rows, mut untold) = (Vec::new(), Vec::new());
        for bytes in SIZES {
            let block = Block::link(bytes, paging, node, &mut random)?;
            let mut times = vec![Vec::new(); FIRST.len()];
            let mut shares = vec![Vec::new(); FIRST.len()];
            for step in Passes::new(passes, FIRST.len(), &mut random, &end) {
                let (ns, gone) = block.pass(FIRST[step.at].1, samples);
                times[step.at].push(ns);
                shares[step.at].push(gone);
            }
            for ((name, _), (ns, gone)) in FIRST.iter().zip(times.iter().zip(&shares)) {
                let gone = statistics::estimate(gone);
                let known = gone.clone().and_then(|gone| within(gone, block.lines as f64));
                if gone.is_some() && known.is_none() {
                    untold.push(format!("lines gone after {name}, {bytes} bytes"));
                }
                rows.push(LinesLeft {
                    first: (*name).into(),
                    bytes: bytes as u64,
                    lines: block.lines as u64,
                    method: "timing".into(),
                    cache: "all".into(),
                    gone: known,
                    ns: statistics::estimate(ns),
                });
            }
            if let Ok(counters) = &counters {
                rows.extend(counts::gone(counters, &block.region, bytes, &FIRST));
            }
        }
        Ok((rows, untold, counters.map(drop)))
    })??;
    survey.memory.prefetchnta = rows;
    for what in untold {
        survey.lacks(what, "the passes differ so much that it may be none or all");
    }
    if let Err(why) = counters {
        survey.lacks("PREFETCHNTA by counter", why);
    }
    Ok(())
}

/// A number of lines as one of this many; `None` if its interval says no more than that.
fn within(gone: Estimate, lines: f64) -> Option<Estimate> {
    let (low, high) = (gone.low.max(0.0), gone.high.min(lines));
    (low > 0.0 || high < lines).then_some(Estimate { low, high, ..gone })
}

/// A block whose lines hold each other's addresses, in random order.
struct Block {
    region: Region,
    bytes: usize,
    lines: usize,
}

impl Block {
    fn link(
        bytes: usize,
        paging: Paging,
        node: Option<u32>,
        random: &mut fastrand::Rng,
    ) -> Result<Self, Error> {
        let region = Region::write_back_on(bytes, paging, node)?;
        let lines = bytes / LINE;
        let mut order: Vec<usize> = (0..lines).collect();
        random.shuffle(&mut order);
        for (at, &line) in order.iter().enumerate() {
            let next = order[(at + 1) % lines] * LINE;
            // SAFETY: both lines lie within the region, which nothing else uses.
            unsafe {
                let next = region.start().add(next).as_ptr();
                region.start().add(line * LINE).cast::<*mut u8>().write_volatile(next);
            }
        }
        Ok(Self { region, bytes, lines })
    }

    /// For this many tries: ns per load of the second read, and lines that it did not find.
    fn pass(&self, first: &str, samples: usize) -> (Vec<f64>, Vec<f64>) {
        let first = Loop::find(Operation::Read, first).expect("looked for before");
        let clock = Clock::get();
        let (mut times, mut gone) = (Vec::new(), Vec::new());
        for _ in 0..samples {
            let before = stolen::involuntary_switches();
            self.follow(&clock);
            let left = self.follow(&clock);
            self.flush();
            let flushed = self.follow(&clock);
            self.flush();
            first.run(&self.region, &self.region, self.bytes, 0);
            lines::wait();
            let after = self.follow(&clock);
            if stolen::involuntary_switches() == before && flushed > left {
                times.push(after);
                gone.push(((after - left) / (flushed - left)).clamp(0.0, 1.0) * self.lines as f64);
            }
        }
        (times, gone)
    }

    fn flush(&self) {
        lines::flush(&self.region, 0, self.bytes);
        lines::wait();
    }

    /// Reads all lines, each after the other; ns per load.
    fn follow(&self, clock: &Clock) -> f64 {
        let mut line = self.region.start().as_ptr();
        let start = clock.now();
        for _ in 0..self.lines {
            // SAFETY: each line of the region holds the address of another.
            line = unsafe { line.cast::<*mut u8>().read_volatile() };
        }
        let ticks = clock.now() - start;
        std::hint::black_box(line);
        clock.ns(ticks) / self.lines as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_fewer_lines_are_gone_than_none_and_no_more_than_all() {
        let gone = |median, low, high| Estimate { low, high, ..Estimate::exact(median) };
        let ends = |gone: Estimate| within(gone, 100.0).map(|gone| (gone.low, gone.high));
        assert_eq!(ends(gone(40.0, 30.0, 50.0)), Some((30.0, 50.0)));
        assert_eq!(ends(gone(2.0, -5.0, 9.0)), Some((0.0, 9.0)));
        assert_eq!(ends(gone(98.0, 90.0, 130.0)), Some((90.0, 100.0)));
        assert_eq!(ends(gone(40.0, -10.0, 150.0)), None);
    }

    #[test]
    fn a_second_read_finds_what_was_just_read() {
        let block = Block::link(512, Paging::Huge, None, &mut fastrand::Rng::with_seed(1)).unwrap();
        let (times, gone) = block.pass("plain-8", 20);
        assert_eq!(times.len(), gone.len());
        assert!(gone.iter().all(|gone| (0.0..=8.0).contains(gone)), "{gone:?}");
    }
}
