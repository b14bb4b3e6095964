//! Between which limits the values of a figure lie: one that keeps to a value has modes, and one that does not, a range.

use super::gathered::Kept;
use super::learn::FEWEST;
use super::limits::Limit;
use super::robust::Spread;
use crate::chance::{BETWEEN_RUNS, CHANCE};
use crate::stats::median;

/// Standard deviations in half a 95 % interval.
const PER_INTERVAL: f64 = 1.96;
/// A mode whose limits lie further apart does not show that another machine's figure is half or twice as much.
const TELLING: f64 = 2.0;
/// A range that reaches this many times as far as the middle of its values, to both sides, shows no fault.
const TELLING_ANYTHING: f64 = 10.0;

/// The modes of a figure, the most frequent first. None if they would tell nothing of another machine.
pub(super) fn of(values: &[Kept], looked_at: usize) -> Vec<Limit> {
    let modes = modes(&sorted(values), looked_at);
    let keeps = |usual: &Limit| usual.surveys >= FEWEST / 2 && usual.high < TELLING * usual.low;
    if modes.first().is_some_and(keeps) { modes } else { Vec::new() }
}

/// The same, or where the figure keeps to no mode, the range in which it was.
pub(super) fn or_range(values: &[Kept], looked_at: usize) -> Vec<Limit> {
    let modes = of(values, looked_at);
    if !modes.is_empty() {
        return modes;
    }
    let middle = median(&mut values.iter().map(|kept| kept.value).collect::<Vec<_>>());
    let tells =
        |range: &Limit| range.high < TELLING_ANYTHING * middle || range.low * TELLING_ANYTHING > middle;
    range(&sorted(values), looked_at).filter(tells).into_iter().collect()
}

fn sorted(values: &[Kept]) -> Vec<Kept> {
    let mut values = values.to_vec();
    values.sort_unstable_by(|one, other| one.value.total_cmp(&other.value));
    values
}

/// Each reaches as far as its values do, or as far as chance may take another survey's, whichever is further, for as many
/// figures as are looked at together.
fn modes(values: &[Kept], looked_at: usize) -> Vec<Limit> {
    // Two runs of one machine differ by as much; across a wider gap there is something else.
    let mut parts: Vec<&[Kept]> =
        values.chunk_by(|one, next| next.value <= one.value * BETWEEN_RUNS).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    let Some(main) = parts.first().and_then(|part| Scatter::of(part)) else { return Vec::new() };
    let limit = |part: &&[Kept]| {
        let own = Scatter::of(part)?;
        // Few values do not show how they scatter; the others of the figure do.
        let scatter = if part.len() < FEWEST { main } else { own };
        // Surveys of one hour may agree more closely than those of the next.
        let reach = (scatter.relative * scatter.spread.limit(looked_at)).exp().max(BETWEEN_RUNS);
        Some(Limit {
            low: part.first()?.value.min(own.spread.median / reach),
            high: part.last()?.value.max(own.spread.median * reach),
            surveys: part.len(),
        })
    };
    parts.iter().filter_map(limit).collect()
}

/// The range of a figure that is also seen between its modes, as where a host moves CPUs while they are measured. It reaches beyond its outermost values as far as chance takes the next of values that are spread evenly
/// there.
fn range(values: &[Kept], looked_at: usize) -> Option<Limit> {
    let [first, .., last] = values else { return None };
    let n = values.len() as f64;
    let chance = CHANCE / 2.0 / looked_at.max(1) as f64;
    let beyond = (chance * (n + 1.0)).min(1.0).powf(-1.0 / (n - 1.0)) - 1.0;
    let reach = (last.value / first.value).powf(beyond).max(BETWEEN_RUNS);
    Some(Limit { low: first.value / reach, high: last.value * reach, surveys: values.len() })
}

/// How values scatter.
#[derive(Clone, Copy)]
struct Scatter {
    spread: Spread,
    /// Its scale over its median: the scale between surveys, or the one within a survey if that is larger.
    relative: f64,
}

impl Scatter {
    fn of(values: &[Kept]) -> Option<Self> {
        let spread = Spread::of_any(&mut values.iter().map(|kept| kept.value).collect::<Vec<_>>())?;
        let within = |kept: &Kept| {
            let estimate = kept.estimate();
            (estimate.high - estimate.low) / 2.0 / PER_INTERVAL / kept.value
        };
        let mut within: Vec<f64> = values.iter().map(within).filter(|half| half.is_finite()).collect();
        let within = if within.is_empty() { 0.0 } else { median(&mut within) };
        Some(Self { spread, relative: (spread.scale / spread.median).max(within) })
    }
}

#[cfg(test)]
mod tests {
    use coho_profile::{
        BarrierTime, Coherence, Estimate, Home, Host, MemoryLatency, Pair, PairMethod, Profile, Sync,
    };

    use super::super::{Checker, Fleet, GROUPED, Limits, Place, Surveyed, Verdict};
    use super::{Kept, or_range};

    /// Recorded on a host that moves its machines' CPUs; the file says how.
    fn recorded() -> Vec<[Estimate; 3]> {
        let estimate = |text: &str| {
            let numbers: Vec<f64> = text.split(' ').map(|number| number.parse().unwrap()).collect();
            let [median, low, high] = numbers[..] else { panic!("{text}") };
            Estimate { low, high, min: low, n: 36, passes: 6, ..Estimate::exact(median) }
        };
        let lines = include_str!("two_modes.tsv").lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| Vec::from_iter(line.split('\t').map(estimate)).try_into().unwrap()).collect()
    }

    fn kept(value: f64) -> Kept {
        Kept {
            figure: 0,
            passes: 9,
            n: 72,
            value,
            low: value * 0.98,
            high: value * 1.02,
            is_disturbed: false,
            is_cut: false,
            condition: 0,
        }
    }

    fn profile(of: &[Estimate; 3], times: f64) -> Profile {
        let scaled = |one: &Estimate| Estimate {
            low: one.low * times,
            high: one.high * times,
            min: one.min * times,
            ..Estimate { median: one.median * times, ..one.clone() }
        };
        let [turn, flags, barrier] = of.each_ref().map(scaled);
        let pair = |method, ns| Pair { claimed: Some("L3".into()), ..Pair::new(0, 1, method, Home::A, ns) };
        let pairs = vec![pair(PairMethod::Turn, turn), pair(PairMethod::Flags, flags)];
        let barrier =
            BarrierTime { algorithm: "fbs".into(), threads: 2, ns: Some(barrier), ..BarrierTime::default() };
        Profile {
            host: Some(Host { cpu: Some("X".into()), ..Host::default() }),
            coherence: Some(Coherence { pairs, ..Coherence::default() }),
            sync: Some(Sync { barriers: vec![barrier], ..Sync::default() }),
            ..Profile::default()
        }
    }

    fn learned(surveys: impl Iterator<Item = Profile>) -> Limits {
        let mut fleet = Fleet::new();
        for (i, profile) in surveys.enumerate() {
            fleet.add(&mut Surveyed::of("n", format!("n{i}.json"), &profile)).unwrap();
        }
        fleet.learn(&GROUPED).0
    }

    fn verdict(limits: &Limits, measured: &Profile) -> (Verdict, String) {
        let Place::In(group) = limits.place(measured) else { panic!("{:?}", limits.place(measured)) };
        let mut checker = Checker::new(group);
        checker.add(measured);
        checker.add(measured);
        let checked = checker.answer();
        (checked.verdict, checked.why)
    }

    /// Of each quarter of the surveys, taken over all the time, the limits hold for the others: none of those is odd, and each
    /// is where it takes ten times as long, whichever mode it is in.
    #[test]
    fn a_host_that_moves_its_cpus_is_learned_and_what_is_beyond_all_its_modes_is_odd() {
        let all = recorded();
        let (mut fit, mut checked) = (0, 0);
        for fold in 0..4 {
            let (own, others): (Vec<_>, Vec<_>) = all.iter().enumerate().partition(|(at, _)| at % 4 == fold);
            let limits = learned(own.iter().map(|(_, one)| profile(one, 1.0)));
            for (_, one) in others {
                let (healthy, why) = verdict(&limits, &profile(one, 1.0));
                assert_ne!(healthy, Verdict::Odd, "{why}");
                fit += usize::from(healthy == Verdict::Fit);
                checked += 1;
                let (faulty, why) = verdict(&limits, &profile(one, 10.0));
                assert!(faulty == Verdict::Odd, "{why}");
            }
        }
        assert!(fit > checked / 2, "both modes are frequent: {fit} of {checked}");
    }

    /// A figure that is anywhere between two values has no mode, but an end.
    #[test]
    fn a_figure_without_modes_has_a_range() {
        let latency = |ns: f64| {
            let ns = Estimate { n: 36, passes: 6, ..Estimate::exact(ns) };
            let latency = vec![MemoryLatency { bytes: 4096, ns: Some(ns), ..MemoryLatency::default() }];
            let memory = Some(coho_profile::Memory { latency, ..coho_profile::Memory::default() });
            let host = Some(Host { cpu: Some("X".into()), ..Host::default() });
            Profile { host, memory, ..Profile::default() }
        };
        let mut random = fastrand::Rng::with_seed(5);
        let mut wanders = || 25.0 * 5f64.powf(random.f64());
        let limits = learned((0..40).map(|_| latency(wanders())));
        for _ in 0..200 {
            assert_eq!(verdict(&limits, &latency(wanders())).0, Verdict::Fit);
        }
        let (faulty, why) = verdict(&limits, &latency(400.0));
        assert!(faulty == Verdict::Odd && why.contains("is 400 ns; its group has "), "{why}");
        assert_eq!(verdict(&limits, &latency(2.0)).0, Verdict::CannotTell, "better than any");
    }

    /// Runs of one machine differ by a tenth, however closely some have agreed.
    #[test]
    fn surveys_that_agree_closely_do_not_narrow_the_limits_below_what_runs_differ_by() {
        let values: Vec<Kept> = (0..20).map(|i| kept(100.0 + f64::from(i % 3) / 10.0)).collect();
        let limits = super::of(&values, 110);
        let [mode] = limits[..] else { panic!("{limits:?}") };
        assert!((mode.low - 100.1 / 1.1).abs() < 0.1 && (mode.high - 100.1 * 1.1).abs() < 0.1, "{mode:?}");
    }

    /// Steps of two CPUs in one day's surveys of a VM whose host now and then has both on one core, or each on a die of its own.
    #[test]
    fn rare_values_far_off_on_both_sides_leave_a_range_that_tells() {
        let steps = [
            10.8, 23.6, 23.6, 24.3, 24.3, 24.5, 25.6, 25.7, 25.8, 25.8, 25.9, 26.2, 26.6, 26.7, 26.8, 27.1,
            27.2, 27.2, 27.6, 28.8, 28.9, 28.9, 29.5, 117.2,
        ];
        let limits = or_range(&steps.map(kept), 110);
        let [range] = limits[..] else { panic!("{limits:?}") };
        assert!(range.low < 10.8 && range.high > 117.2 && range.high < 260.0, "{range:?}");
        let anywhere: Vec<Kept> = (0..24).map(|i| kept(2f64.powi(i))).collect();
        assert_eq!(or_range(&anywhere, 110), []);
    }
}
