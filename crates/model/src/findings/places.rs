//! What the distances at which one pair of CPUs was seen look like on machines whose places are known.

use coho_profile::{Coherence, PairMethod, Profile};

use crate::barrier::FarthestPair;
use crate::words::{listed, number};

/// Times of one hand-over in the published matrices of x86 machines, in ns: within them a pair is at such a place, and no pair
/// at another.
const PLACES: [(f64, f64, &str); 3] = [
    (5.0, 16.0, "two threads of a core"),
    (18.0, 65.0, "cores that share an L3"),
    (75.0, 1000.0, "cores of two L3 caches"),
];

/// A guess at where a pair was that was seen at times of several places; `None` where all are of one, or of none.
pub(super) fn guess(profile: &Profile) -> Option<String> {
    let coherence = profile.coherence.as_ref()?;
    if profile
        .host
        .as_ref()
        .is_some_and(|host| host.architecture.as_deref().is_some_and(|name| name != "x86_64"))
    {
        return None;
    }
    let mut times = seen(coherence);
    // The places are known by their times in turn.
    let apart = FarthestPair::of(profile).filter(|apart| apart.method == PairMethod::Turn);
    times.extend(apart.iter().flat_map(|apart| [apart.pairs, apart.barriers]));
    let looks = PLACES.iter().filter_map(|(low, high, place)| {
        let mut there: Vec<f64> = times.iter().copied().filter(|ns| (*low..=*high).contains(ns)).collect();
        there.sort_by(f64::total_cmp);
        Some(format!("{} ns is what {place} take", number(*there.get(there.len().checked_sub(1)? / 2)?)))
    });
    let looks: Vec<String> = looks.collect();
    (looks.len() > 1).then(|| format!("A guess, by other machines: {}.", listed(&looks)))
}

/// All values at which one pair was seen: the watched one, else the one that jumped between most.
fn seen(coherence: &Coherence) -> Vec<f64> {
    let watched = coherence.timeline.iter().map(|timeline| (timeline.a, timeline.b, &timeline.modes));
    let jumped = coherence.judged().into_iter().filter(|pair| pair.ns.modes.len() > 1);
    let mut all = watched.chain(jumped.map(|pair| (pair.a, pair.b, &pair.ns.modes))).collect::<Vec<_>>();
    all.sort_by_key(|(.., modes)| std::cmp::Reverse(modes.len()));
    let modes = all.first().map_or(&[][..], |(.., modes)| modes.as_slice());
    let history = coherence.history.iter().filter(|history| history.disagree > 0);
    modes
        .iter()
        .map(|mode| mode.value)
        .chain(history.flat_map(|history| history.modes_ns.iter().copied()))
        .collect()
}

#[cfg(test)]
mod tests {
    use coho_profile::{History, Mode, Timeline};

    use super::*;

    fn profile(watched: &[f64], surveys: &[f64]) -> Profile {
        let modes = watched.iter().map(|&value| Mode { value, share: 1.0 / watched.len() as f64 }).collect();
        let (samples, change_points_s) = (Vec::new(), Vec::new());
        let timeline = Timeline { a: 0, b: 1, method: PairMethod::Turn, samples, change_points_s, modes };
        let history = History { surveys: 3, disagree: 1, modes_ns: surveys.to_vec() };
        let coherence =
            Coherence { timeline: Some(timeline), history: Some(history), ..Coherence::default() };
        Profile { coherence: Some(coherence), ..Profile::default() }
    }

    #[test]
    fn each_place_is_named_with_the_time_that_looks_like_it() {
        assert_eq!(
            guess(&profile(&[26.9, 10.2], &[105.0])).as_deref(),
            Some(
                "A guess, by other machines: 10.2 ns is what two threads of a core take, 26.9 ns is what cores that share \
                 an L3 take and 105 ns is what cores of two L3 caches take."
            )
        );
        assert!(guess(&profile(&[26.0, 110.0], &[])).is_some());
    }

    #[test]
    fn times_of_one_place_or_of_none_are_not_guessed_at() {
        assert_eq!(guess(&profile(&[26.0, 55.0], &[])), None);
        assert_eq!(guess(&profile(&[17.0, 70.0], &[])), None);
        let mut arm = profile(&[26.0, 110.0], &[]);
        arm.host = Some(coho_profile::Host { architecture: Some("aarch64".into()), ..Default::default() });
        assert_eq!(guess(&arm), None);
    }
}
