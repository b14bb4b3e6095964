//! Cycles per instruction under coherence events (Kawabe & Furuya, Figs. 4 and 6).

use std::collections::BTreeMap;

use coho_profile::{Coherence, CoherenceTime, Ns, PairMethod, Profile};
use serde::{Serialize, Serializer};

/// The CPI of a class of pairs by the rate of events: CPI = base + events per instruction × cycles.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The class: `on-die`, `1-hop`, or a level's name.
    pub class: String,
    /// Cycles of one coherence event.
    pub cycles: f64,
    /// How `cycles` was measured.
    pub method: PairMethod,
    /// CPI at each requested rate.
    pub points: Vec<Point>,
}

/// One point of a line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Coherence events per 100 instructions.
    pub rate_percent: f64,
    /// Cycles per instruction.
    pub cpi: f64,
}

/// Lines of several profiles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// Cycles per instruction without coherence events.
    pub base_cpi: f64,
    /// The lines, profile by profile.
    pub lines: Vec<SourceLine>,
    /// Why a profile has none, by its name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub not_available: BTreeMap<String, Unavailable>,
}

/// A line of one of several profiles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceLine {
    /// As [`Line::class`].
    pub class: String,
    /// As [`Line::cycles`].
    pub cycles: f64,
    /// As [`Line::points`].
    pub points: Vec<Point>,
    /// The profile's name.
    pub source: String,
    /// As [`Line::method`].
    pub method: PairMethod,
}

impl Prediction {
    /// The [`lines()`] of each profile, which comes with its name.
    pub fn of<'a>(
        profiles: impl Iterator<Item = (&'a str, &'a Profile)>,
        base_cpi: f64,
        rates_percent: &[f64],
        method: Option<PairMethod>,
    ) -> Self {
        let mut prediction = Self { base_cpi, lines: Vec::new(), not_available: BTreeMap::new() };
        for (source, profile) in profiles {
            match lines(profile, base_cpi, rates_percent, method) {
                Ok(lines) => prediction.lines.extend(lines.into_iter().map(|line| line.of(source))),
                Err(reason) => drop(prediction.not_available.insert(source.to_owned(), reason)),
            }
        }
        prediction
    }
}

impl Line {
    fn of(self, source: &str) -> SourceLine {
        let Self { class, cycles, method, points } = self;
        SourceLine { class, cycles, points, source: source.to_owned(), method }
    }
}

/// Why no line can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// The profile has no coherence times.
    NoTimes,
    /// It has none by the requested method.
    NotBy(PairMethod),
    /// It has no times in cycles, and no clock to convert times in ns.
    NoClock,
}

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoTimes => "the profile has no coherence times; `coho coherence` measures them",
            Self::NotBy(PairMethod::Turn) => "the profile has no coherence times by turn",
            Self::NotBy(PairMethod::Flags) => "the profile has no coherence times by flags",
            Self::NotBy(PairMethod::FreeRunning) => {
                "the profile has no coherence times by free-running increments"
            }
            Self::NotBy(PairMethod::Unknown) => "the profile has no coherence times of an unknown method",
            Self::NoClock => "the profile does not give the CPU's clock, which converts ns into cycles",
        })
    }
}

impl std::error::Error for Unavailable {}

impl Serialize for Unavailable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The CPI with this many events per 100 instructions.
///
/// ```
/// // Two E5620, one hop, one event per 100 instructions (Kawabe & Furuya, Fig. 4).
/// assert!((coho_model::cpi::cpi(2.0, 1.0, 272.90) - 4.729).abs() < 1e-9);
/// ```
pub fn cpi(base_cpi: f64, rate_percent: f64, cycles: f64) -> f64 {
    base_cpi + rate_percent / 100.0 * cycles
}

/// A line for each class of a profile's coherence times, nearest first, in the order of the profile.
///
/// Unless a method is named, uses free-running increments where they were measured, as the paper does, and strict
/// alternation otherwise. By `turn`, an event is one change of ownership. A free-running pair may make many
/// increments per change, which is why its lines are lower.
///
/// # Errors
/// If there are no coherence times, none by the method named, or they cannot be given in cycles.
pub fn lines(
    profile: &Profile,
    base_cpi: f64,
    rates_percent: &[f64],
    method: Option<PairMethod>,
) -> Result<Vec<Line>, Unavailable> {
    let clock_ghz = profile.host.as_ref().and_then(|host| host.clock_ghz);
    let coherence = profile.coherence.as_ref().ok_or(Unavailable::NoTimes)?;
    if coherence.coherence_times.is_empty() {
        return Err(Unavailable::NoTimes);
    }
    let times = chosen(coherence, method).ok_or(method.map_or(Unavailable::NoTimes, Unavailable::NotBy))?;
    let line = |time: &CoherenceTime| {
        let cycles = time.coherence_cycles.or_else(|| Some(Ns(time.coherence_ns).cycles(clock_ghz?)))?;
        let point = |&rate_percent| Point { rate_percent, cpi: cpi(base_cpi, rate_percent, cycles) };
        let points = rates_percent.iter().map(point).collect();
        Some(Line { class: time.class.clone(), cycles, method: time.method, points })
    };
    let lines: Option<Vec<Line>> = times.into_iter().map(line).collect();
    lines.ok_or(Unavailable::NoClock)
}

/// The times of a method: the one named, or the paper's where that was measured.
fn chosen(coherence: &Coherence, method: Option<PairMethod>) -> Option<Vec<&CoherenceTime>> {
    [PairMethod::FreeRunning, PairMethod::Turn, PairMethod::Flags, PairMethod::Unknown]
        .into_iter()
        .filter(|known| method.is_none_or(|method| method == *known))
        .map(|method| coherence.coherence_times.iter().filter(|time| time.method == method).collect())
        .find(|times: &Vec<_>| !times.is_empty())
}

#[cfg(test)]
mod tests {
    use coho_profile::{Host, published};

    use super::*;

    fn time(method: PairMethod, coherence_ns: f64) -> CoherenceTime {
        CoherenceTime {
            class: "L3".into(),
            method,
            mean_ns: coherence_ns,
            baseline_ns: 0.0,
            baseline: "smt pair".into(),
            coherence_ns,
            interval_ns: None,
            coherence_cycles: None,
            pairs: 1,
        }
    }

    #[test]
    fn the_papers_lines() {
        let paper = published::read("kawabe-furuya").unwrap();
        let cycles: Vec<Vec<f64>> = paper
            .machines
            .iter()
            .map(|(_, profile)| {
                lines(profile, 2.0, &[0.0], None).unwrap().iter().map(|line| line.cycles).collect()
            })
            .collect();
        assert_eq!(cycles, [vec![65.76, 272.90], vec![57.83, 463.37, 660.67]]);
        let x7560 = lines(&paper.machines[1].1, 2.0, &[0.0, 2.0], None).unwrap();
        let ends: Vec<f64> = x7560[2].points.iter().map(|point| point.cpi).collect();
        assert!((ends[0] - 2.0).abs() < 1e-9 && (ends[1] - 15.2134).abs() < 1e-9, "{ends:?}");
    }

    #[test]
    fn cycles_come_from_the_clock_and_from_the_papers_method_unless_another_is_named() {
        let coherence = Coherence {
            coherence_times: vec![time(PairMethod::FreeRunning, 5.0), time(PairMethod::Turn, 40.0)],
            ..Coherence::default()
        };
        let mut profile = Profile { coherence: Some(coherence), ..Profile::default() };
        assert_eq!(lines(&profile, 2.0, &[1.0], None), Err(Unavailable::NoClock));
        profile.host = Some(Host { clock_ghz: Some(2.5), ..Host::default() });
        let by = |method| lines(&profile, 2.0, &[1.0], method);
        let (free, turn) = (by(None).unwrap(), by(Some(PairMethod::Turn)).unwrap());
        assert_eq!((free.len(), free[0].method, free[0].cycles), (1, PairMethod::FreeRunning, 12.5));
        assert_eq!((turn.len(), turn[0].cycles, turn[0].points[0].cpi), (1, 100.0, 3.0));
        assert_eq!(by(Some(PairMethod::Flags)), Err(Unavailable::NotBy(PairMethod::Flags)));
    }

    #[test]
    fn nothing_is_made_up() {
        assert_eq!(lines(&Profile::default(), 2.0, &[1.0], None), Err(Unavailable::NoTimes));
        let empty = Profile { coherence: Some(Coherence::default()), ..Profile::default() };
        assert_eq!(lines(&empty, 2.0, &[1.0], None), Err(Unavailable::NoTimes));
    }
}
