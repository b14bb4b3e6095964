//! Whether a run's figures kept to their values, and over how many passes and how much time.

use coho_profile::Coherence;
use serde_json::Value;

use super::cells::Cell;

/// The fewest passes, and the shortest time from a first visit to a last, that a figure rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Window {
    pub(super) passes: u64,
    pub(super) span_s: f64,
}

/// The window of the figures by which a run is judged; if some come from an earlier run, of both. `None` if the earlier
/// run did not record it, or nothing was repeated.
pub(super) fn window<'a>(
    cells: impl Iterator<Item = &'a Cell> + Clone,
    earlier: Option<&Coherence>,
) -> Option<Window> {
    let any_strict = cells.clone().any(|cell| cell.method.is_strict());
    let judged = cells
        .filter(|cell| cell.method.is_strict() || !any_strict)
        .filter(|cell| cell.estimate().is_some_and(|ns| ns.stable.is_some()));
    let mut least: Option<Window> = None;
    for cell in judged {
        let one = match cell.window() {
            Some((passes, span)) => Window { passes, span_s: span.as_secs_f64() },
            None => of_run(earlier?)?,
        };
        least = Some(least.map_or(one, |least| Window {
            passes: least.passes.min(one.passes),
            span_s: least.span_s.min(one.span_s),
        }));
    }
    least
}

/// The window that a run has recorded.
fn of_run(coherence: &Coherence) -> Option<Window> {
    let parameter = |name: &str| coherence.method.parameters.get(name);
    let passes = parameter("least_passes").and_then(Value::as_u64)?;
    Some(Window { passes, span_s: parameter("least_span_s").and_then(Value::as_f64)? })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use coho_profile::{Estimate, Home, Pair, PairMethod, Timeline, TimelineSample};

    use super::super::run::Sample;
    use super::super::visit::{Kind, Outcome};
    use super::*;

    const TURN: PairMethod = PairMethod::Turn;
    const FREE: PairMethod = PairMethod::FreeRunning;

    fn section(pairs: &[(PairMethod, Option<bool>)]) -> Coherence {
        let pair = |&(method, stable): &(PairMethod, Option<bool>)| Pair {
            a: 0,
            b: 1,
            method,
            home: Home::A,
            ns: Estimate { stable, n: 40, ..Estimate::exact(50.0) },
            ownership_changes_per_op: None,
            lines: None,
            preempted_batches: 0,
            claimed: None,
        };
        Coherence { pairs: pairs.iter().map(pair).collect(), ..Coherence::default() }
    }

    fn watched(method: PairMethod, jumped: bool) -> Option<Timeline> {
        let sample = |i: u32| TimelineSample { at_s: f64::from(i) * 0.05, ns: 50.0 };
        let (samples, modes) = ((0..100).map(sample).collect(), Vec::new());
        let change_points_s = if jumped { vec![2.0] } else { Vec::new() };
        Some(Timeline { a: 0, b: 1, method, samples, change_points_s, modes })
    }

    #[test]
    fn only_figures_that_keep_to_one_value_make_a_stable_run() {
        let stable = |pairs: &[(PairMethod, Option<bool>)]| section(pairs).keeps_to_its_values();
        assert_eq!(stable(&[]), None);
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(stable(&[(TURN, yes), (FREE, no)]), yes);
        assert_eq!(stable(&[(TURN, no), (FREE, yes)]), no);
        assert_eq!(stable(&[(FREE, yes)]), yes);
        // A figure of a sample or two does not make the run stable.
        assert_eq!(stable(&[(TURN, None), (FREE, yes)]), None);
        assert_eq!(stable(&[(TURN, None), (TURN, yes)]), yes);
    }

    #[test]
    fn a_watched_pair_that_jumped_makes_the_run_unstable() {
        let (yes, no) = (Some(true), Some(false));
        let with = |pairs: &[(PairMethod, Option<bool>)], timeline| {
            Coherence { timeline, ..section(pairs) }.keeps_to_its_values()
        };
        assert_eq!(with(&[(TURN, yes)], watched(TURN, true)), no);
        assert_eq!(with(&[(TURN, yes)], watched(TURN, false)), yes);
        assert_eq!(with(&[(TURN, no)], watched(TURN, false)), no);
        assert_eq!(with(&[(TURN, None)], watched(TURN, false)), None, "one pair says nothing of the others");
        assert_eq!(with(&[], watched(TURN, false)), yes);
        assert_eq!(with(&[(TURN, yes)], watched(FREE, true)), yes, "how often those change hands is chance");
    }

    fn cell(method: PairMethod, passes: u64) -> Cell {
        let mut cell = Cell::new(method, Home::A, None);
        let samples = vec![Sample { line: 0, value: 40.0 }; 9];
        let begun = Instant::now() - Duration::from_millis(100 * passes);
        for _ in 0..passes {
            let outcome = Outcome { samples: samples.clone(), preempted: 0, rounds: 5 };
            cell.add(Kind::Time(method), &outcome, begun);
        }
        // A visit in which the two never met.
        cell.add(Kind::Time(method), &Outcome::default(), begun);
        cell
    }

    /// Extra passes visit only some cells, and nothing else in the run counts as a visit to a pair.
    #[test]
    fn the_window_is_that_of_the_figure_that_was_looked_at_least() {
        let found = |cells: &[Cell]| window(cells.iter(), None);
        let both = found(&[cell(TURN, 3), cell(TURN, 5), cell(FREE, 1)]).unwrap();
        assert!(both.passes == 3 && (0.3..0.4).contains(&both.span_s), "{both:?}");
        assert_eq!(found(&[cell(FREE, 2)]).unwrap().passes, 2);
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn figures_of_an_earlier_run_bring_its_window() {
        let mut earlier = section(&[(TURN, Some(true))]);
        let kept = Cell::new(TURN, Home::A, Some(earlier.pairs[0].clone()));
        let cells = [kept, cell(TURN, 5)];
        let found = |earlier: &Coherence| window(cells.iter(), Some(earlier));
        assert_eq!(found(&earlier), None, "it does not tell");
        let told = [("least_passes", Value::from(2)), ("least_span_s", Value::from(0.02))];
        earlier.method.parameters = told.map(|(name, value)| (name.to_owned(), value)).into();
        assert_eq!(found(&earlier), Some(Window { passes: 2, span_s: 0.02 }));
    }
}
