//! How much predictions depend on what is assumed or fitted: the same predictions on other machines that agree
//! equally well with what is known.

use super::{Machine, Prediction, Quickest, predict, predict_fork_join, predict_quick};

/// The largest team, in threads, whose range is computed; larger ones take too long.
pub const MOST_VARIED: usize = 512;

/// Records the range of each prediction over these machines and the predicted one. Leaves predictions of more than
/// [`MOST_VARIED`] threads unchanged.
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
                    let (low, high) = one.range.unwrap_or((one.time, one.time));
                    one.range = Some((low.min(other.time), high.max(other.time)));
                }
            }
        }
    }
}

/// Records which other algorithms are quickest on any of these machines, in teams of up to [`MOST_VARIED`] threads.
pub fn add_rivals(winner: &mut Quickest, variants: &[Machine]) {
    let best = &winner.quickest;
    if best.threads > MOST_VARIED {
        return;
    }
    for variant in variants {
        let first =
            predict_quick(variant, best.threads, best.mapping).ok().and_then(|all| all.into_iter().next());
        // Of equals, the one named first wins: another is a rival only if it takes less time.
        let rival = first.filter(|first| first.algorithm != best.algorithm).map(|first| first.algorithm);
        winner.rivals.extend(rival.filter(|rival| !winner.rivals.contains(rival)));
    }
}
