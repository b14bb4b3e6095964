//! Which of the machines whose times between CPUs are published is most like a profile's.

use std::sync::LazyLock;

use coho_profile::{Coherence, Estimate, PairMethod, Profile, published};
use serde::Serialize;

use crate::{Class, Error, Matrix, judge};

/// The cost of a class that lacks a counterpart it should have: as much as one of twice the time.
const UNMATCHED: f64 = std::f64::consts::LN_2;

/// How much two CPUs' names have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kinship {
    /// The same CPU.
    Cpu,
    /// Another CPU of the same vendor.
    Vendor,
    /// Another vendor's, or one of them has no name.
    None,
}

/// A published machine beside a profile's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Likeness {
    /// Its name after `published:`: `kcores/epyc-7302`.
    pub machine: String,
    /// Its CPU.
    pub cpu: String,
    /// What the CPUs' names have in common.
    pub kinship: Kinship,
    /// How many CPUs were measured, here and there.
    pub cpus: [usize; 2],
    /// The classes of pairs of both machines side by side, nearest first. A class without a counterpart stands alone.
    pub classes: Vec<Beside>,
    /// The factor by which the times of a class differ, as a geometric mean; 1.0 if they do not. A class that has no
    /// counterpart and should have one counts as twice the time.
    pub factor: f64,
}

/// A class of pairs on this machine, on the other, or on both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Beside {
    /// Its time here, in ns.
    pub here_ns: Option<Estimate>,
    /// Its time there, in ns.
    pub there_ns: Option<f64>,
    /// Here over there.
    pub ratio: Option<f64>,
    /// How many pairs belong to it, here and there.
    pub pairs: [u64; 2],
}

/// Every published machine whose pairs were timed by compare-and-swap in turn, the one most like this first: first those
/// of the same CPU, then those of the same vendor, and in each of these the ones with the most alike times.
///
/// ```
/// let profile = coho_profile::published::read("core-to-core-latency/ryzen-5950x")?.machines.remove(0).1;
/// let all = coho_model::nearest(&profile)?;
/// assert_eq!((all[0].machine.as_str(), all[0].factor), ("core-to-core-latency/ryzen-5950x", 1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the profile has no such times.
pub fn nearest(profile: &Profile) -> Result<Vec<Likeness>, Error> {
    let here = Timed::of(profile).ok_or_else(|| {
        Error::new("the profile has no times of pairs of CPUs by compare-and-swap in turn: measure them by `coho coherence`")
    })?;
    let mut all: Vec<Likeness> = PUBLISHED.iter().map(|(name, there)| here.beside(name, there)).collect();
    all.sort_by(|a, b| a.kinship.cmp(&b.kinship).then(a.factor.total_cmp(&b.factor)));
    Ok(all)
}

/// The published machines, by their names.
static PUBLISHED: LazyLock<Vec<(String, Timed)>> = LazyLock::new(|| {
    let named = published::PAPERS.iter().flat_map(|paper| {
        let machines = paper.publication().machines.into_iter();
        machines.map(move |(machine, profile)| (format!("{}/{machine}", paper.name), profile))
    });
    named.filter_map(|(name, profile)| Some((name, Timed::of(&profile)?))).collect()
});

/// A machine by its pairs' times.
struct Timed {
    cpu: String,
    cpus: usize,
    classes: Vec<Class>,
}

impl Timed {
    fn of(profile: &Profile) -> Option<Self> {
        let coherence =
            profile.coherence.as_ref().filter(|coherence| method(coherence) == Some(PairMethod::Turn))?;
        let cpus = Matrix::of(coherence)?.len();
        let mut classes = judge::coherence(profile).classes;
        classes.retain(|class| class.ns.median > 0.0);
        let cpu = profile.host.as_ref().and_then(|host| host.cpu.clone()).unwrap_or_default();
        (!classes.is_empty()).then_some(Self { cpu, cpus, classes })
    }

    fn beside(&self, machine: &str, there: &Self) -> Likeness {
        let (classes, factor) = set_beside(&self.classes, &there.classes, 2 * self.cpus >= there.cpus);
        Likeness {
            machine: machine.to_owned(),
            cpu: there.cpu.clone(),
            kinship: kinship(&self.cpu, &there.cpu),
            cpus: [self.cpus, there.cpus],
            classes,
            factor,
        }
    }
}

/// How the times were measured that the classes are found in.
fn method(coherence: &Coherence) -> Option<PairMethod> {
    match &coherence.matrix {
        Some(_) => Some(coherence.matrix_method),
        None => Matrix::best_method(&coherence.pairs).map(|(method, _)| method),
    }
}

/// What the names have in common: of the same CPU, a brand string holds every word of a published name.
fn kinship(brand: &str, published: &str) -> Kinship {
    let words = |name: &str| -> Vec<String> {
        let parts =
            name.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').filter(|word| !word.is_empty());
        parts.map(str::to_lowercase).collect()
    };
    let (brand, mut published) = (words(brand), words(published));
    if published.get(1).is_some_and(|word| word == "x") {
        published.drain(..2);
    }
    match published.first() {
        Some(_) if published.iter().all(|word| brand.contains(word)) => Kinship::Cpu,
        Some(vendor) if brand.contains(vendor) => Kinship::Vendor,
        _ => Kinship::None,
    }
}

/// Classes in the order of their times, each beside at most one of the other machine, so that their times differ least.
/// Classes there may stand alone at no cost unless `whole`: a part of a machine need not have them all.
fn set_beside(here: &[Class], there: &[Class], whole: bool) -> (Vec<Beside>, f64) {
    let (n, m) = (here.len(), there.len());
    let off = |i: usize, j: usize| (here[i].ns.median / there[j].ns.median).ln().abs();
    let alone_there = if whole { UNMATCHED } else { 0.0 };
    // The least cost of the classes from i and j on.
    let mut cost = vec![vec![0.0_f64; m + 1]; n + 1];
    for i in (0..=n).rev() {
        for j in (0..=m).rev() {
            let both = if i < n && j < m { off(i, j) + cost[i + 1][j + 1] } else { f64::INFINITY };
            let only_here = if i < n { UNMATCHED + cost[i + 1][j] } else { f64::INFINITY };
            let only_there = if j < m { alone_there + cost[i][j + 1] } else { f64::INFINITY };
            cost[i][j] = if i == n && j == m { 0.0 } else { both.min(only_here).min(only_there) };
        }
    }
    let (mut i, mut j, mut counted) = (0, 0, 0);
    let mut all = Vec::new();
    while i < n || j < m {
        let is = |next: f64| (cost[i][j] - next).abs() < 1e-9;
        let (one, other) = if i < n && j < m && is(off(i, j) + cost[i + 1][j + 1]) {
            (Some(&here[i]), Some(&there[j]))
        } else if j < m && is(alone_there + cost[i][j + 1]) {
            (None, Some(&there[j]))
        } else {
            (Some(&here[i]), None)
        };
        i += usize::from(one.is_some());
        j += usize::from(other.is_some());
        counted += usize::from(one.is_some() || whole);
        all.push(Beside {
            here_ns: one.map(|class| class.ns.clone()),
            there_ns: other.map(|class| class.ns.median),
            ratio: one.zip(other).map(|(one, other)| one.ns.median / other.ns.median),
            pairs: [one, other].map(|class| class.map_or(0, |class| class.pairs)),
        });
    }
    (all, (cost[0][0] / counted.max(1) as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(times: &[f64]) -> Vec<Class> {
        let class =
            |&ns: &f64| Class { name: String::new(), ns: Estimate::exact(ns), cycles: None, pairs: 1 };
        times.iter().map(class).collect()
    }

    #[test]
    fn a_part_of_a_machine_need_not_have_all_its_classes() {
        let (all, factor) = set_beside(&classes(&[110.0]), &classes(&[10.0, 25.0, 108.0, 198.0]), false);
        let there: Vec<_> =
            all.iter().map(|class| (class.ratio.is_some(), class.there_ns.unwrap())).collect();
        assert_eq!(there, [(false, 10.0), (false, 25.0), (true, 108.0), (false, 198.0)]);
        assert!((factor - 110.0 / 108.0).abs() < 1e-9, "{factor}");
    }

    #[test]
    fn a_whole_machine_lacks_nothing_for_free() {
        let (all, factor) = set_beside(&classes(&[10.0, 100.0]), &classes(&[10.0, 30.0, 100.0]), true);
        assert_eq!(all.iter().filter(|class| class.ratio == Some(1.0)).count(), 2);
        assert!((factor - 2.0_f64.powf(1.0 / 3.0)).abs() < 1e-9, "{factor}");
        let (all, factor) = set_beside(&classes(&[10.0, 30.0, 100.0]), &classes(&[10.0]), false);
        assert_eq!(all.iter().filter(|class| class.there_ns.is_none()).count(), 2);
        assert!((factor - 4.0_f64.powf(1.0 / 3.0)).abs() < 1e-9, "{factor}");
    }

    #[test]
    fn the_same_cpu_is_known_by_its_name() {
        let of = |brand: &str, published: &str| kinship(brand, published);
        for (brand, published) in [
            ("AMD EPYC 7R13 Processor", "2 x AMD EPYC 7R13"),
            ("Intel(R) Xeon(R) Gold 6242 CPU @ 2.80GHz", "2 x Intel Xeon Gold 6242"),
            ("Intel(R) Core(TM)2 Quad CPU    Q9550  @ 2.83GHz", "Intel Core 2 Quad Q9550"),
            ("12th Gen Intel(R) Core(TM) i9-12900K", "Intel Core i9-12900K"),
            ("Intel(R) Xeon(R) CPU E5-2697 v3 @ 2.60GHz", "Intel Xeon E5-2697 v3"),
        ] {
            assert_eq!(of(brand, published), Kinship::Cpu, "{brand}");
        }
        assert_eq!(of("AMD Ryzen 9 7950X3D 16-Core Processor", "AMD Ryzen 9 7950X"), Kinship::Vendor);
        assert_eq!(of("AMD EPYC", "2 x AMD EPYC 7601"), Kinship::Vendor);
        assert_eq!(of("AMD EPYC", "Apple M1 Pro"), Kinship::None);
        assert_eq!(of("", "Apple M1 Pro"), Kinship::None);
    }

    /// Each published machine is nearest to itself, also without its name.
    #[test]
    fn each_published_machine_is_nearest_to_itself() {
        for paper in published::PAPERS.iter().filter(|paper| !paper.matrices.is_empty()) {
            for (machine, mut profile) in paper.publication().machines {
                let name = format!("{}/{machine}", paper.name);
                let first = &nearest(&profile).unwrap()[0];
                assert_eq!((&first.machine, first.kinship, first.factor), (&name, Kinship::Cpu, 1.0));
                profile.host = None;
                let first = &nearest(&profile).unwrap()[0];
                assert_eq!((&first.machine, first.kinship), (&name, Kinship::None));
            }
        }
        let of_increments = published::paper("kawabe-furuya").machine();
        assert!(nearest(&of_increments).unwrap_err().to_string().contains("coho coherence"));
    }
}
