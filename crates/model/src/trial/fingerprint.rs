//! What it can be the fingerprint of that a command takes longer on more CPUs.

use coho_profile::{PlacementTime, Trial};

use super::{differences, family};
use crate::chance::Order;

/// Smaller ratios have many causes.
const MUCH: f64 = 1.3;

/// A guess at why a command takes much longer on more CPUs than on fewer, beyond chance; `None` if it does not. A trial sees
/// times and switches, not lines: it cannot tell more.
///
/// ```
/// use coho_profile::{Estimate, PlacementTime, Trial};
/// let times = Estimate { low: 2.0, high: 2.1, min: 2.0, n: 10, ..Estimate::exact(2.06) };
/// let compact = PlacementTime { name: "compact".into(), cpus: vec![0], ..PlacementTime::default() };
/// let spread = PlacementTime { name: "spread".into(), cpus: vec![0, 1], ..PlacementTime::default() };
/// let placements = vec![compact, PlacementTime { times_best: Some(times), ..spread }];
/// let trial = Trial { placements, best: Some("compact".into()), ..Trial::default() };
/// assert!(coho_model::trial::fingerprint(&trial).unwrap().contains("false sharing"));
/// ```
pub fn fingerprint(trial: &Trial) -> Option<String> {
    let best = trial.placements.iter().find(|one| Some(&one.name) == trial.best.as_ref())?;
    let family = family(trial).beyond(MUCH);
    let is_slower = |one: &&PlacementTime| {
        let times = one.times_best.as_ref().filter(|_| one.cpus.len() > best.cpus.len());
        times.is_some_and(|times| family.compare_to(times, 1.0) == Order::More)
    };
    let slower = trial.placements.iter().find(is_slower)?;
    let mut waits = differences(best, slower).into_iter().filter(|one| one.counter == "voluntary_switches");
    let (name, fewer) = (&slower.name, &best.name);
    Some(match waits.next().filter(|waits| waits.other > waits.best) {
        Some(_) => format!(
            "A guess: under {name}, on more CPUs than {fewer}, it is slower and waits more often, as programs whose threads wake \
             each other do."
        ),
        None => format!(
            "A guess: it is slower under {name}, on more CPUs than {fewer}, as programs whose threads write to one cache line \
             are: by false sharing (their words share a line), by one busy word or by a lock. A trial cannot tell which; `coho \
             contention` measures what such a line costs here."
        ),
    })
}
