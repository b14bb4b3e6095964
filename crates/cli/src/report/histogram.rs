//! Pair times counted by size, split by what is claimed of the pairs.

use std::collections::BTreeMap;

use coho_profile::PairMethod;

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
    let mut by_method: BTreeMap<PairMethod, Vec<(String, f64)>> = BTreeMap::new();
    for pair in coherence.pairs.iter().filter(|pair| scale::is_time(pair.ns.median)) {
        let class = classes::of_pair(pair, subject);
        by_method.entry(pair.method).or_default().push((class, pair.ns.median.log10()));
    }
    by_method.into_iter().map(|(method, pairs)| count(method, &pairs)).collect()
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
