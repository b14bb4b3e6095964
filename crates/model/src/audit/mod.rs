//! Checks the claimed topology against the measured times.

mod claims;
mod figures;

use std::collections::{BTreeMap, BTreeSet};

use coho_profile::Coherence;
use coho_topology::{CpuSet, Level, Topology};
use serde::Serialize;

use crate::{Classification, Verdict, measured, stats};
pub(crate) use claims::a;
use claims::{BEYOND, Claims, Rank, name, of_rank};
use figures::{Figure, Figures};

/// Two classes of pairs whose medians differ by less than this are one distance.
const SAME: f64 = 1.1;
/// Of so many pairs that are claimed to share an object, one may be odd.
const ODD: usize = 8;
/// The most pairs named in one contradiction.
const NAMED: usize = 4;

/// A claim of the topology that measurement contradicts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contradiction {
    /// The level that the claim is about, where the figures tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// The CPUs concerned.
    pub cpus: Vec<u32>,
    /// The claim: `CPUs 0 and 1 share an L3`.
    pub claim: String,
    /// The figures against it.
    pub figures: String,
}

/// Claims of a topology that measured times contradict.
///
/// Works with all pairs, and with as few as one claimed-near and one claimed-far partner for each CPU. No absolute
/// time matters. A claim is contradicted if
/// - CPUs that are claimed to share an object are as far from each other as CPUs that do not, while others that share
///   such an object are near;
/// - CPUs that are claimed not to share an object are as near as CPUs that share one;
/// - sharing a core, an L3 or a package makes no difference at all;
/// - the figures of all pairs show groups that nothing claimed has, as `coho topology --measured` finds them;
/// - a pair's time jumped between two values: the CPUs were moved, so no fixed topology is true of them.
///
/// Where the line's home is unknown and the figures are [`Verdict::HomeBiased`], times between CPUs that share no
/// more than a NUMA node or package are not judged.
pub fn audit(topology: &Topology, coherence: &Coherence) -> Vec<Contradiction> {
    audit_by(topology, coherence, None).contradictions
}

/// What became of the claims.
#[derive(Debug, Default)]
pub(crate) struct Audited {
    /// Those that the figures contradict.
    pub(crate) contradictions: Vec<Contradiction>,
    /// What the figures leave open, one sentence each.
    pub(crate) unchecked: Vec<String>,
}

/// As [`audit`], for figures that are already classified.
pub(crate) fn audit_by(
    topology: &Topology,
    coherence: &Coherence,
    classification: Option<&Classification>,
) -> Audited {
    let claims = Claims::new(topology);
    let Some(figures) = Figures::of(coherence, classification) else { return Audited::default() };
    let known: Vec<(Rank, &Figure)> = figures
        .all
        .iter()
        .filter(|figure| claims.knows(figure.a) && claims.knows(figure.b))
        .map(|figure| (claims.rank(figure.a, figure.b), figure))
        .collect();
    let audit = Audit { claims: &claims, figures: &figures, classes: classes(&known) };
    let compared = match figures.transfers {
        true => measured::compare(topology, coherence, classification),
        false => Err("times of free-running increments do not show which CPUs are near".to_owned()),
    };
    let mut contradictions = audit.jumps(&known);
    let expected = audit.expected_bands();
    let mut pairs = audit.apart(&expected);
    pairs.extend(audit.together(&expected));
    let mut levels: Vec<Contradiction> = Vec::new();
    let unchecked = match compared {
        Ok(compared) => {
            let several = |level: Level| -> Vec<&CpuSet> {
                topology.partition(level).into_iter().filter(|set| set.len() > 1).collect()
            };
            for wrong in compared.wrong {
                let claimed = wrong.contradiction.level.map(several).unwrap_or_default();
                // Pairs of CPUs tell more precisely what is wrong than whole levels; and several levels may have the same
                // groups.
                let is_said = |said: Level| match claimed.is_empty() {
                    true => wrong.crossed.contains(&said),
                    false => several(said) == claimed,
                };
                let mut said = pairs.iter().chain(&levels).filter_map(|one: &Contradiction| one.level);
                if !said.any(is_said) {
                    levels.push(wrong.contradiction);
                }
            }
            compared.not_shown
        }
        Err(why) => {
            if figures.transfers {
                levels = audit.levels_without_effect();
            }
            vec![why]
        }
    };
    contradictions.extend(levels);
    contradictions.extend(pairs);
    Audited { contradictions, unchecked }
}

/// The steady figures by claimed rank.
type Classes<'a> = BTreeMap<Rank, Vec<&'a Figure>>;

fn classes<'a>(known: &[(Rank, &'a Figure)]) -> Classes<'a> {
    let mut classes = Classes::new();
    for (rank, figure) in known.iter().filter(|(_, figure)| figure.jumps.is_empty()) {
        classes.entry(*rank).or_default().push(figure);
    }
    classes
}

struct Audit<'a> {
    claims: &'a Claims<'a>,
    figures: &'a Figures,
    classes: Classes<'a>,
}

impl Audit<'_> {
    /// The band in which each claimed class should be. Most pairs of the outermost class are believed. A class
    /// further in is expected in the most common band nearer than that, even if only some of its pairs are there:
    /// those pairs show what the level is worth where the claim is true.
    fn expected_bands(&self) -> BTreeMap<Rank, usize> {
        let mut expected: BTreeMap<Rank, usize> = BTreeMap::new();
        let mut outer = usize::MAX;
        for (&rank, figures) in self.classes.iter().rev() {
            let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
            for figure in figures {
                *counts.entry(self.figures.band(figure.ns)).or_default() += 1;
            }
            let nearer: Vec<(usize, usize)> = counts.into_iter().filter(|&(band, _)| band < outer).collect();
            let enough = 10 * nearer.iter().map(|(_, count)| count).sum::<usize>() >= figures.len();
            let common = nearer.iter().max_by_key(|&&(band, count)| (count, std::cmp::Reverse(band)));
            if let (Some(&(band, _)), true) = (common, enough) {
                outer = band;
            }
            expected.insert(rank, outer);
        }
        expected
    }

    /// The claimed class just outside a rank, if any pair of it was measured.
    fn outside(&self, rank: Rank) -> Option<(Rank, &[&Figure])> {
        self.classes.range(rank + 1..).next().map(|(&rank, figures)| (rank, figures.as_slice()))
    }

    fn judged(&self, rank: Rank) -> bool {
        let biased = self
            .figures
            .classification
            .as_ref()
            .is_some_and(|classification| classification.verdict == Verdict::HomeBiased);
        !biased
            || self.figures.home_known
            || !matches!(claims::level(rank), Some(Level::Numa | Level::Package) | None)
    }

    /// Pairs that are claimed to share an object but are as far apart as pairs that do not.
    fn apart(&self, expected: &BTreeMap<Rank, usize>) -> Vec<Contradiction> {
        let mut wrong: BTreeMap<(Rank, usize), Vec<&Figure>> = BTreeMap::new();
        for (&rank, figures) in self.classes.range(..BEYOND).filter(|(rank, _)| self.judged(**rank)) {
            let Some((outer, _)) = self.outside(rank) else { continue };
            if expected[&rank] >= expected[&outer] {
                continue;
            }
            let far = figures.iter().copied();
            let far = far.filter(|figure| self.figures.band(figure.low) >= expected[&outer]).collect();
            for figure in self.without_odd_far(rank, far, expected[&rank]) {
                if let Some(unit) = self.claims.unit(rank, figure.a) {
                    wrong.entry((rank, unit)).or_default().push(figure);
                }
            }
        }
        wrong.into_iter().map(|((rank, unit), pairs)| self.apart_in(rank, unit, &pairs, expected)).collect()
    }

    /// Leaves out times that are only odd: each was measured once, few of the class are far, and neither of the two CPUs,
    /// which share the object with nobody else, is near to another CPU instead.
    fn without_odd_far<'f>(&self, rank: Rank, far: Vec<&'f Figure>, near: usize) -> Vec<&'f Figure> {
        if self.figures.classification.is_none() || ODD * far.len() > self.classes[&rank].len() {
            return far;
        }
        let is_odd = |figure: &&Figure| {
            let unit = self.claims.unit(rank, figure.a);
            let is_pair = unit.is_some_and(|unit| self.claims.members(rank, unit).len() == 2);
            let has_other = |cpu: u32| self.figures.cpus().any(|other| self.is_near(cpu, other, near));
            is_pair && figure.samples < 2 && !has_other(figure.a) && !has_other(figure.b)
        };
        far.into_iter().filter(|figure| !is_odd(figure)).collect()
    }

    /// Leaves out times between two objects that are only odd: each was measured once, both CPUs are near to most of their
    /// own object's, and most pairs across are far.
    fn without_odd_near<'f>(
        &self,
        inner: Rank,
        units: [usize; 2],
        pairs: Vec<&'f Figure>,
        near: usize,
    ) -> Vec<&'f Figure> {
        if self.figures.classification.is_none() {
            return pairs;
        }
        let members = |unit: usize| self.claims.members(inner, unit);
        let across = members(units[0]).len() * members(units[1]).len();
        if 2 * pairs.len() > across {
            return pairs;
        }
        let is_settled = |cpu: u32| {
            let Some(unit) = self.claims.unit(inner, cpu) else { return true };
            let others = members(unit).iter().filter(|other| *other != cpu);
            let is_near = others.map(|other| self.is_near(cpu, other, near));
            let (number, near) = is_near.fold((0, 0), |(all, near), is| (all + 1, near + usize::from(is)));
            2 * near >= number
        };
        let is_odd = |figure: &&Figure| figure.samples < 2 && is_settled(figure.a) && is_settled(figure.b);
        pairs.into_iter().filter(|figure| !is_odd(figure)).collect()
    }

    /// Whether the time of two CPUs is in a band or nearer.
    fn is_near(&self, a: u32, b: u32, band: usize) -> bool {
        self.figures.between(a, b).is_some_and(|figure| self.figures.band(figure.ns) <= band)
    }

    fn apart_in(
        &self,
        rank: Rank,
        unit: usize,
        pairs: &[&Figure],
        expected: &BTreeMap<Rank, usize>,
    ) -> Contradiction {
        let near =
            self.classes[&rank].iter().filter(|figure| self.figures.band(figure.ns) <= expected[&rank]);
        let near = middle(near.copied());
        let far = self.outside(rank).and_then(|(_, far)| middle(far.iter().copied()));
        let cpus = self.culprits(rank, unit, pairs);
        let members: Vec<u32> = self.claims.members(rank, unit).iter().collect();
        let mut figures = format!("{}: as far as CPUs that do not share one", list(pairs));
        if let Some(far) = far {
            figures += &format!(" (median {far:.1} ns)");
        }
        if let Some(near) = near {
            figures += &format!("; others that share one take {near:.1} ns");
        }
        if let Some(groups) = self.measured_groups(&members) {
            figures += &format!("; the figures group {groups}");
        }
        let claim = format!("{} share {}", name(&members), of_rank(rank));
        Contradiction { level: claims::level(rank), cpus, claim, figures }
    }

    /// The CPUs of an object that are far from most of its other members; all CPUs of the wrong pairs if there
    /// are none.
    fn culprits(&self, rank: Rank, unit: usize, wrong: &[&Figure]) -> Vec<u32> {
        let in_unit = |figure: &&&Figure| self.claims.unit(rank, figure.a) == Some(unit);
        let involves = |cpu: u32| move |figure: &&&Figure| figure.a == cpu || figure.b == cpu;
        let all: BTreeSet<u32> = wrong.iter().flat_map(|figure| [figure.a, figure.b]).collect();
        let mostly = |&cpu: &u32| {
            let measured = self.classes[&rank].iter().filter(in_unit).filter(involves(cpu)).count();
            2 * wrong.iter().filter(involves(cpu)).count() > measured
        };
        let culprits: Vec<u32> = all.iter().copied().filter(mostly).collect();
        if culprits.is_empty() { all.into_iter().collect() } else { culprits }
    }

    /// `0,4 | 1-3`: how the finest level that divides these CPUs groups them.
    fn measured_groups(&self, cpus: &[u32]) -> Option<String> {
        let classification = self.figures.classification.as_ref()?;
        let parts = |level: &crate::Level| -> Vec<CpuSet> {
            let part =
                |group: &Vec<u32>| group.iter().copied().filter(|cpu| cpus.contains(cpu)).collect::<CpuSet>();
            level.groups.iter().map(part).filter(|part| !part.is_empty()).collect()
        };
        let parts = classification.levels.iter().rev().map(parts).find(|parts| parts.len() > 1)?;
        Some(parts.iter().map(CpuSet::to_string).collect::<Vec<_>>().join(" | "))
    }

    /// Pairs that are claimed not to share an object but are as near as pairs that do.
    fn together(&self, expected: &BTreeMap<Rank, usize>) -> Vec<Contradiction> {
        let mut wrong: BTreeMap<(Rank, usize, usize), Vec<&Figure>> = BTreeMap::new();
        for (&rank, figures) in &self.classes {
            let inner = self.classes.range(..rank).next_back().map(|(&inner, _)| inner);
            let Some(inner) = inner.filter(|inner| expected[inner] < expected[&rank] && self.judged(*inner))
            else {
                continue;
            };
            for figure in figures.iter().filter(|figure| self.figures.band(figure.high) <= expected[&inner]) {
                let units = (self.claims.unit(inner, figure.a), self.claims.unit(inner, figure.b));
                if let (Some(u), Some(v)) = units {
                    wrong.entry((inner, u.min(v), u.max(v))).or_default().push(figure);
                }
            }
        }
        let contradiction = |inner: Rank, pairs: Vec<&Figure>| {
            let cpus: BTreeSet<u32> = pairs.iter().flat_map(|figure| [figure.a, figure.b]).collect();
            let side = |is_here: &dyn Fn(u32) -> bool| {
                cpus.iter().copied().filter(|&cpu| is_here(cpu)).collect::<CpuSet>()
            };
            let unit = cpus.first().and_then(|&cpu| self.claims.unit(inner, cpu));
            let here = side(&|cpu| self.claims.unit(inner, cpu) == unit);
            let there = side(&|cpu| self.claims.unit(inner, cpu) != unit);
            let mut figures = format!("{}: as near as CPUs that share one", list(&pairs));
            let near = self.classes[&inner].iter().filter(|f| self.figures.band(f.ns) <= expected[&inner]);
            if let Some(near) = middle(near.copied()) {
                figures += &format!(" (median {near:.1} ns)");
            }
            let claim = format!("CPUs {here} and {there} do not share {}", of_rank(inner));
            Contradiction { level: claims::level(inner), cpus: cpus.into_iter().collect(), claim, figures }
        };
        wrong
            .into_iter()
            .map(|((inner, u, v), pairs)| {
                ((inner, u, v), self.without_odd_near(inner, [u, v], pairs, expected[&inner]))
            })
            .flat_map(|((inner, _, _), pairs)| connected(pairs).into_iter().map(move |pairs| (inner, pairs)))
            .map(|(inner, pairs)| contradiction(inner, pairs))
            .collect()
    }

    /// Levels that should make a difference on any machine and make none here.
    fn levels_without_effect(&self) -> Vec<Contradiction> {
        let matters =
            |rank: Rank| matches!(claims::level(rank), Some(Level::Core | Level::L3 | Level::Package));
        let mut contradictions = Vec::new();
        for (&rank, inside) in
            self.classes.range(..BEYOND).filter(|(rank, _)| matters(**rank) && self.judged(**rank))
        {
            let Some((_, across)) = self.outside(rank) else { continue };
            let (Some(near), Some(far)) = (middle(inside.iter().copied()), middle(across.iter().copied()))
            else {
                continue;
            };
            if inside.len() < 2 || across.len() < 2 || far >= SAME * near {
                continue;
            }
            // If some pair is nearer, the level is real, and only single claims are wrong.
            let bounds = |figure: &&&Figure| self.figures.band(figure.ns) < self.figures.band(far);
            if inside.iter().any(|figure| bounds(&figure)) {
                continue;
            }
            let cpus: BTreeSet<u32> = inside.iter().flat_map(|figure| [figure.a, figure.b]).collect();
            let cpus: Vec<u32> = cpus.into_iter().collect();
            contradictions.push(Contradiction {
                level: claims::level(rank),
                claim: format!("pairs of {} share {} each", name(&cpus), of_rank(rank)),
                figures: format!(
                    "sharing one makes no difference: {near:.1} ns within, {far:.1} ns across (medians of {} and {} pairs)",
                    inside.len(),
                    across.len()
                ),
                cpus,
            });
        }
        contradictions
    }

    /// Pairs whose time jumped, by the object that they share.
    fn jumps(&self, known: &[(Rank, &Figure)]) -> Vec<Contradiction> {
        let mut moved: BTreeMap<(Rank, Option<usize>), Vec<&Figure>> = BTreeMap::new();
        for (rank, figure) in known.iter().filter(|(_, figure)| !figure.jumps.is_empty()) {
            moved.entry((*rank, self.claims.unit(*rank, figure.a))).or_default().push(figure);
        }
        let contradiction = |((rank, _), pairs): ((Rank, Option<usize>), Vec<&Figure>)| {
            let cpus: BTreeSet<u32> = pairs.iter().flat_map(|figure| [figure.a, figure.b]).collect();
            let cpus: Vec<u32> = cpus.into_iter().collect();
            let figures: Vec<String> = pairs.iter().take(NAMED).map(|figure| jump(figure)).collect();
            let more = if pairs.len() > NAMED { ", …" } else { "" };
            Contradiction {
                level: claims::level(rank),
                claim: format!("{} share {}", name(&cpus), of_rank(rank)),
                figures: format!("{}{more}: no fixed topology has both distances", figures.join(", ")),
                cpus,
            }
        };
        moved.into_iter().map(contradiction).collect()
    }
}

/// The pairs, split into sets that have no CPU in common.
fn connected(pairs: Vec<&Figure>) -> Vec<Vec<&Figure>> {
    let mut sets: Vec<(BTreeSet<u32>, Vec<&Figure>)> = Vec::new();
    for pair in pairs {
        let touches = |set: &(BTreeSet<u32>, _)| set.0.contains(&pair.a) || set.0.contains(&pair.b);
        let (touched, apart): (Vec<_>, Vec<_>) = sets.into_iter().partition(touches);
        let mut joined = (BTreeSet::from([pair.a, pair.b]), Vec::new());
        for (cpus, pairs) in touched {
            joined.0.extend(cpus);
            joined.1.extend(pairs);
        }
        joined.1.push(pair);
        sets = apart;
        sets.push(joined);
    }
    sets.into_iter().map(|(_, pairs)| pairs).collect()
}

/// `0 and 1 jumped between 25.0 ns (60 %) and 100.0 ns (40 %)`.
fn jump(figure: &Figure) -> String {
    let mode = |mode: &coho_profile::Mode| format!("{:.1} ns ({:.0} %)", mode.value, 100.0 * mode.share);
    let values: Vec<String> = figure.jumps.iter().take(2).map(mode).collect();
    format!("{} and {} jumped between {}", figure.a, figure.b, values.join(" and "))
}

/// `0 and 3 take 230.1 ns, 1 and 2 take 229.0 ns`.
fn list(pairs: &[&Figure]) -> String {
    let one = |figure: &&Figure| format!("{} and {} take {:.1} ns", figure.a, figure.b, figure.ns);
    let named: Vec<String> = pairs.iter().take(NAMED).map(one).collect();
    let more = pairs.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more pairs") } else { String::new() };
    named.join(", ") + &more
}

fn middle<'a>(figures: impl Iterator<Item = &'a Figure>) -> Option<f64> {
    let mut times: Vec<f64> = figures.map(|figure| figure.ns).collect();
    (!times.is_empty()).then(|| stats::middle(&mut times))
}
