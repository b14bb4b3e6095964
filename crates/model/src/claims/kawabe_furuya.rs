//! Kawabe & Furuya: what sharing a line costs by distance.

use std::collections::{BTreeMap, BTreeSet};

use coho_profile::{Coherence, LineState, Ns, Pair, PairMethod};
use coho_topology::{Level, Topology};

use super::Figure;
use super::evidence::{Context, Evidence, Lack, Part, Range, divided};
use crate::cpi::cpi;

/// What this paper's claims rest on, by name.
pub(super) const FIGURES: &[Figure] = &[
    ("locked-over-plain", |context, _| locked_over_plain(context)),
    ("siblings-over-single", |context, _| siblings_over_single(context)),
    ("die-over-siblings", |context, _| die_over_siblings(context)),
    ("each-step", |context, _| each_step(context)),
    ("on-die", |context, _| on_die(context)),
    ("hop-over-die", |context, _| hop_over_die(context)),
    ("two-hops-over-one", |context, _| two_hops_over_one(context)),
    ("cpi-on-die", |context, _| cpi_on_die(context)),
    ("cpi-over-a-hop", |context, _| cpi_over_a_hop(context)),
    ("increments-over-loads", |context, _| increments_over_loads(context)),
];

/// The paper's classes of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Near {
    Siblings,
    Die,
    Hops(usize),
}

impl Near {
    pub(crate) fn words(self) -> String {
        match self {
            Self::Siblings => "two threads of a core".into(),
            Self::Die => "two cores of a die".into(),
            Self::Hops(1) => "one hop".into(),
            Self::Hops(hops) => format!("{hops} hops"),
        }
    }
}

/// The paper's class of two CPUs; `None` for classes that it does not have, such as cores that share an L2.
pub(crate) fn near(claimed: &str, a: u32, b: u32, topology: Option<&Topology>) -> Option<Near> {
    match claimed.to_ascii_lowercase().as_str() {
        "core" | "smt" => Some(Near::Siblings),
        "l3" | "die" | "on-die" => Some(Near::Die),
        "1-hop" => Some(Near::Hops(1)),
        "2-hop" => Some(Near::Hops(2)),
        "package" | "numa node" => {
            let topology = topology?;
            let whole = topology.dies.is_empty()
                && topology.partition(Level::L3).is_empty()
                && topology.numa_nodes.len() <= topology.packages.len();
            whole.then_some(Near::Die)
        }
        "system" => hops(a, b, topology?).map(Near::Hops),
        _ => None,
    }
}

/// How many hops apart two packages are, by the firmware's distances; two packages are one hop apart.
fn hops(a: u32, b: u32, topology: &Topology) -> Option<usize> {
    if topology.packages.len() == 2 {
        return Some(1);
    }
    let package = |cpu: u32| topology.packages.iter().position(|unit| unit.cpus.contains(cpu));
    let node = |cpu: u32| topology.numa_nodes.iter().position(|node| node.cpus.contains(cpu));
    let distance = |from: usize, to: usize| topology.numa_nodes[from].distances.get(to).copied();
    let mut far: Vec<u32> = Vec::new();
    for (from, one) in topology.numa_nodes.iter().enumerate() {
        for (to, other) in topology.numa_nodes.iter().enumerate() {
            let apart = package(one.cpus.first()?)? != package(other.cpus.first()?)?;
            far.extend(distance(from, to).filter(|_| apart));
        }
    }
    far.sort_unstable();
    far.dedup();
    let own = distance(node(a)?, node(b)?)?;
    far.iter().position(|known| *known == own).map(|at| at + 1)
}

fn section<'a>(context: &Context<'a>) -> Result<&'a Coherence, Lack> {
    context.profile.coherence.as_ref().ok_or_else(|| "the profile has no section coherence".into())
}

fn topology<'a>(context: &Context<'a>) -> Option<&'a Topology> {
    context.profile.topology.as_ref().map(|section| &section.topology)
}

/// The mean of each class's pairs, by one method.
fn classes(context: &Context<'_>, method: PairMethod) -> Result<BTreeMap<Near, Range>, Lack> {
    let coherence = section(context)?;
    let mut all: BTreeMap<Near, Vec<Range>> = BTreeMap::new();
    let mine = |pair: &&Pair| pair.method == method;
    for pair in coherence.pairs.iter().filter(mine) {
        let claimed = pair.claimed.as_deref().unwrap_or_default();
        let Some(class) = near(claimed, pair.a, pair.b, topology(context)) else { continue };
        let what = format!("the pair {} and {}", pair.a, pair.b);
        all.entry(class).or_default().push(context.range(&what, Some(&pair.ns))?);
    }
    Ok(all.into_iter().filter_map(|(class, ranges)| Some((class, Range::mean(&ranges)?))).collect())
}

fn class(context: &Context<'_>, classes: &BTreeMap<Near, Range>, class: Near) -> Result<Range, Lack> {
    exists(context, class)?;
    let none = || format!("no pair that was measured is claimed to be of this class: {}", class.words());
    classes.get(&class).copied().ok_or_else(|| none().into())
}

/// Checks that the machine is not known to have no pair of a class.
///
/// # Errors
/// If it is.
fn exists(context: &Context<'_>, class: Near) -> Result<(), Lack> {
    let is_of = |pair: &Pair| {
        near(pair.claimed.as_deref().unwrap_or_default(), pair.a, pair.b, topology(context)) == Some(class)
    };
    let was_measured = context.profile.coherence.iter().flat_map(|coherence| &coherence.pairs).any(is_of);
    if was_measured || possible(context).is_none_or(|all| all.contains(&class)) {
        return Ok(());
    }
    let packages = topology(context).map_or(0, |topology| topology.packages.len());
    let why = match (class, packages) {
        (Near::Hops(_), 1) => ": there is one package",
        _ => "",
    };
    let words = class.words();
    Err(Lack::Unmeasurable(format!("no two of the CPUs are claimed to be of this class: {words}{why}")))
}

/// The classes of the pairs of CPUs that the run could use; `None` where the topology is not known.
fn possible(context: &Context<'_>) -> Option<BTreeSet<Near>> {
    let kinds = context.kinds_of_pairs()?.iter();
    Some(kinds.filter_map(|(claimed, a, b)| near(claimed, *a, *b, topology(context))).collect())
}

fn free(context: &Context<'_>) -> Result<BTreeMap<Near, Range>, Lack> {
    let classes = classes(context, PairMethod::FreeRunning)?;
    if classes.is_empty() && section(context)?.pairs.iter().any(|pair| pair.method != PairMethod::FreeRunning)
    {
        return Err("two CPUs that increment freely, as the paper has them, were not measured".into());
    }
    Ok(classes)
}

/// Ownership changes per increment from which an increment's time counts as a transfer's.
pub(crate) const EACH: f64 = 0.9;

/// How a figure by strict alternation differs from the paper's.
const ALTERNATING: &str =
    "strict alternation, where the line changes hands at each step and a CPU that waits does not increment";

/// A quantity computed from the means of classes.
type Made = fn(&Context<'_>, &BTreeMap<Near, Range>) -> Result<Vec<Part>, Lack>;

/// A quantity by increments of both CPUs at once, as in the paper. Where these do not show it, the same quantity by
/// strict alternation is shown and judges nothing.
fn by_increments(
    context: &Context<'_>,
    needs: &[Near],
    times: fn(&Context<'_>) -> Result<BTreeMap<Near, Range>, Lack>,
    made: Made,
) -> Result<Evidence, Lack> {
    // What the machine does not have is the reason, whatever else would be in the way.
    needs.iter().try_for_each(|near| exists(context, *near))?;
    let how = context.how(&section(context)?.method);
    let lack = match times(context).and_then(|classes| made(context, &classes)) {
        Ok(parts) => {
            let changes = hands(context).map_or(String::new(), |changes| {
                format!(", in which the line changed hands {changes:.2} times an increment")
            });
            let how = format!("free-running increments, as in the paper{changes}; {how}");
            return Ok(Evidence::of(parts.into_iter().map(Ok), how));
        }
        Err(lack) => lack,
    };
    let alternating = classes(context, PairMethod::Turn).and_then(|classes| made(context, &classes));
    Err(match alternating {
        Ok(parts) if !parts.is_empty() => Lack::Beside(Box::new(lack), parts, ALTERNATING),
        _ => lack,
    })
}

/// How often the line changed hands per increment, in the pair where it did so least; `None` where no pair says.
fn hands(context: &Context<'_>) -> Option<f64> {
    let pairs = context.profile.coherence.iter().flat_map(|coherence| &coherence.pairs);
    let free = pairs.filter(|pair| pair.method == PairMethod::FreeRunning);
    free.filter_map(|pair| Some(pair.ownership_changes_per_op.as_ref()?.median)).reduce(f64::min)
}

/// Times of increments that each take the line from the other CPU, as the paper assumes. Today's CPUs often make
/// several increments per change of ownership; their times do not show a transfer's time.
fn changing_hands(context: &Context<'_>) -> Result<BTreeMap<Near, Range>, Lack> {
    match hands(context).filter(|changes| *changes < EACH) {
        Some(changes) => Err(Lack::Unmeasurable(format!(
            "the line changed hands {changes:.2} times an increment, so the time of an increment is not \
             that of a change of hands"
        ))),
        None => free(context),
    }
}

fn singles(context: &Context<'_>) -> Result<(Range, Range), Lack> {
    let coherence = section(context)?;
    let (mut locked, mut plain) = (Vec::new(), Vec::new());
    for single in &coherence.singles {
        locked.push(context.range("the locked increment", Some(&single.locked_ns))?);
        plain.push(context.range("the plain increment", Some(&single.unlocked_ns))?);
    }
    let none = || Lack::from("no CPU alone was measured");
    Ok((Range::middle(&locked).ok_or_else(none)?, Range::middle(&plain).ok_or_else(none)?))
}

fn locked_over_plain(context: &Context<'_>) -> Result<Evidence, Lack> {
    let (locked, plain) = singles(context)?;
    let how = context.how(&section(context)?.method);
    Ok(Evidence::one(divided(locked, plain)?, format!("the middle of all CPUs; {how}")))
}

fn siblings_over_single(context: &Context<'_>) -> Result<Evidence, Lack> {
    by_increments(context, &[Near::Siblings], free, |context, classes| {
        let siblings = class(context, classes, Near::Siblings)?;
        one(divided(siblings, singles(context)?.0)?)
    })
}

fn one(range: Range) -> Result<Vec<Part>, Lack> {
    Ok(vec![Part::new("", range)])
}

fn die_over_siblings(context: &Context<'_>) -> Result<Evidence, Lack> {
    by_increments(context, &[Near::Die, Near::Siblings], free, |context, classes| {
        one(divided(class(context, classes, Near::Die)?, class(context, classes, Near::Siblings)?)?)
    })
}

fn each_step(context: &Context<'_>) -> Result<Evidence, Lack> {
    let mut evidence = by_increments(context, &[], free, |context, classes| {
        let steps: Vec<(&Near, &Range)> = classes.iter().collect();
        if steps.len() < 2 {
            let only = steps.first().map_or("none".to_owned(), |(near, _)| near.words());
            let why = format!("the pairs that were measured are of one of these classes ({only})");
            let is_all = possible(context).is_some_and(|all| all.len() < 2);
            return Err(if is_all { Lack::Unmeasurable(why) } else { why.into() });
        }
        let step = |pair: &[(&Near, &Range)]| {
            let what = format!("{} over {}", pair[1].0.words(), pair[0].0.words());
            Ok(Part::new(what, divided(*pair[1].1, *pair[0].1)?))
        };
        steps.windows(2).map(step).collect()
    })?;
    // A step that the machine does not have does not count.
    let measured = free(context)?;
    let missing = possible(context).into_iter().flatten().filter(|near| !measured.contains_key(near));
    evidence.lacks.extend(missing.map(|near| Lack::from(format!("{} were not measured", near.words()))));
    Ok(evidence)
}

/// The paper's coherence time: the class's mean minus that of two threads of a core, or of one CPU where no core has
/// two.
fn coherence_time(context: &Context<'_>, classes: &BTreeMap<Near, Range>, near: Near) -> Result<Range, Lack> {
    let baseline = match classes.get(&Near::Siblings) {
        Some(siblings) => *siblings,
        None => singles(context)?.0,
    };
    Ok(class(context, classes, near)?.less(baseline))
}

fn on_die(context: &Context<'_>) -> Result<Evidence, Lack> {
    by_increments(context, &[Near::Die], changing_hands, |context, classes| {
        one(coherence_time(context, classes, Near::Die)?)
    })
}

fn hop_over_die(context: &Context<'_>) -> Result<Evidence, Lack> {
    by_increments(context, &[Near::Hops(1), Near::Die], changing_hands, |context, classes| {
        let hop = coherence_time(context, classes, Near::Hops(1))?;
        one(divided(hop, coherence_time(context, classes, Near::Die)?)?)
    })
}

fn two_hops_over_one(context: &Context<'_>) -> Result<Evidence, Lack> {
    by_increments(context, &[Near::Hops(2), Near::Hops(1)], changing_hands, |context, classes| {
        let two = coherence_time(context, classes, Near::Hops(2))?;
        one(divided(two, coherence_time(context, classes, Near::Hops(1))?)?)
    })
}

fn cpi_on_die(context: &Context<'_>) -> Result<Evidence, Lack> {
    by_increments(context, &[Near::Die], changing_hands, |context, classes| {
        cpi_of(context, classes, Near::Die)
    })
}

fn cpi_over_a_hop(context: &Context<'_>) -> Result<Evidence, Lack> {
    by_increments(context, &[Near::Hops(1)], changing_hands, |context, classes| {
        cpi_of(context, classes, Near::Hops(1))
    })
}

fn cpi_of(context: &Context<'_>, classes: &BTreeMap<Near, Range>, near: Near) -> Result<Vec<Part>, Lack> {
    let ns = coherence_time(context, classes, near)?;
    let clock = context.profile.host.as_ref().and_then(|host| host.clock_ghz);
    let ghz = clock.filter(|ghz| ghz.is_finite() && *ghz > 0.0).ok_or("the profile gives no clock")?;
    let cpi_of = |ns: f64| cpi(2.0, 2.0, Ns(ns).cycles(ghz));
    Ok(vec![Part::new(
        format!("a clock of {ghz:.2} GHz"),
        Range { value: cpi_of(ns.value), low: cpi_of(ns.low), high: cpi_of(ns.high) },
    )])
}

/// On a die, for the smallest buffer whose lines another CPU has made Exclusive.
fn increments_over_loads(context: &Context<'_>) -> Result<Evidence, Lack> {
    by_increments(context, &[Near::Die], changing_hands, |context, classes| {
        let coherence = section(context)?;
        let claims =
            topology(context).ok_or("the profile has no topology, which would say who shares a die")?;
        let exclusive = coherence.reads.iter().filter(|read| {
            read.state == LineState::Exclusive
                && read.reader != read.owner
                && near(&claims.claimed(read.reader, read.owner), read.reader, read.owner, Some(claims))
                    == Some(Near::Die)
        });
        let least = exclusive.clone().map(|read| read.bytes).min();
        let loads: Result<Vec<Range>, Lack> = exclusive
            .filter(|read| Some(read.bytes) == least)
            .map(|read| context.range("the load of an Exclusive line", Some(&read.ns)))
            .collect();
        let die = coherence_time(context, classes, Near::Die)?;
        let load = Range::mean(&loads?)
            .ok_or("no load of an Exclusive line of another core of the die was measured")?;
        one(divided(die, load)?)
    })
}
