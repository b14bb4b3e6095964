//! Classes of pairs by what is claimed of them: their papers' names, order and colours.

use coho_profile::{Home, Pair, PairMethod};

use super::subject::Subject;

/// The class of a pair after its claimed level, as [`named`].
pub fn of_pair(pair: &Pair, subject: &Subject) -> String {
    named(pair.claimed.as_deref().unwrap_or("not claimed"), subject)
}

/// A claimed level or class under the papers' name where it has one (Kawabe & Furuya: SMT pair, on-die, 1 hop, 2 hops),
/// so that profiles and publications can be set side by side.
///
/// CPUs that share no more than their package are on one die if it has no L3 or die of which they could share less.
/// Between packages a machine of two has one hop; of more, the claim does not tell how many, and `system` stays.
pub fn named(level: &str, subject: &Subject) -> String {
    match level.to_ascii_lowercase().as_str() {
        "core" | "smt" => "smt".to_owned(),
        "l3" | "die" | "on-die" => "on-die".to_owned(),
        "package" | "numa node" if subject.packages_are_dies() => "on-die".to_owned(),
        "system" if subject.packages() == 2 => "1-hop".to_owned(),
        "1 hop" => "1-hop".to_owned(),
        "2 hops" | "2 hop" => "2-hop".to_owned(),
        lower => lower.to_owned(),
    }
}

/// Nearest first.
const ORDER: [&str; 13] = [
    "smt",
    "module",
    "l2",
    "on-die",
    "numa node",
    "package",
    "1-hop",
    "2-hop",
    "system",
    "within level 1",
    "within level 2",
    "within level 3",
    "across all levels",
];

/// Sorts classes nearest first, unknown ones behind by name.
pub fn rank(class: &str) -> (usize, &str) {
    let lower = if class == "numa" { "numa node" } else { class };
    (ORDER.iter().position(|known| *known == lower).unwrap_or(ORDER.len()), class)
}

/// Okabe and Ito's colours, that people with colour-blindness tell apart; readable on light and dark ground.
const COLOURS: [&str; 7] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c8c8c"];

/// A class's colour: the same in every chart.
pub fn colour(class: &str) -> &'static str {
    match class {
        "smt" => COLOURS[4],
        "module" | "l2" => COLOURS[2],
        "on-die" => COLOURS[0],
        "package" | "numa" | "numa node" => COLOURS[3],
        "1-hop" | "system" => COLOURS[1],
        "2-hop" => COLOURS[5],
        "within level 1" => COLOURS[4],
        "within level 2" => COLOURS[0],
        "within level 3" => COLOURS[3],
        "across all levels" => COLOURS[1],
        _ => COLOURS[6],
    }
}

/// A colour for the `index`-th of things that are no classes.
pub fn colour_at(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// The method's name as it stands in profiles.
pub fn method_name(method: PairMethod) -> &'static str {
    match method {
        PairMethod::Turn => "turn",
        PairMethod::Flags => "flags",
        PairMethod::FreeRunning => "free-running",
        PairMethod::Unknown => "unknown",
    }
}

/// Where a pair's line lives, as it stands in profiles.
pub fn home_name(home: Home) -> &'static str {
    match home {
        Home::A => "a",
        Home::B => "b",
        Home::Third => "third",
        Home::Unknown => "unknown",
    }
}

/// What a figure of this method is, for captions.
pub fn method_meaning(method: PairMethod) -> &'static str {
    match method {
        PairMethod::Turn => {
            "strict alternation by compare-and-swap on one line: time per step, one ownership transfer each"
        }
        PairMethod::Flags => {
            "strict alternation by plain stores on two lines: time per step, two transfers each"
        }
        PairMethod::FreeRunning => {
            "both CPUs increment one line with the lock prefix as fast as they can (Kawabe & Furuya): time per increment and \
             CPU; many increments may happen in one ownership, so it is not a transfer's time"
        }
        PairMethod::Unknown => "the source does not say what was done",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paper(machine: &str) -> Subject {
        Subject::load(&format!("published:kawabe-furuya/{machine}")).unwrap().remove(0)
    }

    #[test]
    fn claimed_levels_take_the_papers_names_where_these_are_certain() {
        let mut two = paper("e5620");
        assert_eq!(named("core", &two), "smt");
        assert_eq!(named("L3", &two), "on-die");
        assert_eq!(named("system", &two), "1-hop");
        assert_eq!(named("system", &paper("x7560")), "system");
        // The paper tells of no L3; where there are several, a package is no die.
        assert_eq!(named("package", &two), "on-die");
        two.profile.topology.as_mut().unwrap().counts.l3 = 8;
        assert_eq!(named("package", &two), "package");
    }

    #[test]
    fn classes_sort_nearest_first() {
        let mut classes = ["2-hop", "smt", "zebra", "package", "on-die", "1-hop"];
        classes.sort_by_key(|class| rank(class));
        assert_eq!(classes, ["smt", "on-die", "package", "1-hop", "2-hop", "zebra"]);
    }
}
