//! What a piece of work counts: the difference of two reads, minus what the reads themselves count.

use std::fmt;

use super::{Counter, Group, Page};
use crate::{Lost, rdpmc};

/// Pairs of reads with nothing between them; their median is the bias.
const PAIRS: usize = 1001;
/// Pairs before those, which bring code and page into the caches.
const WARM_UP: usize = 100;

/// What a pair of reads counts with nothing between.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bias(pub u64);

/// A count that has begun.
///
/// ```
/// use coho_counters::{Counter, Delta, Event, Lost, Mode};
/// fn instructions_of(work: impl FnOnce(), counter: &Counter) -> Result<Delta, Lost> {
///     let bias = counter.calibrate()?;
///     let span = counter.start()?;
///     work();
///     Ok(span.stop()?.less(bias))
/// }
/// match Counter::open(&Event::instructions(), Mode::User) {
///     Ok(counter) => println!("{:?}", instructions_of(|| println!("hello"), &counter)),
///     Err(error) => println!("not available: {error}"),
/// }
/// ```
#[derive(Debug)]
#[must_use = "a span counts until `stop`"]
pub struct Span<'c> {
    pub(crate) page: &'c Page,
    pub(crate) start: u64,
}

impl Span<'_> {
    /// Ends the count.
    ///
    /// # Errors
    /// [`Lost`]: the event is no longer on a counter, so that the span may have missed some.
    #[inline(always)]
    pub fn stop(self) -> Result<Delta, Lost> {
        rdpmc::fence();
        let raw = self.page.read()?.wrapping_sub(self.start);
        Ok(Delta { raw, bias: Bias(0) })
    }
}

/// What was counted between two reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delta {
    /// The difference of the two reads.
    pub raw: u64,
    /// The part that the reads themselves caused.
    pub bias: Bias,
}

impl Delta {
    /// The same with this bias.
    #[must_use]
    pub fn less(self, bias: Bias) -> Self {
        Self { bias, ..self }
    }

    /// Events of the work between the reads: the difference minus the bias. It is below 0 if the reads counted less
    /// than usual.
    pub fn events(&self) -> i64 {
        self.raw.wrapping_sub(self.bias.0).cast_signed()
    }
}

impl fmt::Display for Delta {
    /// The events, and how many of the raw count are the bias: `120 (151 less 31 of reading)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} less {} of reading)", self.events(), self.raw, self.bias.0)
    }
}

impl Page {
    /// Begins a count. Neither the work before nor the work after overlaps with the read.
    ///
    /// # Errors
    /// [`Lost`], as [`read`](Self::read).
    #[inline(always)]
    pub fn start(&self) -> Result<Span<'_>, Lost> {
        rdpmc::fence();
        let start = self.read()?;
        rdpmc::fence();
        Ok(Span { page: self, start })
    }
}

impl Counter {
    /// Begins a count, as [`Page::start`].
    ///
    /// # Errors
    /// [`Lost`], as [`read`](Self::read).
    #[inline(always)]
    pub fn start(&self) -> Result<Span<'_>, Lost> {
        self.page().start()
    }

    /// What a pair of reads counts with nothing between: the median of a thousand pairs.
    ///
    /// # Errors
    /// [`Lost`], as [`read`](Self::read).
    pub fn calibrate(&self) -> Result<Bias, Lost> {
        median_of_pairs(|| Ok(self.start()?.stop()?.raw)).map(Bias)
    }
}

impl Group {
    /// What some work counts for each event, in the events' order.
    ///
    /// # Errors
    /// [`Lost`], as [`read`](Self::read).
    ///
    /// # Panics
    /// If there are not as many biases as events.
    #[inline(always)]
    pub fn measure(&self, biases: &[Bias], work: impl FnOnce()) -> Result<Vec<Delta>, Lost> {
        assert_eq!(biases.len(), self.len(), "a bias for each event");
        let mut before = vec![0; self.len()];
        let mut after = vec![0; self.len()];
        rdpmc::fence();
        self.read(&mut before)?;
        rdpmc::fence();
        work();
        rdpmc::fence();
        self.read(&mut after)?;
        let differences = before.iter().zip(&after).map(|(before, after)| after.wrapping_sub(*before));
        Ok(differences.zip(biases).map(|(raw, &bias)| Delta { raw, bias }).collect())
    }

    /// What [`measure`](Self::measure) counts for each event with no work: medians of a thousand tries.
    ///
    /// # Errors
    /// [`Lost`], as [`read`](Self::read).
    pub fn calibrate(&self) -> Result<Vec<Bias>, Lost> {
        let none = vec![Bias(0); self.len()];
        let mut raw = vec![Vec::with_capacity(PAIRS); self.len()];
        for pair in 0..WARM_UP + PAIRS {
            let deltas = self.measure(&none, || ())?;
            if pair >= WARM_UP {
                for (raw, delta) in raw.iter_mut().zip(deltas) {
                    raw.push(delta.raw);
                }
            }
        }
        Ok(raw.iter_mut().map(|raw| Bias(median(raw))).collect())
    }
}

/// The median of what many empty pairs count.
#[inline(always)]
pub(crate) fn median_of_pairs<E>(mut pair: impl FnMut() -> Result<u64, E>) -> Result<u64, E> {
    let mut raw = Vec::with_capacity(PAIRS);
    for number in 0..WARM_UP + PAIRS {
        let counted = pair()?;
        if number >= WARM_UP {
            raw.push(counted);
        }
    }
    Ok(median(&mut raw))
}

fn median(values: &mut [u64]) -> u64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable(middle).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_is_less_its_bias_and_says_so() {
        let delta = Delta { raw: 151, bias: Bias(0) }.less(Bias(31));
        assert_eq!(delta.events(), 120);
        assert_eq!(delta.to_string(), "120 (151 less 31 of reading)");
        assert_eq!(Delta { raw: 29, bias: Bias(31) }.events(), -2);
    }

    #[test]
    fn a_disturbed_pair_moves_no_bias() {
        let mut raw = vec![31; 900];
        raw.extend([31_000; 101]);
        assert_eq!(median(&mut raw), 31);
    }
}
