//! Which placement to choose after a trial.

use coho_profile::{PlacementTime, Trial};

/// The placement to run a command under by its trial; `None` leaves it to the scheduler. Placements that are worse
/// than another beyond chance are dropped. Of the rest, the scheduler's own choice is kept if it is among them;
/// otherwise the one with the smallest median is taken. If no placement is worse than another, nothing is known to be
/// better than the scheduler's choice.
///
/// ```
/// use coho_profile::{PlacementTime, Trial};
/// let placement = |name: &str| PlacementTime { name: name.into(), ..PlacementTime::default() };
/// let trial = Trial {
///     placements: ["none", "compact", "l3"].map(placement).to_vec(),
///     best: Some("compact".into()),
///     winners: vec!["compact".into(), "l3".into()],
///     ..Trial::default()
/// };
/// assert_eq!(coho_model::trial::choice(&trial), Some("compact"));
/// ```
pub fn choice(trial: &Trial) -> Option<&str> {
    let best = trial.best.as_deref()?;
    let wins = |one: &PlacementTime| {
        let measured = one.same_as.as_ref().unwrap_or(&one.name);
        trial.winners.contains(measured)
    };
    let scheduler = trial.placements.iter().find(|one| one.name == "none");
    let all_win = trial.placements.iter().all(wins);
    if all_win || scheduler.is_some_and(wins) {
        return None;
    }
    if trial.winners.iter().any(|winner| winner == best) {
        return Some(best);
    }
    let median = |name: &String| {
        let placement = trial.placements.iter().find(|one| one.name == *name);
        placement.and_then(|one| one.seconds.as_ref()).map_or(f64::INFINITY, |seconds| seconds.median)
    };
    trial.winners.iter().min_by(|a, b| median(a).total_cmp(&median(b))).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(placements: &[&str], winners: &[&str], decided: bool) -> Trial {
        let placement = |name: &&str| PlacementTime { name: (*name).into(), ..PlacementTime::default() };
        Trial {
            placements: placements.iter().map(placement).collect(),
            best: Some(winners.first().unwrap_or(&"compact").to_string()),
            winners: winners.iter().map(|name| (*name).to_owned()).collect(),
            decided,
            ..Trial::default()
        }
    }

    #[test]
    fn what_is_beyond_chance_worse_is_left_and_nothing_else() {
        let all = ["compact", "none", "spread"];
        for (placements, winners, decided, expected) in [
            // Two equal winners do not keep it where a third is far worse.
            (&all[..], &["compact", "spread"][..], false, Some("compact")),
            (&all, &["spread"], true, Some("spread")),
            (&all, &["compact", "none"], false, None),
            (&all, &["compact", "none", "spread"], false, None),
            (&["compact", "spread"], &["compact", "spread"], false, None),
        ] {
            assert_eq!(choice(&trial(placements, winners, decided)), expected, "{winners:?}");
        }
        let mut same = trial(&["spread", "none", "compact"], &["spread"], true);
        same.placements[1].same_as = Some("spread".into());
        assert_eq!(choice(&same), None, "the scheduler's choice is the winner's");
        assert_eq!(choice(&Trial::default()), None);
    }
}
