//! The counts of a call, as figures of the paper's columns.

use std::collections::BTreeMap;

use coho_counters::{Column, Mode};
use coho_profile::{CacheState, Call, Counts, Estimate, Side};

use crate::calls::record::middle;
use crate::statistics;

/// A column in a state of the caches and a mode of the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::calls) struct Key {
    pub(in crate::calls) state: CacheState,
    pub(in crate::calls) mode: Mode,
    pub(in crate::calls) column: Column,
}

/// The samples of a call's columns, by round.
#[derive(Debug, Default)]
pub(in crate::calls) struct Counted {
    samples: BTreeMap<Key, Vec<Vec<f64>>>,
}

impl Counted {
    pub(in crate::calls) fn add(&mut self, key: Key, samples: Vec<f64>) {
        self.samples.entry(key).or_default().push(samples);
    }

    /// The row of a state and side: `base` with its figures; `None` if nothing was counted. What reading counts without
    /// a call is subtracted from counts of single calls.
    pub(in crate::calls) fn row(
        &self,
        state: CacheState,
        mode: Mode,
        empty: &Self,
        base: Call,
    ) -> Option<Call> {
        let estimate = |column| {
            let key = Key { state, mode, column };
            let samples = self.samples.get(&key)?;
            match state {
                CacheState::Warm => statistics::estimate(samples),
                CacheState::Cold | CacheState::Second => {
                    let bias = middle(&empty.samples.get(&key)?.concat())?;
                    let less = |round: &Vec<f64>| round.iter().map(|events| events - bias).collect();
                    statistics::estimate(&samples.iter().map(less).collect::<Vec<_>>())
                }
            }
        };
        let (cycles, instructions) = (estimate(Column::Cycles), estimate(Column::Instructions));
        let counts = Counts {
            L1DR: estimate(Column::L1dReferences),
            L1DM: estimate(Column::L1dMisses),
            L1IM: estimate(Column::L1iMisses),
            L2M: estimate(Column::L2Misses),
            L3M: estimate(Column::L3Misses),
            STALL: ratio(estimate(Column::Inactive).as_ref(), cycles.as_ref()),
            INS: instructions,
            CYCLE: cycles,
        };
        let side = match mode {
            Mode::User => Side::User,
            Mode::Kernel => Side::Kernel,
            Mode::Both => Side::Both,
        };
        let cpi = ratio(counts.CYCLE.as_ref(), counts.INS.as_ref());
        (counts != Counts::default()).then_some(Call { state, side, counts, CPI: cpi, ..base })
    }
}

/// A quotient of figures from different passes; its interval is formed from the quotients of their ends.
fn ratio(over: Option<&Estimate>, under: Option<&Estimate>) -> Option<Estimate> {
    let (over, under) = (over?, under?);
    let divided = |a: f64, b: f64| if b > 0.0 { Some(a / b) } else { None };
    let median = divided(over.median, under.median)?;
    let low = divided(over.low.max(0.0), under.high)?;
    let high = divided(over.high, under.low).unwrap_or(f64::MAX);
    let passes = over.passes.min(under.passes);
    let (n, stable) = (over.n.min(under.n), over.stable.zip(under.stable).map(|(over, under)| over && under));
    Some(Estimate { median, low, high, n, passes, stable, min: low, ..Estimate::exact(median) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(values: &[(Column, f64)], state: CacheState) -> Counted {
        let mut counted = Counted::default();
        for &(column, value) in values {
            for _ in 0..4 {
                counted.add(Key { state, mode: Mode::Kernel, column }, vec![value; 6]);
            }
        }
        counted
    }

    #[test]
    fn counts_become_the_paper_s_columns() {
        let columns = [(Column::Instructions, 273.0), (Column::Cycles, 364.0), (Column::Inactive, 91.0)];
        let warm = counted(&columns, CacheState::Warm);
        let row = |state, mode| warm.row(state, mode, &Counted::default(), Call::default());
        let kernel = row(CacheState::Warm, Mode::Kernel).unwrap();
        assert_eq!(kernel.side, Side::Kernel);
        assert_eq!(kernel.counts.INS.unwrap().median, 273.0);
        assert_eq!(kernel.CPI.unwrap().median, 364.0 / 273.0);
        assert_eq!(kernel.counts.STALL.unwrap().median, 0.25);
        assert_eq!(kernel.counts.L1IM, None);
        assert_eq!(row(CacheState::Warm, Mode::User), None);
        assert_eq!(row(CacheState::Cold, Mode::Kernel), None);
    }

    #[test]
    fn cold_counts_are_less_what_reading_counts() {
        let cold = counted(&[(Column::L1dMisses, 30.0)], CacheState::Cold);
        let empty = counted(&[(Column::L1dMisses, 4.0)], CacheState::Cold);
        let row = |empty: &Counted| cold.row(CacheState::Cold, Mode::Kernel, empty, Call::default());
        assert_eq!(row(&empty).unwrap().counts.L1DM.unwrap().median, 26.0);
        // Without knowing the bias there is no figure.
        assert_eq!(row(&Counted::default()), None);
    }

    #[test]
    fn a_quotient_of_nothing_is_none() {
        let one = Estimate::exact(1.0);
        assert_eq!(ratio(Some(&one), Some(&Estimate::exact(0.0))), None);
        assert_eq!(ratio(None, Some(&one)), None);
    }
}
