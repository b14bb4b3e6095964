//! Learning what is usual in a fleet.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::FACTS;
use super::gathered::{Fleet, Kept};
use super::group::Group;
use super::limits::{FigureLimits, GroupLimits, Limit, Limits, SCHEMA};
use super::outlier;
use super::robust::Spread;
use crate::chance::BETWEEN_RUNS;
use crate::stats::median;

/// The fewest values that show how much a figure scatters.
pub(super) const FEWEST: usize = 10;
/// Standard deviations in half a 95 % interval.
const PER_INTERVAL: f64 = 1.96;
/// A figure whose limits lie further apart does not show that another machine's is half or twice as much.
const TELLING: f64 = 2.0;

impl Fleet {
    /// What is usual, by groups of machines that are equal in these facts, and what was left out of it, in words. Machines that
    /// are odd in their group teach nothing, nor do figures that something else disturbed.
    pub fn learn(&self, by: &[&'static str]) -> (Limits, Vec<String>) {
        let groups = Group::all(self, by);
        let odd: BTreeSet<usize> = outlier::all(self, &groups).iter().map(|one| one.at).collect();
        let mut left_out: Vec<String> = odd
            .iter()
            .map(|at| format!("{} is left out: it is odd in its group", self.machine_name(*at)))
            .collect();
        let mut learned = Vec::new();
        for group in groups {
            let members: Vec<usize> = group.members.iter().copied().filter(|at| !odd.contains(at)).collect();
            let (surveys, figures) = self.limits(&members);
            if figures.is_empty() {
                left_out.push(format!(
                    "group {} has {surveys} surveys that nothing disturbed, and no figure of which {FEWEST} show where it lies: \
                     only its facts were learned",
                    group.id
                ));
            }
            let facts = self.agreed(&members);
            learned.push(GroupLimits { id: group.id, machines: members.len(), surveys, facts, figures });
        }
        let group_by = by.iter().map(|name| (*name).to_owned()).collect();
        (Limits { schema: SCHEMA.into(), group_by, groups: learned }, left_out)
    }

    /// The facts in which all surveys of these machines agree, as far as they have them.
    fn agreed(&self, members: &[usize]) -> BTreeMap<String, String> {
        let of = |(place, (name, _)): (usize, &super::facts::Fact)| {
            let surveys = members.iter().flat_map(|at| &self.machines[*at].surveys);
            let facts: BTreeSet<&str> = surveys.filter_map(|one| one.fact(place, &self.names)).collect();
            let mut facts = facts.into_iter();
            match (facts.next(), facts.next()) {
                (Some(only), None) => Some(((*name).to_owned(), only.to_owned())),
                _ => None,
            }
        };
        FACTS.iter().enumerate().filter_map(of).collect()
    }

    /// How many surveys taught something, and the limits of the figures that tell machines apart.
    fn limits(&self, members: &[usize]) -> (usize, Vec<FigureLimits>) {
        let mut values = BTreeMap::<u32, Vec<Kept>>::new();
        let mut taught = 0;
        for survey in members.iter().flat_map(|at| &self.machines[*at].surveys) {
            let usable = survey.values.iter().filter(|kept| !kept.is_disturbed && kept.value > 0.0);
            let before = values.values().map(Vec::len).sum::<usize>();
            usable.for_each(|kept| values.entry(kept.figure).or_default().push(*kept));
            taught += usize::from(values.values().map(Vec::len).sum::<usize>() > before);
        }
        values.retain(|_, values| values.len() >= FEWEST);
        let looked_at = values.len();
        let limits = |(figure, values): (u32, Vec<Kept>)| {
            let kind = &self.figures[figure as usize];
            let modes = modes(values, looked_at);
            let usual = modes.first()?;
            let (key, parameters) = (kind.quantity.key.into(), self.names.text(kind.parameters).into());
            (usual.surveys >= FEWEST / 2 && usual.high < TELLING * usual.low).then_some(FigureLimits {
                key,
                parameters,
                modes,
            })
        };
        (taught, values.into_iter().filter_map(limits).collect())
    }
}

/// The modes of a figure, the most frequent first. Each reaches as far as its values do, or as far as chance may take another
/// survey's, whichever is further, for as many figures as are looked at together.
fn modes(mut values: Vec<Kept>, looked_at: usize) -> Vec<Limit> {
    values.sort_unstable_by(|one, other| one.value.total_cmp(&other.value));
    // Two runs of one machine differ by as much; across a wider gap there is something else.
    let mut parts: Vec<&[Kept]> =
        values.chunk_by(|one, next| next.value <= one.value * BETWEEN_RUNS).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    let Some(main) = parts.first().and_then(|part| Scatter::of(part)) else { return Vec::new() };
    let limit = |part: &&[Kept]| {
        let own = Scatter::of(part)?;
        // Few values do not show how they scatter; the others of the figure do.
        let scatter = if part.len() < FEWEST { main } else { own };
        let reach = (scatter.relative * scatter.spread.limit(looked_at)).exp();
        Some(Limit {
            low: part.first()?.value.min(own.spread.median / reach),
            high: part.last()?.value.max(own.spread.median * reach),
            surveys: part.len(),
        })
    };
    parts.iter().filter_map(limit).collect()
}

/// How values scatter.
#[derive(Clone, Copy)]
struct Scatter {
    spread: Spread,
    /// Its scale as a part of the median: between surveys, and at least as within one.
    relative: f64,
}

impl Scatter {
    fn of(values: &[Kept]) -> Option<Self> {
        let spread = Spread::of_any(&mut values.iter().map(|kept| kept.value).collect::<Vec<_>>())?;
        let within = |kept: &Kept| {
            let estimate = kept.estimate();
            (estimate.high - estimate.low) / 2.0 / PER_INTERVAL / kept.value
        };
        let mut within: Vec<f64> = values.iter().map(within).filter(|half| half.is_finite()).collect();
        let within = if within.is_empty() { 0.0 } else { median(&mut within) };
        Some(Self { spread, relative: (spread.scale / spread.median).max(within) })
    }
}
