//! Figures with their intervals, and the bounds that claims set for them.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use coho_profile::published::PAPERS;
use coho_profile::{Estimate, Inexact, Method, Profile};
use coho_topology::{Sharing, Topology};

use super::Verdict;
use crate::chance::Family;
pub(super) use crate::range::Range;
use crate::signs::{between, with_minus};
use crate::words::{self, SENSIBLE};

/// All conclusions, which stand on one page.
pub(super) fn family() -> Family {
    static COUNTED: LazyLock<usize> = LazyLock::new(|| PAPERS.iter().map(|paper| paper.claims.len()).sum());
    Family::of(*COUNTED)
}

/// What is judged.
pub(super) struct Context<'a> {
    pub(super) profile: &'a Profile,
    /// Whether its figures come from print, where they have no interval.
    pub(super) published: bool,
    kinds_of_pairs: OnceCell<Option<Vec<(String, u32, u32)>>>,
}

/// The evidence on a claim.
pub(super) struct Evidence {
    pub(super) parts: Vec<Part>,
    /// Parts of the claim without a figure. The claim cannot hold without them.
    pub(super) lacks: Vec<Lack>,
    /// How it was measured.
    pub(super) how: String,
}

/// One figure of the evidence: all must be on the claim's side.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    /// What the figure is of; empty if it is the only one.
    pub(super) what: String,
    pub(super) range: Range,
    /// The paper's words, where it gives no exact figure.
    pub(super) inexact: Option<Inexact>,
}

/// Why there is no figure.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Lack {
    /// It was not measured, or too few times: the claim's command measures it.
    Unmeasured(String),
    /// As [`Unmeasured`](Self::Unmeasured), but this command measures it.
    MeasuredBy(String, String),
    /// The machine, as the run found it, lacks something the figure needs, or no profile can hold it: no command
    /// would help.
    Unmeasurable(String),
    /// One of the above, with the nearest figures by another method than the paper's. They are shown but judge
    /// nothing.
    Beside(Box<Self>, Vec<Part>, &'static str),
}

impl Lack {
    pub(super) fn why(&self) -> &str {
        match self {
            Self::Unmeasured(why) | Self::MeasuredBy(why, _) | Self::Unmeasurable(why) => why,
            Self::Beside(lack, ..) => lack.why(),
        }
    }

    /// Whether no command would help.
    pub(super) fn is_final(&self) -> bool {
        match self {
            Self::Unmeasurable(_) => true,
            Self::Beside(lack, ..) => lack.is_final(),
            Self::Unmeasured(_) | Self::MeasuredBy(..) => false,
        }
    }

    /// The command that measures it, if that is not the claim's own.
    pub(super) fn command(&self) -> Option<&str> {
        match self {
            Self::MeasuredBy(_, command) => Some(command),
            Self::Beside(lack, ..) => lack.command(),
            Self::Unmeasured(_) | Self::Unmeasurable(_) => None,
        }
    }
}

impl From<String> for Lack {
    fn from(why: String) -> Self {
        Self::Unmeasured(why)
    }
}

impl From<&str> for Lack {
    fn from(why: &str) -> Self {
        Self::Unmeasured(why.to_owned())
    }
}

/// How many times `b` the figure `a` is.
pub(super) fn divided(a: Range, b: Range) -> Result<Range, Lack> {
    a.over(b).ok_or_else(|| "the interval of the ratio's divisor reaches 0".into())
}

/// The bound that a claim sets for a figure.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bound {
    AtLeast(f64),
    AtMost(f64),
    Within(f64, f64),
}

/// The unit of a figure.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unit {
    /// One figure over another.
    Times,
    Share,
    Ns,
    Kib,
    Lines,
    Cpi,
}

fn kinds_of_pairs(topology: &Topology, cpus: &[u32]) -> Vec<(String, u32, u32)> {
    let sharing = Sharing::of(topology);
    let node = |cpu: u32| topology.numa_nodes.iter().position(|node| node.cpus.contains(cpu));
    let nodes: Vec<Option<usize>> = cpus.iter().map(|&cpu| node(cpu)).collect();
    let mut kinds = BTreeMap::new();
    for (i, &a) in cpus.iter().enumerate() {
        for (j, &b) in cpus.iter().enumerate().skip(i + 1) {
            kinds.entry((sharing.closest(a, b), nodes[i], nodes[j])).or_insert((a, b));
        }
    }
    kinds.into_values().map(|(a, b)| (sharing.claimed(a, b), a, b)).collect()
}

impl<'a> Context<'a> {
    pub(super) fn new(profile: &'a Profile, published: bool) -> Self {
        Self { profile, published, kinds_of_pairs: OnceCell::new() }
    }

    /// The range in which a figure lies.
    ///
    /// # Errors
    /// If it has none, with the reason.
    pub(super) fn range(&self, what: &str, estimate: Option<&Estimate>) -> Result<Range, Lack> {
        let Some(estimate) = estimate.filter(|estimate| estimate.median.is_finite()) else {
            return Err(format!("{what} was not measured").into());
        };
        let Estimate { median: value, low, high, n, .. } = *estimate;
        if self.published {
            return Ok(Range { value, low, high });
        }
        let family = family();
        let (low, high) = family.ends(estimate).ok_or_else(|| {
            let samples = if n == 1 { "one sample".to_owned() } else { format!("{n} samples") };
            let (confidence, fewest) = (100.0 * family.confidence(), family.fewest_rounds());
            format!("{what} has {samples}, and an interval of {confidence:.1} % takes {fewest}")
        })?;
        Ok(Range { value, low, high })
    }

    /// The CPUs that the run could use, or that the machine has; `None` where the profile names neither.
    pub(super) fn cpus(&self) -> Option<Vec<u32>> {
        let allowed = self.profile.host.as_ref().map(|host| host.allowed_cpus.clone());
        let known = || {
            let topology = &self.profile.topology.as_ref()?.topology;
            Some(topology.pus.iter().map(|pu| pu.os).collect())
        };
        allowed.filter(|cpus| !cpus.is_empty()).or_else(known).filter(|cpus: &Vec<u32>| !cpus.is_empty())
    }

    /// Of the pairs of CPUs that the run could use, one for each thing that the topology may claim about a pair: what
    /// both share, and the NUMA nodes that they are near. `None` where the CPUs or the topology are not known.
    pub(super) fn kinds_of_pairs(&self) -> Option<&[(String, u32, u32)]> {
        let find = || {
            let topology = &self.profile.topology.as_ref()?.topology;
            Some(kinds_of_pairs(topology, &self.cpus()?))
        };
        self.kinds_of_pairs.get_or_init(find).as_deref()
    }

    /// Checks that the run could use this many CPUs.
    ///
    /// # Errors
    /// If it could not.
    pub(super) fn takes_cpus(&self, cpus: u32) -> Result<(), Lack> {
        match self.no_team(cpus, String::new()) {
            Lack::Unmeasured(_) => Ok(()),
            lack => Err(lack),
        }
    }

    /// The reason that a team was not measured: too few CPUs for this many threads, or `why`.
    pub(super) fn no_team(&self, threads: u32, why: String) -> Lack {
        match self.cpus() {
            Some(cpus) if cpus.len() < threads as usize => Lack::Unmeasurable(format!(
                "{threads} threads take a CPU each, and there {} {}",
                if cpus.len() == 1 { "is" } else { "are" },
                cpus.len()
            )),
            _ => Lack::Unmeasured(why),
        }
    }

    /// How and for how long a section was measured.
    pub(super) fn how(&self, method: &Method) -> String {
        if self.published {
            return "as printed".to_owned();
        }
        let mut how = match (method.passes, method.duration_s) {
            (0, 0.0) => return "the profile does not say how it was measured".to_owned(),
            (0, seconds) => format!("one run of {seconds:.1} s"),
            (passes, seconds) => format!("one run of {} in {seconds:.1} s", words::passes(passes)),
        };
        if method.interrupted {
            how += ", stopped before its end";
        }
        if method.steal_s > 0.05 * method.duration_s {
            how += &format!(", {:.1} s of it taken by the hypervisor", method.steal_s);
        }
        how
    }

    /// The first of several names that is present.
    pub(super) fn first<T>(
        names: &[&'static str],
        find: impl Fn(&str) -> Option<T>,
    ) -> Option<(&'static str, T)> {
        names.iter().find_map(|&name| Some((name, find(name)?)))
    }
}

impl Evidence {
    /// The parts of a claim, separated from those without a figure.
    pub(super) fn of(all: impl IntoIterator<Item = Result<Part, Lack>>, how: impl Into<String>) -> Self {
        let (mut parts, mut lacks) = (Vec::new(), Vec::new());
        for part in all {
            // Guards against impossible figures; an open upper end is one that was not reached.
            let is_number = |part: &Part| part.range.value.is_finite() && part.range.low.is_finite();
            let damaged = || Lack::from("the profile's figures do not give a number");
            match part.and_then(|part| if is_number(&part) { Ok(part) } else { Err(damaged()) }) {
                Ok(part) => parts.push(part),
                Err(lack) if !lacks.contains(&lack) => lacks.push(lack),
                Err(_) => {}
            }
        }
        Self { parts, lacks, how: how.into() }
    }

    /// A single figure.
    pub(super) fn one(range: Range, how: impl Into<String>) -> Self {
        Self::of([Ok(Part::new("", range))], how)
    }
}

impl Part {
    pub(super) fn new(what: impl Into<String>, range: Range) -> Self {
        Self { what: what.into(), range, inexact: None }
    }
}

impl Bound {
    pub(super) fn holds(self, range: Range) -> Verdict {
        let (least, most) = self.ends();
        match range {
            Range { low, high, .. } if low >= least && high <= most => Verdict::Holds,
            Range { low, high, .. } if high < least || low > most => Verdict::DoesNotHold,
            _ => Verdict::CannotBeTold,
        }
    }

    fn ends(self) -> (f64, f64) {
        match self {
            Self::AtLeast(least) => (least, f64::INFINITY),
            Self::AtMost(most) => (f64::NEG_INFINITY, most),
            Self::Within(least, most) => (least, most),
        }
    }

    /// The bound in words.
    pub(super) fn words(self, unit: Unit) -> String {
        match self {
            Self::AtLeast(one) | Self::AtMost(one) => unit.number(one),
            Self::Within(least, most) => {
                format!("the bounds {} and {}", unit.number(least), unit.number(most))
            }
        }
    }

    pub(super) fn met(self, unit: Unit) -> String {
        match self {
            Self::AtLeast(least) => format!("the interval is at least {}", unit.number(least)),
            Self::AtMost(most) => format!("the interval is at most {}", unit.number(most)),
            Self::Within(least, most) => {
                format!("the interval is within {} and {}", unit.number(least), unit.number(most))
            }
        }
    }

    pub(super) fn missed(self, range: Range, unit: Unit) -> String {
        let (least, most) = self.ends();
        if range.high < least {
            format!("below {} over its whole interval", unit.number(least))
        } else {
            format!("above {} over its whole interval", unit.number(most))
        }
    }
}

impl Unit {
    /// A unit as claims name it.
    ///
    /// # Panics
    /// If there is none of that name.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "times" => Self::Times,
            "share" => Self::Share,
            "ns" => Self::Ns,
            "kib" => Self::Kib,
            "lines" => Self::Lines,
            "cpi" => Self::Cpi,
            _ => panic!("no unit is named {name}"),
        }
    }

    pub(super) fn number(self, value: f64) -> String {
        let digits = |value: f64| {
            with_minus(match value.abs() {
                _ if !value.is_finite() => "–".to_owned(),
                size if size >= SENSIBLE => format!("{value:.2e}"),
                size if size >= 100.0 => format!("{value:.0}"),
                size if size >= 10.0 => format!("{value:.1}"),
                _ => format!("{value:.2}"),
            })
        };
        match self {
            Self::Times => format!("{}x", digits(value)),
            Self::Share => format!("{} %", digits(100.0 * value)),
            Self::Ns => format!("{} ns", digits(value)),
            Self::Kib => format!("{} KiB", digits(value)),
            Self::Lines => format!("{} lines", digits(value)),
            Self::Cpi => format!("CPI {}", digits(value)),
        }
    }

    /// The figure with its interval, where it has one, or as the paper words it.
    pub(super) fn show(self, range: Range, inexact: Option<Inexact>) -> String {
        let Range { value, low, high } = range;
        match inexact {
            Some(Inexact::About) => return format!("≈ {}", self.number(value)),
            Some(Inexact::Below) => return format!("< {}", self.number(value)),
            _ if high.is_infinite() => return format!("at least {}", self.number(low)),
            _ => {}
        }
        if low == high {
            return self.number(value);
        }
        let bare = |value: f64| {
            let text = self.number(value);
            text.trim_start_matches("CPI ")
                .split(' ')
                .next()
                .unwrap_or_default()
                .trim_end_matches('x')
                .to_owned()
        };
        match inexact {
            Some(Inexact::Between) => between(&bare(low), &self.number(high)),
            _ => format!("{} ({})", self.number(value), between(&bare(low), &bare(high))),
        }
    }
}
