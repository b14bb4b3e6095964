//! How much predictions owe to what is assumed or fitted: the same predictions on machines that agree as well with what is
//! known.

use super::{Machine, Prediction, Quickest, predict, predict_fork_join, predict_quick};

/// Threads beyond which a range takes long to simulate.
pub const MOST_VARIED: usize = 512;

/// Notes between which each prediction lies on these machines and the predicted one; leaves those of more than
/// [`MOST_VARIED`] threads as they are.
pub fn add_ranges(predictions: &mut [Prediction], variants: &[Machine]) {
    let mut teams: Vec<_> =
        predictions.iter().map(|one| (one.threads, one.mapping, one.by.is_some())).collect();
    teams.sort_unstable();
    teams.dedup();
    for (threads, mapping, is_fork_join) in teams.into_iter().filter(|(threads, ..)| *threads <= MOST_VARIED)
    {
        for variant in variants {
            let all = if is_fork_join { predict_fork_join } else { predict };
            let Ok(again) = all(variant, threads, mapping) else { continue };
            for other in again {
                let same = |one: &&mut Prediction| {
                    (one.threads, one.mapping, one.by, one.algorithm)
                        == (threads, mapping, other.by, other.algorithm)
                };
                if let Some(one) = predictions.iter_mut().find(same) {
                    let (low, high) = one.range_ns.unwrap_or((one.ns, one.ns));
                    one.range_ns = Some((low.min(other.ns), high.max(other.ns)));
                }
            }
        }
    }
}

/// Notes what else is quickest on one of these machines, in teams of up to [`MOST_VARIED`] threads.
pub fn add_rivals(winner: &mut Quickest, variants: &[Machine]) {
    let best = &winner.quickest;
    if best.threads > MOST_VARIED {
        return;
    }
    for variant in variants {
        let first =
            predict_quick(variant, best.threads, best.mapping).ok().and_then(|all| all.into_iter().next());
        // Of equals the one that is named first wins: another is a rival only if it takes less.
        let rival = first.filter(|first| first.algorithm != best.algorithm).map(|first| first.algorithm);
        winner.rivals.extend(rival.filter(|rival| !winner.rivals.contains(rival)));
    }
}
