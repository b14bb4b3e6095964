//! What it costs CPUs to share a line: near, far, and by the line's address.

use coho_profile::{Coherence, Estimate, Home, LineSpread, Pair, PairMethod, Profile};
use coho_topology::CpuSet;

use super::finding::{self, Finding, Urgency, times_of};
use super::moves::have_stayed;
use crate::chance::{Family, Order};
use crate::judge::Judgement;
use crate::words::{first_groups, ns, number};
use crate::{Level, Matrix, Verdict, stability};

/// Pairs within this ratio count as alike, whatever their intervals.
pub(super) const ALIKE: f64 = 1.3;

pub fn findings(profile: &Profile, judgement: &Judgement) -> Vec<Finding> {
    let Some(coherence) = &profile.coherence else { return Vec::new() };
    let cost = if coherence.matrix.is_some() { of_matrix(coherence) } else { of_pairs(coherence) };
    let mut findings: Vec<Finding> =
        [cost, groups(profile, coherence, judgement), lines(coherence)].into_iter().flatten().collect();
    if judgement.verdict == Some(Verdict::HomeBiased) {
        for finding in findings.iter_mut().filter(|finding| finding.id != "lines-differ") {
            finding.condition += "; beyond the levels found, times seem to show the distance to the line's \
                                  memory, not that between CPUs";
        }
    }
    findings
}

/// What is timed, with a verb, and how.
fn words(method: PairMethod) -> (&'static str, &'static str) {
    match method {
        PairMethod::Turn => ("Handing over a cache line takes", "by compare-and-swap in turn"),
        PairMethod::Flags => ("Handing a flag over and back on two lines takes", "by plain stores, per step"),
        PairMethod::FreeRunning => {
            ("While two CPUs increment one line at once, an increment takes", "free-running")
        }
        PairMethod::Unknown => ("A step takes", "by a method that the file does not name"),
    }
}

/// The pairs measured by the method that shows distances best.
fn best(coherence: &Coherence) -> Vec<(usize, &Pair)> {
    let Some((method, home)) = Matrix::best_method(&coherence.pairs) else { return Vec::new() };
    let is_best = |pair: &Pair| (pair.method, pair.home) == (method, home);
    let mut pairs: Vec<_> = coherence
        .pairs
        .iter()
        .enumerate()
        .filter(|(_, pair)| is_best(pair) && pair.ns.median > 0.0)
        .collect();
    pairs.sort_by(|(_, a), (_, b)| a.ns.median.total_cmp(&b.ns.median));
    pairs
}

/// Whether one is farther than the other, of so many pairs, by more than chance and the line's address explain.
fn is_farther(far: &Estimate, near: &Estimate, pairs: usize) -> bool {
    Family::among(pairs).beyond(ALIKE).compare(near, far) == Order::Less
}

fn of_pairs(coherence: &Coherence) -> Option<Finding> {
    let pairs = best(coherence);
    let ((first, near), (last, far)) = (*pairs.first()?, *pairs.last()?);
    let (takes, by) = words(near.method);
    let home = match near.home {
        Home::A => "lines at the first CPU's node; ",
        Home::B => "lines at the second CPU's node; ",
        Home::Third | Home::Unknown => "",
    };
    let at = |index: usize| format!("/coherence/pairs/{index}/ns");
    let (text, evidence) = if pairs.len() == 1 {
        let text = format!("{takes} {} between CPUs {} and {}, {by}.", ns(&near.ns), near.a, near.b);
        (text, vec![at(first)])
    } else if is_farther(&far.ns, &near.ns, pairs.len()) {
        let times = number(far.ns.median / near.ns.median);
        let text = format!(
            "{takes} {} between the nearest CPUs, {} and {}, and {times} times as much between the farthest, {} and {}: {}; \
             {by}.",
            ns(&near.ns),
            near.a,
            near.b,
            far.a,
            far.b,
            ns(&far.ns)
        );
        (text, vec![at(first), at(last)])
    } else if pairs.iter().all(|(_, pair)| pair.ns.has_interval()) {
        let (middle, median) = pairs[pairs.len() / 2];
        let text = format!("{takes} about {} between any two of the CPUs measured, {by}.", ns(&median.ns));
        (text, vec![at(middle), at(first), at(last)])
    } else {
        (
            range(takes, by, (near.a, near.b, near.ns.median), (far.a, far.b, far.ns.median)),
            vec![at(first), at(last)],
        )
    };
    let condition = stability::condition(coherence)?;
    // One time must not stand for the run where another was seen.
    let (brief, clause) = (text.clone(), stability::clause(coherence));
    let (text, evidence, clause) = match stability::elsewhere(coherence) {
        Some(((a, b), times)) => (
            format!("{text} This did not hold for the whole run: CPUs {a} and {b} took {times}."),
            [evidence, vec!["/coherence/timeline".into()]].concat(),
            "not for the whole run".to_owned(),
        ),
        None => (text, evidence, clause),
    };
    Some(cost(text, finding::brief(&brief, &clause), evidence, format!("{home}{condition}")))
}

/// From the smallest to the largest, for figures without an interval.
fn range(takes: &str, by: &str, near: (u32, u32, f64), far: (u32, u32, f64)) -> String {
    if number(near.2) == number(far.2) {
        return format!("{takes} {} ns between any two CPUs that were timed, {by}.", number(near.2));
    }
    format!(
        "{takes} from {} ns (CPUs {} and {}) to {} ns ({} and {}), {by}.",
        number(near.2),
        near.0,
        near.1,
        number(far.2),
        far.0,
        far.1
    )
}

fn of_matrix(coherence: &Coherence) -> Option<Finding> {
    let timed = || coherence.times().filter(|(.., ns)| *ns > 0.0).map(|(a, b, _, _, ns)| (a, b, ns));
    let near = timed().min_by(|a, b| a.2.total_cmp(&b.2))?;
    let far = timed().max_by(|a, b| a.2.total_cmp(&b.2))?;
    let (takes, by) = words(coherence.matrix_method);
    let condition = stability::condition(coherence)?;
    let text = range(takes, by, near, far);
    let brief = finding::brief(&text, &stability::clause(coherence));
    Some(cost(text, brief, vec!["/coherence/matrix".into()], condition))
}

fn cost(text: String, brief: String, evidence: Vec<String>, condition: String) -> Finding {
    let (next, act) = (String::new(), String::new());
    Finding { id: "sharing-cost", text, brief, urgency: Urgency::Note, evidence, condition, next, act }
}

/// Of fewer CPUs than this, groups found in times that were measured once say little.
const FEW: usize = 6;

/// The widest groups within which lines move quicker than across.
fn groups(profile: &Profile, coherence: &Coherence, judgement: &Judgement) -> Option<Finding> {
    // Among a few CPUs, single figures fall into groups by chance.
    let may_be_chance = judgement.stable.is_none() && coherence.cpus.len() < FEW;
    if judgement.stable == Some(false) || may_be_chance {
        return None;
    }
    let is_telling =
        |level: &&Level| level.groups.len() > 1 && level.groups.iter().any(|group| group.len() > 1);
    let level = judgement.levels.iter().filter(is_telling).min_by_key(|level| level.groups.len())?;
    let named = level.groups.iter().map(|group| group.iter().copied().collect::<CpuSet>().to_string());
    let next = match have_stayed(profile) {
        true => "Lay out data so that what is written often stays within one group.",
        false => "",
    };
    let groups = format!(
        "The CPUs form {} groups: a line takes at most {} ns within one and at least {} ns across.",
        level.groups.len(),
        number(level.max_inside_ns),
        number(level.min_across_ns),
    );
    Some(Finding {
        id: "sharing-groups",
        brief: finding::brief(&groups, &stability::clause(coherence)),
        text: format!("{groups} They are {}.", first_groups(&named.collect::<Vec<_>>())),
        act: next.into(),
        urgency: Urgency::Note,
        evidence: vec![times_of(coherence)],
        condition: stability::condition(coherence)?,
        next: next.into(),
    })
}

/// Lines within this ratio are alike: choosing among them gains nothing noticeable.
const LINES_ALIKE: f64 = 1.1;

/// How much near lines differ from far ones in the pair where they differ most.
fn lines(coherence: &Coherence) -> Option<Finding> {
    let confidence =
        Family::of(coherence.pairs.iter().filter(|pair| pair.lines.is_some()).count()).confidence();
    let differ = coherence.pairs.iter().enumerate().filter_map(|(at, pair)| {
        let is_apart = |lines: &&LineSpread| lines.p10 > 0.0 && lines.p90 > LINES_ALIKE * lines.p10;
        let lines = pair.lines.as_ref().filter(|lines| lines.differ(confidence)).filter(is_apart)?;
        Some((at, pair, lines))
    });
    let (at, pair, lines) = differ.max_by(|a, b| (a.2.p90 / a.2.p10).total_cmp(&(b.2.p90 / b.2.p10)))?;
    let halves = lines.split_half.unwrap_or_default();
    let text = format!(
        "CPUs {} and {} share some lines quicker than others: one in ten takes less than {} ns, one in ten more than {}.",
        pair.a,
        pair.b,
        number(lines.p10),
        number(lines.p90)
    );
    Some(Finding {
        id: "lines-differ",
        brief: finding::brief(&text, &format!("of {} lines of one buffer", lines.count)),
        text,
        act: String::new(),
        urgency: Urgency::Note,
        evidence: vec![format!("/coherence/pairs/{at}/lines")],
        condition: format!(
            "for {} lines of one buffer, whose times in the two halves of the run correlate (r {}); this \
             does not tell which of a program's lines are quick",
            lines.count,
            number(halves)
        ),
        next: String::new(),
    })
}
