//! Whether a program's run on several CPUs and on one tells what sharing lines costs it.

use coho_profile::{Estimate, ShareTotal};

use crate::chance::Family;

/// The most that a loop which shares nothing may lose or gain beside others: more is a matter of cores or the clock.
const MOST_CONTROL: f64 = 0.05;
/// The widest interval that is told: of a cost between 5 and 40 % nothing follows.
const WIDEST: f64 = 0.25;
/// Rounds that may go on do so while the interval is wider.
const NARROW: f64 = 0.1;
/// CPU time over elapsed time up to which threads count as one: others run beside a program's first thread for a moment only.
pub const ALONE: f64 = 1.1;
/// More CPU time on one CPU than so much of that on several is not explained by what caches hold.
const LEAST_SPINNING: f64 = 1.15;
/// CPU time in seconds below which what a start costs is seen, and the kernel's clock ticks are.
const LEAST_S: f64 = 0.2;
/// The most of the time that the hypervisor may take.
const MOST_STOLEN: f64 = 0.05;
/// Elapsed times this near are the same.
const SAME: f64 = 0.02;

/// How the program ran on one CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OneCpu {
    /// To its end.
    Ended,
    /// It was killed after so many times the CPU time that it took on all CPUs.
    Endless(f64),
}

/// What was observed beside the CPU times.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed<'a> {
    /// The figures, with the share as the rounds have it.
    pub figures: &'a ShareTotal,
    /// Why its threads cannot be confined to one CPU, if they cannot.
    pub objection: Option<&'a str>,
    /// How many CPUs it may run on.
    pub cpus: usize,
    /// CPU time that the control groups allow, in CPUs.
    pub quota: Option<f64>,
    /// How its runs on one CPU ended.
    pub one_cpu: OneCpu,
    /// Elapsed time on one CPU over that on all, round by round.
    pub elapsed: Option<&'a Estimate>,
    /// The part of the time in which the hypervisor ran something else.
    pub stolen: f64,
}

/// Why the share of the CPU time that sharing costs cannot be told; `None` if it can.
pub fn why_not(seen: &Observed<'_>) -> Option<String> {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    if let Some(why) = seen.objection {
        return Some(format!("{why}, and so its threads cannot be confined to one CPU"));
    }
    if seen.cpus < 2 {
        return Some("it may run on one CPU only, so that its threads never run at the same time".into());
    }
    if let Some(quota) = seen.quota.filter(|&quota| quota < seen.cpus as f64) {
        return Some(format!(
            "a quota of {quota} CPUs keeps its threads from running at the same time on {}",
            seen.cpus
        ));
    }
    if let OneCpu::Endless(times) = seen.one_cpu {
        return Some(format!(
            "its threads wait for each other by spinning: on one CPU it had not ended after {times:.1} times the CPU time"
        ));
    }
    let figures = seen.figures;
    let rounds = figures.share_of_cpu_time.as_ref().map_or(0, |share| share.n);
    let needed = Family::of(1).fewest_rounds() as u64;
    if figures.at_once.as_ref().is_some_and(|at_once| at_once.median <= ALONE) {
        return Some(
            "its threads hardly ran at the same time: it took no more CPU time than elapsed, as a program of one thread \
             does, or one beside other work"
                .into(),
        );
    }
    let Some(share) = figures.share_of_cpu_time.as_ref().filter(|_| rounds > 0) else {
        return Some("no round was finished".into());
    };
    if let Some(cpu_s) = figures.cpu_s.as_ref().filter(|cpu_s| cpu_s.median < LEAST_S) {
        return Some(format!(
            "it runs too briefly: {:.0} ms of CPU time, where {:.0} ms can tell",
            1e3 * cpu_s.median,
            1e3 * LEAST_S
        ));
    }
    if rounds < needed {
        return Some(format!("{rounds} rounds are too few; {needed} can tell"));
    }
    if share.median < 0.0 && 1.0 - share.median >= LEAST_SPINNING {
        return Some(format!(
            "its threads wait for each other by spinning: on one CPU it takes {:.1} times the CPU time",
            1.0 - share.median
        ));
    }
    let is_same = |ratio: &&Estimate| ratio.low > 1.0 - SAME && ratio.high < 1.0 + SAME;
    if seen.elapsed.as_ref().is_some_and(is_same) {
        return Some("it takes the same time on one CPU, as a program does that runs for a set time, whatever it gets done".into());
    }
    if seen.stolen > MOST_STOLEN {
        return Some(format!("the hypervisor took the CPUs away for {} of the time", percent(seen.stolen)));
    }
    if share.high - share.low > WIDEST {
        let (low, high) = (percent(share.low), percent(share.high));
        return Some(match control_that_loses(figures) {
            Some(control) => format!(
                "a loop that shares nothing loses {} on these CPUs too, so that it may lie anywhere between {low} and \
                 {high}: they are threads of one core, the clock changes, or other work disturbs; name CPUs of \
                 different cores",
                percent(control.median)
            ),
            None => format!("{rounds} rounds differ too much: it lies between {low} and {high}"),
        });
    }
    None
}

/// Whether what is saved is known too roughly to end before the most rounds are done.
pub fn is_rough(saved: &Estimate) -> bool {
    saved.high - saved.low > NARROW
}

/// What a loop that shares nothing loses (or gains, below 0) on these CPUs, if it is too much to be none, and the rounds
/// show it.
pub fn control_that_loses(figures: &ShareTotal) -> Option<&Estimate> {
    figures.control.as_ref().filter(|control| is_off(control))
}

fn is_off(control: &Estimate) -> bool {
    control.median.abs() > MOST_CONTROL && (control.low > 0.0 || control.high < 0.0)
}

/// Between which shares of the CPU time that of each round lies, given what a loop that shares nothing loses in the same
/// round: from all of it to none of it may be no matter of lines. If the loop loses nothing by the
/// estimate of all rounds, both are the share that the round shows. In a round in which it did not run, it counts as
/// losing what it loses by that estimate.
///
/// The CPU time on all CPUs is 1, on one it is `1 - share`. Without lines that move, it would be between that and as many
/// times that as the loop takes on all CPUs of what it takes on one, which is `1 / (1 - control)`.
pub fn bounds(shares: &[f64], controls: &[Option<f64>], control: Option<&Estimate>) -> (Vec<f64>, Vec<f64>) {
    let Some(usual) = control.filter(|control| is_off(control)) else {
        return (shares.to_vec(), shares.to_vec());
    };
    let controls = controls.iter().copied().chain(std::iter::repeat(None));
    let controls = controls.map(|control| control.unwrap_or(usual.median));
    let others = shares.iter().zip(controls).map(|(share, control)| 1.0 - (1.0 - share) / (1.0 - control));
    shares.iter().zip(others).map(|(&share, other)| (share.min(other), share.max(other))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(median: f64, width: f64) -> Estimate {
        Estimate { low: median - width / 2.0, high: median + width / 2.0, n: 8, ..Estimate::exact(median) }
    }

    fn figures(share: f64, at_once: f64) -> ShareTotal {
        ShareTotal {
            share_of_cpu_time: Some(estimate(share, 0.04)),
            at_once: Some(estimate(at_once, 0.1)),
            control: Some(estimate(0.002, 0.01)),
            ..ShareTotal::default()
        }
    }

    fn seen(figures: &ShareTotal) -> Observed<'_> {
        Observed {
            figures,
            objection: None,
            cpus: 2,
            quota: None,
            one_cpu: OneCpu::Ended,
            elapsed: None,
            stolen: 0.0,
        }
    }

    #[test]
    fn a_cost_is_told_whatever_its_size() {
        for share in [0.85, 0.2, 0.0, -0.03] {
            assert_eq!(why_not(&seen(&figures(share, 1.9))), None, "{share}");
        }
    }

    #[track_caller]
    fn withheld(figures: &ShareTotal, change: impl FnOnce(&mut Observed<'_>), because: &str) {
        let mut observed = seen(figures);
        change(&mut observed);
        let why = why_not(&observed).unwrap();
        assert!(why.contains(because), "{why}");
    }

    #[test]
    fn what_cannot_be_told_has_its_reason() {
        let usual = figures(0.3, 1.9);
        withheld(
            &usual,
            |seen| seen.objection = Some("it is linked statically"),
            "linked statically, and so",
        );
        withheld(&usual, |seen| seen.cpus = 1, "one CPU only");
        withheld(&usual, |seen| seen.quota = Some(1.5), "a quota of 1.5 CPUs");
        withheld(&usual, |seen| seen.one_cpu = OneCpu::Endless(3.0), "spinning: on one CPU it had not ended");
        withheld(&usual, |seen| seen.stolen = 0.2, "20 % of the time");
        let same = estimate(1.0, 0.01);
        let why = why_not(&Observed { elapsed: Some(&same), ..seen(&usual) });
        assert!(why.unwrap().contains("runs for a set time"));
        withheld(&figures(0.3, 1.02), |_| (), "hardly ran at the same time");
        let brief = ShareTotal { cpu_s: Some(estimate(0.07, 0.01)), ..usual.clone() };
        withheld(&brief, |_| (), "70 ms of CPU time, where 200 ms can tell");
        withheld(&figures(-4.0, 1.9), |_| (), "on one CPU it takes 5.0 times");
        withheld(&ShareTotal::default(), |_| (), "no round");
        let few =
            ShareTotal { share_of_cpu_time: Some(Estimate { n: 3, ..estimate(0.3, 0.02) }), ..usual.clone() };
        withheld(&few, |_| (), "3 rounds are too few; 6 can");
        let noisy = ShareTotal { share_of_cpu_time: Some(estimate(0.3, 0.5)), ..usual };
        withheld(&noisy, |_| (), "differ too much: it lies between 5 % and 55 %");
        let cores = ShareTotal { control: Some(estimate(0.4, 0.01)), ..noisy };
        withheld(
            &cores,
            |_| (),
            "loses 40 % on these CPUs too, so that it may lie anywhere between 5 % and 55 %",
        );
    }

    #[test]
    fn what_a_loop_loses_in_the_same_round_may_be_all_that_a_program_loses() {
        // A program that loses as the loop does, and one that loses nothing but by its lines.
        let (low, high) = bounds(&[0.2, 0.84], &[Some(0.2), Some(0.2)], Some(&estimate(0.2, 0.0)));
        assert!(low[0].abs() < 1e-9 && (low[1] - 0.8).abs() < 1e-9, "{low:?}");
        assert_eq!(high, [0.2, 0.84]);
        // A loop that gains on all CPUs.
        let (low, high) = bounds(&[0.2], &[Some(-0.25)], Some(&estimate(-0.25, 0.0)));
        assert!(low == [0.2] && (high[0] - 0.36).abs() < 1e-9, "{high:?}");
        let usual = [0.3, 0.31, 0.29];
        let few = bounds(&usual, &[Some(0.01), None, Some(0.2)], Some(&estimate(0.01, 0.0)));
        assert_eq!(few, (usual.to_vec(), usual.to_vec()));
        // One round without the loop is no reason to forget the others.
        let [with, without] =
            [Some(0.2), None].map(|last| bounds(&[0.3, 0.3], &[Some(0.2), last], Some(&estimate(0.2, 0.0))));
        assert_eq!(with, without);
        assert!((without.0[1] - 0.125).abs() < 1e-9, "{without:?}");
        assert_eq!(bounds(&usual, &[], None).0, usual);
    }
}
