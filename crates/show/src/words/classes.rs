//! Classes of pairs by what is claimed of them: their papers' names and order.

use coho_profile::Pair;

use crate::Subject;

/// The class of a pair after its claimed level, as [`class_of`].
pub fn class_of_pair(pair: &Pair, subject: &Subject) -> String {
    class_of(pair.claimed.as_deref().unwrap_or("not claimed"), subject)
}

/// A claimed level or class under the papers' name where it has one (Kawabe & Furuya: SMT pair, on-die, 1 hop, 2 hops),
/// so that profiles and publications can be set side by side.
///
/// CPUs that share no more than their package are on one die if it has no L3 or die of which they could share less.
/// Between packages, a machine of two has one hop; of more, the claim does not say how many, and `system` stays.
pub fn class_of(level: &str, subject: &Subject) -> String {
    let packages = subject.topology().map(|topology| topology.packages.len());
    match level.to_ascii_lowercase().as_str() {
        "core" | "smt" => "smt".to_owned(),
        "l3" | "die" | "on-die" => "on-die".to_owned(),
        "package" | "numa node" if subject.packages_are_dies() => "on-die".to_owned(),
        "system" if packages == Some(2) => "1-hop".to_owned(),
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
pub fn class_rank(class: &str) -> (usize, &str) {
    let lower = if class == "numa" { "numa node" } else { class };
    (ORDER.iter().position(|known| *known == lower).unwrap_or(ORDER.len()), class)
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
        assert_eq!(class_of("core", &two), "smt");
        assert_eq!(class_of("L3", &two), "on-die");
        assert_eq!(class_of("system", &two), "1-hop");
        assert_eq!(class_of("system", &paper("x7560")), "system");
        // A package with one L3 is one die; with several it is not.
        assert_eq!(class_of("package", &two), "on-die");
        two.profile.topology.as_mut().unwrap().counts.l3 = 8;
        assert_eq!(class_of("package", &two), "package");
    }

    #[test]
    fn classes_sort_nearest_first() {
        let mut classes = ["2-hop", "smt", "zebra", "package", "on-die", "1-hop"];
        classes.sort_by_key(|class| class_rank(class));
        assert_eq!(classes, ["smt", "on-die", "package", "1-hop", "2-hop", "zebra"]);
    }
}
