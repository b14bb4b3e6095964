//! Pair times counted by size, split by what is claimed of the pairs.

use std::collections::{BTreeMap, HashMap};

use coho_profile::{Coherence, PairMethod};

use super::classes;
use super::scale;
use super::subject::Subject;

/// Counts of pairs in steps of equal ratio.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Which method's pairs.
    pub method: PairMethod,
    /// Logarithm (base 10) of the first step's lower end, in ns.
    pub start: f64,
    /// Width of a step in the logarithm.
    pub step: f64,
    /// Counts by class, nearest class first; all of one length.
    pub series: Vec<(String, Vec<u32>)>,
    /// Number of pairs.
    pub pairs: usize,
}

/// A histogram for each method that the profile has pairs of.
pub fn of(subject: &Subject) -> Vec<Histogram> {
    let Some(coherence) = subject.coherence() else { return Vec::new() };
    let found = Found::of(coherence);
    let mut by_method: BTreeMap<PairMethod, Vec<(String, f64)>> = BTreeMap::new();
    for pair in coherence.pairs.iter().filter(|pair| scale::is_time(pair.ns.median)) {
        let class = match &pair.claimed {
            Some(_) => classes::of_pair(pair, subject),
            None => found.class(pair.a, pair.b),
        };
        by_method.entry(pair.method).or_default().push((class, pair.ns.median.log10()));
    }
    by_method.into_iter().map(|(method, pairs)| count(method, &pairs)).collect()
}

/// The groups that the figures show, for pairs of which nothing is claimed.
struct Found {
    /// Each CPU's group, by level, finest first.
    levels: Vec<HashMap<u32, usize>>,
}

impl Found {
    fn of(coherence: &Coherence) -> Self {
        let members = |groups: &[Vec<u32>]| {
            let numbered = groups.iter().enumerate();
            numbered.flat_map(|(group, cpus)| cpus.iter().map(move |&cpu| (cpu, group))).collect()
        };
        Self { levels: coherence.levels.iter().map(|level| members(&level.groups)).collect() }
    }

    /// `within level 1`, the finest that holds both CPUs.
    fn class(&self, a: u32, b: u32) -> String {
        let both =
            |groups: &HashMap<u32, usize>| groups.get(&a).is_some_and(|group| groups.get(&b) == Some(group));
        match self.levels.iter().position(both) {
            Some(level) => format!("within level {}", level + 1),
            None if self.levels.is_empty() => "not claimed".to_owned(),
            None => "across all levels".to_owned(),
        }
    }
}

fn count(method: PairMethod, pairs: &[(String, f64)]) -> Histogram {
    let low = pairs.iter().map(|(_, log)| *log).fold(f64::INFINITY, f64::min);
    let high = pairs.iter().map(|(_, log)| *log).fold(f64::NEG_INFINITY, f64::max);
    // A step is never narrower than 0.5 %: finer than that is noise.
    let steps = (2.0 * (pairs.len() as f64).sqrt()).clamp(12.0, 60.0);
    let step = ((high - low) / steps).max(0.0022);
    let bins = ((high - low) / step).floor() as usize + 1;
    let mut counts: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (class, log) in pairs {
        let bin = (((log - low) / step) as usize).min(bins - 1);
        counts.entry(class).or_insert_with(|| vec![0; bins])[bin] += 1;
    }
    let mut series: Vec<_> = counts.into_iter().map(|(class, counts)| (class.to_owned(), counts)).collect();
    series.sort_by(|a, b| classes::rank(&a.0).cmp(&classes::rank(&b.0)));
    Histogram { method, start: low, step, series, pairs: pairs.len() }
}

impl Histogram {
    /// The times, in ns, between which step `bin` lies.
    pub fn ends(&self, bin: usize) -> (f64, f64) {
        let end = |bin: usize| 10f64.powf(self.start + self.step * bin as f64);
        (end(bin), end(bin + 1))
    }

    /// Whether there are enough pairs to speak of a distribution; fewer are a table.
    pub fn is_telling(&self) -> bool {
        self.pairs >= 4
    }

    /// Whether one class's heap would hide beside another's.
    pub fn lopsided(&self) -> bool {
        let heaps = || self.series.iter().filter_map(|(_, counts)| counts.iter().max());
        heaps().max().copied().unwrap_or(0) > 50 * heaps().min().copied().unwrap_or(0)
    }

    /// Ends (log10) of an axis on which a single pair still shows.
    pub fn log_range(&self) -> Vec<f64> {
        let most = self.series.iter().flat_map(|(_, counts)| counts).max().copied().unwrap_or(1);
        vec![-0.3, (f64::from(most) * 1.5).log10()]
    }

    /// How many steps there are.
    pub fn bins(&self) -> usize {
        self.series.first().map_or(0, |(_, counts)| counts.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_is_claimed_the_found_groups_are_the_classes() {
        let level = |groups: &[&[u32]]| coho_profile::Level {
            groups: groups.iter().map(|group| group.to_vec()).collect(),
            max_inside_ns: 1.0,
            min_across_ns: 2.0,
        };
        let levels = vec![level(&[&[0, 1], &[2, 3], &[4]]), level(&[&[0, 1, 2, 3], &[4]])];
        let found = Found::of(&Coherence { levels, ..Coherence::default() });
        assert_eq!(found.class(0, 1), "within level 1");
        assert_eq!(found.class(1, 2), "within level 2");
        assert_eq!(found.class(1, 4), "across all levels");
    }

    #[test]
    fn every_pair_is_counted_once_within_its_ends() {
        let subject = Subject::load("published:kawabe-furuya/x7560").unwrap().remove(0);
        let histograms = of(&subject);
        assert_eq!(histograms.len(), 1);
        let histogram = &histograms[0];
        let names: Vec<_> = histogram.series.iter().map(|(class, _)| class.as_str()).collect();
        assert_eq!(names, ["smt", "on-die", "1-hop", "2-hop"]);
        let counted: u32 = histogram.series.iter().flat_map(|(_, counts)| counts).sum();
        assert_eq!(counted as usize, subject.coherence().unwrap().pairs.len());
        let smt = histogram.series[0].1.iter().position(|&count| count == 1).unwrap();
        let (low, high) = histogram.ends(smt);
        assert!((low..=high).contains(&13.29) || (low / 13.29 - 1.0).abs() < 1e-9, "{low} {high}");
    }
}
