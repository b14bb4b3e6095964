//! The samples from the visits to a call, and the rows made from them.

use coho_counters::Mode;
use coho_profile::{
    CacheState, Calibration, Call, CallMethod, Counts, Damage, Estimate, Mode as Value, Side,
};

use super::Set;
use super::curve::Curve;
use super::pmu::Counted;
use super::stage::trimmed_mean;
use super::subject::Subject;
use crate::statistics;
use crate::step::Steps;

/// The number of parts of a run that must agree for a figure to be stable.
const PARTS: usize = 5;

/// The samples of one call in one form.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// Time of a warm call, in ns, by round.
    pub(super) warm: Vec<Vec<f64>>,
    /// Time of a cold call with the clock's own, in ns, by round.
    pub(super) cold: Vec<Vec<f64>>,
    /// Time of the call right after a cold one with the clock's own, in ns, by round.
    pub(super) second: Vec<Vec<f64>>,
    /// Extra time of the footprint's set, in ns; one per round.
    pub(super) evicted: Vec<f64>,
    /// Extra time of each damaged set, in ns; one per round.
    pub(super) damage: Vec<Vec<f64>>,
    /// Lines of each damaged set that a counter saw missed; one per round.
    pub(super) missed: Vec<Vec<f64>>,
    /// Fetched lines that a counter saw; one per round.
    pub(super) fetched: Vec<f64>,
    /// What counters counted.
    pub(super) counted: Counted,
    /// What the call does in user mode.
    pub(super) steps: Option<Steps>,
}

/// The scale for reading the samples.
#[derive(Debug, Default)]
pub(super) struct Scale {
    /// Time that the clock takes when the caches are cold, in ns.
    pub(super) cold_ns: Option<Estimate>,
    /// The same right after, in ns.
    pub(super) second_ns: Option<Estimate>,
    /// How fast the CPU ran, in GHz.
    pub(super) clock_ghz: Option<f64>,
    /// The cost of a line that was pushed out of the footprint's set, in ns.
    pub(super) footprint_ns: Option<f64>,
    /// The same for each damaged set, in ns.
    pub(super) damage_ns: Vec<Option<f64>>,
    /// What reading a counter counts without a call.
    pub(super) empty: Counted,
    /// The curve, and those through the ends of its points' intervals.
    pub(super) curves: Option<[Curve; 3]>,
}

impl Scale {
    /// Records how many lines victims of known size evict, given as (lines, extra times in ns), and sets the curve.
    pub(super) fn calibrate(&mut self, victims: &[(usize, Vec<f64>)]) -> Vec<Calibration> {
        let Some(penalty) = self.footprint_ns else { return Vec::new() };
        let calibration: Vec<_> = victims
            .iter()
            .map(|(lines, ns)| Calibration { lines: *lines as u64, evicted: scaled(ns, penalty) })
            .collect();
        // Without its upper end, the curve would read everything beyond as its last point.
        if calibration.last().is_none_or(|last| last.evicted.is_none()) {
            return calibration;
        }
        let through = |pick: fn(&Estimate) -> f64| {
            let points = calibration.iter().filter_map(|point| {
                let evicted = point.evicted.as_ref()?;
                Some((point.lines as f64, pick(evicted)))
            });
            let mut points: Vec<_> = points.collect();
            if points.first().is_some_and(|(lines, _)| *lines > 0.0) {
                // A victim that touches nothing evicts nothing.
                points.insert(0, (0.0, 0.0));
            }
            Curve::through(&points)
        };
        let curves = (through(|e| e.median), through(|e| e.low), through(|e| e.high));
        if let (Some(median), Some(low), Some(high)) = curves {
            self.curves = Some([median, low, high]);
        }
        calibration
    }

    /// Lines that a call uses, from what it evicted in each round.
    pub(super) fn footprint(&self, evicted_ns: &[f64]) -> Option<Estimate> {
        let (penalty, [curve, lows, highs]) = (self.footprint_ns?, self.curves.as_ref()?);
        let evicted = scaled(evicted_ns, penalty)?;
        let finite = evicted_ns.iter().filter(|ns| ns.is_finite());
        let lines: Vec<_> = finite.map(|ns| curve.touched(ns / penalty)).collect();
        let mut footprint = figure(&lines)?;
        // The curve is not exact either: the curves through the ends of its points' intervals widen the result.
        footprint.low = footprint.low.min(highs.touched(evicted.low));
        footprint.high = footprint.high.max(lows.touched(evicted.high));
        footprint.min = footprint.min.min(footprint.low);
        Some(footprint)
    }
}

/// Trimmed mean of the finite samples; `None` if there are none.
pub(super) fn middle(samples: &[f64]) -> Option<f64> {
    let mut finite: Vec<_> = samples.iter().copied().filter(|sample| sample.is_finite()).collect();
    (!finite.is_empty()).then(|| trimmed_mean(&mut finite))
}

/// A figure multiplied by a factor.
fn times(estimate: &Estimate, by: f64) -> Estimate {
    let modes = estimate.modes.iter().map(|mode| Value { value: mode.value * by, ..*mode }).collect();
    let Estimate { median, low, high, min, .. } = *estimate;
    Estimate { median: median * by, low: low * by, high: high * by, min: min * by, modes, ..estimate.clone() }
}

/// An estimate from one figure per round. It is stable if parts of the run agree.
pub(super) fn figure(rounds: &[f64]) -> Option<Estimate> {
    let part = rounds.len().div_ceil(PARTS).max(1);
    let parts = statistics::estimate(&rounds.chunks(part).map(<[f64]>::to_vec).collect::<Vec<_>>())?;
    Some(Estimate { stable: parts.stable, ..statistics::estimate_of_passes(rounds.iter().copied())? })
}

/// The time of a call, in ns, from samples that include the time of reading the clock.
///
/// # Errors
/// If the difference is within the uncertainty of either: a time of 0 or less means nothing.
fn less(samples: &[Vec<f64>], clock: Option<&Estimate>) -> Option<Result<Estimate, String>> {
    let (with, clock) = (statistics::estimate(samples)?, clock?);
    let off = |ns: f64, clock: f64| ns - clock;
    // Whether there is a time at all, this run tells by itself; its end for the next run stays above 0.
    let of_this_run = off(statistics::estimate(&[samples.concat()])?.low, clock.high);
    let (low, high) = (off(with.low, clock.high).max(of_this_run / 2.0), off(with.high, clock.low));
    if of_this_run <= 0.0 {
        return Some(Err(format!(
            "not available: within {:.0} ns of what reading the clock takes",
            high.max(0.0)
        )));
    }
    let modes =
        with.modes.iter().map(|mode| Value { value: off(mode.value, clock.median), ..*mode }).collect();
    let median = off(with.median, clock.median);
    Some(Ok(Estimate {
        median,
        low,
        high,
        min: off(with.min, clock.median).clamp(0.0, median),
        modes,
        ..with
    }))
}

fn scaled(ns: &[f64], penalty: f64) -> Option<Estimate> {
    figure(&ns.iter().map(|ns| ns / penalty).collect::<Vec<_>>())
}

impl Record {
    /// For this many damaged sets.
    pub(super) fn new(sets: usize) -> Self {
        Self { damage: vec![Vec::new(); sets], missed: vec![Vec::new(); sets], ..Self::default() }
    }

    /// The rows of all states that have figures, and why a time is missing.
    ///
    /// With counters, counts belong to user mode or the kernel; by time, `L1DM` of a cold call is its footprint.
    pub(super) fn rows(
        &self,
        subject: &Subject,
        scale: &Scale,
        method: CallMethod,
    ) -> (Vec<Call>, Vec<(String, String)>) {
        let row = |state, side| Call {
            name: subject.name.clone(),
            set: subject.set_name().to_owned(),
            wrapped: subject.wrapped,
            state,
            side,
            ..Call::default()
        };
        let footprint = figure(&self.fetched).or_else(|| scale.footprint(&self.evicted));
        let (mut rows, mut hidden) = (Vec::new(), Vec::new());
        for (state, name) in
            [(CacheState::Cold, "cold"), (CacheState::Second, "second"), (CacheState::Warm, "warm")]
        {
            let ns = match state {
                CacheState::Cold => less(&self.cold, scale.cold_ns.as_ref()),
                CacheState::Second => less(&self.second, scale.second_ns.as_ref()),
                // The time of the empty loop is already subtracted.
                CacheState::Warm => less(&self.warm, Some(&Estimate::exact(0.0))),
            };
            let ns = match ns {
                Some(Err(why)) => {
                    let form = if subject.wrapped { "" } else { " bare" };
                    hidden.push((format!("{}{form}, {name}", subject.name), why));
                    None
                }
                ns => ns.and_then(Result::ok),
            };
            if ns.is_some() || footprint.is_some() && state != CacheState::Second {
                let cold =
                    footprint.clone().filter(|_| state == CacheState::Cold && method == CallMethod::Timing);
                rows.push(Call {
                    ns: ns.clone(),
                    footprint_lines: footprint.clone(),
                    counts: Counts { L1DM: cold, ..Counts::default() },
                    ..row(state, Side::Both)
                });
            }
            rows.extend(self.counted.row(state, Mode::Kernel, &scale.empty, row(state, Side::Kernel)));
            let user = self.counted.row(state, Mode::User, &scale.empty, row(state, Side::User));
            let Some(steps) = self.steps.as_ref().filter(|_| state != CacheState::Second || ns.is_some())
            else {
                rows.extend(user);
                continue;
            };
            let mut user = user.unwrap_or_else(|| row(state, Side::User));
            user.counts.INS.get_or_insert(Estimate::exact(steps.instructions as f64));
            // What an MPI function does depends on what has arrived, so one single-stepped call does not represent all.
            let clock_ghz = scale.clock_ghz.filter(|_| subject.set != Some(Set::Mpi));
            if let (0, None, Some(ns), Some(ghz)) = (steps.kernel_entries, &user.counts.CYCLE, &ns, clock_ghz)
            {
                let instructions = steps.instructions.max(1) as f64;
                user.counts.CYCLE = Some(times(ns, ghz));
                user.CPI = Some(times(ns, ghz / instructions));
                user.by_clock = true;
            }
            rows.push(Call { code_lines: Some(steps.code_lines), data_lines: steps.data_lines, ..user });
        }
        (rows, hidden)
    }

    /// The damage to each set.
    pub(super) fn damages(&self, name: &str, sets: &[usize], scale: &Scale) -> Vec<Damage> {
        let one = |(set, bytes): (usize, &usize)| {
            let ns = &self.damage[set];
            let timed = || scaled(ns, scale.damage_ns[set]?);
            Some(Damage {
                name: name.to_owned(),
                set_bytes: *bytes as u64,
                lines: figure(&self.missed[set]).or_else(timed),
                ns: Some(figure(ns)?),
            })
        };
        sets.iter().enumerate().filter_map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use coho_counters::Column;

    use super::*;
    use crate::calls::pmu::Key;
    use crate::calls::subject::nothing;

    fn subject() -> Subject {
        Subject { name: "stat".into(), set: Some(Set::Syscalls), wrapped: true, most: 1, body: nothing() }
    }

    fn known(ns: f64) -> Estimate {
        statistics::estimate(&[vec![ns; 30]]).unwrap()
    }

    fn scale() -> Scale {
        let mut scale = Scale {
            cold_ns: Some(known(50.0)),
            second_ns: Some(known(20.0)),
            clock_ghz: Some(2.0),
            footprint_ns: Some(4.0),
            damage_ns: vec![Some(4.0), None],
            ..Scale::default()
        };
        let victims: Vec<_> = [0, 10, 40, 100].map(|lines| (lines, vec![8.0 * lines as f64; 30])).to_vec();
        let calibration = scale.calibrate(&victims);
        assert_eq!(calibration[2].evicted.as_ref().unwrap().median, 80.0);
        scale
    }

    #[test]
    fn samples_become_rows() {
        let record = Record {
            warm: vec![vec![200.0; 10]; 3],
            cold: vec![vec![1050.0; 4]; 3],
            second: vec![vec![320.0; 4]; 3],
            evicted: vec![160.0; 12],
            damage: vec![vec![400.0; 12], vec![-3.0; 12]],
            ..Record::new(2)
        };
        let (rows, hidden) = record.rows(&subject(), &scale(), CallMethod::Timing);
        assert_eq!((rows.len(), hidden.len()), (3, 0));
        let (cold, second, warm) = (&rows[0], &rows[1], &rows[2]);
        assert_eq!(
            rows.iter().map(|row| row.state).collect::<Vec<_>>(),
            [CacheState::Cold, CacheState::Second, CacheState::Warm]
        );
        assert_eq!(second.ns.as_ref().unwrap().median, 300.0);
        assert_eq!(cold.ns.as_ref().unwrap().median, 1000.0);
        assert_eq!(warm.ns.as_ref().unwrap().median, 200.0);
        // 160 ns are 40 lines evicted, which 20 lines touched.
        assert_eq!(cold.footprint_lines.as_ref().unwrap().median, 20.0);
        assert_eq!(cold.counts.L1DM, cold.footprint_lines);
        // A round in which the set never stayed in its cache says nothing.
        let gaps = [&[f64::NAN; 20][..], &[160.0; 12]].concat();
        assert_eq!(scale().footprint(&gaps).unwrap().median, 20.0);
        assert_eq!(scale().footprint(&[f64::NAN; 9]), None);
        assert_eq!(warm.counts.L1DM, None);
        let damages = record.damages("stat", &[24 << 10, 8 << 20], &scale());
        assert_eq!(damages[0].lines.as_ref().unwrap().median, 100.0);
        assert_eq!((damages[1].ns.as_ref().unwrap().median, &damages[1].lines), (-3.0, &None));
    }

    /// A victim of this many lines evicts some lines, each at the cost of a miss, seen through the noise of a round.
    fn evicted_ns(lines: usize, penalty: f64, random: &mut fastrand::Rng) -> Vec<f64> {
        // Of few lines nearly each pushes one out; of many, some fall on the same place.
        let evicted = 512.0 * (1.0 - (-(lines as f64) / 512.0).exp());
        // Within a tenth of the clock's step of a line, and now and then a round in which the set never stayed.
        let round = |_| match random.f64() {
            x if x < 0.1 => f64::NAN,
            _ => evicted * penalty + (random.f64() - 0.5) * penalty,
        };
        (0..40).map(round).collect()
    }

    #[test]
    fn victims_held_out_of_the_curve_are_recovered() {
        let random = &mut fastrand::Rng::with_seed(5);
        for penalty in [0.4, 3.0, 40.0] {
            let known: Vec<_> = [0, 5, 10, 20, 32, 48, 64, 96, 128, 192, 256, 384, 512]
                .map(|lines| (lines, evicted_ns(lines, penalty, random)))
                .to_vec();
            let mut scale = Scale { footprint_ns: Some(penalty), ..Scale::default() };
            scale.calibrate(&known);
            for lines in [7, 15, 26, 40, 56, 80, 150, 300, 450] {
                let footprint = scale.footprint(&evicted_ns(lines, penalty, random)).unwrap();
                let off = (footprint.median - lines as f64).abs();
                assert!(off < 0.05 * lines as f64 + 1.0, "{lines} lines were taken for {footprint:?}");
                assert!(footprint.low <= footprint.median && footprint.median <= footprint.high);
            }
        }
    }

    #[test]
    fn what_a_counter_saw_comes_before_what_time_tells() {
        let key = Key { state: CacheState::Warm, mode: Mode::Kernel, column: Column::Instructions };
        let mut record = Record {
            warm: vec![vec![200.0; 10]; 3],
            evicted: vec![160.0; 12],
            damage: vec![vec![400.0; 12]],
            missed: vec![vec![95.0; 12]],
            fetched: vec![22.0; 12],
            ..Record::new(1)
        };
        record.counted.add(key, vec![273.0; 25]);
        let rows = record.rows(&subject(), &scale(), CallMethod::Pmu).0;
        assert!(rows.iter().filter_map(|row| row.footprint_lines.as_ref()).all(|lines| lines.median == 22.0));
        let kernel = rows.iter().find(|row| row.side == Side::Kernel).unwrap();
        assert_eq!((kernel.state, kernel.counts.INS.as_ref().unwrap().median), (CacheState::Warm, 273.0));
        assert!(rows.iter().all(|row| row.side != Side::Both || row.counts.L1DM.is_none()));
        assert_eq!(record.damages("stat", &[4096], &scale())[0].lines.as_ref().unwrap().median, 95.0);
    }

    #[test]
    fn what_was_not_visited_has_no_row() {
        let record = Record::new(2);
        assert!(record.rows(&subject(), &scale(), CallMethod::Timing).0.is_empty());
        assert!(record.damages("stat", &[1, 2], &scale()).is_empty());
        assert_eq!(middle(&[f64::NAN]), None);
        assert_eq!(Scale::default().footprint(&[1.0; 20]), None);
        let mut blind = scale();
        blind.curves = None;
        blind.calibrate(&[(0, vec![0.0; 9]), (40, vec![80.0; 9]), (100, vec![f64::NAN; 9])]);
        assert_eq!(blind.footprint(&[40.0; 9]), None);
        blind.calibrate(&[(0, vec![f64::NAN; 9]), (40, vec![80.0; 9]), (100, vec![400.0; 9])]);
        assert_eq!(blind.footprint(&[40.0; 9]).unwrap().median, 20.0);
    }

    #[test]
    fn steps_stand_on_the_user_s_side_in_both_states() {
        let steps = Steps { instructions: 300, code_lines: 20, data_lines: Some(9), ..Steps::default() };
        let record = Record { steps: Some(steps), ..Record::new(0) };
        let (rows, _) = record.rows(&subject(), &scale(), CallMethod::Timing);
        assert!(rows.iter().all(|row| row.side == Side::User && row.code_lines == Some(20)));
        assert_eq!(rows.len(), 2);
    }

    #[test]
    fn a_call_that_stays_in_user_mode_has_cycles_by_the_clock() {
        let steps = |kernel_entries| Some(Steps { instructions: 100, kernel_entries, ..Steps::default() });
        let row = |kernel_entries, clock_ghz| {
            let record =
                Record { warm: vec![vec![200.0; 10]; 3], steps: steps(kernel_entries), ..Record::new(0) };
            let rows = record.rows(&subject(), &Scale { clock_ghz, ..scale() }, CallMethod::Timing).0;
            rows.into_iter().find(|row| (row.side, row.state) == (Side::User, CacheState::Warm)).unwrap()
        };
        let user = row(0, Some(2.0));
        assert_eq!(
            (user.counts.CYCLE.unwrap().median, user.CPI.unwrap().median, user.by_clock),
            (400.0, 4.0, true)
        );
        // Part of the time belongs to the kernel, or the clock is not known.
        for (entries, ghz) in [(1, Some(2.0)), (0, None)] {
            let user = row(entries, ghz);
            assert_eq!((user.counts.CYCLE, user.CPI, user.by_clock), (None, None, false));
        }
    }

    #[test]
    fn what_cannot_be_told_from_the_clock_has_no_time() {
        // Below what the clock takes, at it, and beyond it by less than either is known to.
        for ns in [4.4, 50.0, 50.5] {
            let samples: Vec<f64> = (0..30).map(|i| ns + f64::from(i % 3) - 1.0).collect();
            let record = Record { cold: vec![samples], ..Record::new(0) };
            let (rows, hidden) = record.rows(
                &subject(),
                &Scale { cold_ns: Some(known(50.0)), ..Scale::default() },
                CallMethod::Timing,
            );
            assert!(rows.is_empty(), "{rows:?}");
            assert_eq!(hidden[0].0, "stat, cold");
            assert!(hidden[0].1.contains("what reading the clock takes"), "{hidden:?}");
        }
        let record = Record { cold: vec![vec![58.0; 30]], ..Record::new(0) };
        let (rows, hidden) = record.rows(
            &subject(),
            &Scale { cold_ns: Some(known(50.0)), ..Scale::default() },
            CallMethod::Timing,
        );
        assert_eq!((rows[0].ns.as_ref().unwrap().median, hidden.len()), (8.0, 0));
    }
}
